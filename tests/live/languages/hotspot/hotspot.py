#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profile Known.java under each JDK at hand: for each mode of the VM two cells a version.

    hotspot.py --otelprof PROGRAM --dir DIR [--root ROOT] [--quick] [--peer TOOLS] [CELL...]

scenes: each leaf's stack, as Java itself tells it, with lines and shares; from JDK 21 on also
in virtual threads (Virtual.java), from 22 on of Java that libc calls (Upcall.java). calls: hardly anything but calls and returns, so that
samples fall where frames are made and taken down.

shapes: a leaf in each of some fifty shapes of code; young: classes that live for a moment (shapes.py).

storm: classes that are loaded and unloaded all the time (storm.py). jdks-together, jdk25-killed,
jdk25-flush: rough.py.

Modes: int, the interpreter; jit, what is the default; debug, the same with debug information
for all code; c1; and a collector's: zgc, g1, serial, shenandoah. A cell is "jdk17-jit-scenes";
an argument names one, a version, a mode or two of these ("17-jit", "jit-scenes").

JDKs: those of the Debian root ROOT, which jdks.sh makes, in the roots of OTELPROF_CHROOTS,
and under /usr/lib/jvm. --quick takes the host's own alone. --peer runs the OpenTelemetry eBPF
profiler beside, from the folder that tests/bench/build-peer.sh prints, and says what it makes
of the same seconds. Prints lines like run.py's.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "framework"))

import beside  # noqa: E402
import check  # noqa: E402
import rough  # noqa: E402
import shapes  # noqa: E402
import storm  # noqa: E402
import suite  # noqa: E402

SOURCE = os.path.join(HERE, "Known.java")
UPCALL = os.path.join(HERE, "Upcall.java")
VIRTUAL = os.path.join(HERE, "Virtual.java")
VERSIONS = ["8", "11", "17", "21", "25", "26", "27"]
SHARES = {"Known.leafA": 0.5, "Known.leafB": 0.3, "Known.leafC": 0.2}
EXACT = 0.99
LEAF_POINTS = 1.0
# A share's standard deviation is 50 points over the root of the number of samples, at most.
NOISE = 3 * 50
OTHERS_MOST = 0.05  # of the samples: between two leaves, and setting a scene up
MIN_SAMPLES = 500
UPCALLS_LEAST = 0.04 # of the samples: one scene of thirteen is 8 %
VIRTUAL_LEAST = 0.04 # whole, and as many marked: it calls each leaf three times
SAMPLES_ENOUGH = 7000
RECORDINGS_MOST = 4
LADDER = ["Known.main", "Known.run", "Known.calls"] + [
    "Known$Ladder.c%d" % n for n in range(1, 9)]
# What reflection does is then what lasts, and no frame is hidden from Java itself.
OPTIONS = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+ShowHiddenFrames",
           "-Dsun.reflect.inflationThreshold=2147483647",
           "-Djdk.reflect.useNativeAccessorOnly=true"]
DEBUG = "-XX:+DebugNonSafepoints"
MODES = {
    "int": ["-Xint"],
    "jit": [],
    "debug": [DEBUG],
    "c1": ["-XX:TieredStopAtLevel=1"],
    "zgc": ["-XX:+UnlockExperimentalVMOptions", "-XX:+UseZGC"],
    "g1": ["-XX:+UseG1GC"],
    # Without G1 a counted loop has no poll, and so no row that tells whose it is.
    "serial": ["-XX:+UseSerialGC", DEBUG],
    "shenandoah": ["-XX:+UnlockExperimentalVMOptions", "-XX:+UseShenandoahGC"],
}
QUICK = ["int", "jit", "debug"]
FEW_MODES = {"26", "27"} # no release that is kept for years: these three, too
SINCE = {"zgc": 11, "shenandoah": 11}
UPCALL_SINCE = 22
VIRTUAL_SINCE = 21
# Where a virtual thread is mounted; what is below it is its carrier's.
MOUNT = "jdk.internal.vm.Continuation.enterSpecial"
CARRIER = ("jdk.internal.vm.Continuation.run", "java.lang.VirtualThread.runContinuation")
CARRIER_ROOT = "java.util.concurrent.ForkJoinWorkerThread.run"
UNMOUNTED = "StubRoutines (continuation"  # in place of frames that are in the heap
UNMOUNTED_END = "[unwind error: hotspot_unmounted]"
STUBS = ("call_stub", "upcall_stub") # native code calls these
# Compiled calls are calls: nothing of the ladder is inlined.
CALLS = ["-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Known$Ladder.*"]
# How much more the leaves do, so that what is between them stays little on a busy machine.
FACTOR = 3
FACTOR_COMPILED = 60
WARM_UP = 4 # seconds until all is compiled


