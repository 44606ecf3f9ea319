# SPDX-License-Identifier: Apache-2.0
"""A changed ConfigMap and SIGHUP: the agent's pod goes on by the new configuration, in the same
process, and its samples still have their names."""

import os
import signal
import time

import check
import otlp
import yaml

FILE = "agent.yaml"
HZ = 101  # of the new configuration; the old one has the default


def volume(container):
    """Where the kubelet keeps the files of the ConfigMap; it writes a changed one there."""
    return "%s.config" % container.bundle


def change(container):
    path = os.path.join(volume(container), FILE)
    with open(path, encoding="utf-8") as f:
        config = yaml.safe_load(f)
    config["receivers"]["otelprof"]["sample_rate_hz"] = HZ
    with open(path, "w", encoding="utf-8") as f:
        yaml.safe_dump(config, f)


def periods(path, names):
    """Of samples that have a workload's own names."""
    found = set()
    for s in otlp.read_file(path).samples:
        if s.resource.get("k8s.pod.name") in names:
            found.add(s.period)
    return found


def judge(run, agent, backend, seconds=60):
    """@agent: its container; @backend: a Collector that writes what arrives."""
    result = check.Result()
    pods = {names["k8s.pod.name"] for names in run.scene.names.values() if "k8s.pod.name" in names}
    before, pid = periods(backend.out, pods), agent.pid
    change(agent)
    os.kill(pid, signal.SIGHUP)
    wanted, now = round(1e9 / HZ), set()
    end = time.monotonic() + seconds
    while wanted not in now and time.monotonic() < end:
        time.sleep(1)
        now = periods(backend.out, pods)
    result.need(wanted not in before and wanted in now, "periods before SIGHUP %s, and after %s" % (
        sorted(before), sorted(now - before)))
    result.need(agent.pid == pid and agent.process.poll() is None, "the same process goes on")
    return result
