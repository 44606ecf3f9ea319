# SPDX-License-Identifier: Apache-2.0
"""The node that is profiled: known-answer programs in containers of two pods, one outside,
and what Kubernetes calls each of them.
"""

import os
import secrets
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "live", "framework"))
import check
import otlp
import suite
from kubelet import MIRROR, pod_uid

NODE = "node-a"
USER = 1000
# Containers whose program is hard to read: of their user alone; gone from its folder.
PRIVATE, DELETED = "private", "deleted"
PYTHON_IMAGE = "known-python:1"
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap"}


def rootfs(folder, *programs):
    """An image's file system, by the recipe's own script."""
    script = os.path.join(HERE, "..", "..", "..", "examples", "kubernetes", "rootfs.sh")
    subprocess.run(["sh", script, folder, *programs], check=True, capture_output=True, text=True)
    return folder


def private_rootfs(folder, program):
    rootfs(folder, program)
    path = os.path.join(folder, "bin", os.path.basename(program))
    os.chown(path, USER, USER)
    os.chmod(path, 0o700)
    return folder


def python_rootfs(folder, python):
    """An image with an interpreter, its library and known.py."""
    library = "/usr/lib/" + os.path.basename(python)
    rootfs(folder, python)
    shutil.copytree(library, folder + library, symlinks=True, ignore=shutil.ignore_patterns(
        "__pycache__", "test", "config-*", "dist-packages", "sitecustomize.py"))
    shutil.copy(os.path.join(HERE, "..", "..", "live", "languages", "python", "known.py"), folder)
    return folder


def workload(name, namespace, *containers, **metadata):
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, **metadata},
            "spec": {"serviceAccountName": "default", "automountServiceAccountToken": False,
                     "containers": list(containers)}}


def static_workload(*args):
    """A pod of the kubelet's own, and what it shows the API server of it."""
    pod = workload(*args)
    pod["metadata"]["annotations"] = {MIRROR: secrets.token_hex(16)}
    del pod["spec"]["serviceAccountName"]  # admission: such pods have none
    return pod


def container(name, **more):
    return {"name": name, "image": "known-answer:1", "args": [suite.LONG], **more}


def owned(by, template_hash):
    """As a Deployment's ReplicaSet makes its pods."""
    return {"labels": {"pod-template-hash": template_hash},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet",
                                 "name": "%s-%s" % (by, template_hash), "controller": True,
                                 "uid": "8a0a3cf6-7a2b-4f6d-9b0e-0d4d9f0a4f11"}]}


