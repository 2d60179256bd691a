#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# newest.sh ROOT: checks the library with the Boost, Asio and OpenSSL that newest_debian.sh has unpacked in ROOT. Both
# compilers must accept the umbrella header, and a program that clang compiles with these libraries must run. Prints a
# line for each check and finally `N passed, N failed, N skipped`.

set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 ROOT" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
root=$(cd "$1" && pwd)
machine=$(uname -m)-linux-gnu
libraries=$root/usr/lib/$machine
clean=$(mktemp -d)
trap 'rm -rf "$clean"' EXIT
flags=(-std=c++20 -DASIO_STANDALONE -DASIO_NO_DEPRECATED -Wall -Wextra -Wpedantic -Werror -I"$source/include"
  -isystem "$root/usr/include/$machine" -isystem "$root/usr/include")

try() {  # try FILE NAME COMMAND: writes the outcome to FILE, because two checks run at once
  local result=$clean/$1 name=$2
  shift 2
  if (cd "$clean" && set -e && "$@") >"$result.log" 2>&1; then
    echo "ok      $name" >"$result"
  else
    { echo "FAILED  $name" && tail -n 30 "$result.log"; } >"$result"
  fi
}

# -Wno-restrict is needed because g++ 12 reports a false warning for "(" + text. --param saves g++ a tenth of its time.
gcc_compiles() { g++ "${flags[@]}" -Wno-restrict --param ggc-min-heapsize=2000000 -fsyntax-only "$here/whole.cpp"; }

# The unpacked libraries need newer C and C++ libraries than this machine has. The linker therefore ignores undefined
# symbols in them, and the loader in ROOT starts the program.
clang_links() {
  clang++-16 "${flags[@]}" -c "$here/whole.cpp" -o whole.o &&
    g++ whole.o -o whole -L"$libraries" -Wl,--sysroot="$root" -Wl,--allow-shlib-undefined \
      -lboost_json -lboost_url -lssl -lcrypto -pthread &&
    "$(find "$root/usr/lib" "$root/usr/lib64" -name 'ld-linux-*.so.*' 2>/dev/null | head -n 1)" \
      --library-path "$libraries" ./whole | grep ': ran$'
}

version() { sed -n "s/^# *define $1 \"\(.*\)\"/\1/p" "$root/usr/include/$2"; }
echo "Boost $(version BOOST_LIB_VERSION boost/version.hpp | tr _ .)," \
  "Asio $(sed -n 's/^#define ASIO_VERSION .* //p' "$root/usr/include/asio/version.hpp")," \
  "OpenSSL $(version OPENSSL_VERSION_STR openssl/opensslv.h)"
try 1 "g++: the umbrella header" gcc_compiles &
try 2 "clang: the umbrella header, linked and run" clang_links &
wait
cat "$clean"/[12]
passed=$(cat "$clean"/[12] | grep -c '^ok ' || true)
echo "$passed passed, $((2 - passed)) failed, 0 skipped"
[ "$passed" -eq 2 ]
