#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every value is an unbiased estimate: programs that count for themselves beside what is told.

    tests/live/numbers/numbers.py --otelprof PROGRAM --dir DIR [--full] [--seed N] [CELL...]

It prints a seed, by default of the clock, from which phases, lengths and sizes follow. --list names
all cells.

step-HZ-PERIOD-PERCENT: tasks that work PERCENT of a CPU by timers of PERIOD ms, at phases of their
own, sampled HZ times a second. Each task's samples are held against its CPU clock, in units of the
noise of one sample at a random moment of each interval: sigma, the root of the sum of p (1 - p).
pair-HZ-PERIOD-PERCENT: two such processes that work at the same moments.
thin: programs that end before the first sample of their rate is due.

wall: the same tasks on and off the CPUs, which together are the time that each lived.
idle: the idle time of each CPU, beside that of /proc/stat.

limit: calls of a probed function in bursts, of which the second of each second is beyond the limit.
lost: the profiler stands still, with a small ring: what it lost is told in every output.
mute, mute-user, mute-cgroup: a thread that a filter leaves out, until it has another name, user
or control group, by off_cpu, wall and wakers.
goroutine_waits: goroutines wait for a mutex, and for a channel.
parked-java, parked-node, parked-python: pools without work, beside threads that contend for a lock.
outputs: programs with a rate of their own, and with one sample in four, in each output.
top: what it tells of such tasks.
latency: calls of a function from three places, some in themselves, some left by longjmp(3).
indirect: calls of strlen(3), whose symbol is that of a resolver.
overload: the length of a recording beside 12 programs a CPU that start others all the time.
clocks: the wall clock steps by an hour, back, by decades (a first NTP sync), and twice. And the
machine is suspended for an hour.
timens: the profiler is in time namespaces, whose clocks are a day ahead, the one since boot alone,
and half a second ahead.
page_faults, perf, perf_rate, heap, heap_limit, kernel_locks, block_io: bursts of them, of random
lengths and sizes. In perf_rate and heap_limit they are more than is taken.
waits, waits_few: off_cpu, locks, wakers and wall, in bursts of short waits between long ones.
borders: waits of 300 ms, while a window ends each second.
goroutines: as many as there are at the end.
in_use: some 300,000 sampled allocations that stay, of which the tables have room for 16,384.
signals: more processes are killed at once than a table has room for, each with three threads.
"""
import collections
import contextlib
import ctypes
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "framework"))
import bpf_stats  # noqa: E402
import idle  # noqa: E402
import kinds  # noqa: E402
import outputs  # noqa: E402
import suite  # noqa: E402
from tasks import (BUSY_RING, CLOCK, MOST, MOST_FEW, PHASES, RARE, RARE_FEW,  # noqa: E402
                   RARE_PARTS, Task, begun, config, periodic, program, step, told_by_thread)

RATES, PERIODS = (19, 20, 99, 100, 999), (1, 5, 10, 20, 50)
FULL = ["step-%d-%d-%d" % cell for cell in itertools.product(RATES, PERIODS, (10, 20, 50))] + [
    "pair-%d-%d-30" % cell for cell in itertools.product(RATES, PERIODS)] + [
    "step-20-100-20", "step-20-1000-10", "step-99-1000-20"]
# (HZ, PERIOD, PERCENT), the first one in the default run
WALL = [(100, 10, 20), (20, 50, 20), (99, 5, 50), (999, 1, 10)]
WALL_OFF = 0.01  # of the clock, and RARE sigma of the ticks
THIN_RUNS = 8
# Each has a sample with p = 0.2: 7 of 8 have one in 1 of 12,000 cases.
THIN_HZ, THIN_SECONDS, THIN_MOST = 2, 0.1, 6
THIN_RULES = """sample_rate_hz = 500
rules = include comm:periodic
rules = rate %d comm:periodic
""" % THIN_HZ
BURSTS = 3
CALLS = 5000, 3000  # fewer than 5,000, at least 3,000
# A sum of 1,000 kept of 8,000, in blocks: 2 %, and a part of the last block.
LIMIT_OFF = 0.1
LOST_RING = 131072  # bytes: some hundred samples
LOST_SECONDS = 4
LOST_OFF = 0.03  # of a CPU clock: ticks of the recorder's last poll, and CLOCK
SLEEPS = 100, 70  # fewer than 100, at least 70
NOBODY = 65534
MUTE_OFF = 0.1  # of off_cpu's own sampling
OUTPUTS_SECONDS = 4
OUTPUTS_KINDS, OUTPUTS_MORE = "cpu,off_cpu,wall,threads", ",locks,page_faults"
OUTPUTS_RULES = """sample_rate_hz = 100
rules = include 1/4 comm:slow
rules = include comm:fast
rules = rate 400 comm:fast
"""
WAITS_SECONDS = 5
WAITS_MATRIX_SECONDS = 60
# A look each 10 to 20 ms finds the one that waits for the channel in 90 of 100 cases: 2 % of 5 s.
WAITS_OFF = 0.1
WAITS_MATRIX_OFF = 0.03
LIVES = 32000, 28000
LIVE_INTERVAL = 1024  # bytes
LIVE_OFF = 0.2  # five sigma: the last samples that fit weigh 128 times as much as the first
KILLED = 1600, 1400
IDLE_SECONDS = 8  # more than a window
IDLE_HZ = 99
IDLE_SWITCHES = 4  # between two readings
IDLE_LEAST = 1  # s, of all CPUs: with less nothing is tested
IDLE_BUSY = 0.9  # of their time at least, on a machine that was too busy for that
CALLED = 32000, 28000
CALLED_OFF = 0.01  # a part of the last block, and some calls before and after
CLOCK_SECONDS = 12  # more than two windows
CLOCK_AFTER_MS = 4000
CLOCK_STEPS = [(3600,), (-3600,), (-3600, 3600), (25 * 365 * 86400,)]
CLOCK_SLEEP = (3601,)  # s
CLOCK_OFF = 1  # s: windows without a sample
CLOCK_HZ = 99
OVERLOAD_SECONDS, OVERLOAD_SHELLS = 4, 12  # shells a CPU
OVERLOAD_OFF = 0.02  # of the seconds, between what is told and the times of the samples
# Of the seconds: the recorder waits for a CPU to stop, and there are samples until then.
OVERLOAD_LATE = 0.1
TIMENS = [("86400 0", "86400 0"), ("0 0", "86400 0"), ("0 500000000", "0 0")]
TIMENS_OFF = 0.1  # s
CLONE_NEWTIME = 0x80
CLOCK_TOLD = 0.8  # of the ticks at least: the worker may get less of a busy machine
PARKED_SECONDS = 4
PARKED_OFF = 0.1  # of locks' own sampling
# The rest of what is told, of the time of one thread: an idle one has all of it. A busy machine has
# more contention inside the JVM.
PARKED_REST = 0.75
PARKED = {"java": ["java", os.path.join(HERE, "Parked.java"), str(PARKED_SECONDS)],
          "node": ["node", os.path.join(HERE, "parked.js"), str(PARKED_SECONDS)],
          "python": [sys.executable, os.path.join(HERE, "parked.py"), str(PARKED_SECONDS)]}
TIMED = 2200, 1800
TIMED_OFF, TIMED_NS = 0.03, 2000  # and so much of a call; the rest of a block of passes is in it
PASSED = 0.9  # CPU samples in probed calls whose stacks are whole; the first ones may be early
DEFAULT = ["step-20-50-10", "step-100-10-20", "step-999-1-10", "pair-20-50-30", "wall",
           "limit", "lost", "mute", "in_use", "signals", "goroutine_waits", "outputs", "latency",
           "indirect", "timens", "page_faults", "waits", "heap"]


def read(folded):
    with open(folded, encoding="utf-8") as f:
        stacks = [line.rsplit(" ", 1) for line in f]
    return [(stack.split(";"), int(n)) for stack, n in stacks]


def told_at(run, name, path, *places):
    """The sums of the values of samples with these functions on their stacks, and of all samples: a
    busy machine has stacks of which nothing is known."""
    text = run.fresh(name + ".folded")
    subprocess.run([run.args.otelprof, "convert", "-o", text, path], check=True,
                   capture_output=True)
    stacks = read(text)
    return [sum(n for stack, n in stacks if place in stack) for place in places], sum(
        n for _, n in stacks)


def record(run, name, options, *command):
    """Returns (stacks and their values, what the command said)."""
    folded = run.fresh(name + ".folded")
    done = subprocess.run([run.args.otelprof, "record", "-q", "-o", folded, "--config",
                           config(run, name, BUSY_RING), *options, "--", *command],
                          capture_output=True, text=True, timeout=600, check=True)
    return read(folded), done.stdout


class Numbers(suite.Run):
    suite = "numbers"
    full = False

    def __init__(self, args):
        super().__init__(args)
        self.deviations = []
        self.seed = time.time_ns() // 1000000 if args.seed is None else args.seed
        print("seed %d" % self.seed, flush=True)

    def number(self, name, below, least=0):
        """A random number of cell @name, by the seed alone."""
        return random.Random("%d %s" % (self.seed, name)).randrange(least, below)

    def step(self, name, cell, copies):
        phases = PHASES if self.full and copies == 1 else 1
        found = step(self, name, cell, phases, copies)
        self.deviations += [abs(sigmas) for sigmas, _, _ in found]
        worst = max(found, key=lambda f: abs(f[0]))
        text = "told %d of %d, all tasks; at worst %d of %.1f, %.1f sigma" % (
            sum(f[1] for f in found), sum(f[2] for f in found), worst[1], worst[2], worst[0])
        most = MOST if self.full else MOST_FEW
        self.say("FAIL" if abs(worst[0]) > most else "ok", name, text)

    def close(self):
        beyond = sum(d > RARE for d in self.deviations)
        text = "%d of %d tasks beyond %d sigma; mean square %.2f" % (
            beyond, len(self.deviations), RARE,
            sum(d * d for d in self.deviations) / max(len(self.deviations), 1))
        self.say("FAIL" if beyond > max(len(self.deviations) / RARE_PARTS, RARE_FEW) else "ok",
                 "step", text)


def cell_thin(run, name):
    told, rules = 0, config(run, name, THIN_RULES)
    for _ in range(THIN_RUNS):
        with suite.Recorder(run.args.otelprof, run.fresh(name + ".otlp"), "--no-keep", "--config",
                            rules) as recorder:
            said = subprocess.run([program(run, "periodic"), "50000", "50000", "1", "0",
                                   str(THIN_SECONDS), str(THIN_HZ)], capture_output=True,
                                  text=True, check=True).stdout
            suite.end(recorder.process, 300)  # without a sample it fails
        if os.path.exists(recorder.out):
            told += told_by_thread(outputs.otlp.read_file(recorder.out).samples)[0][Task(said).tid]
    run.say("ok" if told <= THIN_MOST else "FAIL", name, "%d samples told, of %.1f" % (
        told, THIN_RUNS * THIN_HZ * THIN_SECONDS))


def cell_limit(run, name):
    changes = program(run, "changes")
    calls = run.number(name, *CALLS)
    _, path = begun(run, name, ["--kinds", "probe:uprobe:%s:place" % changes], changes, "bursts",
                    str(BURSTS), str(calls))
    told, total = told_at(run, name, path, "first", "second")
    want = BURSTS * calls
    run.say("ok" if all(n < want * (1 + LIMIT_OFF) for n in told) and
            abs(total / (2 * want) - 1) < LIMIT_OFF else "FAIL", name,
            "%d and %d calls told, of %d each; %d in all" % (*told, want, total))


def used_by_children(pid):
    """{the children of process @pid: (name, CPU time in ns)}."""
    used = {}
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as f:
        children = f.read().split()
    for child in children:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            with open("/proc/%s/comm" % child, encoding="utf-8") as f:
                comm = f.read().strip()
            used[int(child)] = comm, int(1e9 * suite.cpu_s(int(child)))
    return used


def wait_for_work(recorder, seconds):
    """Until the command of @recorder has used so much CPU time."""
    used = 0
    while used < seconds and recorder.poll() is None:
        time.sleep(0.02)
        used = sum(ns for _, ns in used_by_children(recorder.pid).values()) / 1e9


def cell_lost(run, name):
    """Told and lost samples together are those of the CPU clocks."""
    path = run.fresh(name + ".otlp")
    tasks = min(2, os.cpu_count())
    with subprocess.Popen([run.args.otelprof, "record", "--no-keep", "-F", "999", "--config",
                           config(run, name, "ring_bytes = %d" % LOST_RING), "-o", path, "--",
                           program(run, "periodic"), "50000", "50000", str(tasks),
                           "0", str(LOST_SECONDS), "999"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as recorder:
        wait_for_work(recorder, tasks * LOST_SECONDS / 4)
        recorder.send_signal(signal.SIGSTOP)
        wait_for_work(recorder, tasks * LOST_SECONDS * 3 / 4)
        recorder.send_signal(signal.SIGCONT)
        said, summary = recorder.communicate()
    want = sum(int(line.split()[1]) for line in said.splitlines()) * 999 / 1e9
    samples = outputs.otlp.read_file(path).samples
    told, lost = sum(s.count for s in samples), sum({s.window: s.lost for s in samples}.values())
    texts = [subprocess.run([run.args.otelprof, "report", "--no-lines", "--format", form, path],
                            check=True, capture_output=True, text=True).stdout
             for form in ("text", "markdown", "json")]
    words = "%.1f%% of the samples were lost" % (100 * lost / (told + lost))
    silent = [form for form, text in zip(("text", "markdown"), texts) if words not in text]
    silent += ["json"] if abs(json.loads(texts[2])["quality"]["lost_samples_percent"] /
                              (100 * lost / (told + lost)) - 1) > 1e-4 else []
    silent += ["summary"] if not re.search(r"[1-9][0-9]*\.\d%  of the samples were lost",
                                           summary) else []
    run.say("ok" if abs((told + lost) / want - 1) < LOST_OFF and lost > told / 4 and not silent
            else "FAIL", name, "%d told and %d lost, of %.0f" % (told, lost, want),
            ["not in " + form for form in silent])


def cell_mute(run, name):
    with contextlib.ExitStack() as stack:
        how, options = name.partition("-")[2] or "name", ["--comm", "after"]
        if how == "user":
            options = ["--user", str(NOBODY)]
        elif how == "cgroup":
            with open("/proc/mounts", encoding="utf-8") as f:
                root = next((line.split()[1] for line in f if line.split()[2] == "cgroup2"), None)
            if not root:
                raise suite.Skip("no cgroup v2")
            how = "%s/otelprof-numbers-%d" % (root, os.getpid())
            os.mkdir(how)
            stack.callback(os.rmdir, how)
            options = ["--cgroup", how]
        mute(run, name, how, options)


def mute(run, name, how, options):
    held, told = kinds.Held(), collections.Counter()
    with suite.Recorder(run.args.otelprof, run.fresh(name + ".otlp"), "--no-keep", "--kinds",
                        "off_cpu,wall,wakers", *options) as recorder:
        sleeps = subprocess.Popen([program(run, "changes"), how, str(run.number(name, *SLEEPS))],
                                  stdout=subprocess.PIPE, text=True)
        want = int(sleeps.communicate()[0])
        suite.end(recorder.process, 300)  # without a sample it fails
    if os.path.exists(recorder.out):
        for s in outputs.otlp.read_file(recorder.out).samples:
            if s.attributes.get("thread.id") == sleeps.pid and s.attributes.get(
                    "woken.process.pid", sleeps.pid) == sleeps.pid:
                told[s.sample_type[0]] += sum(s.values)
    for kind in ("off_cpu", "wall", "off_cpu_wakers"):
        held.near(kind, told[kind], want * (1 - MUTE_OFF), want * (1 + MUTE_OFF), 0, 1e9, " s")
    held.say(run, name)


def cell_in_use(run, name):
    sampler = kinds.sampler(run)
    if not sampler:
        raise suite.Skip("no libotelprof-heap.so.0")
    said, path = begun(run, name, ["--kinds", "heap"], program(run, "changes"), "live",
                       str(run.number(name, *LIVES)),
                       env=dict(os.environ, LD_PRELOAD=sampler,
                                OTELPROF_HEAP_INTERVAL=str(LIVE_INTERVAL)))
    want = [int(word) for word in said.split()]
    text = run.fresh(name + ".folded")
    subprocess.run([run.args.otelprof, "convert", "--kind", "inuse_space", "-o", text, path],
                   check=True, capture_output=True)
    stacks = read(text)
    told = [sum(n for stack, n in stacks if place in stack) for place in ("large", "small")]
    run.say("ok" if all(abs(t / w - 1) < LIVE_OFF for t, w in zip(told, want)) else "FAIL", name,
            "%d and %d bytes in use told, of %d and %d" % (*told, *want))


def cell_goroutine_waits(run, name):
    if not shutil.which("go"):
        raise suite.Skip("no go")
    seconds = WAITS_MATRIX_SECONDS if run.full else WAITS_SECONDS
    program = run.path("waits")
    subprocess.run(["go", "build", "-o", program, os.path.join(HERE, "waits.go")], check=True)
    cpus = sorted(os.sched_getaffinity(0))
    try:  # on its CPU a look would come late, when the goroutine has left it
        os.sched_setaffinity(0, cpus[-1:])
        said, path = begun(run, name, ["--kinds", "goroutine_waits"], "taskset", "-c",
                           str(cpus[0]), program, str(seconds))
    finally:
        os.sched_setaffinity(0, cpus)
    want = [int(word) for word in said.split()]
    told, _ = told_at(run, name, path, "sync.(*Mutex).Lock", "main.waitsForChannel")
    most = WAITS_MATRIX_OFF if run.full else WAITS_OFF
    locks = run.fresh(name + "-locks.otlp")
    subprocess.run([run.args.otelprof, "record", "-q", "--no-keep", "--kinds", "locks", "-o", locks,
                    "--", program, "2"], check=True, capture_output=True, stdin=subprocess.DEVNULL)
    idle = sum(sum(s.values) for s in outputs.otlp.read_file(locks).samples
               if s.sample_type[0] == "delay" and
               {"runtime.stopm", "runtime.sysmon"} & {f.name for f in s.frames})
    run.say("ok" if all(abs(t / w - 1) < most for t, w in zip(told, want)) and not idle else
            "FAIL", name, "%.3f and %.3f s told, of %.3f and %.3f; %.3f of idle threads as locks" %
            tuple(n / 1e9 for n in told + want + [idle]))


def cell_parked(run, name):
    """Contention beside the program's own sum; what waits for work is none."""
    command = PARKED[name.split("-")[1]]
    if not shutil.which(command[0]):
        raise suite.Skip("no " + command[0])
    path = run.fresh(name + ".otlp")
    done = subprocess.run([run.args.otelprof, "record", "-q", "--no-keep", "--kinds", "locks", "-o",
                           path, "--", *command], check=True, capture_output=True, text=True)
    want = float(done.stdout)
    told = rest = parked = 0
    for s in outputs.otlp.read_file(path).samples:
        seconds = sum(s.values) / 1e9
        if s.sample_type[0] == "parked":
            parked += seconds
        elif s.sample_type[0] == "delay" and any(f.name.endswith("contends") for f in s.frames):
            told += seconds
        elif s.sample_type[0] == "delay" and not s.frames[-1].name.startswith("[unwind error"):
            rest += seconds
    right = abs(told - want) <= want * PARKED_OFF and rest < PARKED_SECONDS * PARKED_REST
    run.say("ok" if right and parked > PARKED_SECONDS * (1 - PARKED_OFF) else "FAIL", name,
            "%.3f s told, of %.3f; parked %.3f, the rest %.3f" % (told, want, parked, rest))


