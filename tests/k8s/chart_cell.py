# SPDX-License-Identifier: Apache-2.0
"""The Helm chart's objects on the API server: each is taken, each field known, and its pods are
admitted."""

import os
import sys
import time

import check
from cluster import Refused

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "packages"))
import chart

NAMESPACE = "chart"
ADMISSION_SECONDS = 10
OPERATOR = "monitoring.coreos.com/v1"  # of Prometheus: this API server has not its kinds
LEVEL = "pod-security.kubernetes.io/enforce"


def pods(docs):
    for doc in docs:
        if doc["kind"] not in ("DaemonSet", "Deployment"):
            continue
        template = doc["spec"]["template"]
        yield {"apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
               "metadata": {"generateName": doc["metadata"]["name"] + "-",
                            "namespace": NAMESPACE, "labels": template["metadata"]["labels"]}}


def admit(cluster, pod):
    """Why the pod is refused, or None. What admission knows of accounts and priority classes
    comes a moment after they were made."""
    end = time.monotonic() + ADMISSION_SECONDS
    while True:
        try:
            cluster.create(pod, dry_run=True)
            return None
        except Refused as e:
            if time.monotonic() > end:
                return str(e)
        time.sleep(0.3)


def cell(run, name):
    cluster = run.cluster
    result = check.Result()
    cluster.apply({"apiVersion": "v1", "kind": "Namespace",
                   "metadata": {"name": NAMESPACE, "labels": {LEVEL: "privileged"}}})
    # A controller that does not run here makes it for each namespace.
    cluster.apply({"apiVersion": "v1", "kind": "ServiceAccount",
                   "metadata": {"name": "default", "namespace": NAMESPACE}})
    for values, path in chart.values().items():
        docs = [doc for doc in chart.render(run.args.helm, path, "release", NAMESPACE)
                if doc["apiVersion"] != OPERATOR]
        refused = []
        # Accounts and classes before the pods that name them.
        for doc in sorted(docs, key=lambda d: d["kind"] in ("DaemonSet", "Deployment")):
            try:
                cluster.apply(doc)
            except Refused as e:
                refused.append("%s: %s" % (doc["kind"], e))
        for pod in pods(docs):
            why = admit(cluster, pod)
            if why:
                refused.append("pod %s: %s" % (pod["metadata"]["generateName"], why))
        result.need(not refused, "%s: %d objects %s" % (values, len(docs), refused[:2] or ""))
    run.judge(name, result)
