# SPDX-License-Identifier: Apache-2.0
"""A load for the bench: 24 Python frames over C ones, spinning."""
import time


def work():
    x = 0
    for i in range(1000):
        x = (x * 3 + i) & 0xFFFF
    return x


def down(n, until):
    if n:
        return down(n - 1, until)
    while time.monotonic() < until:
        work()


while True:
    down(20, time.monotonic() + 0.5)
