# SPDX-License-Identifier: Apache-2.0
"""Tests of ../versions.py: how the results of cells become rows, and what of an earlier table
stays."""

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
    name = "%s-%s-%s" % (version, mode.replace(":", ""), cell)
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
        """Returns the table's rows, as {(version, mode): {column: text}}."""
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
        return {key[1:]: dict(zip(versions.COLUMNS, columns)) for key, columns in rows.items()}

    def test_the_worst_of_the_programs_is_told(self):
        row = self.write(ran("ok", "scenes", 99.5, 99.25, leaf=1.25, release="21.0.2",
                             errors={"native_stuck": 2}),
                         ran("ok", "calls", 99.75, 100.0, release="21.0.2",
                             errors={"native_stuck": 1, "truncated": 1}))["21", "default"]
        self.assertEqual(row, {
            "version": "21", "release": "21.0.2", "mode": "default", "programs": "scenes calls",
            "samples": "2000", "exact %": "99.50", "lines right %": "99.25",
            "leaf error": "1.25", "errors by name": "native_stuck 3, truncated 1",
            "result": "passes", "tree": "new"})

    def test_a_cell_that_fails(self):
        rows = self.write(ran("ok", "scenes"), ran("FAIL", "calls"),
                          result("FAIL", "scenes", "25", text="KeyError: 1"))
        self.assertEqual(rows["21", "default"]["result"], "fails: calls")
        self.assertEqual(rows["25", "default"]["result"], "fails: scenes")
        self.assertEqual(rows["25", "default"]["exact %"], "–")

    def test_a_cell_that_passes_with_figures_that_do_not(self):
        def told(**more):
            return self.write(ran("ok", "scenes", **more))["21", "default"]["result"]
        self.assertEqual(told(), "passes")
        self.assertEqual(told(leaf=2.0, exact=99.0, lines=99.0), "passes")
        self.assertEqual(told(exact=98.99), "fails: exact")
        self.assertEqual(told(lines=98.99), "fails: lines")
        self.assertEqual(told(leaf=2.01), "fails: leaf")
        self.assertEqual(self.write(result("ok", "scenes"))["21", "default"]["result"],
                         "fails: no figures")

    def test_not_run(self):
        rows = self.write(result("skip", "scenes", "8", "-XX:+UseZGC", "no | at /a/b/c here"),
                          result("skip", "calls", "8", "-XX:+UseZGC", "no"))
        row = rows["8", "`-XX:+UseZGC`"]
        self.assertEqual(row["result"], "not run: no \\| at c here")
        self.assertEqual((row["samples"], row["programs"], row["tree"]), ("–", "–", "–"))

    def test_one_of_two_programs_not_run(self):
        row = self.write(ran("ok", "scenes"), result("skip", "calls"))["21", "default"]
        self.assertEqual((row["programs"], row["result"]), ("scenes", "passes"))

    def test_rows_that_did_not_run_stay(self):
        self.write(ran("ok", "scenes"), ran("ok", "scenes", version="17"),
                   result("skip", "scenes", "11", text="not here"),
                   result("skip", "scenes", "8", text="not here"), tree="old")
        rows = self.write(ran("FAIL", "scenes", 50.0, version="17"), ran("ok", "scenes", version="8"),
                          result("skip", "scenes", "21", text="gone"),
                          result("skip", "scenes", "11", text="gone"))
        told = [(version, row["result"], row["tree"]) for (version, _), row in rows.items()]
        self.assertEqual(told, [("8", "passes", "new"), ("11", "not run: gone", "–"),
                                ("17", "fails: scenes", "new"), ("21", "passes", "old")])
        self.assertIn("| Java | 2 | 1 | 1 |\n", self.text)

    def test_order(self):
        rows = self.write(ran("ok", "a", version="3.10"), ran("ok", "a", version="3.9", mode="-b"),
                          ran("ok", "a", version="3.9"))
        self.assertEqual(list(rows), [("3.9", "default"), ("3.9", "`-b`"), ("3.10", "default")])

    def test_cells_without_a_row_are_left_out(self):
        self.assertEqual(self.write(["ok hotspot storm: x"], ran("ok", "scenes")).keys(),
                         {("21", "default")})


if __name__ == "__main__":
    unittest.main()
