#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# matrix.sh FOLDER [--write] [--only REGEX]: compiles the library with each compiler that Debian 12, Debian 13 and Debian's
# development branch have, against the Asio, Boost and OpenSSL of each of the three. It unpacks the packages in FOLDER, once,
# and runs the compilers there with bubblewrap. A cell of the table shows what worked:
#
#   runs            a program that runs a command was compiled, linked and run, and the umbrella header compiles. If
#                   compiler and libraries are of one release, a program also links Boost and OpenSSL, and runs.
#   core runs       the same program, but the umbrella header does not compile; the first error stands below the table
#   FAILED          not even that; the first error stands below the table
#   not available here: REASON
#
# --write puts the table into CONTRIBUTING.md. --only compiles the rows whose names match, and writes nothing. Prints the
# table and finally `N passed, N failed, N skipped`. A cell that is listed in matrix/known.txt must fail as listed there;
# all others must run. --self-test FOLDER needs no packages, and proves that a cell can fail.

set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
write=no only=. self_test=no folder=
while [ $# -gt 0 ]; do
  case $1 in
    --write) write=yes ;;
    --only) only=${2:?--only needs an expression} && shift ;;
    --self-test) self_test=yes ;;
    -*) echo "usage: $0 FOLDER [--write] [--only REGEX] [--self-test]" >&2 && exit 2 ;;
    *) folder=$1 ;;
  esac
  shift
done
[ -n "$folder" ] || { echo "usage: $0 FOLDER [--write] [--only REGEX] [--self-test]" >&2; exit 2; }
mkdir -p "$folder/work"
folder=$(cd "$folder" && pwd)
machine=$(uname -m)-linux-gnu

suites=(bookworm trixie sid)
title() { case $1 in bookworm) echo 'Debian 12' ;; trixie) echo 'Debian 13' ;; *) echo 'Debian sid' ;; esac; }
libraries='libasio-dev libssl-dev coreutils dash'
packages() {
  case $1 in
    bookworm) echo "g++-12 clang-16 libc++-16-dev libc++abi-16-dev libboost-json1.81-dev libboost-url1.81-dev $libraries" ;;
    trixie) echo "?g++-13 g++-14 ?clang-19 ?libc++-19-dev ?libc++abi-19-dev libboost-json-dev libboost-url-dev $libraries" ;;
    sid) echo "g++-@ clang-@ libc++-@-dev libc++abi-@-dev libboost-json-dev libboost-url-dev $libraries" ;;
  esac
}

# The rows: the release, the compiler, and the flags. @ is the greatest number that the release has.
rows() {
  printf '%s\n' 'bookworm g++-12' 'trixie g++-13' 'trixie g++-14' 'sid g++-@' \
    'bookworm clang++-16' 'trixie clang++-19' 'sid clang++-@' \
    'bookworm clang++-16 -stdlib=libc++' 'trixie clang++-19 -stdlib=libc++' 'sid clang++-@ -stdlib=libc++'
}

# unpack SUITE: once; `FOLDER/SUITE/ready` names what was unpacked.
unpack() {
  local wanted
  wanted=$(packages "$1")
  if [ "$(cat "$folder/$1/ready" 2>/dev/null || true)" = "$wanted" ]; then return; fi
  mkdir -p "$folder/$1"
  echo "unpack $(title "$1"): $wanted" >&2
  "$source/tests/support/newest_debian.sh" --suite "$1" "$folder/$1" $wanted >"$folder/$1/log.txt" 2>&1 || return 1
  mkdir -p "$folder/$1/root"/{source,out,set,proc,dev,tmp,etc}
  echo "$wanted" >"$folder/$1/ready"
}

