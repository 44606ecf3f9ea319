#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profile native/programs/chain.go as each version of Go builds it: four cells a version.

    golang.py --otelprof PROGRAM --dir DIR [--quick] [--seconds S] [--hz N] [CELL...]

go-VERSION: the compiler inlines what it likes. go-VERSION-noinline: nothing of the chain is
inlined. go-VERSION-stripped: no symbols and no DWARF (-s -w). go-VERSION-pie: a program that can
lie anywhere. A version that is not this host's comes from the module proxy (GOTOOLCHAIN, which Go
1.21 brought). go-VERSION-labels: labels of goroutines, with context/spans.go. By the host's Go:
go-plugin, half of the chain stands in a plugin; go-unknown, a version that nobody knows;
go-unknown-table, and a function table of its own; go-fault, a signal at a first instruction.
--quick takes the host's own alone; "own" is the first cell of these. Prints lines like run.py's.
"""

import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "context"))
sys.path.insert(0, os.path.join(HERE, "..", "..", "framework"))
import build  # noqa: E402
import check  # noqa: E402
import go_unusual  # noqa: E402
import labels  # noqa: E402
import suite  # noqa: E402
from cells import CELLS  # noqa: E402

SOURCE = os.path.join(build.PROGRAMS, CELLS["go"].program)
# The newest that the proxy had of each.
RELEASES = ["1.16.15", "1.17.13", "1.18.10", "1.19.13", "1.20.14", "1.21.13", "1.22.12",
            "1.23.12", "1.24.13", "1.25.14", "1.26.11", "1.27.4"]
MODES = {"": "go-inline", "noinline": "go", "stripped": "go-inline", "pie": "go-inline"}
FLAGS = {"stripped": ["-ldflags=-s -w"], "pie": ["-buildmode=pie"]}
WORDS = {"noinline": "nothing inlined", "stripped": "-s -w", "pie": "PIE"}


LABELS_SINCE = 18  # Go 1.18 tells its version where it is read


def minor(release):
    return ".".join(release.split(".")[:2])


VERSIONS = {minor(release): release for release in RELEASES}


def go(toolchain, *arguments):
    # An old Go does not know the flags that the user has set for a new one.
    return subprocess.run(["go", *arguments], capture_output=True, text=True, timeout=600,
                          env=dict(os.environ, GOTOOLCHAIN=toolchain, GOFLAGS="-mod=mod"))


def release_of(toolchain):
    """The release that runs as @toolchain, and why none does."""
    done = go(toolchain, "version")
    found = re.search(r"go version go(\d+\.\d+[\w.]*)", done.stdout)
    why = (done.stderr.strip().splitlines() or ["it does not tell its version"])[-1]
    return (found.group(1), "") if found else ("", why)


def choose(version):
    """The toolchain and the release of @version."""
    if not shutil.which("go"):
        raise suite.Skip("no go")
    for toolchain in ("local", "go" + VERSIONS[version]):
        release, why = release_of(toolchain)
        if minor(release) == version:
            return toolchain, release
    raise suite.Skip(why or "this host's Go %s takes no other version" % release)


def build_chain(run, name, toolchain, mode):
    """Lines are the same in both modes."""
    with open(SOURCE, encoding="utf-8") as f:
        text = f.read()
    if mode != "noinline":
        text = text.replace("//go:noinline", "//")
    source, out = run.path(name + ".go"), run.path(name)
    with open(source, "w", encoding="utf-8") as f:
        f.write(text)
    done = go(toolchain, "build", *FLAGS.get(mode, []), "-o", out, source)
    if done.returncode:
        raise suite.Skip("not built: " + (done.stderr.strip().splitlines() or ["?"])[-1])
    return out


def known_lines(text):
    """Function → the lines where it calls the chain; where it does not, all that it has."""
    lines = {}
    for function in re.finditer(r"^func (\w+)\(.*?^}", text, re.M | re.S):
        first = text.count("\n", 0, function.start()) + 1
        body = list(enumerate(function.group(0).split("\n"), first))
        calls = {n for n, line in body if re.search(r"\b(?:f\d+|leaf_[abc])\(j\)", line)}
        lines["main." + function.group(1)] = calls or {n for n, _ in body}
    return lines


def cell(run, name, version, mode):
    toolchain, release = choose(version)
    run.row["release"] = release
    process = suite.start(build_chain(run, name, toolchain, mode), suite.LONG)
    try:
        capture, text = run.record_process(name, process.pid)
    finally:
        suite.stop([process])
    known = CELLS[MODES[mode]]
    result = check.check_chain(capture, known, process.pid)
    with open(SOURCE, encoding="utf-8") as f:
        check.check_lines(check.select(capture, process.pid), known, known_lines(f.read()),
                          result)
    result.notes[:] = ["; ".join(result.notes)]
    run.judge(name, result, check.check_rules(capture), check.check_accounting(text))


def labels_cell(run, name, version):
    toolchain, _ = choose(version)
    labels.goroutines(run, name, "go", dict(os.environ, GOTOOLCHAIN=toolchain, GOFLAGS="-mod=mod",
                                            GO111MODULE="off"))


ODD = {"go-plugin": go_unusual.plugin, "go-unknown": go_unusual.unknown,
       "go-unknown-table": go_unusual.unknown_table, "go-fault": go_unusual.fault}


def odd(run, name):
    if not shutil.which("go"):
        raise suite.Skip("no go")
    ODD[name](run, name, go, SOURCE)


def main():
    parser = suite.parser("otelprof")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--hz", type=int, default=999)
    run = suite.Run(parser.parse_args())
    run.suite = "go"
    cells = {"-".join(x for x in ("go", version, mode) if x): (version, mode)
             for version in VERSIONS for mode in MODES}
    labelled = {"go-%s-labels" % version: version for version in VERSIONS
                if int(version.split(".")[1]) >= LABELS_SINCE}
    own = minor(release_of("local")[0]) if shutil.which("go") else ""
    quick = [name for name in cells if cells[name][0] == own] or ["go-1.26"]
    wanted = run.args.cells or (quick if run.args.quick else [*cells, *labelled, *ODD])
    for name in quick[:1] if wanted == ["own"] else wanted:
        if name in ODD:
            run.cell(name, odd)
        elif name in labelled:
            run.cell(name, labels_cell, labelled[name])
        else:
            version, mode = cells[name]
            run.cell(name, cell, version, mode,
                     row=suite.row("Go", version, WORDS.get(mode, "")))
    return run.status()


if __name__ == "__main__":
    sys.exit(main())