def cell_outputs(run, name):
    path = run.fresh(name + ".otlp")
    env, listed = dict(os.environ), OUTPUTS_KINDS
    sampler = kinds.sampler(run)
    if run.full:
        listed += OUTPUTS_MORE
    if run.full and sampler:
        listed += ",heap"
        env |= {"LD_PRELOAD": sampler}
    with suite.Recorder(run.args.otelprof, path, "--no-keep", "--config",
                        config(run, name, OUTPUTS_RULES), "--kinds", listed) as recorder:
        begin = time.monotonic()
        twins = subprocess.Popen([program(run, "changes"), "twins", "60000"], env=env)
        try:
            time.sleep(OUTPUTS_SECONDS)
            used, lived = used_by_children(twins.pid), time.monotonic() - begin
            recorder.end()
        finally:
            suite.stop([twins])
    problems, want = outputs.differences(run, path, program(run, "changes"))
    few = [kind for kind, pids in want.items() if len(pids) < 2]
    held = kinds.Held()
    for pid, (comm, cpu_ns) in used.items():
        outputs.hold(held, path, pid, comm, cpu_ns, lived * 1e9)
    problems += held.wrong
    run.say("FAIL" if problems or few or len(want) < len(listed.split(",")) else "ok", name,
            "; ".join(["%s %s" % (kind, " and ".join(str(n) for n in pids.values()))
                       for kind, pids in sorted(want.items())] + held.said), problems)


