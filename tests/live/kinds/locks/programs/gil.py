# SPDX-License-Identifier: Apache-2.0
"""A thread holds the interpreter's lock for a while, again and again, in a C function that does
not give it up, and another thread waits for it. Writes by that one's clocks how long it waited,
in ns: the least is without its CPU time, and without the time that it waited for a CPU."""
import ctypes
import threading
import time

TIMES = 300
HOLD_US = 5000
LONG_NS = 1000000  # a wait: shorter ones met the lock free

usleep = ctypes.PyDLL(None).usleep
ended = threading.Event()


def hold():
    for _ in range(TIMES):
        usleep(HOLD_US)
        time.sleep(0.0005)
    ended.set()


def waits_for_interpreter():
    time.sleep(0)


def not_waited(schedstat):
    """Time on a CPU and time of waiting for one (proc(5)), of this thread."""
    schedstat.seek(0)
    ran, queued, _ = schedstat.read().split()
    return int(ran) + int(queued)


def main():
    least = most = 0
    holder = threading.Thread(target=hold)
    schedstat = open("/proc/thread-self/schedstat", encoding="ascii")  # pylint: disable=R1732
    holder.start()
    while not ended.is_set():
        other = not_waited(schedstat)
        begin = time.perf_counter_ns()
        waits_for_interpreter()
        wall = time.perf_counter_ns() - begin
        if wall >= LONG_NS:
            most += wall
            least += wall - (not_waited(schedstat) - other)
    holder.join()
    print("waits_for_interpreter", least, most)


main()
