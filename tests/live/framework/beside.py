# SPDX-License-Identifier: Apache-2.0
"""Runs the OpenTelemetry eBPF profiler beside ours, on the same processes at the same time. Its
figures are printed, not judged."""

import argparse
import contextlib
import json
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "system", "wild"))


def add_option(parser):
    parser.add_argument("--peer", dest="tools", metavar="TOOLS",
                        help="run it from this folder, which tests/bench/build-peer.sh prints")


@contextlib.contextmanager
def started(run):
    """run.peer is the peer while it runs, or None without --peer."""
    run.peer = None
    if run.args.tools:
        from measure import Peer
        run.peer = Peer(argparse.Namespace(dir=run.args.dir, tools=run.args.tools, peer=None,
                                           hz=run.args.hz))
    try:
        yield
    finally:
        if run.peer:
            run.peer.stop()


def tell(run, name, pid, start_ns, judge):
    """Print the figures that @judge(samples) returns for its samples since @start_ns."""
    if not run.peer:
        return
    samples = list(run.peer.samples(start_ns, time.time_ns(), {pid}))
    figures = judge(samples)
    figures["errors"] = errors_of(samples)
    print("peer %s %s" % (name, json.dumps(figures)), flush=True)


def line_shares(frames_right):
    """Figures in per cent, of [(frames with the right line, frames, samples)]."""
    frames = sum(of * count for _, of, count in frames_right)
    right = sum(n * count for n, _, count in frames_right)
    return {"frame_lines": 100 * right / max(frames, 1)}


def errors_of(samples):
    """The peer's stacks that end in an error frame, by error."""
    errors = {}
    for sample in samples:
        for f in sample.frames:
            if "error" in f.type or f.name.startswith("[unwind error"):
                errors[f.name or f.type] = errors.get(f.name or f.type, 0) + sample.count
    return errors
