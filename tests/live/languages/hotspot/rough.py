# SPDX-License-Identifier: Apache-2.0
"""Several JVMs at once; JVMs that are killed while they start; and one that has too little memory
for its code, so that it throws code away all the time."""

import os
import random
import subprocess
import time

import check
import storm
import suite

HERE = os.path.dirname(os.path.abspath(__file__))
KILLS = 30
KILLED_AFTER = 0.6  # seconds, at most
# Code of 2.5 MiB is the least that all versions take.
SMALL_CACHE = ["-XX:ReservedCodeCacheSize=2560k", "-XX:InitialCodeCacheSize=2560k",
               "-XX:+UseCodeCacheFlushing"]
POLL_MS_MAX = 50
TOGETHER = (("8", "int"), ("17", "jit"), ("25", "zgc"))


def together(run, name, jdks, why, start, judge):
    """@start makes the known program of a JDK and a mode; @judge adds what is wrong with samples
    of one to a result."""
    there = [(version, mode) for version, mode in TOGETHER if version in jdks]
    if len(there) < 2:
        raise suite.Skip(why)
    known = []
    try:
        for version, mode in there:
            known.append(start(run, jdks[version], mode, "scenes"))
        options = [x for k in known for x in ("-p", str(k.process.pid))]
        capture, text = run.record(name, "-F", str(run.args.hz), "-d",
                                   str(2 * run.args.seconds), *options)
    finally:
        for k in known:
            k.stop()
    results = []
    for (version, mode), k in zip(there, known):
        result = check.Result()
        judge(check.select(capture, k.process.pid), k, result)
        result.notes[:] = ["%s %s: %s" % (version, mode, "; ".join(result.notes))]
        results.append(result)
    run.judge(name, *results, check.check_accounting(text))


def killed(run, name, jdk, why):
    """They die while they are found out, at any moment of their start."""
    if not jdk:
        raise suite.Skip(why)
    out = run.fresh(name + ".otlp")
    recorder = subprocess.Popen([run.args.otelprof, "record", "-v", "-o", out, "--format", "otlp",
                                 "-F", "199", "-d", str(KILLS * 4), "--tree", str(os.getpid())],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        time.sleep(1)
        for i in range(KILLS):
            process = subprocess.Popen(jdk.command("-Xshare:auto", "-XX:+PrintFlagsFinal",
                                                   "-version"),
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(random.uniform(0, KILLED_AFTER) if i else KILLED_AFTER)
            process.kill()
            process.wait()
        status = suite.end(recorder, sign=2)
        text = recorder.stdout.read()
    finally:
        suite.stop([recorder])
    result = check.Result()
    result.need(status == 0, "exit %d after %d kills" % (status, KILLS))
    taken = sum(s.count for s in check.otlp.read_file(out).samples if s.exe == "java")
    result.need(taken > 0, "%d samples of java" % taken)
    result.notes[:] = ["; ".join(result.notes)]
    run.judge(name, result, check.check_accounting(text))


def watched(run):
    """The library that tells how long a poll works, and the file that it writes."""
    source = os.path.join(HERE, "..", "..", "hostile", "programs", "watch.c")
    library = run.path("libwatch.so")
    done = subprocess.run(["gcc", "-O2", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", library, source,
                           "-ldl"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-300:])
    return library, run.fresh("watch")


def flush(run, name, jdk, why, compilers):
    """What storm.py asks of names and order, and that no poll takes long."""
    if not jdk or not compilers:
        raise suite.Skip(why or "no javac")
    library, watch = watched(run)
    program = storm.Program(run, jdk, compilers[0], *SMALL_CACHE)
    os.environ.update(LD_PRELOAD=library, WATCH_FILE=watch)
    try:
        capture, text = run.record_process(name, program.process.pid)
    finally:
        del os.environ["LD_PRELOAD"]
        program.stop()
    with open(watch, encoding="ascii") as f:
        work_ms = int(f.read().split()[0]) / 1e6
    result = check.Result()
    result.need(work_ms <= POLL_MS_MAX, "a poll worked %.1f ms (at most %d)" %
                (work_ms, POLL_MS_MAX))
    storm.judge(run, name, capture, text, result)
