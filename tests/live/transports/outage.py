#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A long outage, with everything a back end can do wrong before and after it: every sample
is delivered or counted.

    outage.py --sender PROGRAM [--otelprof PROGRAM] [--protocol grpc|http] [--real-time]

A sender of known samples (sender.c) works against tests/harness/receiver.py, which answers
UNAVAILABLE, asks for patience, takes half, says "too large", answers garbage, hangs, resets
connections, and is then gone: for 30 s, or for 10 minutes with --real-time. Compared are what
the sender says it handed over, what the server wrote down by profile_id, and the counters.
A profile may come twice (at least once is the promise); a loss that is not counted fails.

  memory    the queue in memory; its bound is reached on purpose in "bound"
  spill     with a spill directory, one run
  kill      with a spill directory; the sender is killed by SIGKILL again and again
  live      otelprof export itself with a spill directory, killed too (needs root)
"""
import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "framework"))
from ports import free_port

RECEIVER = os.path.join(HERE, "..", "..", "harness", "receiver.py")
# What a back end may do, as steps of the receiver.
MODES = {
    "unavailable": {"grpc": "status:14:away for now", "http": "status:503:away for now"},
    "patience": {"grpc": "retry:14:700", "http": "retry:429:1"},
    "oversize": {
        "grpc": "status:8:grpc: received message larger than max (5050059 vs. 4194304)",
        "http": "status:413:http: request body too large"},
    "half": {"grpc": "half:0:half of it", "http": "half:0:half of it"},
}
BIG_QUEUE = 64 << 20
SMALL_QUEUE = 64 << 10  # the least: it holds one request of the least max_request_bytes


class Server:
    def __init__(self, args, record):
        self.args, self.record, self.port = args, record, free_port()
        self.process = None

    def start(self, mode="ok"):
        for _ in range(20):
            self.process = subprocess.Popen(
                [sys.executable, RECEIVER, "--record", self.record, "--stdin",
                 str(self.port), "-", "-", "-", self.step(mode)], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, text=True)
            if self.process.stdout.readline().startswith("port"):
                # its lines of requests are not wanted
                threading.Thread(target=self.process.stdout.read, daemon=True).start()
                return
            self.process.wait()
            time.sleep(0.2)
        raise RuntimeError("the server does not start")

    def step(self, mode):
        return MODES.get(mode, {}).get(self.args.protocol, mode)

    def mode(self, mode):
        """From now on it answers so."""
        self.process.stdin.write(self.step(mode) + "\n")
        self.process.stdin.flush()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def seen(self):
        """({id: samples} taken, {id: samples} refused, lines) as the server wrote them down."""
        taken, rejected, lines = {}, {}, 0
        with open(self.record) as f:
            for line in f:
                words = line.split()
                lines += 1
                if words[0] == "rejected":
                    rejected[words[1]] = int(words[2])
                else:
                    taken[words[0]] = int(words[1])
        return taken, rejected, lines


class Sender:
    def __init__(self, args, url, spill, life, every_ms=20, queue=BIG_QUEUE, retry_for=None):
        command = [args.sender, args.protocol, url, spill or "-", str(life), str(every_ms),
                   "500", str(queue)]
        if retry_for:
            command.append(str(retry_for))
        self.submitted, self.log, self.end, self.dropped = {}, [], None, {}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            if not line.endswith("\n"):
                break  # cut by SIGKILL: not said
            words = line.split()
            if words[0] == "submitted":
                life, number = map(int, words[1].split("-"))
                self.submitted[f"{life:016x}{number:016x}"] = int(words[2])
            elif words[0] == "end":
                self.end = {k: int(v) for k, v in (w.split("=") for w in words[1:])}
            elif words[0] == "dropped":
                self.dropped[int(words[1])] = int(words[2])
            else:
                self.log.append(line.rstrip())

    def finish(self, seconds):
        with contextlib.suppress(BrokenPipeError):  # it ended: why stands in its log
            self.process.stdin.write(f"end {seconds}\n")
            self.process.stdin.flush()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.reader.join()
        status = self.process.wait()
        if status or not self.end:
            raise RuntimeError(f"the sender ended with {status}: {self.log[-3:]}")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdin.close()


class Judge:
    def __init__(self):
        self.failed = 0

    def need(self, ok, text):
        if not ok:
            self.failed += 1
            print("    wrong:", text, flush=True)

    def say(self, name, text):
        print("    %s: %s" % (name, text), flush=True)


def totals(name, judge, submitted, taken, rejected, end, dropped, lines):
    sent = sum(submitted.values())
    got = sum(taken.values())
    refused = sum(rejected.values())
    unique = len(taken) + len(set(rejected) - set(taken))
    judge.say(name, f"{len(submitted)} requests handed over with {sent} samples; server: "
              f"{unique} unique profile ids, {lines - unique} duplicates, {got} samples taken, "
              f"{refused} refused by partial success; counters: {end}, dropped {dropped}")
    for key, samples in taken.items():
        judge.need(submitted.get(key, samples) == samples, f"{key} has {samples} samples")
    return sent, got


def check_one_run(name, judge, server, sender):
    """All that was handed over in one life is exported, dropped or left, to the sample."""
    taken, rejected, lines = server.seen()
    sent, got = totals(name, judge, sender.submitted, taken, rejected, sender.end,
                       sender.dropped, lines)
    e = sender.end
    judge.need(e["pending"] == 0, "samples are pending after the end")
    judge.need(sent == e["exported"] + e["dropped"] + e["spilled"],
               "handed over is not exported + dropped + left")
    # What came whole although its answer was lost is taken too: never less than exported.
    judge.need(got >= e["exported"], f"exported {e['exported']}, the server has {got}")
    missing = sum(s for k, s in sender.submitted.items() if k not in taken)
    judge.need(missing <= e["dropped"] + e["spilled"],
               f"{missing} samples are missing, {e['dropped']} are counted")
    judge.need(not set(taken) - set(sender.submitted), "profiles that nobody sent")
    return missing


def troubles(server, seconds):
    """Everything but being away. One of them refuses for good: those are counted."""
    modes = ["unavailable", "patience", "half", "oversize", "junk", "hang", "ok"]
    if server.args.protocol == "http":
        modes.insert(5, "reset")
    for mode in modes:
        server.mode(mode)
        time.sleep(seconds)


def run_memory(args, judge, directory):
    server = Server(args, os.path.join(directory, "memory"))
    server.start()
    sender = Sender(args, server.url(), None, 1, retry_for=3600000)
    time.sleep(1)
    troubles(server, args.trouble)
    server.kill()
    time.sleep(args.away)
    server.start()
    time.sleep(1)
    sender.finish(60)
    missing = check_one_run("memory", judge, server, sender)
    judge.need(sender.end["spilled"] == 0 and not sender.dropped.get(4), "the queue was full")
    judge.need(sender.dropped.get(5, 0) > 0, "oversize refused nothing: the scene is wrong")
    judge.need(missing <= sender.dropped.get(5, 0), "missing ones are not those refused")
    server.kill()


def run_bound(args, judge, directory):
    """The queue is too small for the outage: the oldest are dropped and counted."""
    server = Server(args, os.path.join(directory, "bound"))
    server.start()
    # Some 1,300 requests fit.
    sender = Sender(args, server.url(), None, 2, every_ms=2, queue=SMALL_QUEUE,
                    retry_for=3600000)
    time.sleep(1)
    server.kill()
    time.sleep(min(args.away, 10))
    wait_for(lambda: any("queue is full" in line for line in sender.log))
    server.start()
    time.sleep(1)
    sender.finish(60)
    missing = check_one_run("bound", judge, server, sender)
    judge.need(sender.dropped.get(4, 0) == missing and missing > 0,
               f"{missing} are missing, {sender.dropped.get(4, 0)} dropped by a full queue")
    server.kill()


def run_spill(args, judge, directory):
    server = Server(args, os.path.join(directory, "spill-record"))
    spill = os.path.join(directory, "spill")
    server.start()
    sender = Sender(args, server.url(), spill, 3)
    time.sleep(1)
    server.mode("hang")
    time.sleep(args.trouble)
    server.kill()
    time.sleep(args.away)
    server.start("unavailable")
    time.sleep(args.trouble)
    server.mode("ok")
    sender.finish(60)
    missing = check_one_run("spill", judge, server, sender)
    judge.need(missing == 0 and sender.end["dropped"] == 0, f"{missing} samples are lost")
    judge.need(not files(spill), "files are left")
    server.kill()


def files(spill):
    return [f for _, _, names in os.walk(spill) for f in names if f.endswith(".request")]


def run_kill(args, judge, directory):
    """The sender is killed in the outage, while things go well, and in between."""
    server = Server(args, os.path.join(directory, "kill-record"))
    spill = os.path.join(directory, "kill")
    server.start()
    submitted, kills, began = {}, 0, time.monotonic()
    restored = 0
    up = True
    while time.monotonic() - began < args.away:
        sender = Sender(args, server.url(), spill, 100 + kills, every_ms=5)
        time.sleep(random.uniform(0.2, 2))
        sender.kill()
        submitted.update(sender.submitted)
        kills += 1
        # A third of the time the server is away, and it dies in the middle of things too.
        if random.random() < 0.3:
            if up:
                server.kill()
            else:
                server.start()
            up = not up
    # The last one dies while the server is away, so that something is waiting.
    if up:
        server.kill()
    sender = Sender(args, server.url(), spill, 100 + kills, every_ms=5)
    wait_for(lambda: len(files(spill)) > 10)
    sender.kill()
    submitted.update(sender.submitted)
    kills += 1
    waiting = len(files(spill))
    server.start()
    sender = Sender(args, server.url(), spill, 99999, every_ms=5)
    time.sleep(1)
    sender.finish(120)
    submitted.update(sender.submitted)
    restored = sender.end["restored"]
    taken, rejected, lines = server.seen()
    sent, got = totals("kill", judge, submitted, taken, rejected, sender.end,
                       sender.dropped, lines)
    judge.say("kill", f"{kills} times SIGKILL, {waiting} files waiting at the last start with "
              f"{restored} samples")
    lost = [k for k in submitted if k not in taken]
    judge.need(kills > 5 and waiting > 0, "the scene is wrong: nothing was waiting")
    judge.need(not lost, f"{len(lost)} requests are lost: {lost[:3]}")
    judge.need(sender.end["dropped"] == 0 and sender.end["errors"] == 0, "drops or errors")
    # In flight at a SIGKILL: taken, and not said to be handed over. At most one a life.
    judge.need(len(set(taken) - set(submitted)) <= kills, "profiles that nobody sent")
    judge.need(not files(spill), "files are left")
    server.kill()


def wait_for(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError("what was waited for did not come")
        time.sleep(0.05)


def run_live(args, judge, directory):
    if not args.otelprof or os.geteuid():
        return "needs --otelprof and root"
    server = Server(args, os.path.join(directory, "live-record"))
    spill = os.path.join(directory, "live")
    server.start()
    command = [args.otelprof, "export", "--endpoint", server.url(), "--interval", "0.5",
               "-F", "99", "--spill-dir", spill, "--protocol",
               "grpc" if args.protocol == "grpc" else "http/protobuf"]
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    left = 0
    try:
        for life in range(args.live_kills):
            p = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            if life == 0:
                wait_for(lambda: server.seen()[2] > 0)
                server.kill()  # from now on it is away, and files pile up
            wait_for(lambda: len(files(spill)) > left)
            time.sleep(random.uniform(0, 1))
            p.kill()
            p.wait()
            left = len(files(spill))
        server.start()
        p = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        time.sleep(3)
        wait_for(lambda: len(files(spill)) < left)
        p.send_signal(signal.SIGTERM)
        text = p.communicate(timeout=60)[1]
    finally:
        busy.kill()
        busy.wait()
    taken, _, lines = server.seen()
    last = text.strip().splitlines()[-1]
    judge.say("live", f"{args.live_kills} times SIGKILL, {left} files were left, then: "
              f"{last}; server: {len(taken)} unique profile ids, {lines - len(taken)} "
              f"duplicates, {sum(taken.values())} samples")
    judge.need(p.returncode == 0, f"exit status {p.returncode}")
    judge.need(left > 0, "the scene is wrong: nothing was waiting")
    judge.need(not files(spill), "files are left")
    judge.need("pending 0" in last, "samples are pending after the end")
    # A slow machine may lose some in the kernel's ring; delivery loses none.
    for word in ("queue", "refused", "given_up", "spill", "memory"):
        judge.need(f"{word} " not in last.split("dropped")[-1].split(";")[0].split("+")[0],
                   f"samples were dropped: {word}")
    numbers = [int(w) for w in last.replace(";", " ").split() if w.isdigit()]
    judge.need(numbers[-1] > 0, "nothing was restored")
    # The last life tells what it exported, the restored included; before were more.
    judge.need(sum(taken.values()) >= numbers[1], "the server has less than was exported")
    server.kill()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sender", required=True)
    parser.add_argument("--otelprof")
    parser.add_argument("--protocol", choices=("grpc", "http"), default="grpc")
    parser.add_argument("--real-time", action="store_true", help="away for ten minutes")
    parser.add_argument("--only", help="memory, bound, spill, kill or live")
    args = parser.parse_args()
    args.away = 600 if args.real_time else 30
    args.trouble = 10 if args.real_time else 1.5
    args.live_kills = 8 if args.real_time else 3
    judge = Judge()
    with tempfile.TemporaryDirectory(prefix="otelprof-outage-") as directory:
        failed = 0
        for name, scene in SCENES.items():
            if args.only and args.only != name:
                continue
            judge.failed = 0
            skipped = scene(args, judge, directory)
            status = "skip" if skipped else "FAIL" if judge.failed else "ok"
            print("%s delivery %s-%s: %s" % (status, name, args.protocol, skipped or
                  "away for %d s" % args.away), flush=True)
            failed += judge.failed
    return 1 if failed else 0


SCENES = {"memory": run_memory, "bound": run_bound, "spill": run_spill, "kill": run_kill,
          "live": run_live}

if __name__ == "__main__":
    sys.exit(main())
