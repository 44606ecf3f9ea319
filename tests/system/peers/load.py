# SPDX-License-Identifier: Apache-2.0
"""Three functions that share the time 5:3:2 by the loops they make, for so many seconds. Rounds have
lengths by chance: a profiler that keeps step with them would see one function more often."""
import random
import sys
import time


def leaf_half(n):
    total = 0
    for i in range(5 * n):
        total += i * i
    return total


def leaf_third(n):
    total = 0
    for i in range(3 * n):
        total += i * i
    return total


def leaf_fifth(n):
    total = 0
    for i in range(2 * n):
        total += i * i
    return total


def first_part(n):
    leaf_half(n)
    leaf_third(n)


def second_part(n):
    leaf_fifth(n)


def main():
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        n = random.randrange(20000)
        first_part(n)
        second_part(n)


main()
