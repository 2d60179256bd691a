#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# Builds programs that use the library as its users do, each in a clean folder: with an include path, with the single
# header, with add_subdirectory and with find_package. Prints a line for each and finally `N passed, N failed,
# N skipped`.

set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
clean=$(mktemp -d)
trap 'rm -rf "$clean"' EXIT
cxx=${CXX:-g++}
mkdir "$clean/results"

try() {  # try FILE NAME COMMAND: writes the outcome to FILE, because two checks run at once
  local result=$clean/results/$1 name=$2
  shift 2
  if (cd "$clean" && set -e && "$@") >"$result.log" 2>&1; then
    echo "ok      $name" >"$result"
  else
    { echo "FAILED  $name" && tail -n 30 "$result.log"; } >"$result"
  fi
}

runs() { "$@" | grep -q ': ran$'; }

# `set -e` has no effect in a function that `if` calls, so the commands of each function are joined by &&.
include_path() {
  "$cxx" -std=c++20 -DASIO_STANDALONE -I"$source/include" "$here/core.cpp" -o core -pthread && runs ./core
}

single_header() {
  mkdir -p only/cofferdam && cp "$source/single_include/cofferdam/cofferdam.hpp" only/cofferdam/ &&
    "$cxx" -std=c++20 -DASIO_STANDALONE -Ionly "$here/whole.cpp" -o single \
      -lboost_json -lboost_url -lssl -lcrypto -pthread && runs ./single
}

add_subdirectory() {
  cmake -G Ninja -S "$here/add_subdirectory" -B sub -DCOFFERDAM_SOURCE="$source" && cmake --build sub &&
    runs sub/core && runs sub/whole
}

installed() {
  cmake -G Ninja -S "$source" -B made -DCOFFERDAM_BUILD_TESTS=OFF -DCOFFERDAM_BUILD_EXAMPLES=OFF \
    -DCOFFERDAM_BUILD_BENCHMARKS=OFF && cmake --install made --prefix "$clean/prefix" &&
    test -f prefix/include/cofferdam/cofferdam.hpp && test -f prefix/share/licenses/cofferdam/LICENSE &&
    ! grep -rn -e "$source" -e "$clean" prefix/lib*
}

# The installed cofferdam-lint works without the source tree: it finds a mistake, and accepts the corrected code.
lint() {
  local program=$clean/prefix/bin/cofferdam-lint status=0
  printf 'awaitable<int> f(bool c) {\n  co_return c ? co_await g() : 0;\n}\n' >wrong.cpp &&
    printf 'awaitable<int> f(bool c) {\n  if (!c) co_return 0;\n  int x = co_await g();\n  co_return x;\n}\n' >fixed.cpp &&
    "$program" fixed.cpp && "$program" --version | grep -Eqx 'cofferdam-lint [0-9.]+' || return 1
  "$program" wrong.cpp >lint.txt || status=$?
  [ "$status" -eq 1 ] && grep -q '^wrong.cpp:2: co_await in a statement with ?:; write ' lint.txt || return 1
  status=0
  "$program" 2>usage.txt || status=$?
  [ "$status" -eq 2 ] && grep -q '^usage: cofferdam-lint' usage.txt
}

find_package_core() {
  cmake -G Ninja -S "$here/find_package_core" -B found_core -DCMAKE_PREFIX_PATH="$clean/prefix" &&
    cmake --build found_core && runs found_core/core
}

find_package() {
  cmake -G Ninja -S "$here/find_package" -B found -DCMAKE_PREFIX_PATH="$clean/prefix" &&
    cmake --build found && runs found/whole
}

installed_compiled() {
  cmake -G Ninja -S "$source" -B made_compiled -DCOFFERDAM_BUILD_TESTS=OFF -DCOFFERDAM_BUILD_EXAMPLES=OFF \
    -DCOFFERDAM_BUILD_BENCHMARKS=OFF -DCOFFERDAM_CORE_ONLY=ON -DCOFFERDAM_INSTALL_COMPILED=ON &&
    cmake --build made_compiled && cmake --install made_compiled --prefix "$clean/prefix_compiled" &&
    test -f prefix_compiled/include/cofferdam/backends/impl/local.ipp &&
    cmake -G Ninja -S "$here/find_package_compiled" -B found_compiled -DCMAKE_PREFIX_PATH="$clean/prefix_compiled" &&
    cmake --build found_compiled && found_compiled/local | grep -qx hello
}

# A program whose files are compiled in different modes must not link. The undefined reference must name the mode.
modes_do_not_mix() {
  local compiler said
  for compiler in "$cxx" $(command -v clang++-16 || true); do
    flags="-std=c++20 -DASIO_STANDALONE -DASIO_HAS_CO_AWAIT -I$source/include"
    "$compiler" $flags -c "$here/modes/takes.cpp" -o takes.o &&
      "$compiler" $flags -DCOFFERDAM_SEPARATE_COMPILATION -c "$here/modes/takes.cpp" -o takes_compiled.o &&
      "$compiler" $flags -DCOFFERDAM_SEPARATE_COMPILATION -c "$here/modes/gives.cpp" -o gives.o &&
      "$compiler" gives.o takes_compiled.o -o same_mode && ./same_mode || return 1
    if said=$("$compiler" gives.o takes.o -o mixed 2>&1); then return 1; fi
    grep -q 'undefined reference.*take(cofferdam::v0_compiled::' <<<"$said" || return 1
  done
}

{
  try 1 "include path" include_path
  try 2 "single header" single_header
  try 3 "add_subdirectory" add_subdirectory
} &
{
  try 4 "install" installed
  try 9 "the installed cofferdam-lint" lint
  try 5 "find_package(cofferdam COMPONENTS core), with neither Boost.JSON nor OpenSSL" find_package_core
  try 6 "find_package(cofferdam)" find_package
  try 7 "find_package(cofferdam COMPONENTS core compiled)" installed_compiled
  try 8 "the two modes do not mix" modes_do_not_mix
}
wait
cat "$clean"/results/[1-9]
passed=$(cat "$clean"/results/[1-9] | grep -c '^ok ' || true)
failed=$((9 - passed))
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
