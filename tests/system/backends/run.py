#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What backends make of our requests, by their own code where it builds.

    run.py --otelprof PROGRAM --write OTLP_WRITE --dir DIR

Two inputs: the requests of tests/system/otlp/write.c, whose samples the model says, and a recording of
programs with known stacks. tests/system/backends/go has a program for each backend, which hands
requests to the backend's code and prints what would be stored: as many of each stack, leaf
first, as went in. The others are held against rules.py. See docs/backends.

The programs are kept in $OTELPROF_CACHE and built where OTELPROF_E2E=1 or CI=true: about 3
minutes of CPU time each from nothing. What a module proxy does not give is left out and said.
"""

import collections
import concurrent.futures
import glob
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from functools import partial

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "live", "framework"),
                os.path.join(HERE, "..", "otlp")]
import build
import check
import datadog
import gobuild
import otlp
import peers
import suite

HZ = 199
SECONDS = 10  # of a machine that may be busy
PYTHON = os.path.join(HERE, "..", "..", "live", "languages", "python", "known.py")
LEAVES = {"c-gcc": ["leaf_a", "leaf_b", "leaf_c"], "python": ["leaf_50", "leaf_30", "leaf_20"]}
SHARES = [0.5, 0.3, 0.2]
MIN_SAMPLES = 150
POINTS = 0.16  # four standard deviations of as many samples
MODEL_PERIOD = 50000000  # of write.c
MODEL_SAMPLES = 1000


class Input:
    """Requests and what is in them: {(type, executable, stack): count or sum}."""

    def __init__(self, folder):
        self.folder = folder
        self.want = collections.Counter()
        self.kinds = []  # of each made-up sample
        self.period = None

    @property
    def paths(self):
        return sorted(glob.glob(os.path.join(self.folder, "request-*.bin")))


def model_stack(places):
    """Names of a stack, from the model's text of its locations."""
    names = []
    for place in places:
        lines = re.fullmatch(r"\w+(?:\[.*?\])?(?: (.*?))? profile\.frame\.type=\w+", place)
        if lines.group(1):
            names += [re.match(r"function\d+", line).group() for line in
                      lines.group(1).split("<")]
    return tuple(names)


def written(write, folder):
    out = Input(suite.fresh_folder(folder))
    out.period = MODEL_PERIOD
    subprocess.run([write, out.folder, "6", str(MODEL_SAMPLES), "60000"], check=True)
    with open(os.path.join(out.folder, "samples.txt"), encoding="ascii") as f:
        for line in f:
            kind, resource, *places, tail = line.rstrip("\n").split("; ")
            value = re.search(r" value (-?\d+)$", tail)
            exe = re.search(r" name=(\w+)", resource).group(1)
            out.want[kind, exe, model_stack(places)] += int(value.group(1)) if value else 1
            out.kinds.append(kind)
    return out


def start_programs(folder):
    """{name: (process, path of the executable)}"""
    path, why = build.build("c-gcc", folder)
    if not path:
        raise RuntimeError(why)
    python = os.path.realpath("/usr/bin/python3")
    programs = {"c-gcc": (suite.start(path, suite.LONG), path),
                "python": (subprocess.Popen([python, PYTHON, "spin", suite.LONG],
                                            stdout=subprocess.PIPE), python)}
    time.sleep(1)  # Python says nothing when it is past its own start
    return programs


def recorded(args):
    """(Input, {name: path of its executable}, the recording as tests/live/framework reads it)"""
    out = Input(suite.fresh_folder(os.path.join(args.dir, "recorded")))
    file = os.path.join(out.folder, "record.otlp")
    programs = start_programs(args.dir)
    try:
        command = [args.otelprof, "record", "-o", file, "--format", "otlp", "-F", str(HZ), "-d",
                   str(SECONDS)]
        for process, _ in programs.values():
            command += ["-p", str(process.pid)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    finally:
        suite.stop([process for process, _ in programs.values()])
    if done.returncode:
        raise RuntimeError("otelprof record: " + done.stderr.strip().splitlines()[-1])
    with open(file, "rb") as f:
        data = f.read()
    at = 0
    while at < len(data):
        end = at + 4 + int.from_bytes(data[at:at + 4], "big")
        with open(os.path.join(out.folder, "request-%08d.bin" % at), "wb") as f:
            f.write(data[at + 4:end])
        at = end
    capture = otlp.read_framed(data)
    for s in capture.samples:
        out.want["samples", s.exe, tuple(f.name for f in s.frames if f.name)] += s.count
        out.period = s.period
    return out, {name: path for name, (_, path) in programs.items()}, capture


def build_id(path):
    """As readelf says it."""
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True)
    return re.search(r"Build ID: ([0-9a-f]+)", notes.stdout).group(1)


