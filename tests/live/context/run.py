#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Samples of spans whose truth is known, see spans.c.

A span's own function is on the stack only while the span is attached: so a sample with that
function belongs to that span, and the shares of the functions are known too.

With --peer FOLDER, what tests/bench/build-peer.sh printed, the OpenTelemetry eBPF profiler runs
beside, and what it has of the same programs is told. It takes 15 s to begin.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "system", "wild"))
sys.path.insert(0, os.path.join(HERE, "..", "framework"))
import measure  # noqa: E402
import otlp  # noqa: E402
import sdk  # noqa: E402
import suite  # noqa: E402
import verdict  # noqa: E402

SECONDS = 6  # of CPU time, of each thread
SHARES_SECONDS = 20  # of all of them, where shares are judged
LONGEST = 400  # a program of 20 s of CPU time, on a busy machine
HZ = 999
# Of the examples: the last two digits of the span that each function is in, and its route.
EXAMPLE = {"render_page": ("01", "/cart"), "load_cart": ("02", "/cart/load"),
           "price_cart": ("03", "/cart/price")}
PEER_LABEL = "process.context.label."  # before the key of a label, in the peer's attributes


def cpu_s(pid):
    with open("/proc/%d/stat" % pid, encoding="ascii") as f:
        ticks = f.read().rsplit(")", 1)[1].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def end_after(process, seconds):
    """End a program that does not by itself, once it has had its CPU time."""
    deadline = time.monotonic() + LONGEST
    while cpu_s(process.pid) < seconds and time.monotonic() < deadline:
        time.sleep(0.1)
    suite.end(process)


def profile(run, command, name, *options, env=None, ended=False):
    """What was recorded of a program that runs until its threads have had their CPU time: a busy
    machine makes that longer and not less. @ended: it is ended then. Returns its pid and the
    samples."""
    if os.geteuid():
        raise suite.Skip("not root")
    out = run.fresh(name + ".otlp")
    process = suite.start(*command, env=env)
    recorder = subprocess.Popen([run.args.otelprof, "record", "-q", "-o", out, "--format", "otlp",
                                 "-F", str(HZ), "-d", str(LONGEST), "--tree", str(process.pid),
                                 *options])
    try:
        if ended:
            end_after(process, SHARES_SECONDS)
        process.wait(LONGEST)
        suite.end(recorder)
    finally:
        suite.stop([process])
        recorder.kill()
    if process.returncode and not ended:
        raise RuntimeError("%s: exit %d" % (command[0], process.returncode))
    capture = otlp.read_file(out)
    if capture.violations:
        raise RuntimeError("; ".join(capture.violations[:3]))
    exe = os.path.basename(os.path.realpath(command[0]))
    return process.pid, [s for s in capture.samples if s.exe == exe]


def judge(run, name, command, read, env=None):
    """Contexts and shares of a program whose threads, which have SHARES_SECONDS together, are in
    spans always."""
    stolen = suite.stolen_ns()
    begin_ns = time.time_ns()
    pid, samples = profile(run, command, name, env=env)
    stolen = (suite.stolen_ns() - stolen) / (SHARES_SECONDS * 1e9)
    found = verdict.Verdict(samples, read)
    problems = found.problems(750 * SHARES_SECONDS, stolen)
    if problems:
        run.say("FAIL", name, "wrong", problems)
    else:
        run.say("ok", name, str(found))
    if run.peer:
        show_peer(name, list(run.peer.samples(begin_ns, time.time_ns(), {pid})))


def show_peer(name, samples):
    """What the peer has of the same time and process: links if any, and labels of Go."""
    links = sum(s.count for s in samples if s.link)
    found = verdict.Verdict(samples, verdict.by_labels(PEER_LABEL))
    print("peer %s: %s; %d with a link" % (name, found, links), flush=True)
    for problem in found.wrong[:3]:
        print("    " + problem[:600], flush=True)


