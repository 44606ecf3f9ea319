# SPDX-License-Identifier: Apache-2.0
"""Three functions that share the time 5:3:2 by the loops they make, for so many seconds."""
import sys
import time


def leaf_half():
    total = 0
    for i in range(50000):
        total += i * i
    return total


def leaf_third():
    total = 0
    for i in range(30000):
        total += i * i
    return total


def leaf_fifth():
    total = 0
    for i in range(20000):
        total += i * i
    return total


def main():
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        leaf_half()
        leaf_third()
        leaf_fifth()


main()
