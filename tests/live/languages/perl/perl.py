#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profile tests/live/languages/perl/known.pl under each Perl at hand: a cell a version.

    perl.py --otelprof PROGRAM --dir DIR [--quick] [--hz N] [--seconds N] [--only CHECK]
            [--peer TOOLS] [CELL...]

A cell is perl-VERSION. Perls are those in Debian roots that fetch.sh finds or makes, and one
without threads that it builds. perl-embedded is a program with three interpreters. --quick takes
5.36. --peer runs the OpenTelemetry eBPF profiler beside, from the folder that
tests/bench/build-peer.sh prints, and says what it makes of the chain and its shares. Prints lines
like tests/live/languages/native/run.py's.
"""

import glob
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "framework"))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "system", "wild"))

import beside  # noqa: E402
import check  # noqa: E402
import interpreted  # noqa: E402
import scenes  # noqa: E402
import suite  # noqa: E402
from cells import Cell, chain  # noqa: E402

CELLS = {"perl-" + version: version for version in ("5.32", "5.36", "5.36-unthreaded", "5.40",
                                                    "5.42")}
MODES = {"perl-5.36-unthreaded": ("5.36", "without threads")}
QUICK = ["perl-5.36"]
EMBEDDED = "perl-embedded"  # in another program: embed.c, with this machine's libperl
FOLDER = "/tmp/otelprof-perl"  # of the program, in the root
LEAVES = {"a": "main::leaf_50", "b": "main::leaf_30", "c": "main::leaf_20"}
CHAIN = chain(name="main::f%d")
ROOT = "main::%s\n\\(main\\)\n"


def on_the_way():
    """The chain from any link down: on the way to a leaf or back."""
    pattern = ""
    for n in range(1, 25):
        pattern = r"(?:%smain::f%d\n)?" % (pattern, n)
    return pattern


# The Perl frames alone; between two leaves there are few, and they are bounded below.
CLOCK = "(?:Time::HiRes::__ANON__\n)?main::(?:cpu|now)\n"
SPIN = Cell("(?:" + "|".join(LEAVES.values()) + ")\n" + CHAIN + ROOT % "spin", LEAVES,
            only_type="perl", leaf_points=1.0,
            others="(?:%s|%s|main::(?:turn|choose)\n)" % (on_the_way(), CLOCK) + ROOT % "spin")
CALLS = Cell(r"(?:(?:main::tick\n)?main::leaf_calls\n|"
             r"(?:main::add\n)?(?:main::__ANON__\n)?main::leaf_callbacks\n)" +
             CHAIN + ROOT % "calls", {}, only_type="perl", leaf_points=None,
             others="(?:%s|%s)" % (on_the_way(), CLOCK) + ROOT % "calls")


def work_lines():
    """The lines of work's loop."""
    with open(os.path.join(HERE, "known.pl"), encoding="utf-8") as f:
        lines = f.read().splitlines()
    first = lines.index("sub work {") + 3  # counted from 1: behind what says the stack
    return set(range(first, first + 7))


class Scenes(scenes.Scenes):
    kind = "perl"

    def __init__(self, said):
        super().__init__(scenes.read(said))
        self.lines = work_lines()

    def is_scene(self, leaf):
        return leaf == "main::work"

    def problem(self, name, frames, _sample):
        for i, (frame, (label, file, line)) in enumerate(zip(frames, self.scenes[name])):
            if i == 0:
                if frame.line not in self.lines:
                    return "line %d of %s" % (frame.line, frame.name)
            elif (plain(frame.file), frame.line) != (plain(file), line):
                return "%s:%d of %s, not %s:%d" % (frame.file, frame.line, label, file, line)
        return None


def plain(file):
    """Each eval of a string has a number of its own, which frames leave out."""
    return re.sub(r"\(eval \d+\)", "(eval)", file)


class Perl:
    def __init__(self, program, root):
        self.command = ["chroot", root, program]
        self.release = subprocess.run([*self.command, "-e", 'printf "%vd", $^V'],
                                      capture_output=True, text=True).stdout

    def start(self, *arguments):
        return subprocess.Popen([*self.command, FOLDER + "/known.pl", *arguments],
                                stdout=subprocess.PIPE, text=True)


# Of samples in threads of a millisecond: a sub that was freed before it was met has no name.
YOUNG = 0.99


