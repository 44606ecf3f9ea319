#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Servers that other people wrote, under load: what kinds of events say of them against what the
kernel counts for the same processes, to 5 %.

    tests/live/kinds/together/counters.py --otelprof PROGRAM --dir DIR [CELL...]

For each thread that is busy, over the same seconds: its time off the CPUs (off_cpu) against the
clock less its run time in /proc/PID/task/TID/schedstat, and its time on them (cpu) against that
run time. PostgreSQL's block reads against read_bytes of /proc/PID/io, and its waits for locks of
rows against its own log. Threads (threads) against /proc/PID/status. Of what the host of a virtual machine takes, no clock here tells which thread
would have had it: both sums are bounded to that much beside.
"""
import collections
import glob
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "framework"))
import check  # noqa: E402
import otlp  # noqa: E402
import suite  # noqa: E402

OFF = 0.05
WINDOW = 5  # seconds that are compared
AROUND = 2  # seconds that are recorded before, for what is met first, and after
BUSY = 100  # switches in the window: an interval that is cut off at its ends is little of it
BUSY_NS = 200000000  # run time, for so many samples at HZ that chance is little
HZ = "499"
NOISE = 3  # standard deviations of a number of samples
# ns of each turn on a CPU. In a virtual machine the timer's interrupt is 4 to 32 us late (the
# tracepoints hrtimer_start and hrtimer_expire_entry): what was due at the end of a turn is the
# next one's. perf's samples have the same error.
LATE = 32000
# ns of each turn: the kernel looks at its clock, picks the next thread, and tells of the switch.
PICK = 2000


def need(*names):
    for name in names:
        path = shutil.which(name) or (glob.glob(name) or [None])[-1]
        if path:
            return path
    raise suite.Skip("no %s here" % names[0])


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_port(port):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("nobody listens")


# ---- what the kernel counts ----

def tree(pid):
    """@pid and its descendants."""
    found = [pid]
    for p in found:
        for path in glob.glob("/proc/%d/task/*/children" % p):
            with open(path, encoding="ascii") as f:
                found += [int(c) for c in f.read().split()]
    return found


def read(path, pattern):
    with open(path, encoding="utf-8", errors="replace") as f:
        return [int(n) for n in re.search(pattern, f.read(), re.M).groups()]


def threads_of(pids):
    """{tid: (when it was read, run time, switches)}"""
    found = {}
    for pid in pids:
        for path in glob.glob("/proc/%d/task/*" % pid):
            try:
                ran, = read(path + "/schedstat", r"^(\d+)")
                switches = sum(read(path + "/status", r"^voluntary_ctxt_switches:\s*(\d+)\n"
                                                      r"nonvoluntary_ctxt_switches:\s*(\d+)"))
            except OSError:
                continue
            found[int(os.path.basename(path))] = (time.time_ns(), ran, switches)
    return found


# ---- what the profile says ----

def sums_of(capture, begin, end):
    """Of each thread between two times: ns off the CPUs, ns on them, how many samples."""
    off, on, count = (collections.Counter() for _ in range(3))
    for s in capture.samples:
        tid = s.attributes.get("thread.id")
        if tid not in begin or tid not in end:
            continue
        first, last = begin[tid][0], end[tid][0]
        if s.sample_type == ("off_cpu", "nanoseconds"):
            for value, t in zip(s.values, s.timestamps):
                off[tid] += max(0, min(t, last) - max(t - value, first))
        elif s.sample_type == ("samples", "count"):
            here = sum(first <= t < last for t in s.timestamps)
            on[tid] += here * s.period
            count[tid] += here
    return off, on, count


def awake(end, later):
    """Of the threads at the end those that were on a CPU once more. An interval is told when it
    ends: of a thread that sleeps on, nobody knows from when."""
    return {tid: at for tid, at in end.items() if tid in later and later[tid][2] > at[2]}


def wait_begun(recorder):
    """Its events are open; what it attaches besides follows within a second."""
    end = time.monotonic() + 30
    while recorder.poll() is None and time.monotonic() < end:
        opened = glob.glob("/proc/%d/fd/*" % recorder.pid)
        if any(map(is_event, opened)):
            break
        time.sleep(0.1)
    time.sleep(AROUND / 2)


def is_event(fd):
    try:
        return os.readlink(fd) == "anon_inode:[perf_event]"
    except FileNotFoundError:
        return False


def check_begun(capture, begin):
    """On a machine that is busy enough a recording may begin later than what is compared."""
    first = min((t for s in capture.samples for t in s.timestamps), default=time.time_ns())
    if first > min(when for when, _, _ in begin.values()):
        raise suite.Skip("the recording began too late, at a load average of %.0f" %
                         os.getloadavg()[0])


def compare(result, capture, begin, end, stolen):
    """@end: of the threads that are compared. @stolen: ns that the host took from all CPUs
    meanwhile."""
    off, on, count = sums_of(capture, begin, end)
    wanted_off = wanted_on = got_off = got_on = samples = busy = turns = 0
    for tid, (first, ran, switches) in begin.items():
        if tid not in end or end[tid][2] - switches < BUSY:
            continue
        busy += 1
        turns += (end[tid][2] - switches) / 2
        run = end[tid][1] - ran
        wanted_off += end[tid][0] - first - run
        wanted_on += run
        got_off += off[tid]
        got_on += on[tid]
        samples += count[tid]
    result.need(busy and wanted_on > BUSY_NS, "%d threads are busy" % busy)
    if not busy or not wanted_on or not wanted_off:
        return
    noise = NOISE / max(samples, 1) ** 0.5
    result.need(abs(got_off - wanted_off) <= OFF * wanted_off + PICK * turns + stolen,
                "off %.3f of the clock less schedstat" % (got_off / wanted_off))
    result.need(abs(got_on - wanted_on) <= (OFF + noise) * wanted_on + LATE * turns + stolen,
                "on %.3f of schedstat, by %d samples in turns of %.0f us; the host took %.2f s" %
                (got_on / wanted_on, samples, wanted_on / turns / 1e3, stolen / 1e9))


def record(run, name, pid, kinds, load, io_of=None, counted=True):
    """Record the tree of @pid under @load, a command, and compare its threads' times if they are
    @counted. Returns (capture, result, bytes that the tree has read); capture.compared is the
    time that is compared."""
    out = run.fresh(name + ".otlp")
    seconds = WINDOW + 3 * AROUND
    recorder = subprocess.Popen(
        [run.args.otelprof, "record", "-q", "--kinds", kinds, "-F", HZ, "--tree", str(pid), "-d",
         str(seconds), "-o", out], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_begun(recorder)
    before = read("/proc/%d/io" % pid, r"^read_bytes: (\d+)")[0] if io_of else 0
    worker = subprocess.Popen(load, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(AROUND)
    begin = threads_of(tree(pid))
    stolen = -suite.stolen_ns()
    time.sleep(WINDOW)
    end = threads_of(tree(pid))
    stolen += suite.stolen_ns()
    time.sleep(AROUND / 4)
    later = threads_of(tree(pid))
    if worker.wait(60) not in (0, 130):  # ended, or interrupted after its time
        raise RuntimeError("the load failed: %s" % " ".join(load))
    _, errors = recorder.communicate(timeout=60)
    if recorder.returncode:
        raise RuntimeError(errors)
    time.sleep(0.5)  # its children's counters are the parent's once it has waited for them
    after = read("/proc/%d/io" % pid, r"^read_bytes: (\d+)")[0] if io_of else 0
    capture = otlp.read_file(out)
    capture.compared = tuple(min(when for when, _, _ in of.values()) for of in (begin, end))
    result = check.Result(problems=list(capture.violations))
    check_begun(capture, begin)
    if counted:
        compare(result, capture, begin, awake(end, later), stolen)
    return capture, result, after - before


def threads_in(pid):
    return read("/proc/%d/status" % pid, r"^Threads:\s*(\d+)")[0]


def check_threads(result, capture, pid, before):
    """A program that makes threads under its load has any number between that before it and that
    after it."""
    count = collections.Counter()
    for s in capture.samples:
        if s.sample_type == ("threads", "count") and s.pid == pid:
            count[s.window] += s.count
    there = threads_in(pid)
    result.need(any(before <= n <= there for n in count.values()),
                "%d to %d threads, but %s" % (before, there, sorted(count.values())))


LOAD_SECONDS = str(WINDOW + AROUND + 1)


def cell_redis(run, name):
    port = free_port()
    # On one CPU. Where a thread wakes another one on a busy CPU, the kernel's run time of that one
    # begins when it is woken, and not when it runs (wakeup_preempt() skips the clock's update): 8 us
    # a turn in a virtual machine with two busy loops.
    one = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    server = subprocess.Popen([*one, need("redis-server"), "--port", str(port), "--save", "",
                               "--dir", run.args.dir], stdout=subprocess.DEVNULL)
    try:
        wait_port(port)
        threads = threads_in(server.pid)
        capture, result, _ = record(
            run, name, server.pid, "cpu,off_cpu,threads",
            [*one, "timeout", "--preserve-status", "-s", "INT", LOAD_SECONDS,
             need("redis-benchmark"), "-p", str(port), "-c", "4", "-n", "100000000", "-t", "set"])
        check_threads(result, capture, server.pid, threads)
        run.judge(name, result)
    finally:
        suite.end(server)


def serve(run, name, command, path):
    """A server that says "ready PORT", under wrk."""
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        said = server.stdout.readline().split()
        threads = threads_in(server.pid)
        capture, result, _ = record(
            run, name, server.pid, "cpu,off_cpu,threads",
            [need("wrk"), "-t", "1", "-c", "4", "-d", LOAD_SECONDS,
             "http://127.0.0.1:%s%s" % (said[1], path)])
        check_threads(result, capture, server.pid, threads)
        run.judge(name, result)
    finally:
        suite.end(server)


def cell_java(run, name):
    classes = suite.fresh_folder(run.path("classes"))
    subprocess.run([need("javac"), "-d", classes, os.path.join(HERE, "programs", "Shop.java")],
                   check=True)
    serve(run, name, [need("java"), "-XX:+UseSerialGC", "-cp", classes, "Shop"], "/a")


def cell_go(run, name):
    program = run.fresh("shop")
    subprocess.run([need("go"), "build", "-o", program,
                    os.path.join(HERE, "programs", "shop.go")], check=True,
                   env=dict(os.environ, GO111MODULE="off"))
    serve(run, name, [program], "/a")


class Postgres:
    """A cluster of its own; PostgreSQL does not run as root."""

    def __init__(self, run, *settings):
        """@settings: NAME=VALUE."""
        self.bin = os.path.dirname(need("/usr/lib/postgresql/*/bin/initdb"))
        # Of a folder that its user may not pass it can use nothing.
        self.data = tempfile.mkdtemp(prefix="otelprof-postgres-", dir="/var/tmp")
        self.port = str(free_port())
        shutil.chown(self.data, "postgres")
        self.call("initdb", "-A", "trust", "-D", self.data)
        self.log = os.path.join(self.data, "log")
        settings = ["shared_buffers=1MB", "listen_addresses=", *settings]
        with open(self.log, "wb") as log:
            self.server = subprocess.Popen(
                self.command("postgres", "-D", self.data, "-p", self.port, "-k", self.data,
                             *(word for s in settings for word in ("-c", s))),
                stdout=subprocess.DEVNULL, stderr=log)
        self.wait()
        with open(os.path.join(self.data, "postmaster.pid"), encoding="ascii") as f:
            self.pid = int(f.readline())

    def wait(self):
        """Its socket is there before it takes requests."""
        end = time.monotonic() + 60
        while subprocess.run(self.command("pg_isready", "-q", *self.where()[:-1]),
                             check=False).returncode:
            if time.monotonic() > end or self.server.poll() is not None:
                with open(self.log, encoding="utf-8", errors="replace") as log:
                    raise RuntimeError("PostgreSQL did not start: " + log.read()[-300:])
            time.sleep(0.1)

    def fill(self):
        self.call("pgbench", "-q", "-i", "-s", "8", *self.where())

    def command(self, name, *args):
        return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups",
                os.path.join(self.bin, name), *args]

    def call(self, name, *args):
        subprocess.run(self.command(name, *args), check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, cwd=self.data)

    def where(self):
        return ["-h", self.data, "-p", self.port, "postgres"]

    def forget_pages(self):
        """What it reads comes from the disk."""
        self.call("psql", "-c", "checkpoint", *self.where())
        for path in glob.glob(self.data + "/base/**/*", recursive=True):
            if os.path.isfile(path):
                with open(path, "rb") as f:
                    os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def cell_postgres(run, name):
    server = Postgres(run)
    try:
        server.fill()
        server.forget_pages()
        capture, result, read_bytes = record(
            run, name, server.pid, "cpu,off_cpu,block_io",
            server.command("pgbench", "-n", "-S", "-c", "4", "-j", "1", "-T", LOAD_SECONDS,
                           *server.where()), io_of=True)
        got = sum(sum(s.values) for s in capture.samples
                  if s.sample_type == ("block_io", "bytes") and
                  s.attributes.get("disk.io.direction") == "read")
        # Some file systems have no block device below them, or one of another kind.
        result.need(not read_bytes or not got or abs(got / read_bytes - 1) <= OFF,
                    "%d bytes read, by /proc/PID/io %d" % (got, read_bytes))
        run.judge(name, result)
    finally:
        suite.end(server.server)
        shutil.rmtree(server.data, ignore_errors=True)


# Clients that all change one row, and keep it for a while.
ONE_ROW = "begin;\nupdate pgbench_branches set bbalance = bbalance + 1 where bid = 1;\n" \
          "select pg_sleep(0.02);\ncommit;\n"


def within(begin, end, first, last):
    return max(0, min(end, last) - max(begin, first))


def cell_postgres_locks(run, name):
    """PostgreSQL logs how long each process waited for the lock of a row (log_lock_waits): the
    time off the CPUs in the function that waits, ProcSleep(), must be the same."""
    server = Postgres(run, "log_lock_waits=on", "deadlock_timeout=1ms", "log_line_prefix=%n ")
    try:
        server.fill()
        script = os.path.join(server.data, "one_row.sql")
        with open(script, "w", encoding="ascii") as f:
            f.write(ONE_ROW)
        capture, result, _ = record(
            run, name, server.pid, "cpu,off_cpu",
            server.command("pgbench", "-n", "-f", script, "-c", "4", "-j", "1", "-T",
                           LOAD_SECONDS, *server.where()), counted=False)
        first, last = capture.compared
        with open(server.log, encoding="utf-8", errors="replace") as f:
            said = [(float(when) * 1e9, float(ms) * 1e6) for when, ms in re.findall(
                r"^([\d.]+) LOG: .* acquired \w+ on .* after ([\d.]+) ms$", f.read(), re.M)]
        wanted = sum(within(t - ns, t, first, last) for t, ns in said)
        got = sum(within(t - value, t, first, last) for s in capture.samples
                  if s.sample_type == ("off_cpu", "nanoseconds") and
                  any(f.name == "ProcSleep" for f in s.frames)
                  for value, t in zip(s.values, s.timestamps))
        result.need(wanted > WINDOW * 1e9, "%d waits for locks" % len(said))
        result.need(wanted and abs(got / wanted - 1) <= OFF,
                    "off the CPUs in them %.3f of what PostgreSQL says" % (got / wanted))
        run.judge(name, result)
    finally:
        suite.end(server.server)
        shutil.rmtree(server.data, ignore_errors=True)


CELLS = {"postgres": cell_postgres, "postgres-locks": cell_postgres_locks, "redis": cell_redis, "java": cell_java, "go": cell_go}


class Counters(suite.Run):
    suite = "counters"


if __name__ == "__main__":
    sys.exit(suite.live_main(Counters, CELLS))
