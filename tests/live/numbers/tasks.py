# SPDX-License-Identifier: Apache-2.0
"""Programs beside what is told of them; tasks of periodic.c, in units of the noise of sampling."""
import collections
import os
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "framework"))
import otlp  # noqa: E402
import suite  # noqa: E402

TICKS = 400  # of a cell, at least; a quarter of them in the default run
SECONDS = 2
PHASES = 10  # of each cell of the matrix
MOST = 4.5  # sigma
# In a short run, whose few ticks are not distributed like many. By a simulation of the clock it
# fails by chance less than once in 10,000 runs.
MOST_FEW = 6.5
RARE = 3  # sigma: one in RARE_PARTS may lie beyond, and a few of the few in a short run
RARE_PARTS = 100
RARE_FEW = 3
# A cell whose tasks begin and end at few places has hardly any noise by that sum.
LEAST = 1  # sample
CLOCK = 0.002  # of a CPU clock: it counts what the host or an interrupt takes
BUSY_RING = "ring_bytes = 67108864"  # where nothing may be lost, on a busy machine
BUILDS = threading.Lock()


def program(run, name):
    path, source = run.path(name), os.path.join(HERE, name + ".c")
    newest = max(os.path.getmtime(f) for f in (source, os.path.join(HERE, "bursts.h")))
    with BUILDS:
        if not os.path.exists(path) or os.path.getmtime(path) < newest:
            subprocess.run(["cc", "-O1", "-g", "-o", path, source, "-lpthread", "-lm"],
                           check=True)
    return path


def config(run, name, text):
    path = run.path(name + ".conf")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text + "\n")
    return path


def begun(run, name, options, *command, **how):
    """What a program says of what it did, which waits until an "otelprof record" knows it, for two
    lines of input, and what was recorded of it."""
    process = suite.start(*command, stdin=subprocess.PIPE, **how)
    try:
        with suite.Recorder(run.args.otelprof, run.fresh(name + ".otlp"), "--config",
                            config(run, name, BUSY_RING), "-p", str(process.pid),
                            *options) as recorder:
            for _ in range(2):
                recorder.settle()
                process.stdin.write("go\n")
                process.stdin.flush()
                said = process.stdout.readline()
            recorder.end()
    finally:
        suite.stop([process])
    return said, recorder.out


def told_by_thread(samples):
    """{its id: samples}, and how many were lost."""
    told = collections.Counter()
    for s in samples:
        told[s.attributes.get("thread.id")] += s.count
    return told, sum({s.window: s.lost for s in samples}.values())


class Task:
    """A line of periodic."""

    def __init__(self, line):
        tid, cpu_ns, variance, lived_ns = line.split()
        self.tid, self.cpu_ns, self.lived_ns = int(tid), int(cpu_ns), int(lived_ns)
        self.sigma = max(float(variance), LEAST) ** 0.5


def periodic(run, path, options, cell, tasks, phase_us=0, copies=1):
    """The tasks of a recorded cell."""
    hz, period_ms, percent = cell
    seconds = max(SECONDS, (TICKS if run.full else TICKS // 4) / hz)
    done = subprocess.run(
        [run.args.otelprof, "record", "-q", "--no-keep", "-F", str(hz), *options, "-o", path, "--",
         "sh", "-c", '"$@" & ' * (copies - 1) + '"$@"; wait', "sh", program(run, "periodic"),
         str(1000 * period_ms), str(10 * period_ms * percent), str(tasks), str(phase_us),
         str(seconds), str(hz)], capture_output=True, text=True, timeout=600, check=True)
    return [Task(line) for line in done.stdout.splitlines()]


def step(run, name, cell, phases, copies):
    """The deviations of the tasks of a cell, in sigma. The first phase is a random one."""
    hz, period_ms, percent = cell
    tasks = 1 if copies > 1 else min(PHASES, 100 // percent)
    at_us = run.number(name, 1000 * period_ms)
    found = []
    for first in range(0, phases, tasks):
        path = run.fresh(name + ".otlp")
        known = periodic(run, path, [], cell, tasks, at_us + 1000 * period_ms * first // (
            PHASES * tasks), copies)
        told, lost = told_by_thread(otlp.read_file(path).samples)
        for task in known:
            want = task.cpu_ns * hz / 1e9
            got = told[task.tid] + min(lost, max(0, want - told[task.tid]))
            found.append(((got - want) / (task.sigma + CLOCK * want), got, want))
    return found
