#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real programs under load, and what both profilers make of them. Called by run.sh.

Each program runs in a control group of its own. `otelprof record --cgroup` records it from
before its first exec to its end. The peer runs from the beginning to the end of everything,
because it needs 15 s to warm up; a sample of it counts for the program whose time it was
taken in and one of whose processes it was taken from.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
sys.path.insert(0, os.path.join(HERE, "..", "..", "live", "framework"))
sys.path.insert(0, HERE)
import calls
import installed
import judge
import made
import measure
import others
import otlp
import suite
from ports import free_port

SOURCES = os.path.join(HERE, "sources")
LOADS = os.path.join(HERE, "loads")
LANGUAGES = os.path.join(HERE, "languages")
PROGRAMS = installed.PROGRAMS + made.PROGRAMS + others.PROGRAMS


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--otelprof", required=True)
    parser.add_argument("--tools", help="what tests/bench/build-peer.sh printed")
    parser.add_argument("--peer")
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--hz", type=int, default=99)
    parser.add_argument("--why", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--dir", type=suite.folder)
    parser.add_argument("programs", nargs="*")
    args = parser.parse_args()
    args.otelprof = os.path.abspath(args.otelprof)
    cache = os.environ.get("OTELPROF_CACHE", os.path.expanduser("~/.cache/otelprof-tests"))
    args.dir = args.dir or suite.folder(os.path.join(cache, "wild"))
    return args


def chosen(args):
    known = {p.name: p for p in PROGRAMS}
    unknown = [name for name in args.programs if name not in known]
    if unknown:
        sys.exit("wild.py: no such program: %s (see --list)" % " ".join(unknown))
    return [known[name] for name in args.programs] or PROGRAMS


def prepare(program, args):
    """Make the program's input, once. Returns its folder; raises suite.Skip."""
    for need in program.needs.split():
        if not (os.path.exists(need) if "/" in need else shutil.which(need)):
            raise suite.Skip("no %s" % need)
    folder = suite.folder(os.path.join(args.dir, program.name))
    stamp = os.path.join(folder, "made")
    wanted = program.make + "".join(measure.digest(folder) for name, folder in (
        ("$SRC", SOURCES), ("$LOADS", LOADS), ("$LANGUAGES", LANGUAGES)) if name in program.make)
    if measure.read(stamp) != wanted:
        done = subprocess.run(["sh", "-ec", program.make], cwd=folder, env=environment(folder),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            raise suite.Skip("its input is not made: %s" % done.stderr.strip()[-200:])
        with open(stamp, "w", encoding="utf-8") as f:
            f.write(wanted)
    return folder


def environment(folder):
    """Debian's programs come before others of their names; what a killed program leaves in
    its temporary folder is gone with the next run."""
    temporary = suite.fresh_folder(os.path.join(folder, "tmp"))
    return {**os.environ, "DIR": folder, "TMPDIR": temporary, "SRC": SOURCES,
            "LOADS": LOADS, "LANGUAGES": LANGUAGES, "TOP": TOP, "PORT": str(free_port()), "LC_ALL": "C.UTF-8",
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin:" + os.environ["PATH"]}


def run(program, args, peer):
    """Profile one program. Returns the verdicts on this project's profiler and the peer's
    (None without)."""
    folder = prepare(program, args)
    with measure.Group(program.name) as group:
        load = measure.Load(group, program.load, folder, environment(folder))
        if program.warm:
            load.start()
            time.sleep(program.warm)
        with measure.Record(args, group, os.path.join(folder, "ours.otlp")) as record:
            start_ns = time.time_ns()
            if not program.warm:
                load.start()
            group.wait(args.seconds)
            end_ns = time.time_ns()
            ended = load.ended()
            ours = record.finish().samples
        code = calls.of_processes(group.pids())
        load.stop()
    if ended:
        raise RuntimeError("the load ended by itself: %s" % load.complaint())
    verdict = judged(program, ours, code)
    if not verdict.samples:
        raise RuntimeError("no samples; the load said: %s" % load.complaint())
    if not peer:
        return verdict, None
    pids = group.seen | {s.pid for s in ours}
    return verdict, judged(program, peer.samples(start_ns, end_ns, pids))


def judged(program, samples, code=None):
    verdict = judge.Verdict(program.begin, program.never, code)
    for sample in samples:
        if not program.exe or re.fullmatch(program.exe, sample.exe):
            verdict.add(sample)
    return verdict


COLUMNS = "%6s %6s %6s %6s %5s"
HEAD = "%-15s | %s | %s | %s" % ("program", COLUMNS % ("stacks", "bad %", "odd %", "addr %",
                                                       "depth"),
                                 COLUMNS % ("peer's", "bad %", "odd %", "addr %", "depth"),
                                 "why ours end early")


def columns(verdict):
    if not verdict or not verdict.samples:
        return COLUMNS % (("-",) * 5)
    return COLUMNS % (verdict.samples, "%.2f" % verdict.bad_share, "%.2f" % verdict.odd_share,
                      "%.1f" % verdict.unnamed_share, verdict.depth)


def show(program, ours, peer):
    """Print the row. Returns what is wrong with it."""
    wrong = []
    if ours.bad_share > program.bound:
        wrong.append("above %g %%" % program.bound)
    if ours.odd_share > program.bound:
        wrong.append("odd above %g %%" % program.bound)
    if ours.untrue:
        wrong.append("%d against the code" % ours.untrue)
    if peer and ours.above(peer):
        wrong.append("above the peer")
    print("%-15s | %s | %s | %s%s" % (program.name, columns(ours), columns(peer), ours.said(),
                                      "".join("  <- " + w for w in wrong)), flush=True)
    return wrong


def explain(verdict, peers):
    for (reason, exe, frames), count in verdict.where.most_common(12):
        print("    %5d %s in %s: %s" % (count, reason, exe, frames))
    for (good, exe, frame), count in verdict.roots.most_common():
        if not good:
            print("    %5d odd in %s: %s" % (count, exe, frame))
    if verdict.code:
        print("          calls: %s" % ", ".join(
            "%d %s" % (n, v) for v, n in verdict.code.counts.most_common()))
    if peers:
        print("          the peer: %s" % (peers.why() or "nothing ends early"))


def main():
    args = options()
    if args.list:
        print("\n".join(p.name for p in PROGRAMS))
        return 0
    signal.signal(signal.SIGTERM, lambda *unused: sys.exit(1))
    peer = measure.Peer(args) if args.tools else None
    try:
        return table(args, peer)
    finally:
        if peer:
            peer.stop()


def table(args, peer):
    results = []
    failed = 0
    print(HEAD, flush=True)
    for program in chosen(args):
        measured = False
        try:
            ours, peers = run(program, args, peer)
            measured = True
            wrong = show(program, ours, peers)
            text = "%d stacks, %.2f %% end early" % (ours.samples, ours.bad_share)
            status = "FAIL" if wrong else "ok"
            text = "; ".join([text, *wrong])
            if args.why:
                explain(ours, peers)
        except suite.Skip as e:
            status, text = "skip", str(e)
        except (RuntimeError, OSError, otlp.Malformed) as e:
            status, text = "FAIL", str(e)
        if not measured:
            print("%-15s | %s: %s" % (program.name, status, text), flush=True)
        results.append("%s wild %s: %s" % (status, program.name, text))
        failed += status == "FAIL"
    print("\n".join(["", *results]))
    if all(r.startswith("skip") for r in results):
        return 77
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
