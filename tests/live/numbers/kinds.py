# SPDX-License-Identifier: Apache-2.0
"""Kinds of events beside what bursts.c, sleepers.c and crowd.go count for themselves."""
import collections
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "framework"))
import otlp  # noqa: E402
import suite  # noqa: E402
from tasks import BUSY_RING, MOST, begun, config, program  # noqa: E402

PAGE = 4096
PLACES = ("first", "second")
# Pages of a CPU that the kernel's counters do not know yet (percpu_counter_batch).
BATCH = max(32, 2 * (os.cpu_count() or 1))
PERF_HZ = 20  # samples a second of each CPU
ALL = 100000  # more samples a second than there are hits
OFFSETS = 8  # moments at which the limit's second may begin
RATE_PARTS = 8  # OP_RATE_PARTS of bpf/event/rate.h
LEAST_NS = 1000000  # of noise: a kind whose T is not seen
EACH_NS = 2000  # of a wait, by which clocks differ
WAKE_NS = 20000  # from the waker's program to the run queue: a walk, and an interrupt at another CPU
CERTAIN_NS, PERHAPS_NS = 20000, 5000  # who waits so long sleeps; who waits so long, perhaps
FEW_SAMPLES = 300  # a second, in waits_few
BORDER_SECONDS = {False: 4, True: 10}  # by whether it is the full run
BORDER_OFF = 0.02
HEAP = {"heap": (12000, 1024), "heap_limit": (60000, 64)}  # allocations, and the interval
HEAP_LIMIT = 10000  # samples a second of a CPU
DISK_BYTES = 16 << 20
REQUEST_NS = 100000  # of a request, at most: the system call, its walk, and a switch
BLOCKS_LOST = 2
TOP_SECONDS = 3
TOP_HZ = 999
TOP_LATE = 0.1  # s


def told_of(path):
    """{(type, unit, state, direction or lock, a place, or "" for all): the values} of what the program
    counted, and how many samples were lost or have an unknown stack."""
    told, lost, unknown = collections.defaultdict(list), {}, 0
    for s in otlp.read_file(path).samples:
        names = [f.name for f in s.frames]
        lost[s.window, s.sample_type] = s.lost
        what = s.attributes.get("wall.state")
        what = "off_cpu" if what not in (None, "on_cpu") else what
        for key in ("disk.io.direction", "lock.type"):
            what = s.attributes.get(key, what)
        if not names or names[-1].startswith("[unwind error"):
            unknown += s.count
        places = names if any(n.startswith("counted") for n in names) else []
        for name in {*places, ""}:
            told[(*s.sample_type, what, name)] += s.values or [1] * len(s.timestamps)
    return told, sum(lost.values()) + unknown


def bursts(run, name, kinds, what, *arguments, of="bursts", options=(), env=None):
    """What bursts.c or another program @of says of what it did, and what is told of it."""
    said, path = begun(run, name, ["--kinds", kinds, *options], program(run, of), what,
                       str(run.number(name, 1 << 30)), *map(str, arguments),
                       env=dict(os.environ, **(env or {})))
    if not said.startswith("{"):
        raise suite.Skip(said.strip())
    return json.loads(said), *told_of(path)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


class Held:
    """Values beside the truth. @said has each in words, and @wrong those that are too far off."""

    def __init__(self):
        self.said, self.wrong = [], []

    def near(self, what, got, least, most, sigma=0.0, scale=1, unit=""):
        """Is @got from @least to @most, but for the noise?"""
        off = max(least - got, got - most, 0)
        text = "%s %.6g of %s%s" % (what, got / scale, "%.6g" % (most / scale) if least == most else
                                    "%.6g to %.6g" % (least / scale, most / scale), unit)
        if sigma:
            text += ", %.1f sigma" % (off / sigma)
        self.said.append(text)
        if off > MOST * sigma:
            self.wrong.append(text)

    def say(self, run, name):
        run.say("FAIL" if self.wrong else "ok", name, "; ".join(self.said), self.wrong)


