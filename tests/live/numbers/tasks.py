# SPDX-License-Identifier: Apache-2.0
"""Tasks of periodic.c, and what is told of them in units of the noise of sampling."""
import collections
import os
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "framework"))
import otlp  # noqa: E402

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
BUILDS = threading.Lock()


def program(run, name):
    path, source = run.path(name), os.path.join(HERE, name + ".c")
    with BUILDS:
        if not os.path.exists(path) or os.path.getmtime(path) < os.path.getmtime(source):
            subprocess.run(["cc", "-O1", "-g", "-o", path, source, "-lpthread"], check=True)
    return path


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
    """The deviations of the tasks of a cell, in sigma."""
    hz, period_ms, percent = cell
    tasks = 1 if copies > 1 else min(PHASES, 100 // percent)
    found = []
    for first in range(0, phases, tasks):
        path = run.fresh(name + ".otlp")
        known = periodic(run, path, [], cell, tasks, 1000 * period_ms * first // (PHASES * tasks),
                         copies)
        told, lost = told_by_thread(otlp.read_file(path).samples)
        for task in known:
            want = task.cpu_ns * hz / 1e9
            got = told[task.tid] + min(lost, max(0, want - told[task.tid]))
            found.append(((got - want) / (task.sigma + CLOCK * want), got, want))
    return found
