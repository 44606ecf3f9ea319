#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cost by number: of CPUs (pretended), of idle processes, of execs a second, of containers.
Called by scale.sh.

How each figure is taken:
  ns a record     test_sideband: buffers of so many CPUs in plain memory
  start, ms       from exec to "profiling at", which is said once samples are taken
  memory          RssAnon of the profiler and memlock of its BPF maps (/proc/PID/fdinfo); a
                  process's is the difference to the run without them, by their number
  CPU, %          of one core, all threads (schedstat)
  descriptors     of other processes' files (the most that were seen), of them of deleted
                  ones after the execs, all
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
import receiver  # noqa: E402


class Profiler:
    """`otelprof export` into a receiver of this process."""

    def __init__(self, args):
        self.server = receiver.Receiver(receiver.Script(["ok"]))
        program = os.path.join(args.build, "examples", "otelprof", "otelprof")
        began = time.monotonic()
        self.process = subprocess.Popen(
            [program, "export", "--protocol", "http/protobuf", "-F", "99", "--interval", "5",
             "--endpoint", self.server.url()],
            stderr=subprocess.PIPE, text=True)
        self.said = []
        for line in self.process.stderr:
            self.said.append(line)
            if "profiling at" in line:
                break
        else:
            raise RuntimeError("otelprof does not start: %s" % "".join(self.said))
        self.start_ms = (time.monotonic() - began) * 1000
        threading.Thread(target=self.read_rest, daemon=True).start()

    def read_rest(self):
        for line in self.process.stderr:
            self.said.append(line)

    def path(self, name):
        return "/proc/%d/%s" % (self.process.pid, name)

    def memory(self):
        """KiB: (of its own, of BPF maps)."""
        with open(self.path("status"), encoding="ascii") as f:
            own = int(re.search(r"RssAnon:\s+(\d+)", f.read())[1])
        maps = 0
        for fd in os.listdir(self.path("fdinfo")):
            try:
                with open(self.path("fdinfo/" + fd), encoding="ascii") as f:
                    found = re.search(r"^memlock:\s+(\d+)", f.read(), re.M)
            except OSError:
                continue
            if found:
                maps += int(found[1]) / 1024
        return own, maps

    def descriptors(self):
        """(of files with a path, of perf events, all)."""
        links = []
        for fd in os.listdir(self.path("fd")):
            try:
                links.append(os.readlink(self.path("fd/" + fd)))
            except OSError:
                pass
        files = [l for l in links if l.startswith("/") and
                 not l.startswith(("/dev/", "/sys/", "/proc/", "/memfd:"))]
        return len(files), sum("perf_event" in l for l in links), len(links)

    def deleted(self):
        count = 0
        for fd in os.listdir(self.path("fd")):
            try:
                link = os.readlink(self.path("fd/" + fd))
                count += link.endswith(" (deleted)") and not link.startswith("/memfd:")
            except OSError:
                pass
        return count

    def cpu_ns(self):
        total = 0
        for task in os.listdir(self.path("task")):
            try:
                with open(self.path("task/%s/schedstat" % task), encoding="ascii") as f:
                    total += int(f.read().split()[0])
            except OSError:
                pass
        return total

    def cpu_percent(self, seconds):
        before, began = self.cpu_ns(), time.monotonic()
        time.sleep(seconds)
        return (self.cpu_ns() - before) / (time.monotonic() - began) / 1e7

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.server.close()
        return "".join(self.said)


def side_band(args):
    print("\nside-band records, by CPUs (pretended)")
    program = os.path.join(args.build, "tests", "unit", "capture", "test_sideband")
    if not os.path.exists(program):
        print("  skipped: %s is not built" % program)
        return
    out = subprocess.run([program, "cost"], capture_output=True, text=True, check=True)
    print("  " + "\n  ".join(l for l in out.stdout.splitlines() if l.startswith("ns")))


