#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The storm: what the budgets of CPU time and memory are worth when much happens at once.

    python3 tests/bench/storm/storm.py [--build DIR] [--seconds S] [--svg FILE] [KEY=VALUE]...

A profiler of the whole machine at 1,000 Hz (host.c) first sees a quiet machine. Then there are
500 execs a second, and three programs of 200 MB each (large.c), which begin a third of the
storm apart; then it is quiet again. What it used is measured by the kernel, not by the library,
and a line tells it for each ten seconds. The most of any ten seconds is told against what was
set: more than 110 % of either is a failure, status 1. KEY=VALUE are settings of the profiler.

Needs root, x86-64, gcc, a release build, 1 GB of disk and 2 GB of memory.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TEN = 10  # seconds
MOST = 1.1  # of what was set


def run(*command, **options):
    subprocess.run(command, check=True, **options)


def build(args, where):
    """Compile the programs into @where."""
    top = os.path.join(HERE, "..", "..", "..")
    library = os.path.join(args.build, "lib")
    run("gcc", "-O2", "-o", where + "/crowd", os.path.join(HERE, "..", "crowd.c"))
    run("gcc", "-O2", "-o", where + "/host", HERE + "/host.c", "-I" + top + "/include",
        "-I" + args.build + "/include", "-L" + library, "-Wl,-rpath," + library, "-lotelprof",
        "-lbpf")
    size = ["-DFUNCTIONS=%d" % (args.megabytes * 1024), "-DSHIFT=10"]
    run("gcc", *size, "-c", "-o", where + "/large.o", HERE + "/large.S")
    for number in range(args.programs):
        run("gcc", *size, "-O2", "-no-pie", "-Wl,--build-id=0x%040x" % (number + 1), "-o",
            "%s/large%d" % (where, number), HERE + "/large.c", where + "/large.o")


class Execs:
    """Processes that began on the machine, by second."""

    def __init__(self):
        self.began = []
        self.ends = False
        threading.Thread(target=self.watch, daemon=True).start()

    @staticmethod
    def count():
        with open("/proc/stat", encoding="ascii") as f:
            return int(next(line for line in f if line.startswith("processes ")).split()[1])

    def watch(self):
        while not self.ends:
            self.began.append((time.monotonic(), self.count()))
            time.sleep(0.25)

    def rate(self, begin, end):
        seen = [(t, n) for t, n in self.began if begin <= t <= end]
        if len(seen) < 2:
            return 0
        return (seen[-1][1] - seen[0][1]) / (seen[-1][0] - seen[0][0])


def storm(args, where, children):
    """Begin it; what was begun is added to @children."""
    halves = 2
    for _ in range(halves):
        children.append(subprocess.Popen(
            [where + "/crowd", "churn", str(args.execs / halves), str(args.seconds), "0.2"],
            stdout=subprocess.DEVNULL))
    for number in range(args.programs):
        if number:
            time.sleep(args.seconds / args.programs)
        # the execs go first: only so there are as many as asked for
        children.append(subprocess.Popen(["nice", "-n", "19", "%s/large%d" % (where, number)]))
    time.sleep(args.seconds / args.programs)


def measure(args, where):
    """[a dict of what the host told], the monotonic time at which it began, and Execs."""
    length = args.quiet + args.seconds + args.quiet
    host = subprocess.Popen([where + "/host", str(length), "5"] + args.keys,
                            stdout=subprocess.PIPE, text=True)
    children = []
    rows = []
    execs = Execs()
    try:
        if host.stdout.readline() != "ready\n":
            raise SystemExit("the profiler does not start")
        began = time.monotonic()
        names = host.stdout.readline().split()

        def drive():
            time.sleep(args.quiet)
            storm(args, where, children)
            for child in children:
                child.kill()

        threading.Thread(target=drive, daemon=True).start()
        for line in host.stdout:
            rows.append(dict(zip(names, map(float, line.split()))))
        host.wait()
    finally:
        execs.ends = True
        for child in children + [host]:
            child.kill()
            child.wait()
    return rows, began, execs


def used_ns(row):
    """CPU time of the profiler: its process, and its programs in the kernel."""
    return row["process_ns"] + row["bpf_ns"]


def bytes_of(row):
    return row["rss"] + row["maps"]


def any_ten(rows, value):
    """The most of @value's growth in any ten seconds, a second."""
    most = 0
    j = 0
    for i, row in enumerate(rows):
        while j < len(rows) and rows[j]["s"] < row["s"] + TEN:
            j += 1
        if j == len(rows):
            break
        most = max(most, (value(rows[j]) - value(row)) / (rows[j]["s"] - row["s"]))
    return most


def at(rows, second):
    return min(rows, key=lambda row: abs(row["s"] - second))