def cell_latency(run, name):
    """Latency by place beside the program's clock; the stacks of all samples pass the trampoline."""
    changes, path = program(run, "changes"), run.fresh(name + ".otlp")
    done = subprocess.run([run.args.otelprof, "record", "-q", "--no-keep", "-F", "999", "--kinds",
                           "cpu,probe:uprobe:%s:timed:latency" % changes, "--config",
                           config(run, name, BUSY_RING + "\nprobe_samples = 100000"), "-o", path,
                           "--", changes, "calls", str(run.number(name, *TIMED))],
                          capture_output=True, text=True, check=True)
    want = [[int(word) for word in line.split()] for line in done.stdout.splitlines()]
    told, passed, others = [0, 0, 0], 0, 0
    for s in outputs.otlp.read_file(path).samples:
        names = [f.name for f in s.frames]
        place = [p in names for p in ("shorts", "longs", "nests")]
        if s.sample_type == ("timed_latency", "nanoseconds") and any(place):
            told[place.index(True)] += sum(s.values)
        elif s.sample_type[0] == "samples" and "timed" in names:
            passed += "main" in names and "_start" in names
            others += "main" not in names
    wrong = ["%d of %s ns" % pair for pair in zip(told, want) if not -pair[1][1] * TIMED_OFF <
             pair[0] - pair[1][1] < pair[1][1] * TIMED_OFF + pair[1][0] * TIMED_NS + pair[1][2]]
    if shutil.which("go"):
        refused = subprocess.run([run.args.otelprof, "record", "-q", "-d", "1", "--kinds",
                                  "probe:uretprobe:%s:main.main" %
                                  os.path.realpath(shutil.which("go"))], capture_output=True,
                                 text=True)
        if refused.returncode != 1 or "a Go program" not in refused.stderr:
            wrong.append("of Go: " + refused.stderr)
    if passed < PASSED * (passed + others):
        wrong.append("%d of %d stacks end in the call" % (others, passed + others))
    run.say("FAIL" if wrong else "ok", name, "; ".join(
        "%d of %d ns in %d calls" % (t, w[1], w[0]) for t, w in zip(told, want)) +
        "; %d stacks of other samples pass it, %d do not" % (passed, others), wrong)


