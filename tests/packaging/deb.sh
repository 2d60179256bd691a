#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# deb.sh FOLDER: builds the Debian package with cpack, in FOLDER, and installs it in a clean Debian of its own: a chroot
# that debootstrap makes, in which apt-get resolves the package's dependencies. There it builds programs with pkg-config
# and with CMake against the installed files, header-only and compiled, and runs them and the installed programs. The chroot
# is kept in FOLDER as an archive, so that a second run needs no network except for the dependencies. Needs root. Prints a
# line for each check and finally `N passed, N failed, N skipped`. FOLDER should be below build/, so that ccache has the
# objects of ./dev build. --self-test before FOLDER proves that the checks can fail; it needs the package of an earlier run.

set -euo pipefail
self_test=no
if [ "${1:-}" = --self-test ]; then self_test=yes && shift; fi
[ $# -eq 1 ] || { echo "usage: $0 [--self-test] FOLDER" >&2; exit 2; }
[ "$(id -u)" -eq 0 ] || { echo "$0: needs root, for chroot" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
root=$folder/root
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
version=$(sed -n 's/.*string_view version = "\(.*\)".*/\1/p' "$source/include/cofferdam/version.hpp")
remove_root() {
  local place
  for place in proc dev; do
    if mountpoint -q "$root/$place" 2>/dev/null; then umount "$root/$place"; fi
  done
  rm -rf --one-file-system "$root"
}
trap remove_root EXIT

passed=0 failed=0
try() {  # try NAME COMMAND
  local name=$1 begin=$SECONDS
  shift
  if "$@" >"$folder/log.txt" 2>&1; then
    echo "ok      $name ($((SECONDS - begin)) s)"
    passed=$((passed + 1))
  else
    echo "FAILED  $name"
    tail -n 40 "$folder/log.txt"
    failed=$((failed + 1))
  fi
}

# must_fail NAME EXPRESSION COMMAND: for --self-test. COMMAND must fail, with output that matches EXPRESSION.
must_fail() {
  local name=$1 expression=$2
  shift 2
  if "$@" >"$folder/log.txt" 2>&1; then
    echo "self-test: $name: passes"
    passed=$((passed + 1))
  elif ! grep -qE "$expression" "$folder/log.txt"; then
    echo "self-test: $name: fails for another reason than '$expression':"
    tail -n 20 "$folder/log.txt"
    passed=$((passed + 1))
  fi
}

# The flags are those of the preset `default`, which ccache knows.
build() {
  local jobs=${COFFERDAM_JOBS:-$(nproc)}
  cmake -G Ninja -S "$source" -B "$folder/build" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 \
    -DCOFFERDAM_BUILD_TESTS=OFF -DCOFFERDAM_BUILD_EXAMPLES=ON -DCOFFERDAM_BUILD_BENCHMARKS=OFF \
    -DCOFFERDAM_INSTALL_COMPILED=ON || return 1
  # Only what is installed. The target cofferdam also builds cofferdam-mcp, the manual page and the completions.
  cmake --build "$folder/build" --target cofferdam_compiled cofferdam -- -j "$jobs" && rm -f "$folder"/*.deb &&
    (cd "$folder/build" && cpack -B "$folder/packed") && mv "$folder"/packed/*.deb "$folder/"
}

# A reader of the guide who builds the program alone installs it without a package.
installed_from_the_build() {
  local file prefix=$folder/prefix
  rm -rf "$prefix" && cmake --install "$folder/build" --prefix "$prefix" >/dev/null || return 1
  for file in bin/cofferdam bin/cofferdam-mcp share/man/man1/cofferdam.1 share/bash-completion/completions/cofferdam \
    share/zsh/site-functions/_cofferdam share/fish/vendor_completions.d/cofferdam.fish; do
    [ -s "$prefix/$file" ] || { echo "$file is missing" && return 1; }
  done
  [ "$("$prefix/bin/cofferdam" run --provider local -- echo hello from inside)" = 'hello from inside' ] && rm -rf "$prefix"
}

contains() {
  local file list
  list=$(dpkg-deb --contents "$deb") || return 1
  for file in include/cofferdam/cofferdam.hpp lib/libcofferdam.a lib/pkgconfig/cofferdam-compiled.pc \
    lib/cmake/cofferdam/cofferdam-config.cmake bin/cofferdam bin/cofferdam-mcp bin/cofferdam-lint share/doc/cofferdam/copyright share/man/man1/cofferdam.1 \
    share/fish/vendor_completions.d/cofferdam.fish; do
    grep -q " \./usr/$file\$" <<<"$list" || { echo "$file is missing" && return 1; }
  done
  # Nothing outside /usr, nothing of another owner, and no path of the machine that built it.
  ! grep -vE ' \./(usr/.*)?$' <<<"$list" && ! grep -v ' root/root ' <<<"$list" || return 1
  mkdir -p "$folder/unpacked" && dpkg-deb -x "$deb" "$folder/unpacked" &&
    ! grep -rlF "$source" "$folder/unpacked/usr/lib/cmake" "$folder/unpacked/usr/lib/pkgconfig" \
      "$folder/unpacked/usr/bin/cofferdam-lint" && rm -rf "$folder/unpacked"
}

# A Debian with nothing but Python, a compiler and the programs that find libraries.
clean_debian() {
  local archive=$folder/debian-$codename-1.tar site
  if [ ! -s "$archive" ]; then
    site=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' "Codename: $codename" 'Component: main' | head -n 1)
    debootstrap --variant=minbase --include=g++,pkgconf,cmake,ninja-build,python3 "$codename" "$root" "$site" || return 1
    tar -C "$root" --numeric-owner --exclude='./dev/*' --exclude='./proc/*' -cf "$archive.part" . &&
      mv "$archive.part" "$archive" && rm -rf --one-file-system "$root" || return 1
  fi
  mkdir -p "$root" && tar -C "$root" --numeric-owner -xf "$archive" && mount -t proc proc "$root/proc" &&
    mount --bind /dev "$root/dev" && { cp /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/" || true; } &&
    cp /etc/resolv.conf "$root/etc/" && mkdir -p "$root/stranger" && cp -r "$here"/. "$root/stranger/"
}

# Runs a command in the clean Debian. pivot_root, because the kernel refuses user namespaces, which the jail needs, to
# programs in a chroot.
inside() {
  unshare --mount --propagation private sh -euc 'mount --rbind "$0" "$0" && cd "$0" && mkdir -p .outside
    pivot_root . .outside && exec chroot . sh -euc "umount -l /.outside; exec \"\$@\"" sh "$@"' "$root" \
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive HOME=/root "$@"
}

# apt-get gets what the package depends on, and nothing more.
install_package() {
  cp "$deb" "$root/stranger/" && inside apt-get update -q &&
    inside apt-get install -y -q --no-install-recommends "/stranger/$(basename "$deb")" &&
    [ "$(inside dpkg-query -W -f '${db:Status-Status} ${Version}' cofferdam)" = "installed $version" ]
}

with_pkg_config() {  # with_pkg_config PACKAGE PROGRAM PATTERN
  inside sh -euc "g++ -std=c++20 /stranger/$2.cpp -o /tmp/$2 \$(pkg-config --cflags --libs $1) && /tmp/$2" | grep -qE "$3"
}

with_cmake() {  # with_cmake FOLDER PROGRAM PATTERN
  inside sh -euc "cmake -G Ninja -S /stranger/$1 -B /tmp/$1 -DTESTING=OFF && cmake --build /tmp/$1 && /tmp/$1/$2" | grep -qE "$3"
}

# The output goes to variables, because a program fails if its reader, such as grep -q, ends first.
programs_run() {
  local help walls
  help=$(inside cofferdam-mcp --help) && grep -q cofferdam-mcp <<<"$help" || { echo "--help: $help" && return 1; }
  walls=$(inside cofferdam-mcp doctor) || true
  grep -q '^jail' <<<"$walls" || { echo "doctor: $walls" && return 1; }
  [ "$(inside cofferdam-lint --version)" = "cofferdam-lint $version" ] && inside cofferdam-lint /stranger/core.cpp
}

# The program without bubblewrap, which the package only recommends: the jail must be refused with the command that helps.
without_bubblewrap() {
  local status=0
  [[ "$(inside cofferdam --version)" == *"$version"* ]] &&
    [ "$(inside cofferdam run --provider local -- echo hello)" = hello ] || return 1
  inside cofferdam run -- id -u >"$folder/out.txt" 2>&1 || status=$?
  cat "$folder/out.txt"
  [ "$status" -eq 125 ] && grep -q 'apt-get install bubblewrap' "$folder/out.txt"
}

# In the jail, another user sees other files, without a network.
in_the_jail() {
  inside apt-get install -y -q --no-install-recommends bubblewrap && [ "$(inside cofferdam run -- id -u)" != 0 ] &&
    inside test -e /stranger && [ "$(inside cofferdam run -- sh -c '! test -e /stranger && echo walled')" = walled ] &&
    inside cofferdam run -- cat /proc/net/dev >"$folder/out.txt" && ! grep -E '(eth|ens|enp)[0-9]' "$folder/out.txt" &&
    [ "$(echo '6 * 7' | inside cofferdam python -)" = 42 ]
}

removed() {
  inside apt-get purge -y -q cofferdam && [ -z "$(find "$root/usr" -name '*cofferdam*')" ]
}

deb=$folder/cofferdam_${version}_$(dpkg --print-architecture).deb
remove_root
if [ $self_test = yes ]; then
  test -f "$deb" || { echo "$0: $deb does not exist; run it without --self-test first" >&2; exit 2; }
  good=$deb
  # A package without a library, one that depends on what does not exist, and a root without the package.
  mkdir -p "$folder/bad" && dpkg-deb -R "$good" "$folder/bad"
  rm "$folder/bad/usr/lib/libcofferdam.a"
  deb=$folder/bad.deb
  dpkg-deb --build --root-owner-group "$folder/bad" "$deb" >/dev/null
  must_fail "a package without libcofferdam.a" "lib/libcofferdam.a is missing" contains
  sed -i 's/^Depends: /Depends: no-such-package, /' "$folder/bad/DEBIAN/control"
  dpkg-deb --build --root-owner-group "$folder/bad" "$deb" >/dev/null
  clean_debian >"$folder/log.txt" 2>&1 || { cat "$folder/log.txt" && exit 1; }
  must_fail "a package that cannot be installed" "no-such-package" install_package
  must_fail "a program without the package" "cofferdam-compiled.*not found|No package" with_pkg_config cofferdam-compiled local '^hello$'
  rm -rf "$folder/bad" "$deb"
  echo "self-test: 3 bad packages, $passed judged wrongly"
  [ "$passed" -eq 0 ]
  exit
fi
try "cpack builds the package" build
try "cmake --install installs the program, its manual page and its completions" installed_from_the_build
try "the package contains headers, libcofferdam.a and the programs, and no path of this machine" contains
try "a clean Debian ($codename, debootstrap)" clean_debian
try "apt-get installs the package and what it depends on" install_package
try "pkg-config cofferdam-core" with_pkg_config cofferdam-core core ': ran$'
try "pkg-config cofferdam-compiled" with_pkg_config cofferdam-compiled local '^hello$'
try "pkg-config cofferdam" with_pkg_config cofferdam linked ': ran$'
try "find_package(cofferdam)" with_cmake find_package linked ': ran$'
try "find_package(cofferdam COMPONENTS core compiled)" with_cmake find_package_compiled local '^hello$'
try "the installed programs run" programs_run
try "cofferdam run without bubblewrap names the package to install" without_bubblewrap
try "cofferdam run and cofferdam python in the jail" in_the_jail
try "apt-get removes all of it" removed
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
