#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# newest_debian.sh FOLDER PACKAGE...: unpacks packages of Debian's development branch into FOLDER/root, with all their
# dependencies including the C library. It installs nothing on this machine, and the unpacked programs use nothing of
# this machine. Runs on Debian 12 or later, as any user. Downloads from the archive that this machine's own packages
# come from.
set -euo pipefail
[ $# -ge 2 ] || { echo "usage: $0 FOLDER PACKAGE..." >&2; exit 2; }

mkdir -p "$1"
folder=$(cd "$1" && pwd)
rm -rf "$folder"/{lists,archives,root,status}
mkdir -p "$folder"/{lists,archives}/partial "$folder/root"
touch "$folder/status"  # no package counts as installed, so all dependencies are fetched
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
site=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' "Codename: $codename" 'Component: main' | head -n 1)
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site sid main" >"$folder/sources.list"
options=(-q -o "Dir::Etc::sourcelist=$folder/sources.list" -o Dir::Etc::sourceparts=- -o Acquire::Languages=none
  -o Acquire::Retries=3 -o "Dir::State::lists=$folder/lists" -o "Dir::Cache=$folder" -o "Dir::State::status=$folder/status"
  -o APT::Sandbox::User="$(id -un)" -o APT::Install-Recommends=0 -o Debug::NoLocking=1)
apt-get "${options[@]}" update
apt-get "${options[@]}" -y --download-only install "${@:2}"
for package in "$folder"/archives/*.deb; do dpkg-deb -x "$package" "$folder/root"; done
# Linker scripts name files below /lib and /lib64. On an installed system both are links into /usr.
for name in lib lib64; do
  if [ -d "$folder/root/usr/$name" ] && [ ! -e "$folder/root/$name" ]; then ln -s "usr/$name" "$folder/root/$name"; fi
done
rm -rf "$folder"/{lists,archives}
