#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profile tests/live/languages/erlang/known.erl.

    erlang.py --otelprof PROGRAM --dir DIR [--quick] [--hz N] [--seconds N] [--only CHECK] [CELL...]

    erlang-25 erlang-27   that OTP of Debian: this host's, or one that fetch.sh finds or makes
    erlang-fp             27 with +JPperf fp: its frames have frame pointers
    erlang-single         27 with +JMsingle true: its code is in other memory
    erlang-map            25 with +JPperf map, and no frames of this library's
    erlang-dump           the same with its jitdump file: callers may be guessed, and say so

--quick takes erlang-25, and makes nothing. Prints lines like tests/live/languages/native/run.py's.
"""
import dataclasses
import glob
import os
import re
import shutil
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

CELLS = {
    "erlang-25": ("25", ""),
    "erlang-27": ("27", ""),
    "erlang-fp": ("27", "+JPperf fp"),
    "erlang-single": ("27", "+JMsingle true"),
    "erlang-map": ("25", "+JPperf map"),
    "erlang-dump": ("25", "+JPperf dump"),
}
NAMED = ["erlang-map", "erlang-dump"]
QUICK = ["erlang-25"]
FOLDER = "/tmp/otelprof-erlang"  # of the program, in the root
LEAVES = {"a": "known:leaf_50/2", "b": "known:leaf_30/2", "c": "known:leaf_20/2"}
CHAIN = chain(name="known:f%d/2")
ROOT = r"known:main/1\n(?:init:start_it/1\n)?init:start_em/1\ninit:do_boot/3\n"
SHARED = "global::"  # code of the runtime's own that its modules call


def on_the_way():
    """The chain from any link down: on the way to a leaf or back."""
    pattern = ""
    for n in range(2, 25):
        pattern = r"(?:%sknown:f%d/2\n)?" % (pattern, n)
    return pattern


# A process's stack ends at its first function.
SPIN = Cell("(?:%s)\n" % "|".join(LEAVES.values()) + CHAIN + "known:spin/2\n" + ROOT, LEAVES,
            only_type="beam")
# A function that gives way to others does so in code of its module. A leaf is called now and then.
CALLS = Cell(r"(?:(?:known|lists)::codeHeader\n)?"
             r"(?:(?:known:tick/1\n)?(?:known:leaf_calls_one/1\n)?known:leaf_calls/1\n|"
             r"(?:known:tick/1\n)?(?:known:add/1\n)?(?:known:'-leaf_callbacks/1-fun-\d-'/\d\n)?"
             r"(?:lists:(?:foldl(?:_1)?/3|map(?:_1)?/2|seq/2|seq_loop/3)\n)*"
             r"known:leaf_callbacks/1\n)?" + CHAIN + "known:calls/1\n" + ROOT, {},
             only_type="beam", leaf_points=None, others=on_the_way() + "known:calls/1\n" + ROOT)
# The leaves of scenes, and what native code works for those that call it.
WORK = {"known:work/1": None, "known:hash/2": "phash2_1|erts_gc_after_bif",
        "known:md5/2": "beam_jit_call_bif|erts_gc_after_bif",
        "known:collect/2": "beam_jit_call_bif|erts_gc_after_bif"}


def source():
    with open(os.path.join(HERE, "known.erl"), encoding="utf-8") as f:
        return f.read().splitlines()


def lines_of(name):
    """The lines of a leaf of scenes."""
    return {i + 1 for i, line in enumerate(source())
            if line.startswith(re.sub(r".*:(\w+)/.*", r"\1(", name))}


def collapsed(rows):
    """process_info() leaves out a call that is like the one below it."""
    return [row for i, row in enumerate(rows) if i == 0 or row != rows[i - 1]]


class Scenes(scenes.Scenes):
    kind = "beam"

    def __init__(self, said):
        super().__init__({name: collapsed(rows)
                          for name, rows in scenes.read(said, elixir).items()})
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
    return re.sub(r"^'Elixir\.([^:]*)':", r"\1.", name)


class Erlang:
    def __init__(self, root, version, options):
        self.command = ["chroot", root, "/usr/bin/erl"]
        self.options = options.split()
        with open(root + "/usr/lib/erlang/releases/%s/OTP_VERSION" % version,
                  encoding="utf-8") as f:
            self.release = f.read().strip()
        self.folder = folder = root + FOLDER
        os.makedirs(folder, exist_ok=True)
        shutil.copy(os.path.join(HERE, "known.erl"), folder)
        made = subprocess.run([*self.command, "-noshell", "-eval",
                               'file:set_cwd("%s"), R = compile:file("known.erl", [return]),'
                               ' io:format("~p~n", [R]), halt().' % FOLDER],
                              capture_output=True, text=True, timeout=300)
        if not os.path.exists(folder + "/known.beam"):
            raise suite.Skip("known.erl is not compiled: " + (made.stdout + made.stderr)[-200:])

    def start(self, *arguments):
        return subprocess.Popen(
            [*self.command, "+S", "1", *self.options, "-noshell", "-pa", FOLDER, "-run", "known",
             "main", *map(str, arguments)], stdout=subprocess.PIPE, text=True)


def spin_cell(said, samples):
    """SPIN with the shares that the program told of itself."""
    times = [int(word) for word in re.search(r"shares (.+)", said)[1].split()]
    return dataclasses.replace(
        scenes.spin_cell(SPIN, samples),
        shares={key: ms / sum(times) for key, ms in zip(LEAVES, times)})


def check_spin(run, name, program):
    capture, text, said, pid = scenes.record(run, name, program, "spin")
    samples = check.select(capture, pid)
    # Those of other processes and of the scheduler itself have no frame of known.erl.
    capture.samples = [s for s in samples if any(f.name.startswith("known:") for f in s.frames)]
    result = check.check_chain(capture, spin_cell(said, capture.samples), pid)
    lines = {"known:leaf_50/2", "known:leaf_30/2", "known:leaf_20/2"}
    known = {leaf: lines_of(leaf) for leaf in lines}
    right = sum(s.count for s in capture.samples
                if s.frames[0].line in known.get(s.frames[0].name, ()))
    mine = sum(s.count for s in capture.samples if s.frames[0].name in known)
    result.need(right >= 0.99 * mine, "%d of %d leaves have their lines" % (right, mine))
    result.need(mine >= 0.8 * sum(s.count for s in samples),
                "%d of %d samples in the chain" % (mine, sum(s.count for s in samples)))
    return [result, check.check_rules(capture), check.check_accounting(text)]


def check_calls(run, name, program):
    capture, _, _, pid = scenes.record(run, name, program, "calls")
    capture.samples = [s for s in capture.samples
                       if any(f.name.startswith("known:") for f in s.frames)]
    for sample in capture.samples:
        sample.frames = [f for f in sample.frames if not f.name.startswith(SHARED)]
    return [check.check_chain(capture, CALLS, pid)]


def check_native(samples, result):
    """Above Erlang's frames stand those of the C code that they call."""
    for leaf, pattern in WORK.items():
        stacks = [s for s in samples if pattern and s.frames[0].type != "beam"
                  and any(f.name == leaf for f in s.frames)]
        right = sum(s.count for s in stacks if re.search(pattern, " ".join(
            f.name for f in s.frames)))
        total = sum(s.count for s in stacks)
        result.need(not pattern or total and right >= 0.9 * total,
                    "%d of %d stacks of %s have its C code" % (right, total, leaf))


