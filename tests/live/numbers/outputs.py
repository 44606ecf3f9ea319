# SPDX-License-Identifier: Apache-2.0
"""The totals of a recording in each output, beside those of its OTLP by the reader of the tests."""
import collections
import gzip
import json
import os
import re
import subprocess

import otlp

PPROF_SAMPLE_TYPE, PPROF_SAMPLE, PPROF_MAPPING, PPROF_STRINGS = 1, 2, 3, 6
PPROF_FILENAME = 5  # of a mapping
SNAPSHOTS = ("threads", "inuse_space", "inuse_objects")
HZ = {"slow": 100, "fast": 400}
ONE_IN = 4  # samples of "slow"
SPARE_NS = 200000000  # from the last look at the program to the end of the recording


def truth(path):
    """{kind: {pid: total}}, in the unit that people read."""
    found = collections.defaultdict(collections.Counter)
    samples = otlp.read_file(path).samples
    last = max((s.window for s in samples if s.sample_type[0] in SNAPSHOTS), default=0)
    for s in samples:
        kind, unit = s.sample_type
        if kind in SNAPSHOTS and s.window < last:
            continue  # of an earlier moment
        values = sum(s.values) if s.values else len(s.timestamps)
        if unit == "count" and s.period_type[1] == "nanoseconds":
            kind, values = s.period_type[0], values * s.period
        found[kind][s.pid] += values
    return {kind: dict(pids) for kind, pids in found.items()}


