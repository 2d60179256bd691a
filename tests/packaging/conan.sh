#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# conan.sh CONAN: checks conanfile.py with the program CONAN, in a Conan home of its own and without any remote. The
# dependencies are this machine's, first as platform_requires of a profile, then as stand-ins with ConanCenter's names and
# versions. Each package is used by a program that is built and run. Prints a line for each check and finally
# `N passed, N failed, N skipped`. --self-test before CONAN proves that the checks can fail.

set -euo pipefail
self_test=no
if [ "${1:-}" = --self-test ]; then self_test=yes && shift; fi
[ $# -eq 1 ] || { echo "usage: $0 [--self-test] CONAN" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
conan=$(cd "$(dirname "$(command -v "$1")")" && pwd)/$(basename "$1")
clean=$(mktemp -d)
trap 'rm -rf "$clean"' EXIT
export CONAN_HOME=$clean/home
cd "$clean"
version=$(sed -n 's/.*string_view version = "\(.*\)".*/\1/p' "$source/include/cofferdam/version.hpp")

# The recipe in a copy of the tree, because Conan writes the build folders of test packages beside them.
mkdir tree
cp -r "$source"/{conanfile.py,CMakeLists.txt,LICENSE,cmake,include,packaging} tree/

. "$here/counted.sh"

# profile NAME COMPILER EXECUTABLE: writes a profile whose dependencies are this machine's.
profile() {
  local machine os_version
  machine=$(uname -m)
  if [ "$machine" = aarch64 ]; then machine=armv8; fi
  os_version=$("$3" -dumpversion)
  {
    printf '[settings]\nos=Linux\narch=%s\ncompiler=%s\ncompiler.version=%s\n' "$machine" "$2" "${os_version%%.*}"
    printf 'compiler.libcxx=libstdc++11\ncompiler.cppstd=20\nbuild_type=Debug\n'
    printf '[conf]\ntools.cmake.cmaketoolchain:generator=Ninja\ntools.build:compiler_executables={"cpp": "%s"}\n' "$3"
  } >"$1.stubs"
  {
    cat "$1.stubs"
    printf '[platform_requires]\nasio/%s\nboost/%s\nopenssl/%s\n' "$asio" "$boost" "$openssl"
  } >"$1"
}
header() { sed -n "s/$2/\1/p" "/usr/include/$1" | head -n 1; }
asio=$(header asio/version.hpp '^#define ASIO_VERSION \([0-9]*\).*' | awk '{ printf "%d.%d.%d", $1 / 100000, $1 / 100 % 1000, $1 % 100 }')
boost=$(header boost/version.hpp '^#define BOOST_VERSION \([0-9]*\)' | awk '{ printf "%d.%d.%d", $1 / 100000, $1 / 100 % 1000, $1 % 100 }')
openssl=$(header openssl/opensslv.h '^# *define OPENSSL_VERSION_STR "\(.*\)"')
if [ -z "$openssl" ]; then openssl=$(header "$(uname -m)-linux-gnu/openssl/opensslv.h" '^# *define OPENSSL_VERSION_STR "\(.*\)"'); fi
profile gcc gcc g++
profile clang clang clang++-16
sed 's/^compiler.version=.*/compiler.version=11/' gcc >old
sed 's/^compiler.cppstd=.*/compiler.cppstd=17/' gcc >cxx17
sed 's/^os=.*/os=FreeBSD/' gcc >freebsd

# create PROFILE ARGUMENT...: conan create, whose test package must run its program.
create() {
  local profile=$1
  shift
  "$conan" create tree -nr -pr:a "$profile" "$@" >create.txt 2>&1 || { cat create.txt; return 1; }
  cat create.txt
  grep -qx "cofferdam $version: hello" create.txt
}

# All three dependencies must come from the platform, because a miss would go to a remote.
with_platform() {
  local name
  create "$@" || return 1
  for name in "asio/$asio" "boost/$boost" "openssl/$openssl"; do
    grep -q "$name.*Platform" create.txt || { echo "$name is not taken from the platform"; return 1; }
  done
}

# The package of headers is one for all compilers.
one_package() {
  "$conan" list "cofferdam/$version:*" --format=json >list.json || return 1
  [ "$(python3 -c 'import json; print(sum(len(r["packages"]) for ref in json.load(open("list.json"))["Local Cache"].values()
      for r in ref["revisions"].values()))')" = 1 ]
}

