# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# Functions that conan.sh and vcpkg.sh source: they run checks in the current folder and count them in `passed` and
# `failed`.

passed=0 failed=0
try() {  # try NAME COMMAND
  local name=$1 begin=$SECONDS
  shift
  if "$@" >log.txt 2>&1; then
    echo "ok      $name ($((SECONDS - begin)) s)"
    passed=$((passed + 1))
  else
    echo "FAILED  $name"
    tail -n 40 log.txt
    failed=$((failed + 1))
  fi
}

# must_fail NAME EXPRESSION COMMAND: for --self-test. COMMAND must fail, with output that matches EXPRESSION.
must_fail() {
  local name=$1 expression=$2
  shift 2
  if "$@" >log.txt 2>&1; then
    echo "self-test: $name: passes"
    passed=$((passed + 1))
  elif ! grep -qE "$expression" log.txt; then
    echo "self-test: $name: fails for another reason than '$expression':"
    tail -n 20 log.txt
    passed=$((passed + 1))
  fi
}