def cell_indirect(run, name):
    libc = next((line.split()[-1] for line in open("/proc/self/maps", encoding="utf-8")
                 if "/libc.so.6" in line), None)
    if not libc:
        raise suite.Skip("no libc.so.6")
    called = run.number(name, *CALLED)
    _, path = begun(run, name, ["--kinds", "probe:uprobe:%s:strlen" % libc],
                    program(run, "changes"), "strlen", str(called))
    _, told = told_at(run, name, path)
    run.say("ok" if abs(told / called - 1) < CALLED_OFF else "FAIL", name,
            "%d calls of strlen told, of %d" % (told, called))


def record_apart(run, path, offsets):
    """Record a command in a time namespace with such lines of offsets. Returns what the command said
    of its clocks and of those of the recorder, and what the recorder warned of."""
    libc = ctypes.CDLL(None, use_errno=True)

    def leave():
        if libc.unshare(CLONE_NEWTIME):
            os._exit(77)
        with open("/proc/self/timens_offsets", "w", encoding="ascii") as f:
            f.write(offsets)
    done = subprocess.run(  # the shell's children are in the namespace
        ["sh", "-c", '"$@"; exit $?', "sh", run.args.otelprof, "record", "-q", "--no-keep",
         "--kinds", "off_cpu", "-o", path, "--", "sh", "-c",
         "sleep 0.3; cat /proc/self/timens_offsets /proc/$PPID/timens_offsets"],
        capture_output=True, text=True, timeout=120, preexec_fn=leave)
    if done.returncode == 77:
        raise suite.Skip("no time namespaces")
    done.check_returncode()
    return [line.split() for line in done.stdout.splitlines()], done.stderr