refuses() {  # refuses PROFILE SENTENCE ARGUMENT...: conan create must fail, and give the reason
  local profile=$1 sentence=$2
  shift 2
  if "$conan" create tree -nr -pr:a "$profile" "$@" >refused.txt 2>&1; then
    echo "$profile is accepted"
    return 1
  fi
  cat refused.txt
  grep -qF "$sentence" refused.txt
}

stubs() {
  "$conan" create "$here/conan/stub.py" -nr -pr:a gcc.stubs --name=asio --version=1.38.2 &&
    "$conan" create "$here/conan/stub.py" -nr -pr:a gcc.stubs --name=boost --version=1.91.0 &&
    "$conan" create "$here/conan/stub.py" -nr -pr:a gcc.stubs --name=openssl --version=3.6.3
}

with_stubs() {
  create gcc.stubs || return 1
  ! grep -q Platform create.txt
}

# The components, as another generator sees them: pkg-config files that Conan writes.
components() {
  "$conan" install --requires="cofferdam/$version" -nr -pr:a gcc.stubs -g PkgConfigDeps -of pc || return 1
  local words
  words=$(PKG_CONFIG_PATH=$clean/pc pkg-config --cflags --libs cofferdam-core) && ! grep -q ssl <<<"$words" || return 1
  words=$(PKG_CONFIG_PATH=$clean/pc pkg-config --cflags --libs cofferdam) || return 1
  echo "$words"
  g++ -std=c++20 "$here/linked.cpp" -o linked $words && ./linked | grep -q ': ran$'
}

"$conan" remote disable '*' >remote.txt 2>&1 || { cat remote.txt && exit 1; }
if [ $self_test = yes ]; then
  # A recipe that installs no headers, one that accepts everything, and a test package that runs nothing.
  rm tree/include/cofferdam/local.hpp
  must_fail "a package without a header" "local\.hpp: No such file" with_platform gcc
  sed -i 's/def validate(self)/def validate_nothing(self)/' tree/conanfile.py
  must_fail "g++ 11 is accepted" "local\.hpp: No such file" refuses old "cofferdam needs gcc 12 or newer, not 11"
  cp "$source/include/cofferdam/local.hpp" tree/include/cofferdam/
  sed -i 's/platform_requires/no_such_part/' gcc
  must_fail "dependencies that are not the platform's" "no_such_part|Unrecognized|Invalid|not taken" with_platform gcc
  echo "self-test: 3 bad recipes, $passed judged wrongly"
  [ "$passed" -eq 0 ]
  exit
fi
try "conan create, g++, this machine's libraries" with_platform gcc
try "conan create, clang, this machine's libraries" with_platform clang
try "both compilers share one package of headers" one_package
try "conan create with the compiled mode, core only" create gcc -o 'cofferdam/*:compiled=True' -o 'cofferdam/*:core_only=True'
try "g++ 11 is refused" refuses old "cofferdam needs gcc 12 or newer, not 11"
try "C++17 is refused" refuses cxx17 "cofferdam needs C++20: add -s compiler.cppstd=20"
try "FreeBSD is refused" refuses freebsd "cofferdam runs on Linux, not on FreeBSD"
try "ConanCenter's names: the stand-ins" stubs
try "ConanCenter's names: conan create" with_stubs
try "ConanCenter's names: each component, by pkg-config files" components
try "Boost without Boost.JSON is refused" refuses gcc.stubs "remove boost/*:without_json=True" -o 'boost/*:without_json=True'
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
