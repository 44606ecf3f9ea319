#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs with a planted fault: what a person sees first must name it.

    planted.py --otelprof PROGRAM --dir DIR [--turn] [--others FILE] [CELL...]

Each program has a line, or two, with the word GUILTY. A cell types what a person would: `otelprof
record -- COMMAND`, or `-p PID` of a program that runs. The function of that line and the line must
be in one row of the first ten lines of the summary and of `otelprof report`, and in the first 20 of
`report --format=markdown`. Where they are not, the cell does what the first ten lines of the
summary name first (`--kinds X`: record again; `--kind X`: report that), once.

--turn runs a few of the cells, others each day. --others writes a table with what perf, py-spy
and `go tool pprof` show, too. Prints "ok|FAIL|skip planted CELL: what". Exits 0, 1 (one failed) or 77
(nothing could run).
"""
import argparse
import datetime
import os
import re
import subprocess
import sys

import others
import page
import programs
from programs import suite

LINES = 10
MARKDOWN_LINES = 20
A_TURN = 3
NAMED = re.compile(r"--(kinds?|tree) (\w+)")


class Cell:
    """@function: the one that is to blame. @kinds: what the person asks for; None: nothing.
    @start: of programs.py. @row: what its row must say, too. @says: what the lines must say.
    @never: what none may say.
    @follows: what the first command names must be right, however good its own answer is."""

    def __init__(self, source, function, start=programs.plain, kinds=None, seconds=2, row="",
                 says="", never=None, follows=False):
        self.source, self.function, self.start = source, function, start
        self.kinds, self.seconds = kinds, seconds
        self.row, self.says, self.never = row, says, never
        self.follows = follows


CELLS = {
    "regex": Cell("regex.py", "find_rule"),
    "concat": Cell("concat.py", "render_rows"),
    "dropped": Cell("dropped.py", "add_item"),
    "columns": Cell("columns.c", "sum_columns"),
    "contended": Cell("contended.c", "add_to_total", kinds="locks"),
    "deadlock-c": Cell("deadlock.c", "transfer", programs.hung),
    "deadlock-python": Cell("deadlock.py", "(one|two)", programs.hung),
    "deadlock-off_cpu": Cell("deadlock.py", "(one|two)", programs.hung, "off_cpu"),
    "deadlock-wall": Cell("deadlock.py", "(one|two)", programs.hung, "wall"),
    "halfdead": Cell("halfdead.py", "(one|two)", programs.hung, "off_cpu", row="for a lock"),
    "halfdead-wall": Cell("halfdead.py", "(one|two)", programs.hung, "wall"),
    "convoy": Cell("convoy.cpp", "Registry::observe", row="for a lock", follows=True),
    "gunicorn": Cell("storefront.py", "find|<listcomp>", programs.served),
    "quadratic": Cell("dedupe.js", "withoutDuplicates"),
    "garbage-go": Cell("garbage.go", "main.normalize",
                       says=r"\d% of that went to the garbage collector"),
    "garbage-java": Cell("Garbage.java", "Garbage.prices", seconds=4,
                         says=r"\d\d% of that went to the garbage collector"),
    "o_sync": Cell("ledger.c", "append_booking", row="for disk", follows=True),
    "sharing": Cell("sharing.c", "count_packet"),
    "leak": Cell("leak.c", "log_in", programs.preloaded, "heap", row="still in use at the end",
                 never=r"reply\b.*still in use|still in use.*reply\b"),
    "names": Cell("names.c", "resolve_peer", programs.silent_resolver, seconds=4,
                  row="the address of a name"),
    "queries": Cell("orders.py", "customer_of", programs.with_postgres, seconds=3,
                    row="for network", follows=True),
    "validate": Cell("validate.cpp", "is_address"),
    "pool": Cell("pool.cpp", "Pool::work"),
    "faults": Cell("frames.c", "clear"),
    "import": Cell("report.py", "<module>|<dictcomp>"),
}


def guilty(name):
    """The file and its lines that are to blame."""
    for path in (programs.source(name), programs.source("tariffs.py")):
        with open(path, encoding="utf-8") as f:
            lines = [i for i, line in enumerate(f, 1) if "GUILTY" in line]
        if lines:
            return os.path.basename(path), lines
    raise ValueError(name + " has no line that is to blame")


def first(text, lines=LINES):
    return text.splitlines()[:lines]


class Try:
    """One recording of a cell's program and what it shows."""

    def __init__(self, run, cell, target, kinds, option="-p"):
        self.run, self.cell = run, cell
        self.file = os.path.join(run.dir, "%s.%s%s.otlp" % (cell.source, kinds or "default",
                                                            option))
        if os.path.exists(self.file):
            os.unlink(self.file)
        self.typed = [*(["--kinds", kinds] if kinds else [])]
        what = [option, str(target.pid)] if target.pid else ["--", *target.argv]
        self.summary = subprocess.run(
            [*target.before, run.otelprof, "record", "--no-keep", *self.typed, "-o", self.file,
             "-d", "1" if target.pid and "deadlock" in cell.source else str(cell.seconds), *what],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=run.dir,
            check=False).stderr

    def report(self, *args):
        return subprocess.run([self.run.otelprof, "report", *args, self.file], capture_output=True,
                              text=True, check=False).stdout

    def views(self, kind):
        """(name, text, how many lines) of all that is looked at."""
        args = ["--kind", kind] if kind else []
        if not kind:
            yield "summary", self.summary, LINES
        yield "report", self.report(*args), LINES
        yield "markdown", self.report("--format=markdown", *args), MARKDOWN_LINES
        shown = None if kind else page.rows(self.run.page or self.run.otelprof, self.file)
        if shown is not None:
            yield "page", "\n".join(shown), len(shown)

    def judge(self, kind=None):
        """Returns where it is named, and what is wrong, or None."""
        place = place_of(self.cell)
        name = re.compile(r"(?<![\w.])(%s)(?!\w)" % self.cell.function)
        found = []
        for view, text, lines in self.views(kind):
            shown = first(text, lines)
            row, says = ("", "") if view == "page" else (self.cell.row, self.cell.says)
            rows = [(i, line) for i, line in enumerate(shown, 1)
                    if place.search(line) and name.search(place.sub("", line)) and
                    re.search(row, line)]
            if not rows or not re.search(says, "\n".join(shown)):
                return "", "%s at %s %s %s is not in the first %d lines of the %s:\n%s" % (
                    self.cell.function, place.pattern, row, says, lines, view,
                    "\n".join(shown))
            if self.cell.never and re.search(self.cell.never, text):
                return "", "the %s says what is not so, %s:\n%s" % (view, self.cell.never,
                                                                    "\n".join(shown))
            if not found:
                self.row = rows[0][1]
            found.append("%s %d" % (view, rows[0][0]))
        return "; line: " + ", ".join(found), None


