# SPDX-License-Identifier: Apache-2.0
"""Two threads that take two locks in two orders, one that works, and the first, which reads a pipe."""
import os
import threading

A, B = threading.Lock(), threading.Lock()
both = threading.Barrier(2, lambda: print("ready", flush=True))


def take_a_then_b():
    with A:
        both.wait()
        with B:  # PLACE take_a_then_b lock
            pass


def take_b_then_a():
    with B:
        both.wait()
        with A:  # PLACE take_b_then_a lock
            pass


def work():
    while True:
        sum(range(1000))  # PLACE work None


def ask():
    os.read(0, 1)  # PLACE ask pipe


for function in (take_a_then_b, take_b_then_a, work):
    threading.Thread(target=function, daemon=True).start()
ask()
