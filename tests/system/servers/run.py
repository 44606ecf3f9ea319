#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Servers and jobs of other people's code under load: how many stacks end early, and do the
innermost functions have the shares that the runtime's own profiler gives them for the same
seconds?

    run.py --otelprof PROGRAM --dir DIR [--seconds N] [--hz N] [--table FILE] [ROW...]

Rows stand in rows.py. --table writes the table of docs/servers.md. Prints lines like
tests/live/languages/native/run.py's.
"""

import collections
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "..", "live", "framework"))

import check  # noqa: E402
import judges  # noqa: E402
import suite  # noqa: E402
from ports import free_port  # noqa: E402
from rows import ROWS  # noqa: E402

BAD_MOST = 1.0  # % of the stacks end early
MIN_SAMPLES = 500
START_SECONDS = 60
END_SECONDS = 60  # for a judge to write what it has
# py-spy and V8 count threads that wait for a CPU, too: the load is not to take the server's.
CPUS = sorted(os.sched_getaffinity(0))
ON_FIRST = ["taskset", "-c", ",".join(map(str, CPUS[:-1] or CPUS))]
ON_LAST = ["taskset", "-c", str(CPUS[-1])]


class Server:
    """A program of a row, and what keeps it busy."""

    def __init__(self, run, row, kit):
        self.row = row
        self.folder = suite.fresh_folder(run.path(row.name))
        self.kit = kit
        self.port = free_port()
        self.loads = []
        self.log = open(os.path.join(self.folder, "log"), "w", encoding="utf-8")
        environment = dict(os.environ, KIT=kit, SRC=os.path.join(HERE, "sources"),
                           PORT=str(self.port), SECONDS=str(run.args.seconds))
        self.process = subprocess.Popen([*ON_FIRST, "sh", "-c", row.command], cwd=self.folder,
                                        env=environment, stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log, start_new_session=True)
        try:
            self.wait_ready()
            self.load()
        except BaseException:
            self.stop()
            raise

    def said(self):
        with open(self.log.name, encoding="utf-8", errors="replace") as f:
            return f.read()

    def wait_ready(self):
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            try:
                if not self.row.paths:
                    if "ready" in self.said():
                        return
                else:
                    self.get(self.row.paths[0], 5)
                    return
            except OSError:
                pass
            time.sleep(0.2)
        raise RuntimeError("it did not start: %s" % self.said()[-300:])

    def get(self, path, timeout):
        with urllib.request.urlopen("http://127.0.0.1:%d%s" % (self.port, path),
                                    timeout=timeout) as answer:
            return answer.read()

    def load(self):
        for path in self.row.paths:
            self.loads.append(subprocess.Popen(
                [*ON_LAST, "wrk", "-t1", "-c4", "-d3600s", "http://127.0.0.1:%d%s" % (self.port, path)],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    @property
    def pid(self):
        """Of the process that does the work."""
        pid = self.process.pid
        if not self.row.child:
            return pid
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as f:
            return int(f.read().split()[0])

    def stop(self):
        suite.stop(self.loads)
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.log.close()


# ---- the judges: each begins to look for run.args.seconds, and gives a function to call for
# what it saw ----

def py_spy(run, server):
    out = os.path.join(server.folder, "judge.raw")
    with open(out + ".log", "w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [os.path.join(server.kit, "bin", "py-spy"), "record", "--format", "raw", "-r", "250",
             "-d", str(run.args.seconds), "-p", str(server.pid), "-o", out], stdout=log, stderr=log)

    def finish():
        if process.wait(END_SECONDS):
            with open(out + ".log", encoding="utf-8") as f:
                raise suite.Skip("py-spy: %s" % f.read().strip()[-200:])
        with open(out, encoding="utf-8") as f:
            return judges.py_spy(f.read())
    return finish


def inspector(run, server):
    os.kill(server.pid, signal.SIGUSR2)
    if not server.row.paths:  # it begins after a round
        wait_for(lambda: "started" in server.said())

    def finish():
        out = os.path.join(server.folder, "judge.cpuprofile")
        wait_for(lambda: os.path.exists(out))
        with open(out, encoding="utf-8") as f:
            return judges.cpuprofile(f.read())
    return finish


def jcmd(server, *arguments):
    done = subprocess.run(["jcmd", str(server.pid), *arguments], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError("jcmd: %s" % done.stdout[-300:])


def jfr(run, server):
    settings = os.path.join(server.folder, "settings.jfc")
    with open(settings, "w", encoding="utf-8") as f:
        f.write('<configuration version="2.0"><event name="jdk.ExecutionSample">'
                '<setting name="enabled">true</setting><setting name="period">2 ms</setting>'
                '</event></configuration>')
    out = os.path.join(server.folder, "judge.jfr")
    jcmd(server, "JFR.start", "name=judge", "settings=" + settings)

    def finish():
        jcmd(server, "JFR.dump", "name=judge", "filename=" + out)
        done = subprocess.run(["jfr", "print", "--json", "--stack-depth", "1", "--events",
                               "jdk.ExecutionSample", out], capture_output=True, text=True,
                              check=True)
        return judges.jfr(done.stdout)
    return finish


def async_profiler(run, server):
    """By AsyncGetCallTrace. Its other walker (cstack=vm) gives an instruction at which a new
    scope begins to the scope before."""
    library = os.path.join(server.kit, "libasyncProfiler.so")
    out = os.path.join(server.folder, "judge.collapsed")
    jcmd(server, "JVMTI.agent_load", library, "\"start,event=ctimer,interval=2ms,cstack=fp\"")

    def finish():
        jcmd(server, "JVMTI.agent_load", library, "\"stop,collapsed,ann,file=%s\"" % out)
        wait_for(lambda: os.path.exists(out))
        with open(out, encoding="utf-8") as f:
            return judges.async_profiler(f.read())
    return finish


def runtime_pprof(run, server):
    out = os.path.join(server.folder, "judge.pprof")
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys, urllib.request as u; "
         "open(sys.argv[2], 'wb').write(u.urlopen(sys.argv[1]).read())",
         "http://127.0.0.1:%d/profile?seconds=%d" % (server.port, run.args.seconds),
         out])

    def finish():
        if process.wait(END_SECONDS):
            raise RuntimeError("runtime/pprof gives nothing")
        with open(out, "rb") as f:
            return judges.pprof(f.read())
    return finish


def dotnet_trace(run, server):
    out = os.path.join(server.folder, "trace")
    root = os.path.join(server.kit, "root")
    process = subprocess.Popen(
        [os.path.join(root, "dotnet"), os.path.join(root, "tools/dotnet-trace/dotnet-trace.dll"),
         "collect", "-p", str(server.pid), "--profile", "dotnet-sampled-thread-time", "--format",
         "Speedscope", "--duration", "00:00:%02d" % min(run.args.seconds, 59), "-o", out],
        stdout=server.log, stderr=server.log, stdin=subprocess.DEVNULL,
        env=dict(os.environ, DOTNET_SYSTEM_GLOBALIZATION_INVARIANT="1"))

    def finish():
        if process.wait(END_SECONDS):
            raise RuntimeError("dotnet-trace: %s" % server.said()[-200:])
        with open(out + ".speedscope.json", encoding="utf-8") as f:
            return judges.speedscope(f.read())
    return finish


def perf_map(run, server):
    """perf, with the names that the runtime itself gives to the code that it makes."""
    if not shutil.which("perf"):
        raise suite.Skip("no perf")
    out = os.path.join(server.folder, "judge.perf")
    names = "/tmp/perf-%d.map" % server.pid
    process = subprocess.Popen(
        ["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "250", "-p", str(server.pid),
         "-o", out, "--", "sleep", str(run.args.seconds)],
        stdout=server.log, stderr=server.log, stdin=subprocess.DEVNULL)

    def finish():
        if process.wait(END_SECONDS):
            raise RuntimeError("perf: %s" % server.said()[-200:])
        done = subprocess.run(["perf", "script", "-i", out, "-F", "ip,sym"], capture_output=True,
                              text=True, check=True)
        os.unlink(names)
        return judges.perf_script(done.stdout)
    return finish


def page(run, server):
    """LuaJIT's profiler, stackprof, or a timer of Perl's, in the server."""
    server.get("/judge", END_SECONDS)

    def finish():
        return judges.said(server.get("/judge", END_SECONDS).decode())
    return finish


JUDGES = {f.__name__: f for f in (py_spy, inspector, jfr, async_profiler, runtime_pprof,
                                  dotnet_trace, perf_map, page)}


def wait_for(condition):
    end = time.monotonic() + END_SECONDS
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError("the runtime's own profiler does not answer")
        time.sleep(0.1)


# ---- a row ----

def kit_of(row):
    done = subprocess.run(["sh", os.path.join(HERE, "fetch.sh"), row.kit], capture_output=True,
                          text=True)
    if done.returncode:
        raise suite.Skip("its packages: %s" % (done.stderr.strip()[-200:] or "no reason given"))
    return done.stdout.strip()


def cell(run, name, row):
    if row.paths and not shutil.which("wrk"):
        raise suite.Skip("no wrk")
    server = Server(run, row, kit_of(row))
    try:
        time.sleep(row.warm)
        pid = server.pid
        finish = JUDGES[row.judge](run, server)
        capture, text = run.record(name, "-F", str(run.args.hz), "-d", str(run.args.seconds),
                                   "-p", str(pid))
        theirs = finish()
    finally:
        server.stop()
    samples = check.select(capture, pid)
    stacks = sum(s.count for s in samples)
    early, ends = judges.early_ends(samples)
    ours = judges.count_ours(samples, row.ours)
    rows, overlap = judges.compare(ours, theirs)
    result = check.Result()
    result.need(stacks >= MIN_SAMPLES and sum(theirs.values()) >= MIN_SAMPLES,
                "%d stacks; %d in its functions, %d of the other profiler" %
                (stacks, sum(ours.values()), sum(theirs.values())))
    result.need(early <= BAD_MOST, "%.2f %% end early (%s)" % (early, ends or "none"))
    wrong = [r for r in rows if abs(r[1] - r[2]) > max(row.points, r[3])]
    result.need(not wrong, "shares: %d of %d functions differ by more than %g points" % (
        len(wrong), len(rows), row.points))
    most = "%s %.1f to %.1f" % rows[0][:3] if rows else "none"
    result.notes.append("most: %s; %.0f %% alike" % (most, overlap))
    result.problems += ["  %s: %.2f to %.2f (chance %.2f)" % r for r in wrong]
    run.table.append("| %s | %d | %.2f | %s | %.0f |" % (
        name, stacks, early, most, overlap))
    result.notes[:] = ["; ".join(result.notes)]
    run.judge(name, result, check.check_rules(capture), check.check_accounting(text))


def main():
    parser = suite.parser("otelprof")
    parser.add_argument("--seconds", type=int, default=25)
    parser.add_argument("--hz", type=int, default=499)
    parser.add_argument("--table")
    run = suite.Run(parser.parse_args())
    run.suite = "servers"
    run.table = ["| program | stacks | end early, % | largest difference: ours to its, % | "
                 "alike, % |", "|---|---|---|---|---|"]
    for row in ROWS:
        if not run.args.cells or row.name in run.args.cells:
            run.cell(row.name, cell, row)
    if run.args.table:
        with open(run.args.table, "w", encoding="utf-8") as f:
            f.write("\n".join(run.table) + "\n")
    return run.status()


if __name__ == "__main__":
    sys.exit(main())