def follow(run, cell, target, typed):
    """Do what the first lines of @typed name first. Returns it, what happened and what is wrong."""
    named = NAMED.search("\n".join(first(typed.summary)))
    if not named:
        return typed, "", "nothing is named"
    option, word = named.groups()
    if option == "kind":
        where, wrong = typed.judge(word)
    else:
        typed = Try(run, cell, target, word if option == "kinds" else None,
                    "--tree" if option == "tree" else "-p")
        where, wrong = typed.judge()
    return typed, ", then --%s %s" % (option, word if option != "tree" else "PID") + where, wrong


def place_of(cell):
    file, numbers = guilty(cell.source)
    return re.compile(r"%s:(%s)\b" % (re.escape(file), "|".join(map(str, numbers))))


def check(run, name, cell, target):
    """Returns what happened, and what is wrong, or None."""
    typed = Try(run, cell, target, cell.kinds)
    where, wrong = (None, "it is not the answer") if cell.follows else typed.judge()
    how = "record" + "".join(" " + word for word in typed.typed)
    if wrong:
        typed, where, again = follow(run, cell, target, typed)
        wrong = again and wrong + "\nand by what that names: " + again
    if not wrong and run.others:
        did = how + where.split("; line")[0].split(" stands")[0]
        row = typed.row.split(", mostly in")[0]
        run.rows.append((name, cell.source, did.split(";")[0], " ".join(row.split()),
                         *others.of(run, cell, target, place_of(cell))))
    return how + where, wrong


def cell_of(run, name, cell):
    try:
        with cell.start(cell.source, run.dir) as target:
            what, wrong = check(run, name, cell, target)
    except suite.Skip as why:
        return "skip", str(why)
    return ("FAIL", wrong) if wrong else ("ok", what)


def of_today():
    """A few of the cells: all of them by turns."""
    names = list(CELLS)
    at = datetime.date.today().toordinal() * A_TURN
    return [names[(at + i) % len(names)] for i in range(A_TURN)]


def write_table(path, rows):
    with open(path, "w", encoding="utf-8") as f:
        f.write("| mistake | command | row of the answer | perf | py-spy, pprof |\n"
                "|---|---|---|---|---|\n")
        for name, source, did, row, perf, own in rows:
            f.write("| %s (`%s`) | %s | `%s` | %s | %s |\n" % (name, source, did, row, perf,
                                                                own or "–"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--otelprof", required=True, type=os.path.abspath)
    parser.add_argument("--dir", required=True, type=os.path.abspath)
    parser.add_argument("--turn", action="store_true")
    parser.add_argument("--others", metavar="FILE")
    parser.add_argument("--page", metavar="PROGRAM", help="another otelprof for the pages")
    parser.add_argument("cells", nargs="*")
    run = parser.parse_args()
    run.rows = []
    os.environ["PLANTED_OTELPROF"] = run.otelprof
    os.makedirs(run.dir, exist_ok=True)
    status = 77
    for name in run.cells or (of_today() if run.turn else CELLS):
        result, what = cell_of(run, name, CELLS[name])
        print("%s planted %s: %s" % (result, name, what), flush=True)
        if result == "FAIL":
            status = 1
        elif result == "ok" and status == 77:
            status = 0
    if run.others:
        write_table(run.others, run.rows)
    return status


if __name__ == "__main__":
    sys.exit(main())
