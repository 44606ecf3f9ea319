# SPDX-License-Identifier: Apache-2.0
"""Two locks in two orders, as deadlock.py, while a third thread goes on."""
import threading
import time

left, right = threading.Lock(), threading.Lock()


def one():
    with left:
        time.sleep(0.2)
        with right:  # GUILTY
            pass


def two():
    with right:
        time.sleep(0.2)
        with left:  # GUILTY
            pass


def tick():
    while True:
        sum(range(20000))
        time.sleep(0.01)


print("ready", flush=True)
threads = [threading.Thread(target=f, daemon=True) for f in (one, two, tick)]
for t in threads:
    t.start()
threads[2].join()
