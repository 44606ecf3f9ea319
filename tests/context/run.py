#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Samples of spans whose truth is known, see spans.c.

A span's own function is on the stack only while the span is attached: so a sample with that
function belongs to that span, and the shares of the functions are known too.
"""
import json
import os
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "truth"))
import otlp  # noqa: E402
import sdk  # noqa: E402
import suite  # noqa: E402
import verdict  # noqa: E402

SECONDS = 6  # of CPU time, of each thread
SHARES_SECONDS = 20  # of all of them, where shares are judged
LONGEST = 100


def profile(run, command, name, *options, env=None):
    """What was recorded of a program that runs until its threads have had their CPU time: a busy
    machine makes that longer and not less. Returns its pid and the samples."""
    if os.geteuid():
        raise suite.Skip("not root")
    out = run.fresh(name + ".otlp")
    process = suite.start(*command, env=env)
    recorder = subprocess.Popen([run.args.otelprof, "record", "-q", "-o", out, "--format", "otlp",
                                 "-F", "999", "-d", str(LONGEST), "--tree", str(process.pid),
                                 *options])
    try:
        process.wait(LONGEST)
        suite.end(recorder, sign=signal.SIGINT)
    finally:
        suite.stop([process])
        recorder.kill()
    if process.returncode:
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
    samples = profile(run, command, name, env=env)[1]
    stolen = (suite.stolen_ns() - stolen) / (SHARES_SECONDS * 1e9)
    found = verdict.Verdict(samples, read)
    problems = found.problems(750 * SHARES_SECONDS, stolen)
    if problems:
        run.say("FAIL", name, "wrong", problems)
    else:
        run.say("ok", name, str(found))


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
         "off_cpu": off_cpu, "fork": fork, "goroutines": goroutines,
         "goroutine_ids": goroutine_ids, "sdk_threads": sdk_threads, "sdk_asyncio": sdk_asyncio}


def main():
    run = suite.Run(suite.parser("otelprof", "spans", "own", "custom").parse_args())
    run.suite = "context"
    return run.cells(CELLS)


if __name__ == "__main__":
    sys.exit(main())
