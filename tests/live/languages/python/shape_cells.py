# SPDX-License-Identifier: Apache-2.0
"""Cells of shapes.py: what is expected of a stack is what Python itself told of it."""

import os
import re

import check
import suite

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "shapes.py")
EXACT = 0.99
SHAPE_EXACT = 0.9  # of a shape, of which there are few samples
SHAPE_SAMPLES = 20
MIN_SAMPLES = 500
OTHERS_MOST = 0.25  # between two leaves, where Python makes what a shape needs
MARKS = ("[unwind error", "[truncated]", "[no unwind table", "[stack lost]")


def told(said):
    """stack → its shape; a stack is the (name, line) of each caller of leaf(), innermost first."""
    stacks = {}
    for words in (line.split() for line in said.splitlines()):
        if words[:1] == ["stack"] and words[1] != "setup":
            stacks[tuple((name, int(line)) for name, line in
                         (word.rsplit(":", 1) for word in words[2:]))] = words[1]
    return stacks


def leaf_lines():
    """The lines of leaf(), without the one that tells."""
    with open(PROGRAM, encoding="utf-8") as f:
        text = f.read().split("\n")
    first = text.index("def leaf(*unused, **more):") + 1
    return {n for n in range(first, text.index("", first)) if "tell(" not in text[n - 1]}


def judge(samples, stacks):
    lines = leaf_lines()
    names = {tuple(name for name, _ in stack) for stack in stacks}
    total = named = right = marked = others = twice = 0
    shapes, wrong = {}, {}
    for sample in samples:
        frames = [f for f in sample.frames if f.type == "cpython"]
        n = sample.count
        total += n
        twice += n * any(f.name.startswith("py::") for f in sample.frames)
        at = next((i for i, f in enumerate(frames) if f.name == "leaf"), None)
        if at is None or frames[at].line not in lines or any(f.name == "tell" for f in frames):
            others += n
            continue
        if any(f.name.startswith(MARKS) for f in sample.frames):
            marked += n
        stack = tuple((f.name.replace(" ", "_"), f.line) for f in frames[at + 1:])
        named += n * (tuple(name for name, _ in stack) in names)
        if at == 0 and stack in stacks:
            right += n
            shapes[stacks[stack]] = shapes.get(stacks[stack], 0) + n
            continue
        text = " ".join("%s:%d" % (f.name, f.line) for f in frames[:8] + frames[8:][-2:])
        wrong[text] = wrong.get(text, 0) + n
    result = check.Result()
    judged = total - others
    result.need(total >= MIN_SAMPLES, "%d samples" % total)
    result.need(right >= EXACT * judged, "%.2f %% of %d exact with lines, %.2f %% by name, %d marked" %
                (100 * right / max(judged, 1), judged, 100 * named / max(judged, 1), marked))
    result.need(twice <= (1 - EXACT) * total, "%d with a function twice" % twice)
    result.need(others <= OTHERS_MOST * total, "%d between leaves" % others)
    of = set(stacks.values())
    missing = sorted(of - set(shapes)) if judged >= SHAPE_SAMPLES * len(of) else []
    result.need(not missing, "%d of %d shapes seen%s" % (
        len(shapes), len(of), ", not: " + " ".join(missing) if missing else ""))
    result.figures.update(samples=total, exact=100 * named / max(judged, 1),
                          lines=100 * right / max(named, 1), errors=check.errors_of(samples))
    if result.problems:
        result.problems += ["  %d times: %s" % (n, text) for text, n in
                            sorted(wrong.items(), key=lambda x: -x[1])[:6]]
    result.notes[:] = ["; ".join(result.notes)]
    return result


def cell(run, name, command, release, why):
    if not command:
        raise suite.Skip("no such interpreter here" + ("; " + why if why else ""))
    run.row["release"] = release
    path = run.path(name + ".said")
    with open(path, "w+", encoding="utf-8") as said:
        with suite.interpreted(command, PROGRAM, suite.LONG, stdout=said) as process:
            while not re.search(r"^ready", open(path, encoding="utf-8").read(), re.M):
                if process.poll() is not None:
                    raise RuntimeError("%s did not start" % command)
            capture, text = run.record_process(name, process.pid, 2)
        said.seek(0)
        stacks = told(said.read())
    run.judge(name, judge(check.select(capture, process.pid), stacks), check.check_rules(capture),
              check.check_accounting(text))
