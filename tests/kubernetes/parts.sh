#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# Provides programs that run beside the test cluster.
#
#   tests/kubernetes/parts.sh PART             prints the folder of a part, and builds it if necessary
#   tests/kubernetes/parts.sh PART build       builds it from the Go module proxy, even if it can be had otherwise
#   tests/kubernetes/parts.sh PART available   succeeds if it need not be built
#
# The parts:
#
#   agent-sandbox   `program`, the controller of kubernetes-sigs/agent-sandbox, and `crds`, its definitions
#   kube-router     `program`, which enforces NetworkPolicies by the firewall of this machine
#
# The folder is in the cache: ~/.cache/cofferdam/PART-VERSION, or COFFERDAM_TEST_KUBE_CACHE/PART-VERSION. Building needs
# Go 1.21 or newer (Go fetches the version that it needs, 1.26), some minutes of processor time, and 1 GB of disk.

set -euo pipefail

say() { printf 'kubernetes for tests: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

# Succeeds if the folder has the program, and the definitions if there are any.
works() {
  [ -x "$1/program" ] && "$1/program" --version >/dev/null 2>&1 || return 1
  [ -z "$definitions" ] || [ -r "$1/crds/extensions.agents.x-k8s.io_sandboxclaims.yaml" ]
}

build() {  # build FOLDER
  local folder source packages
  command -v go >/dev/null || fail "Go is missing: apt-get install golang-go"
  folder=$(mktemp -d "${TMPDIR:-/tmp}/cofferdam-part-XXXXXX")
  # shellcheck disable=SC2064  # the path of now
  trap "rm -rf '$folder'" EXIT
  mkdir "$folder/source" "$folder/result"
  cd "$folder/source"
  export GOFLAGS=-mod=mod GOTOOLCHAIN=auto CGO_ENABLED=0 GOGC=800
  printf 'module part\n\ngo 1.26.0\n\nrequire %s v%s\n' "$module" "$version" >go.mod
  source=$(go mod download -json "$module@v$version" | sed -n 's/^.*"Dir": "\(.*\)",*$/\1/p')
  [ -d "$source/$package" ] || fail "the Go module proxy does not offer $module v$version"
  say "fetch the modules of $part $version"
  packages=$(go list -deps "$module/$package" 2>list.log | wc -l) || {
    tail -n 20 list.log >&2
    fail "the modules cannot be fetched"
  }
  say "compile $packages packages; this takes some minutes"
  go build -p "${COFFERDAM_JOBS:-2}" -trimpath -ldflags '-s -w' -o "$folder/result/program" "$module/$package" >&2
  if [ -n "$definitions" ]; then cp -r --no-preserve=mode "$source/$definitions" "$folder/result/crds"; fi
  works "$folder/result" || fail "the program that was built does not work"
  mkdir -p "$(dirname "$1")"
  rm -rf "$1"
  mv "$folder/result" "$1"
}

part=${1:-} definitions=''
case $part in
  agent-sandbox) module=sigs.k8s.io/agent-sandbox package=cmd/agent-sandbox-controller version=0.5.6 definitions=k8s/crds ;;
  kube-router) module=github.com/cloudnativelabs/kube-router/v2 package=cmd/kube-router version=2.1.0 ;;
esac
cached=${COFFERDAM_TEST_KUBE_CACHE:-${HOME:-/root}/.cache/cofferdam}/$part-${version:-}
case ${version:+${2:-print}}:$# in
  print:1)
    works "$cached" || build "$cached"
    echo "$cached"
    ;;
  available:2) works "$cached" ;;
  build:2)
    build "$cached"
    echo "$cached"
    ;;
  *)
    sed -n '7,14s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
