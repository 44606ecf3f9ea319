# SPDX-License-Identifier: Apache-2.0
"""Every kind of events through a real Collector. One program (programs/everything.go) does
something of each kind. First one otelprof export has all kinds on, then there is one for each
kind, all at once. Each sends to the Collector and to otelprof sink.

What the Collector's file says must be what was sent, type by type; the types and periods must be
those of docs/otlp.md; and each export must account for all that it took.
"""

import collections
import os
import re
import shutil
import signal
import subprocess
import time

import check
import suite
from receivers import Collector, Sink

HERE = os.path.dirname(os.path.abspath(__file__))
DOCUMENT = os.path.join(HERE, "..", "..", "..", "docs", "otlp.md")
SECONDS = 5
WAIT_S = 60
HZ = 199
RUN = "test.run"  # the attribute that says which export a sample is of
ALL = "all"

RENAMES = "tracepoint:task_rename"
SIGNALS = "tracepoint:signal_generate:arg0"

# Kind -> (words of --kinds, types of docs/otlp.md, an attribute of each sample,
#          the type of which each sample stands for one).
KINDS = {
    "cpu": ("cpu", ["samples/count"], None, "samples/count"),
    "page_faults": ("page_faults", ["page_faults/count", "memory_growth/bytes"],
                    "system.paging.fault.type", "page_faults/count"),
    "off_cpu": ("off_cpu", ["off_cpu/nanoseconds"], "off_cpu.reason",
                "off_cpu/nanoseconds"),
    "locks": ("locks", ["contentions/count", "delay/nanoseconds", "parked/nanoseconds"],
              "lock.type", None),
    "kernel_locks": ("kernel_locks", ["contentions/count", "delay/nanoseconds"], "lock.type",
                     None),
    "wakers": ("wakers", ["off_cpu_wakers/nanoseconds"], "off_cpu.reason", None),
    "block_io": ("block_io", ["block_io/nanoseconds", "block_io_queue/nanoseconds",
                              "block_io_service/nanoseconds", "block_io/bytes",
                              "block_io/count"], "system.device", "block_io/count"),
    "signals": ("signals", ["signals/count"], "signal.name", "signals/count"),
    "wall": ("wall", ["wall/nanoseconds"], "wall.state", None),
    "threads": ("threads", ["threads/count"], "thread.state", "threads/count"),
    "goroutines": ("goroutines", ["goroutines/count"], "goroutine.state", "goroutines/count"),
    "goroutine_waits": ("goroutine_waits", ["goroutine_waits/nanoseconds"],
                        "goroutine.state", None),
    "probes": ("probe:" + RENAMES, ["events/count"], "probe", "events/count"),
    "values": ("probe:" + SIGNALS, ["events/count", "signal_generate_arg0/1"], None,
               "events/count"),
    "events": ("perf:context-switches", ["context_switches/count"], "probe",
               "context_switches/count"),
    "clocks": ("perf:task-clock@199hz", ["task_clock/nanoseconds"], "probe", None),
    "heap": ("heap", ["alloc_space/bytes", "alloc_objects/count", "inuse_space/bytes",
                      "inuse_objects/count"], None, None),
}
# What stands in docs/otlp.md for types that a user names.
EXAMPLES = {"malloc_arg0/bytes": "signal_generate_arg0/1",
            "cache_misses/count": "context_switches/count"}
NOT_IN_TABLE = {"task_clock/nanoseconds": None}  # it says "clocks in nanoseconds"


def documented():
    """{type: (period type, period)} of the table in docs/otlp.md; None: no numbers there."""
    with open(DOCUMENT, encoding="utf-8") as f:
        rows = f.read().split("| Event |")[1].split("\n\n")[0].splitlines()[2:]
    found = dict(NOT_IN_TABLE)
    for row in rows:
        _, types, period, _ = row.strip("|").split("|")
        said = re.search(r"`(\w+)`/`(\w+)`, (1e9 / Hz|1)", period)
        if said:
            said = ("/".join(said.groups()[:2]), 1 if said[3] == "1" else 1000000000 // HZ)
        elif "none" in period:
            said = ("/", 0)
        for name in re.findall(r"`\w+`/`\w+`", types):
            name = name.replace("`", "")
            found.setdefault(EXAMPLES.get(name, name), said)
    return found


def program(run):
    if not shutil.which("go"):
        raise suite.Skip("no Go here, in which the program is written")
    path = run.path("everything")
    done = subprocess.run(["go", "build", "-o", path, os.path.join(HERE, "programs",
                                                                   "everything.go")],
                          capture_output=True, text=True, env=os.environ | {"CGO_ENABLED": "0"})
    if done.returncode:
        raise suite.Skip("go: " + done.stderr.strip()[:300])
    return path


class Export:
    def __init__(self, run, name, kinds, pid, ports):
        self.name = name
        self.log = run.path("export-" + name + ".log")
        endpoints = [word for port in ports
                     for word in ("--endpoint", "http://127.0.0.1:%d" % port)]
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [run.args.otelprof, "export", *endpoints, "-F", str(HZ), "--interval", "1",
                 "--tree", str(pid), "--attribute", "%s=%s" % (RUN, name), "--kinds", kinds],
                stdout=log, stderr=log)

    def begin(self):
        """Until it profiles, which takes a while where all of them load their programs."""
        for _ in range(10 * WAIT_S):
            with open(self.log, encoding="utf-8") as f:
                if "profiling at" in f.read() or self.process.poll() is not None:
                    return
            time.sleep(0.1)

    def end(self):
        """After one SIGTERM; a second one cuts it short. Returns (text, exit status)."""
        try:
            status = self.process.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        with open(self.log, encoding="utf-8") as f:
            return f.read(), status


