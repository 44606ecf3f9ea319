#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What otelprof export sends, taken by others. Called by run.sh."""

import os
import signal
import subprocess
import sys
import time
from functools import partial

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "live", "framework"))
sys.path.insert(0, os.path.join(HERE, "..", "..", "bench", "gateway"))
import build
import cells
import check
import kinds
import otlp
import rig
import suite
from receivers import Collector, Sink

WORK_S = 3  # of CPU time of the known-answer program: some 600 samples
WORK_WAIT_S = 120
AGENTS = 10

# Reads framed requests with the published classes.
CLASSES = """
import sys
from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2 as pb
data = open(sys.argv[1], "rb").read()
at = samples = 0
while at < len(data):
    size = int.from_bytes(data[at:at + 4], "big")
    request = pb.ExportProfilesServiceRequest()
    request.ParseFromString(data[at + 4:at + 4 + size])
    whole = len(request.SerializeToString())
    request.DiscardUnknownFields()
    if len(request.SerializeToString()) != whole:
        sys.exit("fields that the classes do not know")
    for resource in request.resource_profiles:
        for scope in resource.scope_profiles:
            for profile in scope.profiles:
                samples += sum(max(len(s.timestamps_unix_nano), sum(s.values))
                               for s in profile.samples)
    at += 4 + size
print("samples", samples)
"""


class E2E(suite.Run):
    suite = "e2e"


def version_of(collector):
    return os.path.basename(os.path.dirname(collector))


def cpu_seconds(pid):
    with open("/proc/%d/stat" % pid, encoding="utf-8") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for_work(pid, process):
    """Until @pid has worked for WORK_S while @process ran."""
    start, end = cpu_seconds(pid), time.monotonic() + WORK_WAIT_S
    while time.monotonic() < end and process.poll() is None:
        if cpu_seconds(pid) - start >= WORK_S:
            return True
        time.sleep(0.1)
    return False


