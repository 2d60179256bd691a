#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Measures the official Python client for kubernetes_bench: reads one operation per line, and prints the seconds.

    kubernetes_peer.py KUBECONFIG

`true POD` runs the program of that name in a pod by one exec. `many POD COUNT` runs it COUNT times with eight threads.
`end` ends this program.
"""
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import kubernetes

kubernetes.config.load_kube_config(sys.argv[1])


def run_true(pod):
    # The client replaces a method of its connection during an exec, so each thread needs a client of its own.
    api = kubernetes.client.CoreV1Api(kubernetes.client.ApiClient())
    stream = kubernetes.stream.stream(
        api.connect_get_namespaced_pod_exec, pod, "default", command=["true"], stderr=True, stdin=False, stdout=True,
        tty=False, _preload_content=False)
    stream.run_forever(timeout=60)
    assert stream.returncode == 0, stream.returncode


for line in sys.stdin:
    word, *rest = line.split()
    start = time.perf_counter()
    if word == "true":
        run_true(rest[0])
    elif word == "many":
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(run_true, [rest[0]] * int(rest[1])))
    elif word == "end":
        print(0, flush=True)
        break
    print(time.perf_counter() - start, flush=True)