class Scene:
    def __init__(self, cluster, kubelet, cell, python_cell):
        """@cell: what the stacks of the known-answer program are; @python_cell: of known.py."""
        self.cluster, self.kubelet = cluster, kubelet
        self.cell, self.python_cell = cell, python_cell
        self.cells = {}  # pid → its cell, where it is not @cell
        self.names = {}  # container id → its k8s.* attributes
        self.targets = {}  # pid → (what it is called here, its container or None)
        self.processes = []

    def prepare(self):
        self.cluster.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
        for namespace in ("shop", "bank"):
            self.account(namespace)

    def account(self, namespace):
        """A namespace with what the controllers put there."""
        try:
            self.cluster.create({"apiVersion": "v1", "kind": "Namespace",
                                 "metadata": {"name": namespace}})
            self.cluster.create({"apiVersion": "v1", "kind": "ServiceAccount",
                                 "metadata": {"name": "default", "namespace": namespace}})
        except Exception as e:
            if getattr(e, "status", 0) != 409:
                raise
        with open(self.cluster.ca, encoding="ascii") as f:
            self.cluster.apply({**CONFIG_MAP, "data": {"ca.crt": f.read()}, "metadata": {
                "name": "kube-root-ca.crt", "namespace": namespace}})

    def start(self, pod, deployment=None, reported=True):
        """Returns the pod's containers; what they are called is in @names."""
        pod, made = self.kubelet.start(pod, reported)
        meta = pod["metadata"]
        for one in made:
            # The path's uid, which the profiler reads; a static pod's is another one.
            names = self.names[one.id] = {"k8s.pod.uid": pod_uid(pod)}
            if reported:
                names.update({"k8s.namespace.name": meta["namespace"], "k8s.node.name": NODE,
                              "k8s.pod.name": meta["name"], "k8s.container.name": one.name})
            if deployment:
                names["k8s.deployment.name"] = deployment
        return made

    def workloads(self, program):
        """Two containers in one pod, a second pod, a static one, one whose containers the API
        server has not heard of yet, and a process in none."""
        user = {"runAsUser": USER}
        checkout = workload(
            "checkout-7d4b9c6f5-x2v8q", "shop",
            container("server", securityContext=user, resources={"requests": {"cpu": "100m"}}),
            container(PRIVATE, securityContext=user, image="known-answer:private"),
            **owned("checkout", "7d4b9c6f5"))
        for one in self.start(checkout, "checkout"):
            self.target(one)
        ledger, = self.start(workload("ledger-0", "bank", container(DELETED)))
        self.target(ledger)
        os.unlink(os.path.join(ledger.bundle, "rootfs/bin", os.path.basename(program)))
        fresh, = self.start(workload("fresh-0", "bank", container("fresh")), reported=False)
        self.target(fresh)
        static, = self.start(static_workload("scheduler-" + NODE, "bank", container("static")))
        self.target(static)
        if PYTHON_IMAGE in self.kubelet.images:
            script = {"name": "python", "image": PYTHON_IMAGE,
                      "env": [{"name": "PYTHONHOME", "value": "/usr"}],
                      "args": ["/known.py", "spin", suite.LONG]}
            python, = self.start(workload("report-0", "shop", script))
            self.cells[self.target(python, said="")] = self.python_cell
        process = suite.start(program, suite.LONG)
        self.processes.append(process)
        self.targets[process.pid] = "no container", None

    def pid_of(self, container_name):
        return next(pid for pid, (called, _) in self.targets.items()
                    if called.endswith("/" + container_name))

    def target(self, one, said="ready", seconds=20):
        """Wait until the container @said that, and count its process among the targets."""
        end = time.monotonic() + seconds
        while said not in one.text() or not one.pid:
            if time.monotonic() > end or one.process.poll() is not None:
                raise RuntimeError("%s did not start: %s" % (one.name, one.text()[-300:]))
            time.sleep(0.05)
        pid = one.pid
        self.targets[pid] = "%s/%s" % (one.pod["metadata"]["name"], one.name), one.id
        return pid

    def forget(self, pid):
        del self.targets[pid]

    def stop(self):
        suite.stop(self.processes)

    # What comes out

    def enough(self, capture, least, pids=None):
        """Has each of @pids, or of all targets, @least samples in it?"""
        return all(sum(s.count for s in check.select(capture, pid)) >= least
                   for pid in pids or self.targets)

    def wait_for_samples(self, path, pids, least, seconds=90):
        """Until each of @pids has @least samples in the file, or the time is over."""
        follower = Follower(path)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.enough(follower.read(), least, pids):
                return
            time.sleep(1)

    def check_stacks(self, capture, pid):
        return check.check_chain(capture, self.cells.get(pid, self.cell), pid)

    def judge(self, capture, named=True):
        """Each target's stacks and names; and nobody else's names on anything. Not @named:
        no Collector has been at it, so that there is the container's id alone."""
        result = check.Result()
        for pid, (called, container_id) in self.targets.items():
            stacks = self.check_stacks(capture, pid)
            result.problems += ["%s: %s" % (called, p) for p in stacks.problems]
            got = [k8s_of(s, named) for s in check.select(capture, pid)]
            want = self.names.get(container_id, {}) if named else {"container.id": container_id}
            wrong = [g for g in got if g != want]
            result.need(not wrong, "%s: %d samples with its names%s" % (
                called, len(got) - len(wrong),
                ", %d with %s instead of %s" % (len(wrong), wrong[0], want) if wrong else ""))
        for sample in capture.samples if named else ():
            got = k8s_of(sample)
            container_id = sample.resource.get("container.id")
            # Containers of others on this machine have no pod in this cluster.
            want = [self.names[container_id]] if container_id in self.names else [
                {}, {"k8s.pod.uid": got.get("k8s.pod.uid")}]
            if got not in want and sample.pid not in self.targets:
                result.need(False, "pid %s (%s) of container %s is called %s" % (
                    sample.pid, sample.exe, container_id, got))
                break
        return result


def k8s_of(sample, named=True):
    if not named:
        return {"container.id": sample.resource.get("container.id")}
    return {k: v for k, v in sample.resource.items() if k.startswith("k8s.")}


class Follower:
    """A file of framed requests that is still written to: what is whole so far."""

    def __init__(self, path):
        self.path, self.at, self.capture = path, 0, otlp.Capture()

    def read(self):
        try:
            with open(self.path, "rb") as f:
                f.seek(self.at)
                data = f.read()
        except FileNotFoundError:
            return self.capture
        while len(data) >= 4:
            size = 4 + int.from_bytes(data[:4], "big")
            if len(data) < size:
                break
            otlp.read_request(data[4:size], self.capture)
            self.at += size
            data = data[size:]
        return self.capture
