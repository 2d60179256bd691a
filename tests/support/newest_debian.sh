#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# newest_debian.sh [--suite NAME] FOLDER PACKAGE...: unpacks packages of Debian's development branch, or of another release,
# into FOLDER/root, with all their dependencies including the C library. It installs nothing on this machine, and the
# unpacked programs use nothing of this machine. Runs on Debian 12 or later, as any user. Downloads from the archive that
# this machine's own packages come from.
#
# An @ in the name of a package is replaced by the greatest number for which the release has a package: clang-@. A package
# with a leading ? is left out if the release does not have it.
set -euo pipefail
suite=sid
if [ "${1:-}" = --suite ]; then suite=${2:?--suite needs a name} && shift 2; fi
[ $# -ge 2 ] || { echo "usage: $0 [--suite NAME] FOLDER PACKAGE..." >&2; exit 2; }

mkdir -p "$1"
folder=$(cd "$1" && pwd)
rm -rf "$folder"/{lists,archives,root,status}
mkdir -p "$folder"/{lists,archives}/partial "$folder/root"
touch "$folder/status"  # no package counts as installed, so all dependencies are fetched
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
site=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' "Codename: $codename" 'Component: main' | head -n 1)
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site $suite main" >"$folder/sources.list"
options=(-q -o "Dir::Etc::sourcelist=$folder/sources.list" -o Dir::Etc::sourceparts=- -o Acquire::Languages=none
  -o Acquire::Retries=3 -o "Dir::State::lists=$folder/lists" -o "Dir::Cache=$folder" -o "Dir::State::status=$folder/status"
  -o APT::Sandbox::User="$(id -un)" -o APT::Install-Recommends=0 -o Debug::NoLocking=1)
apt-get "${options[@]}" update
names=() all=$(apt-cache "${options[@]}" pkgnames)
for name in "${@:2}"; do
  case $name in
    *@*)
      number=$(sed -n "s/^$(sed 's/[.]/\\./g; s/@/\\([0-9][0-9]*\\)/' <<<"$name")\$/\1/p" <<<"$all" | sort -n | tail -n 1)
      [ -n "$number" ] || { echo "$0: $suite has no package $name" >&2; exit 1; }
      names+=("${name/@/$number}")
      ;;
    \?*) if grep -qxF -- "${name#\?}" <<<"$all"; then names+=("${name#\?}"); fi ;;
    *) names+=("$name") ;;
  esac
done
apt-get "${options[@]}" -y --download-only install "${names[@]}"
for package in "$folder"/archives/*.deb; do dpkg-deb -x "$package" "$folder/root"; done
# Linker scripts name files below /lib and /lib64, and programs name /bin/sh. On an installed system these are links into
# /usr.
for name in bin lib lib64; do
  if [ -d "$folder/root/usr/$name" ] && [ ! -e "$folder/root/$name" ]; then ln -s "usr/$name" "$folder/root/$name"; fi
done
rm -rf "$folder"/{lists,archives}
