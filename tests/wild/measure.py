# SPDX-License-Identifier: Apache-2.0
"""A load in a control group, and the profilers beside it."""

import os
import re
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "truth"))
import otlp
import suite
from identity import Cgroups


def read(path):
    try:
        with open(path, encoding="utf-8") as f:
            return f.read()
    except OSError:
        return None


class Group:
    """A control group, in which nothing is left at the end."""

    def __init__(self, name):
        self.cgroups = Cgroups()
        self.path = "otelprof-wild/" + name

    def __enter__(self):
        self.folder = self.cgroups.make(self.path)
        return self

    def __exit__(self, *unused):
        self.kill()
        self.cgroups.remove()

    def pids(self):
        return [int(pid) for pid in
                (read(os.path.join(self.folder, "cgroup.procs")) or "").split()]

    def kill(self):
        """Kill all of it, however fast it forks."""
        for _ in range(200):
            pids = self.pids()
            if not pids:
                return
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.02)


class Load:
    def __init__(self, group, command, folder, environment):
        self.group = group
        self.command = command
        self.folder = folder
        self.environment = environment
        self.process = None
        self.said = os.path.join(folder, "load.log")

    def start(self):
        with open(self.said, "w", encoding="utf-8") as said:
            # A shell enters the group, so that nothing of this program is recorded. A session
            # of its own, so that no terminal's signal comes between.
            self.process = subprocess.Popen(
                ["sh", "-c", 'echo 0 >"$1/cgroup.procs"; exec sh -c "$2"', "sh",
                 self.group.folder, self.command], cwd=self.folder, env=self.environment,
                stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True)

    def ended(self):
        return self.process.poll() is not None

    def stop(self):
        self.group.kill()
        self.process.wait()

    def complaint(self):
        return " ".join((read(self.said) or "").split())[-300:] or "nothing"


class Record:
    """otelprof record of a control group."""

    def __init__(self, args, group, out):
        self.out = out
        self.log = out + ".log"
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [args.otelprof, "record", "-v", "-F", str(args.hz), "-d", "3600", "-o", out,
                 "--format", "otlp", "--cgroup", group.path], stdout=log, stderr=log)
        time.sleep(0.5)  # it samples after less than half of that

    def finish(self):
        status = suite.end(self.process, 60, signal.SIGINT)
        if status:
            raise RuntimeError("otelprof record: exit %d: %s" % (
                status, " ".join((read(self.log) or "").split())[-300:]))
        return otlp.read_file(self.out)


def counts(program, sample):
    return not program.exe or re.fullmatch(program.exe, sample.exe)
