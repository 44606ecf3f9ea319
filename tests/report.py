# SPDX-License-Identifier: Apache-2.0
"""Results of tests/run.sh: lines "ok|FAIL|skip SUITE CELL: TEXT", and for some cells lines
"figures SUITE CELL JSON", which versions.py reads.
"""

import json
import os
import re
from collections import OrderedDict

STATUS = {"OK": "ok", "EXPECTEDFAIL": "ok", "SKIP": "skip"}
WORDS = {"ok": "passes", "FAIL": "fails", "skip": "not run"}


def meson(suite, path):
    """Yields the lines of meson's testlog.json."""
    if not os.path.exists(path):
        yield "FAIL %s run: meson test wrote no log" % suite
        return
    with open(path, encoding="utf-8") as f:
        for line in f:
            row = json.loads(line)
            status = STATUS.get(row["result"], "FAIL")
            text = "%.1f s" % row.get("duration", 0)
            if status == "skip":
                found = re.search(r"SKIP: (.*)|^skip \S+ \S+: (.*)", row.get("stdout") or "",
                                  re.MULTILINE)
                text = found.group(1) or found.group(2) if found else "said no reason"
            if status == "FAIL":
                text = row["result"].lower()
            name = row["name"].split(" / ")[-1].replace(" ", "_").replace(":", "/")
            yield "%s %s %s: %s" % (status, suite, name, text)


def figures_of(lines):
    """{(suite, cell): JSON}."""
    found = (re.match(r"figures (\S+) (\S+) (\{.*\})$", line) for line in lines)
    return {(match[1], match[2]): match[3] for match in found if match}


def read(path):
    rows = []
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            match = re.match(r"(ok|FAIL|skip) (\S+) ([^:]+): (.*)", line)
            if match:
                rows.append(match.groups())
    return rows


def by_suite(rows):
    suites = OrderedDict()
    for status, suite, cell, text in rows:
        suites.setdefault(suite, []).append((status, cell, text))
    return suites


def tally(cells):
    return {word: sum(1 for status, _, _ in cells if status == word) for word in WORDS}


def summary(rows, times):
    """@times: seconds, and seconds of CPU time, of each suite and build."""
    print("%-16s %8s %8s %8s %8s %8s" % ("suite", *WORDS.values(), "seconds", "of CPU"))
    suites = by_suite(rows)
    for name in dict.fromkeys([*times, *suites]):
        print("%-16s %8s %8s %8s %8d %8d" % (name, *(
            tally(suites[name]).values() if name in suites else "   "), *times.get(name, (0, 0))))
    for status, suite, cell, text in rows:
        if status != "ok":
            print("%s %s %s: %s" % (status, suite, cell, text))


def shown(text):
    """@text in a table, with no path of a machine."""
    return re.sub(r"/\S*/", "", text).replace("|", "\\|")


def count(rows):
    """The last line."""
    found = tally([(status, cell, text) for status, _, cell, text in rows])
    print("%d passed, %d failed, %d skipped" % (found["ok"], found["FAIL"], found["skip"]))
