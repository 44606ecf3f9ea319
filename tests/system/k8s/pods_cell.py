# SPDX-License-Identifier: Apache-2.0
"""The agent's and the gateway's pods as deployed: what arrives behind them, what they tell of
themselves, and what they do with a changed configuration."""

import contextlib
import json
import os
import re
import subprocess
import urllib.request

import check
import metrics
import otlp
import reload_cell
import scene
import suite
from deploy import AGENT, EXAMPLES, GATEWAY, Collector, pod_of
from ports import wait_for_port


def image_of(run, version):
    """The image recipe's result with this Collector, or why there is none."""
    program = run.collectors[version]
    parts = subprocess.run([program, "components"], capture_output=True, text=True).stdout
    if not re.search(r"name: otelprof$", parts, re.M):
        return None, "this Collector was built without the otelprof receiver"
    with open(os.path.join(EXAMPLES, "Containerfile"), encoding="utf-8") as f:
        entry = json.loads(re.search(r"^ENTRYPOINT (.*)$", f.read(), re.M)[1])
    folder = scene.rootfs(run.path("image-" + version), program, run.args.otelprof)
    os.rename(os.path.join(folder, "bin", os.path.basename(program)), folder + entry[0])
    return (folder, entry), None


def start_gateway(run, backend):
    pod = pod_of("Deployment", GATEWAY)
    for item in pod["spec"]["containers"][0]["env"]:
        item["value"] = {"BACKEND_ENDPOINT": backend, "BACKEND_INSECURE": "true"}.get(
            item["name"], item["value"])
    gateway = run.scene.start(pod)[0]
    wait_for_port(4317, gateway.process, gateway.log, 60, run.kubelet.hosts[GATEWAY])
    return gateway


def check_host(capture):
    """The host's own name, as the receiver finds it, or none; and not the pod's."""
    result = check.Result()
    try:
        with open("/proc/1/root/etc/hostname", encoding="utf-8") as f:
            want = f.read().strip()
    except OSError:
        want = None  # this machine is a container itself
    got = {s.resource.get("host.name") for s in capture.samples}
    result.need(got <= {want, None}, "host.name is %s" % " ".join(sorted(map(str, got))))
    return result


def check_health(run):
    """What the probes ask of both pods."""
    result = check.Result()
    for kind, name in (("DaemonSet", AGENT), ("Deployment", GATEWAY)):
        container, = pod_of(kind, name)["spec"]["containers"]
        ports = {p["name"]: p["containerPort"] for p in container["ports"]}
        for probe in ("livenessProbe", "readinessProbe"):
            asked = container[probe]["httpGet"]
            url = "http://%s:%d%s" % (run.kubelet.hosts[name], ports[asked["port"]], asked["path"])
            try:
                with urllib.request.urlopen(url, timeout=30) as answer:
                    status = answer.status
            except OSError as e:
                status = e
            result.need(status == 200, "%s of %s: %s" % (probe, name, status))
    return result


def metrics_of(run):
    port = next(p["containerPort"] for p in pod_of("DaemonSet", AGENT)["spec"]["containers"][0][
        "ports"] if p["name"] == "metrics")
    return metrics.check_metrics(run, "%s:%d" % (run.kubelet.hosts[AGENT], port))


@contextlib.contextmanager
def deployed(run, name, version):
    """A Collector that writes what arrives, and the agent and the gateway before it."""
    run.kubelet.images["otelcol-profiling:latest"], why = image_of(run, version)
    if why:
        raise suite.Skip(why)
    config = {"service": {"pipelines": {"profiles": {}}}}
    with Collector(run, name, run.collectors[version], config, 4320) as backend:
        backend.wait()
        gateway = start_gateway(run, backend.endpoint)
        yield backend, run.scene.start(pod_of("DaemonSet", AGENT))[0], gateway


def cell(run, name, version, least):
    """The agent and the gateway as deployed: otelprof → k8s_attributes → otlp → otlp."""
    with deployed(run, name, version) as (backend, agent, gateway):
        run.scene.wait_for_samples(backend.out, run.scene.targets, least)
        # A pod that comes while the agent runs.
        late = run.scene.start(scene.workload("late-" + version.replace(".", "-"), "bank",
                                              scene.container("late")))[0]
        late_pid = run.scene.target(late)
        run.scene.wait_for_samples(backend.out, [late_pid], 1)
        told, health = metrics_of(run), check_health(run)
        used = agent.memory_peak()
        status = run.kubelet.stop(agent), run.kubelet.stop(gateway)
        run.kubelet.stop(late)
        run.scene.forget(late_pid)
    capture = otlp.read_file(backend.out)
    result = check.Result()
    result.need(status == (0, 0), "agent and gateway ended with %d, %d: %s" % (
        *status, agent.text()[-300:] if any(status) else ""))
    result.notes.append("agent: at most %d MiB of memory" % (used >> 20))
    names = [scene.k8s_of(s) for s in check.select(capture, late_pid)]
    want = run.scene.names[late.id]
    result.need(want in names and all(n.items() <= want.items() for n in names),
                "late pod: %d of %d samples with all its names" % (names.count(want), len(names)))
    # What the receiver says at its end is what arrived two Collectors later.
    run.judge(name, result, *told, health, check_host(capture),
              check.check_accounting(agent.text(), capture),
              run.scene.judge(capture))


def reload(run, name):
    version = next(iter(run.collectors), None)
    if not version:
        raise suite.Skip("no Collector in the cache (OTELPROF_K8S=1 builds them)")
    with deployed(run, name, version) as (backend, agent, gateway):
        run.scene.wait_for_samples(backend.out, run.scene.targets, 1)
        result = reload_cell.judge(run, agent, backend)
        run.kubelet.stop(agent)
        run.kubelet.stop(gateway)
    run.judge(name, result)
