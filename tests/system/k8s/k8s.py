#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The manifests of examples/kubernetes on a real API server, and what they deploy in pods
made by runc: whether the right profiles get the right names, with the rights they ask for.
Called by run.sh.

Prints "ok|FAIL|skip k8s CELL: what". Exits 1 if one failed, 77 if nothing could run.
"""

import os
import re
import subprocess
import sys

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "..", "..", "..")
sys.path[:0] = [os.path.join(HERE, "..", "..", "live", name)
                for name in ("framework", "languages/python")]
import build
import cells
import chart_cell
import check
import label_cell
import otlp
import pods_cell
import python
import scene
import suite
from cluster import Cluster, Refused
from deploy import AGENT, GATEWAY, Collector, find, manifests, pod_of
from kubelet import HOST_IP, Kubelet, make_bridge

# So few samples that one at the edge of a function is a large share.
CELL = cells.replace(cells.CELLS["c-gcc"], leaf_points=None, min_samples=20, exact=0.9)
# Where one right is missing: so many samples that those before the first tables are few.
SAMPLES_ENOUGH = 200
# The first samples of a Python have native frames alone ("python_late").
PYTHON_CELL = cells.replace(python.CELL, leaf_points=None, min_samples=20, exact=0.9,
                            others="(?:%s)?" % python.CELL.others)
PYTHON = "/usr/bin/python3.11"


class K8s(suite.Run):
    suite = "k8s"


def cell_manifests(run, _):
    """Every object is taken, each field known; Pod Security admits what it should."""
    cluster = run.cluster
    result = check.Result()
    kinds = [cluster.apply(doc)["kind"] for doc in manifests()]
    result.need(len(kinds) >= 10, "%d objects: %s" % (len(kinds), " ".join(sorted(set(kinds)))))
    run.scene.account("otelprof")
    for kind, name in (("DaemonSet", AGENT), ("Deployment", GATEWAY)):
        cluster.create(pod_of(kind, name), dry_run=True)
    # The agent needs the namespace's label, the gateway would do without.
    for level, kind, name, admitted in (("restricted", "Deployment", GATEWAY, True),
                                        ("baseline", "DaemonSet", AGENT, False)):
        pod = pod_of(kind, name)
        pod["metadata"]["namespace"] = pod["spec"]["serviceAccountName"] = level
        label = {"pod-security.kubernetes.io/enforce": level}
        for doc in ({"kind": "Namespace", "metadata": {"name": level, "labels": label}},
                    {"kind": "ServiceAccount", "metadata": {"name": level, "namespace": level}}):
            cluster.create({"apiVersion": "v1", **doc})
        try:
            cluster.create(pod, dry_run=True)
            text = ""
        except Refused as e:
            text = str(e)
        result.need(admitted == (not text) and ("PodSecurity" in text) == (not admitted),
                    "%s in a namespace of level %s: %s" % (name, level,
                                                           text[:200] or "admitted"))
    run.judge("manifests", result)


def kubeconfig(run):
    """The agent's own account, for a Collector that is in no pod."""
    cluster = run.cluster
    path = run.path("kubeconfig")
    with open(path, "w", encoding="utf-8", opener=lambda p, f: os.open(p, f, 0o600)) as f:
        yaml.safe_dump({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {
                "server": "https://%s:%d" % (cluster.host, cluster.port),
                "certificate-authority": cluster.ca}}],
            "users": [{"name": "agent", "user": {"token": cluster.token("otelprof", AGENT)}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "agent"}}],
        }, f)
    return path


def cell_export(run, name, version):
    """otelprof export → Collector: otlp, k8s_attributes as the agent has it, file."""
    config = yaml.safe_load(find("ConfigMap", AGENT)["data"]["agent.yaml"])
    config["processors"]["k8s_attributes"].update(auth_type="kubeConfig",
                                                  wait_for_metadata=True)
    with Collector(run, name, run.collectors[version], config, 4317, NODE_NAME=scene.NODE,
                   KUBECONFIG=kubeconfig(run)) as collector:
        collector.wait()
        with open(run.path(name + ".export.log"), "w+", encoding="utf-8") as log:
            profiler = subprocess.Popen(
                [run.args.otelprof, "export", "--endpoint", "http://" + collector.endpoint,
                 "-F", "199", "--interval", "1"], stdout=log, stderr=log)
            run.scene.wait_for_samples(collector.out, run.scene.targets, CELL.min_samples)
            status = suite.end(profiler)
            log.seek(0)
            text = log.read()
    capture = otlp.read_file(collector.out)
    result = check.Result()
    result.need(status == 0, "otelprof export: exit %d" % status)
    run.judge(name, run.scene.judge(capture), result, check.check_accounting(text, capture))


