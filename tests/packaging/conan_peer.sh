#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# conan_peer.sh FOLDER: installs Conan 2 from PyPI into FOLDER, for conan.sh. Does nothing if this version is already
# installed. Needs Python with venv.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }

conan=2.34.0

mkdir -p "$1"
folder=$(cd "$1" && pwd)
[ "$(cat "$folder/versions" 2>/dev/null || true)" = "conan $conan" ] && exit 0
rm -rf "$folder/python" "$folder/versions"
python3 -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet --disable-pip-version-check "conan==$conan"
echo "conan $conan" >"$folder/versions"
