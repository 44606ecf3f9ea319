#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Goroutines in known places, see places.go: what a snapshot counts against the numbers in the
program, and against what Go's runtime tells of the same goroutines.

With OTELPROF_GO=GO[,GO...] the program is also built by these commands (other versions of Go).
"""
import collections
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "framework"))
import otlp  # noqa: E402
import suite  # noqa: E402

# Place -> (how many, state, the runtime's word for why).
PLACES = {
    "receives": (3000, "waiting", "chan receive"),
    "sends": (500, "waiting", "chan send"),
    "locks": (2000, "waiting", "sync.Mutex.Lock"),
    "reads": (300, "waiting", "sync.RWMutex.RLock"),
    "sleeps": (2000, "waiting", "sleep"),
    "selects": (1400, "waiting", "select"),
    "waits": (200, "waiting", "sync.Cond.Wait"),
    "joins": (150, "waiting", "sync.WaitGroup.Wait"),
    "blocks": (150, "waiting", "select (no cases)"),
    "network": (296, "waiting", "IO wait"),
    "calls": (4, "syscall", None),
}
# Before 1.20 and 1.25 these waits had another name.
OTHER = {"sync.Mutex.Lock": "semacquire", "sync.RWMutex.RLock": "semacquire",
         "sync.WaitGroup.Wait": "semacquire"}
DWARFDUMP = "llvm-dwarfdump-14"
DEPTH = 5  # calls of deeper() below its first one
DEEP = 90
DEEP_SHARE = 10  # a tenth of the goroutines, rounded up in each place
SETTLE = 60  # seconds until all stand where they are to be, on a busy machine
STAND = 10  # without a look at them
SECONDS = 12  # more than two windows of a recording: a short one may cut its snapshot


class Program:
    def __init__(self, path, *arguments):
        self.process = suite.start(path, *arguments, stdin=subprocess.PIPE)

    def dump(self, path):
        """The goroutines that stand in a place, by the runtime: a Counter of (reason, frames)."""
        self.process.stdin.write("dump %s\n" % path)
        self.process.stdin.flush()
        self.process.stdout.readline()
        with open(path, encoding="utf-8") as f:
            return parse_dump(f.read())

    def settle(self, path):
        end = time.monotonic() + SETTLE
        while time.monotonic() < end:
            got = self.dump(path)
            if all(sum(n for (said, frames), n in got.items() if frames[0] == "main." + place and
                       said in (reason or state, OTHER.get(reason))) == want
                   for place, (want, state, reason) in PLACES.items()):
                return got
            time.sleep(0.2)
        raise RuntimeError("the goroutines do not come to their places: %s" % got)


def own(names):
    """The program's own functions, without what the compiler puts between a go statement and
    its function, which the runtime hides."""
    return tuple(n for n in names if n.startswith("main.") and not n.startswith("main.main"))


def place_of(frames):
    return frames and frames[0].startswith("main.") and frames[0][5:] in PLACES


def parse_dump(text):
    got = collections.Counter()
    for block in text.split("\n\n"):
        lines = block.split("\n")
        head = re.match(r"goroutine \d+ .*?\[([^,\]]*)", lines[0])
        frames = own(line[:line.rindex("(")] for line in lines[1:] if "(" in line)
        if head and place_of(frames):
            got[(head[1], frames)] += 1
    return got


def windows_of(samples):
    by_window = collections.defaultdict(list)
    for s in samples:
        by_window[s.window].append(s)
    return by_window


def wanted(place, depth):
    share = DEEP_SHARE if depth == DEEP else 1
    return (PLACES[place][0] + share - 1) // share


def check_window(samples, truth, depth, problems):
    """The samples of one snapshot against the numbers, and against the runtime's own, which
    does not tell the middle of a deep stack."""
    got = collections.Counter()
    whole = collections.Counter()
    for s in samples:
        frames = own(f.name for f in s.frames)
        if not place_of(frames):
            continue
        place = frames[0][5:]
        _, state, reason = PLACES[place]
        said = s.attributes.get("goroutine.wait_reason")
        if s.attributes.get("goroutine.state") != state or \
                said not in (reason, OTHER.get(reason, reason)):
            problems.append("%s: %s" % (place, s.attributes))
        if s.frames[-1].name == "runtime.goexit" and frames.count("main.deeper") == depth + 1:
            whole[place] += s.count
        got[(said or "syscall", frames)] += s.count
    for place in PLACES:
        want = wanted(place, depth)
        n = sum(v for (_, frames), v in got.items() if frames[0] == "main." + place)
        if n != want or whole[place] != want:
            problems.append("%s: %d, %d of them whole, and %d are there" % (
                place, n, whole[place], want))
    if depth == DEPTH and got != truth:
        problems.append("not what the runtime says: %s more, %s less" % (
            list((got - truth).items())[:2], list((truth - got).items())[:2]))


def state_counts(samples):
    states = collections.Counter()
    for s in samples:
        states[s.attributes.get("goroutine.state")] += s.count
    return states


def judge(run, name, path, *arguments):
    if os.geteuid():
        raise suite.Skip("not root")
    program = Program(path, *arguments)
    problems = []
    depth = DEEP if arguments else DEPTH
    total = sum(wanted(place, depth) for place in PLACES)
    try:
        if arguments:  # of such stacks the runtime's dump is 100 MB
            time.sleep(STAND)
        truth = None if arguments else program.settle(run.path(name + ".dump"))
        capture, text = run.record(name, "--kinds", "goroutines", "-d", str(SECONDS),
                                   "-p", str(program.process.pid))
        again = None if arguments else program.dump(run.path(name + ".dump"))
    finally:
        suite.stop([program.process])
    if again != truth:
        problems.append("the program's goroutines moved")
    problems += capture.violations[:3]
    windows = windows_of(s for s in capture.samples
                         if s.sample_type == ("goroutines", "count"))
    counts = {w: sum(s.count for s in samples) for w, samples in windows.items()}
    if "late" in text:
        windows = {w: samples for w, samples in windows.items()
                   if counts[w] == max(counts.values())}
    if max(counts.values(), default=0) < total:
        problems.append("no whole snapshot: " + text[-300:])
    for samples in windows.values():
        check_window(samples, truth, depth, problems)
        states = state_counts(samples)
        # the one that works, if the process was on a CPU at that moment
        if not 1 <= states["running"] + states["runnable"] + states["preempted"] <= 4:
            problems.append("states: %s" % states)
    if problems:
        run.say("FAIL", name, "wrong", problems[:8])
    else:
        run.say("ok", name, "%d snapshots, %d goroutines in 11 places%s; %s" % (
            len(windows), total, ", all as the runtime says" if truth else "", dict(states)))


def build(run, name, *options, go="go", **environment):
    path = run.path(name)
    done = subprocess.run([go, "build", *options, "-o", path, os.path.join(HERE, "places.go")],
                          capture_output=True, text=True,
                          env=os.environ | {"CGO_ENABLED": "0", **environment})
    if done.returncode:
        raise suite.Skip("%s: %s" % (go, done.stderr.strip()[:300]))
    return path


def plain(run, name):
    judge(run, name, build(run, name))


def stripped(run, name):
    """No symbols and no debug information: the variables are found by their content."""
    judge(run, name, build(run, name, "-ldflags=-s -w"))


def pie(run, name):
    judge(run, name, build(run, name, "-buildmode=pie"))


def stripped_pie(run, name):
    judge(run, name, build(run, name, "-buildmode=pie", "-ldflags=-s -w"))


def cgo(run, name):
    judge(run, name, build(run, name, CGO_ENABLED="1"))


def deep(run, name):
    """Stacks that are deeper than what is copied of them at once."""
    judge(run, name, build(run, name), "deep")


def members(path, struct):
    """The members of a struct of Go's runtime and their offsets, by debug information."""
    out = subprocess.run([DWARFDUMP, "--name=" + struct, "--show-children", path],
                         capture_output=True, text=True, check=True).stdout
    return {name: int(at, 0) for name, at in re.findall(
        r'DW_TAG_member.*?DW_AT_name\s*\("([^"]*)"\).*?DW_AT_data_member_location\s*\((\w+)\)',
        out, re.S)}


