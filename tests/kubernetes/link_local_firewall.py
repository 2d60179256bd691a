#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Stands in for a network plugin that enforces NetworkPolicies for IPv6 link-local addresses, too.

    tests/kubernetes/link_local_firewall.py BRIDGE [HOOK...]    HOOK: INPUT (to the node) or FORWARD (to other pods)

kube-router knows a pod by its address in the status of the pod, which is never a link-local one. This program reads
kube-router's sets of the pods that policies select, finds their hardware addresses on the bridge of the pods, and drops
all IPv6 packets that come from there. It ends when its standard input ends, and then removes its rules.
"""

import re
import select
import signal
import subprocess
import sys

CHAIN = "COFFERDAM-" + sys.argv[1][-6:]
HOOKS = sys.argv[2:] or ["INPUT", "FORWARD"]


def run(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout


def selected_pods():
    sets = re.split(r"^Name: ", run("ipset", "list"), flags=re.M)
    for one in sets:
        if one.startswith("KUBE-SRC-"):
            yield from re.findall(r"^(\d+\.\d+\.\d+\.\d+)\b", one.partition("Members:")[2], flags=re.M)


def hardware_address(pod):
    for _ in range(2):
        found = re.search(r"lladdr (\S+)", run("ip", "neigh", "show", pod, "dev", sys.argv[1]))
        if found:
            return found.group(1)
        run("bash", "-c", f"echo >/dev/udp/{pod}/9")  # so that the kernel looks for it
    return None


def remove_rules():
    for hook in HOOKS:
        run("ip6tables", "-w", "-D", hook, "-i", sys.argv[1], "-j", CHAIN)
    run("ip6tables", "-w", "-F", CHAIN)
    run("ip6tables", "-w", "-X", CHAIN)


def watch():
    print("ready", flush=True)
    known = set()
    while not select.select([sys.stdin], [], [], 0.1)[0]:
        for pod in selected_pods():
            hardware = hardware_address(pod)
            if hardware and hardware not in known:
                known.add(hardware)
                run("ip6tables", "-w", "-A", CHAIN, "-m", "mac", "--mac-source", hardware, "-j", "DROP")


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        run("ip6tables", "-w", "-N", CHAIN)
        for hook in HOOKS:
            run("ip6tables", "-w", "-I", hook, "-i", sys.argv[1], "-j", CHAIN)
        watch()
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        remove_rules()


main()
