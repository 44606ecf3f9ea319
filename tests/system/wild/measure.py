# SPDX-License-Identifier: Apache-2.0
"""A load in a control group, and the profilers beside it."""

import hashlib
import os
import signal
import struct
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "live", name) for name in ("framework", "host")]
import otlp
import suite
from identity import Cgroups
from ports import free_port

WARM_SECONDS = 15  # before that the peer has no stacks


def read(path):
    try:
        with open(path, encoding="utf-8") as f:
            return f.read()
    except OSError:
        return None


def digest(folder):
    """Of the contents of the files in @folder."""
    text = hashlib.sha256()
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as f:
            text.update(name.encode() + b"\0" + f.read())
    return text.hexdigest()


class Group:
    """A control group, in which nothing is left at the end."""

    def __init__(self, name):
        self.cgroups = Cgroups()
        self.path = "otelprof-wild/" + name

    def __enter__(self):
        self.folder = self.cgroups.make(self.path)
        self.seen = set()  # processes, but for those of a few milliseconds
        self.done = threading.Event()
        self.watcher = threading.Thread(target=self.watch)
        self.watcher.start()
        return self

    def watch(self):
        while not self.done.wait(0.02):
            self.seen.update(self.pids())

    def __exit__(self, *unused):
        self.kill()
        self.done.set()
        self.watcher.join()
        self.cgroups.remove()
        try:
            os.rmdir(os.path.dirname(self.folder))  # of a run that was killed
        except OSError:
            pass

    def pids(self):
        return [int(pid) for pid in
                (read(os.path.join(self.folder, "cgroup.procs")) or "").split()]

    def cpu_seconds(self):
        """What its processes have used; None where the kernel does not count it."""
        for line in (read(os.path.join(self.folder, "cpu.stat")) or "").splitlines():
            if line.startswith("usage_usec "):
                return int(line.split()[1]) / 1e6
        return None

    def wait(self, seconds):
        """Until that time has passed and, on a busy machine, that much CPU time was used; not
        longer than four times as long."""
        end = time.monotonic() + seconds
        used = self.cpu_seconds()
        while time.monotonic() < end or (
                used is not None and self.cpu_seconds() - used < seconds
                and time.monotonic() < end + 3 * seconds):
            time.sleep(0.1)

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

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.kill()
        self.process.wait()

    def finish(self):
        status = suite.end(self.process, 60)
        if status:
            raise RuntimeError("otelprof record: exit %d: %s" % (
                status, " ".join((read(self.log) or "").split())[-300:]))
        return otlp.read_file(self.out)


class Peer:
    """The OpenTelemetry eBPF profiler, from the beginning to the end."""

    def __init__(self, args):
        self.file = os.path.join(args.dir, "peer.otlp")
        self.at = 0
        port = free_port()
        sink = os.path.join(args.tools, "sink")
        self.sink = subprocess.Popen([sink, "127.0.0.1:%d" % port, self.file],
                                     stdout=subprocess.PIPE)
        self.sink.stdout.readline()
        with open(self.file + ".said", "w", encoding="utf-8") as said:
            # It needs tracefs, which it gets in a mount namespace of its own.
            self.process = subprocess.Popen(
                ["unshare", "-m", "sh", "-c", "mount -t tracefs tracefs /sys/kernel/tracing; "
                 "exec \"$@\"", "sh", os.path.join(args.tools, "launch"),
                 args.peer or os.path.join(args.tools, "ebpf-profiler"), "-collection-agent",
                 "127.0.0.1:%d" % port, "-disable-tls", "-samples-per-second", str(args.hz),
                 "-reporter-interval", "1s", "-reporter-jitter", "0", "-send-error-frames"],
                stdout=said, stderr=said)
        if not self.warm():
            self.stop()
            raise RuntimeError("the peer sends nothing: %s" % " ".join(
                (read(self.file + ".said") or "").split())[-300:])

    def warm(self):
        """Whether it has come to send. On a busy machine it takes longer, and then to warm up."""
        time.sleep(WARM_SECONDS)
        if self.read():
            return True
        time.sleep(2 * WARM_SECONDS)
        return bool(self.read())

    def read(self):
        """The samples that came since the last call."""
        capture = otlp.Capture()
        with open(self.file, "rb") as f:
            f.seek(self.at)
            data = f.read()
        at = 0
        while at + 4 <= len(data):
            length = struct.unpack(">I", data[at:at + 4])[0]
            if at + 4 + length > len(data):
                break  # still being written
            otlp.read_request(data[at + 4:at + 4 + length], capture)
            at += 4 + length
        self.at += at
        return capture.samples

    def samples(self, start_ns, end_ns, pids):
        """Those taken in that time of these processes."""
        time.sleep(2.5)  # the last are still on the way
        for sample in self.read():
            inside = sum(start_ns <= t < end_ns for t in sample.timestamps)
            if inside and sample.pid in pids:
                sample.count = inside
                yield sample

    def stop(self):
        suite.end(self.process, 20)
        suite.end(self.sink, 20)
        self.sink.stdout.close()
