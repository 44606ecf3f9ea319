# SPDX-License-Identifier: Apache-2.0
"""Programs that stay in one known stack after another, and print each stack before: known.php,
known.rb."""
import bisect
import os
import re
import subprocess
from dataclasses import replace

import check
import suite

# a share's standard deviation is at most 50 points over the root of the number of samples
NOISE = 3 * 50


def wait_ready(process):
    """The program's output before it is ready."""
    text = ""
    for line in process.stdout:
        if line.startswith("ready"):
            return text
        text += line
    raise RuntimeError("the program did not become ready: " + text[-300:])


def record(run, name, program, what, part=1):
    """Like run.record_process(). Returns (capture, text, the program's output, its pid)."""
    process = program.start(what, suite.LONG)
    try:
        said = wait_ready(process)
        capture, text = run.record_process(name + "-" + what, process.pid, part)
    finally:
        suite.stop([process])
    return capture, text, said, process.pid


def young(run, name, command, kind, inner, words, part):
    """(sample, the frames of @kind outside of @inner, what was said of its time) of each moment of
    a program that prints a line of @words words, "now NAME NUMBER... BEGIN END", of what it runs.
    BEGIN and END are in seconds of Unix time."""
    said = os.path.join(run.args.dir, name + "-young.txt")
    with open(said, "w", encoding="utf-8") as out:
        process = subprocess.Popen(command, stdout=out)
    try:
        capture, _ = run.record_process(name + "-young", process.pid, part)
    finally:
        suite.stop([process])
    with open(said, encoding="utf-8") as f:
        rows = [(float(w[-2]) * 1e9, float(w[-1]) * 1e9, w[1], *map(int, w[2:-2]))
                for w in (line.split() for line in f) if w[:1] == ["now"] and len(w) == words]
    begins = [row[0] for row in rows]
    for sample in check.select(capture, process.pid):
        frames = [f for f in sample.frames if f.type == kind]
        names = [f.name for f in frames]
        if inner not in names[:2]:
            continue
        for time_ns in sample.timestamps:
            i = bisect.bisect(begins, time_ns) - 1
            if i >= 0 and time_ns <= rows[i][1]:
                yield sample, frames[names.index(inner) + 1:], rows[i][2:]


def read(text, plain=lambda name: name):
    """{name: [(function, file, line)]} from a program's output."""
    scenes = {}
    for part in re.findall(r"scene (\w+\??)\n((?:[^\n]+\n)+)\n", text):
        scenes[part[0]] = [(plain(row[0]), row[1], int(row[2])) for row in
                           (line.split("\t") for line in part[1].splitlines())]
    return scenes


def spin_cell(spin, samples):
    """@spin with the error of a share that chance can cause: 1 point from 22,500 samples on."""
    total = sum(s.count for s in samples)
    return replace(spin, leaf_points=max(1.0, NOISE / max(1, total) ** 0.5))


class Scenes:
    """Finds the scene of a sample, and checks all of it. A language sets:

        kind              the type of its frames
        said              what is compared, in words
        plain(name)       a frame's name as it stands in the scenes
        is_scene(leaf)    whether a stack of that leaf is of a scene
        problem(name, frames, sample)   what is wrong, of the scene of that name; None: nothing
    """

    said = "files and lines"
    missing_most = 0  # share of the scenes that need not be seen

    def __init__(self, scenes):
        self.scenes = scenes
        self.names = {}
        for name, frames in scenes.items():
            self.names.setdefault(tuple(f[0] for f in frames), []).append(name)
        self.seen = {}
        self.wrong = {}
        self.total = self.named = self.right = 0

    @staticmethod
    def plain(name):
        return name

    def add(self, sample):
        frames = [f for f in sample.frames if f.type == self.kind]
        key = tuple(self.plain(f.name) for f in frames)
        if not key or not self.is_scene(key[0]):
            return
        self.total += sample.count
        self.named += sample.count if key in self.names else 0
        problems = [self.problem(name, frames, sample) for name in self.names.get(key, [])]
        if problems and not all(problems):
            name = self.names[key][problems.index(None)]
            self.seen[name] = self.seen.get(name, 0) + sample.count
            self.right += sample.count
            return
        text = "%s: %s" % ("; ".join(sorted({p for p in problems if p})) or "no such scene",
                           " ".join("%s:%d" % (f.name, f.line) for f in sample.frames))
        self.wrong[text] = self.wrong.get(text, 0) + sample.count

    def judge(self, samples, result):
        for sample in samples:
            self.add(sample)
        all_count = sum(s.count for s in samples)
        # the rest prepares scenes, or is between two leaves
        result.need(self.total >= 0.8 * all_count,
                    "%d of %d samples in scenes" % (self.total, all_count))
        result.need(self.right >= 0.99 * self.total,
                    "%d of %d samples of scenes exact with %s" % (self.right, self.total, self.said))
        result.figures.update(samples=all_count, errors=check.errors_of(samples),
                              exact=100 * self.named / max(self.total, 1),
                              lines=100 * self.right / max(self.named, 1))
        missing = sorted(set(self.scenes) - set(self.seen))
        few = len(missing) > self.missing_most * len(self.scenes)
        result.need(not few, "%d scenes seen%s" % (
            len(self.seen), ", not: " + " ".join(missing) if missing else ""))
        if self.right < 0.99 * self.total or few:
            for text, count in sorted(self.wrong.items(), key=lambda x: -x[1])[:12]:
                result.problems.append("  %d times: %s" % (count, text))
