#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# Prints the path of an archive with Debian 12 (debootstrap, minbase), python3, procps, bash, and a user `user` (1000).
#
#   tests/docker/debian_archive.sh FOLDER
#
# Making the archive takes up to a minute, so it is kept in the parent of FOLDER, or in COFFERDAM_TEST_DOCKER_CACHE. Its
# name depends on its contents and not on the text of this file. FOLDER gets the log.

set -euo pipefail
folder=$1
readonly suite=bookworm include=python3,procps

say() { printf 'Debian for tests: %s\n' "$*" >&2; }

cache=${COFFERDAM_TEST_DOCKER_CACHE:-$(dirname "$folder")}
kept=$cache/cofferdam-test-$suite-$(dpkg --print-architecture)-${include//,/-}-2.tar
if [ ! -s "$kept" ]; then
  work=$(mktemp -d)
  trap 'rm -rf --one-file-system "$work"' EXIT
  root=$work/debian
  say "debootstrap $suite with $include: about a minute"
  mkdir -p "$cache"
  if ! debootstrap --variant=minbase "--include=$include" "$suite" "$root" >"$folder/debootstrap.log" 2>&1; then
    tail -n 20 "$folder/debootstrap.log" >&2
    say "debootstrap failed; whole log: $folder/debootstrap.log"
    exit 1
  fi
  rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/var/log/* "$root"/usr/share/{doc,man,locale,info}/*
  find "$root" -name __pycache__ -prune -exec rm -rf {} +
  chroot "$root" useradd --uid 1000 --create-home --shell /bin/bash user
  tar -C "$root" --sort=name --numeric-owner --exclude='./dev/*' --exclude='./proc/*' --exclude='./sys/*' \
    -cf "$kept.$$" .
  mv "$kept.$$" "$kept"
fi
echo "$kept"