# The headers of Asio, Boost and OpenSSL of a release alone, as a folder that every compiler can be given.
make_set() {
  local from=$folder/$1/root/usr/include to=$folder/$1/set
  rm -rf "$to"
  mkdir -p "$to/openssl"
  cp -al "$from/asio" "$from/asio.hpp" "$from/boost" "$to/"
  cp -al "$from/openssl/." "$to/openssl/"
  if [ -d "$from/$machine/openssl" ]; then cp -al "$from/$machine/openssl/." "$to/openssl/"; fi
  # A compiler that finds other versions than those of the set must not pass.
  {
    echo '#include <asio/version.hpp>'
    echo '#include <boost/version.hpp>'
    echo '#include <openssl/opensslv.h>'
    echo "static_assert(ASIO_VERSION == $(number asio/version.hpp ASIO_VERSION "$to") &&"
    echo "              BOOST_VERSION == $(number boost/version.hpp BOOST_VERSION "$to"), \"these are other libraries\");"
    echo "static_assert(__builtin_strcmp(OPENSSL_VERSION_STR, \"$(openssl_of "$to")\") == 0, \"this is another OpenSSL\");"
  } >"$to/these_libraries.hpp"
}
number() { sed -n "s/^#define $2 \([0-9]*\).*/\1/p" "$3/$1" | head -n 1; }
dotted() { awk '{ printf "%d.%d.%d", $1 / 100000, $1 / 100 % 1000, $1 % 100 }'; }
openssl_of() { sed -n 's/^# *define OPENSSL_VERSION_STR "\(.*\)"/\1/p' "$1/openssl/opensslv.h"; }
set_title() {
  local to=$folder/$1/set
  echo "Asio $(number asio/version.hpp ASIO_VERSION "$to" | dotted), Boost $(number boost/version.hpp BOOST_VERSION "$to" | dotted), OpenSSL $(openssl_of "$to")"
}

# within SUITE SET COMMAND...: runs a command in the root of a release, with the headers of a set. A self-test has no root.
within() {
  local root=$folder/$1/root set=$folder/$2/set
  shift 2
  bwrap --bind "$root" / --proc /proc --dev /dev --tmpfs /tmp --ro-bind "$source" /source --ro-bind "$set" /set \
    --bind "$folder/work" /out --chdir /out --clearenv --setenv PATH /usr/bin:/bin --setenv LC_ALL C.UTF-8 --die-with-parent "$@"
}

flags='-std=c++20 -O0 -DASIO_STANDALONE -DASIO_NO_DEPRECATED -DASIO_HAS_CO_AWAIT=1 -I/source/include -isystem /set -include /set/these_libraries.hpp'

first_error() { grep -m 1 -E 'error|undefined reference|cannot' "$1" | cut -c 1-200; }

