# SPDX-License-Identifier: Apache-2.0
"""The labels of goroutines in spans.go, as tests/live/languages/go/golang.py builds it by every version of Go."""
import os
import signal
import subprocess

import otlp
import suite

HERE = os.path.dirname(os.path.abspath(__file__))
ROUTES = ("/half", "/third", "/fifth")
SECONDS = 6  # of CPU time, of each thread
LONGEST = 100


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


def goroutines(run, name, go, environment):
    """By the labels of runtime/pprof: a goroutine is on any thread."""
    program = run.path(name)
    built = subprocess.run([go, "build", "-o", program, os.path.join(HERE, "spans.go")],
                           capture_output=True, text=True, env=environment)
    if built.returncode:
        raise suite.Skip("go: " + built.stderr.strip()[-200:])
    for mode in ("labels", "ids"):
        problems = []
        linked = labelled = bare = 0
        taken = [0, 0, 0]
        for s in profile(run, program, mode, name + ".run")[1]:
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
