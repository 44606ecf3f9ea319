# SPDX-License-Identifier: Apache-2.0
"""Tests of ../report.py and ../run.py: the table of what passed, and which suites a level runs."""

import os
import pathlib
import sys
import tempfile
import unittest
from contextlib import redirect_stdout
from io import StringIO

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import report  # noqa: E402
import run  # noqa: E402


class Suites(unittest.TestCase):
    def test_levels(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "live", "x")
            path.mkdir(parents=True)
            (path / "suite.ini").write_text("[late]\ntitle=t\nafter=b\nrun=x\nfull=\n"
                                            "[a]\ntitle=t\nrun=x\ndefault=one\nmatrix=\n"
                                            "[b]\ntitle=t\nrun=x\nfull=two\n")
            pathlib.Path(folder, "suite.ini").write_text("[units]\ntitle=t\nmeson=\ndefault=\n")
            suites = run.find(pathlib.Path(folder))
        self.assertEqual(list(suites), ["units", "a", "b", "late"])
        self.assertEqual([name for name in suites if suites[name].runs("default")],
                         ["units", "a"])
        self.assertEqual([suites["a"].arguments(level) for level in run.LEVELS],
                         ["one", "one", ""])
        self.assertEqual(suites["b"].arguments("default"), "two")  # where it is asked for

    def test_every_suite_of_the_tree(self):
        for suite in run.find(run.TOP / "tests").values():
            self.assertTrue(suite.levels, suite.name)
            self.assertIn(suite.needs, ("", "live", "release", "sanitized"), suite.name)


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
                        ("ok", "units", "test_z", "0.1 s")], "old", path)
            before = self.write([("FAIL", "b", "x", "0 of 1")], "old", path)
            self.assertIn("| a | old | 1 | 0 | 1 |", before)
            self.assertIn("| units | old | 1 | 0 | 0 |", before)
            self.assertIn("| y | not run | no \\| there |", before)
            after = self.write([("ok", "b", "x", "1 of 1")], "new", path)
            self.assertEqual(after, before.replace("| b | old | 0 | 1 | 0 |",
                                                   "| b | new | 1 | 0 | 0 |")
                             .replace("| x | fails | 0 of 1 |", "| x | passes | 1 of 1 |"))


if __name__ == "__main__":
    unittest.main()
