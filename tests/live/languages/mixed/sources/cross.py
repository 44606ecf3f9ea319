# SPDX-License-Identifier: Apache-2.0
"""Python that calls C that calls Python."""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(sys.argv[1]))
import cross  # noqa: E402


def inner():
    x = 0
    for i in range(5000):
        x += i
    return x


def outer():
    cross.call_back(inner)


outer()
print("ready", flush=True)
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    outer()
