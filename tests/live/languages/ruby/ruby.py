#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profile tests/live/languages/ruby/known.rb under each Ruby at hand: a cell a version and mode.

    ruby.py --otelprof PROGRAM --dir DIR [--quick] [--hz N] [--seconds N] [--only CHECK]
            [--peer TOOLS] [CELL...]

A cell is ruby-VERSION. Rubies are those in Debian roots that fetch.sh finds or makes. --quick takes
3.1. --peer runs the OpenTelemetry eBPF profiler beside, from the folder that
tests/bench/build-peer.sh prints, and says what it makes of the chain and its shares. Prints lines
like tests/live/languages/native/run.py's.
"""

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

CELLS = {"ruby-" + version: version for version in ("2.7", "3.1", "3.3", "3.4")}
QUICK = ["ruby-3.1"]
FOLDER = "/tmp/otelprof-ruby"  # of the program, in the root
# Since 3.4 labels have the class.
OF = r"(?:(?:[A-Z]\w*(?:::)?)+[#.])?"
LEAVES = {"a": OF + "leaf_50", "b": OF + "leaf_30", "c": OF + "leaf_20"}
CHAIN = "(?:%ssend\n)?" % OF + chain(name=OF + "f%d")
ROOT = OF + "spin\n<main>\n"


def on_the_way():
    """The chain from any link down: on the way to a leaf or back."""
    pattern = ""
    for name in ["send"] + ["f%d" % n for n in range(1, 25)]:
        pattern = r"(?:%s%s%s\n)?" % (pattern, OF, name)
    return pattern


# The Ruby frames alone; between two leaves there are few, and they are bounded below.
SPIN = Cell("(?:" + "|".join(LEAVES.values()) + ")\n" + CHAIN + ROOT, LEAVES,
            only_type="ruby", leaf_points=1.0,
            others=r"(?:%s|(?:(?:%sclock_gettime\n)?%s(?:cpu|now)\n)|"
            r"(?:(?:block in %schoose\n)?%seach_pair\n)?%schoose\n|%s(?:next|took|to_i)\n)%s" %
            (on_the_way(), OF, OF, OF, OF, OF, OF, ROOT))
CALLS = Cell(r"(?:(?:%(of)stick\n)?%(of)sleaf_calls\n|"
             r"(?:(?:(?:%(of)sadd\n)?block in %(of)sleaf_callbacks\n)?%(of)smap\n|(?:%(of)seach\n)?"
             r"(?:%(of)sto_a\n){1,2})?%(of)sleaf_callbacks\n)" % {"of": OF} +
             CHAIN + OF + "calls\n<main>\n", {}, only_type="ruby", leaf_points=None,
             others=r"(?:%s|(?:%sclock_gettime\n)?%snow\n)%scalls\n<main>\n" %
             (on_the_way(), OF, OF, OF))
# The frames of a fiber, then those of the one that resumed it (--await-chains).
FIBERS = {
    "one": "leaf_one| in by_one|resume|by_one",
    "nested": "leaf_nested| in inner_nested|resume|inner_nested| in by_nested|resume|by_nested",
    "again": "leaf_again| in by_again|resume|resume_again|by_again",
    "each": "leaf_each| in by_each|each|each|next|by_each",
    "block": "leaf_block| in by_block|resume| in by_block|each|by_block",
}
LEAF = "work"


def fiber_stack(names):
    return "".join((r"block (?:\(2 levels\) )?in " + OF + name[4:] if name.startswith(" in ") else OF + name) + "\n"
                   for name in names.split("|"))


FIBER = Cell(r"(?:(?:(?:%sclock_gettime\n)?%scpu\n)?%stake_turn\n)?(?:%s)%sfibers\n<main>\n" % (
    OF, OF, OF, "|".join(map(fiber_stack, FIBERS.values())), OF),
    {way: OF + "leaf_" + way for way in FIBERS}, shares={way: 1 / len(FIBERS) for way in FIBERS},
    only_type="ruby", others=r"(?!(?:.+\n)*%sleaf_)(?:.+\n)*" % OF)
# Fibers are followed in these.
FIBER_VERSIONS = ("2.7", "3.1", "3.3")


def bare(name):
    return re.sub("^" + OF, "", name)


def work_lines():
    """The lines of work's loop."""
    with open(os.path.join(HERE, "known.rb"), encoding="utf-8") as f:
        lines = f.read().splitlines()
    first = next(n for n in range(lines.index("def work"), len(lines)) if "while n" in lines[n])
    return {first + 1, first + 2, first + 3}


class Scenes(scenes.Scenes):
    """A function in C has no file here; Ruby says that of its caller."""

    kind = "ruby"

    def __init__(self, said):
        super().__init__(scenes.read(said))
        self.lines = work_lines()

    def is_scene(self, leaf):
        return bare(leaf) == LEAF

    def problem(self, name, frames, _sample):
        for i, (frame, (label, file, line)) in enumerate(zip(frames, self.scenes[name])):
            if i == 0:
                if frame.line not in self.lines:
                    return "line %d of %s" % (frame.line, frame.name)
            elif not frame.file and not frame.line:
                # In C, as its caller's place shows: Ruby says the same for both.
                if (file, line) != (self.scenes[name] + [("", "", 0)])[i + 1][1:] and file:
                    return "no file of %s" % label
            elif (frame.file, frame.line) != (file, line):
                return "%s:%d of %s, not %s:%d" % (frame.file, frame.line, label, file, line)
        return None


class Ruby:
    def __init__(self, version, root):
        self.command = ["chroot", root, "/usr/bin/ruby" + version]
        self.release = subprocess.run([*self.command, "-e", "print RUBY_VERSION"],
                                      capture_output=True, text=True).stdout

    def start(self, *arguments):
        return subprocess.Popen([*self.command, FOLDER + "/known.rb", *arguments],
                                stdout=subprocess.PIPE, text=True)


LANGUAGE = interpreted.Language("Ruby", "ruby", "<main>", SPIN, CALLS, Scenes)


def check_fibers(run, name, ruby):
    process = ruby.start("fibers", suite.LONG)
    try:
        process.stdout.readline()
        capture, text = run.record_process(name + "-fibers", process.pid, options=["--await-chains"])
    finally:
        suite.stop([process])
    result = check.check_chain(capture, FIBER, process.pid)
    return [result, check.check_rules(capture), check.check_accounting(text)]


CHECKS = LANGUAGE.checks() | {"fibers": check_fibers}


def cell(run, name, root, why, wanted):
    version = CELLS[name]
    if not root:
        raise suite.Skip("no Ruby %s: %s" % (version, why[-200:] or "fetch.sh has none"))
    ruby = Ruby(version, root)
    folder = root + FOLDER
    os.makedirs(folder, exist_ok=True)
    shutil.copy(os.path.join(HERE, "known.rb"), folder)
    row = dict(run.row, release=ruby.release)
    for what in wanted:
        if what == "fibers" and version not in FIBER_VERSIONS:
            continue
        run.row = dict(row, program=what)
        run.judge(name + "-" + what, *CHECKS[what](run, name, ruby))


def main():
    run = interpreted.start("ruby", CHECKS)
    wanted = run.args.cells or (QUICK if run.args.quick else list(CELLS))
    found, why = ({}, "") if run.args.list else interpreted.fetch(
        HERE, sorted({CELLS[name] for name in wanted}))
    with beside.started(run):
        for name in wanted:
            run.cell(name, cell, found.get(CELLS[name]), why, run.args.only or list(CHECKS),
                     row=suite.row("Ruby", CELLS[name], ""))
    return run.status()


if __name__ == "__main__":
    sys.exit(main())
