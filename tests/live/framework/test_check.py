#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checker's own tests. Each puts a fault into a right capture, which the checker must find."""

import json
import os
import sys
import unittest
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from types import SimpleNamespace

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, *(os.path.join(HERE, "..", "languages", name) for name in ("go", "python"))]
import cells
import check
import golang
import otlp
import python
import suite
from synthetic import Builder, data, number, packed

CHAIN = ["f%d" % n for n in range(1, 25)]
ROOT = ["truth_run", "truth_main", "main", "libc.so.6+0x2724a", "__libc_start_main", "_start"]
KERNEL = ("do_syscall_64", "kernel", 16, "vmlinux")
CELL = replace(cells.CELLS["c-gcc"], min_samples=1)


def stack(leaf="a", chain=None, root=None, above=()):
    return [*above, "leaf_" + leaf, *(CHAIN if chain is None else chain),
            *(ROOT if root is None else root)]


def right(builder, total=1000, **more):
    builder.add(stack("a"), total * 5 // 10, **more)
    builder.add(stack("b"), total * 3 // 10, **more)
    builder.add(stack("c"), total * 2 // 10, **more)


def capture_of(builder):
    return otlp.read_request(builder.request())


def judge(builder, cell=CELL, **more):
    return check.check_chain(capture_of(builder), cell, pid=1, **more)


class Chain(unittest.TestCase):
    def with_wrong(self, wrong, count=11):
        builder = Builder()
        right(builder, 1000)
        builder.add(wrong, count)
        return judge(builder)

    def test_right_passes(self):
        builder = Builder()
        right(builder)
        builder.add(stack("a", above=[KERNEL, "clock_gettime"]))
        builder.add(stack("b", above=["__vdso_clock_gettime", "clock_gettime"]))
        self.assertEqual(judge(builder).problems, [])

    def test_few_wrong_pass_more_fail(self):
        missing = stack(chain=CHAIN[:5] + CHAIN[6:])
        self.assertTrue(self.with_wrong(missing, 9).ok)
        self.assertFalse(self.with_wrong(missing, 11).ok)

    def test_each_wrong_fails(self):
        swapped = CHAIN[:3] + [CHAIN[4], CHAIN[3]] + CHAIN[5:]
        wrongs = {
            "a link twice": stack(chain=CHAIN[:3] + CHAIN[2:]),
            "two links swapped": stack(chain=swapped),
            "a stranger between": stack(chain=CHAIN[:3] + ["g"] + CHAIN[3:]),
            "no leaf": CHAIN + ROOT,
            "no f1": stack(chain=CHAIN[1:]),
            "cut at the root": stack(root=ROOT[:-1]),
            "cut in the chain": stack(chain=CHAIN[:10], root=[]),
            "said to be cut": stack(root=ROOT[:2] + ["[truncated]"]),
            "the leaf alone": ["leaf_a"],
            "a stranger on the leaf": stack(above=["g"]),
            "an unnamed one on the leaf": stack(above=["libc.so.6+0x10"]),
            "a frame below the root": stack(root=ROOT + ["_start"]),
            "two stacks in one": stack() + stack(),
            "kernel only": [KERNEL],
            "nothing": [],
        }
        for what, wrong in wrongs.items():
            with self.subTest(what):
                self.assertFalse(self.with_wrong(wrong).ok)

    def test_shares(self):
        for points, ok in ((0, True), (1, True), (3, False), (-3, False)):
            builder = Builder()
            builder.add(stack("a"), 500 + points * 10)
            builder.add(stack("b"), 300 - points * 10)
            builder.add(stack("c"), 200)
            self.assertEqual(judge(builder).ok, ok, points)

    def test_merged_leaves_fail(self):
        builder = Builder()
        builder.add(stack("a"), 1000)
        self.assertFalse(judge(builder).ok)

    def test_count(self):
        for total, ok in ((1000, True), (1020, True), (900, False), (1100, False)):
            builder = Builder()
            right(builder, total)
            self.assertEqual(judge(builder, hz=1000, cpu_ns=10**9).ok, ok, total)

    def test_count_of_a_host_that_takes_time(self):
        for total, ok in ((1000, True), (1100, True), (900, False), (1200, False)):
            builder = Builder()
            right(builder, total)
            self.assertEqual(judge(builder, hz=1000, cpu_ns=10**9, stolen_ns=10**8).ok, ok,
                             total)

    def test_other_process_does_not_count(self):
        builder = Builder()
        right(builder, pid=2)
        self.assertFalse(judge(builder).ok)

    def test_too_few_samples_fail(self):
        builder = Builder()
        right(builder, 100)
        self.assertFalse(judge(builder, replace(CELL, min_samples=500)).ok)

    def test_depth_is_exact(self):
        for depth, ok in ((599, False), (600, True), (601, False)):
            builder = Builder()
            for leaf, count in (("a", 50), ("b", 30), ("c", 20)):
                builder.add(stack(leaf, root=["dig"] * depth + ["dig_all"] + ROOT), count)
            cell = replace(cells.CELLS["deep-600"], min_samples=1)
            self.assertEqual(judge(builder, cell).ok, ok, depth)


class Others(unittest.TestCase):
    def test_other_threads_are_left_out_and_only_whole(self):
        cell = replace(cells.CELLS["go"], min_samples=1)
        go = ["main." + f for f in CHAIN] + ["main.main", "runtime.main", "runtime.goexit"]
        for wrong, ok in ((["runtime.usleep", "runtime.sysmon", "runtime.mstart"], True),
                          (["runtime.usleep", "runtime.sysmon"], False),
                          (["main.f1", "runtime.mstart"], False)):
            builder = Builder()
            for leaf, count in (("a", 50), ("b", 30), ("c", 20)):
                builder.add(["main.leaf_" + leaf] + go, count)
            builder.add(wrong, 9)
            self.assertEqual(judge(builder, cell).ok, ok, wrong)


class Figures(unittest.TestCase):
    """The figures of a cell in the table of versions."""

    def test_of_a_chain(self):
        builder = Builder()
        builder.add(stack("a"), 48)
        builder.add(stack("b"), 30)
        builder.add(stack("c"), 20)
        builder.add(stack(root=ROOT[:1] + ["[unwind error: native_stuck]"]), 1)
        builder.add(stack(root=ROOT[:1] + ["[truncated]"]), 1)
        figures = judge(builder).figures
        self.assertAlmostEqual(figures.pop("leaf"), 0)
        self.assertEqual(figures, {"samples": 100, "exact": 98.0,
                                   "errors": {"native_stuck": 1, "truncated": 1}})

    def say(self, function, list_only=False):
        run = suite.Run(SimpleNamespace(list=list_only))
        with redirect_stdout(StringIO()) as told:
            run.cell("x", function, row=suite.row("Java", "8", "", "scenes"))
        lines = told.getvalue().splitlines()
        self.assertTrue(lines[-1].startswith("figures truth x "), lines)
        row = json.loads(lines[-1].split(" ", 3)[3])
        self.assertEqual(row.pop("runtime"), "Java")
        return lines[0], row

    def test_follow_the_result(self):
        bare = {"version": "8", "mode": "default", "program": "scenes"}
        self.assertEqual(self.say(lambda run, name: run.judge(
            name, check.Result(figures={"exact": 1}), check.Result(notes=["n"]))),
            ("ok truth x: n", dict(bare, exact=1)))
        self.assertEqual(self.say(lambda run, name: run.judge(
            name, check.Result(["p"], figures={"exact": 1})))[1], dict(bare, exact=1))

        def skips(run, name):
            raise suite.Skip("why")
        self.assertEqual(self.say(skips), ("skip truth x: why", bare))
        self.assertEqual(self.say(skips, True), ("skip truth x: not yet", bare))


class Lines(unittest.TestCase):
    LINES = {"f%d" % n: {n} for n in range(1, 25)}

    def judge(self, wrong, changed):
        """100 stacks. In @wrong of them, frames with the names of @changed have other lines."""
        samples = []
        for count, odd in ((100 - wrong, {}), (wrong, changed)):
            frames = [otlp.Frame(name, line=odd.get(name, 30 if name[0] != "f" else int(name[1:])),
                                 type="native") for name in stack()]
            samples.append(otlp.Sample({}, {}, frames, count, [], [], ("samples", "count"), 0))
        result = check.Result()
        check.check_lines(samples, CELL, dict(self.LINES, leaf_a={30, 31}), result)
        return result

    def test_one_wrong_line_is_a_wrong_stack(self):
        self.assertTrue(self.judge(1, {"f7": 8}).ok)
        result = self.judge(2, {"f7": 8})
        self.assertFalse(result.ok)
        self.assertEqual(result.figures, {"lines": 98.0})
        self.assertIn("  2 times: f7:8", result.problems)

    def test_a_leaf_has_several_lines(self):
        self.assertTrue(self.judge(50, {"leaf_a": 31}).ok)
        self.assertFalse(self.judge(50, {"leaf_a": 32}).ok)
        self.assertFalse(self.judge(50, {"leaf_a": 0}).ok)

    def test_functions_that_are_not_known_may_have_any(self):
        self.assertTrue(self.judge(50, {"_start": 99}).ok)

    def test_stacks_that_are_not_exact_do_not_count(self):
        sample = otlp.Sample({}, {}, [otlp.Frame("f1", line=9)], 9, [], [], ("samples", "count"), 0)
        result = check.Result()
        check.check_lines([sample], CELL, self.LINES, result)
        self.assertEqual(result.figures, {"lines": 0})
        self.assertFalse(result.ok)

    def test_of_go(self):
        lines = golang.known_lines("package main\n\nfunc leaf_a(j *job) {\n\tj.n++\n}\n\n"
                                   "func f1(j *job) {\n\tif j.n {\n\t\tleaf_a(j)\n\t}\n}\n")
        self.assertEqual(lines, {"main.leaf_a": {3, 4, 5}, "main.f1": {9}})

    def test_of_python(self):
        """With the lines that this interpreter itself reports."""
        source, there = {}, {}
        with open(python.PROGRAM, encoding="utf-8") as f:
            exec(compile(f.read(), "known.py", "exec"), dict(source, __name__="known"), source)

        def leaf():
            frame = sys._getframe(1)
            while frame.f_code.co_filename == "chain.py":
                there[frame.f_code.co_name] = {frame.f_lineno}
                frame = frame.f_back
        source["OUT"].close()
        source["make_chain"](leaf)()
        lines = python.known_lines()
        self.assertEqual(there, {name: lines[name] for name in there})
        self.assertEqual(len(there), 24)
        self.assertIn(source["leaf_30"].__code__.co_firstlineno, lines["leaf_30"])


class Address(unittest.TestCase):
    """Names by the twin's symbols: the recorded names of frames do not matter."""

    def setUp(self):
        self.symbols = check.Symbols.__new__(check.Symbols)
        names = ["leaf_a", "leaf_b", "leaf_c", *CHAIN, "truth_run", "main", "_start"]
        self.address = {name: 0x1000 + 32 * i for i, name in enumerate(names)}
        self.symbols.rows = sorted((a, 16, n) for n, a in self.address.items())
        self.symbols.starts = [row[0] for row in self.symbols.rows]

    def judge(self, shift):
        builder = Builder()
        for leaf, count in (("a", 50), ("b", 30), ("c", 20)):
            builder.add([("prog+0x1", "native", self.address[n] + shift, "prog")
                         if n in self.address else n
                         for n in stack(leaf) if n != "truth_main"], count)
        result = check.Result()
        find = check.name_by_address(self.symbols, "prog", CELL)
        check.check_pattern(check.select(capture_of(builder)), CELL, find, "address", result)
        return result.ok

    def test_addresses_decide(self):
        self.assertTrue(self.judge(0))
        self.assertTrue(self.judge(15))
        self.assertFalse(self.judge(16))
        self.assertFalse(self.judge(-1))


class Storm(unittest.TestCase):
    CHILDREN = {1000 + i: "s%03d" % i for i in range(300)}
    FRAMES = [f for f in stack() if not f.startswith("truth_")]

    def judge(self, seen=300, each=3, frames=None, exe=None, cut=0):
        builder = Builder()
        for i in range(seen):
            builder.add(self.FRAMES if frames is None else frames, each - (i < cut),
                        pid=1000 + i, exe=exe or "s%03d" % i)
        return check.check_storm(capture_of(builder), self.CHILDREN, 99, 30).ok

    def test_right_passes(self):
        self.assertTrue(self.judge())

    def test_seen(self):
        self.assertTrue(self.judge(seen=285))
        self.assertFalse(self.judge(seen=279, each=4))

    def test_kept(self):
        self.assertTrue(self.judge(cut=50))
        self.assertFalse(self.judge(cut=60))

    def test_name_of_the_parent_fails(self):
        self.assertFalse(self.judge(exe="storm-driver"))

    def test_name_of_a_sibling_fails(self):
        self.assertFalse(self.judge(exe="s001"))

    def test_another_storm_does_not_count(self):
        builder = Builder()
        for i in range(300):
            builder.add(self.FRAMES, 3, pid=1000 + i, exe="s%03d" % i)
            builder.add(self.FRAMES, 3, pid=9000 + i, exe="s%03d" % i)
        self.assertTrue(check.check_storm(capture_of(builder), self.CHILDREN, 99, 30).ok)
        self.assertFalse(self.judge(seen=0))

    def test_broken_stacks_fail(self):
        self.assertFalse(self.judge(frames=self.FRAMES[:6]))

    def test_what_never_comes_to_main_fails(self):
        self.assertFalse(self.judge(frames=["_dl_start", "_start"]))


class Accounting(unittest.TestCase):
    def ok(self, text, capture=None):
        return check.check_accounting(text, capture).ok

    def test_forms(self):
        self.assertTrue(self.ok("taken 10 = exported 7 + filtered 2 + dropped 1"))
        self.assertTrue(self.ok("10 taken = 7 exported + 2 filtered + 1 dropped"))
        self.assertTrue(self.ok("10 samples taken = 7 exported + 2 filtered + 1 dropped\n"))
        self.assertTrue(self.ok("x\ntaken=10 exported=7 filtered=2 dropped=1\ny"))

    def test_wrong(self):
        self.assertFalse(self.ok("taken 10 = exported 7 + filtered 2 + dropped 0"))
        self.assertFalse(self.ok("taken 0 = exported 0 + filtered 0 + dropped 0"))
        self.assertFalse(self.ok("taken 10 exported 10"))
        self.assertFalse(self.ok(""))

    def test_file_agrees(self):
        builder = Builder()
        right(builder, 10)
        line = "taken %d = exported %d + filtered 0 + dropped 0"
        self.assertTrue(self.ok(line % (10, 10), capture_of(builder)))
        self.assertFalse(self.ok(line % (11, 11), capture_of(builder)))


class Rules(unittest.TestCase):
    def broken(self, builder):
        return capture_of(builder).violations

    def test_right_has_none(self):
        builder = Builder()
        right(builder)
        self.assertEqual(self.broken(builder), [])

    def test_duplicate_and_orphan(self):
        builder = Builder()
        right(builder)
        builder.tables[5].entries.append(b"f1")
        self.assertIn("string_table has duplicates", self.broken(builder))
        self.assertIn("string_table has entries that nothing uses", self.broken(builder))

    def test_zero_entries(self):
        for table, name in otlp.Request.TABLES.items():
            builder = Builder()
            right(builder)
            builder.tables[table].entries[0] = number(1, 1) if table != 5 else b"x"
            self.assertIn("%s_table[0] is not the zero value" % name, self.broken(builder))

    def test_window_is_half_open(self):
        for time, ok in ((1000, True), (1999, True), (2000, False), (999, False)):
            builder = Builder(1000, 1000)
            builder.add(stack(), times=[time])
            self.assertEqual(self.broken(builder) == [], ok, time)

    def test_frame_type(self):
        builder = Builder()
        right(builder)
        function = builder.tables[3].index(number(1, builder.string("f1")))
        entry = builder.tables[2].index(data(3, number(1, function)))
        builder.samples[(1, "prog")].append(
            number(1, builder.tables[7].index(packed(1, [entry]))) + data(5, b"\xe8\3" + b"\0" * 6))
        self.assertIn("a location with no profile.frame.type", self.broken(builder))

    def test_build_id_and_range(self):
        builder = Builder()
        right(builder)
        entry = builder.tables[1].index(number(2, 8) + number(4, builder.string("bare")))
        kind = builder.attribute("profile.frame.type", "native")
        location = builder.tables[2].index(number(1, entry) + number(2, 99) + packed(4, [kind]))
        builder.samples[(1, "prog")].append(
            number(1, builder.tables[7].index(packed(1, [location]))) + data(5, b"\xe8\3" + b"\0" * 6))
        broken = self.broken(builder)
        self.assertIn("a mapping (bare) with no build id", broken)
        self.assertIn("an address outside its mapping (bare)", broken)

    def test_out_of_range_index(self):
        builder = Builder()
        right(builder)
        builder.samples[(1, "prog")].append(number(1, 99) + data(5, b"\xe8\3" + b"\0" * 6))
        self.assertIn("an index into stack_table is out of range", self.broken(builder))

    def test_cut_files(self):
        builder = Builder()
        right(builder)
        request = builder.request()
        framed = len(request).to_bytes(4, "big") + request
        self.assertEqual(otlp.read_framed(framed * 2).requests, 2)
        for cut in (1, 100, len(framed) - 3):
            with self.assertRaises(otlp.Malformed):
                otlp.read_framed(framed[:-cut])


if __name__ == "__main__":
    unittest.main()
