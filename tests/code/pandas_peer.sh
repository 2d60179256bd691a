#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# pandas_peer.sh FOLDER: installs pandas into FOLDER/python. own_values_test finds the folder in the environment variable
# COFFERDAM_PANDAS_PEER. Does nothing if this version is already installed. Needs Python 3.11 or newer with venv.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }

pandas=3.1.1

mkdir -p "$1"
folder=$(cd "$1" && pwd)
[ "$(cat "$folder/versions" 2>/dev/null || true)" = "$pandas" ] && exit 0
rm -f "$folder/versions"
python3 -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check "pandas==$pandas"
echo "$pandas" >"$folder/versions"
