#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profile tests/live/languages/erlang/known.erl.

    erlang.py --otelprof PROGRAM --dir DIR [--hz N] [--seconds N] [--only CHECK] [CELL...]

    erlang-25     OTP 25 of Debian 12, this host's or one that fetch.sh finds
    erlang-fp     the same with +JPperf fp: its frames have frame pointers
    erlang-map    with +JPperf map and no frames of this library's: callers by frame pointer
    erlang-dump   the same with its jitdump file: callers may be guessed, and say so

Prints lines like tests/live/languages/native/run.py's.
"""
import glob
import os
import re
import subprocess
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "framework"))

import check  # noqa: E402
import interpreted  # noqa: E402
import scenes  # noqa: E402
import suite  # noqa: E402
from cells import Cell, chain  # noqa: E402

CELLS = {"erlang-25": "", "erlang-fp": "fp", "erlang-map": "map", "erlang-dump": "dump"}
LEAVES = {"a": "known:leaf_50/2", "b": "known:leaf_30/2", "c": "known:leaf_20/2"}
CHAIN = chain(name="known:f%d/2")
ROOT = "known:main/1\ninit:start_em/1\ninit:do_boot/3\n"
SHARED = "global::"  # code of the runtime's own that its modules call
# A process's stack ends at its first function.
SPIN = Cell("(?:%s)\n" % "|".join(LEAVES.values()) + CHAIN + "known:spin/2\n" + ROOT, LEAVES,
            only_type="beam")
CALLS = Cell(r"(?:(?:known:tick/1\n)?(?:known:leaf_calls_one/1\n)?known:leaf_calls/1\n|"
             r"(?:known:tick/1\n)?(?:known:add/1\n)?(?:known:-leaf_callbacks/1-fun-\d-/\d\n)?"
             r"(?:lists:(?:foldl(?:_1)?/3|map(?:_1)?/2|seq/2|seq_loop/3)\n)*"
             r"known:leaf_callbacks/1\n)" + CHAIN + "known:calls/1\n" + ROOT, {},
             only_type="beam", leaf_points=None)
# The leaves of scenes, and what native code works for those that call it.
WORK = {"known:work/1": None, "known:hash/2": "make_internal_hash|erts_internal_hash|make_hash2",
        "known:md5/2": "MD5|md5", "known:collect/2": "garbage_collect|sweep|full_sweep"}


def source():
    with open(os.path.join(HERE, "known.erl"), encoding="utf-8") as f:
        return f.read().splitlines()


def lines_of(name):
    """The lines of a leaf of scenes."""
    return {i + 1 for i, line in enumerate(source())
            if line.startswith(re.sub(r".*:(\w+)/.*", r"\1(", name))}


def collapsed(rows):
    """process_info() leaves out a frame that is like the one below it."""
    return [row for i, row in enumerate(rows) if i == 0 or row != rows[i - 1]]


class Scenes(scenes.Scenes):
    kind = "beam"

    def __init__(self, said):
        super().__init__(scenes.read(said, elixir))
        self.lines = {name: lines_of(name) for name in WORK}

    def is_scene(self, leaf):
        return leaf in WORK

    def add(self, sample):
        frames = [f for f in sample.frames if f.type == "beam" and not f.name.startswith(SHARED)]
        rows = collapsed([(f.name, f.file, f.line) for f in frames])
        alike = [types.SimpleNamespace(type="beam", name=n, file=f, line=line)
                 for n, f, line in rows]
        super().add(types.SimpleNamespace(frames=alike, count=sample.count, all=sample.frames))

    def problem(self, name, frames, sample):
        for i, (frame, (label, file, line)) in enumerate(zip(frames, self.scenes[name])):
            if i == 0:
                if frame.line not in self.lines[frame.name]:
                    return "line %d of %s" % (frame.line, frame.name)
            elif (frame.file, frame.line) != (file, line):
                return "%s:%d of %s, not %s:%d" % (frame.file, frame.line, label, file, line)
        deep = sum(f.name == "known:deep/2" for f in sample.all)
        if name == "deep" and deep != 61:
            return "%d calls of deep, not 61" % deep
        kinds = [f.type for f in sample.all if not f.name.startswith(SHARED)]
        if kinds.count("beam") and "native" in kinds[kinds.index("beam"):]:
            return "native frames below Erlang's"
        return None


def elixir(name):
    """A function of an Elixir module as Elixir writes it."""
    return re.sub(r"^Elixir\.([^:]*):", r"\1.", name)


class Erlang:
    def __init__(self, command, folder, options=()):
        self.command = command
        self.folder = folder
        self.options = options

    def start(self, *arguments):
        return subprocess.Popen(
            [*self.command, *self.options, "-noshell", "-pa", self.folder, "-run", "known", "main",
             *map(str, arguments)], stdout=subprocess.PIPE, text=True)
