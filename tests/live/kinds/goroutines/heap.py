#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The heaps of Go programs, see heap.go: the samples of the kind heap against what runtime/pprof
in the program writes, for every stack of the process, to the byte and to the object.

With OTELPROF_GO=GO[,GO...] the program is also built by these commands (other versions of Go).
"""
import collections
import gzip
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "framework"))
import otlp  # noqa: E402
import suite  # noqa: E402

TYPES = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space")
STRIPPED = ("-ldflags=-s -w",)
VARIABLES = ("runtime.mbuckets", "runtime.MemProfileRate", "runtime.mProfCycle")
PLACES = {"main.keeps", "main.frees", "main.grows", "main.small", "main.deep"}


def shown(names):
    """As runtime/pprof shows a stack: not the runtime's part at its leaf, if there is more, and
    not what the compiler makes for the value of a method."""
    names = [n for n in names if n not in ("runtime.goexit", "[truncated]") and
             not n.endswith("-fm")]
    for i, name in enumerate(names):
        if not name.startswith(("runtime.", "internal/runtime/")):
            return tuple(names[i:])
    return tuple(names)


def read_dump(path):
    """(frames, type) -> the sum of the records, of a profile in the format of pprof."""
    with gzip.open(path) as f:
        top = otlp.message(f.read())
    strings = [value.decode() for _, value in top[6]]
    functions = {}
    for data in otlp.messages_of(top, 5):
        function = otlp.message(data)
        functions[otlp.number_of(function, 1)] = strings[otlp.number_of(function, 2)]
    locations = {}
    for data in otlp.messages_of(top, 4):
        location = otlp.message(data)
        locations[otlp.number_of(location, 1)] = [
            functions[otlp.number_of(otlp.message(line), 1)]
            for line in otlp.messages_of(location, 4)]
    types = [strings[otlp.number_of(otlp.message(data), 1)] for data in otlp.messages_of(top, 1)]
    got = collections.Counter()
    for data in otlp.messages_of(top, 2):
        sample = otlp.message(data)
        frames = shown([name for i in otlp.packed(sample, 1) for name in locations[i]])
        for name, value in zip(types, otlp.packed(sample, 2)):
            got[(frames, name)] += value
    return got


class Program:
    def __init__(self, run, name, path, rate):
        self.run, self.name = run, name
        environment = dict(os.environ)
        if rate:
            environment["MEMPROFILERATE"] = str(rate)
        self.process = suite.start(path, stdin=subprocess.PIPE, env=environment)
        self.pid = self.process.pid

    def ask(self, what):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        self.process.stdout.readline()

    def dump(self, when):
        path = self.run.path("%s.%s" % (self.name, when))
        self.ask("dump " + path)
        return read_dump(path)


def samples_of(capture, pid):
    """As read_dump(): what was allocated in all windows, and what is in use in the last."""
    got = collections.Counter()
    samples = [s for s in capture.samples if s.sample_type[0] in TYPES and
               (pid is None or s.pid == pid)]
    last = max((s.window for s in samples), default=0)
    for s in samples:
        if s.sample_type[0].startswith("alloc") or s.window == last:
            got[(shown([f.name for f in s.frames]), s.sample_type[0])] += s.count
    return got


def judge(run, name, got, want, problems):
    keys = [key for key in set(want) | set(got) if want[key] or got[key]]
    wrong = [key for key in keys if want[key] != got[key]]
    for key in sorted(wrong)[:8]:
        problems.append("%s %s: %d, and the runtime says %d" % (
            key[1], " ".join(key[0]), got[key], want[key]))
    places = {frame for frames, _ in got for frame in frames}
    if not PLACES <= places:
        problems.append("not there: %s" % (PLACES - places))
    if problems:
        run.say("FAIL", name, "%d of %d sums are wrong" % (len(wrong), len(keys)), problems)
    else:
        sums = {t: sum(n for key, n in got.items() if key[1] == t) for t in TYPES}
        run.say("ok", name, "%d sums of %d stacks are those of the runtime: %s" % (
            len(keys), len({key[0] for key in keys}),
            ", ".join("%s %d" % (t, sums[t]) for t in TYPES)))


def recorder(run, name, *options):
    return suite.Recorder(run.args.otelprof, run.fresh(name + ".otlp"), "--kinds", "heap", *options)


def capture_of(profiler, problems):
    text = profiler.end()
    # On a busy machine a window in between may have no time left; what it lost is in the next
    # one, and the last one has a second.
    if not re.search(r"dropped (0|(\d+) \(late \2\))\n", text):
        problems.append(text[-300:])
    capture = otlp.read_file(profiler.out)
    problems += capture.violations[:3]
    return capture


def compare(run, name, built):
    """Programs, {name: (path, rate)}, that run already; all of them at once."""
    if os.geteuid():
        raise suite.Skip("not root")
    programs = {each: Program(run, each, *how) for each, how in built.items()}
    problems = []
    try:
        for program in programs.values():
            program.ask("work")
        before = {each: program.dump("before") for each, program in programs.items()}
        with recorder(run, name, *(word for program in programs.values()
                                   for word in ("-p", str(program.pid)))) as profiler:
            profiler.settle()
            for program in programs.values():
                program.ask("work")
            after = {each: program.dump("after") for each, program in programs.items()}
            capture = capture_of(profiler, problems)
    finally:
        suite.stop([program.process for program in programs.values()])
    for each, program in programs.items():
        want = collections.Counter(after[each])
        for key, n in before[each].items():
            want[key] -= n if key[1].startswith("alloc") else 0
        judge(run, each, samples_of(capture, program.pid), want, list(problems))


def build(run, name, *options, go="go", **environment):
    path = run.path(name)
    done = subprocess.run([go, "build", *options, "-o", path, os.path.join(HERE, "heap.go")],
                          capture_output=True, text=True,
                          env=os.environ | {"CGO_ENABLED": "0", **environment})
    if done.returncode:
        raise suite.Skip("%s: %s" % (go, done.stderr.strip()[:300]))
    return path


def running(run, name):
    """Programs with Go's rate, with one sample every 4 KiB, and with each allocation."""
    plain = build(run, "heap-plain")
    compare(run, name, {"plain": (plain, None), "every": (plain, 1),
                        "often": (build(run, "heap-pie", "-buildmode=pie"), 4096)})


