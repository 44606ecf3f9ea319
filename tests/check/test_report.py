# SPDX-License-Identifier: Apache-2.0
"""Tests of ../run.py: which suites a level runs."""

import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

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


if __name__ == "__main__":
    unittest.main()