def cell_rights(run, name):
    """RBAC gives what the agent asks for, no more and no less."""
    cluster = run.cluster
    result = check.Result()
    asked = cluster.audited()
    refused = [row for row in asked if row[3] == 403]
    used = {row[:2] for row in asked}
    granted = {(verb, resource) for rule in find("ClusterRole", AGENT)["rules"]
               for verb in rule["verbs"] for resource in rule["resources"]}
    result.need(used == granted, "granted and used: %s%s" % (
        sorted(granted), "" if used == granted else ", used %s" % sorted(used)))
    result.need(not refused, "%d requests refused %s" % (len(refused), refused[:1]))
    elsewhere = [row[2] for row in asked if "spec.nodeName%%3D%s" % scene.NODE not in row[2]]
    result.need(not elsewhere, "pods of this node alone %s" % elsewhere[:1])
    token = cluster.token("otelprof", AGENT)
    for method, path in (("GET", "/api/v1/secrets"), ("GET", "/api/v1/namespaces"),
                         ("GET", "/api/v1/nodes"),
                         ("GET", "/api/v1/namespaces/otelprof/configmaps/" + AGENT),
                         ("DELETE", "/api/v1/namespaces/bank/pods/ledger-0")):
        try:
            cluster.request(method, path, token=token)
            result.need(False, "%s %s was permitted" % (method, path))
        except Refused as e:
            result.need(e.status == 403, "%s %s: %s" % (method, path, e))
    run.judge(name, result)


def record_as_agent(run, name, change=lambda context: None, least=CELL.min_samples):
    """otelprof record in the agent's place: its security context, mounts and account. Again
    for longer where the machine left too little time to the targets.

    Returns (exit status, what it printed, capture)."""
    for seconds in (4, 15, 60):
        status, text, capture = record_once(run, name, change, seconds)
        if status or run.scene.enough(capture, least):
            break
    return status, text, capture


def record_once(run, name, change, seconds):
    pod = pod_of("DaemonSet", AGENT)
    out = suite.fresh_folder(run.path(name))
    spec = pod["spec"]["containers"][0]
    spec.update(image="otelprof:1", args=["record", "-v", "-F", "199", "-d", str(seconds),
                                          "-o", "/out/x.otlp", "--format", "otlp"])
    spec["volumeMounts"].append({"name": "out", "mountPath": "/out"})
    pod["spec"]["volumes"].append({"name": "out", "hostPath": {"path": out}})
    change(spec["securityContext"])
    container = run.scene.start(pod)[0]
    container.process.wait(120)
    run.kubelet.stop(container)
    return container.process.returncode, container.text(), \
        scene.Follower(out + "/x.otlp").read()


def lost_without(run, name):
    """Which targets' stacks are not right any more, whether kernel frames have names, and
    what was said, where the agent has all its capabilities but @name."""
    status, text, capture = record_as_agent(
        run, "agent-no-" + name.lower(),
        lambda context: context["capabilities"]["add"].remove(name), SAMPLES_ENOUGH)
    if status:
        return None, None, text
    lost = {called for pid, (called, _) in run.scene.targets.items()
            if not run.scene.check_stacks(capture, pid).ok}
    return lost, has_kernel_names(capture), text


def has_kernel_names(capture):
    names = [f.name for s in capture.samples for f in s.frames if check.is_kernel(f)]
    return any(re.match("entry_SYSCALL|do_syscall|asm_", n) for n in names)


def cell_capabilities(run, name):
    """The DaemonSet's capabilities are enough, and none of them is idle."""
    status, text, capture = record_as_agent(run, "agent-rights")
    result = check.Result()
    result.need(status == 0, "otelprof record in the agent's place: exit %d %s" % (
        status, text[-300:] if status else ""))
    result.need(has_kernel_names(capture), "kernel frames have names")
    run.judge(name, result, run.scene.judge(capture, named=False),
              check.check_accounting(text, capture))


