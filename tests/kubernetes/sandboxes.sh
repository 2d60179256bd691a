#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# Provides the controller of agent-sandbox (kubernetes-sigs/agent-sandbox) for the test cluster, and its CRDs.
#
#   tests/kubernetes/sandboxes.sh         prints the folder with `controller` and `crds`, and builds it if necessary
#   tests/kubernetes/sandboxes.sh build   builds it from the Go module proxy, even if it can be had otherwise
#   tests/kubernetes/sandboxes.sh available   succeeds if it need not be built
#
# The folder is in the cache: ~/.cache/cofferdam/agent-sandbox-VERSION, or
# COFFERDAM_TEST_KUBE_CACHE/agent-sandbox-VERSION. Building needs Go 1.21 or newer (Go fetches the version that it needs,
# 1.26), some minutes of processor time, and 1 GB of disk.

set -euo pipefail
readonly version=0.5.6

say() { printf 'kubernetes for tests: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

# Succeeds if the folder has such a program and its CRDs.
works() {
  [ -r "$1/crds/extensions.agents.x-k8s.io_sandboxclaims.yaml" ] && [ -x "$1/controller" ] &&
    "$1/controller" --version >/dev/null 2>&1
}

build() {  # build FOLDER
  local folder module packages
  command -v go >/dev/null || fail "Go is missing: apt-get install golang-go"
  folder=$(mktemp -d "${TMPDIR:-/tmp}/cofferdam-sandboxes-XXXXXX")
  # shellcheck disable=SC2064  # the path of now
  trap "rm -rf '$folder'" EXIT
  mkdir "$folder/source" "$folder/result"
  cd "$folder/source"
  export GOFLAGS=-mod=mod GOTOOLCHAIN=auto CGO_ENABLED=0 GOGC=800
  printf 'module sandboxes\n\ngo 1.26.0\n\nrequire sigs.k8s.io/agent-sandbox v%s\n' "$version" >go.mod
  module=$(go mod download -json "sigs.k8s.io/agent-sandbox@v$version" | sed -n 's/^.*"Dir": "\(.*\)",*$/\1/p')
  [ -d "$module/k8s/crds" ] || fail "the Go module proxy does not offer sigs.k8s.io/agent-sandbox v$version"
  say "fetch the modules of agent-sandbox $version"
  packages=$(go list -deps sigs.k8s.io/agent-sandbox/cmd/agent-sandbox-controller 2>list.log | wc -l) || {
    tail -n 20 list.log >&2
    fail "the modules cannot be fetched"
  }
  say "compile $packages packages; this takes some minutes"
  go build -p "${COFFERDAM_JOBS:-2}" -trimpath -ldflags '-s -w' -o "$folder/result/controller" \
    sigs.k8s.io/agent-sandbox/cmd/agent-sandbox-controller >&2
  cp -r --no-preserve=mode "$module/k8s/crds" "$folder/result/crds"
  works "$folder/result" || fail "the program that was built does not work"
  mkdir -p "$(dirname "$1")"
  rm -rf "$1"
  mv "$folder/result" "$1"
}

cached=${COFFERDAM_TEST_KUBE_CACHE:-${HOME:-/root}/.cache/cofferdam}/agent-sandbox-$version
case ${1:-print}:$# in
  print:0)
    works "$cached" || build "$cached"
    echo "$cached"
    ;;
  available:1) works "$cached" ;;
  build:1)
    build "$cached"
    echo "$cached"
    ;;
  *)
    sed -n '5,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
