#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# vcpkg.sh: checks the vcpkg port of packaging/vcpkg. vcpkg itself cannot be installed from Debian, so vcpkg/run_port.cmake
# runs the portfile with functions that do what vcpkg documents; tests/checks/packages.py checks the manifest. If
# COFFERDAM_VCPKG_ROOT is a tree of vcpkg with its program, the port is also installed by vcpkg, offline: with empty overlay
# ports in place of the dependencies, whose headers and libraries are then this machine's. Prints a line for each check
# and finally `N passed, N failed, N skipped`. --self-test proves that the checks can fail.

set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
clean=$(mktemp -d)
trap 'rm -rf "$clean"' EXIT
cd "$clean"
. "$here/counted.sh"

run_port() {  # run_port TREE OUTPUT FEATURES OPTION...
  local tree=$1 output=$2 features=$3
  shift 3
  local options="-DCMAKE_CXX_FLAGS_RELEASE=-O0${*:+;$*}"
  cmake -DPORT_DIR="$tree/packaging/vcpkg/cofferdam" -DOUTPUT="$clean/$output" -DFEATURES="$features" \
    "-DVCPKG_CMAKE_CONFIGURE_OPTIONS=$options" -P "$here/vcpkg/run_port.cmake"
}

# holds FOLDER: vcpkg's places, and nothing where vcpkg allows nothing.
holds() {
  local folder=$1 file
  for file in include/cofferdam/local.hpp share/cofferdam/cofferdam-config.cmake share/cofferdam/copyright \
    share/cofferdam/usage tools/cofferdam/cofferdam-lint lib/pkgconfig/cofferdam-core.pc; do
    test -f "$folder/$file" || { echo "$file is missing"; return 1; }
  done
  for file in bin debug/include debug/share lib/cmake share/doc share/licenses; do
    ! test -e "$folder/$file" || { echo "$file must not exist"; return 1; }
  done
}

# consumes PREFIX PROGRAM-FOLDER PROGRAM: builds a consumer of tests/packaging against the port's files.
consumes() {
  cmake -G Ninja -S "$here/$2" -B "consumer_$2" -DCMAKE_PREFIX_PATH="$1" && cmake --build "consumer_$2" &&
    "consumer_$2/$3" | grep -qE ': ran$|^hello$'
}

header_only() { run_port "$source" header '' && holds "$clean/header/packages" && consumes "$clean/header/packages" find_package linked; }

# Core only, which compiles faster; the option is one that a triplet of vcpkg can set.
compiled() {
  run_port "$source" compiled compiled -DCOFFERDAM_CORE_ONLY=ON && holds "$clean/compiled/packages" &&
    test -f compiled/packages/lib/libcofferdam.a && test -f compiled/packages/lib/pkgconfig/cofferdam-compiled.pc &&
    consumes "$clean/compiled/packages" find_package_compiled local
}

usage_is_true() {  # each target that `usage` names can be linked
  local target
  mkdir -p usage_test
  {
    printf 'cmake_minimum_required(VERSION 3.25)\nproject(usage CXX)\nfind_package(cofferdam CONFIG REQUIRED)\n'
    for target in $(grep -o 'cofferdam::[a-z]*' "$source/packaging/vcpkg/cofferdam/usage" | grep -v compiled | sort -u); do
      printf 'if(NOT TARGET %s)\n  message(FATAL_ERROR "no %s")\nendif()\n' "$target" "$target"
    done
  } >usage_test/CMakeLists.txt
  cmake -G Ninja -S usage_test -B usage_build -DCMAKE_PREFIX_PATH="$clean/header/packages"
}

# The dependencies as ports without content. vcpkg's own ports of the helper functions stay as they are.
real_vcpkg() {
  local root=$COFFERDAM_VCPKG_ROOT triplet name
  case $(uname -m) in aarch64) triplet=arm64-linux ;; *) triplet=x64-linux ;; esac
  for name in asio boost-json boost-regex boost-system boost-url openssl; do
    mkdir -p "overlay/$name"
    printf '{"name": "%s", "version": "999"}\n' "$name" >"overlay/$name/vcpkg.json"
    echo 'set(VCPKG_POLICY_EMPTY_PACKAGE enabled)' >"overlay/$name/portfile.cmake"
  done
  VCPKG_FORCE_SYSTEM_BINARIES=1 VCPKG_DISABLE_METRICS=1 "$root/vcpkg" install "$@" --triplet "$triplet" \
    --host-triplet "$triplet" --vcpkg-root "$root" --overlay-ports="$source/packaging/vcpkg" --overlay-ports="$clean/overlay" \
    --x-install-root="$clean/installed" --x-buildtrees-root="$clean/trees" --x-packages-root="$clean/vcpkg_packages" \
    --downloads-root="$clean/downloads" --binarysource=clear --no-print-usage
}

real_headers() {
  real_vcpkg cofferdam && holds "$(echo "$clean"/installed/*-linux)" && rm -rf consumer_find_package &&
    consumes "$(echo "$clean"/installed/*-linux)" find_package linked
}

formatted() {
  cp "$source/packaging/vcpkg/cofferdam/vcpkg.json" vcpkg.json && "$COFFERDAM_VCPKG_ROOT/vcpkg" format-manifest vcpkg.json \
    --vcpkg-root "$COFFERDAM_VCPKG_ROOT" && diff -u "$source/packaging/vcpkg/cofferdam/vcpkg.json" vcpkg.json
}

if [ "${1:-}" = --self-test ]; then
  mkdir broken
  cp -r "$source"/{CMakeLists.txt,LICENSE,cmake,include,packaging} broken/
  port=broken/packaging/vcpkg/cofferdam
  sed -i 's/-DCOFFERDAM_INSTALL=ON/-DCOFFERDAM_INSTALL_ALL=ON/' $port/portfile.cmake
  must_fail "an option that the project does not have" "does not use COFFERDAM_INSTALL_ALL" run_port "$clean/broken" unknown ''
  cp "$source/packaging/vcpkg/cofferdam/portfile.cmake" $port/
  sed -i '/vcpkg_install_copyright/d; /share\/licenses/d; /file(REMOVE_RECURSE/d' $port/portfile.cmake
  without_copyright() { run_port "$clean/broken" none '' && holds "$clean/none/packages"; }
  must_fail "a port without copyright" "share/cofferdam/copyright is missing" without_copyright
  cp "$source/packaging/vcpkg/cofferdam/portfile.cmake" $port/
  mkdir broken/moved
  mv broken/packaging broken/moved/
  must_fail "a port outside the source tree" "the port must stay in packaging/vcpkg" run_port "$clean/broken/moved" outside ''
  echo "self-test: 3 bad ports, $passed judged wrongly"
  [ "$passed" -eq 0 ]
  exit
fi
try "the port, headers only: a program that uses it" header_only
try "the port with the feature compiled (core): a program that uses it" compiled
try "the port's usage names targets that exist" usage_is_true
if [ -n "${COFFERDAM_VCPKG_ROOT:-}" ]; then
  try "vcpkg itself installs the port: a program that uses it" real_headers
  try "vcpkg itself leaves the manifest as it is" formatted
else
  echo "not run: vcpkg itself, because COFFERDAM_VCPKG_ROOT does not name a tree of vcpkg"
fi
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
