#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profile tests/live/languages/lua/known.lua under this machine's luajit: a cell a mode.

    lua.py --otelprof PROGRAM --dir DIR [--quick] [--hz N] [--seconds N] [--only CHECK] [CELL...]

lua-interpreter runs without the JIT compiler, lua-jit with it. Prints lines like
tests/live/languages/native/run.py's.
"""

import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "framework"))

import beside  # noqa: E402
import interpreted  # noqa: E402
import scenes  # noqa: E402
import suite  # noqa: E402
from cells import Cell, chain  # noqa: E402

CELLS = {"lua-interpreter": "off", "lua-jit": "on"}
LEAVES = {"a": "leaf_50", "b": "leaf_30", "c": "leaf_20"}
CHAIN = chain()
OUTERMOST = r"\[C\] at 0x\w+"  # what lua_cpcall() calls: the program's own C function
ROOT = "%s\nmain chunk\n" + OUTERMOST + "\n"


def on_the_way():
    """The chain from any link down: on the way to a leaf or back."""
    pattern = ""
    for n in range(1, 25):
        pattern = r"(?:%sf%d\n)?" % (pattern, n)
    return pattern


SPIN = Cell("(?:" + "|".join(LEAVES.values()) + ")\n" + CHAIN + ROOT % "spin", LEAVES,
            only_type="lua", leaf_points=1.0,
            others="(?:%s|(?:clock|turn)\n)" % on_the_way() + ROOT % "spin")
CALLBACK = r"(?:tick\n)?function <known\.lua:\d+>\n(?:sort|gsub)\n"
CALLS = Cell(r"(?:(?:tick\n)?leaf_calls\n|(?:%s|sort\n|gsub\n)?leaf_callbacks\n)" % CALLBACK +
             CHAIN + ROOT % "calls", {}, only_type="lua", leaf_points=None,
             others=on_the_way() + ROOT % "calls")


def work_line():
    """The line of work."""
    with open(os.path.join(HERE, "known.lua"), encoding="utf-8") as f:
        return f.read().splitlines().index("function work()") + 1


class Scenes(scenes.Scenes):
    kind = "lua"

    def __init__(self, said):
        super().__init__(scenes.read(said))
        self.lines = range(work_line() + 5, work_line() + 11)  # behind what says the stack
        self.leaves = "work", "function <known.lua:%d>" % work_line()

    @staticmethod
    def plain(name):
        return re.sub(r"\[builtin#\d+\]|\[C\] at 0x\w+", "[C]", name)

    def is_scene(self, leaf):
        return leaf in self.leaves

    def problem(self, name, frames, _sample):
        for i, (frame, (label, file, line)) in enumerate(zip(frames, self.scenes[name])):
            if i == 0:
                if frame.line not in self.lines:
                    return "line %d of %s" % (frame.line, frame.name)
            elif (frame.file, frame.line) != (file, line):
                return "%s:%d of %s, not %s:%d" % (frame.file, frame.line, label, file, line)
        return None


class Lua:
    def __init__(self, jit):
        self.jit = jit

    def start(self, what, _seconds):
        return subprocess.Popen(["luajit", "known.lua", what, self.jit], cwd=HERE,
                                stdout=subprocess.PIPE, text=True)


LANGUAGE = interpreted.Language("LuaJIT", "lua", "main chunk", SPIN, CALLS, Scenes)
CHECKS = LANGUAGE.checks()


def cell(run, name, wanted):
    if not shutil.which("luajit"):
        raise suite.Skip("no luajit")
    said = subprocess.run(["luajit", "-v"], capture_output=True, text=True).stdout
    row = dict(run.row, release=said.split()[1])
    for what in wanted:
        run.row = dict(row, program=what)
        run.judge(name + "-" + what, *CHECKS[what](run, name, Lua(CELLS[name])))


def main():
    run = interpreted.start("lua", CHECKS)
    wanted = run.args.cells or list(CELLS)
    with beside.started(run):
        for name in wanted:
            mode = name.split("-")[1]
            run.cell(name, cell, run.args.only or list(CHECKS),
                     row=suite.row("LuaJIT", "2.1", "" if mode == "jit" else mode))
    return run.status()


if __name__ == "__main__":
    sys.exit(main())
