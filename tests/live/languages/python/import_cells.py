# SPDX-License-Identifier: Apache-2.0
"""Profile a Python that imports its own library, from its first moment on. Each module's body runs once,
and each extension module is code that no sample has met before.
"""

import collections
import os

import check
import suite

HERE = os.path.dirname(os.path.abspath(__file__))
MODE = "imports"
PROGRAM = os.path.join(HERE, "imports.py")
SAMPLES = 2000
RUNS_MAX = 30
EARLY = 0.01
NAMELESS = 0.001


def add(capture, found, outermost):
    for sample in capture.samples:
        frames = [frame for frame in sample.frames if frame.type == "cpython"]
        last = sample.frames[-1].name if sample.frames else "[none]"
        found["all"] += sample.count
        if last.startswith("["):
            found["early"] += sample.count
            found[last] += sample.count
        if any("@0x" in frame.name for frame in frames):
            found["nameless"] += sample.count
        if frames:
            outermost[frames[-1].name] += sample.count


def cell(run, name, command, release, why):
    if not command:
        raise suite.Skip("no such interpreter here" + ("; " + why if why else ""))
    run.row["release"] = release
    runs, outermost = [], collections.Counter()
    result = check.Result()
    with open(PROGRAM, encoding="utf-8") as file:
        command = [*command, "-c", file.read()]  # a chroot has no such file
    run.record(name, "-F", "999", "--", *command)  # compiles the modules
    while len(runs) < RUNS_MAX and sum(one["all"] for one in runs) < SAMPLES:
        capture, _ = run.record(name, "-F", "999", "--", *command)
        runs.append(collections.Counter())
        add(capture, runs[-1], outermost)
    # in one of them the machine may have stood still
    runs.sort(key=lambda one: one["early"] / max(one["all"], 1))
    found = sum(runs[:-1], collections.Counter())
    result.figures.update(samples=found["all"], early=found["early"], nameless=found["nameless"])
    result.need(found["all"] >= SAMPLES / 2, "%d samples" % found["all"])
    result.need(found["early"] <= EARLY * found["all"], "early ends: %s" % dict(found))
    result.need(found["nameless"] <= NAMELESS * found["all"], "%d have nameless frames" %
                found["nameless"])
    # importlib begins each chain before main's own, and after it the end of the process
    known = sum(outermost[name] for name in ("<module>", "_find_and_load", "main"))
    result.need(known >= 0.98 * sum(outermost.values()), "outermost: %s" % outermost.most_common(9))
    run.judge(name, result)
