#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each kind of events costs a program that does nothing but what is measured (worst.c),
beside bpftrace, which counts the same events by their stacks.

    tests/bench/kinds.py --build DIR --dir DIR [--rounds N] [KIND...]

Prints a table of the CPU ns of an operation: with no profiler, with otelprof that profiles all
processes by this kind alone, and with bpftrace; medians of the rounds, which take turns. Needs
root, and a release build. The second DIR is on a disk, for reads past the page cache. bpftrace
looks at the loop alone where it can, otelprof at every process.
"""
import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "harness"))
import tracer  # noqa: E402

SECONDS = 7  # of a loop
WARM = 3  # of those, until whoever looks on is there
FILE_BYTES = 1 << 20

# Kind -> (loop, what otelprof is asked for, bpftrace's program or None). PID, FILE and LIBC stand
# for themselves. There is no bpftrace program where it has nothing like it.
OFF = ("tracepoint:sched:sched_switch /pid == PID/ { @t[tid] = nsecs; @[kstack, ustack] = count(); } "
       "tracepoint:sched:sched_switch /@t[args->next_pid]/ { @ns = sum(nsecs - @t[args->next_pid]); "
       "delete(@t[args->next_pid]); }")
KINDS = {
    "off_cpu": ("switch", "off_cpu", OFF),
    "off_cpu, wakers": ("switch", "off_cpu --wakers", None),
    "wakers": ("switch", "wakers",
               "tracepoint:sched:sched_switch /pid == PID/ { @t[tid] = nsecs; } "
               "tracepoint:sched:sched_waking /@t[args->pid]/ "
               "{ @[kstack, ustack] = sum(nsecs - @t[args->pid]); delete(@t[args->pid]); }"),
    "wall": ("switch", "wall", None),
    "locks": ("futex", "locks",
              "tracepoint:syscalls:sys_enter_futex /pid == PID/ { @t[tid] = nsecs; } "
              "tracepoint:syscalls:sys_exit_futex /@t[tid]/ { @[ustack] = sum(nsecs - @t[tid]); "
              "delete(@t[tid]); }"),
    "kernel_locks": ("dup", "kernel_locks",
                     "tracepoint:lock:contention_begin /pid == PID/ "
                     "{ @t[tid, args->lock_addr] = nsecs; } "
                     "tracepoint:lock:contention_end /@t[tid, args->lock_addr]/ "
                     "{ @[kstack, ustack] = sum(nsecs - @t[tid, args->lock_addr]); "
                     "delete(@t[tid, args->lock_addr]); }"),
    "page_faults": ("fault", "page_faults",
                    "software:page-faults:1 /pid == PID/ { @[kstack, ustack] = count(); }"),
    "block_io": ("direct", "block_io",
                 "tracepoint:block:block_rq_issue { @[kstack, ustack] = sum(args->bytes); }"),
    "probes": ("call", "probe:uprobe:FILE:probed",
               "uprobe:FILE:probed /pid == PID/ { @[kstack, ustack] = count(); }"),
    "signals": ("signal", "signals",
                "tracepoint:signal:signal_deliver { @[kstack, ustack] = count(); }"),
    "heap": ("malloc", "heap", "uprobe:LIBC:malloc /pid == PID/ { @[ustack] = sum(arg0); }"),
}
OTELPROF = "examples/otelprof/otelprof"
SAMPLER = "lib/preload/heap/libotelprof-heap.so"


def libc_of(pid):
    with open("/proc/%d/maps" % pid, encoding="ascii") as f:
        return re.search(r"\S*/libc[.-]\S*", f.read()).group()


def watch(who, kind, worst, pid):
    """The command that looks on."""
    _, kinds, program = KINDS[kind]
    if who == "bpftrace":
        text = program.replace("PID", str(pid)).replace("FILE", worst)
        return ["bpftrace", "-e", text.replace("LIBC", libc_of(pid))]
    option, *more = kinds.replace("FILE", worst).split()
    return [os.path.join(who, OTELPROF), "record", "-q", "--kinds", option, *more, "-d", str(SECONDS + 5), "-o",
            worst + ".otlp"]


def run(who, kind, worst, data):
    """CPU ns of an operation, of the last seconds of a loop."""
    env = dict(os.environ)
    if kind == "heap" and who not in (None, "bpftrace"):
        env["LD_PRELOAD"] = os.path.join(who, SAMPLER)
    loop = subprocess.Popen([worst, KINDS[kind][0], str(SECONDS), data],
                            stdout=subprocess.PIPE, text=True, env=env)
    pid = int(loop.stdout.readline().split()[1])
    watcher = None
    if who:
        watcher = subprocess.Popen(watch(who, kind, worst, pid), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        time.sleep(0.1)
    lines = loop.stdout.read().split("\n")[:-1]
    loop.wait()
    if watcher:
        early = watcher.poll()
        _, errors = tracer.interrupted(watcher)
        if early is not None:
            raise RuntimeError("%s ended before the loop: %s" % (who, errors))
    return statistics.median(float(line.split()[0]) for line in lines[WARM:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=os.path.abspath)
    parser.add_argument("--dir", required=True, type=os.path.abspath)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("kinds", nargs="*")
    args = parser.parse_args()
    os.makedirs(args.dir, exist_ok=True)
    worst, data = (os.path.join(args.dir, name) for name in ("worst", "data"))
    subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-pthread", "-o", worst,
                    os.path.join(HERE, "worst.c")], check=True)
    with open(data, "wb") as f:
        f.write(b"x" * FILE_BYTES)
        os.fsync(f.fileno())
    print("load average %s" % os.getloadavg()[0], flush=True)
    print("| kind | operation | none, ns | with the kind | ratio | bpftrace | ratio |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for kind in args.kinds or KINDS:
        whose = [None, args.build]
        if KINDS[kind][2] and shutil.which("bpftrace"):
            whose.append("bpftrace")
        got = {who: [] for who in whose}
        for _ in range(args.rounds):
            for who in list(whose):
                try:
                    got[who].append(run(who, kind, worst, data))
                except RuntimeError as e:
                    if who != "bpftrace":
                        raise
                    print("%s: %s" % (kind, e), file=sys.stderr)
                    whose.remove(who)
        ns = [statistics.median(got[who]) for who in whose] + [None]
        cells = ["%.1f | %.2f" % (n, n / ns[0]) if n else "– | –" for n in ns[1:3]]
        print("| %s | %s | %.1f | %s |" % (kind, KINDS[kind][0], ns[0], " | ".join(cells)),
              flush=True)


if __name__ == "__main__":
    sys.exit(main())
