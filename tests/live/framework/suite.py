# SPDX-License-Identifier: Apache-2.0
"""What live suites share: options, running cells one after another, and starting programs.

A cell is a function (run, name, ...). It prints results by run.say() or run.judge(). An exception
is a result too: a Skip or a failure.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
import traceback

import build
import otlp

LONG = "600"  # seconds of CPU time, longer than any recording
DAY = "86400"
BUSY_S = 0.2  # seconds of CPU time a second: above it a recorder is not idle
SETTLE = 60  # most seconds to wait for an idle recorder
IDLE = 40


class Skip(Exception):
    """Why a cell cannot run here."""


def parser(*required):
    """Options: --dir DIR, those of @required, --jobs, --list, and the cells to run."""
    made = argparse.ArgumentParser()
    made.add_argument("--dir", required=True, type=folder)
    for name in required:
        made.add_argument("--" + name, required=True)
    made.add_argument("--jobs", type=int, default=1, help="so many cells at once, without rows")
    made.add_argument("--list", action="store_true", help="skip every cell")
    made.add_argument("cells", nargs="*")
    return made


def folder(path):
    os.makedirs(path, exist_ok=True)
    return os.path.abspath(path)


def fresh_folder(path):
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path


class Run:
    suite = "truth"  # the suite's name in results
    row = None  # the running cell's row in docs/runtimes/versions.md, see row()

    def __init__(self, args):
        self.args = args
        self.failed = 0
        self.passed = 0

    def say(self, status, name, text, problems=()):
        lines = ["%s %s %s: %s" % (status, self.suite, name, " ".join(text.split()))]
        lines += ["    " + problem[:600] for problem in problems]
        if self.row:
            lines.append("figures %s %s %s" % (self.suite, name, json.dumps(self.row)))
        print("\n".join(lines), flush=True)
        self.failed += status == "FAIL"
        self.passed += status == "ok"

    def judge(self, name, *results):
        problems = [p for r in results for p in r.problems]
        notes = [n for r in results for n in r.notes]
        if self.row:
            self.row = dict(self.row, **{k: v for r in results for k, v in r.figures.items()})
        if problems:
            self.say("FAIL", name, "wrong", problems)
        else:
            self.say("ok", name, "; ".join(notes[:3]))

    def cell(self, name, function, *args, row=None):
        self.row = row
        try:
            if self.args.list:
                raise Skip("not yet")
            function(self, name, *args)
        except Skip as e:
            self.say("skip", name, str(e))
        except Exception as e:
            self.say("FAIL", name, "%s: %s" % (type(e).__name__, e),
                     ["%s:%d: %s" % (at.filename, at.lineno, at.line)
                      for at in traceback.extract_tb(e.__traceback__)[1:]])

    def cells(self, known, default=None):
        """Run cells of @known, {name: function}: those on the command line, or @default, or all.
        Returns the status."""
        with concurrent.futures.ThreadPoolExecutor(self.args.jobs) as pool:
            list(pool.map(lambda name: self.cell(name, known[name]),
                          self.args.cells or default or known))
        return self.status()

    def status(self):
        """The exit status: 1 if something failed, 77 if nothing could run."""
        return 1 if self.failed else 0 if self.passed else 77

    def path(self, name):
        return os.path.join(self.args.dir, name)

    def fresh(self, name):
        """The path of a file, which is removed if it exists."""
        path = self.path(name)
        if os.path.exists(path):
            os.unlink(path)
        return path

    def program(self, name):
        """Build a known-answer program and return its path."""
        path, why = build.build(name, self.args.dir)
        if not path:
            raise Skip(why)
        return path

    def record(self, name, *options):
        """Run "otelprof record". Returns (capture, text)."""
        out = self.fresh(name + ".otlp")
        done = subprocess.run([self.args.otelprof, "record", "-v", "-o", out, "--format", "otlp",
                               *options], capture_output=True, text=True, timeout=300)
        text = done.stdout + done.stderr
        if done.returncode:
            raise RuntimeError("otelprof record: exit %d: %s" % (
                done.returncode, " ".join(text.strip().splitlines()[-6:])))
        return otlp.read_file(out), text

    def record_process(self, name, pid, part=1, options=()):
        """Record one process at --hz, for @part of --seconds by the clock and by its CPU time. A
        busy machine makes that longer, but there are as many samples. Returns like record()."""
        out = self.fresh(name + ".otlp")
        with Recorder(self.args.otelprof, out, "-F", str(self.args.hz), "-p", str(pid),
                      *options) as recorder:
            wait_for_work(pid, self.args.seconds * part)
            text = recorder.end()
        return otlp.read_file(out), text


class Recorder:
    """An "otelprof record -v" that has begun: its log has the line "sampling". @first: run it
    before all else on this machine, if that is permitted."""

    def __init__(self, otelprof, out, *options, first=False):
        self.out = out
        with open(out + ".log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([otelprof, "record", "-v", "-o", out, "--format", "otlp",
                                             "-d", DAY, *options], stdout=log, stderr=log)
        with contextlib.suppress(PermissionError):
            if first:
                os.sched_setscheduler(self.process.pid, os.SCHED_RR, os.sched_param(1))
        while self.process.poll() is None and "otelprof: sampling" not in self.said():
            time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        stop([self.process])

    def said(self):
        with open(self.out + ".log", encoding="utf-8", errors="replace") as log:
            return log.read()

    def settle(self):
        """Wait until the recorder is idle: it has read all processes that were there before."""
        busy = True
        for _ in range(SETTLE if self.process.poll() is None else 0):
            if busy:
                before = cpu_s(self.process.pid)
                time.sleep(1)
                busy = cpu_s(self.process.pid) - before > BUSY_S

    def end(self):
        """End the recorder, and its command. Returns its output."""
        status = end(self.process, 300)
        if status:
            raise RuntimeError("otelprof record: exit %d: %s" % (
                status, " ".join(self.said().strip().splitlines()[-6:])))
        return self.said()


def cpu_s(pid):
    """The CPU time of a process (clock_getcpuclockid(3))."""
    return time.clock_gettime(~pid << 3 | 2)


def wait_for_work(pid, seconds):
    """Wait until @seconds have passed, and @pid has used as much CPU time. A process that does not
    work all the time gets at most IDLE times as long."""
    begin, end_s = time.monotonic(), cpu_s(pid) + seconds
    while time.monotonic() - begin < seconds or cpu_s(pid) < end_s and \
            time.monotonic() - begin < IDLE * seconds:
        time.sleep(0.02)


def row(runtime, version, mode="", program=""):
    """A row of tests/live/languages/versions.py. A check adds its figures: samples, exact and lines
    (per cent), leaf (points), errors (by name). @mode: "" is the runtime's default."""
    return {"runtime": runtime, "version": version, "mode": mode or "default",
            "program": program}


