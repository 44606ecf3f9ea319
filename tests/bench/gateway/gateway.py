#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One gateway and many agents: what a node sends, what a gateway takes, and where it breaks.

    python3 tests/bench/gateway/gateway.py --collector FILE [--build DIR] [--dir DIR]
        [--figures FILE] [--page docs/sizing.md] [--svg docs/sizing.svg] [--quick | --page-only]

1. Real agents over real loads give requests, and what an agent sends and takes (record.py).
2. Simulated agents (replay.go), each with a connection, a host.id and a host.name of its own,
   send them into a Collector with examples/collector/gateway.yaml, which sends to a sink that
   counts samples. Their first requests are spread over a window; a window is up to a tenth
   longer or shorter, as an agent's is. What is refused is not sent again.
3. *cost*: few agents, each of the recorded shapes: CPU time of a request.
   *ladders*: more and more agents until the gateway breaks: something is refused, takes longer
   than an agent's deadline of 10 s, or more than one request in a hundred is answered more than
   a window after it was due.
   *away*: a back end that does not answer: memory.

The gateway is bound to the first CPU of the machine, agents and sink to the second, so that it
is known how much it had; all of them, and the load, go before other work (nice). Its figures are CPU time by the kernel's clock of its threads,
RSS, and requests by the sink between two moments at which all agents run.

Needs root, two CPUs, a release build, Go 1.25, and a Collector (tests/system/e2e/build-collector.sh);
a quarter of an hour. --quick shows that it works. A run that was broken off goes on with the same
--dir.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time

import page
import record
import rig

import bpf_stats  # rig says where it is

GATEWAY_CPU, OTHER_CPU = "0", "1"
STEPS = [10, 100, 300, 1000, 2000]
GROWTH = 1.5  # from step to step after those
MOST_AGENTS = 20000
SAMPLES_WAIT_S = 20
NEVER = "1h"


class Reading:
    """Of all parts at one moment."""

    def __init__(self, gateway, sink, replay):
        self.at = time.monotonic()
        self.gateway = rig.cpu_ns(gateway.process.pid)
        self.sink = rig.cpu_ns(sink.process.pid)
        self.replay = rig.cpu_ns(replay.process.pid)
        self.totals = sink.totals()


def cell(args, file, agents, window_s, measure_s, warm_s=None, delay="0s", more=(),
         environment=None):
    """A row: the plan, what the agents saw, what the gateway took."""
    sink = rig.Sink(args.program, delay=delay, cpus=OTHER_CPU)
    gateway = None
    try:
        gateway = rig.Gateway(args.collector, sink.port, os.path.join(args.dir, "gateway.log"),
                              GATEWAY_CPU, more, environment)
        empty = rig.memory_mb(gateway.process.pid)[0]
        with rig.Replay(args.program, gateway.port, file, agents, window_s,
                        window_s + 2 if warm_s is None else warm_s, measure_s,
                        OTHER_CPU) as replay:
            replay.wait("connected")
            connected = rig.memory_mb(gateway.process.pid)[0]
            replay.wait("begin")
            a = Reading(gateway, sink, replay)
            replay.wait("end")
            b = Reading(gateway, sink, replay)
            seen = replay.result()
        peak = rig.memory_mb(gateway.process.pid)[1]
        arrived = sink.wait_for(seen["all_samples_acknowledged"],
                                0 if delay == NEVER else SAMPLES_WAIT_S)
    finally:
        if gateway:
            gateway.stop(5)
        sink.stop()
    seconds = b.at - a.at
    done = b.totals["requests"] - a.totals["requests"]
    return {"agents": agents, "window_s": window_s, "delay": delay, "seconds": seconds,
            "seen": seen, "done": done, "arrived": arrived,
            "cpu_s": (b.gateway - a.gateway) / 1e9, 
            "sink_cpu_s": (b.sink - a.sink) / 1e9, "agents_cpu_s": (b.replay - a.replay) / 1e9,
            "wire_out": b.totals["wire_bytes"] - a.totals["wire_bytes"],
            "raw_out": b.totals["raw_bytes"] - a.totals["raw_bytes"],
            "empty_mb": empty, "connected_mb": connected, "peak_mb": peak,
            "load": os.getloadavg()[0]}


def lost(row):
    """Requests that were refused or not answered in time."""
    seen = row["seen"]
    return seen["refused"] + seen["timed_out"] + seen["failed"]


def behind(row):
    return row["seen"]["behind"] + row["seen"]["unsent"]


def breaks(row):
    return lost(row) > 0 or behind(row) > 0.01 * row["seen"]["sent"]


def tell(name, row):
    seen = row["seen"]
    print("%-22s %6d agents %6.1f requests/s  gateway %.2f CPUs, %.2f ms a request, %.0f MB, "
          "p50 %.0f p99 %.0f ms, lost %d, behind %d of %d; agents %.2f, sink %.2f CPUs; load %.0f"
          % (name, row["agents"], row["done"] / row["seconds"], row["cpu_s"] / row["seconds"],
             1e3 * row["cpu_s"] / max(1, row["done"]), row["peak_mb"], seen["P50"], seen["P99"],
             lost(row), behind(row), seen["sent"], row["agents_cpu_s"] / row["seconds"],
             row["sink_cpu_s"] / row["seconds"], row["load"]), flush=True)


def steps(first):
    yield from (agents for agents in STEPS if agents >= first)
    agents = STEPS[-1]
    while agents * GROWTH < MOST_AGENTS:
        agents = int(agents * GROWTH)
        yield agents


