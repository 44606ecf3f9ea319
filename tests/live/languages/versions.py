#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/runtimes/versions.md, a row for each runtime, version and mode:

    versions.py RESULTS COMMIT FILE      of which FILE is an earlier one

RESULTS are those of tests/run.sh. After its result, a cell that knows its row (suite.row() in
tests/live/framework) has "figures SUITE CELL JSON". Cells of one row are its programs: a row has the worst of
their figures, and the sums of samples and errors.
"""

import collections
import json
import os
import platform
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
import report  # noqa: E402

EXACT = LINES = 99.0  # per cent, at least
LEAF = 2.0  # points, at most
COLUMNS = ["version", "release", "mode", "programs", "samples", "exact %", "lines right %",
           "leaf error", "errors by name", "result", "tree"]
RESULT = COLUMNS.index("result")
NOT_RUN = report.WORDS["skip"]


class Row:
    def __init__(self):
        self.cells = []  # (status, text, figures)

    def ran(self):
        return [cell for cell in self.cells if cell[0] != "skip"]

    def figures(self, name):
        return [f[name] for _, _, f in self.cells if name in f]

    def misses(self):
        """Which figures are not good enough, whatever the cells said."""
        for name, worst, enough in (("exact", min, lambda x: x >= EXACT),
                                    ("lines", min, lambda x: x >= LINES),
                                    ("leaf", max, lambda x: x <= LEAF)):
            if self.figures(name) and not enough(worst(self.figures(name))):
                yield name

    def result(self):
        failed = [f["program"] or text for status, text, f in self.cells if status == "FAIL"]
        if not self.ran():
            return "%s: %s" % (NOT_RUN, self.cells[0][1])
        if failed or list(self.misses()) or not self.figures("exact"):
            why = failed or list(self.misses()) or ["no figures"]
            return "%s: %s" % (report.WORDS["FAIL"], ", ".join(why))
        return report.WORDS["ok"]

    def words(self, version, mode, tree):
        errors = collections.Counter()
        for of_cell in self.figures("errors"):
            errors.update(of_cell)
        columns = {
            "version": version,
            "release": " ".join(sorted(set(self.figures("release")))),
            "mode": "`%s`" % mode if mode.startswith("-") else mode,
            "programs": " ".join(f["program"] for _, _, f in self.ran()),
            "samples": "%d" % sum(self.figures("samples")) if self.figures("samples") else "",
            "exact %": number(min, self.figures("exact")),
            "lines right %": number(min, self.figures("lines")),
            "leaf error": number(max, self.figures("leaf")),
            "errors by name": ", ".join("%s %d" % e for e in errors.most_common()),
            "result": self.result(),
            "tree": tree if self.ran() else "",
        }
        return [report.shown(columns[name]) or "–" for name in COLUMNS]


def number(worst, figures):
    return "%.2f" % worst(figures) if figures else ""


def read(results):
    """{(runtime, version, mode): Row} of the file @results."""
    with open(results, encoding="utf-8", errors="replace") as f:
        figures = report.figures_of(f)
    rows = collections.OrderedDict()
    for status, suite, cell, text in report.read(results):
        if (suite, cell) in figures:
            found = json.loads(figures[suite, cell])
            key = tuple(found[name] for name in ("runtime", "version", "mode"))
            rows.setdefault(key, Row()).cells.append((status, text, found))
    return rows


def read_table(path):
    """Rows of an earlier file: {(runtime, version, mode as it is shown): columns}."""
    table, runtime = {}, None
    if not os.path.exists(path):
        return table
    with open(path, encoding="utf-8") as f:
        for line in f.read().splitlines():
            columns = line[2:-2].split(" | ")
            if line.startswith("## "):
                runtime = line[3:]
            elif runtime and len(columns) == len(COLUMNS) and columns != COLUMNS:
                table[runtime, columns[0], columns[2]] = columns
    return table


def merge(table, rows, tree):
    """A row that was not run does not take the place of one that was."""
    for (runtime, version, mode), row in rows.items():
        words = row.words(version, mode, tree)
        key = runtime, version, words[COLUMNS.index("mode")]
        if row.ran() or key not in table or table[key][RESULT].startswith(NOT_RUN):
            table[key] = words


def order(key):
    runtime, version, mode = key
    return runtime.lower(), [int(n) for n in re.findall(r"\d+", version)], mode != "default", mode


def line(columns):
    return "| %s |" % " | ".join(columns)


def write(table):
    keys = sorted(table, key=order)
    runtimes = list(collections.OrderedDict.fromkeys(key[0] for key in keys))
    print("# Runtimes by version\n")
    print("Written by `tests/run.sh --matrix --write-versions` on Linux %s, %s; do not edit. A run "
          "writes the rows that it ran, and leaves the others as an earlier one left them: *tree* "
          "is the commit that a row ran on.\n" % (platform.release(), platform.machine()))
    print("Each row is a version of a runtime, in one mode, that ran programs whose stacks, lines "
          "and shares are known ([testing](../testing.md)), sampled at 999 Hz. *Exact* are the "
          "stacks that are right from the leaf to the root, without those between two leaves; "
          "*lines right*, of these, the ones all of whose lines are right; *leaf error* is in "
          "points how far the share of a leaf is from the truth, at worst. *Errors* are the reasons "
          "that samples give for a stack that ends early. Where there are several programs, it is "
          "the worst that is told. A row passes with %.0f %% exact, %.0f %% of the lines and %.0f "
          "points, and where all else holds that its programs are checked for; – means that they "
          "do not tell. In code of PHP's JITs a leaf's own line may be unknown.\n"
          % (EXACT, LINES, LEAF))
    print("| runtime | passes | fails | not run |\n|---|---|---|---|")
    for runtime in runtimes:
        results = [table[key][RESULT] for key in keys if key[0] == runtime]
        print(line([runtime] + ["%d" % sum(r.startswith(word) for r in results)
                                for word in report.WORDS.values()]))
    for runtime in runtimes:
        print("\n## %s\n\n%s\n%s" % (runtime, line(COLUMNS), "|---" * len(COLUMNS) + "|"))
        for key in keys:
            if key[0] == runtime:
                print(line(table[key]))


def main():
    results, tree, path = sys.argv[1:]
    table = read_table(path)
    merge(table, read(results), tree)
    write(table)


if __name__ == "__main__":
    main()
