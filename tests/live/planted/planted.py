#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs with a planted hot spot: what a person sees first must name it.

    planted.py --otelprof PROGRAM --dir DIR

Each program has a line, or two of one statement, with the word GUILTY. The name of that function and that line must be among
the first ten lines of the summary of `otelprof record` and of `otelprof report` with no option, and among the first 20
of `otelprof report --format=markdown`. Prints
"ok|FAIL|skip planted CELL: what". Exits 0, 1 (one failed) or 77 (nothing could run).
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = "2"
HANGS_AFTER = 0.5  # of when it says that it begins
LINES = 10
MARKDOWN_LINES = 20
# Source, the function that is to blame, kinds of samples.
CELLS = [
    ("regex.py", "find_rule", "cpu"),
    ("concat.py", "render_rows", "cpu"),
    ("dropped.py", "add_item", "cpu"),
    ("columns.c", "sum_columns", "cpu"),
    ("contended.c", "add_to_total", "locks"),
    ("deadlock.py", "one", "cpu"),
    ("deadlock.py", "one", "off_cpu"),
    ("deadlock.py", "two", "wall"),
]


def guilty_lines(path):
    with open(path, encoding="utf-8") as f:
        return [i for i, line in enumerate(f, 1) if "GUILTY" in line]


def python():
    """The interpreter itself: what starts it for a user may be a program of its own."""
    found = shutil.which("python3")
    return found and subprocess.run([found, "-c", "import sys; print(sys.executable)"], check=True,
                                    capture_output=True, text=True).stdout.strip()


def command(source, directory):
    """What runs the program; None where this machine cannot."""
    if source.endswith(".py"):
        found = python()
        return found and [found, os.path.join(HERE, source)]
    program = os.path.join(directory, source[:-2])
    subprocess.run(["cc", "-O2", "-g", "-pthread", "-fno-inline", "-o", program,
                    os.path.join(HERE, source)], check=True)
    return [program]


def check(otelprof, directory, source, function, kinds):
    run = command(source, directory)
    if not run:
        return "skip", "no python3"
    recording = os.path.join(directory, "%s.%s.otlp" % (source, kinds))
    r = record(otelprof, source, kinds, recording, run)
    if not os.path.exists(recording):
        return "FAIL", r.stderr.strip().replace("\n", " ")
    numbers = guilty_lines(os.path.join(HERE, source))
    place = re.compile(r"\b%s:(%s)\b" % (re.escape(source), "|".join(map(str, numbers))))
    found = []
    for name, text, lines in (("summary", r.stderr, LINES),
                              ("report", report(otelprof, recording), LINES),
                              ("markdown", report(otelprof, recording, "--format=markdown"),
                               MARKDOWN_LINES)):
        at = [number for number, line in enumerate(text.splitlines()[:lines], 1)
              if re.search(r"\b%s\b" % function, line) and place.search(line)]
        if not at:
            return "FAIL", "%s at line %s of %s is not in the first %d lines of the %s:\n%s" % (
                function, " or ".join(map(str, numbers)), source, lines, name,
                "\n".join(text.splitlines()[:lines]))
        found.append("%s %d" % (name, at[0]))
    return "ok", "%s stands in line: %s" % (function, ", ".join(found))


def record(otelprof, source, kinds, recording, run):
    command = [otelprof, "record", "--kinds", kinds, "-o", recording, "-d"]
    if not source.startswith("deadlock"):
        return subprocess.run([*command, SECONDS, "--", *run], capture_output=True, text=True)
    # One that hangs already, as people find it.
    with subprocess.Popen(run, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        time.sleep(HANGS_AFTER)
        r = subprocess.run([*command, "1", "-p", str(process.pid)], capture_output=True, text=True)
        process.kill()
    return r


def report(otelprof, recording, *args):
    return subprocess.run([otelprof, "report", *args, recording], capture_output=True,
                          text=True).stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--otelprof", required=True)
    parser.add_argument("--dir", required=True)
    args = parser.parse_args()
    os.makedirs(args.dir, exist_ok=True)
    status = 77
    for source, function, kinds in CELLS:
        result, what = check(args.otelprof, args.dir, source, function, kinds)
        print("%s planted %s (%s): %s" % (result, source, kinds, what), flush=True)
        if result == "FAIL":
            status = 1
        elif result == "ok" and status == 77:
            status = 0
    return status


if __name__ == "__main__":
    sys.exit(main())
