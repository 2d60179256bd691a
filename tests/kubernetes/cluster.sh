#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
#
# A private Kubernetes of one node for the tests, on loopback. `stop` removes all traces of it.
#
#   tests/kubernetes/cluster.sh packages       prints the packages that a fresh Debian 12 needs, for apt-get
#   tests/kubernetes/cluster.sh start FOLDER   starts the cluster and makes the images (images.sh)
#   tests/kubernetes/cluster.sh env FOLDER     prints variables for the tests: eval "$(tests/kubernetes/cluster.sh env FOLDER)"
#   tests/kubernetes/cluster.sh stop FOLDER    stops it, removes pods, mounts, cgroups, bridge and run folder
#   tests/kubernetes/cluster.sh start-sandboxes FOLDER   starts the controller of agent-sandbox in a running cluster
#   tests/kubernetes/cluster.sh stop-sandboxes FOLDER    stops it, and removes its CRDs with all of their objects
#   tests/kubernetes/cluster.sh start-firewall FOLDER    lets new pods reach the API server, and enforces NetworkPolicies
#   tests/kubernetes/cluster.sh stop-firewall FOLDER     undoes this
#
# The script needs root. The parts are etcd, containerd, runc and CNI plugins from Debian, and one program with the API
# server, the scheduler and the kubelet (program.sh). There is no controller manager: pods only, no deployments. FOLDER
# keeps the images, so a second start takes seconds; each start begins with an empty cluster. If the cluster is already
# running, `start` does nothing; if it is not running, `stop` does nothing. Both also work after an earlier `start` or
# `stop` has crashed.
#
#   FOLDER/run        contains the path of the run folder, which is under /tmp and has a short name
#   FOLDER/*.log      logs of the parts
#   FOLDER/containerd the images
#   RUN/kubeconfig    for the user admin, who may do everything; RUN/guest.kubeconfig for one who may do nothing
#
# Networks: pods get an address on a bridge that leads nowhere; NetworkPolicies are stored and not enforced. With
# `start-firewall`, new pods have a route to this machine, where connections to the cluster's address of the API server
# are passed on, and kube-router enforces NetworkPolicies by iptables, in chains of its own. The kubelet changes some
# sysctls of the machine, which `stop` restores.

set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here answer_limit=120