def check_young(run, name, perl):
    """Has each sample the sub of the thread that lived then, with its line and its file?"""
    total = right = 0
    wrong = {}
    for sample, frames, said in scenes.young(run, name, [*perl.command, FOLDER + "/young.pl",
                                                         suite.LONG], "perl", "main::burn", 5, 3):
        if len(sample.frames) < 2:
            continue
        total += 1
        frame = frames[0]
        file = "(eval)" if said[0].startswith("Made::") else "young.pl"
        text = "%s:%d %s" % (frame.name, frame.line, frame.file)
        if text == "%s:%d %s" % (*said, file):
            right += 1
        elif "@0x" not in frame.name:
            text += " for %s:%d" % said
            wrong[text] = wrong.get(text, 0) + 1
    result = check.Result()
    result.need(total >= 300, "%d samples in threads of a millisecond" % total)
    result.need(not wrong, "%d with another's name, line or file" % sum(wrong.values()))
    result.need(right >= YOUNG * total, "%.2f %% with their own" % (100 * right / max(total, 1)))
    result.problems += ["  %d times: %s" % (n, text)
                        for text, n in sorted(wrong.items(), key=lambda x: -x[1])[:4]]
    return [result]


LANGUAGE = interpreted.Language("Perl", "perl", "(main)", SPIN, CALLS, Scenes)
CHECKS = dict(LANGUAGE.checks(), young=check_young)


def cell(run, name, found, why, wanted):
    version = CELLS[name]
    if not found:
        raise suite.Skip("no Perl %s: %s" % (version, why[-200:] or "fetch.sh has none"))
    program, root = found.split()
    perl = Perl(program, root)
    folder = root + FOLDER
    os.makedirs(folder, exist_ok=True)
    for file in ("known.pl", "young.pl"):
        shutil.copy(os.path.join(HERE, file), folder)
    row = dict(run.row, release=perl.release)
    for what in wanted:
        if what == "young" and "unthreaded" in name:
            continue
        run.row = dict(row, program=what) if what != "young" else None
        run.judge(name + "-" + what, *CHECKS[what](run, name, perl))


# One request: its handler, C code that the handler calls, and the sub that this calls.
REQUEST = (r"(?:.+\n)*Inner::work\nPerl_runops_standard\nPerl_call_sv\n(?:Perl_call_pv\n)?again\n"
           r"Perl_pp_entersub\n(First|Second|Third)::handler\n\(eval\)\nPerl_runops_standard\n"
           r"Perl_call_sv\n(?:Perl_call_pv\n)?serve\n(?:main|run_thread)\n(?:.+\n)+")


def embedded(run, name):
    library = glob.glob("/usr/lib/*/libperl.so.*")
    if not library:
        raise suite.Skip("no libperl")
    options = subprocess.run(["perl", "-MExtUtils::Embed", "-e", "ccopts"], capture_output=True,
                             text=True).stdout.split()
    program = run.fresh("embed")
    subprocess.run(["gcc", "-O1", os.path.join(HERE, "embed.c"), "-o", program, *options,
                    library[0], "-lpthread"], check=True)
    process = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
    try:
        scenes.wait_ready(process)
        capture, _ = run.record_process(name, process.pid)
    finally:
        suite.stop([process])
    result = check.Result()
    seen = {}
    total = 0
    for sample in check.select(capture, process.pid):
        names = "".join(f.name + "\n" for f in sample.frames)
        if "Inner::work\n" not in names:
            continue
        total += sample.count
        match = re.fullmatch(REQUEST, names)
        handler = match.group(1) if match else "wrong: " + names.replace("\n", " ")
        seen[handler] = seen.get(handler, 0) + sample.count
    wrong = sorted(((n, text) for text, n in seen.items() if text.startswith("wrong")), reverse=True)
    right = total - sum(n for n, _ in wrong)
    result.need(total >= 500 and right >= 0.99 * total, "%d of %d requests exact" % (right, total))
    result.need({"First", "Second", "Third"} <= set(seen), "handlers of three interpreters")
    result.problems += ["  %d times: %s" % pair for pair in wrong[:5]]
    run.judge(name, result)


def main():
    run = interpreted.start("perl", CHECKS)
    wanted = run.args.cells or (QUICK if run.args.quick else [*CELLS, EMBEDDED])
    found, why = ({}, "") if run.args.list else interpreted.fetch(
        HERE, sorted({CELLS[name] for name in wanted if name in CELLS}))
    with beside.started(run):
        for name in wanted:
            if name == EMBEDDED:
                run.cell(name, embedded)
                continue
            run.cell(name, cell, found.get(CELLS[name]), why, run.args.only or list(CHECKS),
                     row=suite.row("Perl", *MODES.get(name, (CELLS[name], ""))))
    return run.status()


if __name__ == "__main__":
    sys.exit(main())