def cell_overload(run, name):
    """The window ends with sampling, however late it is written."""
    path = run.fresh(name + ".otlp")
    shells = [subprocess.Popen(["sh", "-c", "while :; do /bin/true; done"])
              for _ in range(OVERLOAD_SHELLS * os.cpu_count())]
    try:
        begin = time.monotonic()
        subprocess.run([run.args.otelprof, "record", "-q", "--no-keep", "-F", "199", "-d",
                        str(OVERLOAD_SECONDS), "-o", path], check=True, capture_output=True,
                       timeout=300)
        took = time.monotonic() - begin
    finally:
        suite.stop(shells)
    samples = outputs.otlp.read_file(path).samples
    seconds = sum(d for _, d in {(s.window, s.duration) for s in samples}) / 1e9
    times = [t / 1e9 for s in samples for t in s.timestamps]
    span = max(times) - min(times)
    right = abs(seconds - span) < OVERLOAD_OFF * OVERLOAD_SECONDS and all(
        -OVERLOAD_OFF < told / OVERLOAD_SECONDS - 1 < OVERLOAD_LATE for told in (seconds, span))
    run.say("ok" if right else "FAIL", name, "%.3f s told, samples within %.3f, of %d; record took "
            "%.1f" % (seconds, span, OVERLOAD_SECONDS, took))


