# SPDX-License-Identifier: Apache-2.0
"""The manifests of examples/kubernetes, the pods that their controllers would make, and a
Collector that is in no pod."""

import copy
import os
import subprocess

import suite
import yaml
from kubelet import HOST_IP
from ports import wait_for_port

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "examples",
                        "kubernetes")
AGENT, GATEWAY = "otelprof-agent", "otelprof-gateway"


def manifests():
    """What kustomization.yaml names, in its order."""
    with open(os.path.join(EXAMPLES, "kustomization.yaml"), encoding="utf-8") as f:
        names = yaml.safe_load(f)["resources"]
    for name in names:
        with open(os.path.join(EXAMPLES, name), encoding="utf-8") as f:
            yield from yaml.safe_load_all(f)


def find(kind, name):
    return copy.deepcopy(next(d for d in manifests()
                              if d["kind"] == kind and d["metadata"]["name"] == name))


def pod_of(kind, name):
    """The pod that a DaemonSet's or Deployment's controller would make."""
    owner = find(kind, name)
    template = owner["spec"]["template"]
    return {"apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
            "metadata": {"generateName": name + "-", "namespace": owner["metadata"]["namespace"],
                         "labels": template["metadata"]["labels"]}}


class Collector:
    """A Collector on the node, not in a pod."""

    def __init__(self, run, name, program, config, port, **env):
        self.out = run.fresh(name + ".otlp")
        config["exporters"] = {"file": {"path": self.out, "format": "proto"}}
        config["receivers"] = {"otlp": {"protocols": {"grpc": {
            "endpoint": "%s:%d" % (HOST_IP, port)}}}}
        pipeline = config["service"]["pipelines"]["profiles"]
        pipeline.update(receivers=["otlp"], exporters=["file"])
        config["service"]["telemetry"] = {"metrics": {"level": "none"}}
        path = run.path(name + ".yaml")
        with open(path, "w", encoding="utf-8") as f:
            yaml.safe_dump(config, f)
        self.log = run.path(name + ".log")
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [program, "--config", path, "--feature-gates=service.profilesSupport"],
                stdout=log, stderr=log, env={**os.environ, **env})
        self.endpoint = "%s:%d" % (HOST_IP, port)
        self.port = port

    def wait(self):
        wait_for_port(self.port, self.process, self.log, 60, HOST_IP)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        suite.end(self.process, 30)