def cell_capability(run, _):
    """Without each one, what docs/kubernetes.md says is lost, and nothing else."""
    called = {pid: c for pid, (c, _) in run.scene.targets.items()}
    everybody = set(called.values())
    private, deleted = (called[run.scene.pid_of(n)] for n in (scene.PRIVATE, scene.DELETED))
    expected = {"BPF": None, "PERFMON": None, "SYS_PTRACE": everybody,
                "CHECKPOINT_RESTORE": {deleted}, "DAC_READ_SEARCH": {private}, "SYSLOG": set()}
    asked = find("DaemonSet", AGENT)["spec"]["template"]["spec"]["containers"][0][
        "securityContext"]["capabilities"]["add"]
    result = check.Result()
    result.need(set(asked) == set(expected), "the DaemonSet asks for %s" % " ".join(asked))
    for name, want in expected.items():
        lost, kernel_names, text = lost_without(run, name)
        if want is None:
            result.need(lost is None and "CAP_" + name in text, "without %s: %s" % (
                name, text.strip()[-160:]))
            continue
        result.need(lost == want, "without %s: wrong stacks of %s" % (name, lost or "none"))
        result.need(kernel_names == (name != "SYSLOG"), "without %s: kernel names %s" % (
            name, kernel_names))
    run.judge("capability", result)


def cell_pods(run, name, version):
    pods_cell.cell(run, name, version, CELL.min_samples)


def cell_chart(run, name):
    if not run.args.helm:
        raise suite.Skip("no helm in the cache (tests/system/packages/helm.sh builds it)")
    chart_cell.cell(run, name)


def cell_labels(run, name, version):
    if not run.args.helm:
        raise suite.Skip("no helm in the cache (tests/system/packages/helm.sh builds it)")

    def collector(called, config):
        return Collector(run, called, run.collectors[version], config, 4321,
                         NODE_NAME=scene.NODE, KUBECONFIG=kubeconfig(run))

    label_cell.cell(run, name, collector, CELL.min_samples, list(run.collectors).index(version))


# rights comes last: it judges what all the others asked of the API server.
CELLS = {"manifests": cell_manifests, "chart": cell_chart, "capabilities": cell_capabilities,
         "capability": cell_capability, "export": cell_export, "pods": cell_pods,
         "reload": pods_cell.reload, "labels": cell_labels, "rights": cell_rights}


def python_image(run):
    """Where there is no such Python, one target less."""
    if not os.path.exists(PYTHON):
        return {}
    folder = scene.python_rootfs(run.path("image-python"), PYTHON)
    return {scene.PYTHON_IMAGE: (folder, ["/bin/" + os.path.basename(PYTHON)])}


def enter_namespaces():
    """Networks and mounts of its own: what is left behind goes with the last process."""
    if "OTELPROF_K8S_INSIDE" not in os.environ:
        os.environ["OTELPROF_K8S_INSIDE"] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--net", "--propagation", "private",
                              sys.executable, *sys.argv])


def run_cells(run, names):
    for name in names:
        if name not in PER_VERSION:
            run.cell(name, CELLS[name])
        elif not run.collectors:
            run.say("skip", name, "no Collector in the cache (OTELPROF_K8S=1 builds them)")
        else:
            for version in run.collectors:
                run.cell("%s-%s" % (name, version), CELLS[name], version)


PER_VERSION = {"export", "pods", "labels"}


def main():
    parser = suite.parser("otelprof", "etcd", "apiserver", "seccomp")
    parser.add_argument("--collector", action="append", default=[], metavar="VERSION=PROGRAM")
    parser.add_argument("--helm", metavar="PROGRAM")
    parser.add_argument("--kinds", metavar="FOLDER", help="the Prometheus operator's")
    parser.add_argument("--prometheus", metavar="FOLDER", help="its programs")
    args = parser.parse_args()
    enter_namespaces()
    suite.fresh_folder(args.dir)
    run = K8s(args)
    run.collectors = dict(c.split("=", 1) for c in args.collector)
    program, why = build.build("c-gcc", args.dir)
    if not program:
        raise SystemExit(why)
    make_bridge()
    with Cluster(args.etcd, args.apiserver, run.path("cluster"), HOST_IP) as run.cluster:
        entry = ["/bin/" + os.path.basename(program)]
        images = {
            "known-answer:1": (scene.rootfs(run.path("image-known"), program), entry),
            "known-answer:private": (scene.private_rootfs(run.path("image-private"), program),
                                     entry),
            **python_image(run),
            "otelprof:1": (scene.rootfs(run.path("image-otelprof"), args.otelprof),
                           ["/bin/otelprof"])}
        kubelet = run.kubelet = Kubelet(run.cluster, scene.NODE, run.path("pods"), images,
                                        args.seccomp)
        run.scene = scene.Scene(run.cluster, kubelet, CELL, PYTHON_CELL)
        try:
            run.scene.prepare()
            run.scene.workloads(program)
            # The others need what the first applies.
            run_cells(run, [n for n in CELLS if n == "manifests" or not args.cells or
                            n in args.cells])
        finally:
            run.scene.stop()
            kubelet.stop_all()
    return run.status()


if __name__ == "__main__":
    sys.exit(main())
