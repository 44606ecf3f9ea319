# SPDX-License-Identifier: Apache-2.0
"""Two locks in two orders, as deadlock.py, while a third thread goes on."""
import threading
import time

left, right = threading.Lock(), threading.Lock()
both = threading.Barrier(2, lambda: print("ready", flush=True))


def one():
    with left:
        both.wait()
        with right:  # GUILTY
            pass


def two():
    with right:
        both.wait()
        with left:  # GUILTY
            pass


def tick():
    while True:
        sum(range(20000))
        time.sleep(0.01)


threads = [threading.Thread(target=f, daemon=True) for f in (one, two, tick)]
for t in threads:
    t.start()
threads[2].join()
