#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# peers.sh FOLDER: installs frameworks that have a backend for E2B from PyPI into FOLDER, each in an environment of its
# own, because they need different versions of E2B's SDK. strangers_test.py finds the folder in the environment variable
# COFFERDAM_STRANGER_PEERS. Does nothing for a framework whose versions are already installed.
#
#   FOLDER/NAME/bin/python    the Python that has the framework of requirements/NAME.txt
#   FOLDER/guest              packages for the Python of the image cofferdam-test/debian
#
# Needs Python 3.11 or newer with venv. Stirrup needs Python 3.12, and is left out if there is none.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }

# smolagents runs code that imports NumPy and Pillow, which are in E2B's own image, and calls pip.
guest="numpy==2.4.6 pillow==13.0.0 pip==26.3"
guest_python=3.11

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)

# Prints a Python that is at least version 3.MINOR.
python_of() {  # python_of MINOR
  local candidate
  for candidate in python3 python3.12 python3.13 python3.14 "$HOME"/.pyenv/versions/3.1[2-4].*/bin/python3; do
    if "$candidate" -c "import sys, venv; sys.exit(sys.version_info < (3, $1))" >/dev/null 2>&1; then
      command -v "$candidate"
      return
    fi
  done
  return 1
}

# Packages are compiled at their first import, as far as they are imported, which makes the installation shorter.
install() {  # install NAME MINOR
  local name=$1 python wanted
  wanted=$(cat "$here/requirements/$name.txt")
  [ "$(cat "$folder/$name/versions" 2>/dev/null || true)" != "$wanted" ] || return 0
  rm -rf "${folder:?}/$name"
  python=$(python_of "$2") || {
    echo "$name needs Python 3.$2 or newer, and is left out"
    return 0
  }
  "$python" -m venv "$folder/$name"
  "$folder/$name/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps \
    -r "$here/requirements/$name.txt"
  echo "$wanted" >"$folder/$name/versions"
}

for name in kodeagent langchain_e2b openai_agents smolagents; do install "$name" 11; done
install stirrup 12

if [ "$(cat "$folder/guest/versions" 2>/dev/null || true)" != "$guest" ]; then
  rm -rf "$folder/guest"
  # shellcheck disable=SC2086  # a list of packages
  "$folder/smolagents/bin/pip" install --quiet --disable-pip-version-check --no-compile --target "$folder/guest" \
    --python-version "$guest_python" --only-binary :all: $guest
  echo "$guest" >"$folder/guest/versions"
fi