def htlhash(path):
    """The file's first and last 4,096 bytes and its length, as the conventions have it."""
    with open(path, "rb") as f:
        data = f.read()
    text = data[:4096] + data[-4096:] + len(data).to_bytes(8, "big")
    return hashlib.sha256(text).hexdigest()[:32]


def chain_problems(name, stacks):
    """@stacks: {names: count} of a known program: its chain, in order, and its leaves' parts."""
    chain = ["f%d" % n for n in range(1, 25)]
    leaves = collections.Counter()
    total = sum(stacks.values())
    for stack, count in stacks.items():
        found = [n for n in stack if n in chain or n in LEAVES[name]]
        if found[1:] == chain and found[0] in LEAVES[name]:
            leaves[found[0]] += count
    whole = sum(leaves.values())
    if total < MIN_SAMPLES:
        yield "%s: %d samples" % (name, total)
    if whole < 0.97 * total:
        yield "%s: %d of %d stacks have the chain" % (name, whole, total)
    for leaf, share in zip(LEAVES[name], SHARES):
        if whole and abs(leaves[leaf] / whole - share) > POINTS:
            yield "%s: %s is %.2f of its samples" % (name, leaf, leaves[leaf] / whole)


class Backend:
    """One program of tests/system/backends/go, and how its words translate."""

    def __init__(self, name, kinds, exe, scaled=(), lenient=None, takes=None, file_id=build_id,
                 program=None, options=(), modules="go.mod"):
        self.name = name
        self.program = program or name  # in tests/system/backends/go
        self.options = options  # of that program
        self.modules = modules  # its versions
        self.kinds = kinds  # its name of a kind: ours
        self.exe = exe  # its label of the executable's name
        self.scaled = scaled  # kinds whose value is times the period
        self.lenient = lenient  # (option that makes up for a fault of the backend, the fault)
        self.takes = takes  # our kinds that it takes; None: all
        self.file_id = file_id  # what it knows a file by

    def wanted(self, given):
        return collections.Counter({key: n for key, n in given.want.items()
                                    if not self.takes or key[0] in self.takes})

    def store(self, program, given, *options):
        """({(type, executable, stack): value}, {file: build id}) of what it would store."""
        done = subprocess.run([program, *self.options, *options, *given.paths],
                              capture_output=True, text=True, timeout=600)
        if done.returncode:
            raise RuntimeError("it refuses: " + done.stderr.strip()[-300:])
        return self.read(done.stdout, given.period)

    def read(self, text, period):
        got = collections.Counter()
        ids = {}
        for line in text.splitlines():
            row = json.loads(line)
            kind = self.kinds.get(row["kind"], row["kind"])
            value = row["value"]
            if kind in self.scaled:
                value, rest = divmod(value, period)
                assert not rest, "a value that is no multiple of the period"
            got[kind, row["labels"].get(self.exe), tuple(row["stack"])] += value
            ids.update(row["build_ids"])
        return got, ids


PARCA_KINDS = {"otelprof:samples:count": "samples", "otelprof:off_cpu:nanoseconds": "off_cpu"}
PARCA_FAULT = ("-shift", "each frame has the name of the function before its own")
BACKENDS = [
    Backend("pyroscope", {"process_cpu:cpu:nanoseconds": "samples",
                          "off_cpu:off_cpu:nanoseconds": "off_cpu"},
            "process.executable.name", {"samples"}),
    Backend("parca", PARCA_KINDS, "process_executable_name", lenient=PARCA_FAULT),
    # The whole server: what its queries answer. A CPU sample is told as its period.
    Backend("parca-server", PARCA_KINDS, "process_executable_name", {"samples"},
            lenient=PARCA_FAULT, program="parca", options=["-server"]),
    Backend("elastic", {}, "process.executable.name", takes={"samples"}, file_id=htlhash),
    # The same with an older exporter.
    Backend("elastic-156", {}, "process.executable.name", takes={"samples"}, file_id=htlhash,
            program="elastic", modules="go-156.mod"),
]

WIRES = {"pyroscope-grpc": [], "pyroscope-http": ["--protocol", "http/protobuf"]}


def differences(want, got):
    for key in sorted(set(want) | set(got), key=str):
        if want[key] != got[key]:
            yield "%s of %s: %d went in, %d came out: %s" % (
                *key[:2], want[key], got[key], ";".join(key[2])[:200])


