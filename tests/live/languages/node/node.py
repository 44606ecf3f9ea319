#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profile known.js under each Node.js at hand: cells of a version, a mode and a program.

    node.py --otelprof PROGRAM --dir DIR [--quick | --all] [--seconds N] [--hz N]
            [--peer TOOLS] [CELL...]

scenes: each leaf's stack, as V8 itself tells it, with lines and columns. awaits: the same with the
functions that await each other (--await-chains). spin: a chain of 24 functions and
three leaves with known shares of the time. calls: hardly anything but calls and returns, so that
samples fall where frames are made and taken down. inlined: small loops with known shares in
functions that the optimizing compilers put into their callers. stubs: three functions whose time is
spent in stubs of V8's without a frame. deep: more frames than a record holds; the stack is cut, and
says so. wasm: JavaScript calls WebAssembly that calls JavaScript, and works itself. young: functions
that live for 5 ms. ends: the same in processes of 0.3 s, whose last moment counts like the rest.

A cell is node-VERSION[-BUILD][-MODE]-PROGRAM. Builds: stripped (npm's without .symtab) and debian
(Debian's package, which has none). Modes: jitless (bytecode alone), noopt (baseline code where
a version has it), maglev (without TurboFan), none (as Node runs by itself) and detailed
(--detailed-line-info: V8 notes a place for every instruction, as it does for its own profiler). The
programs come from fetch.sh.
Without one, each version's scenes and inlined and some of the others are run, five minutes; --all
runs all, --quick takes 20 alone. Prints lines like native/run.py's.
"""

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
import suite  # noqa: E402
import young  # noqa: E402

SOURCE = os.path.join(HERE, "known.js")
FOLDER = "/tmp/otelprof-node"  # of the program, in a Debian root
BUILDS = {"": "", "stripped": "stripped", "debian": "Debian's package"}
# The versions of a build. V8 8 keeps its builtins otherwise.
BUILT = {"stripped": ["16", "18", "20", "22", "24", "26"], "debian": ["18", "20", "24"]}
VERSIONS = ["12", "14", "16", "18", "20", "22", "24", "26"]
MODES = {
    "jitless": ["--jitless"],
    "noopt": ["--no-opt"],
    "maglev": ["--maglev", "--no-turbofan"],
    "": [],
    "detailed": ["--detailed-line-info"],
}
PROGRAMS = ["scenes", "awaits", "spin", "calls", "inlined", "stubs", "deep", "wasm", "young", "ends"]
QUICK = ["node-20-noopt-scenes", "node-20-awaits", "node-20-spin", "node-20-calls"]
DEFAULT = ["node-%s-%s" % (version, what) for version in VERSIONS
           for what in ("scenes", "inlined")] + [
    "node-%s-awaits" % version for version in VERSIONS[1:]] + [
    "node-20-noopt-awaits", "node-20-jitless-awaits",
    "node-20-spin", "node-20-calls", "node-20-jitless-scenes", "node-20-noopt-calls",
    "node-20-stubs", "node-26-stubs",
    "node-20-young", "node-20-ends", "node-26-young", "node-26-ends",
    "node-20-deep", "node-20-jitless-deep", "node-26-deep", "node-12-wasm", "node-20-wasm",
    "node-26-wasm"] + [
    "node-%s-stripped-%s" % (version, what) for version in ("16", "20", "22", "26")
    for what in ("scenes", "inlined")] + [
    "node-%s-debian-%s" % (version, what) for version in ("18", "20", "24")
    for what in ("scenes", "inlined")] + ["node-24-debian-noopt-calls", "node-24-debian-spin"]
SHARES = {"leafA": 0.5, "leafB": 0.3, "leafC": 0.2}
PARTS = {"partA": 0.5, "partB": 0.3, "partC": 0.2}
LOADS = {"loadA": 0.5, "loadB": 0.3, "loadC": 0.2}
INLINED = ("join", "around", "inlined", "(anonymous)")
EXACT = 0.99
LEAF_POINTS = 2.0
# A share's standard deviation is 50 points over the root of the number of samples, at most.
NOISE = 3 * 50
OTHERS_MOST = 0.05  # between two leaves
MIN_SAMPLES = 500
SCENE_SAMPLES = 20  # on average, so that each is seen
SAMPLES_ENOUGH = 2000
SHARES_ENOUGH = (NOISE / LEAF_POINTS) ** 2  # that chance makes less than LEAF_POINTS of a share
RECORDINGS_MOST = 3
CHAIN = tuple("f%d" % n for n in range(24, 0, -1)) + ("spin", "(anonymous)")
DUG_LEAST = 600  # of the 900 frames of dig(): a record holds 683 frames of three words
LADDER = ["calls"] + ["c%d" % n for n in range(1, 9)]


def marked_lines():
    """mark → the lines of the source that end with "// mark"."""
    marks = {}
    with open(SOURCE, encoding="utf-8") as f:
        for number, text in enumerate(f, 1):
            found = re.search(r"// (\w+)$", text.rstrip())
            if found:
                marks.setdefault(found.group(1), set()).add(number)
    return marks


class Known:
    """The program under a Node.js, with what it told of itself."""

    def __init__(self, command, mode, what):
        self.process = subprocess.Popen([*command[0], *MODES[mode], command[1], what, "600"],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True)
        self.stacks = {}  # each a tuple of (name, line, column) below atLeaf, leaf first → its scene
        self.ready = False
        for line in self.process.stdout:
            words = line.split()
            if words[:1] == ["ready"]:
                self.ready = True
                break
            if words[:1] == ["scene"]:
                self.stacks[tuple(frame(w) for w in words[3:])] = words[2]

    def stop(self):
        suite.stop([self.process])


def frame(word):
    name, line, column = word.rsplit(":", 2)
    return name, int(line), int(column)


def js_frames(sample):
    """(name, line) of the frames of files, leaf first: a builtin that was compiled into its
    caller has none."""
    return [(name, line) for name, line, _ in js_places(sample)]


def js_places(sample):
    return [(f.name.replace(" ", "_"), f.line, f.column) for f in sample.frames
            if f.type == "v8js" and f.file]


def from_leaf(frames):
    """Without what a leaf called to tell the time, and its name; None where no leaf is there."""
    for i, (name, *_) in enumerate(frames):
        if name in SHARES:
            return frames[i:], name
    return frames, None


class Count:
    def __init__(self):
        self.total = self.exact = self.others = self.lines = 0
        self.leaves = {}
        self.wrong = {}
        self.scenes, self.seen = set(), set()

    def note_wrong(self, sample, why):
        text = why + ": " + " ".join("%s:%d:%d" % (f.name, f.line, f.column) for f in sample.frames[:45]
                                     if f.type == "v8js" or f.name.startswith("Builtins"))
        self.wrong[text] = self.wrong.get(text, 0) + sample.count

    def add_leaf(self, sample, leaf):
        self.leaves[leaf] = self.leaves.get(leaf, 0) + sample.count


def count_scenes(samples, known, columns=True):
    width = 3 if columns else 2
    stacks = {tuple(place[:width] for place in stack) for stack in known.stacks}
    names_of = {tuple(n for n, *_ in stack) for stack in known.stacks}
    scene_of = {tuple(place[:width] for place in stack): scene for stack, scene in known.stacks.items()}
    marks = marked_lines()
    count = Count()
    for sample in samples:
        frames, leaf = from_leaf(js_places(sample))
        names = tuple(n for n, *_ in frames)
        count.total += sample.count
        if not leaf:
            count.others += sample.count
            continue
        count.add_leaf(sample, leaf)
        if names[1:2] != ("atLeaf",) or names[2:] not in names_of:
            count.note_wrong(sample, "no such stack")
            continue
        count.exact += sample.count
        if frames[0][1] in marks["leaf"] and frames[1][1] in marks["scene"] and \
                tuple(place[:width] for place in frames[2:]) in stacks:
            count.lines += sample.count
            count.seen.add(scene_of[tuple(place[:width] for place in frames[2:])])
        else:
            count.note_wrong(sample, "lines")
    count.scenes = set(scene_of.values())
    return count


def count_spin(samples):
    marks = marked_lines()
    count = Count()
    lines = {}
    with open(SOURCE, encoding="utf-8") as f:
        for number, text in enumerate(f, 1):
            found = re.match(r"function (f\d+)\(us\) \{ return", text)
            if found:
                lines[found.group(1)] = number
    for sample in samples:
        frames, leaf = from_leaf(js_frames(sample))
        names = tuple(n for n, _ in frames)
        count.total += sample.count
        if not leaf:
            count.others += sample.count
            continue
        count.add_leaf(sample, leaf)
        if names[1:1 + len(CHAIN)] != CHAIN:
            count.note_wrong(sample, "no such stack")
            continue
        count.exact += sample.count
        if frames[0][1] in marks["leaf"] and all(
                line == lines.get(name, line) for name, line in frames[1:]):
            count.lines += sample.count
        else:
            count.note_wrong(sample, "lines")
    return count


def count_calls(samples):
    marks = marked_lines()
    count = Count()
    for sample in samples:
        frames = js_frames(sample)[::-1]
        names = [n for n, _ in frames]
        count.total += sample.count
        if "calls" not in names:
            count.others += sample.count
            continue
        at = names.index("calls")
        if names[at:] != LADDER[:len(names) - at]:
            count.note_wrong(sample, "no such stack")
            continue
        count.exact += sample.count
        if all(line in marks[name] for name, line in frames[at + 1:]):
            count.lines += sample.count
        else:
            count.note_wrong(sample, "lines")
    return count


def count_inlined(samples):
    marks = marked_lines()
    count = Count()
    for sample in samples:
        frames = js_frames(sample)
        names = tuple(n for n, _ in frames)
        count.total += sample.count
        if "inlined" not in names:
            count.others += sample.count
            continue
        at = len(INLINED) - 2 - names.index("inlined")  # frames above that are not there
        if names[0] in PARTS:
            count.add_leaf(sample, names[0])
            at = -1
        if names[:1 if at < 0 else 0] + INLINED[max(at, 0):] != names[:len(INLINED) - at] or at > 2:
            count.note_wrong(sample, "no such stack")
            continue
        count.exact += sample.count
        if all(line in marks[name] for name, line in frames if name in marks):
            count.lines += sample.count
        else:
            count.note_wrong(sample, "lines")
    return count


def count_stubs(samples):
    marks = marked_lines()
    count = Count()
    for sample in samples:
        frames = js_frames(sample)
        names = [n for n, _ in frames]
        count.total += sample.count
        at = next((i for i, name in enumerate(names) if name in LOADS), None)
        if at is None:
            count.others += sample.count
            continue
        count.add_leaf(sample, names[at])
        if names[at + 1:at + 4] != ["loads", "stubs", "(anonymous)"]:
            count.note_wrong(sample, "no such stack")
            continue
        count.exact += sample.count
        if frames[at][1] in marks["load"]:
            count.lines += sample.count
        else:
            count.note_wrong(sample, "lines")
    return count


def count_deep(samples):
    marks = marked_lines()
    count = Count()
    for sample in samples:
        frames, leaf = from_leaf(js_frames(sample))
        names = [n for n, _ in frames]
        count.total += sample.count
        if not leaf:
            count.others += sample.count
            continue
        count.add_leaf(sample, leaf)
        if names[1:2] != ["f24"] or set(names[2:]) != {"dig"} or len(names) < DUG_LEAST or \
                sample.frames[-1].name != "[truncated]":
            count.note_wrong(sample, "%d frames to %s" % (len(names), sample.frames[-1].name))
            continue
        count.exact += sample.count
        if frames[0][1] in marks["leaf"] and frames[2][1] in marks["dug"] and \
                {line for _, line in frames[3:]} <= marks["dig"]:
            count.lines += sample.count
        else:
            count.note_wrong(sample, "lines")
    return count


WASM_LEAST = 0.1  # of the samples, in WebAssembly itself
WASM = "[WebAssembly]"
WASM_CHAIN = ["leafA", "wasmLeaf", WASM, "wasmCaller", "wasm"]  # leaf first


def count_wasm(samples):
    """What WebAssembly calls, and what calls it; to where the stack begins."""
    count = Count()
    own = 0
    for sample in samples:
        names = [f.name for f in sample.frames if f.type == "v8js" and f.name in WASM_CHAIN]
        count.total += sample.count
        if "wasm" not in names:
            count.others += sample.count
        elif names in [WASM_CHAIN[at:] for at in range(len(WASM_CHAIN))] and \
                sample.frames[-1].name == "_start":
            count.exact += sample.count
            count.lines += sample.count
            own += sample.count * (names[0] == WASM)
        else:
            count.note_wrong(sample, "no such stack")
    if own < WASM_LEAST * count.total:
        count.wrong["only %d in WebAssembly itself" % own] = count.total
        count.exact = 0
    return count


def judge(count, result, shares):
    judged = count.total - count.others
    result.need(count.total >= MIN_SAMPLES, "%d samples (at least %d)" %
                (count.total, MIN_SAMPLES))
    result.need(judged and count.exact >= EXACT * judged, "exact by name %.2f %% of %d" %
                (100 * count.exact / max(judged, 1), judged))
    result.need(count.lines >= EXACT * count.exact, "lines right in %.2f %%" %
                (100 * count.lines / max(count.exact, 1)))
    result.figures.update(samples=count.total, exact=100 * count.exact / max(judged, 1),
                          lines=100 * count.lines / max(count.exact, 1))
    missing = sorted(count.scenes - count.seen) if judged >= SCENE_SAMPLES * len(count.scenes) else []
    if count.scenes:
        result.need(not missing, "%d of %d scenes seen%s" % (
            len(count.seen), len(count.scenes), ", not: " + " ".join(missing) if missing else ""))
    result.need(count.others <= OTHERS_MOST * count.total, "%d between leaves" % count.others)
    if count.leaves:
        known = max(sum(count.leaves.values()), 1)
        error = max(abs(count.leaves.get(name, 0) / known - share) * 100
                    for name, share in shares.items())
        most = max(LEAF_POINTS, NOISE / known ** 0.5)
        result.figures["leaf"] = error
        result.need(error <= most, "leaf error %.2f points (at most %.1f)" % (error, most))
    if result.problems:
        for text, n in sorted(count.wrong.items(), key=lambda x: -x[1])[:4]:
            result.problems.append("  %d times: %s" % (n, text))


def check_kept(text):
    result = check.Result()
    found = re.search(r"[(, ]record (\d+)[,)]", text)
    result.need(not found, "no record was refused" if not found else
                "%s records were refused" % found.group(1))
    return result


def record(run, name, known, enough, options):
    """Recordings until there are @enough samples: one or two, or on a busy machine some more."""
    samples, results = [], []
    for _ in range(RECORDINGS_MOST):
        capture, text = run.record_process(name, known.process.pid, options=options)
        samples += [s for s in check.select(capture, known.process.pid)
                    if s.attributes.get("thread.id") == known.process.pid]
        results += [check.check_rules(capture), check.check_accounting(text), check_kept(text)]
        if sum(s.count for s in samples) >= enough:
            break
    return samples, results


def judged(samples, known, what, columns=True):
    count = {"scenes": lambda: count_scenes(samples, known, columns),
             "awaits": lambda: count_scenes(samples, known, columns),
             "spin": lambda: count_spin(samples),
             "calls": lambda: count_calls(samples),
             "inlined": lambda: count_inlined(samples),
             "stubs": lambda: count_stubs(samples),
             "wasm": lambda: count_wasm(samples),
             "deep": lambda: count_deep(samples)}[what]()
    result = check.Result()
    judge(count, result, {"inlined": PARTS, "stubs": LOADS}.get(what, SHARES))
    return result


def peers(samples, known, what):
    """What the peer makes of them. It has no columns, and another word for no name."""
    for sample in samples:
        for f in sample.frames:
            f.name = "(anonymous)" if f.name == "<anonymous>" else f.name
    figures = judged(samples, known, what, False).figures
    right = []
    for sample in samples if what == "scenes" else []:
        frames, leaf = from_leaf(js_frames(sample))
        stacks = [[place[:2] for place in stack] for stack in known.stacks
                  if [n for n, *_ in stack] == [n for n, _ in frames[2:]]]
        if leaf and stacks:
            right.append((max(sum(a == b for a, b in zip(stack, frames[2:]))
                              for stack in stacks), len(frames) - 2, sample.count))
    return figures | beside.line_shares(right)


def command_of(program):
    """How to run it, and what: a program of a Debian root runs in it."""
    root = program[:-len("/usr/bin/node")]
    if not program.endswith("/usr/bin/node") or not root:
        return [program], SOURCE
    os.makedirs(root + FOLDER, exist_ok=True)
    shutil.copy(SOURCE, root + FOLDER)
    return ["chroot", root, "/usr/bin/node"], os.path.join(FOLDER, os.path.basename(SOURCE))


def cell(run, name, program, why, mode, what):
    if not program:
        raise suite.Skip(why or "no such Node.js here")
    command = command_of(program)
    if run.row:
        run.row["release"] = subprocess.run([*command[0], "--version"], capture_output=True,
                                            text=True).stdout.strip().lstrip("v")
    if what in ("young", "ends"):
        return young.cell(run, name, [*command[0], *MODES[mode]], what == "ends")
    known = Known(command, mode, what)
    if not known.ready:
        known.stop()
        raise suite.Skip("%s does not run with %s" % (program, " ".join(MODES[mode])))
    start_ns = time.time_ns()
    try:
        samples, results = record(run, name, known,
                                  SAMPLES_ENOUGH if what == "calls" else SHARES_ENOUGH,
                                  ["--await-chains"] if what == "awaits" else [])
        beside.tell(run, name, known.process.pid, start_ns,
                    lambda theirs: peers(theirs, known, what))
    finally:
        known.stop()
    result = judged(samples, known, what)
    result.figures["errors"] = check.errors_of(samples)
    result.notes[:] = ["; ".join(result.notes)]
    run.judge(name, result, *results)


def programs(versions):
    done = subprocess.run(["sh", os.path.join(HERE, "fetch.sh"), *versions],
                          capture_output=True, text=True)
    return dict(line.split(" ", 1) for line in done.stdout.splitlines()), " ".join(
        done.stderr.split())[-200:]


def main():
    parser = suite.parser("otelprof")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--all", action="store_true")
    beside.add_option(parser)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--hz", type=int, default=999)
    run = suite.Run(parser.parse_args())
    run.suite = "node"
    cells = {"-".join(x for x in ("node", version, build, mode, what) if x):
             (version, build, mode, what) for build in BUILDS
             for version in BUILT.get(build, VERSIONS) for mode in MODES for what in PROGRAMS}
    wanted = run.args.cells or (QUICK if run.args.quick else
                                list(cells) if run.args.all else DEFAULT)
    wanted = [name for name in cells if any(name == w or name.startswith(w + "-")
                                            for w in wanted)]
    found, why = ({}, "") if run.args.list else programs(
        sorted({"-".join(x for x in cells[name][:2] if x) for name in wanted}))
    with beside.started(run):
        for name in wanted:
            version, build, mode, what = cells[name]
            program = found.get("-".join(x for x in (version, build) if x))
            # The stacks of deep are cut, so they are not exact as those of the others are.
            run.cell(name, cell, program, why, mode, what, row=suite.row(
                "Node.js", version, " ".join(x for x in (BUILDS[build], *MODES[mode]) if x),
                what) if what not in ("deep", "young", "ends") else None)
    return run.status()


if __name__ == "__main__":
    sys.exit(main())