def judge_spans(run, name, program, mode, threads_len):
    judge(run, name, [program, mode, str(SHARES_SECONDS // threads_len)], verdict.by_link)


def threads(run, name):
    judge_spans(run, name, run.args.spans, "threads", 2)


def executable(run, name):
    """The writer in the executable: its variable has a static place."""
    judge_spans(run, name, run.args.own, "threads", 2)


def custom(run, name):
    """By custom-labels, of which the first of a key stands; ids are two of the labels."""
    judge_spans(run, name, run.args.custom, "custom", 2)


def coroutines(run, name):
    judge_spans(run, name, run.args.spans, "coroutines", 1)


def signals(run, name):
    """A span of a signal handler, which interrupts the two others."""
    judge_spans(run, name, run.args.spans, "signals", 1)


def off_cpu(run, name):
    """A kind that names its stacks: links and labels go with its samples too."""
    _, samples = profile(run, [run.args.spans, "threads", str(SECONDS)], name, "--kinds", "off_cpu")
    found = verdict.Verdict(samples, verdict.by_link)
    problems = found.wrong[:5]
    if not found.linked:
        problems.append("no sample of %d has a link" % found.total)
    if problems:
        run.say("FAIL", name, "wrong", problems)
    else:
        run.say("ok", name, "%d samples linked, none wrong" % found.linked)


def cxx(run, name):
    """The example in C++: scopes, one of which an exception ends."""
    judge_example(run, name, "spans.cc", ["g++", "-std=c++17", "-O2", "-g", "-Wall", "-Wextra",
                                          "-I", os.path.join(run.args.source, "include"),
                                          "-pthread"])


def rust(run, name):
    """The example in Rust: scopes, one of which a panic ends."""
    judge_example(run, name, "spans.rs", ["rustc", "--edition", "2021", "-C", "opt-level=2", "-C",
                                          "debuginfo=1"])


def judge_example(run, name, source, compiler):
    """Built as its head says, and run: each function is of one span, and of one route."""
    program = run.path("example_" + name)
    library = os.path.dirname(os.path.realpath(run.args.library))
    if not shutil.which(compiler[0]):
        raise suite.Skip("no " + compiler[0])
    built = subprocess.run([*compiler, os.path.join(run.args.source, "examples/context", source),
                            "-o", program, "-L" + library,
                            *(["-lotelprof-context"] if compiler[0] == "g++" else [])],
                           capture_output=True, text=True)
    if built.returncode or built.stderr:
        raise RuntimeError("%s: %s" % (compiler[0], built.stderr))
    _, samples = profile(run, [program, suite.LONG], name, ended=True,
                         env=dict(os.environ, LD_LIBRARY_PATH=library))
    counts, problems = verdict.of_functions(samples, EXAMPLE)
    if any(counts.get(function, 0) < 100 for function in EXAMPLE):
        problems.append("samples %s" % counts)
    if problems:
        run.say("FAIL", name, "wrong", problems[:5])
    else:
        run.say("ok", name, "none wrong of %s" % counts)


def goroutines(run, name):
    """By the labels of runtime/pprof: a goroutine is on any thread."""
    judge_go(run, name, "labels")


def goroutine_ids(run, name):
    """And with ids as labels, which are the link then."""
    judge_go(run, name, "ids")


def judge_go(run, name, mode):
    program = run.path("spans_go")
    built = subprocess.run(["go", "build", "-o", program, os.path.join(HERE, "spans.go")],
                           capture_output=True, text=True)
    if built.returncode:
        raise suite.Skip("go: " + built.stderr.strip())
    judge(run, name, [program, mode, str(SHARES_SECONDS)], verdict.by_labels(linked=mode == "ids"))


def sdk_threads(run, name):
    """An SDK that publishes its spans by itself."""
    judge_sdk(run, name, "threads", 2)


def sdk_asyncio(run, name):
    """Tasks of one thread: the SDK follows the event loop."""
    judge_sdk(run, name, "asyncio", 1)


def judge_sdk(run, name, mode, threads_len):
    spans = run.fresh(name + ".spans")
    command = [sdk.python(), os.path.join(HERE, "spans_sdk.py"), mode,
               str(SHARES_SECONDS // threads_len), spans]
    known = {}

    def read(sample, truth):
        if not known:
            with open(spans, encoding="ascii") as f:
                known.update(json.load(f))
        return verdict.by_spans(known, sdk.LOCAL_ROOT)(sample, truth)

    judge(run, name, command, read, env=dict(os.environ, **sdk.ENVIRONMENT))


def fork(run, name):
    """A child has its parent's pointer, and no context of its own."""
    parent, samples = profile(run, [run.args.spans, "fork", str(SECONDS)], name)
    own = [s for s in samples if s.pid == parent]
    child = [s for s in samples if s.pid != parent]
    problems = ["a child's sample has %s %s" % (s.link, s.attributes)
                for s in child if s.link or "http.route" in s.attributes]
    count = sum(s.count for s in child)
    if count < 500 or not any(s.link for s in own):
        problems.append("%d samples of the child, %d of its parent's linked" % (
            count, sum(s.count for s in own if s.link)))
    if problems:
        run.say("FAIL", name, "wrong", problems[:5])
    else:
        run.say("ok", name, "%d samples of the child, none linked; %d of its parent's" % (
            count, sum(s.count for s in own if s.link)))


CELLS = {"threads": threads, "executable": executable, "custom": custom, "coroutines": coroutines,
         "signals": signals, "off_cpu": off_cpu, "fork": fork, "cxx": cxx, "rust": rust,
         "goroutines": goroutines, "goroutine_ids": goroutine_ids, "sdk_threads": sdk_threads, "sdk_asyncio": sdk_asyncio}


def options():
    parser = suite.parser("otelprof", "spans", "own", "custom", "library", "source")
    parser.add_argument("--peer")
    return parser.parse_args()


def main():
    args = options()
    run = suite.Run(args)
    run.suite = "context"
    run.peer = measure.Peer(argparse.Namespace(
        dir=args.dir, tools=args.peer, peer=None, hz=HZ)) if args.peer else None
    try:
        return run.cells(CELLS)
    finally:
        if run.peer:
            run.peer.stop()


if __name__ == "__main__":
    sys.exit(main())
