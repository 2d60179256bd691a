#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# Provides the program of the test cluster: the API server, the scheduler and the kubelet of Kubernetes in one file.
#
#   tests/kubernetes/program.sh         prints the path of the program, and builds it first if necessary
#   tests/kubernetes/program.sh build   builds it from the Go module proxy, even if it can be had otherwise
#   tests/kubernetes/program.sh available   succeeds if it need not be built
#
# The program is, in this order: the file that COFFERDAM_KUBE_PROGRAM names; the one in the cache,
# ~/.cache/cofferdam/kube-VERSION (or COFFERDAM_TEST_KUBE_CACHE/kube-VERSION); the packed one that stands in
# ../shared/tools beside the source tree, if there is one; or it is built. Building needs Go 1.24 or newer (Go fetches
# the version that it needs), about 14 minutes of processor time, 2.5 GB of memory and 3 GB of disk.

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here version=1.34.4

say() { printf 'kubernetes for tests: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

# Succeeds if the file is such a program.
works() { [ -x "$1" ] && [ "$( (exec -a hyper "$1" kubelet --version) 2>/dev/null)" = "Kubernetes v$version" ]; }

build() {  # build FILE
  local folder module modules packages
  command -v go >/dev/null || fail "Go is missing: apt-get install golang-go, or name the program by COFFERDAM_KUBE_PROGRAM"
  folder=$(mktemp -d "${TMPDIR:-/tmp}/cofferdam-kube-XXXXXX")
  # shellcheck disable=SC2064  # the path of now
  trap "rm -rf '$folder'" EXIT
  cp "$here/one_program.go" "$folder/main.go"
  cd "$folder"
  export GOFLAGS=-mod=mod GOTOOLCHAIN=auto CGO_ENABLED=0 GOGC=800
  {
    printf 'module kube\n\ngo 1.24.0\n\nrequire k8s.io/kubernetes v%s\n\n' "$version"
    # Kubernetes' own go.mod replaces its parts by folders of its source tree; as modules they have versions of their own.
    module=$(GOFLAGS='' go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/^.*"GoMod": "\(.*\)",*$/\1/p')
    [ -r "$module" ] || fail "the Go module proxy does not offer k8s.io/kubernetes v$version"
    modules=$(sed -n 's|^.*\(k8s\.io/[a-z0-9-]*\) => \./staging/.*$|\1|p' "$module" | sort -u)
    for module in $modules; do printf 'replace %s => %s v0.%s\n' "$module" "$module" "${version#1.}"; done
  } >go.mod
  say "fetch the modules of Kubernetes $version"
  packages=$(go list -deps . 2>list.log | wc -l) || { tail -n 20 list.log >&2; fail "the modules cannot be fetched"; }
  say "compile $packages packages; this takes some minutes"
  go build -p "${COFFERDAM_JOBS:-2}" -trimpath -o "$folder/program" -ldflags "-s -w \
    -X k8s.io/component-base/version.gitVersion=v$version -X k8s.io/component-base/version.gitMajor=1 \
    -X k8s.io/component-base/version.gitMinor=34" . >&2
  works "$folder/program" || fail "the program that was built does not work"
  mkdir -p "$(dirname "$1")"
  mv "$folder/program" "$1.new.$$"
  mv "$1.new.$$" "$1"
}

unpack() {  # unpack PACKED FILE
  command -v xz >/dev/null || return 1
  mkdir -p "$(dirname "$2")"
  xz -dc "$1" >"$2.new.$$" 2>/dev/null && chmod +x "$2.new.$$" && works "$2.new.$$" && mv "$2.new.$$" "$2" && return
  rm -f "$2.new.$$"
  return 1
}

cached=${COFFERDAM_TEST_KUBE_CACHE:-${HOME:-/root}/.cache/cofferdam}/kube-$version
packed=$here/../../../shared/tools/kube-$version.xz
case ${1:-print}:$# in
  print:0)
    if [ -n "${COFFERDAM_KUBE_PROGRAM:-}" ]; then
      works "$COFFERDAM_KUBE_PROGRAM" || fail "COFFERDAM_KUBE_PROGRAM, $COFFERDAM_KUBE_PROGRAM, is not Kubernetes $version"
      echo "$COFFERDAM_KUBE_PROGRAM"
      exit
    fi
    if ! works "$cached"; then
      if ! { [ -r "$packed" ] && unpack "$packed" "$cached"; }; then build "$cached"; fi
    fi
    echo "$cached"
    ;;
  available:1) [ -n "${COFFERDAM_KUBE_PROGRAM:-}" ] || works "$cached" || { [ -r "$packed" ] && command -v xz >/dev/null; } ;;
  build:1)
    build "$cached"
    echo "$cached"
    ;;
  *)
    sed -n '5,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
