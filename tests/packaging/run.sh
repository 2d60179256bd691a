#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# Builds programs that use the library as its users do, each in a clean folder and with each compiler: with an include
# path, with the single header, with add_subdirectory, FetchContent, find_package and pkg-config, and with the installed
# compiled mode; then runs them. tests/packaging/conan.sh does the same with Conan. Prints a line for each with its
# processor time, as a ratio to compiling benchmarks/compile/bare.cpp, and finally `N passed, N failed, N skipped`.
#
# COFFERDAM_COMPILERS    the compilers (default: g++ clang++-16); one that is not installed is counted as skipped
# --self-test            proves that each of these programs is counted as failed if the library is broken

set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
clean=$(mktemp -d)
trap 'rm -rf "$clean"' EXIT
read -ra compilers <<<"${COFFERDAM_COMPILERS:-g++ clang++-16}"
boost_and_tls='-lboost_json -lboost_url -lssl -lcrypto'

# try FILE NAME COMMAND: runs COMMAND in a clean folder of the compiler, and writes the outcome and the processor seconds
# to FILE, because two checks run at once.
try() {
  local result=$results/$1 name=$2 seconds
  shift 2
  TIMEFORMAT='%U %S'
  { time { (cd "$folder" && set -e && "$@") >"$result.log" 2>&1 && echo ok >"$result.end" || true; }; } 2>"$result.time"
  seconds=$(awk '{ print $1 + $2 }' "$result.time")
  if [ -e "$result.end" ]; then
    echo "ok      $cxx: $name: $(awk -v a="$seconds" -v b="$bare" 'BEGIN { printf "%.1f", a / b }') times bare" >"$result"
  else
    { echo "FAILED  $cxx: $name" && tail -n 30 "$result.log"; } >"$result"
  fi
}

runs() { "$@" | grep -q ': ran$'; }
cmake_for() { cmake -G Ninja -DCMAKE_CXX_COMPILER="$cxx" "$@"; }

# `set -e` has no effect in a function that `if` calls, so the commands of each function are joined by &&.
include_path() {
  "$cxx" -std=c++20 $flags -I"$source/include" "$here/core.cpp" -o core -pthread && runs ./core
}

# With g++, single_header_tests links two units that include the single header, so one unit with both files is enough.
single_header() {
  local -a units=("$here/two_units/two.cpp" "$here/two_units/one.cpp")
  if [[ $(basename "$cxx") == g++* ]]; then units=(-include "${units[@]}"); fi
  mkdir -p only/cofferdam && cp "$source/single_include/cofferdam/cofferdam.hpp" only/cofferdam/ &&
    "$cxx" -std=c++20 $flags $single_flags -Ionly "${units[@]}" -o single $boost_and_tls -pthread && runs ./single
}

add_subdirectory() {
  cmake_for -S "$here/add_subdirectory" -B sub -DCOFFERDAM_SOURCE="$source" && cmake --build sub &&
    runs sub/core && runs sub/linked
}

# The archive has what a release would have. A URL with a hash is what the manual of FetchContent recommends.
fetch_content() {
  cmake_for -S "$here/fetch_content" -B fetched -DCOFFERDAM_URL="file://$clean/cofferdam.tar.gz" \
    -DCOFFERDAM_HASH="$(sha256sum <"$clean/cofferdam.tar.gz" | cut -d' ' -f1)" && cmake --build fetched &&
    runs fetched/linked
}

installed() {
  cmake_for -S "$source" -B made -DCOFFERDAM_BUILD_TESTS=OFF -DCOFFERDAM_BUILD_EXAMPLES=OFF \
    -DCOFFERDAM_BUILD_BENCHMARKS=OFF && cmake --install made --prefix "$clean/prefix" &&
    test -f "$clean/prefix/include/cofferdam/cofferdam.hpp" && test -f "$clean/prefix/share/licenses/cofferdam/LICENSE" &&
    ! grep -rn -e "$source" -e "$clean" "$clean"/prefix/lib*
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
  cmake_for -S "$here/find_package_core" -B found_core -DCMAKE_PREFIX_PATH="$clean/prefix" &&
    cmake --build found_core && runs found_core/core
}