def why_not_live(otelprof):
    """Why that program cannot profile here. None if it can."""
    if os.geteuid():
        return "not root"
    done = subprocess.run([otelprof, "doctor"], capture_output=True, text=True, check=False)
    missing = [line.strip() for line in done.stdout.splitlines() if "missing" in line.lower()]
    return "otelprof doctor: %s" % (missing or ["failed"])[0] if done.returncode else None


def live_main(run, cells):
    """main() of a suite without own options. @run: its class. Returns its status."""
    args = parser("otelprof").parse_args()
    why = why_not_live(args.otelprof)
    if why:
        print("skip %s all: %s" % (run.suite, why))
        return 77
    return run(args).cells(cells)


def need_reach(path):
    """Skip the cell if another user than root cannot reach @path."""
    folder = os.path.dirname(os.path.realpath(path))
    while folder != "/":
        if not os.stat(folder).st_mode & 0o001:
            raise Skip("%s is closed to other users than root" % folder)
        folder = os.path.dirname(folder)


def stolen_ns():
    """The time that the host took from all CPUs of this virtual machine, to a tick
    (proc_stat(5))."""
    with open("/proc/stat", encoding="ascii") as f:
        return int(f.readline().split()[8]) * 1000000000 // os.sysconf("SC_CLK_TCK")


def start(*command, **options):
    """Start a program and wait for its "ready PID". @options: Popen's."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)
    if not process.stdout.readline().startswith("ready"):
        stop([process])
        raise RuntimeError("%s did not become ready" % " ".join(command))
    return process


@contextlib.contextmanager
def interpreted(command, path, *arguments, stdout=subprocess.DEVNULL):
    """Run the program at @path by the interpreter @command from standard input, because a chroot
    does not have the file."""
    with open(path, encoding="utf-8") as f:
        process = subprocess.Popen([*command, "-", *arguments], stdin=f, stdout=stdout)
    try:
        wait_for_work(process.pid, 1)
        yield process
    finally:
        stop([process])


def stop(processes):
    for process in processes:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def end(process, seconds=60, sign=signal.SIGTERM):
    """End @process, by SIGKILL if it does not end in time. Returns its status."""
    process.send_signal(sign)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
