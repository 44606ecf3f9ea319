# SPDX-License-Identifier: Apache-2.0
"""LLVM's just-in-time compiler with its listener for perf, as Julia uses it: functions, lines and
shares of known.ll."""
import os
import subprocess

import check
import suite

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = "libLLVM-14.so.1"
SECONDS = "3"
SAMPLES_MIN = 200  # others may run on this machine
SHARES = {"leaf_a": 0.5, "leaf_b": 0.3, "leaf_c": 0.2}
POINTS = 2.0
NOISE = 3 * 50  # three standard deviations of a share, at most, times the root of the samples
CHAIN = [("f1", {41}), ("f2", {51}), ("f3", {61})]
LINES = {"leaf_a": {11, 12, 13}, "leaf_b": {21, 22, 23}, "leaf_c": {31, 32, 33}}
BELOW = ["run", "main"]
GUESSED_MAX = 0.1  # of the stacks: until its code was read, its callers are guessed and marked
CLOCK = {"cpu_ns", "clock_ns", "clock_gettime"}  # what a leaf calls


def build(run):
    path = run.path("llvm")
    done = subprocess.run(["gcc", "-O1", "-g", "-o", path, os.path.join(HERE, "llvm.c"),
                           "-l:" + LIBRARY], capture_output=True, text=True)
    if done.returncode:
        raise suite.Skip("not built with %s: %s" % (LIBRARY, done.stderr[-200:]))
    return path


def leaf_of(sample):
    """The leaf of a stack that is right, with all lines, from there to the start; else None. A
    guess must be right, too."""
    frames = [f for f in sample.frames if f.type != "kernel"]
    while frames and (frames[0].name in CLOCK or frames[0].name.startswith("__vdso")):
        frames = frames[1:]
    want = [(frames[0].name, LINES.get(frames[0].name, set()))] + CHAIN if frames else []
    made = frames[:len(want)]
    right = (want and [f.name for f in made] == [name for name, _ in want] and
             all(f.line in lines and f.file == "/src/known.src"
                 for f, (_, lines) in zip(made, want)) and
             [f.name for f in frames[4:6]] == BELOW and frames[-1].name == "_start")
    return frames[0].name if right else None


def llvm(run, name):
    program = build(run)
    capture, text = run.record(name, "-F", "999", "--", "env", "JITDUMPDIR=" + run.args.dir,
                               program, os.path.join(HERE, "known.ll"), SECONDS)
    result = check.Result()
    counts = dict.fromkeys(SHARES, 0)
    total = guessed = 0
    for s in capture.samples:
        if not any(f.name == "run" for f in s.frames):
            continue  # it compiles
        leaf = leaf_of(s)
        total += s.count
        guessed += s.count * any(f.guessed for f in s.frames)
        if leaf in counts:
            counts[leaf] += s.count
        elif len(result.notes) < 3:
            result.notes.append(" < ".join("%s:%d" % (f.name, f.line) for f in s.frames))
    right = sum(counts.values())
    error = max(abs(counts[leaf] / max(right, 1) - share) * 100
                for leaf, share in SHARES.items())
    result.need(total >= SAMPLES_MIN, "%d samples" % total)
    result.need(right >= 0.99 * total, "%d of %d stacks are exact" % (right, total))
    result.need(guessed <= GUESSED_MAX * total, "%d have a guess" % guessed)
    result.need(error <= max(POINTS, NOISE / max(right, 1) ** 0.5),
                "leaf error %.2f points" % error)
    run.judge(name, result, check.check_rules(capture), check.check_accounting(text))