def check_shapes(run, name, program):
    capture, _, said, pid = scenes.record(run, name, program, "shapes", 2)
    result = check.Result()
    samples = check.select(capture, pid)
    Scenes(said).judge(samples, result)
    check_native(samples, result)
    return [result]


def check_nif(run, name, program):
    """A NIF stands above Erlang's frames, or on the dirty scheduler's thread."""
    result = check.Result()
    built = subprocess.run(
        ["gcc", "-O1", "-fPIC", "-shared", "-fno-optimize-sibling-calls",
         *("-I" + path for path in glob.glob("/usr/lib/erlang/usr/include")),
         os.path.join(HERE, "known_nif.c"), "-o", program.folder + "/known_nif.so"],
        capture_output=True, text=True)
    if built.returncode:
        raise suite.Skip("known_nif.c is not built: " + built.stderr[-200:])
    capture, _, _, pid = scenes.record(run, name, program, "nif")
    stacks = ["".join(f.name + "\n" for f in s.frames if f.type != "kernel")
              for s in check.select(capture, pid) for _ in range(s.count)]
    stacks = [stack for stack in stacks if "nif_work\n" in stack]
    for what, pattern in (
            ("NIF", "nif_work\nspin\n(?:beam_jit_call_nif.*\n)global::call_nif_shared\n" + CHAIN +
             "known:nif/1\n" + ROOT),
            ("dirty NIF", "nif_work\nspin\n.+\nerts_dirty_process_main\n(?:.+\n){3,5}")):
        of = [s for s in stacks if ("erts_dirty_process_main" in s) == (what == "dirty NIF")]
        right = sum(bool(re.fullmatch(pattern, s)) for s in of)
        result.need(len(of) >= 100 and right >= 0.99 * len(of),
                    "%d of %d stacks of the %s are exact" % (right, len(of), what))
        if right < 0.99 * len(of):
            result.problems += [s.replace("\n", " ") for s in of
                                if not re.fullmatch(pattern, s)][:2]
    return [result]


