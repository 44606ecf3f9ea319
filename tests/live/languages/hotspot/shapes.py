# SPDX-License-Identifier: Apache-2.0
"""Shapes.java and Young.java: shapes of code by turns, and classes that live for a moment. What is expected of a
stack is what Java itself told of it; what stands wrong without a mark is counted by itself."""

import bisect
import os
import re
import shutil
import subprocess

import check
import suite

HERE = os.path.dirname(os.path.abspath(__file__))
WHOLE = 0.99
SHAPE_WHOLE = 0.9  # of a shape, of which there are few samples
SHAPE_LEAST = 0.3  # of an even share
WRONG_MOST = 0.0005
YOUNG_RIGHT = 0.98
MIN_SAMPLES = 500
MARKS = ("[unwind error", "[truncated]", "[no unwind table", "[stack lost]")
# Which the leaf of a stub works in; its number stands for the shape.
STUB = re.compile(r"Shapes\.lambda\$(?:stubs|digest|cipher)\$\d+$")
OTHERS = re.compile(r"(?:java|javax|jdk|sun|com\.sun)\.|Shapes\$\$Lambda|Shapes\.thrower$")


class Program:
    """A class of this folder under a JDK; its lines up to one that begins with @until."""

    def __init__(self, run, jdk, javac, name, until, *options):
        folder = suite.fresh_folder(run.path("classes-" + name))
        for choice in (["--release", "8", "-Xlint:-options"], []):
            done = subprocess.run([javac, *choice, "-d", folder, os.path.join(HERE, name + ".java")],
                                  capture_output=True)
            if done.returncode == 0:
                break
        else:
            raise suite.Skip("no javac that makes classes for JDK 8")
        self.copy = os.path.join(jdk.root, "tmp", "otelprof-%s-%d" % (name, os.getpid()))
        shutil.copytree(folder, self.copy, dirs_exist_ok=True)
        self.out = run.path(name + ".txt")
        with open(self.out, "w", encoding="utf-8") as f:
            self.process = subprocess.Popen(
                jdk.command(*options, "-cp", self.copy[len(jdk.root):], name, suite.LONG), stdout=f)
        while until and not any(line.startswith(until) for line in self.lines()):
            if self.process.poll() is not None:
                raise RuntimeError("%s did not start" % name)

    def lines(self):
        with open(self.out, encoding="utf-8") as f:
            return f.read().splitlines()

    def stop(self):
        suite.stop([self.process])
        shutil.rmtree(self.copy, ignore_errors=True)


def plain(name):
    """Without the number of a hidden class, which differs in each run."""
    return re.sub(r"/(?:0x)?[0-9a-f]+(?=\.)", "", name)


def told(lines):
    """shape → the stacks that Java told of it, the outermost first."""
    stacks = {}
    for words in (line.split() for line in lines):
        if words[:1] == ["stack"]:
            stacks.setdefault(words[1], set()).add(tuple(plain(w) for w in words[2:]))
    return stacks


def is_inside(rest):
    """Frames above the leaf of a stub: noise alone, or its own frame and what that calls."""
    names = [n for n in rest if not n.startswith("Shapes$$Lambda")]
    if names[:1] == ["Shapes.tell"]:
        names = names[1:]
    if names and all(n == "Shapes.noise" for n in names):
        return True
    if names and STUB.match(names[0]):
        names = names[1:]
    while names and names[0] == "Shapes.thrower":
        names = names[1:]
    return all(OTHERS.match(n) for n in names)


def is_right(java, stub, stacks):
    """@java: the Java frames, the outermost first. @stub: the innermost frame is a stub's."""
    for stack in stacks:
        common = 0
        while common < min(len(stack), len(java)) and stack[common] == java[common]:
            common += 1
        rest = java[common:]
        if common == len(stack) and (is_inside(rest) if stack[-1] == "Shapes.leaf" else
                                     all(OTHERS.match(n) or n == "Shapes.tell" for n in rest)):
            return not (stub and "Shapes.noise" in rest)
        # on the way to the leaf, or back
        if common >= 2 and common < len(stack) and all(OTHERS.match(n) for n in rest):
            return True
    return False


