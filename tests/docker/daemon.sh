#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# A private Docker daemon for the tests. It is independent of the host's daemon, and `stop` removes all traces of it.
#
#   tests/docker/daemon.sh packages       prints the packages that a fresh Debian 12 needs, in one line for apt-get
#   tests/docker/daemon.sh start FOLDER   starts containerd, dockerd and a registry; makes the images (images.sh)
#   tests/docker/daemon.sh env FOLDER     prints variables for the tests: eval "$(tests/docker/daemon.sh env FOLDER)"
#   tests/docker/daemon.sh stop FOLDER    stops them, removes containers, mounts, cgroups, bridge and run folder
#
# The script needs root. FOLDER keeps the images, so a second start takes only seconds. Remove FOLDER after `stop` to
# free the disk. The Debian image is cached in the parent of FOLDER, or in COFFERDAM_TEST_DOCKER_CACHE. If the daemon
# is already running, `start` only makes the images that are missing. If no daemon is running, `stop` does nothing.
# Both also work after an earlier `start` or `stop` has crashed.
#
#   FOLDER/run        contains the path of the run folder. That folder is under /tmp and has a short name, because the
#                     path of a socket must stay below 108 bytes.
#   FOLDER/registry   contains HOST:PORT of the registry on loopback, which offers cofferdam-test/busybox:latest
#   FOLDER/*.log      logs of dockerd, containerd and the registry
#   FOLDER/data, FOLDER/containerd, FOLDER/registry-store  their data
#
# Networks: the script changes no iptables rules and enables no forwarding. It only adds one bridge to the host, which
# connects containers with each other and with the host, but not with other networks (so `docker create` prints a
# warning). If it cannot create a bridge, only the networks `none` and `host` exist. Outside FOLDER and the run
# folder, dockerd only creates /etc/docker/key.json. COFFERDAM_TEST_DOCKER_DRIVER selects another storage driver than
# dockerd's default (vfs works everywhere).

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here answer_limit=120

