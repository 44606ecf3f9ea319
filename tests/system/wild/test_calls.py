#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls that cannot be are found, and those that are so are right: in a program that is made here."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "..", "live", "framework"))
import calls
import otlp

SOURCE = """
__attribute__((noinline, noclone)) int leaf(int n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
__attribute__((noinline, noclone)) int jumps(int n) { return leaf(n * 3); }
__attribute__((noinline, noclone)) int calls(int n) { return leaf(n * 5) + 1; }
__attribute__((noinline, noclone)) int outer(int n) { return jumps(n) + 1; }
__attribute__((noinline, noclone)) int twice(int n) { return calls(n) + 1; }
__attribute__((noinline, noclone)) int table(int n) {
    switch (n) {
    case 0: return leaf(n + 7); case 1: return calls(n) + 3; case 2: return twice(n) * 5;
    case 3: return n * n; case 4: return outer(n) - 9; case 5: return calls(n) ^ 77; default: return n;
    }
}
int (*volatile held)(int) = leaf;
__attribute__((noinline, noclone)) int by_memory(int n) { int m = leaf(n); return held(m); }
__attribute__((noinline, noclone)) int held_calls(int n) { return by_memory(n) + 1; }
int (*many[])(int) = { leaf, jumps, calls, twice };
__attribute__((noinline, noclone)) int to_many(int n) { return many[n & 3](n); }
__attribute__((noinline, noclone)) int by_many(int n) { return to_many(n) + 1; }
__attribute__((noinline, noclone)) int to_table(int n) { return n < 0 ? n : table(n * 3); }
__attribute__((noinline, noclone)) int by_table(int n) { return to_table(n) + 1; }
int main(int argc, char **argv) {
    int (*volatile by)(int) = leaf;
    return outer(argc) + twice(argc) + by(argc) + by_table(argc) + held_calls(argc) + by_many(argc);
}
"""


@unittest.skipUnless(calls.capstone, "no python3-capstone")
class CallsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        path = os.path.join(self.folder.name, "made")
        subprocess.run(["gcc", "-O2", "-x", "c", "-", "-o", path], input=SOURCE, text=True, check=True)
        out = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
        self.at = {line.split()[2]: int(line.split()[0], 16) for line in out.splitlines()
                   if len(line.split()) == 3}
        self.calls = calls.Calls({})
        self.calls.load("made", path)

    def ras(self, name):
        """Where the calls of @name return to."""
        reach = self.calls.files["made"].reach(self.at[name])
        return [end for end in sorted(reach.ends) if self.calls.files["made"].call_before(end)]

    def verdict(self, callee, caller, exact=True, name="x"):
        frames = [otlp.Frame(name=name, type="native", address=at, mapping="made")
                  for at in (callee, caller - 1)]
        return self.calls.pair(1, *frames, exact)[0]

    def test_right(self):
        self.assertEqual(self.verdict(self.at["leaf"], self.ras("calls")[0]), calls.RIGHT)
        self.assertEqual(self.verdict(self.ras("calls")[0] - 1, self.ras("twice")[0], False),
                         calls.RIGHT)

    def test_by_a_jump(self):
        self.assertEqual(self.verdict(self.at["leaf"], self.ras("outer")[0]), calls.RIGHT)

    def test_by_the_table_of_another_function(self):
        self.assertEqual(self.verdict(self.at["leaf"], self.ras("by_table")[0]), calls.RIGHT)

    def test_missing_caller(self):
        self.assertEqual(self.verdict(self.at["leaf"], self.ras("twice")[0]), calls.WRONG)

    def test_no_call(self):
        self.assertEqual(self.verdict(self.at["leaf"], self.at["calls"] + 1), calls.WRONG)

    def test_through_a_register(self):
        verdicts = [self.verdict(self.at["leaf"], ra) for ra in self.ras("main")]
        self.assertIn(calls.POSSIBLE, verdicts)

    def test_by_a_pointer(self):
        self.assertEqual(self.verdict(self.at["twice"], self.ras("held_calls")[0]), calls.POSSIBLE)

    def test_by_a_table_of_functions(self):
        self.assertEqual(self.verdict(self.at["twice"], self.ras("by_many")[0]), calls.POSSIBLE)

    def test_whose_unwind_data_leaves_out_its_caller(self):
        for name in ("__restore_rt", "__morestack", "__morestack_non_split"):
            self.assertIsNone(self.verdict(self.at["leaf"], self.ras("twice")[0], name=name))

    def test_two_files_of_one_name(self):
        os.mkdir(os.path.join(self.folder.name, "2"))
        other = os.path.join(self.folder.name, "2", "made")
        shutil.copy("/bin/true", other)
        self.calls.load("made", self.calls.files["made"].path)
        self.assertEqual(self.verdict(self.at["leaf"], self.ras("twice")[0]), calls.WRONG)
        caller = self.ras("twice")[0]
        self.calls.load("made", other)
        self.assertIsNone(self.verdict(self.at["leaf"], caller))

    def test_a_stack(self):
        def sample(*addresses):
            frames = [otlp.Frame(name="x", type="native", address=at, mapping="made")
                      for at in addresses]
            return otlp.Sample({"process.pid": 1}, {}, frames, 3, [], [], ("samples", "count"), 1)
        inner, outer = self.ras("calls")[0] - 1, self.ras("twice")[0] - 1
        self.assertEqual(self.calls.judge(sample(self.at["leaf"], inner, outer)), "")
        self.assertIn("a call to", self.calls.judge(sample(self.at["leaf"], outer)))
        # a context returns to what nothing has called
        self.assertEqual(self.calls.judge(sample(self.at["leaf"], self.at["table"] - 1)), "")
        self.assertIn("no call", self.calls.judge(sample(self.at["leaf"], self.at["table"] - 1, outer)))


if __name__ == "__main__":
    unittest.main()