def export_all(run, pid, ports):
    """One with all kinds on; then one each. Returns {name: (text, exit status)}."""
    said = {}
    for names in ([ALL], list(KINDS)):
        exports = [Export(run, name, ",".join(words for words, *_ in KINDS.values())
                          if name == ALL else KINDS[name][0], pid, ports) for name in names]
        for one in exports:
            one.begin()
        time.sleep(SECONDS)
        for one in exports:
            if one.process.poll() is None:
                one.process.send_signal(signal.SIGTERM)
        said.update((one.name, one.end()) for one in exports)
    return said


def type_of(sample):
    return "/".join(sample.sample_type)


def value(sample):
    return sum(sample.values) if sample.values else len(sample.timestamps)


def of(capture, name):
    return [s for s in capture.samples if s.resource.get(RUN) == name]


def sums_of(capture):
    """{(export, type): sum}"""
    sums = collections.Counter()
    for s in capture.samples:
        sums[(s.resource.get(RUN), type_of(s))] += value(s)
    return sums


def check_types(samples, name, types):
    """Those of @types alone came, with the periods of the document."""
    result = check.Result()
    there = {type_of(s) for s in samples}
    result.need(there == set(types), "%s: %d types came; too many: %s, too few: %s" % (
        name, len(there), sorted(there - set(types)), sorted(set(types) - there)))
    wrong = {(type_of(s), "/".join(s.period_type), s.period) for s in samples
             if types.get(type_of(s)) and
             types[type_of(s)] != ("/".join(s.period_type), s.period)}
    result.need(not wrong, "%s: periods are those of the document %s" % (
        name, sorted(wrong) or ""))
    return result


def check_accounts(samples, name, said, counted=None):
    """All that was taken is accounted for. @counted: the type of which as many came as were
    exported."""
    result = check.Result()
    text, status = said
    result.need(status == 0, "%s: otelprof export: exit %d" % (name, status))
    row = check.accounting(text)
    if not row:
        result.need(False, "%s: no accounting line: %s" % (name, text[-300:]))
        return result
    result.need(row["taken"] == row["exported"] + row["filtered"] + row["dropped"] and
                row["exported"] > 0, "%s: taken %d = exported %d + filtered %d + dropped %d" % (
                    name, row["taken"], row["exported"], row["filtered"], row["dropped"]))
    if counted:
        came = sum(value(s) if s.sample_type[1] == "count" else len(s.timestamps)
                   for s in samples if type_of(s) == counted)
        # More passes than a CPU's samples have room for: one of a block stands for it.
        few = name == "events" and came > row["exported"]
        result.need(few or came == row["exported"], "%s: %d of %s came, %d were exported" % (
            name, came, counted, row["exported"]))
    return result


def check_attributes(samples, name, attribute):
    result = check.Result()
    without = sum(attribute not in s.attributes for s in samples)
    result.need(not without, "%s: %d of %d samples have no %s" % (
        name, without, len(samples), attribute))
    return result


def check_sums(taken, sent):
    """What the Collector took against what the sink got."""
    result = check.Result()
    taken, sent = sums_of(taken), sums_of(sent)
    result.need(taken == sent, "%d sums are what was sent" % len(sent))
    for key in sorted(set(taken) | set(sent), key=str):
        if taken[key] != sent[key]:
            result.need(False, "%s: %d taken, %d sent" % (key, taken[key], sent[key]))
        if not sent[key]:
            result.need(False, "%s: 0" % (key,))
    return result


def into_collector(run, name, collector):
    """A cell of e2e.py."""
    target = suite.start(program(run), run.args.dir)
    try:
        with Sink(run, name + "-sent") as sink, Collector(run, name, collector) as server:
            said = export_all(run, target.pid, (server.port, sink.port))
    finally:
        suite.stop([target])
    taken, sent = server.capture(), sink.capture()
    wanted = documented()
    results = [check_sums(taken, sent), check_types(of(taken, ALL), ALL, wanted),
               check_accounts(of(taken, ALL), ALL, said[ALL]), check.check_rules(sent)]
    for kind, (_, types, attribute, counted) in KINDS.items():
        samples = of(taken, kind)
        results += [check_types(samples, kind, {t: wanted.get(t) for t in types}),
                    check_accounts(samples, kind, said[kind], counted)]
        if attribute:
            results.append(check_attributes(samples, kind, attribute))
    run.judge(name, *results)