class Outputs:
    def __init__(self, run, path):
        self.run, self.path = run, path

    def program(self, *words):
        return subprocess.run([self.run.args.otelprof, *words], check=True, capture_output=True,
                              text=True, timeout=120).stdout

    def convert(self, ending, *options):
        path = self.run.fresh("converted" + ending)
        self.program("convert", "-o", path, *options, self.path)
        return path

    def report(self, kind, *options):
        return json.loads(self.program("report", "--format", "json", "--no-lines", "--kind", kind,
                                       *options))

    def folded(self, kind):
        with open(self.convert(".folded", "--kind", kind), encoding="utf-8") as f:
            return sum(int(line.rsplit(" ", 1)[1]) for line in f)

    def speedscope(self):
        with open(self.convert(".speedscope.json"), encoding="utf-8") as f:
            profiles = json.load(f)["profiles"]
        found = collections.Counter()
        for p in profiles:
            pid, kind = re.search(r"\((\d+)\) (\S+)", p["name"]).groups()
            found[kind, int(pid)] += sum(p["weights"])
        return found

    def firefox(self):
        with open(self.convert(".firefox.json"), encoding="utf-8") as f:
            threads = json.load(f)["threads"]
        tids = [t["tid"] for t in threads]
        assert len(set(tids)) == len(tids), "tracks with one tid: %s" % tids
        found = collections.Counter()
        for t in threads:
            kind = re.search(r"\((\w+)\)$", t["name"])
            scale = 1e6 if t["samples"]["weightType"] == "tracing-ms" else 1
            found[kind.group(1) if kind else None, int(t["pid"])] += round(
                sum(t["samples"]["weight"]) * scale)
        return found

    def pprof(self):
        """{kind: total}, and the file of the first mapping, which tools take for the program."""
        with gzip.open(self.convert(".pb.gz"), "rb") as f:
            msg = otlp.message(f.read())
        strings = [data.decode() for data in otlp.messages_of(msg, PPROF_STRINGS)]
        kinds = [strings[otlp.int_of(otlp.message(data), 1)]
                 for data in otlp.messages_of(msg, PPROF_SAMPLE_TYPE)]
        found = collections.Counter()
        for data in otlp.messages_of(msg, PPROF_SAMPLE):
            for kind, value in zip(kinds, otlp.packed(otlp.message(data), 2)):
                found[kind] += value
        first = otlp.message(next(otlp.messages_of(msg, PPROF_MAPPING)))
        return found, strings[otlp.int_of(first, PPROF_FILENAME)]

    def page(self):
        with open(self.convert(".html"), encoding="utf-8") as f:
            data = json.loads(re.search(r'id="profile">(.*?)</script>', f.read(),
                                        re.S).group(1))
        found = collections.Counter()
        for tree in data["trees"]:
            kind = data["strings"][data["kinds"][tree["k"]][0]]
            found[kind, data["processes"][tree["p"]][0]] += sum(tree["s"])
        return found

    def mcp(self, kind):
        asked = [{"jsonrpc": "2.0", "id": 1, "method": "initialize",
                  "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                             "clientInfo": {"name": "numbers", "version": "1"}}},
                 {"jsonrpc": "2.0", "method": "notifications/initialized"},
                 {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
                  "params": {"name": "report", "arguments": {"file": self.path, "kind": kind}}}]
        return subprocess.run([self.run.args.otelprof, "mcp"], check=True, capture_output=True,
                              text=True, timeout=120,
                              input="".join(json.dumps(a) + "\n" for a in asked)).stdout


def differences(run, path, program):
    """What the outputs of the recording @path of @program say that it does not."""
    o = Outputs(run, path)
    want = truth(path)
    found = []

    def same(what, got, expected):
        if got != expected:
            found.append("%s: %s, not %s" % (what, got, expected))

    speedscope, firefox, page = o.speedscope(), o.firefox(), o.page()
    pprof, first_file = o.pprof()
    same("the first mapping of pprof", first_file, os.path.realpath(program))
    twice = run.fresh("twice.otlp")
    other = run.fresh("other.otlp")
    with open(path, "rb") as f, open(other, "wb") as to:
        to.write(f.read())
    o.program("merge", "-o", twice, path, other)
    first = next(kind for kind in want if kind == "cpu")
    for kind, pids in want.items():
        total = sum(pids.values())
        whole = o.report(kind, path)
        same("report of " + kind, whole["total"], total)
        for text, what in ((o.program("report", "--kind", kind, path), "text"),
                           (o.program("report", "--format", "markdown", "--kind", kind, path),
                            "markdown"),
                           (o.program("diff", "--kind", kind, path, path), "diff"),
                           (o.mcp(kind), "mcp")):
            if whole["total_text"] not in text:
                found.append("%s of %s does not say %s" % (what, kind, whole["total_text"]))
        same("pprof of " + kind, pprof[kind], total)
        same("folded of " + kind, o.folded(kind), total)
        if kind not in SNAPSHOTS:
            same("merge of " + kind, o.report(kind, twice)["total"], 2 * total)
        for pid, value in pids.items():
            same("report of %s of %d" % (kind, pid), o.report(kind, "-p", str(pid), path)["total"],
                 value)
            same("speedscope of %s of %d" % (kind, pid), speedscope[kind, pid], value)
            same("page of %s of %d" % (kind, pid), page[kind, pid], value)
            same("firefox of %s of %d" % (kind, pid),
                 firefox[kind, pid] or (firefox[None, pid] if kind == first else 0), value)
    return found, want


def hold(held, path, pid, comm, cpu_ns, lived_ns):
    """@held: the time of process @pid on and off the CPUs, by each kind, beside its own clock. Of
    "slow" one sample in four is kept, and stands for four."""
    told = collections.Counter()
    variance = collections.Counter()
    one_in = ONE_IN if comm == "slow" else 1
    for s in otlp.read_file(path).samples:
        kind, state = s.sample_type[0], s.attributes.get("wall.state", "")
        if s.pid != pid or kind not in ("samples", "off_cpu", "wall"):
            continue
        on = kind == "samples" or state == "on_cpu"
        total = sum(s.values) if s.values else len(s.timestamps)
        if kind == "samples":
            total *= s.period
        what = kind + " on_cpu" * (kind == "wall" and on)
        told[what] += total
        if on:  # a sample stands for so much
            variance[what] += total * one_in * 1e9 / HZ[comm]
        elif kind == "off_cpu":
            variance[what] += sum(v * v for v in s.values) * (1 - 1 / one_in)
    for kind, want in (("samples", cpu_ns), ("wall on_cpu", cpu_ns), ("off_cpu", lived_ns - cpu_ns),
                       ("wall", lived_ns - cpu_ns)):
        sigma = (variance[kind] if kind != "wall" else variance["off_cpu"]) ** 0.5
        held.near("%s of %s" % (kind, comm), told[kind], want - SPARE_NS, want + SPARE_NS, sigma,
                  1e9, " s")
