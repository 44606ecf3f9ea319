#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a context costs a sample in the kernel: run time of the sampling program over its runs.

    cost.py --otelprof FILE --spans FILE --own FILE --custom FILE --dir DIR
            [--rounds N] [--seconds N]

The programs of run.py, with a context and without, by turns: a machine's speed changes. While it
is measured a program has real-time priority: a tick that meets something else on a CPU runs the
sampling program too, and gives no sample. How many these are is known by the CPU time of who is
profiled (the column "of others"), and what one takes by a turn without anybody, so that they are
taken away. Prints a table in Markdown. Needs root.
"""
import argparse
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "framework"))
import bpf_stats  # noqa: E402
import suite  # noqa: E402

PERF_EVENT = "7"  # BPF_PROG_TYPE_PERF_EVENT
HZ = 999
SETTLE_S = 1.5  # the profiler has looked at the process, and its stacks are known


def runs(pid):
    """(ns, number) of the runs of the sampling programs that @pid has open."""
    rows = [row for row in bpf_stats.programs(pid) if row["prog_type"] == PERF_EVENT]
    return [sum(int(row[field]) for row in rows) for field in ("run_time_ns", "run_cnt")]


def cpu_ns(pid):
    total = 0
    for task in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/schedstat" % (pid, task), encoding="ascii") as f:
            total += int(f.read().split()[0])
    return total


def hurry(pid, priority):
    """Before all but what is more urgent; for less than a second, as others wait meanwhile."""
    for task in os.listdir("/proc/%d/task" % pid):
        os.sched_setscheduler(int(task), os.SCHED_RR | os.SCHED_RESET_ON_FORK,
                              os.sched_param(priority))


def measure(recorder, command, seconds):
    """(ns of all runs, their number, how many should be the program's) of one turn; of a turn
    without anybody where @command is None."""
    process = suite.start(*command) if command else None
    try:
        if process:
            time.sleep(SETTLE_S)
            hurry(process.pid, 1)
        start = *runs(recorder.pid), cpu_ns(process.pid) if process else 0
        time.sleep(seconds)
        end = *runs(recorder.pid), cpu_ns(process.pid) if process else 0
    finally:
        suite.stop([process] if process else [])
    ns, count, cpu = (b - a for a, b in zip(start, end))
    if not count:
        raise RuntimeError("the sampling program did not run")
    return ns, count, min(cpu * HZ / 1e9, count)


def go_program(folder):
    program = os.path.join(folder, "spans_go")
    subprocess.run(["go", "build", "-o", program, os.path.join(HERE, "spans.go")], check=True)
    return program


def programs(args):
    """[(what, command, that without a context)]"""
    plain = [args.spans, "plain", suite.LONG]
    go = go_program(args.dir)
    none = [go, "none", suite.LONG]
    return [("C, no context", plain, plain),
            ("C, OTEP 4947, writer in a library, 2 attributes", [args.spans, "threads", suite.LONG],
             plain),
            ("C, OTEP 4947, writer in the executable, 2 attributes",
             [args.own, "threads", suite.LONG], plain),
            ("C, custom-labels, 6 labels", [args.custom, "custom", suite.LONG], plain),
            ("Go, no labels", none, none),
            ("Go, 2 labels", [go, "labels", suite.LONG], none),
            ("Go, 4 labels", [go, "ids", suite.LONG], none)]


def main():
    parser = argparse.ArgumentParser()
    for name in ("otelprof", "spans", "own", "custom"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--dir", required=True, type=suite.folder)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=0.5)
    args = parser.parse_args()
    if os.geteuid():
        print("SKIP: not root")
        return 77
    chosen = programs(args)
    hurry(os.getpid(), 2)
    taken = {what: [] for what, _, _ in chosen}
    idle = []
    with bpf_stats.counted():
        recorder = subprocess.Popen(
            [args.otelprof, "record", "-q", "-o", os.path.join(args.dir, "cost.otlp"), "--format",
             "otlp", "-F", str(HZ), "-d", "3600", "--tree", str(os.getpid())])
        try:
            time.sleep(3)
            for _ in range(args.rounds):
                ns, count, _ = measure(recorder, None, args.seconds)
                idle.append(ns / count / 1000)
                for what, command, _ in chosen:
                    ns, count, own = measure(recorder, command, args.seconds)
                    others = count - own
                    taken[what].append(((ns / 1000 - others * idle[-1]) / own, others / count))
        finally:
            suite.end(recorder)
    show(chosen, taken, idle, args)
    return 0


def show(chosen, taken, idle, args):
    base = {tuple(command): what for what, command, _ in chosen}
    print("%d turns of %g s each, load %.1f; a tick of others: %.2f µs\n" % (
        args.rounds, args.seconds, os.getloadavg()[0], statistics.median(idle)))
    print("| program | µs a sample: median, least and most | more than without: median "
          "| of others |\n|---|---|---|---|")
    for what, command, without in chosen:
        us = [each for each, _ in taken[what]]
        plain = [each for each, _ in taken[base[tuple(without)]]]
        more = "–" if command is without else "%+.2f" % statistics.median(
            a - b for a, b in zip(us, plain))
        print("| %s | %.2f (%.2f to %.2f) | %s | %.1f %% |" % (
            what, statistics.median(us), min(us), max(us), more,
            100 * statistics.median(other for _, other in taken[what])))


if __name__ == "__main__":
    sys.exit(main())
