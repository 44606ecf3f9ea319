#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the report, a comparison and the page take for random stacks, each with a thread and a time.

    python3 tests/bench/stacks.py --otelprof PROGRAM [--stacks 300000] [--dir DIR]

CPU time is that of the program, or of Chromium's process of the page until the graph is drawn.
Wall time says something on a quiet machine only.
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile
import time

sys.path += [os.path.join(os.path.dirname(os.path.abspath(__file__)), "../unit/program", part)
             for part in ("", "report")]
from browser import CHROMIUM, Chromium  # noqa: E402
from hostile import Request, recording  # noqa: E402

FUNCTIONS = 5000
CALLEES = 3
DEPTHS = 8, 30
PER_REQUEST = 25000
THREADS = 40
HZ = 100
START_NS = 1700000000 * 10**9
SHOWN = """new Promise(r => { const look = () => document.body?.dataset.ready
    ? requestAnimationFrame(() => requestAnimationFrame(() => r(+document.body.dataset.ready)))
    : setTimeout(look, 1); look(); })"""


def stacks(seed, count):
    """Chains of calls, callers first: a function calls one of a few, always the same ones."""
    rng = random.Random(seed)
    for _ in range(count):
        stack = [0]
        for _ in range(rng.randint(*DEPTHS)):
            stack.append((stack[-1] * CALLEES + rng.randrange(CALLEES) + 1) * 2654435761 % FUNCTIONS)
        yield stack


def write(path, seed, count):
    with open(path, "wb") as f:
        for part in range(0, count, PER_REQUEST):
            request = Request()
            frames = [request.frame("ns::Class%d::method(int, char const*)" % i, "src/file%d.cpp" % (i % 300),
                                    10 * i, 10 * i + 3, "prog") for i in range(FUNCTIONS)]
            amount = min(PER_REQUEST, count - part)
            for i, stack in enumerate(stacks("%d %d" % (seed, part), amount)):
                at = START_NS + (i * 10**9 // amount)
                request.sample([frames[n] for n in reversed(stack)], 1,
                               [("thread.name", "worker-%d" % (i % THREADS))], [at])
            f.write(recording(request.encode()))


def command(name, argv):
    """Of a child: how long, its CPU time and its memory."""
    begin = time.monotonic()
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit("%s: status %d" % (" ".join(argv), status))
    print("%-22s wall %5.2f s  CPU %5.2f s  %4d MB" %
          (name, time.monotonic() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss >> 10))


def renderer_mb():
    """The most that a page of a browser took."""
    most = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as cmdline, open("/proc/%s/status" % pid) as status:
                if b"--type=renderer" in cmdline.read():
                    most = max(most, int(status.read().split("VmHWM:")[1].split()[0]) >> 10)
        except (OSError, IndexError):
            continue
    return most


def page(name, path):
    browser = Chromium(1400, 900)
    try:
        browser.call("Performance.enable")
        begin = time.monotonic()
        browser.call("Page.navigate", url="file://" + path)
        nodes, wall = browser.js(SHOWN), time.monotonic() - begin
        used = {m["name"]: m["value"] for m in browser.call("Performance.getMetrics")["metrics"]}
        print("%-22s wall %5.2f s  CPU %5.2f s  %4d MB  %d nodes, file of %.1f MB" %
              (name, wall, used["ProcessTime"], renderer_mb(), nodes, os.path.getsize(path) / 1e6))
    finally:
        browser.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--otelprof", required=True)
    parser.add_argument("--stacks", type=int, default=300000)
    parser.add_argument("--dir")
    options = parser.parse_args()
    directory = os.path.abspath(options.dir or tempfile.mkdtemp())
    os.makedirs(directory, exist_ok=True)
    names = {n: os.path.join(directory, n) for n in ("a.otlp", "b.otlp", "a.html", "ab.html")}
    for seed, name in enumerate(("a.otlp", "b.otlp")):
        write(names[name], seed, options.stacks)
    print("%d stacks, %.1f MB, load %.1f" % (options.stacks, os.path.getsize(names["a.otlp"]) / 1e6,
                                            os.getloadavg()[0]))
    program = options.otelprof
    command("report", [program, "report", "--no-tui", "--no-lines", names["a.otlp"]])
    command("convert, page", [program, "convert", "-o", names["a.html"], names["a.otlp"]])
    command("diff", [program, "diff", names["a.otlp"], names["b.otlp"]])
    command("diff, page", [program, "diff", "-o", names["ab.html"], names["a.otlp"], names["b.otlp"]])
    if CHROMIUM:
        page("page in Chromium", names["a.html"])
        page("diff in Chromium", names["ab.html"])


if __name__ == "__main__":
    main()
