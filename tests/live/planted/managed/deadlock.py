# SPDX-License-Identifier: Apache-2.0
"""Two threads that each hold the lock that the other one wants."""
import threading

A, B = threading.Lock(), threading.Lock()
both = threading.Barrier(2, lambda: print("ready", flush=True))


def one():
    with A:
        both.wait()
        with B:  # GUILTY
            pass


def two():
    with B:
        both.wait()
        with A:  # GUILTY
            pass


for thread in [threading.Thread(target=f) for f in (one, two)]:
    thread.start()
