# SPDX-License-Identifier: Apache-2.0
"""Two threads that take two locks in two orders, one that works, and the first, which reads a pipe."""
import os
import threading
import time

A, B = threading.Lock(), threading.Lock()


def take_a_then_b():
    with A:
        time.sleep(0.3)
        with B:  # PLACE take_a_then_b lock
            pass


def take_b_then_a():
    with B:
        time.sleep(0.3)
        with A:  # PLACE take_b_then_a lock
            pass


def work():
    while True:
        sum(range(1000))  # PLACE work None


def ask():
    os.read(0, 1)  # PLACE ask pipe


for function in (take_a_then_b, take_b_then_a, work):
    threading.Thread(target=function, daemon=True).start()
time.sleep(0.6)
print("ready", flush=True)
ask()
