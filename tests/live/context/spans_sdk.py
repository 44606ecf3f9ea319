# SPDX-License-Identifier: Apache-2.0
"""Spans of a program with an SDK: as spans.c, in Python, by ddtrace. It publishes OTEP 4947's
context by itself; nothing here is about profiles.

    spans_sdk.py threads|asyncio SECONDS FILE

Each turn is a trace of its own: a root, and in it the three spans one after the other. FILE gets
what the SDK has made, as JSON: {span id: [number, trace id, id of the local root]}.
"""
import asyncio
import json
import os
import random
import sys
import threading
import time

import ddtrace
from ddtrace.trace import tracer

SHARES = (5, 3, 2)
TURN_NS = 50_000_000
SLICES = 5  # of a span of asyncio: it yields between them
THREADS = 2

cpu_ns = time.thread_time_ns
spans = {}


def note(number, span, root):
    spans["%016x" % span.span_id] = (number, "%032x" % span.trace_id, "%016x" % root.span_id)


def spin(until):
    x = 1
    while cpu_ns() < until:
        for _ in range(100):
            x = (x * 3 + 1) & 0xffffff


def work_0(until):
    spin(until)


def work_1(until):
    spin(until)


def work_2(until):
    spin(until)


def turn_ns():
    """Not always the same: see spans.c."""
    return random.randrange(TURN_NS // 2, TURN_NS * 3 // 2)


def run_thread(seconds):
    at = cpu_ns()
    end = at + seconds * 10**9
    while at < end:
        turn = turn_ns()
        with tracer.trace("turn") as root:
            for i, work in enumerate((work_0, work_1, work_2)):
                at += turn // 10 * SHARES[i]
                with tracer.trace("span", resource=str(i)) as span:
                    note(i, span, root)
                    work(at)


class Clock:
    """What all tasks of the loop work by, so that their shares are of one sum."""

    def __init__(self):
        self.at = cpu_ns()

    def part(self, ns):
        self.at += ns
        return self.at


# The function of a task stays on its stack while it waits, and off the thread's.
async def work_co_0(clock, ns):
    for _ in range(SLICES):
        spin(clock.part(ns))
        await asyncio.sleep(0)


async def work_co_1(clock, ns):
    for _ in range(SLICES):
        spin(clock.part(ns))
        await asyncio.sleep(0)


async def work_co_2(clock, ns):
    for _ in range(SLICES):
        spin(clock.part(ns))
        await asyncio.sleep(0)


async def run_task(i, work, root, clock, ns):
    with tracer.trace("span", resource=str(i)) as span:
        note(i, span, root)
        await work(clock, ns)


async def run_loop(seconds):
    clock = Clock()
    end = clock.at + seconds * 10**9
    while clock.at < end:
        turn = turn_ns()
        with tracer.trace("turn") as root:
            await asyncio.gather(*(
                run_task(i, work, root, clock, turn // 10 * SHARES[i] // SLICES)
                for i, work in enumerate((work_co_0, work_co_1, work_co_2))))


def main():
    seconds = int(sys.argv[2])
    if sys.argv[1] == "asyncio":
        ddtrace.patch(asyncio=True)
    print("ready", os.getpid(), flush=True)
    if sys.argv[1] == "asyncio":
        asyncio.run(run_loop(seconds))
    else:
        threads = [threading.Thread(target=run_thread, args=(seconds,)) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with open(sys.argv[3], "w", encoding="ascii") as f:
        json.dump(spans, f)


main()
