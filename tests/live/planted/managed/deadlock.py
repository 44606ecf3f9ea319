# SPDX-License-Identifier: Apache-2.0
"""Two threads that each hold the lock that the other one wants."""
import threading
import time

A, B = threading.Lock(), threading.Lock()


def one():
    with A:
        time.sleep(0.2)
        with B:  # GUILTY
            pass


def two():
    with B:
        time.sleep(0.2)
        with A:  # GUILTY
            pass


print("ready", flush=True)
for thread in [threading.Thread(target=f) for f in (one, two)]:
    thread.start()
