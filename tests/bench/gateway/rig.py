# SPDX-License-Identifier: Apache-2.0
"""The parts of a measurement: the sink, the Collector as a gateway between agents and sink, and
the agents that replay requests. See gateway.py."""

import json
import os
import re
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.normpath(os.path.join(HERE, "..", "..", ".."))
sys.path.insert(0, os.path.join(HERE, "..", "..", "live", "framework"))

from ports import free_port, wait_for_port  # noqa: E402

FIRST = ["nice", "-n", "-15"]
CONFIG = os.path.join(TOP, "examples", "collector", "gateway.yaml")


def go_first():
    """Put this process and those it will start before other work, where the kernel shares CPUs
    out by session (autogroup, sched(7)): nice counts within a session alone there."""
    try:
        os.setsid()
    except PermissionError:
        pass  # it leads a group of processes: all of its session goes first
    try:
        with open("/proc/self/autogroup", "w", encoding="ascii") as f:
            f.write(FIRST[-1])
    except OSError:
        pass


def pinned(cpus, command):
    """@command on @cpus, before all other work there."""
    return command if cpus is None else [*FIRST, "taskset", "-c", cpus, *command]


def cpu_ns(pid):
    """CPU time of a process by the kernel's clock of it: clock_getcpuclockid(3)."""
    return time.clock_gettime_ns((~pid << 3) | 2)


def memory_mb(pid):
    """(RSS, its peak)."""
    with open("/proc/%d/status" % pid, encoding="ascii") as f:
        text = f.read()
    return tuple(int(re.search(name + r":\s+(\d+)", text)[1]) * 1024 / 1e6
                 for name in ("VmRSS", "VmHWM"))


class Sink:
    """A back end that counts. @delay: of each answer, as Go writes durations."""

    def __init__(self, program, keep=None, delay="0s", cpus=None):
        self.port = free_port()
        more = ["-keep", keep] if keep else []
        self.process = subprocess.Popen(
            pinned(cpus, [program, "sink", "-delay", delay, *more, "127.0.0.1:%d" % self.port]),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if not self.process.stdout.readline().startswith("listening"):
            raise RuntimeError("the sink does not listen")

    def totals(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def wait_for(self, samples, seconds):
        """Until so many samples are there; the totals then."""
        end = time.monotonic() + seconds
        while (now := self.totals())["samples"] < samples and time.monotonic() < end:
            time.sleep(0.1)
        return now

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Gateway:
    """The Collector with examples/collector/gateway.yaml; @more are settings on top of it."""

    def __init__(self, collector, backend_port, log, cpus=None, more=(), environment=None):
        self.port = free_port()
        settings = ["receivers::otlp::protocols::grpc::endpoint: 127.0.0.1:%d" % self.port,
                    "exporters::otlp_grpc::tls::insecure: true",
                    "service::telemetry::metrics::level: none", *more]
        with open(log, "w", encoding="utf-8") as f:
            self.process = subprocess.Popen(
                pinned(cpus, [collector, "--config", CONFIG, "--feature-gates",
                              "service.profilesSupport"] +
                       ["--config=yaml:" + line for line in settings]),
                stdout=f, stderr=f,
                env=dict(os.environ, BACKEND="127.0.0.1:%d" % backend_port,
                         **(environment or {})))
        try:
            wait_for_port(self.port, self.process, log)
        except RuntimeError:
            self.stop(1)
            raise

    def stop(self, seconds=20):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Replay:
    """Agents that send to @port; a context whose end ends them."""

    def __init__(self, program, port, requests, agents, window_s, warm_s, measure_s, cpus=None,
                 timeout="10s"):
        self.process = subprocess.Popen(
            pinned(cpus, [program, "replay", "-requests", requests, "-agents", str(agents),
                          "-window", "%gs" % window_s, "-warm", "%gs" % warm_s, "-measure",
                          "%gs" % measure_s, "-timeout", timeout, "127.0.0.1:%d" % port]),
            stdout=subprocess.PIPE, text=True)

    def wait(self, word):
        line = self.process.stdout.readline()
        if line.strip() != word:
            raise RuntimeError("the agents said %r in place of %r" % (line, word))

    def result(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the agents ended without a result")
        return json.loads(line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