def export(e2e, port):
    """Profile the known-answer program into @port. Returns (pid, text, exit status)."""
    path, why = build.build("c-gcc", e2e.args.dir)
    if not path:
        raise RuntimeError(why)
    target = suite.start(path, suite.LONG)
    profiler = subprocess.Popen([e2e.args.otelprof, "export", "--endpoint",
                                 "http://127.0.0.1:%d" % port, "-F", "199", "--interval", "1"],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        wait_for_work(target.pid, profiler)
        profiler.send_signal(signal.SIGTERM)
        text, _ = profiler.communicate(timeout=60)
    finally:
        profiler.kill()
        suite.stop([target])
    return target.pid, text, profiler.returncode


def judge_chain(e2e, name, capture, pid, text, status, *more):
    result = check.Result()
    result.need(status == 0, "otelprof export: exit %d" % status)
    e2e.judge(name, result, check.check_chain(capture, CELL, pid),
              check.check_accounting(text, capture), *more)


CELL = cells.replace(cells.CELLS["c-gcc"], leaf_points=None, min_samples=200)


def into_collector(e2e, name, program):
    """Into the OTLP receiver of a Collector."""
    with Collector(e2e, name, program) as server:
        pid, text, status = export(e2e, server.port)
    judge_chain(e2e, name, server.capture(), pid, text, status)


def sink(e2e, name):
    with Sink(e2e, "sink") as server:
        pid, text, status = export(e2e, server.port)
    with open(e2e.path("sent.otlp"), "wb") as f:
        for data in server.requests():
            f.write(len(data).to_bytes(4, "big") + data)
    result = check.Result()
    result.need(server.status == 0, "otelprof sink found all of it right (exit %d)" %
                server.status)
    capture = server.capture()
    judge_chain(e2e, name, capture, pid, text, status, result, check.check_rules(capture))


def classes(e2e, name):
    """After sink: the same bytes."""
    sent = e2e.path("sent.otlp")
    if not os.access(e2e.args.classes, os.X_OK):
        raise suite.Skip("opentelemetry-proto is not installed")
    if not os.path.exists(sent) or not os.path.getsize(sent):
        raise RuntimeError("nothing was sent")
    done = subprocess.run([e2e.args.classes, "-c", CLASSES, sent], capture_output=True, text=True)
    there = sum(s.count for s in otlp.read_file(sent).samples)
    result = check.Result()
    result.need(done.returncode == 0, "opentelemetry-proto reads it %s" %
                (done.stderr.strip().splitlines() or [""])[-1])
    result.need(done.stdout.strip() == "samples %d" % there, "%d samples; it counts %s" %
                (there, done.stdout.strip()))
    e2e.judge(name, result)


def gateway(e2e, name):
    """After sink: its requests by 10 agents at once through the Collector as a gateway."""
    sent = e2e.path("sent.otlp")
    if not e2e.args.agents or not e2e.args.collector:
        raise suite.Skip("its agents or the Collector are not built")
    if not os.path.exists(sent) or not os.path.getsize(sent):
        raise RuntimeError("nothing was recorded")
    kept = e2e.path("passed-on.otlp")
    back = rig.Sink(e2e.args.agents, keep=kept)
    try:
        server = rig.Gateway(e2e.args.collector[0], back.port, e2e.path("gateway.log"))
        try:
            with rig.Replay(e2e.args.agents, server.port, sent, AGENTS, window_s=1, warm_s=2,
                            measure_s=8) as agents:
                for word in ("connected", "begin", "end"):
                    agents.wait(word)
                seen = agents.result()
            back.wait_for(seen["all_samples_acknowledged"], 20)
        finally:
            server.stop()
        there = back.totals()
    finally:
        back.stop()
    result = check.Result()
    result.need(seen["all_sent"] >= 8 * AGENTS and seen["sent"] == seen["acknowledged"],
                "%d requests by %d agents, %s" % (seen["all_sent"], AGENTS, seen["codes"]))
    capture = otlp.read_file(kept)
    arrived = sum(s.count for s in capture.samples)
    hosts = len({s.resource.get("host.id") for s in capture.samples})
    result.need(arrived == there["samples"] == seen["all_samples_acknowledged"] > 0,
                "%d samples arrived of %d" % (arrived, seen["all_samples_acknowledged"]))
    result.need(hosts == AGENTS and not there["malformed"],
                "of %d hosts, %d malformed" % (hosts, there["malformed"]))
    e2e.judge(name, result)


def mcp(e2e, name):
    """The assistant's side by the published client: record this host, read the recording."""
    if not os.access(e2e.args.mcp, os.X_OK):
        raise suite.Skip("the client mcp is not installed")
    test = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "unit", "program", "report", "test_mcp.py")
    done = subprocess.run([e2e.args.mcp, test, e2e.args.otelprof, "client"], capture_output=True,
                          text=True, timeout=120)
    result = check.Result()
    # The client wraps errors in groups, whose last line is a rule.
    said = [line.strip(" |") for line in done.stderr.splitlines() if "Error" in line]
    result.need(done.returncode == 0, "the client was answered %s" % " ".join(said[-1:]))
    e2e.judge(name, result)


def main():
    parser = suite.parser("otelprof", "classes", "mcp")
    parser.add_argument("--collector", action="append", default=[])
    parser.add_argument("--agents", help="tests/bench/gateway, built")
    e2e = E2E(parser.parse_args())
    if not e2e.args.collector:
        e2e.say("skip", "collector", "not built (OTELPROF_E2E=1 builds it)")
    known = {"collector-" + version_of(program): partial(into_collector, program=program)
             for program in e2e.args.collector}
    known.update(("kinds-" + version_of(program), partial(kinds.into_collector, collector=program))
                 for program in e2e.args.collector)
    return e2e.cells({**known, "sink": sink, "classes": classes, "gateway": gateway,
                      "mcp": mcp})


if __name__ == "__main__":
    sys.exit(main())