def cell_timens(run, name):
    said, wrong = [], []
    for monotonic, boottime in TIMENS:
        path = run.fresh(name + ".otlp")
        offsets = "monotonic %s\nboottime %s\n" % (monotonic, boottime)
        before = time.time()
        lines, stderr = record_apart(run, path, offsets)
        times = [t / 1e9 - before for s in outputs.otlp.read_file(path).samples
                 for t in s.timestamps]
        said.append("%s and %s: %d samples, from %.1f to %.1f s after the start" % (
            monotonic, boottime, len(times), min(times), max(times)))
        if min(times) < -TIMENS_OFF or max(times) > time.time() - before + TIMENS_OFF:
            wrong.append(said[-1])
        if lines[:2] != [line.split() for line in offsets.splitlines()]:
            wrong.append("the command's clocks: %s" % lines[:2])
        if lines[2:] != [["monotonic", "0", "0"], ["boottime", "0", "0"]]:
            wrong.append("the recorder's clocks: %s" % lines[2:])
        wrong += [stderr] if "warning" in stderr else []
    run.say("FAIL" if wrong else "ok", name, "; ".join(said), wrong)


def used_ticks(pid):
    """The CPU time of process @pid, in ticks of the recorder's clock."""
    with open("/proc/%d/schedstat" % pid, encoding="ascii") as f:
        return int(f.read().split()[0]) * CLOCK_HZ / 1e9


