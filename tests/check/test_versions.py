# SPDX-License-Identifier: Apache-2.0
"""Tests of ../versions.py: how the results of cells become a table, and what stays of an earlier
one."""

import json
import os
import sys
import tempfile
import unittest
from contextlib import redirect_stdout
from io import StringIO

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live", "languages"))

import versions  # noqa: E402


def result(status, cell, version="21", mode="default", text="x", **figures):
    row = dict(runtime="Java", version=version, mode=mode, program=cell, **figures)
    name = "%s-%s-%s" % (version, mode.translate(str.maketrans("", "", ": ")), cell)
    return ["%s hotspot %s: %s" % (status, name, text),
            "figures hotspot %s %s" % (name, json.dumps(row))]


def ran(status, cell, exact=100.0, lines=100.0, **more):
    return result(status, cell, samples=1000, exact=exact, lines=lines, **more)


class Table(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.results = os.path.join(self.folder.name, "results")
        self.path = os.path.join(self.folder.name, "versions.md")

    def tearDown(self):
        self.folder.cleanup()

    def write(self, *results, tree="new"):
        """Returns {(version, mode): versions.Cell} as written."""
        with open(self.results, "w", encoding="utf-8") as f:
            f.write("\n".join(line for lines in results for line in lines) + "\n")
        table = versions.read_table(self.path)
        versions.merge(table, versions.read(self.results), tree)
        with redirect_stdout(StringIO()) as told:
            versions.write(table)
        self.text = told.getvalue()
        with open(self.path, "w", encoding="utf-8") as f:
            f.write(self.text)
        rows = versions.read_table(self.path)
        self.assertEqual(rows, table)
        return {key[1:]: cell for key, cell in rows.items()}

    def test_the_worst_of_the_programs(self):
        cell = self.write(ran("ok", "scenes", 99.5, 99.25, leaf=1.25, release="21.0.2"),
                          ran("ok", "calls", 99.75, 100.0, release="21.0.2"))["21", "default"]
        self.assertEqual(cell, ("21.0.2", "new", "99.25, 1.25"))

    def test_a_cell_that_fails(self):
        cells = self.write(ran("ok", "scenes"), ran("FAIL", "calls"),
                           result("FAIL", "scenes", "25", text="KeyError: 1"))
        self.assertEqual(cells["21", "default"].figures, "fails: calls, 100.00")
        self.assertEqual(cells["25", "default"].figures, "fails: scenes")

    def test_a_cell_that_passes_with_figures_that_do_not(self):
        def figures(**more):
            return self.write(ran("ok", "scenes", **more))["21", "default"].figures
        self.assertEqual(figures(), "100.00")
        self.assertEqual(figures(leaf=2.0, exact=99.0, lines=99.0), "99.00, 2.00")
        self.assertEqual(figures(exact=98.99), "fails: exact, 98.99")
        self.assertEqual(figures(lines=98.99), "fails: lines, 98.99")
        self.assertEqual(figures(leaf=2.01), "fails: leaf, 100.00, 2.01")
        self.assertEqual(self.write(result("ok", "scenes"))["21", "default"].figures,
                         "fails: no figures")

    def test_not_run(self):
        cells = self.write(result("skip", "scenes", "8", "-XX:+UseZGC", "no (|) at /a/b/c here"),
                           result("skip", "calls", "8", "-XX:+UseZGC", "no"))
        self.assertEqual(cells["8", "`-XX:+UseZGC`"], ("–", "–", "not run: no [\\|] at c here"))

    def test_one_of_two_programs_not_run(self):
        cell = self.write(ran("ok", "scenes"), result("skip", "calls"))["21", "default"]
        self.assertEqual(cell.figures, "100.00")

    def test_what_did_not_run_stays(self):
        self.write(ran("ok", "scenes"), ran("ok", "scenes", version="17"),
                   result("skip", "scenes", "11", text="not here"),
                   result("skip", "scenes", "8", text="not here"), tree="old")
        cells = self.write(ran("FAIL", "scenes", 50.0, version="17"),
                           ran("ok", "scenes", version="8"),
                           result("skip", "scenes", "21", text="gone"),
                           result("skip", "scenes", "11", text="gone"))
        self.assertEqual([(version, cell.tree, cell.figures)
                          for (version, _), cell in cells.items()],
                         [("8", "new", "100.00"), ("11", "–", "not run: gone"),
                          ("17", "new", "fails: scenes, 50.00"), ("21", "old", "100.00")])
        self.assertIn("| Java | 2 | 1 | 1 |\n", self.text)

    def test_modes_share_a_line(self):
        for tree in "old", "new":
            self.write(ran("ok", "a"), ran("ok", "a", mode="musl, static", exact=99.5),
                       ran("ok", "b", mode="musl" if tree == "old" else "-Xint"), tree=tree)
        self.assertIn("| 21 | – | new | default (100.00), `-Xint` (100.00), "
                      "musl, static (99.50) |\n| 21 | – | old | musl (100.00) |\n", self.text)

    def test_order(self):
        rows = self.write(ran("ok", "a", version="3.10"), ran("ok", "a", version="3.9", mode="-b"),
                          ran("ok", "a", version="3.9"))
        self.assertEqual(list(rows), [("3.9", "default"), ("3.9", "`-b`"), ("3.10", "default")])

    def test_cells_without_a_row_are_left_out(self):
        self.assertEqual(self.write(["ok hotspot storm: x"], ran("ok", "scenes")).keys(),
                         {("21", "default")})


if __name__ == "__main__":
    unittest.main()