def idle(args):
    print("\nidle processes %8s %10s %12s %12s %8s %12s" % (
        "start ms", "CPU %", "own KiB", "maps KiB", "files", "bytes each"))
    base = None
    for count in args.idle:
        crowd = subprocess.Popen([args.crowd, "idle", str(count)], stdout=subprocess.PIPE)
        try:
            crowd.stdout.readline()
            time.sleep(2)
            profiler = Profiler(args)
            try:
                time.sleep(15)  # the scan is over, the first windows are sent
                percent = profiler.cpu_percent(args.seconds)
                own, maps = profiler.memory()
                files = profiler.descriptors()[0]
            finally:
                profiler.stop()
        finally:
            crowd.kill()
            crowd.wait()
        if base is None:
            base = own + maps
        each = (own + maps - base) * 1024 / count if count else 0
        print("%14d %8.0f %10.2f %12d %12d %8d %12.0f" % (
            count, profiler.start_ms, percent, own, maps, files, each), flush=True)
        time.sleep(3)


def churn(args):
    print("\nexecs a second %8s %7s %8s %10s %8s %8s %6s   own KiB after each fifth; dropped" % (
        "beside", "done", "CPU %", "maps KiB", "files", "deleted", "all"))
    for rate, count in [(r, c) for c in args.churn_beside for r in args.churn]:
        idlers = subprocess.Popen([args.crowd, "idle", str(count)], stdout=subprocess.PIPE)
        idlers.stdout.readline()
        time.sleep(2)
        profiler = Profiler(args)
        try:
            time.sleep(3)
            crowd = subprocess.Popen([args.crowd, "churn", str(rate), str(args.churn_seconds),
                                      args.churn_work], stdout=subprocess.PIPE, text=True)
            before, began = profiler.cpu_ns(), time.monotonic()
            owns = []
            files = every = 0
            for _ in range(5):
                time.sleep(args.churn_seconds / 5)
                owns.append(profiler.memory()[0])
                here = profiler.descriptors()
                files, every = max(files, here[0]), max(every, here[2])
            percent = (profiler.cpu_ns() - before) / (time.monotonic() - began) / 1e7
            done = int(crowd.communicate()[0])
            time.sleep(6)
            deleted = profiler.deleted()
            maps = profiler.memory()[1]
        finally:
            said = profiler.stop()
            idlers.kill()
            idlers.wait()
        dropped = re.search(r"dropped (\d+(?: \(.*\))?)", said)
        print("%14d %8d %7.0f %8.2f %10d %8d %8d %6d   %s; %s" % (
            rate, count, done / args.churn_seconds, percent, maps, files, deleted, every,
            " ".join(map(str, owns)), dropped[1] if dropped else "?"), flush=True)


def containers(args):
    """Control groups with the names of containers, each with a process that works at times."""
    root = "/sys/fs/cgroup"
    print("\ncontainers %12s %8s %10s %8s" % ("start ms", "CPU %", "own KiB", "files"))
    made = []
    workers = []
    try:
        for number in range(args.containers):
            path = "%s/docker-%064x.scope" % (root, os.getpid() << 32 | number)
            os.mkdir(path)
            made.append(path)
            worker = subprocess.Popen(
                ["sh", "-c", "while :; do sleep 1; %s work 3; done" % args.crowd],
                start_new_session=True)
            workers.append(worker)
            with open(path + "/cgroup.procs", "w", encoding="ascii") as f:
                f.write(str(worker.pid))
    except OSError as e:
        print("  skipped: no control group can be made: %s" % e)
    else:
        profiler = Profiler(args)
        try:
            time.sleep(15)
            percent = profiler.cpu_percent(args.seconds)
            own = profiler.memory()[0]
            files = profiler.descriptors()[0]
        finally:
            profiler.stop()
        print("%10d %12.0f %8.2f %10d %8d" % (args.containers, profiler.start_ms, percent, own,
                                              files), flush=True)
    finally:
        for worker in workers:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()
        for path in made:
            for _ in range(50):
                try:
                    os.rmdir(path)
                    break
                except OSError:
                    time.sleep(0.1)


def numbers(text):
    return [int(n) for n in text.split(",") if n]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--crowd", required=True, help="crowd.c, built")
    parser.add_argument("--idle", type=numbers, default=[0, 100, 1000, 10000])
    parser.add_argument("--churn", type=numbers, default=[50, 200, 500])
    parser.add_argument("--churn-seconds", type=float, default=60)
    parser.add_argument("--churn-beside", type=numbers, default=[0, 1000, 10000],
                        help="idle processes that are there already")
    parser.add_argument("--churn-work", default="2", help="ms that each works")
    parser.add_argument("--containers", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=10)
    args = parser.parse_args()
    side_band(args)
    if args.idle:
        idle(args)
    if args.churn:
        churn(args)
    if args.containers:
        containers(args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
