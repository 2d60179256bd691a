#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# packages.sh FOLDER: runs the checks of the package managers and of users' programs: conan.sh, run.sh, vcpkg.sh, guide.py
# and deb.sh, each with its --self-test. COFFERDAM_CONAN names Conan's program. FOLDER keeps the build of the Debian
# package. Prints what they print, and finally `N passed, N failed, N skipped`.

set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
total_passed=0 total_failed=0 total_skipped=0

add() {  # add PASSED FAILED SKIPPED
  total_passed=$((total_passed + $1)) total_failed=$((total_failed + $2)) total_skipped=$((total_skipped + $3))
}

part() {  # part NAME COMMAND...: a script that ends in a line of counts, or counts as one check
  local status=0 log counts
  log=$(mktemp)
  echo "==== $1"
  shift
  "$@" 2>&1 | tee "$log" || status=$?
  counts=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$log" | tail -n 1)
  rm -f "$log"
  if [ -z "$counts" ]; then
    if [ "$status" -eq 0 ]; then counts='1 0 0'; else counts='0 1 0'; fi
  fi
  set -- $counts
  if [ "$status" -ne 0 ] && [ "$2" -eq 0 ]; then set -- "$1" 1 "$3"; fi
  add "$@"
}

if [ -n "${COFFERDAM_CONAN:-}" ]; then
  part "Conan, that the checks can fail" "$here/conan.sh" --self-test "$COFFERDAM_CONAN"
  part "Conan" "$here/conan.sh" "$COFFERDAM_CONAN"
else
  echo "skipped Conan: COFFERDAM_CONAN is not set"
  add 0 0 1
fi
part "programs of users, that the check can fail" "$here/run.sh" --self-test
part "programs of users" "$here/run.sh"
part "vcpkg, that the checks can fail" "$here/vcpkg.sh" --self-test
part "vcpkg" "$here/vcpkg.sh"
part "the guide's page about installing, that the check can fail" "$here/guide.py" --self-test
part "the guide's page about installing" "$here/guide.py"
if [ "$(id -u)" -eq 0 ] && command -v debootstrap >/dev/null; then
  part "the Debian package" "$here/deb.sh" "$1"
  part "the Debian package, that the checks can fail" "$here/deb.sh" --self-test "$1"
else
  echo "skipped the Debian package: its clean Debian needs root and debootstrap"
  add 0 0 1
fi
echo "$total_passed passed, $total_failed failed, $total_skipped skipped"
[ "$total_failed" -eq 0 ]