def ladder(args, figures, key, name, shape, first, delay="0s"):
    """Rows of more and more agents, until it breaks; those that are there are not made again."""
    made = figures.setdefault(key, {
        "name": name, "processes": shape["processes"], "hz": shape["hz"],
        "window_s": shape["window_s"], "delay": delay, "rows": []})
    rows = made["rows"]
    for agents in steps(first):
        if rows and breaks(rows[-1]) or args.quick and agents > 100:
            break
        if any(row["agents"] == agents for row in rows):
            continue
        rows.append(cell(args, shape["file"], agents, shape["window_s"], args.measure,
                         delay=delay))
        tell(name, rows[-1])
        save(args, figures)


def cost(args, shape):
    """Requests of one shape at so low a rate that nothing waits."""
    raw = shape["raw"] / shape["requests"]
    window_s = 2.5
    agents = max(4, min(100, int(window_s * 3e6 / raw)))
    row = cell(args, shape["file"], agents, window_s, args.measure)
    tell("cost %d at %d Hz, %g s" % (shape["processes"], shape["hz"], shape["window_s"]), row)
    return row


def minute(args, shape):
    row = cell(args, shape["file"], 2000, shape["window_s"], 40, warm_s=10)
    tell("windows of a minute", row)
    return row


def away(args, shape, agents, queue, limit):
    """The back end takes connections and does not answer."""
    row = cell(args, shape["file"], agents, shape["window_s"], args.measure * 2, delay=NEVER,
               more=["exporters::otlp_grpc::sending_queue::queue_size: %d" % queue],
               environment={"GOMEMLIMIT": limit} if limit else None)
    tell("away", row)
    return dict(row, queue=queue, limit=limit or "")


def step(args, figures, key, function, *arguments, **options):
    """Make a part of the figures, if it is not there."""
    if key not in figures:
        figures[key] = function(*arguments, **options)
        save(args, figures)
    return figures[key]


def machine(args):
    return {"when": time.strftime("%Y-%m-%d"), "kernel": platform.release(), "cpu": cpu_name(),
            "cpus": os.cpu_count(), "load_before": os.getloadavg()[0],
            "collector": collector_version(args.collector)}


def record_all(args, crowds, rates, windows):
    shapes = []
    with bpf_stats.counted():
        for processes in crowds:
            shapes += record.record(args, processes, rates, windows)
    for shape in shapes:
        print("%(processes)d processes, %(hz)d Hz, %(window_s)g s: %(requests)d requests in "
              "%(seconds).1f s, %(samples)d samples, %(dropped)s dropped, %(raw)d bytes, %(wire)d "
              "on the wire" % shape, flush=True)
    return shapes


def measure(args, figures):
    crowds, rates, windows = ([4], [97], [5]) if args.quick else ([4, 100], [19, 97], [5, 60])
    step(args, figures, "machine", machine, args)
    shapes = step(args, figures, "shapes", record_all, args, crowds, rates, windows)
    small = shapes[0]
    large = shape_of(shapes, crowds[-1], rates[-1], windows[0])
    ladder(args, figures, "small", "small requests", small, 10)
    ladder(args, figures, "large", "large requests", large, 10)
    ladder(args, figures, "slow", "slow back end", small, 100, "50ms")
    step(args, figures, "cost", lambda: [cost(args, shape) for shape in shapes])
    if not args.quick:
        step(args, figures, "minute", minute, args, shape_of(shapes, 100, 19, 60))
    agents = 20 if args.quick else 300
    step(args, figures, "away", lambda: [away(args, small, agents, 1000, None),
                                         away(args, small, agents, 100, "400MiB")])


def shape_of(shapes, processes, hz, window_s):
    return next(s for s in shapes if (s["processes"], s["hz"], s["window_s"]) ==
                (processes, hz, window_s))


def save(args, figures):
    with open(args.figures, "w", encoding="utf-8") as f:
        json.dump(figures, f, indent=1)


def cpu_name():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        return next((line.split(":", 1)[1].strip() for line in f if
                     line.startswith("model name")), platform.machine())


def collector_version(program):
    out = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    return out.stdout.split()[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collector", help="a Collector with the OTLP receiver and exporter")
    parser.add_argument("--build", default="build-tests/release")
    parser.add_argument("--dir", help="for recorded requests and logs; kept")
    parser.add_argument("--figures", help="all figures as JSON (default: in --dir); parts "
                        "that are there are not measured again")
    parser.add_argument("--measure", type=float, default=12, help="seconds of a step of a ladder")
    parser.add_argument("--page", help="write the tables there, between their marks")
    parser.add_argument("--svg", help="draw the ladders there")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--page-only", action="store_true", help="of the figures that are there")
    args = parser.parse_args()
    args.recorded_windows = 1 if not args.quick else 3
    args.dir = args.dir or tempfile.mkdtemp(prefix="gateway-")
    os.makedirs(args.dir, exist_ok=True)
    args.figures = args.figures or os.path.join(args.dir, "figures.json")
    figures = {}
    if os.path.exists(args.figures):
        with open(args.figures, encoding="utf-8") as f:
            figures = json.load(f)
    if not args.page_only:
        if os.geteuid() or os.cpu_count() < 2 or not args.collector:
            print("skip gateway: needs root, two CPUs and --collector")
            return 77
        args.otelprof = os.path.join(args.build, "examples", "otelprof", "otelprof")
        args.program = subprocess.run(["sh", os.path.join(rig.HERE, "build.sh")], check=True,
                                      stdout=subprocess.PIPE, text=True).stdout.strip()
        rig.go_first()
        measure(args, figures)
    page.write(args, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
