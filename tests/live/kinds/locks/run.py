#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Waits for locks in programs of runtimes: the interpreter's lock of CPython, monitors and
ReentrantLocks of Java, mutexes of Go's goroutines that are bound to a thread. Each program says
by its own clocks how long it waited, see programs/: the profile must say the same to 3 %.

    tests/live/kinds/locks/run.py --otelprof PROGRAM --dir DIR [CELL...]

A program's lines are PLACE LEAST MOST: the time in stacks that hold this function, in ns.
"""
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "framework"))
import check  # noqa: E402
import suite  # noqa: E402

PROGRAMS = os.path.join(HERE, "programs")
OFF = 0.03
KEYS = ("delay", "nanoseconds"), ("contentions", "count")


def need(*names):
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    raise suite.Skip("no %s here" % names[0])


def places_of(text):
    """{place: [(least, most), ...]}"""
    found = {}
    for place, least, most in re.findall(r"^(\w+) (\d+) (\d+)$", text, re.M):
        found.setdefault(place, []).append((int(least), int(most)))
    return found


def judge(run, name, command):
    capture, text = run.record(name, "--kinds", "locks", "--", *command)
    result = check.Result(problems=list(capture.violations))
    places = places_of(text)
    if not places:
        result.problems.append("the program does not say how long: %s" % text)
    for place, waits in places.items():
        least, most = (sum(w[i] for w in waits) for i in (0, 1))
        got = dict.fromkeys(KEYS, 0)
        cut = 0  # in stacks that end early, and say so: a file was met for the first time
        for s in capture.samples:
            if s.sample_type in got and any(f.name.rpartition(".")[2] == place
                                            for f in s.frames):
                got[s.sample_type] += sum(s.values)
            elif s.sample_type == KEYS[0] and s.frames[-1].name.startswith("[unwind error"):
                cut += sum(s.values)
        delay, count = (got[key] for key in KEYS)
        result.need(least * (1 - OFF) <= delay + cut and delay <= most * (1 + OFF),
                    "%s %.1f ms in %d waits, by the program %.1f to %.1f; %.1f in stacks that "
                    "end early" % (place, delay / 1e6, count, least / 1e6, most / 1e6,
                                   cut / 1e6))
    run.judge(name, result)


def cell_python(run, name):
    judge(run, name, [sys.executable, os.path.join(PROGRAMS, "gil.py")])


def cell_java(run, name):
    folder = suite.fresh_folder(run.path(name + "-classes"))
    subprocess.run([need("javac"), "-d", folder, os.path.join(PROGRAMS, "Monitors.java")],
                   check=True)
    judge(run, name, [need("java"), "-XX:+UseSerialGC", "-cp", folder, "Monitors"])


def cell_go(run, name):
    program = run.fresh(name + "-mutex")
    subprocess.run([need("go"), "build", "-o", program, os.path.join(PROGRAMS, "mutex.go")],
                   check=True, env=dict(os.environ, GO111MODULE="off"))
    judge(run, name, [program])


CELLS = {"python": cell_python, "java": cell_java, "go": cell_go}


class Locks(suite.Run):
    suite = "locks"


if __name__ == "__main__":
    sys.exit(suite.live_main(Locks, CELLS))
