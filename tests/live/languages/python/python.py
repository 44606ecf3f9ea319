#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profile tests/live/languages/python/known.py under each CPython at hand: a cell a version, and some for
other builds of it.

    python.py --otelprof PROGRAM --dir DIR [--quick] [--hz N] [--peer TOOLS] [VERSION...]

VERSION is such as 3.11, with a letter for another build (MODES), with "-tasks" for the
tasks of asyncio (tasks.py), with "-imports" for its modules (import_cells.py), with "-greenlets" for those of
gevent (greenlets.py), or with "-shapes" or "-perf" for shapes of code (shapes.py), by itself or with
-X perf.

Interpreters: python3.N in PATH, pyenv's, those named in OTELPROF_PYTHONS (paths with spaces
between), those in the Debian roots named in OTELPROF_CHROOTS, and those that
tests/live/languages/python/fetch.sh gets. --quick takes 3.11 and its shapes alone.
Prints lines like run.py's.
"""

import ast
import glob
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "framework"))
import beside  # noqa: E402
import check  # noqa: E402
import greenlet_cells  # noqa: E402
import import_cells  # noqa: E402
import shape_cells  # noqa: E402
import suite  # noqa: E402
import task_cells  # noqa: E402
from cells import Cell, chain  # noqa: E402

PROGRAM = os.path.join(HERE, "known.py")
VERSIONS = ["3.%d" % n for n in range(6, 16)]
# Debug builds; builds with the compiler of traces, which PYTHON_JIT switches on; and those of
# tests/live/languages/python/build_python.sh.
TASKS = ["3.14-tasks", "3.15-tasks"]
IMPORTS = [version + "-imports" for version in VERSIONS]
GREENLETS = [version + "-greenlets" for version in VERSIONS[2:]]
SHAPES = [version + "-shapes" for version in [*VERSIONS, "3.13t"]] + ["3.12-perf", "3.13-perf"]
BUILDS = ["3.13d", "3.14d", "3.15d", "3.14j", "3.15j", "3.11s", "3.11m", "3.11n", "3.13t"]
BUILT = [version for version in BUILDS if version[-1] in "smnt"]
MODES = {"d": "debug build", "j": "compiled traces", "s": "static", "m": "musl",
         "n": "musl, static", "t": "free-threaded"}
TELL = """import sys
print("%d.%d" % sys.version_info[:2] + "d" * hasattr(sys, "gettotalrefcount") +
      "j" * (hasattr(sys, "_jit") and sys._jit.is_enabled()), sys.version.split()[0])"""
LEAVES = {"a": "leaf_50", "b": "leaf_30", "c": "leaf_20"}


def on_the_way():
    """The chain from any link down: on the way to a leaf or back."""
    pattern = ""
    for n in range(1, 25):
        pattern = "(?:%sf%d\n)?" % (pattern, n)
    return pattern


# Only the Python frames, by qualified name; below f24 are the program's own, up to its
# module.
CELL = Cell("(?:" + "|".join(LEAVES.values()) + ")\n" + chain() +
            r"run_spin\n<module>\n", LEAVES, only_type="cpython",
            # Samples between two leaves: they are few and bounded below.
            others=r"(?:%s|cpu\n|(?:Shares\.|<lambda>\n)?choose[^\n]*\n(?:Shares\.choose\n)?)"
            r"run_spin\n<module>\n" % on_the_way())
OTHERS_MOST = 0.05  # share of the time; 1.5 % at most by stopwatch, on an idle machine
LOOP = "_PyEval_EvalFrameDefault"


def is_mixed_right(sample):
    """Is each activation of the interpreter's loop right below the frames it runs? In a
    stripped interpreter the loop may have no name."""
    frames = sample.frames
    below = [b.name for a, b in zip(frames, frames[1:])
             if a.type == "cpython" and b.type == "native"]
    loops = sum(f.name.startswith(LOOP) and f.type == "native" for f in frames)
    named = sum(name.startswith(LOOP) for name in below)
    return bool(below) and named == loops and all(
        name.startswith(LOOP) or "+0x" in name for name in below)


def check_mix(capture, result):
    total = sum(s.count for s in capture.samples)
    right = sum(s.count for s in capture.samples if is_mixed_right(s))
    result.need(right >= 0.99 * total, "native and Python frames in true order in %d of %d" %
                (right, total))
    others = sum(s.count for s in capture.samples
                 if re.fullmatch(CELL.others, check.stack_names(s, CELL, check.name_by_record)))
    result.need(others <= OTHERS_MOST * total, "%d of %d outside the chain" % (others, total))


def known_lines():
    """Function → its lines: those of a leaf; of the others, that of the call of the next."""
    with open(PROGRAM, encoding="utf-8") as f:
        text = f.read()
    source = text.split("\n")
    lines = {"f%d" % n: {3 * n - 1} for n in range(1, 25)}  # see make_chain()
    lines.update({node.name: set(range(node.lineno, node.end_lineno + 1))
                  for node in ast.parse(text).body if getattr(node, "name", "")
                  in LEAVES.values()})
    lines["run_spin"] = {source.index("        chains[part]()") + 1}
    lines["<module>"] = {source.index("        run_spin(float(sys.argv[2]))") + 1}
    return lines


def fetched():
    """The root of tests/live/languages/python/fetch.sh, and what it lacks."""
    done = subprocess.run(["sh", os.path.join(HERE, "fetch.sh")], capture_output=True,
                          text=True)
    return done.stdout.split(), (done.stderr.strip().splitlines() or [""])[-1]


def interpreters(roots):
    """version → the command of a python of that version, the first that answers, and its
    release."""
    paths = os.environ.get("OTELPROF_PYTHONS", "").split()
    paths += ["/usr/bin/python" + v for v in VERSIONS]
    paths += sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python")))
    commands = [[path] for path in paths if os.access(path, os.X_OK)]
    for root in os.environ.get("OTELPROF_CHROOTS", "").split() + roots:
        commands += [["chroot", root, path[len(root):]]
                     for path in glob.glob(root + "/usr/bin/python3.*[0-9d]")]
    found = {}
    commands += [["env", "PYTHON_JIT=1", *command] for command in commands]
    for command in commands:
        done = subprocess.run([*command, "-c", TELL], capture_output=True, text=True)
        version, release = (done.stdout.split() + ["", ""])[:2]
        if version in VERSIONS + BUILDS and version not in found:
            found[version] = command, release
    return found


def odd_interpreters(wanted):
    """As interpreters(), of those that build_python.sh builds. It takes minutes, so only where one is
    @wanted."""
    if not wanted:
        return {}
    done = subprocess.run(["sh", os.path.join(HERE, "build_python.sh"), *sorted(wanted)],
                          capture_output=True, text=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    found = {}
    for version, path, home in rows:
        command = ["env", "PYTHONHOME=" + home, path]
        told = subprocess.run([*command, "-c", TELL], capture_output=True, text=True).stdout
        if told.split()[:1] == [version[:-1]]:
            found[version] = command, told.split()[1]
    return found


def judged(samples):
    """What the peer makes of them. A stack's lines are right if all are."""
    result = check.Result()
    shares = check.check_pattern(samples, CELL, check.name_by_record, "name", result)
    check.check_shares(shares, CELL, result)
    lines = known_lines()
    check.check_lines(samples, CELL, lines, result)
    known = [([f for f in s.frames if f.name in lines], s.count) for s in samples]
    result.figures.update(beside.line_shares([
        (sum(f.line in lines[f.name] for f in frames), len(frames), count)
        for frames, count in known]))
    return result