def clocks(run, name, step_so, worker):
    """What is told of each step, and what of it is wrong."""
    told, wrong = [], []
    for steps in [*CLOCK_STEPS, CLOCK_SLEEP]:
        path = run.fresh("%s.otlp" % name)
        env = dict(os.environ, LD_PRELOAD=step_so, AFTER=str(CLOCK_AFTER_MS),
                   **dict(zip(("STEP", "STEP_2"), map(str, steps))))
        if steps is CLOCK_SLEEP:
            env["ASLEEP"] = "1"
        begin, wall, used = time.monotonic(), time.time(), used_ticks(worker)
        subprocess.run([run.args.otelprof, "record", "-q", "--no-keep", "-F", str(CLOCK_HZ), "-d",
                        str(CLOCK_SECONDS), "-p", str(worker), "-o", path], env=env,
                       check=True, capture_output=True, timeout=120)
        took, used = time.monotonic() - begin, used_ticks(worker) - used
        samples = outputs.otlp.read_file(path).samples
        windows = sorted({(s.window, s.duration) for s in samples})
        seconds = sum(duration for _, duration in windows) / 1e9
        starts = [start / 1e9 - wall for start, _ in windows]
        ticks = sum(s.count for s in samples)
        told.append("%+d: %d windows, %.2f s, %d of %.0f ticks" % (
            sum(steps), len(windows), seconds, ticks, used))
        if not CLOCK_SECONDS - CLOCK_OFF < seconds < took:
            wrong.append("%s: windows of %.2f s, of %d s" % (steps, seconds, CLOCK_SECONDS))
        if not used * seconds / took * CLOCK_TOLD < ticks < used + MOST * used ** 0.5:
            wrong.append("%s: %d ticks, of %.0f" % (steps, ticks, used))
        reached = [0] + [sum(steps[:i + 1]) for i in range(len(steps))]
        wrong += ["%s: a window begins %.1f s after the start" % (steps, at) for at in starts
                  if not any(-1 < at - shift < took for shift in reached)]
    return told, wrong


def cell_clocks(run, name):
    """Windows end to end by the monotonic clock, each at the wall time of its beginning."""
    step_so = run.path("step.so")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", step_so, os.path.join(HERE, "step.c")],
                   check=True)
    worker = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        told, wrong = clocks(run, name, step_so, worker.pid)
    finally:
        suite.stop([worker])
    run.say("FAIL" if wrong else "ok", name, "; ".join(told), wrong)


