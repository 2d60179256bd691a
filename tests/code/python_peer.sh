#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# python_peer.sh FOLDER: installs a Python that is newer than Debian 12's as FOLDER/root/usr/bin/python3.X, unless it is
# installed already. The last line of the output is its path.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }

python=python3.15

mkdir -p "$1"
folder=$(cd "$1" && pwd)
root=$folder/root
program=$root/usr/bin/$python
if ! "$program" -I -c '' 2>/dev/null; then
  "$(dirname "$0")/../support/newest_debian.sh" "$folder" "$python"
  # This Python needs the C library of its own Debian release, so a script starts it by the loader of that library. It
  # gets the script's path as its name, because it finds its standard library and starts its children by this name.
  mv "$program" "$program-program"
  loader=$(find "$root/usr/lib" "$root/usr/lib64" -name 'ld-linux-*.so.*' | head -n 1)
  libraries=$root/usr/lib/$(dpkg-architecture -q DEB_HOST_MULTIARCH 2>/dev/null || echo "$(uname -m)-linux-gnu")
  printf '#!/bin/sh\nexec "%s" --argv0 "$0" --library-path "%s" "%s" "$@"\n' \
    "$loader" "$libraries" "$program-program" >"$program"
  chmod 0755 "$program"
fi
"$program" -I -c 'import asyncio, json, multiprocessing, sys; print(sys.version)'
echo "$program"