say() { printf 'docker for tests: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

packages() {
  echo docker.io docker-registry busybox-static debootstrap debian-archive-keyring iproute2 openssh-client
}

# ---- the state of an earlier start -----------------------------------------------------------------------------------

folder='' run=''

open_folder() {  # sets `folder`, and locks it until this script ends
  mkdir -p "$1"
  folder=$(cd "$1" && pwd)
  exec 9>"$folder/lock"
  flock -w 600 9 || fail "another start or stop holds $folder/lock for ten minutes"
  read_run
}

# Sets `run` to the run folder of the last start, or to nothing. The value is used for `rm -rf`, so a name that this
# script cannot have created is ignored.
read_run() {
  run=''
  if [ -r "$folder/run" ]; then run=$(cat "$folder/run"); fi
  [[ $run =~ ^/tmp/cofferdam-[A-Za-z0-9]{6}$ ]] || run=''
}

client() { docker -H "unix://$run/docker.sock" "$@"; }

# Succeeds if the process with this id was started by this script. After that process has ended, its id may belong to an
# unrelated process, so the command line must contain the run folder.
is_ours() {
  local line state
  [[ $1 =~ ^[0-9]+$ ]] && [ "$1" -gt 1 ] || return 1
  { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
  state=${line##*) }
  [ "${state:0:1}" != Z ] || return 1
  { tr '\0' ' ' <"/proc/$1/cmdline"; } 2>/dev/null | grep -qF -- "$run/"
}

pid_of() { cat "$run/$1.pid" 2>/dev/null || true; }

is_running() { [ -n "$run" ] && is_ours "$(pid_of dockerd)" && timeout 20 docker -H "unix://$run/docker.sock" version >/dev/null 2>&1; }

# background NAME COMMAND...: starts the command in a session of its own, so that it outlives the caller and its
# terminal.
background() {
  local name=$1
  shift
  env -u HTTP_PROXY -u HTTPS_PROXY -u http_proxy -u https_proxy \
    setsid "$@" </dev/null >"$folder/$name.log" 2>&1 9>&- &
  echo $! >"$run/$name.pid"
}

# ---- stop ------------------------------------------------------------------------------------------------------------

end_process() {  # end_process PID SECONDS: sends SIGTERM, waits up to SECONDS, and then sends SIGKILL
  local pid=$1 deadline=$((SECONDS + $2)) signal
  is_ours "$pid" || return 0
  for signal in TERM KILL; do
    kill -s "$signal" "$pid" 2>/dev/null || true
    while is_ours "$pid"; do
      if [ $SECONDS -ge $deadline ]; then break; fi
      sleep 0.05
    done
    deadline=$((SECONDS + 20))
  done
  if is_ours "$pid"; then fail "process $pid does not end; see $folder/*.log"; fi
}

remove_containers() {
  local ids
  ids=$(timeout 60 docker -H "unix://$run/docker.sock" ps -aq) || return 0
  if [ -n "$ids" ]; then
    # shellcheck disable=SC2086  # one word an id
    timeout 120 docker -H "unix://$run/docker.sock" rm -f -v $ids >/dev/null 2>&1 || true
  fi
}

# Prints the cgroups of this script's daemon. The processes of every container are in a cgroup below these, so this also
# finds the processes that a crashed daemon left behind.
own_cgroups() {
  local top
  for top in "/sys/fs/cgroup/${run##*/}" /sys/fs/cgroup/*/"${run##*/}"; do
    if [ -d "$top" ]; then find "$top" -depth -type d 2>/dev/null || true; fi
  done
}

kill_containers() {
  local round group pid
  for round in $(seq 100); do
    local left=0
    for group in $(own_cgroups); do
      if [ -e "$group/cgroup.freeze" ]; then echo 0 >"$group/cgroup.freeze" 2>/dev/null || true; fi
      if [ -e "$group/freezer.state" ]; then echo THAWED >"$group/freezer.state" 2>/dev/null || true; fi
      while read -r pid; do
        left=1
        kill -KILL "$pid" 2>/dev/null || true
      done < <(cat "$group/cgroup.procs" 2>/dev/null)
    done
    if [ $left -eq 0 ]; then return; fi
    if [ "$round" -eq 100 ]; then say "processes of containers do not end"; fi
    sleep 0.1
  done
}

own_mounts() {  # prints the mounts below FOLDER and the run folder, the deepest first
  local place name
  name=$(printf '%s' "$folder" | sed 's/ /\\040/g')
  while read -r _ _ _ _ place _; do
    case $place in "$run"/* | "$name"/*) printf '%b\n' "$place" ;; esac
  done </proc/self/mountinfo | sort -r
}

stop() {
  local place group process pid
  if [ -z "$run" ] || [ ! -d "$run" ]; then
    rm -f "$folder/run" "$folder/registry"
    return
  fi
  if is_running; then remove_containers; fi
  end_process "$(pid_of registry)" 10
  end_process "$(pid_of dockerd)" 40
  kill_containers
  end_process "$(pid_of containerd)" 20
  for process in /proc/[0-9]*; do  # processes with no stored id, such as shims of a crashed containerd
    pid=${process#/proc/}
    case $(cat "$process/comm" 2>/dev/null || true) in
      containerd-shim* | containerd | dockerd | docker-registry) end_process "$pid" 5 ;;
    esac
  done
  while read -r place; do
    umount "$place" 2>/dev/null || umount -l "$place" 2>/dev/null || true
  done < <(own_mounts)
  for group in $(own_cgroups); do rmdir "$group" 2>/dev/null || true; done
  if [ -r "$run/bridge" ]; then ip link delete "$(cat "$run/bridge")" 2>/dev/null || true; fi
  if [ -n "$(own_mounts)" ]; then fail "still mounted: $(own_mounts | tr '\n' ' ')"; fi
  rm -rf --one-file-system "$run"
  rm -f "$folder/run" "$folder/registry"
  run=''
}

# ---- start -----------------------------------------------------------------------------------------------------------

# Creates a bridge with a name of its own, because with --bridge=none dockerd would delete the docker0 of another
# daemon.
make_bridge() {
  local name="cfd${run##*-}" third
  for third in $(seq 32 63); do
    if [ -z "$(ip -4 route list "10.213.$third.0/24" 2>/dev/null)" ]; then
      echo "$name" >"$run/bridge"
      if ip link add "$name" type bridge 2>/dev/null; then
        ip address add "10.213.$third.1/24" dev "$name"
        ip link set "$name" up
        echo "$name"
        return
      fi
      break
    fi
  done
  if [ -e /sys/class/net/docker0 ]; then fail "no bridge can be made here, and one of another Docker would be deleted"; fi
  echo none
}

start_registry() {
  local deadline=$((SECONDS + answer_limit)) address=''
  cat >"$run/registry.yml" <<TEXT
version: 0.1
log: { level: info }
storage:
  filesystem: { rootdirectory: "$folder/registry-store" }
  delete: { enabled: true }
http: { addr: "127.0.0.1:0" }
TEXT
  background registry docker-registry serve "$run/registry.yml"
  while [ -z "$address" ]; do
    address=$(sed -n 's/.*listening on \(127\.0\.0\.1:[0-9]*\).*/\1/p' "$folder/registry.log" 2>/dev/null | head -n 1 || true)
    if [ $SECONDS -ge $deadline ] || ! is_ours_soon "$(pid_of registry)"; then
      tail -n 30 "$folder/registry.log" >&2
      fail "the registry did not start"
    fi
    sleep 0.05
  done
  echo "$address" >"$folder/registry"
}

# Succeeds if the process soon counts as started by this script. Before its exec, a child has the command line of this
# script, which does not contain the run folder.
is_ours_soon() {
  local attempt
  for attempt in $(seq 40); do
    if is_ours "$1"; then return 0; fi
    if [ ! -d "/proc/$1" ]; then return 1; fi
    sleep "0.0$((attempt % 9 + 1))"
  done
  return 1
}

start_daemons() {
  local bridge deadline option=()
  run=$(mktemp -d /tmp/cofferdam-XXXXXX)
  [[ $run =~ ^/tmp/cofferdam-[A-Za-z0-9]{6}$ ]] || fail "mktemp made $run"
  echo "$run" >"$folder/run"
  mkdir "$run/exec" "$run/client"
  echo '{}' >"$run/daemon.json"
  printf 'version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n' >"$run/containerd.toml"
  bridge=$(make_bridge)

  background containerd containerd --config "$run/containerd.toml" --root "$folder/containerd" \
    --state "$run/containerd" --address "$run/containerd.sock"
  if [ -n "${COFFERDAM_TEST_DOCKER_DRIVER:-}" ]; then option+=("--storage-driver=$COFFERDAM_TEST_DOCKER_DRIVER"); fi
  background dockerd dockerd --config-file "$run/daemon.json" --data-root "$folder/data" --exec-root "$run/exec" \
    --pidfile "$run/daemon.pid" --containerd "$run/containerd.sock" -H "unix://$run/docker.sock" \
    --exec-opt native.cgroupdriver=cgroupfs --cgroup-parent "/${run##*/}" \
    --bridge "$bridge" --iptables=false --ip6tables=false --ip-forward=false --ip-masq=false "${option[@]}"

  deadline=$((SECONDS + answer_limit))
  until is_running; do
    if [ $SECONDS -ge $deadline ] || ! is_ours_soon "$(pid_of dockerd)"; then
      tail -n 20 "$folder/containerd.log" >&2
      tail -n 40 "$folder/dockerd.log" >&2
      fail "dockerd did not answer; whole logs: $folder/*.log"
    fi
    sleep 0.1
  done
  start_registry
  remove_containers  # they are left if a daemon has crashed
}

undo_failed_start() {
  local status=$?
  trap - EXIT
  if [ $status -ne 0 ]; then (stop) || true; fi
  exit $status
}

start() {
  local program
  [ "$(id -u)" -eq 0 ] || fail "start needs root"
  for program in containerd dockerd docker docker-registry busybox debootstrap ip flock; do
    command -v $program >/dev/null || fail "$program is missing: apt-get install $(packages)"
  done
  if ! is_running || ! is_ours "$(pid_of registry)"; then
    stop
    trap undo_failed_start EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    start_daemons
  fi
  "$here/images.sh" "unix://$run/docker.sock" "$folder" "$(cat "$folder/registry")" 9>&-
}

print_env() {
  folder=$(cd "$1" 2>/dev/null && pwd) || fail "$1 is no folder: start one first"
  read_run
  is_running || fail "no daemon runs for $folder: tests/docker/daemon.sh start $folder"
  printf 'export COFFERDAM_TEST_DOCKER=%q COFFERDAM_TEST_DOCKER_FOLDER=%q COFFERDAM_TEST_REGISTRY=%q\n' \
    "unix://$run/docker.sock" "$folder" "$(cat "$folder/registry")"
}

# ---- the command line ------------------------------------------------------------------------------------------------

# Ignores the Docker settings of the caller.
unset DOCKER_HOST DOCKER_CONTEXT DOCKER_TLS DOCKER_TLS_VERIFY DOCKER_CERT_PATH DOCKER_API_VERSION DOCKER_CONFIG
DOCKER_CONFIG=/nonexistent
export DOCKER_CONFIG

case ${1:-}:$# in
  packages:1) packages ;;
  start:2)
    open_folder "$2"
    start
    ;;
  stop:2)
    if [ -d "$2" ]; then
      open_folder "$2"
      stop
    fi
    ;;
  env:2) print_env "$2" ;;
  *)
    sed -n '5,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