def limited(hits, most):
    """The variance of the sums by place that are told of @hits, [(ns, place, how many, their mean, mean
    square)], if @most of a second are kept (bpf/event/rate.h): of a block of n hits one stands for
    all. When seconds begin is not known, so that is the mean over several moments."""
    sums = [0.0, 0.0]
    for i in range(OFFSETS):
        since = hits[0][0] - 1e9 * i / OFFSETS
        passed = kept = 0
        length, grow_at, at = 1, most, 0
        of_block = [[0.0, 0.0], [0.0, 0.0]]
        block = 1
        for ns, place, n, mean, square in hits:
            left = n
            while left > 0:
                if ns - since >= 1e9:
                    length = -(-passed // most) if ns - since < 2e9 else 1
                    since, passed, kept, grow_at = ns, 0, 0, most
                if at == 0:
                    block = max(length, 1)
                take = min(left, block - at)
                of_block[place][0] += take * mean
                of_block[place][1] += take * square
                left -= take
                passed += take
                at += take
                if at < block:
                    continue
                for p in (0, 1):
                    sums[p] += block * of_block[p][1] - of_block[p][0] ** 2
                of_block, at = [[0.0, 0.0], [0.0, 0.0]], 0
                kept += 1
                if kept >= grow_at:
                    length *= 2
                    grow_at += most // RATE_PARTS + 1
    return [s / OFFSETS for s in sums]


def cell_page_faults(run, name):
    """Each fault is told; memory grows by their pages, of which the kernel counts a batch at once."""
    said, told, lost = bursts(run, name, "page_faults", "events")
    held = Held()
    order = [b[1] for b in said["bursts"] if b[2]]
    # a place has the rest of a batch that another one began
    turns = sum(a != b for a, b in zip(order, order[1:]))
    for i, place in enumerate(PLACES):
        want = sum(b[2] for b in said["bursts"] if b[1] == i)
        held.near("faults", sum(told["page_faults", "count", None, place]), want, want)
        held.near("bytes", sum(told["memory_growth", "bytes", None, place]), want * PAGE, want * PAGE,
                  BATCH * PAGE * ((turns + 1) / 12) ** 0.5)
    want = sum(b[2] for b in said["bursts"]) * PAGE
    held.near("bytes in all", sum(sum(told["memory_growth", "bytes", None, p]) for p in PLACES),
              want - 2 * BATCH * PAGE, want + 2 * BATCH * PAGE)
    held.near("lost", lost, 0, 0)
    held.say(run, name)


def cell_perf(run, name):
    """Each software event is told."""
    said, told, lost = bursts(run, name, "perf:minor-faults,perf:context-switches", "events",
                              options=["--probe-samples", str(ALL)])
    held = Held()
    for i, place in enumerate(PLACES):
        of = [b for b in said["bursts"] if b[1] == i]
        want = sum(b[2] for b in of)
        held.near("faults", sum(told["minor_faults", "count", None, place]), want, want)
        want = sum(b[3] for b in of)
        # it may lose its CPU at the edge of a burst, of which some are on a busy machine
        held.near("switches", sum(told["context_switches", "count", None, place]), want,
                  want + 1 + len(of) // 20)
    held.near("lost", lost, 0, 0)
    held.say(run, name)


def cell_perf_rate(run, name):
    """A random one of each block of events stands for all."""
    said, told, lost = bursts(run, name, "perf:minor-faults@%dhz,perf:context-switches@%dhz" % (
        PERF_HZ, PERF_HZ), "events")
    held = Held()
    for kind, column in (("minor_faults", 2), ("context_switches", 3)):
        variance = limited([(b[0], b[1], b[column], 1, 1) for b in said["bursts"]], PERF_HZ)
        for i, place in enumerate(PLACES):
            want = sum(b[column] for b in said["bursts"] if b[1] == i)
            held.near(kind, sum(told[kind, "count", None, place]), want, want,
                      max(variance[i], 1) ** 0.5)
    held.near("lost", lost, 0, 0)
    held.say(run, name)


def shorts(values):
    """The values of samples of waits that are shorter than the threshold T: T is that of many."""
    often = collections.Counter(values)
    return [v for v in values if often[v] > 1]


def cell_waits(run, name):
    """Time off the CPUs, of locks, and by wakers, in bursts of short waits between long ones: one that
    is shorter than T stands for T."""
    few = ["--off-cpu-samples", str(FEW_SAMPLES)] if name.endswith("few") else []
    stolen = suite.stolen_ns()
    said, told, lost = bursts(run, name, "off_cpu,locks,wakers,wall", "waits", of="sleepers",
                             options=few)
    stolen = suite.stolen_ns() - stolen
    short = shorts(told["off_cpu", "nanoseconds", None, "waits_at_futex"] +
                   told["off_cpu", "nanoseconds", None, "waits_at_pipe"])
    held = Held()

    def near(what, kind, place, waits, without_ready=False, early=EACH_NS):
        """Is the sum of @waits told?"""
        ready = sum(w[2] for w in waits)
        least = sum(w[0] for w in waits) - len(waits) * early - stolen
        most = sum(w[1] for w in waits) + len(waits) * EACH_NS
        if kind != "off_cpu" and kind != "wall":  # the same with what it waited for a CPU, or without
            least -= ready
        if without_ready:
            most -= ready
        # each kind has its own T
        noise = sum(v * v for v in short) * (1 if kind == "off_cpu" else 2) + LEAST_NS ** 2
        state = {"wall": "off_cpu", "delay": "futex"}.get(kind)
        held.near(what, sum(told[kind, "nanoseconds", state, place]), least, most, noise ** 0.5, 1e9,
                  " s")

    for kind in ("off_cpu", "wall"):
        near(kind + " at a futex", kind, "waits_at_futex", said["futex"])
        near(kind + " at a pipe", kind, "waits_at_pipe", said["pipe"])
    near("locks", "delay", "waits_at_futex", said["futex"])
    for i, place in enumerate(PLACES):
        near("wakers", "off_cpu_wakers", place, [w for w in said["futex"] + said["pipe"] if
                                                 w[4] == i], True, WAKE_NS)
    if not few:
        often = [w for w in said["futex"] if w[1] > PERHAPS_NS]
        most_ns = 2 * max(short, default=0)
        held.near("waits for locks", sum(told["contentions", "count", "futex", "waits_at_futex"]),
                  sum(w[0] > CERTAIN_NS for w in often), len(often),
                  max(1, sum(max(most_ns / w[1] - 1, 0) for w in often)) ** 0.5)
    held.near("lost", lost, 0, 0)
    held.said.append("%d samples of waits shorter than T, which is up to %.3f ms" % (
        len(short), max(short, default=0) / 1e6))
    held.say(run, name)


def cell_borders(run, name):
    """Waits of 300 ms on average, while a window ends each second: all are told, in one of the two."""
    seconds, folder = BORDER_SECONDS[run.full], suite.fresh_folder(run.path(name + ".requests"))
    with contextlib.ExitStack() as stack:
        sink = subprocess.Popen([run.args.otelprof, "sink", "--listen", "127.0.0.1:0", "--dir",
                                 folder],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        stack.callback(suite.stop, [sink])
        port = re.search(r":(\d+)$", sink.stderr.readline().strip()).group(1)
        waiter = suite.start(program(run, "sleepers"), "borders", str(run.number(name, 1 << 30)),
                             str(seconds), stdin=subprocess.PIPE)
        stack.callback(suite.stop, [waiter])
        with open(run.path(name + ".log"), "w", encoding="utf-8") as log:
            export = subprocess.Popen([run.args.otelprof, "export", "-v", "--endpoint",
                                       "http://127.0.0.1:" + port, "--interval", "1", "--kinds",
                                       "off_cpu,locks,wall", "--config", config(
                                           run, name, BUSY_RING), "-p", str(waiter.pid)],
                                      stdout=log, stderr=log)
        stack.callback(suite.stop, [export])
        while export.poll() is None and "otelprof: sampling" not in read(log.name):
            time.sleep(0.02)
        for _ in range(2):
            time.sleep(1)
            waiter.stdin.write("go\n")
            waiter.stdin.flush()
            said = waiter.stdout.readline()
        suite.end(export)
    waits = json.loads(said)["futex"]
    told, windows = collections.Counter(), set()
    for request in os.listdir(folder):
        with open(os.path.join(folder, request), "rb") as f:
            samples = otlp.read_request(f.read()).samples
        for s in samples:
            windows.add(s.window)
            if any(f.name == "counted_borders" for f in s.frames):
                told[s.sample_type[0]] += sum(s.values)
    held = Held()
    off = sum(w[1] for w in waits)
    for kind, want in (("off_cpu", off), ("delay", off), ("wall", sum(w[3] for w in waits))):
        held.near(kind, told[kind], want * (1 - BORDER_OFF), want * (1 + BORDER_OFF), 0, 1e9, " s")
    if len(windows) < seconds:
        held.wrong.append("%d windows" % len(windows))
    held.said.append("%d windows" % len(windows))
    held.say(run, name)


def sampler(run):
    """The sampler of allocations, or None."""
    path = os.path.join(os.path.dirname(run.args.otelprof), "..", "..", "lib", "preload", "heap",
                        "libotelprof-heap.so.0")
    return path if os.path.exists(path) else None


def cell_heap(run, name):
    """Allocations of 16 bytes to 64 KiB. In heap_limit there are more samples a second than are taken,
    of which one of each block stands for all."""
    times, interval = HEAP[name]
    preload = sampler(run)
    if not preload:
        raise suite.Skip("no libotelprof-heap.so.0")
    said, told, lost = bursts(run, name, "heap", "heap", times, interval, env={
        "LD_PRELOAD": preload, "OTELPROF_HEAP_INTERVAL": str(interval)})
    held = Held()
    for kind, unit, sums, squares, noise in (("alloc_space", "bytes", 2, 5, 7),
                                             ("alloc_objects", "count", 3, 6, 8)):
        # each sample has one random byte of many, and beyond the limit it is one of many
        variance = limited([(b[0], b[1], b[4], b[sums] / b[4], b[squares] / b[4])
                            for b in said["bursts"]], HEAP_LIMIT)
        for i, place in enumerate(PLACES):
            of = [b for b in said["bursts"] if b[1] == i]
            want = sum(b[sums] for b in of)
            held.near(kind, sum(told[kind, unit, None, place]), want, want,
                      (variance[i] + sum(b[noise] for b in of)) ** 0.5)
    held.near("lost", lost, 0, 0)
    held.say(run, name)


def cell_kernel_locks(run, name):
    if not os.path.exists("/sys/kernel/tracing/events/lock/contention_begin") and not os.path.exists(
            "/sys/kernel/debug/tracing/events/lock/contention_begin"):
        raise suite.Skip("no tracepoint lock:contention_begin")
    said, told, _ = bursts(run, name, "kernel_locks", "kernel", of="sleepers",
                          options=["--off-cpu-samples", str(ALL)])
    held = Held()
    for i, place in enumerate(PLACES):
        of = [w for w in said["pipe"] if w[4] == i]
        held.near("waits", sum(told["contentions", "count", "mutex", place]),
                  sum(w[0] > CERTAIN_NS for w in of), sum(w[3] > PERHAPS_NS for w in of))
        held.near("delay", sum(told["delay", "nanoseconds", "mutex", place]),
                  sum(w[0] - w[2] for w in of if w[0] > CERTAIN_NS), sum(w[3] for w in of), 0, 1e9,
                  " s")
    held.say(run, name)


def cell_block_io(run, name):
    """Requests to a loop device: all are counted, and take no longer than by the program's clock."""
    if not shutil.which("losetup"):
        raise suite.Skip("no losetup")
    disk = run.fresh(name + ".disk")
    with open(disk, "wb") as f:
        os.posix_fallocate(f.fileno(), 0, DISK_BYTES)
    made = subprocess.run(["losetup", "--find", "--show", disk], capture_output=True, text=True)
    if made.returncode:
        raise suite.Skip("no loop device: " + made.stderr.strip())
    try:
        said, told, lost = bursts(run, name, "block_io", "blocks", made.stdout.strip())
    finally:
        subprocess.run(["losetup", "--detach", made.stdout.strip()], check=True)
    held = Held()
    held.near("lost", lost, 0, BLOCKS_LOST)
    for place, what, (requests, size, ns, ready_ns) in zip(PLACES, ("read", "write"), said["places"]):
        of = {unit: sum(told[kind, unit, what, place]) for kind, unit in (
            ("block_io", "count"), ("block_io", "bytes"), ("block_io", "nanoseconds"))}
        apart = sum(sum(told[kind, "nanoseconds", what, place]) for kind in (
            "block_io_queue", "block_io_service"))
        held.near(what, of["count"], requests - lost, requests)
        held.near("bytes", of["bytes"], size * (of["count"] == requests), size)
        held.near("time", of["nanoseconds"], ns - ready_ns - requests * REQUEST_NS, ns, 0, 1e9, " s")
        held.near("queue and device", apart, of["nanoseconds"], of["nanoseconds"], 0, 1e9, " s")
    held.say(run, name)


def cell_goroutines(run, name):
    """All goroutines at the end, of which many came and went."""
    if not shutil.which("go"):
        raise suite.Skip("no go")
    crowd = run.path("crowd")
    subprocess.run(["go", "build", "-o", crowd, os.path.join(HERE, "crowd.go")], check=True)
    said, path = begun(run, name, ["--kinds", "goroutines"], crowd, str(run.number(name, 1 << 30)))
    samples = [s for s in otlp.read_file(path).samples if s.sample_type[0] == "goroutines"]
    last, held = max(s.window for s in samples), Held()
    for place, want in zip(("receives", "locks", "sleeps"), map(int, said.split())):
        held.near(place, sum(s.count for s in samples if s.window == last and
                             any(f.name == "main." + place for f in s.frames)), want, want)
    held.say(run, name)


def cell_top(run, name):
    """The CPU time that top tells of tasks that work by timers."""
    used, of = [], []
    tasks = subprocess.Popen([program(run, "periodic"), "10000", "2000", "2", str(run.number(
        name, 10000)), suite.LONG, str(TOP_HZ)], stdout=subprocess.DEVNULL)
    top = subprocess.Popen([run.args.otelprof, "top", "--once", "--json", "-F", str(TOP_HZ), "-d", str(
        TOP_SECONDS), "-p", str(tasks.pid)], stdout=subprocess.PIPE, text=True)
    try:
        while top.poll() is None:  # and not long after
            used.append((time.monotonic(), suite.cpu_s(tasks.pid)))
            time.sleep(0.02)
        of = json.loads(top.stdout.read())
    finally:
        suite.stop([top, tasks])
    begin = used[-1][0] - TOP_SECONDS
    want = used[-1][1] - min(used, key=lambda at: abs(at[0] - begin))[1]
    held = Held()
    # it tells it some time after the end
    held.near("CPU time", of["cpu_ns"] / 1e9, want - TOP_LATE, want + TOP_LATE, (want / TOP_HZ) ** 0.5)
    held.near("seconds", of["seconds"], TOP_SECONDS, TOP_SECONDS + 2 * TOP_LATE)
    held.near("the functions' own", sum(f["self_ns"] for f in of["functions"]), of["cpu_ns"] * 0.8,
              of["cpu_ns"], 0, 1e9, " s")
    held.say(run, name)


CELLS = {"page_faults": cell_page_faults, "perf": cell_perf, "perf_rate": cell_perf_rate,
         "waits": cell_waits, "waits_few": cell_waits, "borders": cell_borders, "heap": cell_heap,
         "heap_limit": cell_heap, "kernel_locks": cell_kernel_locks, "block_io": cell_block_io,
         "goroutines": cell_goroutines, "top": cell_top}
