#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/runtimes/versions.md, each runtime, version and mode:

    versions.py RESULTS COMMIT FILE      of which FILE is an earlier one

RESULTS are those of tests/run.sh. After its result, a cell that knows its row (suite.row() in
tests/live/framework) has "figures SUITE CELL JSON". Cells of one row are its programs: a mode has
the worst of their figures.
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
COLUMNS = ["version", "release", "tree", "modes"]
NOT_RUN = report.WORDS["skip"]
MODE = re.compile(r"(.+?) \(([^()]*)\)(?:, |$)")

# @release and @tree: what ran. @figures: two numbers, after the result if it did not pass.
Cell = collections.namedtuple("Cell", "release tree figures")


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
        """Why it did not pass; "" if it did."""
        failed = [f["program"] or text for status, text, f in self.cells if status == "FAIL"]
        if not self.ran():
            return "%s: %s" % (NOT_RUN, self.cells[0][1])
        if failed or list(self.misses()) or not self.figures("exact"):
            why = failed or list(self.misses()) or ["no figures"]
            return "%s: %s" % (report.WORDS["FAIL"], ", ".join(why))
        return ""

    def cell(self, tree):
        words = [self.result(), number(min, self.figures("exact") + self.figures("lines")),
                 number(max, self.figures("leaf"))]
        text = report.shown(", ".join(word for word in words if word))
        return Cell(" ".join(sorted(set(self.figures("release")))) or "–",
                    tree if self.ran() else "–", text.translate(str.maketrans("()", "[]")))


def number(worst, figures):
    return "%.2f" % worst(figures) if figures else ""


def result_of(cell):
    """The word of tests/report.py."""
    return next((word for word in report.WORDS.values() if cell.figures.startswith(word)),
                report.WORDS["ok"])


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
    """An earlier file: {(runtime, version, mode as it is shown): Cell}."""
    table, runtime = {}, None
    if not os.path.exists(path):
        return table
    with open(path, encoding="utf-8") as f:
        for line in f.read().splitlines():
            columns = line[2:-2].split(" | ")
            if line.startswith("## "):
                runtime = line[3:]
            elif runtime and len(columns) == len(COLUMNS) and columns != COLUMNS:
                version, release, tree, modes = columns
                for mode, figures in MODE.findall(modes):
                    table[runtime, version, mode] = Cell(release, tree, figures)
    return table


def merge(table, rows, tree):
    """A mode that was not run does not take the place of one that was."""
    for (runtime, version, mode), row in rows.items():
        key = runtime, version, "`%s`" % mode if mode.startswith("-") else mode
        if row.ran() or key not in table or result_of(table[key]) == NOT_RUN:
            table[key] = row.cell(tree)


def order(key):
    runtime, version, mode = key
    return runtime.lower(), [int(n) for n in re.findall(r"\d+", version)], mode != "default", mode


def line(columns):
    return "| %s |" % " | ".join(columns)


def lines_of(table, keys):
    """A line for the modes of one version, release and tree."""
    lines = collections.OrderedDict()
    for key in keys:
        cell = table[key]
        modes = lines.setdefault((key[1], cell.release, cell.tree), [])
        modes.append("%s (%s)" % (key[2], cell.figures))
    return [line([*first, ", ".join(modes)]) for first, modes in lines.items()]


def write(table):
    keys = sorted(table, key=order)
    runtimes = list(collections.OrderedDict.fromkeys(key[0] for key in keys))
    print("# Runtimes by version\n")
    print("`tests/run.sh --matrix --write-versions` writes this page. A run replaces the modes that "
          "it ran. The machine ran Linux %s, %s. *Tree* is the commit that was tested.\n"
          % (platform.release(), platform.machine()))
    print("Each mode of a version ran programs whose stacks, lines and shares are known "
          "([testing](../testing.md)), sampled at 999 Hz. After its name are two figures of its worst "
          "program:\n")
    print("- The stacks that are right from leaf to root, in %%. Those between two leaves do not "
          "count. If fewer stacks also have right lines, it is their share. At least %.0f %% pass. "
          "In code of PHP's JITs a leaf's own line may be unknown." % EXACT)
    print("- The largest error of a leaf's share, in points. At most %.0f pass.\n" % LEAF)
    print("| runtime | passes | fails | not run |\n|---|---|---|---|")
    for runtime in runtimes:
        results = [result_of(table[key]) for key in keys if key[0] == runtime]
        print(line([runtime] + ["%d" % results.count(word) for word in report.WORDS.values()]))
    for runtime in runtimes:
        print("\n## %s\n\n%s\n%s" % (runtime, line(COLUMNS), "|---" * len(COLUMNS) + "|"))
        print("\n".join(lines_of(table, [key for key in keys if key[0] == runtime])))


def main():
    results, tree, path = sys.argv[1:]
    table = read_table(path)
    merge(table, read(results), tree)
    write(table)


if __name__ == "__main__":
    main()
