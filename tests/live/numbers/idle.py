# SPDX-License-Identifier: Apache-2.0
"""The idle time of each CPU in each window of a recording, beside that of /proc/stat."""
import collections
import os
import threading
import time

import bpf_stats
import otlp

EVERY = 0.05  # s
RAW_TRACEPOINT = "17"  # BPF_PROG_TYPE_RAW_TRACEPOINT
STAT_TICK = 1 / os.sysconf("SC_CLK_TCK")
OFF = 0.03  # of a window: interrupts on an idle CPU, which /proc/stat does not count as idle
BORDER = 0.05  # s: between the sample at a window's end, and the time of that end; on a busy machine


def read_stat():
    """{CPU: its idle time}."""
    with open("/proc/stat", encoding="ascii") as f:
        lines = [line.split() for line in f]
    return {int(words[0][3:]): (int(words[4]) + int(words[5])) * STAT_TICK
            for words in lines if words[0].startswith("cpu") and words[0] != "cpu"}


def switches(pid):
    """How often the CPUs have switched tasks, and how often the kernel told recorder @pid of it: no
    other program of it runs as often."""
    with open("/proc/stat", encoding="ascii") as f:
        switched = next(int(line.split()[1]) for line in f if line.startswith("ctxt "))
    return switched, max(int(row["run_cnt"]) for row in bpf_stats.programs(pid)
                         if row["prog_type"] == RAW_TRACEPOINT)


def read_busy():
    """The time in which all CPUs were not idle, taken by a host of this machine included."""
    with open("/proc/stat", encoding="ascii") as f:
        words = f.readline().split()
    return sum(int(words[i]) for i in (1, 2, 3, 6, 7, 8)) * STAT_TICK


class Stat:
    """Reads /proc/stat again and again, on one CPU: the others may be idle for long."""

    def __init__(self):
        self.seen, self.over = [(time.time(), read_stat())], threading.Event()
        self.thread = threading.Thread(target=self.read)
        self.busy = -read_busy()

    def read(self):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        while not self.over.wait(EVERY):
            self.seen.append((time.time(), read_stat()))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        self.seen.append((time.time(), read_stat()))
        self.busy += read_busy()

    def whole(self):
        """The time of all CPUs while it was read, and how much of it they were idle."""
        (begin, before), (end, after) = self.seen[0], self.seen[-1]
        return len(after) * (end - begin), sum(after[cpu] - before[cpu] for cpu in after)

    def idle(self, cpu, when):
        after = next(i for i, (t, _) in enumerate(self.seen) if t >= when)
        (begin, before), (end, then) = self.seen[max(after - 1, 0)], self.seen[max(after, 1)]
        return before[cpu] + (then[cpu] - before[cpu]) * (when - begin) / (end - begin)


def differences(path, stat):
    """[(seconds, told, wanted)] of each CPU's windows, and what of it is wrong."""
    told, ends = collections.Counter(), {}
    for s in otlp.read_file(path).samples:
        period = s.period / 1e9
        ends[s.window / 1e9] = (s.window + s.duration) / 1e9
        if s.pid == 0:
            told[s.window / 1e9, s.attributes["cpu.logical_number"]] += period * (
                sum(s.values) if s.values else len(s.timestamps))
    found, wrong = [], []
    spans = [*ends.items(), (min(ends), max(ends.values()))]  # the last one: all of them
    for cpu in stat.seen[0][1]:
        for begin, end in sorted(spans[:-1]) + spans[-1:]:
            want = stat.idle(cpu, end) - stat.idle(cpu, begin)
            # a window whose first samples were read late begins before the end of the one before
            twice = sum(max(0, min(e, end) - max(b, begin)) for b, e in spans[:-1]) - (end - begin)
            got, border = told[begin, cpu], BORDER + twice
            if (begin, end) == spans[-1]:
                got, border = sum(n for (_, c), n in told.items() if c == cpu), 0
            found.append((end - begin, got, want))
            if abs(got - want) > OFF * (end - begin) + period + 2 * STAT_TICK + border:
                wrong.append("CPU %d, %.3f s: %.3f, not %.3f" % (cpu, end - begin, got, want))
    return found, wrong
