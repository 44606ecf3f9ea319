#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Samples of spans whose truth is known, see spans.c.

A span's own function is on the stack only while the span is attached: so a sample with that
function belongs to that span, and the shares of the functions are known too.
"""
import os
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "truth"))
import otlp  # noqa: E402
import suite  # noqa: E402

SHARES = (0.5, 0.3, 0.2)
ROUTES = ("/half", "/third", "/fifth")
SECONDS = 6  # of CPU time, of each thread
SHARES_SECONDS = 20  # of all of them, where shares are judged
LONGEST = 100
POINT = 0.01


def truth_of(sample):
    """The number of the span whose function is on the stack, or None."""
    for frame in sample.frames:
        if frame.name.startswith(("work_", "main.work")):
            return int(frame.name[-1])
    return None


def profile(run, program, mode, name, *options, seconds=SECONDS):
    """What was recorded of a program that runs in @mode until its threads have had @seconds of
    CPU time: a busy machine makes that longer and not less. Returns its pid and the samples."""
    if os.geteuid():
        raise suite.Skip("not root")
    out = run.fresh(name + ".otlp")
    process = suite.start(program, mode, str(seconds))
    recorder = subprocess.Popen([run.args.otelprof, "record", "-q", "-o", out, "--format", "otlp",
                                 "-F", "999", "-d", str(LONGEST), "--tree", str(process.pid),
                                 *options])
    try:
        process.wait(LONGEST)
        suite.end(recorder, sign=signal.SIGINT)
    finally:
        suite.stop([process])
        recorder.kill()
    capture = otlp.read_file(out)
    if capture.violations:
        raise RuntimeError("; ".join(capture.violations[:3]))
    return process.pid, [s for s in capture.samples if s.exe == os.path.basename(program)]


def number_of(link):
    return int(link[1][-2:], 16) - 1 if link else None


def check_sample(sample, problems):
    """Link and labels against the function; counts by what they are."""
    truth = truth_of(sample)
    number = number_of(sample.link)
    if truth is None or number is None:
        return
    if number != truth or not sample.link[1].startswith("cd0000") \
            or not sample.link[0].startswith("ab0000"):
        problems.append("link %s on a stack of span %s" % (sample.link, truth))
    if sample.attributes.get("http.route") != ROUTES[truth] or \
            sample.attributes.get("span.number") != str(truth) or \
            "unused" in sample.attributes:
        problems.append("labels %s on a stack of span %s" % (sample.attributes, truth))


def when(sample):
    """The times of its samples: a link of the kind cpu has one for each."""
    return sample.timestamps or [sample.window] * sample.count


def judge(run, name, program, mode, threads_len):
    """Links, labels and shares of a program whose @threads_len threads are in spans always."""
    problems = []
    taken = [0, 0, 0]
    stolen = suite.stolen_ns()
    samples = profile(run, program, mode, name, seconds=SHARES_SECONDS // threads_len)[1]
    # Ticks go on while the host has the CPU, and the clock that a span works by stands still.
    stolen = (suite.stolen_ns() - stolen) / (SHARES_SECONDS * 1e9)
    least = 750 * SHARES_SECONDS
    first = min((min(when(s)) for s in samples if s.link), default=0)
    total = bare = 0
    for s in samples:
        check_sample(s, problems)
        # what came before the profiler first looked at the process has none
        count = sum(t >= first for t in when(s))
        total += count
        if s.link:
            taken[number_of(s.link)] += count
        elif truth_of(s) is not None:
            bare += count
    linked = sum(taken)
    shares = [n / max(linked, 1) for n in taken]
    if total < least:
        problems.append("%d samples, %d were to be there" % (total, least))
    if bare > total * 0.002:
        problems.append("%d of %d samples in a span have no link" % (bare, total))
    if any(abs(share - truth) > POINT + stolen for share, truth in zip(shares, SHARES)):
        problems.append("shares %s, %.2f %% of the time stolen" % (shares, 100 * stolen))
    if problems:
        run.say("FAIL", name, "wrong", problems[:5])
    else:
        run.say("ok", name, "%d samples, %d linked, none wrong, %d in a span without a link; "
                "shares %s" % (total, linked, bare, " ".join("%.2f %%" % (100 * s) for s in shares)))


def threads(run, name):
    judge(run, name, run.args.spans, "threads", 2)


def executable(run, name):
    """The writer in the executable: its variable has a static place."""
    judge(run, name, run.args.own, "threads", 2)


def custom(run, name):
    """By custom-labels, of which the first of a key stands; ids are two of the labels."""
    judge(run, name, run.args.custom, "custom", 2)


def coroutines(run, name):
    judge(run, name, run.args.spans, "coroutines", 1)


def off_cpu(run, name):
    """A kind that names its stacks: links and labels go with its samples too."""
    _, samples = profile(run, run.args.spans, "threads", name, "--kinds", "off_cpu")
    problems = []
    for s in samples:
        check_sample(s, problems)
    linked = sum(len(s.timestamps) or 1 for s in samples if s.link)
    if not linked:
        problems.append("no sample of %d has a link" % len(samples))
    if problems:
        run.say("FAIL", name, "wrong", problems[:5])
    else:
        run.say("ok", name, "%d samples linked, none wrong" % linked)


def goroutines(run, name):
    """By the labels of runtime/pprof: a goroutine is on any thread."""
    program = run.path("spans_go")
    built = subprocess.run(["go", "build", "-o", program, os.path.join(HERE, "spans.go")],
                           capture_output=True, text=True)
    if built.returncode:
        raise suite.Skip("go: " + built.stderr.strip())
    for mode in ("labels", "ids"):
        problems = []
        linked = labelled = bare = 0
        taken = [0, 0, 0]
        for s in profile(run, program, mode, name)[1]:
            truth = truth_of(s)
            if truth is None:
                continue
            taken[truth] += s.count
            if "http.route" not in s.attributes:
                bare += s.count
                continue
            labelled += s.count
            linked += s.count if s.link else 0
            if s.attributes["http.route"] != ROUTES[truth] or \
                    s.attributes.get("span.number") != str(truth) or \
                    (s.link and number_of(s.link) != truth):
                problems.append("%s %s on a stack of span %d" % (s.attributes, s.link, truth))
        if not labelled or bare > labelled / 20 or linked != (labelled if mode == "ids" else 0):
            problems.append("%d with labels, %d without, %d linked" % (labelled, bare, linked))
        if problems:
            run.say("FAIL", name, mode, problems[:5])
        else:
            run.say("ok", name, "%s: %d with the right labels, %d linked, %d before it was "
                    "known, none wrong" % (mode, labelled, linked, bare))


def fork(run, name):
    """A child has its parent's pointer, and no context of its own."""
    parent, samples = profile(run, run.args.spans, "fork", name)
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
         "off_cpu": off_cpu, "fork": fork, "goroutines": goroutines}


def main():
    run = suite.Run(suite.parser("otelprof", "spans", "own", "custom").parse_args())
    run.suite = "context"
    return run.cells(CELLS)


if __name__ == "__main__":
    sys.exit(main())
