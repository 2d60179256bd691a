#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# Makes the images that the tests of the Docker backend use, without a public registry. daemon.sh calls this script:
#
#   tests/docker/images.sh DOCKER_HOST FOLDER REGISTRY
#
# An image that this version of the file has already made is not made again. The images are:
#
#   cofferdam-test/busybox     static busybox with links for all its commands; users root and `user` (1000)
#   cofferdam-test/debian      Debian 12 (debootstrap, minbase) with python3, procps and bash; user `user` (1000)
#   cofferdam-test/entrypoint  everything that a backend must override: an ENTRYPOINT that prints text, changes the
#                              folder, leaves a child process behind and never runs its arguments; also a CMD, a
#                              VOLUME, and a HEALTHCHECK each second
#   cofferdam-test/user        USER 1234:1234, HOME=/srv/guest, WORKDIR /srv/guest/work; this user owns both folders
#   cofferdam-test/shell-less  only one static program, `/bin/busybox-tool NAME WORDS...`; no /bin/sh
#
# REGISTRY/cofferdam-test/busybox is a copy of the first image, for tests that pull an image. The daemon has no image of
# that name before the pull.

set -euo pipefail
export DOCKER_HOST=$1
folder=$2 registry=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT

say() { printf 'docker for tests: %s\n' "$*" >&2; }

busybox=$(command -v busybox)
recipe=$(cat "${BASH_SOURCE[0]}" "$busybox" | sha256sum | cut -c 1-16)

is_made() {
  [ "$(docker image inspect -f '{{index .Config.Labels "cofferdam.recipe"}}' "cofferdam-test/$1" 2>/dev/null)" = "$recipe" ]
}

pack() { tar -C "$1" --sort=name --mtime=@1700000000 --numeric-owner -c .; }

# into NAME CHANGE...: makes an image of the tar archive on standard input.
into() {
  local name=$1 change options=()
  shift
  for change in "LABEL cofferdam.recipe=$recipe" "$@"; do options+=(--change "$change"); done
  docker import "${options[@]}" - "cofferdam-test/$name:latest" >/dev/null
  say "made cofferdam-test/$name"
}

readonly path='ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

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
  chmod 0700 "$root/root"
  chmod 1777 "$root/tmp" "$root/var/tmp"
}

make_busybox() {
  busybox_root "$work/busybox"
  pack "$work/busybox" | into busybox "$path" 'CMD ["/bin/sh"]'
}

make_entrypoint() {
  busybox_root "$work/entrypoint"
  mkdir "$work/entrypoint/odd" "$work/entrypoint/data"
  echo kept >"$work/entrypoint/data/file"
  cat >"$work/entrypoint/entrypoint" <<'TEXT'
#!/bin/sh
# An entrypoint in the place of a backend's own program. If it runs, this banner is printed instead of the output of the
# given words.
trap '' TERM HUP INT
echo "entrypoint: banner on stdout, $# words: $*"
echo "entrypoint: banner on stderr" >&2
cd /odd || exit 9
export ENTRYPOINT_RAN=yes
(while :; do sleep 3600; done) &
cat >/dev/null
exit 37
TEXT
  chmod 0755 "$work/entrypoint/entrypoint"
  pack "$work/entrypoint" | into entrypoint "$path" 'ENV FROM_IMAGE="two words"' 'ENTRYPOINT ["/entrypoint", "--odd"]' \
    'CMD ["never", "run"]' 'WORKDIR /odd' 'VOLUME /data' \
    'HEALTHCHECK --interval=1s --timeout=1s CMD echo checked >>/odd/health'
}

make_user() {
  busybox_root "$work/user"
  mkdir -p "$work/user/srv/guest/work"
  echo 'guest:x:1234:1234::/srv/guest:/bin/sh' >>"$work/user/etc/passwd"
  echo 'guest:x:1234:' >>"$work/user/etc/group"
  chown -R 1234:1234 "$work/user/srv/guest"
  pack "$work/user" | into user "$path" 'ENV HOME=/srv/guest' 'USER 1234:1234' 'WORKDIR /srv/guest/work' \
    'CMD ["/bin/sh"]'
}

make_shell_less() {
  mkdir -p "$work/shell-less/bin"
  cp "$busybox" "$work/shell-less/bin/busybox-tool"
  chmod 0755 "$work/shell-less"
  pack "$work/shell-less" | into shell-less 'CMD ["/bin/busybox-tool", "true"]'
}

make_debian() {
  local archive
  archive=$("$here/debian_archive.sh" "$folder")
  into debian "$path" 'ENV LANG=C.UTF-8' 'CMD ["/bin/bash"]' <"$archive"
}

fill_registry() {
  local name=$registry/cofferdam-test/busybox:latest
  if [ "$(cat "$folder/registry-store/recipe" 2>/dev/null)" = "$recipe" ]; then return; fi
  docker tag cofferdam-test/busybox:latest "$name"
  docker push "$name" >/dev/null
  docker rmi "$name" >/dev/null
  echo "$recipe" >"$folder/registry-store/recipe"
  say "pushed $name"
}

is_made busybox || make_busybox
is_made entrypoint || make_entrypoint
is_made user || make_user
is_made shell-less || make_shell_less
is_made debian || make_debian
fill_registry
