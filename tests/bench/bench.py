#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The peer and the product on the same load at the same rate, one after the other, several
rounds; a table of ratios. Called by run.sh.

How each figure is taken:
  start           from exec to the first sample's own time stamp, and to the first request
                  with a sample that reached the sink
  kernel ns       run time of all BPF programs the profiler loaded (kernel.bpf_stats_enabled)
                  in the measured window, by the samples it delivered of that window
  kernel ns/frame the same by the frames of user space that it delivered
  user us         CPU time of its threads (/proc/PID/task/*/schedstat), the same way
  RSS             VmRSS at the end of the window, VmHWM for the peak
  maps            memlock of the BPF maps it made, at the end
  OTLP bytes      requests of the window by its samples: as encoded, and on the wire (gzip)

The stacks of each window are checked: a profiler that has none looks fast.
"""

import argparse
import glob
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live", "framework"))
import bpf_stats
import otlp
import suite
from ports import free_port


class Load:
    """A load and what its stacks must be like: least depth of @share of the samples."""

    def __init__(self, name, commands, depth, share, exe=None, kind=None):
        self.name = name
        self.commands = commands
        self.exe = exe  # of the load's children; without: the processes started alone
        self.depth = depth
        self.share = share
        self.kind = kind

    def __enter__(self):
        self.processes = [subprocess.Popen(c, stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL,
                                           start_new_session=True) for c in self.commands]
        return self

    def __exit__(self, *unused):
        for process in self.processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def is_mine(self, sample):
        if self.exe:
            return re.fullmatch(self.exe, sample.exe)
        return sample.pid in [p.pid for p in self.processes]

    def depth_of(self, sample):
        frames = [f for f in sample.frames if f.type != "kernel"]
        if self.kind:
            frames = [f for f in frames if f.type == self.kind]
        return len(frames)


def loads(args):
    deep = os.path.join(args.dir, "deep-bench")
    source = os.path.join(HERE, "..", "live", "languages", "native", "programs", "deep.c")
    subprocess.run(["gcc", "-O2", "-fomit-frame-pointer", "-DDEPTH_OF_DIG=5", source, "-o",
                    deep], check=True)
    big = os.path.join(args.dir, "big.c")
    write_big_source(big)
    compile_loop = ["sh", "-c", "while :; do clang-14 -O2 -c -o /dev/null %s; done" % big]
    python = next(p for p in ("/usr/bin/python3.11", sys.executable) if os.path.exists(p))
    spin = [python, os.path.join(HERE, "spin.py")]
    made = [Load("native", [[deep, "3600"]] * 2, 35, 0.9),
            Load("clang", [compile_loop] * 2, 25, 0.7, exe="clang.*"),
            Load("python", [spin] * 2, 20, 0.9, kind="cpython")]
    made = [load for load in made if not args.loads or load.name in args.loads]
    return made + [runtime_load(args, name) for name in RUNTIMES if name in args.loads]


RUNTIMES = ("java", "node", "go", "php")


def runtime_load(args, name):
    """The known program of another runtime, as its own tests run it."""
    languages = os.path.join(HERE, "..", "live", "languages")
    if name == "java":
        subprocess.run(["javac", "-nowarn", "-d", args.dir, languages + "/hotspot/Known.java"],
                       check=True, stderr=subprocess.DEVNULL)
        return Load(name, [["java", "-XX:+UnlockDiagnosticVMOptions", "-cp", args.dir, "Known",
                            "scenes", "3600", "12"]] * 2, 4, 0.9, kind="jvm")
    if name == "node":
        done = subprocess.run(["sh", languages + "/node/fetch.sh", "20"], check=True,
                              capture_output=True, text=True)
        node = done.stdout.split()[1]
        return Load(name, [[node, languages + "/node/known.js", "spin", "3600"]] * 2, 20, 0.7,
                    kind="v8js")
    if name == "go":
        chain = os.path.join(args.dir, "chain-go")
        subprocess.run(["go", "build", "-o", chain, languages + "/native/programs/chain.go"],
                       check=True)
        return Load(name, [[chain, "3600"]] * 2, 20, 0.9)
    return Load(name, [["php", languages + "/php/known.php", "spin", "3600"]] * 2, 20, 0.9,
                kind="php")


def write_big_source(path):
    """C that keeps the optimizer busy for many seconds."""
    with open(path, "w", encoding="utf-8") as f:
        for n in range(3000):
            f.write("int f%d(int *p, int n) { int s = %d; for (int i = 0; i < n; i++) { "
                    "if (p[i] > s) s += p[i] * %d; else s ^= p[(i * %d) %% (n + 1)]; } "
                    "return s; }\n" % (n, n, n + 3, n + 7))


def ids(what):
    out = subprocess.run(["bpftool", "--json", what, "show"], capture_output=True, text=True)
    return {row["id"]: row for row in json.loads(out.stdout or "[]")}


class Profiler:
    def __init__(self, name, command, args):
        self.name = name
        self.command = command
        self.args = args

    def start(self, folder):
        port = free_port()
        self.file = os.path.join(folder, self.name + ".otlp")
        self.sink = subprocess.Popen([os.path.join(self.args.tools, "sink"),
                                      "127.0.0.1:%d" % port, self.file],
                                     stdout=subprocess.PIPE)
        self.sink.stdout.readline()
        self.programs = set(ids("prog"))
        self.maps = set(ids("map"))
        self.log = open(os.path.join(self.args.dir, self.name + ".log"), "w")
        command = [w.replace("{port}", str(port)) for w in self.command]
        self.started_ns = time.time_ns()
        # The peer needs tracefs; both get it, in a mount namespace of their own.
        self.process = subprocess.Popen(
            ["unshare", "-m", "sh", "-c", "mount -t tracefs tracefs /sys/kernel/tracing; "
             "exec \"$@\"", "sh", *command], stdout=self.log, stderr=self.log)

    def stop(self):
        suite.end(self.process, 20)
        self.sink.send_signal(signal.SIGTERM)
        self.sink.wait()
        self.log.close()

    def reading(self):
        """Counters now: (realtime ns, BPF run ns, CPU ns)."""
        run = sum(row.get("run_time_ns", 0) for number, row in ids("prog").items()
                  if number not in self.programs)
        cpu = 0
        for path in glob.glob("/proc/%d/task/*/schedstat" % self.process.pid):
            try:
                with open(path, encoding="ascii") as f:
                    cpu += int(f.read().split()[0])
            except OSError:
                pass  # the thread has just ended
        return time.time_ns(), run, cpu

    def resident(self):
        """(RSS, its peak), KiB."""
        with open("/proc/%d/status" % self.process.pid, encoding="ascii") as f:
            status = dict(line.split(":", 1) for line in f)
        return int(status["VmRSS"].split()[0]), int(status["VmHWM"].split()[0])

    def map_bytes(self):
        return sum(row.get("bytes_memlock", 0) for number, row in ids("map").items()
                   if number not in self.maps)


def requests_of(path):
    """[(arrival ns, raw bytes, wire bytes, capture)] of a sink's file."""
    with open(path, "rb") as f:
        data = f.read()
    rows = []
    at = 0
    with open(path + ".log", encoding="ascii") as f:
        for line in f:
            arrival, raw, wire = map(int, line.split())
            capture = otlp.read_request(data[at + 4:at + 4 + raw])
            rows.append((arrival, raw, wire, capture))
            at += 4 + raw
    return rows


def measure(profiler, load, args):
    """One round of one profiler. Returns figures, or raises."""
    with tempfile.TemporaryDirectory() as folder, load:
        time.sleep(1)
        profiler.start(folder)
        try:
            time.sleep(args.warm)
            before = profiler.reading()
            # Asleep: a Python program that wakes is sampled, and a runtime to be learnt.
            time.sleep(args.seconds)
            rss, peak = profiler.resident()  # before bpftool runs, which is to be learnt too
            after = profiler.reading()
            maps = profiler.map_bytes()
            time.sleep(7)  # the last samples of the window are still on the way
        finally:
            profiler.stop()
        requests = requests_of(profiler.file)
    return figures(profiler, load, requests, before, after) | {
        "RSS, MB": rss / 1024, "RSS peak, MB": peak / 1024,
        "maps, MB": maps / 2**20}


def figures(profiler, load, requests, before, after):
    stamps = [t for r in requests for s in r[3].samples for t in s.timestamps]
    if not stamps:
        raise RuntimeError("%s delivered no samples" % profiler.name)
    first = next(r[0] for r in requests if r[3].samples)
    inside = deep = ours = 0
    depths = []
    frames = 0
    raw = wire = held = 0
    for arrival, raw_bytes, wire_bytes, capture in requests:
        samples = 0
        for sample in capture.samples:
            here = sum(before[0] <= t < after[0] for t in sample.timestamps)
            inside += here
            samples += sample.count
            frames += here * sum(f.type != "kernel" for f in sample.frames)
            if here and load.is_mine(sample):
                depth = load.depth_of(sample)
                depths += [depth] * here
                ours += here
                deep += here if depth >= load.depth else 0
        if before[0] <= arrival < after[0]:
            raw += raw_bytes
            wire += wire_bytes
            held += samples
    if not ours or not inside or not held:
        raise RuntimeError("%s has no samples of %s" % (profiler.name, load.name))
    if deep < load.share * ours:
        raise RuntimeError("%s: %d of %d stacks of %s have %d frames (median %d)" % (
            profiler.name, deep, ours, load.name, load.depth, statistics.median(depths)))
    return {
        "first sample, ms": (min(stamps) - profiler.started_ns) / 1e6,
        "first request, ms": (first - profiler.started_ns) / 1e6,
        "kernel ns/sample": (after[1] - before[1]) / inside,
        "frames/sample": frames / inside,
        "kernel ns/frame": (after[1] - before[1]) / max(frames, 1),
        "user us/sample": (after[2] - before[2]) / inside / 1e3,
        "samples/s": inside / (after[0] - before[0]) * 1e9,
        "median depth": statistics.median(depths),
        "OTLP B/sample": raw / held,
        "gzip B/sample": wire / held,
    }


def table_figures(args):
    """Time and memory of unwind tables: {file: {figure: {profiler: [values]}}}."""
    product = os.path.join(args.build, "tests", "unit", "unwind", "table_info")
    out = {}
    for pattern in ("/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1",
                    "/usr/lib/x86_64-linux-gnu/libclang-cpp.so.14",
                    "/usr/lib/x86_64-linux-gnu/libc.so.6"):
        if not os.path.exists(pattern) or not os.path.exists(product):
            continue
        rows = {"table, ms": {"peer": [], "product": []},
                "table peak, KiB": {"peer": [], "product": []},
                "table kernel, KiB": {"peer": [], "product": []}}
        for _ in range(max(3, args.rounds)):
            text = from_small_parent(os.path.join(args.tools, "tables"), pattern)
            add(rows, "peer", *map(float, text.split()))
            text = from_small_parent(product, pattern)
            match = re.search(r": ([\d.]+) ms, .* (\d+) arena bytes.*peak \+(\d+) KiB", text)
            add(rows, "product", float(match[1]), float(match[3]), float(match[2]))
        out[os.path.basename(pattern)] = rows
    return out


def from_small_parent(*command):
    """What a command prints. Its ru_maxrss begins with what its parent had at exec, so it is
    started from a shell and not from here, where it would hide the peak."""
    return subprocess.run(["sh", "-c", '"$@"; :', "sh", *command], capture_output=True,
                          text=True, check=True).stdout


def add(rows, who, ms, peak_kib, kernel_bytes):
    rows["table, ms"][who].append(ms)
    rows["table peak, KiB"][who].append(peak_kib)
    rows["table kernel, KiB"][who].append(kernel_bytes / 1024)


def show(load, rows):
    print("\n%-20s %21s %21s %15s" % (load, "peer min / median", "ours min / median",
                                      "ratio of medians"))
    for figure, values in rows.items():
        text = ""
        for who in ("peer", "product"):
            v = values[who]
            text += " %21s" % ("%.4g / %.4g" % (min(v), statistics.median(v)) if v else "-")
        if values["peer"] and values["product"] and statistics.median(values["product"]):
            ratio = statistics.median(values["product"]) / statistics.median(values["peer"])
            text += " %15.3f" % ratio
        print("%-20s%s" % (figure, text), flush=True)


def profilers(args):
    made = [Profiler("peer", [os.path.join(args.tools, "launch"),
                              os.path.join(args.tools, "ebpf-profiler"),
                              "-collection-agent", "127.0.0.1:{port}", "-disable-tls",
                              "-samples-per-second", str(args.hz), "-reporter-interval", "5s",
                              "-reporter-jitter", "0"], args)]
    program = os.path.join(args.build, "examples", "otelprof", "otelprof")
    if os.path.exists(program):
        made.append(Profiler("product", [program, "export", "--endpoint",
                                         "http://127.0.0.1:{port}", "-F", str(args.hz),
                                         "--interval", "5"], args))
    return [p for p in made if not args.only or p.name == args.only]


def measure_loads(args):
    """Rounds of each load by each profiler. Returns ({load: rows}, whether one failed)."""
    everything = {}
    status = 0
    for load in loads(args):
        rows = {}
        for number in range(args.rounds):
            order = profilers(args)
            if number % 2:
                order.reverse()
            for profiler in order:
                try:
                    got = measure(profiler, load, args)
                except (RuntimeError, OSError, otlp.Malformed) as e:
                    print("%s, round %d: not counted: %s" % (load.name, number + 1, e),
                          file=sys.stderr, flush=True)
                    status = 1
                    continue
                for figure, value in got.items():
                    rows.setdefault(figure, {"peer": [], "product": []})
                    rows[figure][profiler.name].append(value)
        show(load.name, rows)
        everything[load.name] = rows
    return everything, status


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--tools", required=True, help="what build-peer.sh printed")
    parser.add_argument("--dir", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--warm", type=float, default=15)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--hz", type=int, default=99)
    parser.add_argument("--only", choices=["peer", "product"])
    parser.add_argument("--json", help="write every round's figures here")
    parser.add_argument("loads", nargs="*")
    args = parser.parse_args()
    os.makedirs(args.dir, exist_ok=True)
    with bpf_stats.counted():
        everything, status = measure_loads(args)
    if not args.only:
        for name, rows in table_figures(args).items():
            show(name, rows)
            everything[name] = rows
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(everything, f, indent=1)
    return status


if __name__ == "__main__":
    sys.exit(main())
