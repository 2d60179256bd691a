#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
# Copyright the cofferdam authors. See LICENSE.
"""Stands in for the garbage collector of Kubernetes, which is a part of the controller manager.

    tests/kubernetes/garbage_collector.py RUN    RUN is the run folder of cluster.sh

The test cluster has no controller manager. This program deletes the objects of agent-sandbox, and the pods and network
policies that it has made, when their owners do not exist any more. It looks twice a second, until it is ended.
"""

import http.client
import json
import ssl
import sys
import time

EXTENSIONS = "/apis/extensions.agents.x-k8s.io/v1beta1/"
SANDBOXES = "/apis/agents.x-k8s.io/v1beta1/sandboxes"
OWNERS = [EXTENSIONS + "sandboxclaims", EXTENSIONS + "sandboxwarmpools", EXTENSIONS + "sandboxtemplates", SANDBOXES]
DEPENDENTS = [("/api/v1/", "pods"), ("/apis/networking.k8s.io/v1/", "networkpolicies"),
              ("/apis/agents.x-k8s.io/v1beta1/", "sandboxes")]


def read(name):
    with open(f"{sys.argv[1]}/{name}", encoding="ascii") as file:
        return file.read().strip()


class Cluster:
    def __init__(self):
        trust = ssl.create_default_context(cafile=f"{sys.argv[1]}/pki/apiserver.crt")
        trust.check_hostname = False
        self.connection = http.client.HTTPSConnection("127.0.0.1", int(read("port")), timeout=20, context=trust)
        self.token = read("authorization").partition(": ")[2]

    def ask(self, method, path, body=None):
        fields = {"Authorization": self.token, "Content-Type": "application/json"}
        self.connection.request(method, path, json.dumps(body) if body else None, fields)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status == 404:
            return {"items": []}
        return json.loads(text) if answer.status == 200 else {}


def collect(cluster):
    # The dependents come first: each owner exists before its dependents, so one that is missing later was deleted.
    dependents = []
    for api, kind in DEPENDENTS:
        for each in cluster.ask("GET", api + kind).get("items", []):
            owners = [o["uid"] for o in each["metadata"].get("ownerReferences", []) if "agents.x-k8s.io" in o["apiVersion"]]
            if owners and "deletionTimestamp" not in each["metadata"]:
                dependents.append((api, kind, each["metadata"], owners))
    if not dependents:
        return
    known = set()
    for path in OWNERS:
        found = cluster.ask("GET", path)
        if "items" not in found:
            return
        known.update(each["metadata"]["uid"] for each in found["items"])
    for api, kind, metadata, owners in dependents:
        if known.isdisjoint(owners):
            path = f"{api}namespaces/{metadata['namespace']}/{kind}/{metadata['name']}"
            condition = {"preconditions": {"uid": metadata["uid"]}}
            cluster.ask("DELETE", path, {"apiVersion": "v1", "kind": "DeleteOptions", **condition})


def main():
    cluster = Cluster()
    while True:
        try:
            collect(cluster)
        except (OSError, http.client.HTTPException, ValueError) as failure:
            print(f"the API server does not answer: {failure}", flush=True)
            cluster = Cluster()
        time.sleep(0.5)


main()