def check_layout(run, name, go, **environment):
    """What the library takes members of runtime.g to be, against the debug information."""
    if not shutil.which(DWARFDUMP):
        raise suite.Skip("no " + DWARFDUMP)
    path = build(run, name, "-ldflags=-compressdwarf=false", go=go, **environment)
    said = subprocess.run([go, "version", path], capture_output=True, text=True, check=True).stdout
    minor = re.search(r"go1\.(\d+)", said.rsplit(":", 1)[1])[1]
    there = members(path, "runtime.g")
    there |= {"sched." + k: v + there["sched"] for k, v in members(path, "runtime.gobuf").items()}
    lines = subprocess.run([run.args.layouts], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    ours = {line.split()[1]: int(line.split()[2]) for line in lines
            if line.split()[0] == minor}
    problems = ["%s: at %d, and it is at %s" % (k, v, there.get(k))
                for k, v in ours.items() if there.get(k) != v]
    if not ours or ("syscallbp" in there) != ("syscallbp" in ours):
        problems.append("%d members of Go 1.%s" % (len(ours), minor))
    if problems:
        run.say("FAIL", name, "Go 1." + minor, problems)
    else:
        run.say("ok", name, "%d members of Go 1.%s are where the library reads them" % (
            len(ours), minor))


def layout(run, name):
    check_layout(run, name, "go")


def versions(run, name):
    commands = [c for c in os.environ.get("OTELPROF_GO", "").split(",") if c]
    if not commands:
        raise suite.Skip("OTELPROF_GO names no other Go")
    for i, go in enumerate(commands):
        run.cell("%s-%d-layout" % (name, i), lambda run, each, go=go: check_layout(
            run, each, go, GOTOOLCHAIN="local"))
        for mode, options in (("plain", ()), ("stripped", ("-ldflags=-s -w",))):
            each = "%s-%d-%s" % (name, i, mode)
            run.cell(each, lambda run, each, go=go, options=options: judge(
                run, each, build(run, each, *options, go=go, GOTOOLCHAIN="local")))


CELLS = {"layout": layout, "plain": plain, "stripped": stripped, "pie": pie, "stripped_pie": stripped_pie,
         "cgo": cgo, "deep": deep, "versions": versions}


def main():
    run = suite.Run(suite.parser("otelprof", "layouts").parse_args())
    run.suite = "goroutines"
    return run.cells(CELLS)


if __name__ == "__main__":
    sys.exit(main())
