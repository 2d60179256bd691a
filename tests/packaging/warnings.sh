#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# warnings.sh [FLAG...]: checks that the library's headers cause no warnings in a program with stricter warnings than
# the library's own build. The compilers check the syntax only. g++ uses -Wshadow -Wconversion -Wuseless-cast; clang
# uses the first two, because it lacks the third. It includes all public headers, the last one first, which also shows
# names that conflict with each other. Both compilers get each FLAG too. g++ also compiles one program, the first of
# README.md, with -O3, because it finds some mistakes only when it optimises. Also checks that -fno-exceptions,
# -fno-rtti and -std=c++17 are refused by one clear sentence. Prints a line for each check and finally
# `N passed, N failed, N skipped`. --self-test proves that each of these checks can fail.

set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
clean=$(mktemp -d)
trap 'rm -rf "$clean"' EXIT
flags=(-std=c++20 -fsyntax-only -x c++ -DASIO_STANDALONE -DASIO_NO_DEPRECATED -DASIO_HAS_CO_AWAIT -Werror -Wall -Wextra
  -Wpedantic -Wshadow -Wconversion)

# -Wno-restrict is needed because g++ 12 reports a false warning for "(" + text. --param saves g++ a tenth of its time.
with_gcc() { g++ "${flags[@]}" -Wuseless-cast -Wno-restrict --param ggc-min-heapsize=2000000 "$@"; }
with_clang() { clang++-16 "${flags[@]}" "$@"; }

# with_optimising_gcc PROGRAM: g++ compiles the program, with the warnings that a user of -O3 is likely to have.
with_optimising_gcc() {
  g++ -std=c++20 -O3 -x c++ -DASIO_STANDALONE -Werror -Wall -Wextra --param ggc-min-heapsize=2000000 "$@" -c -o "$clean/optimised.o"
}

# backwards: prints a program that includes all public headers, the last one first, and then the umbrella header.
backwards() {
  (cd "$source/include" && find cofferdam -name '*.hpp' ! -path '*/detail/*' ! -path '*/testing/*' ! -name src.hpp) |
    sort -r | sed 's/.*/#include <&>/'
  echo "#include \"$here/whole.cpp\""
}

# uses_most: prints a program that includes the umbrella header and uses most of the library.
uses_most() { printf '#include "%s"\n' "$here/whole.cpp" "$source/benchmarks/compile/mcp.cpp"; }

# first_program: prints the first block of C++ in README.md.
first_program() { awk '/^```cpp$/ { inside = 1; next } /^```$/ { if (inside) exit } inside' "$source/README.md"; }

# refuses COMPILER FLAG SENTENCE: the first error of a program that is compiled with FLAG must contain SENTENCE.
refuses() {
  local text
  if text=$("$1" "$2" -I"$source/include" "$here/core.cpp" 2>&1); then
    echo "$1 compiles it with $2"
    return 1
  fi
  if ! grep -m 1 'error' <<<"$text" | grep -qF "$3"; then
    grep -m 3 'error' <<<"$text"
    return 1
  fi
}
no_exceptions='"cofferdam reports errors as exceptions: compile without -fno-exceptions"'
no_cxx20='"cofferdam needs C++20: compile with -std=c++20"'
no_rtti='"cofferdam compares the types of executors with typeid: compile without -fno-rtti"'

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
  # The syntax alone shows nothing wrong with a write through a null pointer.
  overflow='#include <atomic>
    struct gate { long more; std::atomic<long> work{0}; };
    long f(gate* g) { if (g == nullptr) return g->work.load(); return 0; }'
  refused with_optimising_gcc "$overflow"
  with_gcc - <<<"$overflow" || wrong=$((wrong + 1))
  with_optimising_gcc - <<<'int main() {}' || wrong=$((wrong + 1))
  first_program | grep -q 'int main()' || wrong=$((wrong + 1))
  [ "$(backwards | grep -c '^#include <cofferdam/')" -gt 100 ] || wrong=$((wrong + 1))
  for compiler in with_gcc with_clang; do
    if refuses $compiler -fno-rtti "$no_exceptions" >/dev/null || refuses $compiler -O0 "$no_rtti" >/dev/null ||
      refuses $compiler -fno-rtti "$no_cxx20" >/dev/null; then
      echo "self-test: $compiler: another error, or none, counts as a refusal"
      wrong=$((wrong + 1))
    fi
  done
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
backwards >"$clean/backwards.cpp"
uses_most >"$clean/uses_most.cpp"
first_program >"$clean/first.cpp"
check 1 "g++: the umbrella header, and a program that uses most of it" with_gcc "$clean/uses_most.cpp" &
{
  check 2 "clang: all headers, the last one first" with_clang "$clean/backwards.cpp"
  check 3 "g++ -O3: the first program of README.md" with_optimising_gcc "$clean/first.cpp"
} &
wait
check_refusal() {  # check_refusal FILE NAME COMPILER FLAG SENTENCE
  if refuses "$3" "$4" "$5" >"$clean/$1.log"; then echo "ok      $2" >"$clean/$1"; else
    { echo "FAILED  $2" && cat "$clean/$1.log"; } >"$clean/$1"
  fi
}
check_refusal 4 "g++ -fno-exceptions: refused in one sentence" with_gcc -fno-exceptions "$no_exceptions"
check_refusal 5 "clang -fno-exceptions: refused in one sentence" with_clang -fno-exceptions "$no_exceptions"
check_refusal 6 "g++ -fno-rtti: refused in one sentence" with_gcc -fno-rtti "$no_rtti"
check_refusal 7 "clang -fno-rtti: refused in one sentence" with_clang -fno-rtti "$no_rtti"
check_refusal 8 "g++ -std=c++17: refused in one sentence" with_gcc -std=c++17 "$no_cxx20"
check_refusal 9 "clang -std=c++17: refused in one sentence" with_clang -std=c++17 "$no_cxx20"
passed=0
for each in 1 2 3 4 5 6 7 8 9; do
  cat "$clean/$each"
  if grep -q '^ok ' "$clean/$each"; then passed=$((passed + 1)); fi
done
echo "$passed passed, $((9 - passed)) failed, 0 skipped"
[ "$passed" -eq 9 ]