def stripped(run, name):
    """Without symbols: where the runtime has its profile, its code tells."""
    plain = build(run, "heap-stripped", *STRIPPED)
    compare(run, name, {"stripped": (plain, None), "stripped-every": (plain, 1),
                        "stripped-pie": (build(run, "heap-stripped-pie", "-buildmode=pie",
                                               *STRIPPED), 4096)})


def begun(run, name, *options):
    """A program that begins after the profiler: all that it has allocated is new."""
    if os.geteuid():
        raise suite.Skip("not root")
    problems = []
    dump = run.fresh(name + ".dump")
    program = build(run, name + "-program", *options)
    with recorder(run, name, "--tree", str(os.getpid())) as profiler:
        profiler.settle()
        process = subprocess.Popen([program, dump])
        try:
            while process.poll() is None and not os.path.exists(dump):
                time.sleep(0.1)
            capture = capture_of(profiler, problems)
        finally:
            suite.stop([process])
    judge(run, name, samples_of(capture, process.pid), read_dump(dump), problems)


def begun_stripped(run, name):
    begun(run, name, *STRIPPED)


def check_places(run, name, path):
    """What the code of a program tells, against its symbols."""
    symbols = dict(reversed(line.split()[::2]) for line in subprocess.run(
        ["nm", path], capture_output=True, text=True, check=True).stdout.splitlines()
        if len(line.split()) == 3)
    found = subprocess.run([run.args.layouts, path], capture_output=True, text=True, check=False)
    places = dict(line.split() for line in found.stdout.splitlines())
    problems = ["%s: at %s, and it is at %s" % (v, places.get(v), symbols[v])
                for v in VARIABLES if int(places.get(v, "0"), 16) != int(symbols[v], 16)]
    if problems:
        run.say("FAIL", name, "%s %s" % (os.path.basename(path), found.stderr.strip()), problems)
    else:
        run.say("ok", name, "%s: %s" % (os.path.basename(path), found.stdout.replace("\n", " ")))


def places(run, name, **how):
    """Of each machine and way of linking, where the code has the variables of the profile."""
    for machine in ("amd64", "arm64"):
        for mode in ("exe", "pie"):
            each = "%s-%s-%s" % (name, machine, mode)
            run.cell(each, lambda run, each, machine=machine, mode=mode: check_places(
                run, each, build(run, each, "-buildmode=" + mode, GOARCH=machine, **how)))


def versions(run, name):
    commands = [c for c in os.environ.get("OTELPROF_GO", "").split(",") if c]
    if not commands:
        raise suite.Skip("OTELPROF_GO names no other Go")
    for i, go in enumerate(commands):
        places(run, "%s-%d-places" % (name, i), go=go, GOTOOLCHAIN="local")
    for mode, options in (("plain", ()), ("stripped", STRIPPED)):
        run.cell("%s-%s" % (name, mode), lambda run, each, options=options: compare(run, each, {
            "%s-%d" % (each, i): (build(run, "%s-%d" % (each, i), *options, go=go,
                                        GOTOOLCHAIN="local"), 4096)
            for i, go in enumerate(commands)}))


CELLS = {"running": running, "stripped": stripped, "begun": begun, "begun_stripped": begun_stripped,
         "places": places, "versions": versions}


def main():
    run = suite.Run(suite.parser("otelprof", "layouts").parse_args())
    run.suite = "go_heap"
    return run.cells(CELLS)


if __name__ == "__main__":
    sys.exit(main())
