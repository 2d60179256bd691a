#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# Makes the images of the test cluster, without a registry. cluster.sh calls this script:
#
#   tests/kubernetes/images.sh SOCKET FOLDER    SOCKET is that of containerd
#
# An image that this version of the file has already made is not made again. The images are:
#
#   cofferdam-test/pause:1    what containerd runs to hold the namespaces of a pod
#   cofferdam-test/busybox:1  static busybox with links for all its commands; users root and `user` (1000)
#   cofferdam-test/bare:1     only the file of busybox, so that there is no `sh`
#   cofferdam-test/debian:1   Debian 12 with python3, procps and bash; user `user` (1000)

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
socket=$1 folder=$2

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT

say() { printf 'kubernetes for tests: %s\n' "$*" >&2; }
ctr() { command ctr -a "$socket" -n k8s.io "$@"; }

busybox=$(command -v busybox)
recipe=$(cat "${BASH_SOURCE[0]}" "$here/image.py" "$busybox" | sha256sum | cut -c 1-16)

pack() { tar -C "$1" --sort=name --mtime=@1700000000 --numeric-owner -cf "$2" .; }

busybox_root() {
  local name root=$1
  mkdir -p "$root"/{bin,etc,root,home/user,proc,sys,dev,tmp,var/tmp,usr/bin}
  cp "$busybox" "$root/bin/busybox"
  for name in $("$busybox" --list); do
    if [ "$name" != busybox ]; then ln -s busybox "$root/bin/$name"; fi
  done
  ln -s ../../bin/env "$root/usr/bin/env"
  printf 'root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n' >"$root/etc/passwd"
  printf 'root:x:0:\nuser:x:1000:\n' >"$root/etc/group"
  chown 1000:1000 "$root/home/user"
  chmod 0755 "$root"
  chmod 1777 "$root/tmp" "$root/var/tmp"
}

import() {  # import NAME LAYER WORD...
  local name=cofferdam-test/$1:1 layer=$2
  shift 2
  python3 "$here/image.py" "$name" "$layer" "$work/image.tar" "$@"
  ctr images import "$work/image.tar" >/dev/null
  rm "$work/image.tar"
  say "made $name"
}

names=$(ctr images list -q)
is_made() { [ "$(cat "$folder/images-recipe" 2>/dev/null)" = "$recipe" ] && grep -qx "docker.io/cofferdam-test/$1:1" <<<"$names"; }

if ! is_made busybox || ! is_made pause || ! is_made bare; then
  busybox_root "$work/busybox"
  pack "$work/busybox" "$work/busybox.tar"
  import busybox "$work/busybox.tar" /bin/sh
  import pause "$work/busybox.tar" /bin/busybox sleep 2000000000
  mkdir -p "$work/bare/bin"
  cp "$busybox" "$work/bare/bin/busybox"
  pack "$work/bare" "$work/bare.tar"
  import bare "$work/bare.tar" /bin/busybox sleep 2000000000
fi
if ! is_made debian; then
  archive=$("$here/../docker/debian_archive.sh" "$folder")
  import debian "$archive" /bin/bash
fi
echo "$recipe" >"$folder/images-recipe"