CHECKS = {"spin": check_spin, "calls": check_calls, "shapes": check_shapes, "nif": check_nif}


def check_named(run, name, program):
    """Names are those of Erlang's own perf map or jitdump file. Without frame pointers callers are
    guessed. Before its prologue a function has no frame, and its caller may be missing."""
    process = program.start("spin", suite.LONG)
    try:
        said = scenes.wait_ready(process)
        capture, text = run.record_process(name, process.pid, options=("--no-runtime", "beam"))
    finally:
        suite.stop([process])
    result = check.Result()
    below = CHAIN.split("\n")[:-1]
    counts = dict.fromkeys(LEAVES.values(), 0)
    early = guessed = 0
    odd = {}
    for sample in check.select(capture, process.pid):
        user = [f for f in sample.frames if f.type != "kernel"]
        names = [f.name.lstrip("$") for f in user]  # in the map a name begins with that
        leaf = names[0].replace("-CodeInfoPrologue", "")
        if leaf not in counts:
            continue
        guessed += sample.count if any(f.guessed for f in user[2:6]) else 0
        if names[1:25] == below:
            counts[leaf] += sample.count
        elif names[1:24] == below[1:]:
            early += sample.count
        else:
            odd[" < ".join(names)] = sample.count
    whole = sum(counts.values())
    total = whole + early + sum(odd.values())
    result.need(total >= 500, "%d samples" % total)
    result.need(whole + early >= 0.99 * total,
                "%d of %d stacks are exact, and %d but for the caller of who is before its prologue"
                % (whole, total, early))
    result.need(early <= 0.2 * total, "%d before a prologue" % early)
    # Until the code is read, some 50 ms, callers are guessed.
    result.need(name == "erlang-dump" or guessed <= 0.02 * total,
                "%d have guesses" % guessed)
    result.figures.update(samples=total, errors={}, exact=100 * (whole + early) / max(total, 1))
    if result.problems:
        result.problems += sorted(odd)[:3]
    check.check_shares({key: counts[leaf] / max(whole, 1) for key, leaf in LEAVES.items()},
                       spin_cell(said, capture.samples), result)
    return [result, check.check_rules(capture), check.check_accounting(text)]


def cell(run, name, root, why, wanted):
    version, options = CELLS[name]
    if not root:
        raise suite.Skip("no Erlang %s: %s" % (version, why[-200:] or "fetch.sh has none"))
    program = Erlang(root, version, options)
    row = run.row = dict(run.row, release=program.release)
    if name in NAMED:
        run.judge(name, *check_named(run, name, program))
        return
    for what in wanted:
        run.row = dict(row, program=what)
        run.judge(name + "-" + what, *CHECKS[what](run, name, program))


def main():
    run = interpreted.start("erlang", CHECKS)
    wanted = run.args.cells or (QUICK if run.args.quick else CELLS)
    found, why = ({}, "") if run.args.list else interpreted.fetch(
        HERE, [*(["-n"] if run.args.quick else []), *sorted({CELLS[name][0] for name in wanted})])
    for name in wanted:
        version, options = CELLS[name]
        run.cell(name, cell, found.get(version), why, run.args.only or list(CHECKS),
                 row=suite.row("Erlang/OTP", version, options))
    return run.status()


if __name__ == "__main__":
    sys.exit(main())