say() { printf 'kubernetes for tests: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

packages() {
  echo containerd runc containernetworking-plugins etcd-server busybox-static debootstrap debian-archive-keyring iproute2 \
    openssl curl xz-utils python3 iptables ipset
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

# api METHOD PATH CURL-OPTION...: sends a request to the API server as the admin, and prints the answer.
api() {
  local method=$1 path=$2 port
  shift 2
  port=$(cat "$run/port")
  curl -sS --fail --max-time 20 --noproxy '*' --cacert "$run/pki/apiserver.crt" --resolve "kubernetes:$port:127.0.0.1" \
    -H "@$run/authorization" -X "$method" "$@" "https://kubernetes:$port$path"
}

node_is_ready() {
  api GET /api/v1/nodes/localhost | python3 -c '
import json, sys
conditions = json.load(sys.stdin)["status"].get("conditions", [])
sys.exit(not any(c["type"] == "Ready" and c["status"] == "True" for c in conditions))'
}

is_running() { [ -n "$run" ] && is_ours "$(pid_of kubelet)" && node_is_ready >/dev/null 2>&1; }

# background NAME COMMAND...: starts the command in a session of its own, so that it outlives the caller and its
# terminal.
background() {
  local name=$1
  shift
  env -u HTTP_PROXY -u HTTPS_PROXY -u http_proxy -u https_proxy \
    setsid "$@" </dev/null >"$folder/$name.log" 2>&1 9>&- &
  echo $! >"$run/$name.pid"
}

# wait_for NAME COMMAND...: waits until the command succeeds; fails if the process NAME ends before.
wait_for() {
  local name=$1 deadline=$((SECONDS + answer_limit))
  shift
  until "$@" >/dev/null 2>&1; do
    if [ $SECONDS -ge $deadline ] || ! is_ours_soon "$(pid_of "$name")"; then
      tail -n 30 "$folder/$name.log" | cut -c1-300 >&2
      fail "$name does not work; whole logs: $folder/*.log"
    fi
    sleep 0.1
  done
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

container() { timeout 30 ctr -a "$run/containerd.sock" -n k8s.io "$@" 2>/dev/null; }

# Prints the names of the cluster's containers, which are also those of their cgroups. It reads containerd's folders, so
# it also works after containerd has crashed.
container_names() { ls "$run/containerd/io.containerd.runtime.v2.task/k8s.io" 2>/dev/null || true; }

own_cgroups() {  # own_cgroups NAME...: prints the cgroups of these containers, the deepest first
  local name top
  for name; do
    for top in "/sys/fs/cgroup/k8s.io/$name" /sys/fs/cgroup/*/k8s.io/"$name"; do
      if [ -d "$top" ]; then find "$top" -depth -type d 2>/dev/null || true; fi
    done
  done
}

kill_containers() {  # kill_containers NAME...
  local round group pid left
  for round in $(seq 100); do
    left=0
    for group in $(own_cgroups "$@"); do
      if [ -e "$group/cgroup.freeze" ]; then echo 0 >"$group/cgroup.freeze" 2>/dev/null || true; fi
      if [ -e "$group/freezer.state" ]; then echo THAWED >"$group/freezer.state" 2>/dev/null || true; fi
      while read -r pid; do
        left=1
        kill -KILL "$pid" 2>/dev/null || true
      done < <(cat "$group/cgroup.procs" 2>/dev/null)
    done
    if [ $left -eq 0 ]; then return; fi
    if [ "$round" -eq 100 ]; then say "processes of pods do not end"; fi
    sleep 0.1
  done
}

# Removes the containers that containerd knows, so that the next start does not find them.
remove_containers() {
  local name
  for name in $(container containers list -q); do
    container tasks delete -f "$name" >/dev/null || true
    container containers delete "$name" >/dev/null || true
  done
}

own_mounts() {  # prints the mounts below FOLDER and the run folder, the deepest first
  local place name
  name=$(printf '%s' "$folder" | sed 's/ /\\040/g')
  while read -r _ _ _ _ place _; do
    case $place in "$run"/* | "$name"/*) printf '%b\n' "$place" ;; esac
  done </proc/self/mountinfo | sort -r
}

readonly definitions=/apis/apiextensions.k8s.io/v1/customresourcedefinitions
readonly sandbox_kinds='extensions.agents.x-k8s.io/sandboxclaims extensions.agents.x-k8s.io/sandboxtemplates extensions.agents.x-k8s.io/sandboxwarmpools agents.x-k8s.io/sandboxes'

sandbox_pods_are_gone() {
  api GET '/api/v1/pods?labelSelector=agents.x-k8s.io%2Fsandbox-name-hash' | grep -q '"items": *\[\]'
}

stop_sandboxes() {
  local kind
  end_process "$(pid_of sandboxes)" 10
  for kind in $sandbox_kinds; do
    api DELETE "$definitions/${kind#*/}.${kind%/*}" >/dev/null 2>&1 || true
  done
  if is_ours "$(pid_of garbage-collector)"; then wait_for garbage-collector sandbox_pods_are_gone; fi
  end_process "$(pid_of garbage-collector)" 5
}

firewall_runs() { is_ours "$(pid_of firewall)"; }

forward_api() {  # forward_api -A|-D: passes on connections of pods to the API server
  iptables -t nat "$1" PREROUTING -i "$(bridge)" -d 10.213.255.1 -p tcp --dport 443 -j DNAT \
    --to-destination "127.0.0.1:$(cat "$run/port")" 2>/dev/null
}

stop_firewall() {
  local command chain rule
  end_process "$(pid_of firewall)" 10
  if [ ! -e "$run/firewall.pid" ]; then return; fi
  while forward_api -D; do :; done
  for command in iptables ip6tables; do
    $command -S 2>/dev/null | sed -n "s/^-A \(.* -i $(bridge) .*\)$/\1/p" | while read -r rule; do  # left by a test
      eval "$command -D $rule" || true
    done
    for chain in INPUT FORWARD OUTPUT; do
      $command -S "$chain" 2>/dev/null | sed -n "s/^-A $chain \(.*-j KUBE-ROUTER-$chain\)$/\1/p" | while read -r rule; do
        eval "$command -D $chain $rule" || true
      done
    done
    for rule in -F -X; do
      $command -S 2>/dev/null | sed -n "s/^-N \(KUBE-\(ROUTER\|NWPLCY\|POD-FW\).*\|COFFERDAM-${run##*-}\)$/\1/p" | while read -r chain; do
        $command "$rule" "$chain" || true
      done
    done
  done
  for chain in $(ipset list -name 2>/dev/null | grep -E '^(inet6:)?KUBE-' || true); do ipset destroy "$chain" || true; done
  rm -f "$run/firewall.pid"
}

readonly settings='vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys kernel/keys/root_maxbytes net/ipv4/ip_forward'
# Folders outside of FOLDER that the parts make.
readonly side_folders='/var/lib/kubelet/device-plugins /var/lib/kubelet /var/log/containers /var/lib/cni/results /var/lib/cni'

stop() {
  local place group process pid name value names
  if [ -z "$run" ] || [ ! -d "$run" ]; then
    rm -f "$folder/run"
    return
  fi
  end_process "$(pid_of sandboxes)" 10
  end_process "$(pid_of garbage-collector)" 5
  end_process "$(pid_of kube-scheduler)" 10
  end_process "$(pid_of kubelet)" 20
  names=$(container_names)
  # shellcheck disable=SC2086  # one word a name
  kill_containers $names
  if is_ours "$(pid_of containerd)"; then remove_containers; fi
  # The API server needs long to end after etcd has ended, so it ends first.
  end_process "$(pid_of kube-apiserver)" 5
  end_process "$(pid_of etcd)" 10
  end_process "$(pid_of containerd)" 20
  for process in /proc/[0-9]*; do  # processes with no stored id, such as shims of a crashed containerd
    pid=${process#/proc/}
    case $(cat "$process/comm" 2>/dev/null || true) in
      containerd-shim* | containerd | etcd | hyper | sandboxes | firewall) end_process "$pid" 5 ;;
    esac
  done
  while read -r place; do
    umount "$place" 2>/dev/null || umount -l "$place" 2>/dev/null || true
  done < <(own_mounts)
  # shellcheck disable=SC2086  # one word a name
  for group in $(own_cgroups $names) /sys/fs/cgroup/k8s.io /sys/fs/cgroup/*/k8s.io; do
    rmdir "$group" 2>/dev/null || true
  done
  stop_firewall
  ip link delete "$(bridge)" 2>/dev/null || true
  while read -r name value; do
    if [ "$(cat "/proc/sys/$name")" != "$value" ]; then echo "$value" >"/proc/sys/$name" 2>/dev/null || true; fi
  done < <(cat "$run/sysctl" 2>/dev/null)
  find /var/log/containers -maxdepth 1 -lname "$run/*" -delete 2>/dev/null || true
  find /var/lib/cni/results -maxdepth 1 -name "${run##*/}-*" -delete 2>/dev/null || true
  for name in $names; do rm -f "/var/lib/cni/results/cni-loopback-$name-lo"; done
  for name in $(cat "$run/side-folders" 2>/dev/null); do
    rm -f "$name/kubelet_internal_checkpoint" "$name/kubelet.sock" "$name/DEPRECATION" 2>/dev/null || true
    rmdir "$name" 2>/dev/null || true
  done
  if [ -n "$(own_mounts)" ]; then fail "still mounted: $(own_mounts | tr '\n' ' ')"; fi
  rm -rf --one-file-system "$run"
  rm -f "$folder/run"
  run=''
}

# ---- start -----------------------------------------------------------------------------------------------------------

# Prints free ports of 127.0.0.1.
free_ports() {
  python3 -c '
import socket, sys
sockets = [socket.socket() for _ in range(int(sys.argv[1]))]
for each in sockets:
    each.bind(("127.0.0.1", 0))
print(*(each.getsockname()[1] for each in sockets))' "$1"
}

free_network() {
  local third
  for third in $(seq 64 95); do
    if [ -z "$(ip -4 route list "10.213.$third.0/24" 2>/dev/null)" ]; then
      echo "10.213.$third.0/24"
      return
    fi
  done
  fail "no free network for pods from 10.213.64.0/24 to 10.213.95.0/24"
}

secret() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }

write_kubeconfig() {  # write_kubeconfig FILE PORT TOKEN
  cat >"$1" <<TEXT
apiVersion: v1
kind: Config
current-context: test
clusters:
- name: test
  cluster: {server: "https://127.0.0.1:$2", certificate-authority: pki/apiserver.crt, tls-server-name: kubernetes}
users:
- name: test
  user: {token: "$3"}
contexts:
- name: test
  context: {cluster: test, user: test}
TEXT
}

bridge() { echo "cfk${run##*-}"; }

# write_cni_config HAS-ADDRESS ROUTES: describes the network of new pods. Without an address of the bridge on the host,
# pods reach only each other. The name keeps CNI's cache files apart.
write_cni_config() {
  cat >"$run/cni/10.conflist.new" <<TEXT
{"cniVersion": "0.4.0", "name": "${run##*/}", "plugins": [
  {"type": "bridge", "bridge": "$(bridge)", "isGateway": $1, "ipMasq": false,
   "ipam": {"type": "host-local", "dataDir": "$run/ipam", "ranges": [[{"subnet": "$(cat "$run/network")"}]], "routes": [$2]}}]}
TEXT
  mv "$run/cni/10.conflist.new" "$run/cni/10.conflist"
}

start_containerd() {
  mkdir "$run/cni"
  cat >"$run/containerd.toml" <<TEXT
version = 2
root = "$folder/containerd"
state = "$run/containerd"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper"]
[grpc]
  address = "$run/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "docker.io/cofferdam-test/pause:1"
  # runc needs CAP_SYS_RESOURCE to lower the score; without it no pod would start.
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$run/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
TEXT
  free_network >"$run/network"
  write_cni_config false ''
  background containerd containerd --config "$run/containerd.toml"
  wait_for containerd ctr -a "$run/containerd.sock" version
  remove_containers  # they are left if the last cluster has crashed
  "$here/images.sh" "$run/containerd.sock" "$folder" 9>&-
}

start_control_plane() {  # start_control_plane API-PORT ETCD-PORT PEER-PORT
  local token guest etcd=http://127.0.0.1:$2 peer=http://127.0.0.1:$3
  background etcd etcd --data-dir "$run/etcd" --listen-client-urls "$etcd" --advertise-client-urls "$etcd" \
    --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "default=$peer" --log-level warn
  mkdir "$run/pki"
  openssl genrsa -out "$run/pki/accounts.key" 2048 2>/dev/null
  token=$(secret) guest=$(secret)
  printf '%s,admin,admin,"system:masters"\n%s,guest,guest\n' "$token" "$guest" >"$run/pki/tokens.csv"
  echo "$1" >"$run/port"
  echo "Authorization: Bearer $token" >"$run/authorization"
  write_kubeconfig "$run/kubeconfig" "$1" "$token"
  write_kubeconfig "$run/guest.kubeconfig" "$1" "$guest"
  background kube-apiserver "$run/hyper" kube-apiserver --etcd-servers="$etcd" --bind-address=127.0.0.1 --secure-port="$1" \
    --cert-dir="$run/pki" --service-cluster-ip-range=10.213.255.0/24 --token-auth-file="$run/pki/tokens.csv" \
    --authorization-mode=RBAC --service-account-issuer=https://cofferdam.test \
    --service-account-key-file="$run/pki/accounts.key" --service-account-signing-key-file="$run/pki/accounts.key" \
    --kubelet-preferred-address-types=Hostname --endpoint-reconciler-type=none \
    --disable-admission-plugins=ServiceAccount --allow-privileged=true --v=1
  wait_for kube-apiserver api GET /readyz
  background kube-scheduler "$run/hyper" kube-scheduler --kubeconfig="$run/kubeconfig" --leader-elect=false \
    --bind-address=127.0.0.1 --secure-port=0
}

start_kubelet() {  # start_kubelet PORT
  local name
  for name in $settings; do
    if [ -r "/proc/sys/$name" ]; then echo "$name $(cat "/proc/sys/$name")"; fi
  done >"$run/sysctl"
  for name in $side_folders; do
    if [ ! -e "$name" ]; then echo "$name"; fi
  done >"$run/side-folders"
  cat >"$run/kubelet.yaml" <<TEXT
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 127.0.0.1
port: $1
healthzPort: 0
readOnlyPort: 0
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
cgroupsPerQOS: false
# Without cgroups for QoS, kubelet 1.34.4 crashes when it compares the size of a running pod that has limits.
featureGates: {InPlacePodVerticalScaling: false}
allowedUnsafeSysctls: ["net.ipv6.*"]
enforceNodeAllocatable: [none]
containerRuntimeEndpoint: unix://$run/containerd.sock
failSwapOn: false
makeIPTablesUtilChains: false
resolvConf: ""
evictionHard: {memory.available: "0%", nodefs.available: "0%", imagefs.available: "0%", nodefs.inodesFree: "0%"}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
podLogsDir: $run/podlogs
volumePluginDir: $run/volume-plugins
serializeImagePulls: false
fileCheckFrequency: 0s
syncFrequency: 10s
nodeStatusUpdateFrequency: 10s
TEXT
  background kubelet "$run/hyper" kubelet --kubeconfig="$run/kubeconfig" --config="$run/kubelet.yaml" \
    --root-dir="$run/kubelet" --cert-dir="$run/kubelet/pki" --hostname-override=localhost --v=2
  wait_for kubelet node_is_ready
  # The controller manager would remove this taint; without it no pod would be scheduled.
  api PATCH /api/v1/nodes/localhost -H 'Content-Type: application/merge-patch+json' -d '{"spec": {"taints": null}}' >/dev/null
}

undo_failed_start() {
  local status=$?
  trap - EXIT
  if [ $status -ne 0 ]; then (stop) || true; fi
  exit $status
}

start() {
  local program ports
  [ "$(id -u)" -eq 0 ] || fail "start needs root"
  for program in containerd ctr runc etcd busybox debootstrap ip flock openssl curl python3; do
    command -v $program >/dev/null || fail "$program is missing: apt-get install $(packages)"
  done
  [ -x /usr/lib/cni/bridge ] || fail "the CNI plugins are missing: apt-get install $(packages)"
  if is_running; then return; fi
  program=$("$here/program.sh" 9>&-)
  stop
  trap undo_failed_start EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  run=$(mktemp -d /tmp/cofferdam-XXXXXX)
  [[ $run =~ ^/tmp/cofferdam-[A-Za-z0-9]{6}$ ]] || fail "mktemp made $run"
  echo "$run" >"$folder/run"
  ln -s "$program" "$run/hyper"
  ports=$(free_ports 4)
  # shellcheck disable=SC2086  # one word a port
  set -- $ports
  start_containerd
  start_control_plane "$1" "$2" "$3"
  start_kubelet "$4"
  say "the node is ready after $SECONDS s"
}

sandboxes_run() { is_ours "$(pid_of sandboxes)" && is_ours "$(pid_of garbage-collector)"; }

# Starts the controller of agent-sandbox, and a stand-in for the garbage collector, on which the controller relies.
start_sandboxes() {
  local parts definition name port kind
  is_running || fail "no cluster runs for $folder: tests/kubernetes/cluster.sh start $folder"
  if sandboxes_run; then return; fi
  parts=$("$here/parts.sh" agent-sandbox 9>&-)
  for definition in "$parts"/crds/*.yaml; do
    name=$(sed -n '/^metadata:/,/^spec:/s/^  name: //p' "$definition")
    api PATCH "$definitions/$name?fieldManager=cofferdam-tests&force=true" -H 'Content-Type: application/apply-patch+yaml' \
      --data-binary "@$definition" >/dev/null
    # The webhook of the controller converts objects of older versions, which no test uses.
    api PATCH "$definitions/$name" -H 'Content-Type: application/merge-patch+json' \
      -d '{"spec": {"conversion": {"strategy": "None", "webhook": null}}}' >/dev/null
  done
  for kind in $sandbox_kinds; do wait_for kubelet api GET "/apis/${kind%/*}/v1beta1/${kind#*/}"; done
  ln -sf "$parts/program" "$run/sandboxes"
  port=$(free_ports 1)
  background sandboxes "$run/sandboxes" --kubeconfig="$run/kubeconfig" --extensions --leader-elect=false \
    --enable-webhook=false --metrics-bind-address=0 --health-probe-bind-address="127.0.0.1:$port"
  wait_for sandboxes curl -sS --fail --max-time 5 --noproxy '*' "http://127.0.0.1:$port/readyz"
  background garbage-collector python3 "$here/garbage_collector.py" "$run/"
  say "the controller of agent-sandbox runs"
}

policies_are_enforced() { iptables -S KUBE-ROUTER-INPUT; }

start_firewall() {
  local part
  is_running || fail "no cluster runs for $folder: tests/kubernetes/cluster.sh start $folder"
  if firewall_runs; then return; fi
  part=$("$here/parts.sh" kube-router 9>&-)
  ln -sf "$part/program" "$run/firewall"
  ip link add "$(bridge)" type bridge 2>/dev/null || true
  ip link set "$(bridge)" up
  echo 1 >"/proc/sys/net/ipv4/conf/$(bridge)/route_localnet"
  write_cni_config true '{"dst": "0.0.0.0/0"}'
  background firewall "$run/firewall" --run-firewall=true --run-router=false --run-service-proxy=false \
    --kubeconfig="$run/kubeconfig" --hostname-override=localhost --service-cluster-ip-range=10.213.255.0/24 \
    --metrics-port=0 --health-port=0
  forward_api -A
  wait_for firewall policies_are_enforced
}

print_env() {
  folder=$(cd "$1" 2>/dev/null && pwd) || fail "$1 is no folder: start one first"
  read_run
  is_running || fail "no cluster runs for $folder: tests/kubernetes/cluster.sh start $folder"
  printf 'export COFFERDAM_TEST_KUBECONFIG=%q COFFERDAM_TEST_KUBE_FOLDER=%q\n' "$run/kubeconfig" "$folder"
  if sandboxes_run; then echo 'export COFFERDAM_TEST_SANDBOXES=1'; fi
  if "$here/parts.sh" kube-router available; then echo 'export COFFERDAM_TEST_KUBE_FIREWALL=1'; fi
}

# ---- the command line ------------------------------------------------------------------------------------------------

unset KUBECONFIG CONTAINERD_ADDRESS CONTAINERD_NAMESPACE

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
  start-sandboxes:2)
    open_folder "$2"
    start_sandboxes
    ;;
  stop-sandboxes:2)
    if [ -d "$2" ]; then
      open_folder "$2"
      if is_running; then stop_sandboxes; fi
    fi
    ;;
  start-firewall:2)
    open_folder "$2"
    start_firewall
    ;;
  stop-firewall:2)
    open_folder "$2"
    if is_running; then
      stop_firewall
      write_cni_config false ''
    fi
    ;;
  *)
    sed -n '5,15s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