def known_problems(got, ids, paths, file_id):
    for name, path in paths.items():
        exe = os.path.basename(path)
        yield from chain_problems(name, {key[2]: n for key, n in got.items() if key[1] == exe})
        found = [value for file, value in ids.items() if os.path.basename(file) == exe]
        if found != [file_id(path)]:
            yield "%s: known by %s, the file has %s" % (name, found, file_id(path))


class Backends(suite.Run):
    suite = "backends"

    def judge_text(self, name, text, problems):
        self.judge(name, check.Result(problems[:6], [text]))


def stored_wrong(run, one, program, *options):
    problems = []
    for given in (run.model, run.real):
        got, ids = one.store(program, given, *options)
        problems += differences(one.wanted(given), got)
    return problems + list(known_problems(got, ids, run.paths, one.file_id))


def backend(run, name, one):
    program, cost = gobuild.program(one.program, one.modules)
    if not program:
        raise suite.Skip(cost)
    made_up = len([key for key in run.model.kinds if not one.takes or key in one.takes])
    text = "%d made-up and %d recorded samples stored under their stacks; %s" % (
        made_up, sum(run.real.want.values()), cost)
    problems = stored_wrong(run, one, program)
    if problems and one.lenient:
        option, fault = one.lenient
        text += "; but " + fault
        problems = stored_wrong(run, one, program, option)
    run.judge_text(name, text, problems)


def wire(run, name, one, options):
    """otelprof export to a backend that listens."""
    program, why = gobuild.program(one.name)
    if not program:
        raise suite.Skip(why)
    programs = start_programs(run.args.dir)
    server = subprocess.Popen([program, "-listen", "127.0.0.1:0"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
    try:
        address = server.stderr.readline().strip()
        command = [run.args.otelprof, "export", "--endpoint", "http://" + address, *options, "-F",
                   str(HZ), "--interval", "2", "-d", str(SECONDS)]
        for process, _ in programs.values():
            command += ["-p", str(process.pid)]
        stored = concurrent.futures.ThreadPoolExecutor(1).submit(server.stdout.read)
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    finally:
        server.terminate()
        suite.stop([process for process, _ in programs.values()])
        server.wait(30)
    said = done.stdout + done.stderr
    exported = re.search(r"exported (\d+)", said)
    if done.returncode or not exported:
        raise RuntimeError("otelprof export: " + said.strip()[-300:])
    got, ids = one.read(stored.result(), run.real.period)
    problems = list(known_problems(got, ids, {n: path for n, (_, path) in programs.items()},
                                   one.file_id))
    if sum(got.values()) != int(exported.group(1)):
        problems.append("%s exported, %d stored" % (exported.group(1), sum(got.values())))
    run.judge_text(name, "%d samples over the wire, all stored" % sum(got.values()), problems)


def rules(run, name):
    done = subprocess.run([sys.executable, os.path.join(HERE, "rules.py"), *run.real.paths],
                          capture_output=True, text=True)
    said = done.stdout.strip().splitlines() or [done.stderr.strip()[-300:]]
    if done.returncode == 77:
        raise suite.Skip(said[0])
    problems = said if done.returncode else []
    for program, path in run.paths.items():
        found = {f.mapping_attributes.get("process.executable.build_id.htlhash")
                 for s in run.capture.samples for f in s.frames
                 if f.mapping == os.path.basename(path)}
        if found != {htlhash(path)}:
            problems.append("%s: htlhash %s, of the file %s" % (program, found, htlhash(path)))
    run.judge_text(name, "a recording of %d samples passes those of Pyroscope, Elastic, "
                   "devfiler and Parca" % sum(run.real.want.values()), problems)


def profcheck(run, name):
    try:
        tool = peers.profcheck()
    except SystemExit:
        raise suite.Skip("not obtainable, and PROFCHECK names no program") from None
    problems = []
    for path in run.real.paths:
        done = subprocess.run([tool, "-check-dupes", "-check-orphans", path],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            problems.append(done.stdout.strip())
    run.judge_text(name, "%d requests of a recording" % len(run.real.paths), problems)


def inputs(run, _):
    run.model = written(run.args.write, run.path("written"))
    run.real, run.paths, run.capture = recorded(run.args)


def main():
    run = Backends(suite.parser("otelprof", "write").parse_args())
    run.cell("input", inputs)
    if run.failed:
        return run.status()
    return run.cells({
        "rules": rules, "profcheck": profcheck,
        **{one.name: partial(backend, one=one) for one in BACKENDS},
        **{name: partial(wire, one=BACKENDS[0], options=options)
           for name, options in WIRES.items()},
        "datadog": partial(datadog.cell, start_programs=start_programs, arguments=[
            "-F", str(HZ), "--interval", "2", "-d", str(SECONDS)])})


if __name__ == "__main__":
    sys.exit(main())
