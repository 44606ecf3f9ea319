# SPDX-License-Identifier: Apache-2.0
"""Tests of ../report.py: how the results of a suite and of its second run become one."""

import os
import sys
import unittest
from contextlib import redirect_stdout
from io import StringIO

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import report  # noqa: E402


def again(first, second):
    with redirect_stdout(StringIO()) as told:
        report.again(first, second)
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


if __name__ == "__main__":
    unittest.main()
