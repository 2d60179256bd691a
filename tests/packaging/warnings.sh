#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# warnings.sh [FLAG...]: checks that the library's headers cause no warnings in a program with stricter warnings than
# the library's own build. The compilers check the syntax only. g++ uses -Wshadow -Wconversion -Wuseless-cast; clang
# uses the first two, because it lacks the third. Both compilers get each FLAG too. Prints a line for each check and
# finally `N passed, N failed, N skipped`. --self-test proves that each of these warnings is an error here.

set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
clean=$(mktemp -d)
trap 'rm -rf "$clean"' EXIT
flags=(-std=c++20 -fsyntax-only -x c++ -DASIO_STANDALONE -DASIO_NO_DEPRECATED -DASIO_HAS_CO_AWAIT -Werror -Wall -Wextra
  -Wpedantic -Wshadow -Wconversion)

# -Wno-restrict is needed because g++ 12 reports a false warning for "(" + text.
with_gcc() { g++ "${flags[@]}" -Wuseless-cast -Wno-restrict "$@"; }
with_clang() { clang++-16 "${flags[@]}" "$@"; }

if [ "${1:-}" = --self-test ]; then
  wrong=0
  refused() {  # refused COMPILER TEXT: the compiler must report an error for TEXT
    if echo "$2" | "$1" - 2>/dev/null; then
      echo "self-test: $1 accepts: $2"
      wrong=$((wrong + 1))
    fi
  }
  for compiler in with_gcc with_clang; do
    refused $compiler 'int f(int a) { { int a = 2; return a; } }'
    refused $compiler 'short f(long a) { return a; }'
    echo 'int f(int a) { return a; }' | $compiler - || wrong=$((wrong + 1))
  done
  refused with_gcc 'int f(int a) { return static_cast<int>(a); }'
  echo "self-test: $wrong judged wrongly"
  [ "$wrong" -eq 0 ]
  exit
fi

# Compilers check the bodies of templates only where they are used, so one checked program uses much of the library.
check() {  # check FILE NAME COMPILER PROGRAM
  if "$3" "${extra[@]}" -I"$source/include" "$4" >"$clean/$1.log" 2>&1; then
    echo "ok      $2" >"$clean/$1"
  else
    { echo "FAILED  $2" && grep -E 'error|warning' "$clean/$1.log" | sort -u | head -n 60; } >"$clean/$1"
  fi
}
extra=("$@")
{
  check 1 "g++: the umbrella header" with_gcc "$here/whole.cpp"
  check 2 "clang: the umbrella header" with_clang "$here/whole.cpp"
} &
check 3 "g++: a program that uses most of it" with_gcc "$source/benchmarks/compile/mcp.cpp" &
wait
cat "$clean"/[1-3]
passed=$(cat "$clean"/[1-3] | grep -c '^ok ' || true)
echo "$passed passed, $((3 - passed)) failed, 0 skipped"
[ "$passed" -eq 3 ]