find_package() {
  cmake_for -S "$here/find_package" -B found -DCMAKE_PREFIX_PATH="$clean/prefix" && cmake --build found &&
    runs found/linked
}

# Every header that the umbrella header includes was installed.
umbrella() { "$cxx" -std=c++20 $flags -I"$clean/prefix/include" -M "$here/whole.cpp"; }

# with_pc PREFIX COMMAND...: only the pkg-config files below PREFIX, and the system's.
with_pc() {
  local prefix=$1
  shift
  env PKG_CONFIG_PATH="$prefix/lib/pkgconfig:$(echo "$prefix"/lib/*/pkgconfig)" "$@"
}

pkg_config_core() {
  local words
  words=$(with_pc "$clean/prefix" pkg-config --cflags --libs cofferdam-core) && ! grep -qE 'ssl|boost' <<<"$words" &&
    "$cxx" -std=c++20 "$here/core.cpp" -o pc_core $words && runs ./pc_core
}

pkg_config() {
  local words
  words=$(with_pc "$clean/prefix" pkg-config --cflags --libs cofferdam) &&
    [ "$(with_pc "$clean/prefix" pkg-config --modversion cofferdam)" = "$version" ] &&
    "$cxx" -std=c++20 "$here/linked.cpp" -o pc $words && runs ./pc
}

# Definitions of Asio, of which some change the layout of its types, reach the users of the library, by CMake and by pkg-config.
layout=(ASIO_DISABLE_AWAITABLE_FRAME_RECYCLING ASIO_DISABLE_VISIBILITY ASIO_DISABLE_HANDLER_TYPE_REQUIREMENTS)

installed_compiled() {
  echo "add_compile_options(-D${layout[2]})" >above.cmake
  cmake_for -S "$source" -B made_compiled -DCOFFERDAM_BUILD_TESTS=OFF -DCOFFERDAM_BUILD_EXAMPLES=OFF \
    -DCOFFERDAM_BUILD_BENCHMARKS=OFF -DCOFFERDAM_CORE_ONLY=ON -DCOFFERDAM_INSTALL_COMPILED=ON \
    "-DCMAKE_CXX_FLAGS=-D${layout[0]}" "-DCOFFERDAM_COMPILED_DEFINITIONS=${layout[1]}" \
    "-DCMAKE_PROJECT_INCLUDE_BEFORE=$PWD/above.cmake" &&
    cmake --build made_compiled && cmake --install made_compiled --prefix "$folder/prefix_compiled" &&
    test -f prefix_compiled/include/cofferdam/backends/impl/local.ipp &&
    test -n "$(find prefix_compiled -name libcofferdam.a)" &&
    cmake_for -S "$here/find_package_compiled" -B found_compiled -DCMAKE_PREFIX_PATH="$folder/prefix_compiled" &&
    cmake --build found_compiled && found_compiled/local | grep -qx hello &&
    has_layout "$(cat found_compiled/build.ninja)"
}

# has_layout TEXT: the text defines all of `layout`.
has_layout() {
  local each
  for each in "${layout[@]}"; do grep -q -e "-D$each\b" <<<"$1" || return 1; done
}

pkg_config_compiled() {
  local words
  words=$(with_pc "$folder/prefix_compiled" pkg-config --cflags --libs cofferdam-compiled) && has_layout "$words" &&
    "$cxx" -std=c++20 "$here/local.cpp" -o pc_local $words && ./pc_local | grep -qx hello
}

# A program whose files are compiled in different modes, or with and without Asio's cache of frames, must not link. The
# undefined reference must name the mode. With clang, no file can use the cache.
modes_do_not_mix() {
  local message options="-std=c++20 $flags -I$source/include"
  "$cxx" $options -c "$here/modes/takes.cpp" -o takes.o &&
    "$cxx" $options -DCOFFERDAM_SEPARATE_COMPILATION -c "$here/modes/takes.cpp" -o takes_compiled.o &&
    "$cxx" $options -DCOFFERDAM_SEPARATE_COMPILATION -c "$here/modes/gives.cpp" -o gives.o &&
    "$cxx" gives.o takes_compiled.o -o same_mode && ./same_mode || return 1
  if message=$("$cxx" gives.o takes.o -o mixed 2>&1); then return 1; fi
  grep -q 'undefined reference.*take(cofferdam::v0_compiled[a-z_]*::' <<<"$message" || return 1
  if "$cxx" -dM -E -x c++ /dev/null | grep -q __clang__; then return 0; fi
  "$cxx" $options -DCOFFERDAM_SEPARATE_COMPILATION "-D${layout[0]}" -c "$here/modes/gives.cpp" -o gives.o || return 1
  if message=$("$cxx" gives.o takes_compiled.o -o mixed 2>&1); then return 1; fi
  grep -q 'undefined reference.*take(cofferdam::v0_compiled_without_frame_recycling::' <<<"$message"
}

