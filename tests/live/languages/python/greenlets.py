# SPDX-License-Identifier: Apache-2.0
"""
Greenlets whose stacks are known: three that switch to the main one, which resumes them from other
depths, and one that gevent spawns. For CPython with gevent. "greenlets.py SECONDS".
"""
import sys
import time

import gevent
from greenlet import getcurrent, greenlet

TURN = 0.002  # seconds of CPU time
MAIN = getcurrent()


def spin():
    end = time.thread_time() + TURN
    while time.thread_time() < end:
        pass


def hand():
    MAIN.switch()


def leaf_a():
    spin()
    hand()


def middle_a():
    leaf_a()


def root_a():
    while True:
        middle_a()


def leaf_b(depth):
    if depth:
        leaf_b(depth - 1)
    else:
        spin()
        hand()


def root_b():
    while True:
        leaf_b(7)


# C is between these two
def leaf_c(number):
    spin()
    hand()
    return number


def root_c():
    while True:
        sorted((2, 1), key=leaf_c)


def leaf_d():
    spin()
    gevent.sleep(0)
    spin()


def root_d():
    leaf_d()


def resume(these, depth):
    if depth:
        resume(these, depth - 1)
        return
    spin()
    for one in these:
        one.switch()


def main(seconds):
    end = time.monotonic() + seconds
    these = [greenlet(root) for root in (root_a, root_b, root_c)]
    turn = 0
    while time.monotonic() < end:
        turn += 1
        resume(these, turn % 5)
        gevent.joinall([gevent.spawn(root_d)])


if __name__ == "__main__":
    main(float(sys.argv[1]))
