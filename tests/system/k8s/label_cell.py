# SPDX-License-Identifier: Apache-2.0
"""Pods that choose by a label whether they are profiled: the chart's own configuration of the
agent's processors, over pods of a real API server. Also whose word on service.name counts: that
of a workload, of its pod's annotation, of its label, of its owner, of its program, in this order."""

import os
import subprocess
import sys

import check
import otlp
import scene
import suite
from kubelet import nest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "packages"))
import chart

LABEL = "otelprof.io/profile"
SAID = {"quiet": "false", "loud": "true", "odd": "maybe", "tagged": "yes", "nested": "false"}
OWN = "billing"  # what the one that is kept both times calls itself
ANNOTATION, NAME = "resource.opentelemetry.io/%s", "app.kubernetes.io/name"
# That of another pod does not get in so.
ANNOTATIONS = {ANNOTATION % "service.name": "annotated", ANNOTATION % "k8s.pod.name": "victim"}
LABELS = {"tagged": {NAME: "named"}, "loud": {NAME: "loud-label"}, "odd": {NAME: "odd-label"}}
NOTED = ("loud", "odd")
SERVICES = {"loud": OWN, "odd": "annotated", "tagged": "named", "server": "checkout",
            "deleted": "ledger-0"}


def processors(run, opt_in):
    """The agent's configuration as the chart makes it."""
    docs = chart.render(run.args.helm, chart.values()["default"], "otelprof", "otelprof",
                        "--set", "profile.optIn=%s" % str(opt_in).lower())
    config = chart.config(docs, "otelprof-agent", "agent.yaml")
    for name, processor in config["processors"].items():
        if name.startswith("k8s_attributes"):
            processor.update(auth_type="kubeConfig", wait_for_metadata=True)
    return config


def label_pods(run, ordinal):
    """A pod for each value: what it says → its process."""
    pids = {}
    for name, value in SAID.items():
        env = [{"name": "OTEL_SERVICE_NAME", "value": OWN}] if name == "loud" else []
        one, = run.scene.start(scene.workload(
            "%s-%d" % (name, ordinal), "shop", scene.container(name, env=env),
            labels={LABEL: value, **LABELS.get(name, {})},
            annotations=ANNOTATIONS if name in NOTED else {}))
        run.scene.names[one.id]["k8s.pod.label." + LABEL] = value
        pids[name] = run.scene.target(one), one
        if name == "nested":  # what runs in it, runs in a container inside of its container
            nest(one)
    return pids


def export(run, name, collector, pids, least):
    """otelprof export into @collector until each of @pids has @least samples. What it said."""
    with open(run.path(name + ".export.log"), "w+", encoding="utf-8") as log:
        profiler = subprocess.Popen(
            [run.args.otelprof, "export", "--endpoint", "http://" + collector.endpoint,
             "-F", "199", "--interval", "1", "--service-name", ""], stdout=log, stderr=log)
        run.scene.wait_for_samples(collector.out, pids, least)
        status = suite.end(profiler)
        log.seek(0)
        return status, log.read()


def judge(run, capture, status, text, kept, dropped, least):
    """Whole stacks with all names of @kept, nothing of @dropped, and nothing else is missing."""
    result = check.Result()
    result.need(status == 0, "otelprof export: exit %d" % status)
    for pid in dropped:
        count = sum(s.count for s in check.select(capture, pid))
        result.need(count == 0, "%s: %d samples" % (run.scene.targets[pid][0], count))
    for pid in kept:
        stacks = run.scene.check_stacks(capture, pid)
        result.problems += ["%s: %s" % (run.scene.targets[pid][0], p) for p in stacks.problems]
        want = run.scene.names.get(run.scene.targets[pid][1], {})
        result.need(all(scene.k8s_of(s) == want for s in check.select(capture, pid)),
                    "%s has its names" % run.scene.targets[pid][0])
    services = {run.scene.pid_of(name): service for name, service in SERVICES.items()}
    services.update({process.pid: os.path.basename(process.args[0])
                     for process in run.scene.processes})
    for pid in kept & set(services):
        got = {s.resource.get("service.name") for s in check.select(capture, pid)}
        result.need(got == {services[pid]}, "service of %s: %s" % (run.scene.targets[pid][0], got))
    row = check.accounting(text)
    there = sum(s.count for s in capture.samples)
    # They were taken: it is the processor that dropped them.
    result.need(row and row["exported"] - there >= least, "%s exported, %d arrived" % (
        row and row["exported"], there))
    return result


def cell(run, name, collector_of, least, ordinal):
    """@collector_of: (name, config) → a Collector; @ordinal: of the cell, for its pods' names."""
    pids = label_pods(run, ordinal)
    results = []
    try:
        for opt_in in (False, True):
            dropped = {pid for pid, (_, container) in run.scene.targets.items()
                       if container and pid != pids["loud"][0]} if opt_in else {
                           pids[name][0] for name, said in SAID.items() if said == "false"}
            kept = set(run.scene.targets) - dropped
            called = "%s-%s" % (name, "in" if opt_in else "out")
            with collector_of(called, processors(run, opt_in)) as collector:
                collector.wait()
                status, text = export(run, called, collector, kept, least)
            capture = otlp.read_file(collector.out)
            results.append(judge(run, capture, status, text, kept, dropped, least))
            results[-1].notes.insert(0, "opt %s: %d kept, %d dropped" % (
                "in" if opt_in else "out", len(kept), len(dropped)))
    finally:
        for pid, one in pids.values():
            run.kubelet.stop(one)
            run.scene.forget(pid)
    results[0].notes[:] = [results[0].notes[0], results[1].notes[0], results[0].notes[-1]]
    run.judge(name, *results)