def table(args, rows, began, execs):
    """A line for each ten seconds: (of the text, of the picture)."""
    print("| seconds | execs a second | rate, Hz | CPU, % of a core | own memory, MB | maps, MB "
          "| samples | lost |\n|---|---|---|---|---|---|---|---|")
    end = rows[-1]["s"]
    second = 0
    while second + TEN <= end + 0.5:
        a, b = at(rows, second), at(rows, second + TEN)
        if a is b:  # it had no CPU for so long
            second += TEN
            continue
        lost = b["dropped"] - a["dropped"] + b["events_lost"] - a["events_lost"]
        print("| %d to %d | %.0f | %.0f | %.2f | %.1f | %.1f | %d | %d |" % (
            second, second + TEN, execs.rate(began + second, began + second + TEN),
            1e9 / b["period_ns"], (used_ns(b) - used_ns(a)) / (b["s"] - a["s"]) / 1e7,
            b["rss"] / 1e6, b["maps"] / 1e6, b["taken"] - a["taken"], lost))
        second += TEN


def summary(args, rows):
    storm_rows = [r for r in rows if args.quiet <= r["s"] <= args.quiet + args.seconds + 1]
    set_percent = args.setting("cpu_budget_permille") / 10
    set_mb = args.setting("memory_limit_bytes") / 1e6
    print("\nCPU: set %.1f %%; any ten seconds at most %.2f %% in all, %.2f %% in the storm; by "
          "the library's own count %.2f %%" % (
              set_percent, any_ten(rows, used_ns) / 1e7, any_ten(storm_rows, used_ns) / 1e7,
              any_ten(rows, lambda r: r["own_ns"]) / 1e7))
    most = max(rows, key=bytes_of)
    last = rows[-1]
    print("memory: set %.1f MB; at most %.1f MB, of it maps %.1f MB; by the library's own count "
          "%.1f MB then, %.1f MB at most" % (
              set_mb, bytes_of(most) / 1e6, most["maps"] / 1e6, most["memory"] / 1e6,
              max(r["memory"] for r in rows) / 1e6))
    print("given up: names of %d files, %d tables, %d processes; %d looks above the limit; "
          "postponed: %d tables, names of %d frames" % (
              last["names"], last["tables"], last["gone"], last["over"], last["tables_later"],
              last["names_later"]))
    print("samples: %d taken, %d lost (%.2f %%); events lost %d times; %d changes of the rate" % (
        last["taken"], last["dropped"], 100 * last["dropped"] / max(1, last["taken"]),
        last["events_lost"], last["rate_changes"]))


def above(args, rows):
    """What was used of a budget that was set, where that is too much."""
    used = (("CPU", "%", args.setting("cpu_budget_permille") / 10, any_ten(rows, used_ns) / 1e7),
            ("memory", "MB", args.setting("memory_limit_bytes") / 1e6,
             max(map(bytes_of, rows)) / 1e6))
    return ["FAIL: %s: %.2f %s, which is %.0f %% of %.1f" % (name, value, unit, 100 * value / limit,
                                                           limit)
            for name, unit, limit, value in used if limit and value > MOST * limit]


class Arguments(argparse.Namespace):
    def setting(self, key):
        for pair in reversed(self.keys):
            name, _, value = pair.partition("=")
            if name == key:
                return int(value)
        return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build-tests/release")
    parser.add_argument("--seconds", type=float, default=90, help="of the storm")
    parser.add_argument("--quiet", type=float, default=20, help="seconds before and after it")
    parser.add_argument("--execs", type=float, default=500, help="a second")
    parser.add_argument("--programs", type=int, default=3)
    parser.add_argument("--megabytes", type=int, default=200, help="of code of each program")
    parser.add_argument("--svg", help="draw what was measured there")
    parser.add_argument("keys", nargs="*", metavar="KEY=VALUE")
    args = parser.parse_args(namespace=Arguments())
    args.build = os.path.abspath(args.build)
    given = args.keys
    args.keys = ["sample_rate_hz=1000", "cpu_budget_permille=100"] + given
    if platform.machine() != "x86_64":
        print("skip storm: large.S is of x86-64")
        return 77
    if os.geteuid() or not shutil.which("gcc"):
        print("skip storm: needs root and gcc")
        return 77
    with tempfile.TemporaryDirectory(prefix="storm-") as where:
        build(args, where)
        rows, began, execs = measure(args, where)
    table(args, rows, began, execs)
    summary(args, rows)
    if args.svg:
        sys.path.insert(0, HERE)
        import draw
        with open(args.svg, "w", encoding="utf-8") as f:
            f.write(draw.draw(args, rows, used_ns, bytes_of))
    failed = above(args, rows)
    for line in failed:
        print(line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
