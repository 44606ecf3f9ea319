#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profile the known-answer programs and check what comes out.

    run.py --otelprof PROGRAM --dir DIR [--quick] [--seconds S] [--hz N] [CELL...]

Prints "ok|FAIL|skip truth CELL: what" and what was wrong below. Exits 1 if one failed, 77
if nothing could run. Needs root, or the capabilities "otelprof doctor" names.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import build
import cells
import check
import otlp

LONG = "600"  # seconds of CPU time: longer than any recording
STORM_COUNT = 300
STORM_MS = 30


class Run:
    def __init__(self, args):
        self.args = args
        self.failed = 0
        self.passed = 0

    def say(self, status, name, text, problems=()):
        print("%s truth %s: %s" % (status, name, " ".join(text.split())), flush=True)
        for problem in problems:
            print("    " + problem[:600], flush=True)
        self.failed += status == "FAIL"
        self.passed += status == "ok"

    def judge(self, name, *results):
        problems = [p for r in results for p in r.problems]
        notes = [n for r in results for n in r.notes]
        if problems:
            self.say("FAIL", name, "wrong", problems)
        else:
            self.say("ok", name, "; ".join(notes[:3]))

    def path(self, name):
        return os.path.join(self.args.dir, name)

    def record(self, name, *options):
        """Run "otelprof record". Returns (capture, text), or None and has said why."""
        out = self.path(name + ".otlp")
        if os.path.exists(out):
            os.unlink(out)
        command = [self.args.otelprof, "record", "-v", "-o", out, "--format", "otlp", *options]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        except subprocess.TimeoutExpired:
            self.say("FAIL", name, "otelprof record did not end")
            return None
        text = done.stdout + done.stderr
        if done.returncode:
            self.say("FAIL", name, "otelprof record: exit %d" % done.returncode,
                     text.strip().splitlines()[-6:])
            return None
        try:
            return otlp.read_file(out), text
        except (OSError, otlp.Malformed, UnicodeDecodeError) as e:
            self.say("FAIL", name, "unreadable recording: %s" % e)
            return None


def start(path, *args):
    """Start a program and wait for its "ready PID"."""
    process = subprocess.Popen([path, *args], stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    if not line.startswith("ready"):
        process.kill()
        process.wait()
        raise RuntimeError("%s did not become ready" % path)
    return process


def stop(processes):
    for process in processes:
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()


def twin_of(cell, name, folder):
    if not cell.by_address:
        return None
    path, _ = build.build(cell.twin or name, folder)
    return path


def cell_chain(run, name):
    cell = cells.CELLS[name]
    path, why = build.build(name, run.args.dir)
    if not path:
        return run.say("skip", name, why)
    process = start(path, LONG)
    try:
        got = run.record(name, "-F", str(run.args.hz), "-d", str(run.args.seconds),
                         "-p", str(process.pid))
    finally:
        stop([process])
    if got:
        result = check.check_chain(got[0], cell, process.pid, None,
                                   twin_of(cell, name, run.args.dir), name)
        run.judge(name, result, check.check_rules(got[0]), check.check_accounting(got[1]))


def cell_count(run, name):
    """A whole life under "record -- COMMAND": as many samples as CPU time."""
    path, why = build.build("c-gcc", run.args.dir)
    if not path:
        return run.say("skip", name, why)
    got = run.record(name, "-F", "999", "--", path, "3")
    if not got:
        return
    capture, text = got
    pid = re.search(r"ready (\d+)", text)
    used = re.search(r"cpu_ns (\d+)", text)
    if not pid or not used:
        return run.say("FAIL", name, "the command's own output is missing")
    run.judge(name, check.check_chain(capture, cells.CELLS["c-gcc"], int(pid.group(1)),
                                      hz=999, cpu_ns=int(used.group(1))),
              check.check_accounting(text, capture))


def cell_storm(run, name):
    """Short processes while the whole host is profiled."""
    child, why = build.build("storm", run.args.dir)
    if not child:
        return run.say("skip", name, why)
    links = fresh_folder(run.path("storm-links"))
    children = run.path("storm.children")
    out = run.path(name + ".otlp")
    command = [run.args.otelprof, "record", "-v", "-F", "99", "-d", "120", "-o", out,
               "--format", "otlp"]
    with open(run.path(name + ".log"), "w+", encoding="utf-8") as log:
        profiler = subprocess.Popen(command, stdout=log, stderr=log)
        time.sleep(2)
        with open(children, "w", encoding="utf-8") as f:
            storm = subprocess.run([run.path("storm-driver"), child, links,
                                    str(STORM_COUNT), str(STORM_MS)], stdout=f)
        profiler.send_signal(signal.SIGINT)
        status = wait_or_kill(profiler)
        log.seek(0)
        text = log.read()
    if status or storm.returncode:
        return run.say("FAIL", name, "exit %s of the profiler, %s of the driver" %
                       (status, storm.returncode), text.strip().splitlines()[-6:])
    capture = otlp.read_file(out)
    run.judge(name, check.check_storm(capture, check.read_children(children), 99, STORM_MS),
              check.check_rules(capture), check.check_accounting(text, capture))


def fresh_folder(path):
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path


def wait_or_kill(process):
    try:
        return process.wait(60)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def cell_filter(run, name):
    """Of four equal processes two are chosen: they alone appear, and the sum is right."""
    path, why = build.build("c-gcc", run.args.dir)
    if not path:
        return run.say("skip", name, why)
    processes = [start(path, LONG) for _ in range(4)]
    chosen = {p.pid for p in processes[:2]}
    try:
        got = run.record(name, "-F", "199", "-d", "3",
                         *[x for pid in chosen for x in ("-p", str(pid))])
    finally:
        stop(processes)
    if not got:
        return
    result = check.Result()
    seen = {s.pid for s in got[0].samples}
    result.need(seen == chosen, "samples of %d of 2 chosen, %d of other processes" %
                (len(seen & chosen), len(seen - chosen)))
    row = check.accounting(got[1]) or {}
    result.need(row.get("filtered", 0) > 0, "%s samples filtered" % row.get("filtered"))
    run.judge(name, result, check.check_accounting(got[1], got[0]))


SPECIAL = {"count": cell_count, "storm": cell_storm, "filter": cell_filter}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--otelprof", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--hz", type=int, default=999)
    parser.add_argument("cells", nargs="*")
    args = parser.parse_args()
    args.dir = os.path.abspath(args.dir)
    os.makedirs(args.dir, exist_ok=True)

    names = args.cells
    if not names:
        names = [n for n, c in cells.CELLS.items() if c.quick or not args.quick]
        names += [n for n in SPECIAL if n not in names]
    run = Run(args)
    for name in names:
        try:
            SPECIAL.get(name, cell_chain)(run, name)
        except (OSError, RuntimeError, subprocess.SubprocessError) as e:
            run.say("FAIL", name, str(e))
    if run.failed:
        return 1
    return 0 if run.passed else 77


if __name__ == "__main__":
    sys.exit(main())
