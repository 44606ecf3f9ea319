#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs of planted.py: the page must name the guilty line before anything is pressed.

    page.py --otelprof PROGRAM --dir DIR

The name of the function and its line must be what can be seen above the graph, in a window of
1400 x 900. Prints "ok|FAIL|skip planted-page CELL: what". Exits 0, 1 (one failed) or 77.
"""
import argparse
import os
import re
import subprocess
import sys

import planted

sys.path.insert(0, os.path.join(planted.HERE, "../../unit/program/report"))
import browser  # noqa: E402

SECONDS = "4"
# What hangs needs more than a recording of its start.
CELLS = [cell[:3] for cell in planted.CELLS if not cell[0].startswith("deadlock")]
SEEN = """[...document.querySelectorAll("#own li")].map(row => [...row.children])
    .filter(cells => cells.every(c => c.checkVisibility() && c.getBoundingClientRect().bottom < innerHeight))
    .map(cells => cells.map(c => c.textContent).join(" "))"""


def check(chromium, otelprof, directory, source, function, kinds):
    run = planted.command(source, directory)
    if not run:
        return "skip", "no python3"
    recording, page = (os.path.join(directory, source + end) for end in (".page.otlp", ".html"))
    subprocess.run([otelprof, "record", "-q", "-d", SECONDS, "--kinds", kinds, "-o", recording, "--", *run],
                   capture_output=True)
    r = subprocess.run([otelprof, "convert", "--lines", "-o", page, recording], capture_output=True, text=True)
    if r.returncode:
        return "FAIL", r.stderr.strip().replace("\n", " ")
    chromium.open(page)
    numbers = planted.guilty_lines(os.path.join(planted.HERE, source))
    place = re.compile(r"\b%s:(%s)\b" % (re.escape(source), "|".join(map(str, numbers))))
    seen = chromium.js(SEEN)
    for number, row in enumerate(seen, 1):
        if re.search(r"\b%s\b" % function, row) and place.search(row):
            return "ok", "row %d: %s" % (number, row)
    return "FAIL", "%s at line %s is not among: %s" % (function, " or ".join(map(str, numbers)), seen)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--otelprof", required=True)
    parser.add_argument("--dir", required=True)
    args = parser.parse_args()
    if not browser.CHROMIUM:
        print("skip planted-page: there is no chromium")
        return 77
    os.makedirs(args.dir, exist_ok=True)
    status = 77
    chromium = browser.Chromium(1400, 900)
    try:
        for cell in CELLS:
            result, what = check(chromium, args.otelprof, args.dir, *cell)
            print("%s planted-page %s: %s" % (result, cell[0], what), flush=True)
            if result == "FAIL":
                status = 1
            elif result == "ok" and status == 77:
                status = 0
    finally:
        chromium.close()
    return status


if __name__ == "__main__":
    sys.exit(main())
