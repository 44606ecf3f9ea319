#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Build the known-answer programs: build.py DIR [CELL...]. Prints one line for each cell."""

import os
import shutil
import subprocess
import sys

import cells

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(HERE, "..", "languages", "native", "programs")


def build(name, folder):
    """Returns (path, None) or (None, why not)."""
    cell = cells.CELLS[name]
    missing = [tool for tool in cell.needs if not shutil.which(tool)]
    if missing:
        return None, "no " + " ".join(missing)
    folder = os.path.abspath(folder)
    out = os.path.join(folder, name)
    source = os.path.join(PROGRAMS, cell.program)
    if os.path.exists(out) and os.path.getmtime(out) > newest_source():
        return out, None
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "keep"), "w", encoding="utf-8") as f:
        f.write("\n".join(["f%d" % n for n in range(1, 25)] +
                          ["leaf_a", "leaf_b", "leaf_c", "main", "truth_run", "_start"]) + "\n")
    command = cell.command.format(src=source, out=out, dir=folder, programs=PROGRAMS)
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=folder)
    if done.returncode:
        return None, "not built: " + (done.stderr.strip().splitlines() or ["?"])[-1]
    return out, None


def newest_source():
    paths = [os.path.join(PROGRAMS, n) for n in os.listdir(PROGRAMS)]
    return max(os.path.getmtime(p) for p in paths + [os.path.join(HERE, "cells.py")])


def main():
    folder = sys.argv[1]
    status = 0
    for name in sys.argv[2:] or cells.CELLS:
        path, why = build(name, folder)
        print(name, path or why)
        status |= path is None
    return status


if __name__ == "__main__":
    sys.exit(main())