# cell SUITE COMPILER SET FLAG...: prints one word for the table, and the first error behind it.
cell() {
  local suite=$1 compiler=$2 set=$3 log=$folder/work/log.txt
  shift 3
  rm -f "$folder/work"/{local,linked}
  if ! within "$suite" "$set" "$compiler" $flags "$@" /source/tests/packaging/local.cpp -o local -pthread >"$log" 2>&1; then
    echo "FAILED $(first_error "$log")"
    return
  fi
  if [ "$(within "$suite" "$set" ./local 2>"$log")" != hello ]; then
    echo "FAILED the program does not print hello: $(head -n 1 "$log")"
    return
  fi
  if ! within "$suite" "$set" "$compiler" $flags "$@" -fsyntax-only /source/tests/packaging/whole.cpp >"$log" 2>&1; then
    echo "core-runs $(first_error "$log")"
    return
  fi
  # Boost's libraries are built for libstdc++. g++ 13 in Debian 13 links its own copy of libstdc++, which lacks a function
  # that these libraries need. The program uses that of g++ 14 when it runs.
  if [ "$suite" = "$set" ] && [ $# -eq 0 ]; then
    if ! within "$suite" "$set" "$compiler" $flags /source/tests/packaging/linked.cpp -o linked -lboost_json -lboost_url \
      -lssl -lcrypto -pthread -Wl,--allow-shlib-undefined >"$log" 2>&1; then
      echo "core-runs $(first_error "$log")"
      return
    fi
    if ! within "$suite" "$set" ./linked 2>"$log" | grep -q ': ran$'; then
      echo "core-runs the linked program does not run: $(head -n 1 "$log")"
      return
    fi
  fi
  echo runs
}

if [ $self_test = yes ]; then
  # This machine as the only release, with a broken set and with a set of other versions.
  host=$folder/self-test
  rm -rf "$host"
  mkdir -p "$host"/{good,broken,other}/set/openssl "$host/work"
  folder=$host
  within() {
    local set=$folder/$2/set
    shift 2
    (cd "$folder/work" && "${@//\/source/$source}")
  }
  for each in good broken other; do echo >"$host/$each/set/these_libraries.hpp"; done
  echo '#error "a broken library"' >"$host/broken/set/these_libraries.hpp"
  printf '#include <asio/version.hpp>\nstatic_assert(ASIO_VERSION == 1, "these are other libraries");\n' \
    >"$host/other/set/these_libraries.hpp"
  wrong=0
  expect() {  # expect PATTERN SET COMPILER
    local answer
    flags="-std=c++20 -O0 -DASIO_STANDALONE -DASIO_HAS_CO_AWAIT=1 -I$source/include -include $folder/$2/set/these_libraries.hpp"
    answer=$(cell host "$3" "$2")
    if ! grep -qE "$1" <<<"$answer"; then
      echo "self-test: $2, $3: $answer, and not $1"
      wrong=$((wrong + 1))
    fi
  }
  expect '^FAILED .*a broken library' broken g++
  expect '^FAILED .*these are other libraries' other g++
  expect '^FAILED' good false
  expect '^FAILED the program does not print hello' good "$here/matrix/compiles_nothing.sh"
  expect '^runs$' good g++
  echo "self-test: 4 bad cells and a good one, $wrong judged wrongly"
  [ "$wrong" -eq 0 ]
  exit
fi

command -v bwrap >/dev/null || { echo "$0: bubblewrap is not installed: apt-get install bubblewrap" >&2; exit 2; }
declare -A missing
for suite in "${suites[@]}"; do
  if unpack "$suite"; then make_set "$suite"; else
    missing[$suite]="its packages cannot be fetched ($(grep -m 1 -E '^E: ' "$folder/$suite/log.txt" | cut -c 1-80))"
  fi
done

passed=0 failed=0 skipped=0 notes=() table=$folder/table.md
{
  printf '| compiler |'
  for suite in "${suites[@]}"; do
    if [ -n "${missing[$suite]:-}" ]; then printf ' %s: not available here |' "$(title "$suite")"; else
      printf ' %s: %s |' "$(title "$suite")" "$(set_title "$suite")"
    fi
  done
  printf '\n|---|---|---|---|\n'
} >"$table"

# known SUITE COMPILER SET FLAGS: the expected word of a cell, `runs` unless matrix/known.txt lists another.
known() {
  local word
  word=$(awk -F ' *[|] *' -v a="$1 $2${4:+ $4}" -v b="$3" '$1 == a && ($2 == b || $2 == "*") { print $3 }' "$here/matrix/known.txt" | head -n 1)
  echo "${word:-runs}"
}

while read -r suite compiler extra; do
  grep -qE -- "$only" <<<"$suite $compiler $extra" || continue
  pattern=$compiler
  name=$compiler reason=
  if [ -n "${missing[$suite]:-}" ]; then reason=${missing[$suite]}; else
    name=$(cd "$folder/$suite/root/usr/bin" && ls | grep -xE "$(sed 's/[+]/\\+/g; s/@/[0-9]+/' <<<"$compiler")" | sort -V | tail -n 1 || true)
    if [ -z "$name" ]; then name=$compiler reason="$(title "$suite") has no package of it"; fi
  fi
  row="| $name${extra:+ $extra} ($(title "$suite")) |"
  for set in "${suites[@]}"; do
    if [ -n "$reason" ]; then word="not available here: $reason"; elif [ -n "${missing[$set]:-}" ]; then
      word="not available here: ${missing[$set]}"
    else
      read -r word error <<<"$(cell "$suite" "$name" "$set" $extra)"
      if [ "$word" = "$(known "$suite" "$pattern" "$set" "$extra")" ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
      word=${word/core-runs/core runs}
      if [ -n "${error:-}" ]; then notes+=("- $name${extra:+ $extra}, $(title "$set"): $error"); fi
    fi
    case $word in "not available"*) skipped=$((skipped + 1)) ;; esac
    row+=" $word |"
  done
  echo "$row" | tee -a "$table" >&2
done < <(rows)
if [ ${#notes[@]} -gt 0 ]; then { echo && printf '%s\n' "${notes[@]}"; } >>"$table"; fi
cat "$table"
if [ $write = yes ] && [ "$only" = . ]; then
  python3 - "$source/CONTRIBUTING.md" "$table" <<'PYTHON'
import sys
from pathlib import Path
page, table = Path(sys.argv[1]), Path(sys.argv[2]).read_text(encoding="utf-8").strip()
text = page.read_text(encoding="utf-8")
begin, end = "<!-- written by ./dev matrix --write -->\n", "\n<!-- end of ./dev matrix -->"
before, rest = text.split(begin)
page.write_text(before + begin + table + end + rest.split(end)[1], encoding="utf-8")
PYTHON
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
