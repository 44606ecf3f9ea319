#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs with a planted hot spot: the report for assistants must name it.

    planted.py --otelprof PROGRAM --dir DIR

Each program has a line, or two of one statement, with the word GUILTY. `otelprof report --format=markdown` with no other
option must have the name of that function and that line among its first 20 lines. Prints
"ok|FAIL|skip planted CELL: what". Exits 0, 1 (one failed) or 77 (nothing could run).
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = "4"
LINES = 20
# Source, the function that is to blame, kinds of samples.
CELLS = [
    ("regex.py", "find_rule", "cpu"),
    ("concat.py", "render_rows", "cpu"),
    ("dropped.py", "add_item", "cpu"),
    ("columns.c", "sum_columns", "cpu"),
    ("contended.c", "add_to_total", "locks"),
]


def guilty_lines(path):
    with open(path, encoding="utf-8") as f:
        return [i for i, line in enumerate(f, 1) if "GUILTY" in line]


def command(source, directory):
    """What runs the program; None where this machine cannot."""
    if source.endswith(".py"):
        python = shutil.which("python3")
        return python and [python, os.path.join(HERE, source)]
    program = os.path.join(directory, source[:-2])
    subprocess.run(["cc", "-O2", "-g", "-pthread", "-fno-inline", "-o", program,
                    os.path.join(HERE, source)], check=True)
    return [program]


def check(otelprof, directory, source, function, kinds):
    run = command(source, directory)
    if not run:
        return "skip", "no python3"
    recording = os.path.join(directory, source + ".otlp")
    r = subprocess.run([otelprof, "record", "-d", SECONDS, "--kinds", kinds, "-o", recording, "--",
                        *run], capture_output=True, text=True)
    if not os.path.exists(recording):
        return "FAIL", r.stderr.strip().replace("\n", " ")
    text = subprocess.run([otelprof, "report", "--format=markdown", recording],
                          capture_output=True, text=True).stdout
    numbers = guilty_lines(os.path.join(HERE, source))
    place = re.compile(r"\b%s:(%s)\b" % (re.escape(source), "|".join(map(str, numbers))))
    for number, line in enumerate(text.splitlines()[:LINES], 1):
        if re.search(r"\b%s\b" % function, line) and place.search(line):
            return "ok", "%s at %s stands in line %d" % (function, place.search(line).group(), number)
    return "FAIL", "%s at line %s of %s is not in the first %d lines:\n%s" % (
        function, " or ".join(map(str, numbers)), source, LINES,
        "\n".join(text.splitlines()[:LINES]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--otelprof", required=True)
    parser.add_argument("--dir", required=True)
    args = parser.parse_args()
    os.makedirs(args.dir, exist_ok=True)
    status = 77
    for source, function, kinds in CELLS:
        result, what = check(args.otelprof, args.dir, source, function, kinds)
        print("%s planted %s: %s" % (result, source, what), flush=True)
        if result == "FAIL":
            status = 1
        elif result == "ok" and status == 77:
            status = 0
    return status


if __name__ == "__main__":
    sys.exit(main())