def cell_signals(run, name):
    killed = run.number(name, *KILLED)
    _, said = run.record(name, "--kinds", "signals", "--", program(run, "changes"), "kill",
                         str(killed))
    told = [int(re.search(word + r" (\d+)", said).group(1)) for word in ("exported", "dropped")]
    run.say("ok" if sum(told) == killed else "FAIL", name,
            "%d told and %d lost, of %d" % (*told, killed))


def cell_step(run, name):
    run.step(name, [int(n) for n in name.split("-")[1:]], 2 if name.startswith("pair") else 1)


def cell_wall(run, name):
    said, wrong = [], []
    for cell in WALL if run.full else WALL[:1]:
        path = run.fresh("%s.otlp" % name)
        tasks = periodic(run, path, ["--kinds", "wall", "--config", config(run, name, BUSY_RING)], cell,
                         2)
        on, off = collections.Counter(), collections.Counter()
        for s in outputs.otlp.read_file(path).samples:
            state = on if s.attributes["wall.state"] == "on_cpu" else off
            state[s.attributes.get("thread.id")] += sum(s.values)
        for task in tasks:
            told = on[task.tid] + off[task.tid]
            said.append("%d Hz: %.3f s on, %.3f off, of %.3f lived and %.3f on" % (
                cell[0], on[task.tid] / 1e9, off[task.tid] / 1e9, task.lived_ns / 1e9,
                task.cpu_ns / 1e9))
            if abs(told - task.lived_ns) > (WALL_OFF * task.lived_ns +
                                            RARE * task.sigma * 1e9 / cell[0]):
                wrong.append("%s: %d ns, not %d" % (cell, told, task.lived_ns))
            most = MOST if run.full else MOST_FEW
            if abs(on[task.tid] - task.cpu_ns) > (most * task.sigma * 1e9 / cell[0] +
                                                  CLOCK * task.cpu_ns):
                wrong.append("%s: %d ns on the CPUs, not %d" % (cell, on[task.tid], task.cpu_ns))
    run.say("FAIL" if wrong else "ok", name, "; ".join(said), wrong)


def cell_idle(run, name):
    path = run.fresh(name + ".otlp")
    with bpf_stats.counted(), idle.Stat() as stat:
        recorder = subprocess.Popen([run.args.otelprof, "record", "-q", "--no-keep", "-F",
                                     str(IDLE_HZ), "--idle-stacks", "-d", str(IDLE_SECONDS), "-o",
                                     path], stderr=subprocess.DEVNULL)
        time.sleep(IDLE_SECONDS / 4)
        before = idle.switches(recorder.pid)
        time.sleep(IDLE_SECONDS / 2)
        switched, told = (b - a for a, b in zip(before, idle.switches(recorder.pid)))
        if recorder.wait(timeout=120):
            raise RuntimeError("exit %d" % recorder.returncode)
    found, wrong = idle.differences(path, stat)
    # Some kernels trace no switch from certain threads. Of the idle time behind one nothing is known.
    if wrong and told < switched - IDLE_SWITCHES:
        raise suite.Skip("the kernel tells of %d switches of %d" % (told, switched))
    lived, wanted = stat.whole()
    if wanted < IDLE_LEAST and not wrong:
        why = "%.2f s idle and %.2f busy, of %.2f" % (wanted, stat.busy, lived)
        if stat.busy > IDLE_BUSY * lived:
            raise suite.Skip("a busy machine: " + why)
        wrong.append("nothing was idle: " + why)
    run.say("FAIL" if wrong else "ok", name, "; ".join(
        "%.2f of %.2f in %.2f s" % (told, want, seconds) for seconds, told, want in found), wrong)


def main():
    parser = suite.parser("otelprof")
    parser.add_argument("--full", action="store_true", help="every cell, at ten phases")
    parser.add_argument("--seed", type=int,
                        help="of phases, lengths and sizes (from the clock, and printed)")
    args = parser.parse_args()
    why = suite.why_not_live(args.otelprof)
    if why:
        print("skip numbers all: %s" % why)
        return 77
    run = Numbers(args)
    run.full = args.full
    known = {name: cell_step for name in FULL} | {
        name[len("cell_"):]: cell for name, cell in globals().items() if name.startswith("cell_")}
    del known["step"], known["parked"]
    known |= {"parked-" + language: cell_parked for language in PARKED}
    known |= {"mute-" + what: cell_mute for what in ("user", "cgroup")}
    known |= kinds.CELLS
    run.cells(known, list(known) if args.full or args.list else DEFAULT)
    run.close()
    return run.status()


if __name__ == "__main__":
    sys.exit(main())
