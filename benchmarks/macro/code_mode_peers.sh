#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# code_mode_peers.sh FOLDER: installs FastMCP and mcp-code-mode into FOLDER. code_mode_bench finds the folder in the
# environment variable COFFERDAM_CODE_MODE_PEERS. Does nothing if these versions are already installed. FOLDER/container
# has FastMCP for the Python of the container, and FOLDER/python mcp-code-mode for this machine. mcp-code-mode is in
# PyPI under another name; only the dependencies that its bridge imports are installed. It needs Python 3.11 or 3.12,
# with venv; without one, only FastMCP is installed.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }

fastmcp=4.1.6
container_python=3.11  # of the image cofferdam-test/debian
code_mode=0.1.0
dspy=3.4.1
mcp=1.30.0
aiohttp=3.9

mkdir -p "$1"
folder=$(cd "$1" && pwd)
python=
for name in python3 python3.12 python3.11; do
  if "$name" -c 'import sys, venv; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' 2>/dev/null; then
    python=$name
    break
  fi
done
wanted="fastmcp $fastmcp for $container_python, code mode $code_mode, dspy $dspy, mcp $mcp, ${python:+with its bridge}"
[ "$(cat "$folder/versions" 2>/dev/null || true)" = "$wanted" ] && exit 0
rm -rf --one-file-system "$folder/versions" "$folder/container" "$folder/python"

[ -x "$folder/tools/bin/pip" ] || python3 -m venv "$folder/tools"  # whose pip knows no packages of this machine
"$folder/tools/bin/pip" install --quiet --disable-pip-version-check --no-compile --target "$folder/container" \
  --python-version "$container_python" --implementation cp --only-binary=:all: "fastmcp==$fastmcp"
if [ -n "$python" ]; then
  "$python" -m venv "$folder/python"
  pip=("$folder/python/bin/pip" install --quiet --disable-pip-version-check)
  "${pip[@]}" "dspy==$dspy" "mcp==$mcp" "aiohttp>=$aiohttp"
  "${pip[@]}" --no-deps "iflow-mcp-draphonix-mcp-code-mode==$code_mode"
else
  echo "$0: mcp-code-mode is not installed: it needs Python 3.11 or 3.12" >&2
fi
echo "$wanted" >"$folder/versions"
