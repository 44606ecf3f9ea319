# SPDX-License-Identifier: Apache-2.0
"""bpftrace, for the tests that compare with it: begun, and ended with what it says."""
import os
import re
import signal
import subprocess
import time

AGAIN = 10  # seconds
SECONDS = 90


def begin(text, **environment):
    """bpftrace with the program @text, once it counts."""
    process = subprocess.Popen(["bpftrace", "-e", text], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True,
                               env=dict(os.environ, **environment))
    line = process.stdout.readline()
    if "Attaching" not in line:
        raise RuntimeError("bpftrace: " + line + process.stderr.read())
    time.sleep(2)
    return process


def interrupted(process):
    """All that @process wrote. bpftrace sleeps on after a SIGINT that comes while it does not
    wait for events (0.17, poll_perf_events()), until the next one."""
    until = time.monotonic() + SECONDS
    while True:
        process.send_signal(signal.SIGINT)
        try:
            return process.communicate(timeout=AGAIN)
        except subprocess.TimeoutExpired:
            if time.monotonic() > until:
                raise


def end(process, pattern):
    """The numbers that it says at its end, by the groups of @pattern. It does not outlive a
    failure: its breakpoints would make all other programs slow."""
    try:
        out, err = interrupted(process)
    finally:
        process.kill()
        process.wait()
    found = re.search(pattern, out)
    if not found:
        raise RuntimeError("bpftrace: " + out + err)
    return [int(n) for n in found.groups()]