def shapes_cell(run, name, jdk, why, compilers, options):
    if not jdk or not compilers:
        raise suite.Skip(why or "no javac")
    program = Program(run, jdk, compilers[0], "Shapes", "ready", *options)
    try:
        capture, text = run.record_process(name, program.process.pid)
        stacks = told(program.lines())
    finally:
        program.stop()
    every = {stack for of in stacks.values() for stack in of}
    total = whole = wrong = nameless = 0
    per = {}
    texts = {}
    marks = {}
    for sample in check.select(capture, program.process.pid):
        frames = sample.frames[::-1]
        java = tuple(plain(f.name) for f in frames if f.type == "jvm" and "." in f.name and
                     not f.name.startswith("StubRoutines"))
        if "Shapes.run" not in java:
            continue
        n = sample.count
        marked = any(f.name.startswith(MARKS) for f in frames)
        total += n
        key = next((x for x in java if STUB.match(x)), java[3] if len(java) > 3 else "run")
        of = per.setdefault(key, [0, 0])
        of[0] += n
        if marked:
            mark = " ".join(f.name for f in sample.frames if f.name.startswith(MARKS))
            marks[mark] = marks.get(mark, 0) + n
            continue
        if any("@0x" in f.name for f in frames):
            nameless += n
            continue
        if is_right(java, "Stub" in sample.frames[0].name, every):
            whole += n
            of[1] += n
        else:
            wrong += n
            shown = " ".join(java[2:])
            texts[shown] = texts.get(shown, 0) + n
    result = check.Result()
    stubs = [key for key in per if STUB.match(key)]
    result.need(total >= MIN_SAMPLES, "%d samples" % total)
    result.need(whole >= WHOLE * total, "%.2f %% right and whole" % (100 * whole / max(total, 1)))
    result.need(wrong <= WRONG_MOST * total, "%d wrong without a mark" % wrong)
    result.figures["errors"] = marks
    result.need(nameless <= WRONG_MOST * total, "%d without a name" % nameless)
    least = min((right / of, key) for key, (of, right) in per.items() if of >= 20)
    result.need(least[0] >= SHAPE_WHOLE, "%d shapes, %d of them stubs; the least right is %s, %.1f %%" %
                (len(per), len(stubs), least[1], 100 * least[0]))
    most = ["%d times %s" % (n, shown)
            for shown, n in sorted(texts.items(), key=lambda x: -x[1])[:4]]
    if result.problems:
        result.problems += ["  " + shown for shown in most]
    else:
        result.notes += most
    result.notes[:] = ["; ".join(result.notes)]
    run.judge(name, result, check.check_rules(capture), check.check_accounting(text))


def young_cell(run, name, jdk, why, compilers, compiled):
    """Each sample in burn() is under the method whose class lived at that time."""
    if not jdk or not compilers:
        raise suite.Skip(why or "no javac")
    program = Program(run, jdk, compilers[0], "Young", "1 ",
                      *(["-Dcompiled=1"] if compiled else []))
    try:
        capture, text = run.record_process(name, program.process.pid)
        times = [tuple(map(int, line.split())) for line in program.lines()
                 if len(line.split()) == 3]
    finally:
        program.stop()
    starts = [begin for _, begin, _ in times]
    right = wrong = nameless = lines = 0
    texts = {}
    for sample in check.select(capture, program.process.pid):
        names = [f.name for f in sample.frames]
        if any(n.startswith(MARKS) for n in names) or "Young.burn" not in names:
            continue
        caller = sample.frames[names.index("Young.burn") + 1]
        for stamp in sample.timestamps:
            i = bisect.bisect(starts, stamp) - 1
            if i < 0 or stamp > times[i][2]:
                continue
            is_it = caller.name == "Young$Made.made_%06d" % times[i][0]
            right += is_it
            lines += is_it and caller.line > 0
            nameless += "@0x" in caller.name
            if not is_it and "@0x" not in caller.name:
                wrong += 1
                texts[caller.name] = texts.get(caller.name, 0) + 1
    total = right + wrong + nameless
    result = check.Result()
    result.need(total >= MIN_SAMPLES, "%d samples" % total)
    result.need(wrong <= WRONG_MOST * total, "%d under a method that was gone" % wrong)
    result.need(right >= YOUNG_RIGHT * total, "%.2f %% under their own, %d without a name, %.1f %% with a line"
                % (100 * right / max(total, 1), nameless, 100 * lines / max(right, 1)))
    if result.problems:
        result.problems += ["  %d times %s" % (n, shown)
                            for shown, n in sorted(texts.items(), key=lambda x: -x[1])[:4]]
    result.notes[:] = ["; ".join(result.notes)]
    run.judge(name, result, check.check_rules(capture), check.check_accounting(text))