# java finds its libraries by /proc. It is mounted for this process alone, whose pid stays.
IN_ROOT = ["unshare", "-m", "sh", "-c", 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"']


class Jdk:
    def __init__(self, root, home):
        self.root, self.home = root, home

    def command(self, *arguments):
        java = os.path.join(self.home, "bin", "java")
        return [*(IN_ROOT + [self.root] if self.root else []), java, *arguments]

    def version(self):
        """"8", "11" and so on, or None; sets the release."""
        done = subprocess.run(self.command("-version"), capture_output=True, text=True)
        found = re.search(r'version "((?:1\.)?(\d+)[^"]*)"', done.stderr)
        if done.returncode or not found:
            return None
        self.release = found.group(1)
        return found.group(2)


def find_jdks(run):
    """version → Jdk, and why others are missing."""
    roots = os.environ.get("OTELPROF_CHROOTS", "").split()
    why = "no such JDK here"
    if run.args.root and not run.args.quick:
        done = subprocess.run(["sh", os.path.join(HERE, "jdks.sh"), run.args.root],
                              capture_output=True, text=True)
        if done.returncode:
            why = (done.stderr.strip().splitlines() or ["jdks.sh failed"])[-1]
        else:
            roots.insert(0, run.args.root)
    homes = [] if run.args.quick else [
        (root, home[len(root):]) for root in roots
        for home in sorted(glob.glob(root + "/usr/lib/jvm/java-*-openjdk-*"))]
    homes += [("", home) for home in sorted(glob.glob("/usr/lib/jvm/*"))
              if os.access(home + "/bin/java", os.X_OK)]
    jdks = {}
    for root, home in homes:
        jdk = Jdk(root, home)
        version = jdk.version()
        if version:
            jdks.setdefault(version, jdk)
    return jdks, why


def compilers_of(run):
    compilers = sorted(glob.glob("/usr/lib/jvm/*/bin/javac"))
    for root in [run.args.root or "", *os.environ.get("OTELPROF_CHROOTS", "").split()]:
        compilers += sorted(glob.glob(root + "/usr/lib/jvm/*/bin/javac")) if root else []
    return compilers


def compile_known(run):
    """Known's classes for JDK 8, in a folder; by the first javac that makes them, once a run.
    And those of Upcall and Virtual, if there is a javac that can."""
    if run.classes:
        return run.classes
    out = suite.fresh_folder(run.path("known"))

    def compiled(source, *choices):
        return any(subprocess.run([javac, *options, "-cp", out, "-d", out, source],
                                  capture_output=True).returncode == 0
                   for javac in compilers_of(run) for options in choices)

    if not compiled(SOURCE, ["--release", "8", "-Xlint:-options"], []):
        raise suite.Skip("no javac that makes classes for JDK 8")
    compiled(UPCALL, ["--release", str(UPCALL_SINCE)])
    compiled(VIRTUAL, ["--release", str(VIRTUAL_SINCE)])
    run.classes = out
    return out


class Known:
    """The program under a JDK, with what it told of itself."""

    def __init__(self, run, jdk, mode, what):
        options = OPTIONS + MODES[mode] + (CALLS if what == "calls" else [])
        factor = FACTOR if mode == "int" else FACTOR_COMPILED
        self.classes = compile_known(run)
        path = self.classes
        self.copy = None
        if jdk.root:
            self.copy = os.path.join(jdk.root, "tmp", "otelprof-known-%d" % os.getpid())
            shutil.copytree(self.classes, self.copy, dirs_exist_ok=True)
            path = self.copy[len(jdk.root):]
        self.process = subprocess.Popen(
            jdk.command(*options, "-cp", path, "Known", what, "600", str(factor)),
            stdout=subprocess.PIPE, text=True)
        self.stacks = set()  # each a tuple of (name, line), leaf first
        for line in self.process.stdout:
            words = line.split()
            if words[:1] == ["ready"]:
                break
            if words[:1] == ["stack"]:
                self.stacks.add(tuple(frame(w) for w in words[2:]))
        else:
            raise RuntimeError("Known did not start: %s" % " ".join(options))
        if mode != "int":
            time.sleep(WARM_UP)

    def stop(self):
        suite.stop([self.process])
        if self.copy:
            shutil.rmtree(self.copy, ignore_errors=True)


def frame(word):
    """CLASS.METHOD:LINE → (name, line). The number of a hidden class is left out. Where a
    hidden method has no lines, JDK 8 tells its bytecode's number + 1,000,000."""
    name, line = word.rsplit(":", 1)
    line = int(line)
    return re.sub(r"/(?:0x)?[0-9a-f]+(?=\.)", "", name), line if line < 1000000 else 0


def marked_lines():
    """mark → the lines of the source that end with "// mark"."""
    marks = {}
    with open(SOURCE, encoding="utf-8") as f:
        for number, text in enumerate(f, 1):
            found = re.search(r"// (\w+)$", text.rstrip())
            if found:
                marks.setdefault(found.group(1), set()).add(number)
    return marks


def java_frames(sample):
    """(name, line) of the Java frames, leaf first: not of the VM's stubs."""
    return tuple((f.name, f.line) for f in sample.frames if f.type == "jvm" and "." in f.name)


def is_mixed_right(sample):
    """Does the VM call Java by call_stub alone, and other native code by upcall_stub; and is
    each Java frame but the first of a run called by Java code?"""
    frames = [f for f in sample.frames if f.type != "kernel"]
    for callee, caller in zip(frames, frames[1:]):
        if caller.name == "call_stub" and not (callee.type == "jvm" and "." in callee.name):
            return False
        if callee.type == "jvm" and callee.name not in STUBS and caller.type != "jvm":
            return False
        if callee.name == "upcall_stub" and caller.type != "native":
            return False
        if callee.name == "call_stub" and not caller.name.startswith("JavaCalls::") and \
                "+0x" not in caller.name:
            return False
    return bool(frames) and frames[-1].type == "native"


def is_on_the_way(names, stacks):
    """Between two leaves: the root side is that of a scene, and no leaf is there."""
    if any(name in SHARES for name in names):
        return False
    return names[-2:] == ("Known.run", "Known.main") or names == ("Known.main",) or \
        names[-1] in ("java.lang.Thread.run", "jdk.internal.vm.Continuation.enter") or \
        names[-1].startswith(("Known$", "Virtual."))


class Beginnings:
    """Of known stacks: (name, line), of whose leaf any line of its own will do."""

    def __init__(self, stacks):
        self.leaves = marked_lines()["leaf"]
        self.known = {(stack[0][0], *stack[1:n]) for stack in stacks
                      for n in range(2, len(stack))}

    def __contains__(self, java):
        return len(java) > 1 and java[0][1] in self.leaves and \
            (java[0][0], *java[1:]) in self.known


def mounted(sample):
    """The Java frames of @sample; of a virtual thread, those that are its own. Is what carries it
    right; and do frames between the two wait in the heap?"""
    java = java_frames(sample)
    names = [f.name for f in sample.frames if f.type == "jvm"]
    at = next((i for i, name in enumerate(names) if name == MOUNT or
               name.startswith(UNMOUNTED)), None)
    if at is None:
        return java, True, False
    below = tuple(names[at + 1:])
    own = sum("." in name for name in names[:at])
    return java[:own], below[:2] == CARRIER and CARRIER_ROOT in below, names[at] != MOUNT


class Count:
    def __init__(self):
        self.total = self.exact = self.others = self.lines = self.mixed = self.upcalls = 0
        self.virtual = self.marked = 0
        self.leaves = {}
        self.wrong = {}

    def note_wrong(self, sample):
        text = " ".join("%s:%d" % (f.name, f.line) for f in sample.frames)
        self.wrong[text] = self.wrong.get(text, 0) + sample.count


def count_scenes(samples, known):
    names_of = {tuple(n for n, _ in stack): stack for stack in known.stacks}
    leaf_lines = marked_lines()["leaf"]
    count = Count()
    for sample in samples:
        java, carried, cut = mounted(sample)
        names = tuple(n for n, _ in java)
        if not any(n.startswith("Known") for n in names):
            continue  # the VM's own threads
        count.total += sample.count
        count.mixed += sample.count if is_mixed_right(sample) else 0
        for name in names:
            if name in SHARES:
                count.leaves[name] = count.leaves.get(name, 0) + sample.count
        if cut and carried and java in known.beginnings and \
                sample.frames[-1].name == UNMOUNTED_END:
            count.marked += sample.count
        elif names in names_of and carried and not cut:
            count.exact += sample.count
            count.upcalls += sample.count if "Upcall.accept" in names else 0
            count.virtual += sample.count if "java.lang.VirtualThread.run" in names else 0
            if java[0][1] in leaf_lines and java[1:] in known.tails:
                count.lines += sample.count
        elif is_on_the_way(names, names_of):
            count.others += sample.count
        else:
            count.note_wrong(sample)
    return count


def count_calls(samples):
    marks = marked_lines()
    count = Count()
    for sample in samples:
        java = [f for f in java_frames(sample)
                if f[0] not in ("Known$Ladder.<init>", "java.lang.Object.<init>")][::-1]
        names = [n for n, _ in java]
        if "Known.main" not in names:
            continue
        count.total += sample.count
        count.mixed += sample.count if is_mixed_right(sample) else 0
        if names != LADDER[:len(names)]:
            count.note_wrong(sample)
            continue
        count.exact += sample.count
        right = all(line in marks[name.rsplit(".", 1)[1]] for name, line in java[2:])
        count.lines += sample.count if right else 0
        if not right:
            count.note_wrong(sample)
    return count


def judge(count, result, scenes):
    judged = count.total - count.others - count.marked
    result.need(count.total >= MIN_SAMPLES, "%d samples (at least %d)" %
                (count.total, MIN_SAMPLES))
    result.need(judged and count.exact >= EXACT * judged, "exact by name %.2f %% of %d" %
                (100 * count.exact / max(judged, 1), judged))
    result.need(count.lines >= EXACT * count.exact, "lines right in %.2f %%" %
                (100 * count.lines / max(count.exact, 1)))
    result.figures.update(samples=count.total, exact=100 * count.exact / max(judged, 1),
                          lines=100 * count.lines / max(count.exact, 1))
    result.need(count.mixed >= EXACT * count.total,
                "native and Java frames in true order in %.2f %%" %
                (100 * count.mixed / max(count.total, 1)))
    if scenes:
        result.need(count.others <= OTHERS_MOST * count.total,
                    "%d between leaves" % count.others)
        known = max(sum(count.leaves.values()), 1)
        error = max(abs(count.leaves.get(name, 0) / known - share) * 100
                    for name, share in SHARES.items())
        result.figures["leaf"] = error
        most = max(LEAF_POINTS, NOISE / known ** 0.5)
        result.need(error <= most, "leaf error %.2f points (at most %.1f): %s" % (
            error, most, " ".join("%s %.1f %%" % (name[-1], n * 100 / known)
                                         for name, n in sorted(count.leaves.items()))))
    if result.problems:
        for text, n in sorted(count.wrong.items(), key=lambda x: -x[1])[:4]:
            result.problems.append("  %d times: %s" % (n, text))


def record(run, name, known, part):
    """Recordings until there are samples enough for shares to be told to a point: one, or on
    a busy machine some more; or that @part of them. Returns (samples, results of their rules)."""
    samples, results = [], []
    for _ in range(RECORDINGS_MOST):
        capture, text = run.record_process(name, known.process.pid, part)
        samples += check.select(capture, known.process.pid)
        results += [check.check_rules(capture), check.check_accounting(text)]
        if sum(s.count for s in samples) >= SAMPLES_ENOUGH * part:
            break
    return samples, results


def peers(samples, known, what):
    """What the peer makes of the same seconds. It calls the VM's stubs something else: its order
    is not looked at."""
    for sample in samples:
        for f in sample.frames:
            # "void Known.leafA(int)", "void Known$$Lambda$17+<hidden>.run()"
            f.name = (f.name.split("(")[0].split() or [""])[-1].replace("+<hidden>", "")
    known.tails = {stack[1:] for stack in known.stacks}
    known.beginnings = Beginnings(known.stacks)
    count = count_scenes(samples, known) if what == "scenes" else count_calls(samples)
    result = check.Result()
    judge(count, result, what == "scenes")
    return result.figures


def cell(run, name, jdk, why, mode, what):
    if not jdk:
        raise suite.Skip(why)
    run.row["release"] = jdk.release
    known = Known(run, jdk, mode, what)
    start_ns = time.time_ns()
    try:
        samples, results = record(run, name, known, 1 if what == "scenes" else 0.5)
        beside.tell(run, name, known.process.pid, start_ns,
                    lambda theirs: peers(theirs, known, what))
    finally:
        known.stop()
    known.tails = {stack[1:] for stack in known.stacks}
    known.beginnings = Beginnings(known.stacks)
    count = count_scenes(samples, known) if what == "scenes" else count_calls(samples)
    result = check.Result()
    judge(count, result, what == "scenes")
    if what == "scenes" and int(jdk.version()) >= UPCALL_SINCE and \
            os.path.exists(os.path.join(known.classes, "Upcall.class")):
        result.need(count.upcalls >= UPCALLS_LEAST * count.total,
                    "called by libc in %.1f %%" % (100 * count.upcalls / max(count.total, 1)))
    if what == "scenes" and int(jdk.version()) >= VIRTUAL_SINCE and \
            os.path.exists(os.path.join(known.classes, "Virtual.class")):
        result.need(min(count.virtual, count.marked) >= VIRTUAL_LEAST * count.total,
                    "in virtual threads %.1f %%, and %.1f %% say that callers wait in the heap" %
                    (100 * count.virtual / max(count.total, 1),
                     100 * count.marked / max(count.total, 1)))
    result.figures["errors"] = check.errors_of(samples)
    result.notes[:] = ["; ".join(result.notes)]
    run.judge(name, result, *results)


def cells(run, version, mode, jdk, why):
    for what in ("scenes", "calls"):
        name = "jdk%s-%s-%s" % (version, mode, what)
        wanted = {name, version, mode, "%s-%s" % (version, mode), "%s-%s" % (mode, what)}
        if not run.args.cells or wanted & set(run.args.cells):
            run.cell(name, cell, jdk, why, mode, what,
                     row=suite.row("Java", version, " ".join(
                         x for x in MODES[mode] if "Unlock" not in x), what))


def judge_scenes(samples, known, result):
    """Of JVMs that have not a processor each: not their shares."""
    known.tails = {stack[1:] for stack in known.stacks}
    known.beginnings = Beginnings(known.stacks)
    judge(count_scenes(samples, known), result, False)


def shape_cells(run, version, mode, jdk, why):
    there = int(version) >= SINCE.get(mode, 0)
    for what, modes, function, argument in (
            ("shapes", MODES, shapes.shapes_cell, OPTIONS + [DEBUG] + MODES[mode] +
             (["-Dloops=12"] if mode == "int" else [])),
            ("young", ("int",), shapes.young_cell, False),
            ("young", ("jit",), shapes.young_cell, True)):
        name = "jdk%s-%s-%s" % (version, mode, what)
        wanted = {name, version, what, "%s-%s" % (version, mode), "%s-%s" % (mode, what)}
        if mode in modes and (not run.args.cells or wanted & set(run.args.cells)):
            run.cell(name, function, jdk if there else None,
                     why if there else "JDK %s does not have it" % version,
                     compilers_of(run), argument)


def rough_cells(run, jdks, why):
    newest = jdks.get("25")
    for name, words, function, arguments in (
            ("jdks-together", {"together"}, rough.together, (jdks, why, Known, judge_scenes)),
            ("jdk25-killed", {"killed"}, rough.killed, (newest, why)),
            ("jdk25-flush", {"flush"}, rough.flush, (newest, why, compilers_of(run)))):
        if not run.args.cells or {name, *words} & set(run.args.cells):
            run.cell(name, function, *arguments)


def main():
    parser = suite.parser("otelprof")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--root", default="")
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--hz", type=int, default=999)
    beside.add_option(parser)
    run = suite.Run(parser.parse_args())
    run.suite = "hotspot"
    run.classes = None
    jdks, why = ({}, "") if run.args.list else find_jdks(run)
    versions = sorted(set(VERSIONS) & set(jdks), key=int)[-1:] if run.args.quick else VERSIONS
    with beside.started(run):
        for version in versions or VERSIONS:
            for mode in QUICK if run.args.quick or version in FEW_MODES else MODES:
                there = int(version) >= SINCE.get(mode, 0)
                cells(run, version, mode, jdks.get(version) if there else None,
                      why if there else "JDK %s does not have it" % version)
            name = "jdk%s-storm" % version
            if not run.args.cells or {name, version, "storm"} & set(run.args.cells):
                run.cell(name, storm.cell, jdks.get(version), why, compilers_of(run))
            for mode in QUICK if run.args.quick or version in FEW_MODES else MODES:
                shape_cells(run, version, mode, jdks.get(version), why)
        if not run.args.quick:
            rough_cells(run, jdks, why)
    return run.status()


if __name__ == "__main__":
    sys.exit(main())
