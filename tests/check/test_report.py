# SPDX-License-Identifier: Apache-2.0
"""Tests of ../report.py: how the results of a suite and of its second run become one."""

import os
import sys
import tempfile
import unittest
from contextlib import redirect_stdout
from io import StringIO

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import report  # noqa: E402


def again(first, second, *figures):
    with redirect_stdout(StringIO()) as told:
        report.again(first, second, *figures)
    return told.getvalue().splitlines()


class Again(unittest.TestCase):
    def test_passed_once(self):
        self.assertEqual(again([("FAIL", "s", "a", "1 of 2")], [("ok", "s", "a", "2 of 2")]),
                         ["ok s a: unsteady: passed when run again; at first: 1 of 2"])
        self.assertEqual(again([("ok", "s", "a", "2 of 2")], [("FAIL", "s", "a", "1 of 2")]),
                         ["ok s a: unsteady: failed when run again: 1 of 2"])

    def test_failed_twice(self):
        self.assertEqual(again([("FAIL", "s", "a", "x")], [("FAIL", "s", "a", "y")]),
                         ["FAIL s a: x"])

    def test_not_run_again(self):
        self.assertEqual(again([("FAIL", "s", "a", "x")], []), ["FAIL s a: x"])
        self.assertEqual(again([("FAIL", "s", "a", "x")], [("skip", "s", "a", "y")]),
                         ["FAIL s a: x"])

    def test_no_result_then_results(self):
        """Of a suite that ended before its first result the second run's results count."""
        self.assertEqual(again([("FAIL", "s", "run", "exit 1")],
                               [("ok", "s", "a", "x"), ("FAIL", "s", "b", "y")]),
                         ["ok s run: unsteady: passed when run again; at first: exit 1",
                          "ok s a: x", "FAIL s b: y"])


    def test_figures_are_of_the_run_that_counts(self):
        figures = [report.figures_of(["ok s a: x\n", 'figures s a {"n": %d}\n' % n, "figures s b\n"])
                   for n in (1, 2)]
        self.assertEqual(figures[0], {("s", "a"): '{"n": 1}'})
        ok, bad = [("ok", "s", "a", "x")], [("FAIL", "s", "a", "y")]
        for first, second, n in ((bad, ok, 2), (ok, bad, 1), (bad, bad, 1), ([], ok, 2)):
            self.assertEqual(again(first, second, figures)[1:], ['figures s a {"n": %d}' % n])


class Matrix(unittest.TestCase):
    def write(self, rows, tree, path):
        with redirect_stdout(StringIO()) as told:
            report.matrix(rows, tree, path)
        with open(path, "w", encoding="utf-8") as f:
            f.write(told.getvalue())
        return told.getvalue()

    def test_suites_that_did_not_run_stay(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "matrix.md")
            self.write([("ok", "a", "x", "1 of 1"), ("skip", "a", "y", "no | there"),
                        ("ok", "sanitized", "test_z", "0.1 s")], "old", path)
            before = self.write([("FAIL", "b", "x", "0 of 1")], "old", path)
            self.assertIn("| a | old | 1 | 0 | 1 |", before)
            self.assertIn("| sanitized | old | 1 | 0 | 0 |", before)
            self.assertIn("| y | not run | no \\| there |", before)
            after = self.write([("ok", "b", "x", "1 of 1")], "new", path)
            self.assertEqual(after, before.replace("| b | old | 0 | 1 | 0 |",
                                                   "| b | new | 1 | 0 | 0 |")
                             .replace("| x | fails | 0 of 1 |", "| x | passes | 1 of 1 |"))


if __name__ == "__main__":
    unittest.main()