def cell(run, name, command, release, why):
    if not command:
        raise suite.Skip("no such interpreter here" + ("; " + why if why else ""))
    run.row["release"] = release
    with suite.interpreted(command, PROGRAM, "spin", suite.LONG) as process:
        start_ns = time.time_ns()
        capture, text = run.record_process(name, process.pid)
        beside.tell(run, name, process.pid, start_ns, lambda theirs: judged(theirs).figures)
    result = check.check_chain(capture, CELL, process.pid)
    check.check_lines(check.select(capture, process.pid), CELL, known_lines(), result)
    ends = [s for s in capture.samples if s.frames and s.frames[-1].name == "_start" or
            s.frames and "+0x" in s.frames[-1].name]
    result.need(len(ends) >= 0.99 * len(capture.samples),
                "%d of %d stacks go down to _start" % (len(ends), len(capture.samples)))
    check_mix(capture, result)
    run.judge(name, result, check.check_rules(capture), check.check_accounting(text))


def main():
    parser = suite.parser("otelprof")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--hz", type=int, default=999)
    beside.add_option(parser)
    run = suite.Run(parser.parse_args())
    run.suite = "python"
    roots, why = ([], "") if run.args.quick or run.args.list else fetched()
    wanted = run.args.cells or (["3.11", "3.11-shapes", "3.11-imports"] if run.args.quick else
                                VERSIONS + BUILDS + TASKS + SHAPES + IMPORTS + GREENLETS)
    found = {} if run.args.list else dict(
        interpreters(roots), **odd_interpreters({v.split("-")[0] for v in wanted} & set(BUILT)))
    with beside.started(run):
        for version in wanted:
            of, what, mode = version, cell, MODES.get(version[-1], "")
            if version in TASKS:
                of, what, mode = version.removesuffix("-tasks"), task_cells.cell, task_cells.MODE
            elif version in IMPORTS:
                of, what, mode = version.removesuffix("-imports"), import_cells.cell, import_cells.MODE
            elif version in GREENLETS:
                of, what = version.removesuffix("-greenlets"), greenlet_cells.cell
                mode = greenlet_cells.MODE
            elif version in SHAPES:
                of, what = version.split("-")[0], shape_cells.cell
                mode = "-X perf" if version.endswith("-perf") else MODES.get(of[-1], "")
            command, release = found.get(of, (None, ""))
            if command and mode == "-X perf":
                command = [*command, "-X", "perf"]
            run.cell("python-" + version, what, command, release, why,
                     row=suite.row("CPython", of.rstrip("djsmnt"), mode,
                                   "shapes" if version in SHAPES else ""))
    return run.status()


if __name__ == "__main__":
    sys.exit(main())
