#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profile the known-answer programs and check what comes out.

    run.py --otelprof PROGRAM --dir DIR [--quick] [--seconds S] [--hz N] [CELL...]

Prints "ok|FAIL|skip truth CELL: what" and what was wrong below. Exits 1 if one failed, 77
if nothing could run. Needs root, or the capabilities "otelprof doctor" names.
"""

import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "framework"))
import build  # noqa: E402
import cells  # noqa: E402
import check  # noqa: E402
import otlp  # noqa: E402
import suite  # noqa: E402

STORM_COUNT = 300
STORM_MS = 30


def twin_of(cell, name, folder):
    if not cell.by_address:
        return None
    path, _ = build.build(cell.twin or name, folder)
    return path


def cell_chain(run, name):
    cell = cells.CELLS[name]
    path = run.program(name)
    process = suite.start(path, suite.LONG)
    try:
        capture, text = run.record_process(name, process.pid)
    finally:
        suite.stop([process])
    result = check.check_chain(capture, cell, process.pid, None,
                               twin_of(cell, name, run.args.dir), name)
    run.judge(name, result, check.check_rules(capture), check.check_accounting(text))


def cell_count(run, name):
    """A program under "record -- COMMAND" from start to end: samples correspond to its CPU time."""
    path = run.program("c-gcc")
    stolen = suite.stolen_ns()
    capture, text = run.record(name, "-F", "999", "--", path, "3")
    stolen = suite.stolen_ns() - stolen
    pid = re.search(r"ready (\d+)", text)
    used = re.search(r"cpu_ns (\d+)", text)
    if not pid or not used:
        return run.say("FAIL", name, "the command's own output is missing")
    run.judge(name, check.check_chain(capture, cells.CELLS["c-gcc"], int(pid.group(1)),
                                      hz=999, cpu_ns=int(used.group(1)), stolen_ns=stolen),
              check.check_accounting(text, capture))


def cell_storm(run, name):
    """Short processes while the whole host is profiled."""
    child = run.program("storm")
    links = suite.fresh_folder(run.path("storm-links"))
    children = run.path("storm.children")
    out = run.fresh(name + ".otlp")
    with suite.Recorder(run.args.otelprof, out, "-F", "99") as profiler:
        with open(children, "w", encoding="utf-8") as f:
            subprocess.run([run.path("storm-driver"), child, links, str(STORM_COUNT),
                            str(STORM_MS)], stdout=f, check=True)
        text = profiler.end()
    capture = otlp.read_file(out)
    run.judge(name, check.check_storm(capture, check.read_children(children), 99, STORM_MS),
              check.check_rules(capture), check.check_accounting(text, capture))


def cell_filter(run, name):
    """A filter chooses two of four equal processes: only these appear, and the counters add up."""
    path = run.program("c-gcc")
    processes = [suite.start(path, suite.LONG) for _ in range(4)]
    chosen = {p.pid for p in processes[:2]}
    try:
        capture, text = run.record(name, "-F", "199", "-d", "3",
                                   *[x for pid in chosen for x in ("-p", str(pid))])
    finally:
        suite.stop(processes)
    result = check.Result()
    seen = {s.pid for s in capture.samples}
    result.need(seen == chosen, "samples of %d of 2 chosen, %d of other processes" %
                (len(seen & chosen), len(seen - chosen)))
    row = check.accounting(text) or {}
    result.need(row.get("filtered", 0) > 0, "%s samples filtered" % row.get("filtered"))
    run.judge(name, result, check.check_accounting(text, capture))


SPECIAL = {"count": cell_count, "storm": cell_storm, "filter": cell_filter}


def main():
    parser = suite.parser("otelprof")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--hz", type=int, default=999)
    args = parser.parse_args()
    known = {**dict.fromkeys(cells.CELLS, cell_chain), **SPECIAL}
    quick = [n for n in known if n in SPECIAL or cells.CELLS[n].quick]
    return suite.Run(args).cells(known, quick if args.quick else known)


if __name__ == "__main__":
    sys.exit(main())
