# SPDX-License-Identifier: Apache-2.0
"""The Helm chart's objects on the API server: each is taken, each field known, and its pods are
admitted."""

import contextlib
import glob
import os
import sys
import time

import yaml

import check
from cluster import Refused

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "packages"))
import chart

NAMESPACE = "chart"
ADMISSION_SECONDS = 10
OPERATOR = "monitoring.coreos.com/v1"
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


def add_kinds(cluster, folder):
    """The Prometheus operator's, which API servers have when it is installed."""
    names = set()
    for path in glob.glob(folder + "/*.yaml"):
        with open(path, encoding="utf-8") as f:
            names.add(cluster.apply(yaml.safe_load(f))["spec"]["names"]["plural"])
    end = time.monotonic() + ADMISSION_SECONDS
    while time.monotonic() < end:
        with contextlib.suppress(Refused):
            served = cluster.request("GET", "/apis/" + OPERATOR)["resources"]
            if names <= {r["name"] for r in served}:
                return
        time.sleep(0.3)
    raise RuntimeError("the API server does not serve %s" % names)


def cell(run, name):
    cluster = run.cluster
    result = check.Result()
    cluster.apply({"apiVersion": "v1", "kind": "Namespace",
                   "metadata": {"name": NAMESPACE, "labels": {LEVEL: "privileged"}}})
    if run.args.kinds:
        add_kinds(cluster, run.args.kinds)
    # Of each namespace, by a controller that does not run here.
    cluster.apply({"apiVersion": "v1", "kind": "ServiceAccount",
                   "metadata": {"name": "default", "namespace": NAMESPACE}})
    for values, path in chart.values().items():
        docs = chart.render(run.args.helm, path, "release", NAMESPACE)
        if not run.args.kinds:
            docs = [d for d in docs if d["apiVersion"] != OPERATOR]
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
