# SPDX-License-Identifier: Apache-2.0
"""Starts bpftrace for tests that compare with it, and ends it with its output."""
import os
import re
import signal
import subprocess
import time

AGAIN = 10  # seconds
SECONDS = 90


def begin(text, **environment):
    """Start bpftrace with the program @text. Returns when it counts."""
    process = subprocess.Popen(["bpftrace", "-e", text], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True,
                               env=dict(os.environ, **environment))
    line = process.stdout.readline()
    if "Attaching" not in line:
        raise RuntimeError("bpftrace: " + line + process.stderr.read())
    time.sleep(2)
    return process


def interrupted(process):
    """All output of @process. bpftrace 0.17 misses a SIGINT that comes while it does not wait for
    events (poll_perf_events()), so it gets another."""
    until = time.monotonic() + SECONDS
    while True:
        process.send_signal(signal.SIGINT)
        try:
            return process.communicate(timeout=AGAIN)
        except subprocess.TimeoutExpired:
            if time.monotonic() > until:
                raise


def end(process, pattern):
    """End bpftrace. Returns the numbers of its output by the groups of @pattern. It is killed even
    after a failure, because its breakpoints slow down other programs."""
    try:
        out, err = interrupted(process)
    finally:
        process.kill()
        process.wait()
    found = re.search(pattern, out)
    if not found:
        raise RuntimeError("bpftrace: " + out + err)
    return [int(n) for n in found.groups()]
