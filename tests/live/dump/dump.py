#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`otelprof dump` of programs whose threads stand in known places: each place has its thread, with
the line of the source and the word for what it waits for.

    dump.py --otelprof PROGRAM --dir DIR [CELL...]

A line with "PLACE function word" is where a thread stands, and what it waits for. Prints
"ok|FAIL|skip dump CELL: what". Exits 0, 1 (one failed) or 77 (nothing could run).
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 120  # of one call, on a machine that is busy
SETTLE = 60  # seconds, at most, until all threads stand where they are to be


def places(source):
    """(function, line): what the thread there waits for, of each place."""
    with open(os.path.join(HERE, source), encoding="utf-8") as f:
        found = [(number, re.search(r"PLACE (\w+) (\w+)", line)) for number, line in enumerate(f, 1)]
    return {(m.group(1), number): None if m.group(2) == "None" else m.group(2)
            for number, m in found if m and "__attribute__" not in m.string}


def start(argv):
    program = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               start_new_session=True)
    if program.stdout.readline() != "ready\n":
        raise RuntimeError("%s does not start" % argv[0])
    return program


def dump(otelprof, *args):
    began = time.monotonic()
    r = subprocess.run([otelprof, "dump", *args], capture_output=True, text=True, timeout=SECONDS)
    if r.returncode:
        raise RuntimeError(r.stderr.strip())
    return r.stdout, time.monotonic() - began


def wrong(source, threads):
    """What is not as the source says; threads of a dump as JSON."""
    expected = places(source)
    for (function, line), waits_for in expected.items():
        found = [t for t in threads for f in t["stack"]
                 if (f["function"], f["line"]) == (function, line) and
                 f["file"].endswith(source)]
        if len(found) != 1:
            yield "%d threads in %s at line %d" % (len(found), function, line)
        elif found[0]["waits_for"] not in ((None, "CPU") if waits_for is None else (waits_for,)):
            yield "%s waits for %s, not %s" % (function, found[0]["waits_for"], waits_for)
    if len(threads) != len(expected):
        yield "%d threads, not %d" % (len(threads), len(expected))


def settle(found):
    """Wait until @found(), and then find out once more."""
    end = time.monotonic() + SETTLE
    while not found() and time.monotonic() < end:
        time.sleep(0.1)


def check(otelprof, source, argv):
    program = start(argv)
    try:
        def dumped():
            text, seconds = dump(otelprof, "--format=json", "-p", str(program.pid))
            process, = json.loads(text)["processes"]
            return process, seconds
        settle(lambda: not list(wrong(source, dumped()[0]["threads"])))
        process, seconds = dumped()
        faults = list(wrong(source, process["threads"]))
        text, _ = dump(otelprof, str(program.pid))
        faults += ["%s:%d is not in the text" % (function, line) for function, line in places(source)
                   if not re.search(r"    %s \(.*%s:%d\)" % (function, re.escape(source), line), text)]
    finally:
        os.killpg(program.pid, 9)
        program.wait()
    if faults:
        return "FAIL", "; ".join(faults)
    return "ok", "%d threads in %.1f s" % (len(process["threads"]), seconds)


def cell_python(args):
    return check(args.otelprof, "deadlock.py", [sys.executable, os.path.join(HERE, "deadlock.py")])


def cell_c(args):
    if not shutil.which("cc"):
        return "skip", "no cc"
    program = os.path.join(args.dir, "waits")
    subprocess.run(["cc", "-g", "-O1", "-pthread", "-o", program, os.path.join(HERE, "waits.c")],
                   check=True)
    return check(args.otelprof, "waits.c", [program])


def cell_go(args):
    """Three goroutines in one place, which no thread is in."""
    if not shutil.which("go"):
        return "skip", "no go"
    program = os.path.join(args.dir, "blocked")
    source = os.path.join(HERE, "blocked.go")
    subprocess.run(["go", "build", "-o", program, source], check=True)
    with open(source, encoding="utf-8") as f:
        line, = (i for i, text in enumerate(f, 1) if "PLACE" in text)
    want = re.compile(r"\n3 goroutines: sync\.Mutex\.Lock\n(    .*\n)+    main\.want \(.*blocked\.go:%d\)" %
                      line)
    program = start([program])
    try:
        settle(lambda: want.search(dump(args.otelprof, str(program.pid))[0]))
        text, seconds = dump(args.otelprof, str(program.pid))
    finally:
        os.killpg(program.pid, 9)
        program.wait()
    if want.search(text):
        return "ok", "3 goroutines in %.1f s" % seconds
    return "FAIL", "no three goroutines wait at line %d:\n%s" % (line, text)


CELLS = {"python": cell_python, "c": cell_c, "go": cell_go}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--otelprof", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("cells", nargs="*", choices=[[], *CELLS])
    args = parser.parse_args()
    os.makedirs(args.dir, exist_ok=True)
    status = 77
    for name in args.cells or CELLS:
        result, what = CELLS[name](args)
        print("%s dump %s: %s" % (result, name, what), flush=True)
        if result == "FAIL":
            status = 1
        elif result == "ok" and status == 77:
            status = 0
    return status


if __name__ == "__main__":
    sys.exit(main())
