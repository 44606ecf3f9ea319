# SPDX-License-Identifier: Apache-2.0
"""What perf, py-spy and Go's pprof show of the same programs, for docs/planted.md.

Each is called as its own pages say at first. "yes" is: the function and the line that are to blame
are in the first ten rows, of perf in the first 40 lines, which have chains of callers; "function":
the function alone.
"""
import collections
import contextlib
import os
import re
import shutil
import subprocess
import time

import programs

SECONDS = 2
ROWS = 10
PERF_LINES = 40
PERF_HZ = "99"
PERF = shutil.which("perf")


@contextlib.contextmanager
def running(run, target):
    """The process that runs, or one of its program, which must have begun to work."""
    if target.pid:
        yield target.pid
        return
    with subprocess.Popen([*target.before, *target.argv], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, cwd=run.dir) as process:
        time.sleep(0.3)
        try:
            yield process.pid
        finally:
            process.kill()


def verdict(rows, function, place, most=ROWS):
    """@rows: texts, the first ones of a tool's output."""
    rows = rows[:most]
    if not rows:
        return "nothing"
    named = [row for row in rows if re.search(r"(?<![\w.])(%s)(?!\w)" % function, row)]
    return "yes" if any(place.search(row) for row in named) else "function" if named else "no"


def perf(run, cell, target, place):
    if not PERF:
        return "not here"
    data = os.path.join(run.dir, cell.source + ".perf")
    with running(run, target) as pid:
        subprocess.run([PERF, "record", "-q", "-F", PERF_HZ, "-g", "-o", data, "-p", str(pid), "--",
                        "sleep", str(SECONDS)], capture_output=True, check=False)
    text = subprocess.run([PERF, "report", "--stdio", "-i", data], capture_output=True, text=True,
                          check=False).stdout
    return verdict([line for line in text.splitlines() if line.strip() and line[0] != "#"],
                   cell.function, place, PERF_LINES)


def py_spy(run, cell, target, place):
    spy = os.path.join(programs.packages(), "py-spy")
    with running(run, target) as pid:
        if "deadlock" in cell.source:
            text = subprocess.run([spy, "dump", "-p", str(pid)], capture_output=True, text=True,
                                  check=False).stdout
            return verdict([x.strip() for x in text.splitlines() if x.startswith("    ")],
                           cell.function, place)
        raw = os.path.join(run.dir, cell.source + ".spy")
        subprocess.run([spy, "record", "--subprocesses", "-f", "raw", "-d", str(SECONDS), "-o", raw,
                        "-p", str(pid)], capture_output=True, check=False)
    leaves = collections.Counter()
    if os.path.exists(raw):
        with open(raw, encoding="utf-8") as f:
            for line in f:
                stack, _, count = line.rpartition(" ")
                leaves[stack.rsplit(";", 1)[-1]] += int(count)
    whole = sum(leaves.values())
    return verdict(["%.0f%% %s" % (100 * n / whole, leaf) for leaf, n in leaves.most_common()],
                   cell.function, place)


def go_pprof(run, cell, _target, place):
    """The program itself has to be changed: profile.go is one file more."""
    program, data = os.path.join(run.dir, "profiled"), os.path.join(run.dir, "go.pprof")
    subprocess.run(["go", "build", "-tags", "profile", "-o", program,
                    programs.source(cell.source), programs.source("profile.go")], check=True)
    subprocess.run([program], env={**os.environ, "PROFILE": data}, check=False)
    text = subprocess.run(["go", "tool", "pprof", "-top", program, data], capture_output=True,
                          text=True, check=False).stdout
    rows = text.splitlines()
    begin = next((i for i, row in enumerate(rows) if "flat%" in row), len(rows)) + 1
    return verdict(rows[begin:], cell.function, place)


def of(run, cell, target, place):
    """The cells of perf and of the language's own profiler."""
    own = ""
    if cell.source.endswith(".py"):
        own = "py-spy " + py_spy(run, cell, target, place)
    elif cell.source.endswith(".go"):
        own = "pprof " + go_pprof(run, cell, target, place)
    return perf(run, cell, target, place), own