# Sets the variables of one compiler, and measures the yardstick.
begin() {
  cxx=$1
  folder=$clean/$cxx
  results=$folder/results
  mkdir -p "$results"
  flags='-DASIO_STANDALONE -DASIO_HAS_CO_AWAIT'
  # Without optimisation, g++ emits every coroutine of the single header, used or not.
  single_flags=-O1
  TIMEFORMAT='%U %S'
  bare=$({ time "$cxx" -std=c++20 $flags -c "$here/../../benchmarks/compile/bare.cpp" -o "$folder/bare.o" >&2; } 2>&1 |
    tail -n 1 | awk '{ print $1 + $2 }')
}

consumers() {
  begin "$1"
  try 10 "include path" include_path
  try 11 "single header, in two translation units except with g++" single_header
  try 12 "add_subdirectory" add_subdirectory
  try 13 "FetchContent from a file:// URL" fetch_content
  try 14 "find_package(cofferdam COMPONENTS core), with neither Boost.JSON nor OpenSSL" find_package_core
  try 15 "find_package(cofferdam)" find_package
  try 16 "pkg-config cofferdam-core" pkg_config_core
  try 17 "pkg-config cofferdam" pkg_config
  try 18 "find_package(cofferdam COMPONENTS core compiled)" installed_compiled
  try 19 "pkg-config cofferdam-compiled" pkg_config_compiled
  try 20 "the two modes do not mix" modes_do_not_mix
}

# Runs the checks that do not depend on the compiler.
shared() {
  version=$(sed -n 's/.*string_view version = "\(.*\)".*/\1/p' "$source/include/cofferdam/version.hpp")
  tar -C "$source" -czf "$clean/cofferdam.tar.gz" CMakeLists.txt LICENSE cmake include packaging
  begin "${compilers[0]}"
  try 01 "install" installed
  try 02 "the installed cofferdam-lint" lint
  try 03 "the installed umbrella header" umbrella
}

if [ "${1:-}" = --self-test ]; then
  # A tree in which every program misses a header. It can be installed, so those two checks pass.
  mkdir "$clean/broken"
  cp -r "$source"/{CMakeLists.txt,LICENSE,cmake,include,packaging,single_include} "$clean/broken/"
  source=$clean/broken
  rm "$source/include/cofferdam/core/command.hpp"
  sed -i '1i #include <cofferdam/core/command.hpp>' "$source/single_include/cofferdam/cofferdam.hpp"
  shared
  consumers "${compilers[0]}"
  wrong=$(cat "$results"/03 "$results"/[12][0-9] | grep '^ok ' || true)
  right=$(cat "$results"/0[12] | grep -c '^ok ' || true)
  echo "$wrong"
  echo "self-test: $(grep -c . <<<"$wrong" || true) programs pass with a broken library; 2 checks must pass, $right do"
  [ -z "$wrong" ] && [ "$right" -eq 2 ]
  exit
fi

here_now=() skipped=0
for each in "${compilers[@]}"; do
  if command -v "$each" >/dev/null; then here_now+=("$each"); else
    echo "skipped $each is not installed"
    skipped=$((skipped + 1))
  fi
done
compilers=("${here_now[@]}")
shared
for each in "${compilers[@]}"; do consumers "$each" & done
wait
cat "$clean"/*/results/[012][0-9]
total=$((3 + 11 * ${#compilers[@]}))
passed=$(cat "$clean"/*/results/[012][0-9] | grep -c '^ok ' || true)
echo "$passed passed, $((total - passed)) failed, $skipped skipped"
[ "$passed" -eq "$total" ]
