# SPDX-License-Identifier: Apache-2.0
"""What a JIT compiler of Python is busy with."""
import json
import re


class Pair:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def add(self, other):
        return Pair(self.x + other.x, self.y + other.y)


def pairs(n):
    p = Pair(0, 0)
    for i in range(n):
        p = p.add(Pair(i, i * 2))
    return p.x


def counts(n):
    d = {}
    for i in range(n):
        d[i % 997] = d.get(i % 997, 0) + len(str(i))
    return sum(d.values())


def squares(n):
    for i in range(n):
        yield i * i


while True:
    pairs(200000)
    counts(100000)
    sum(squares(100000))
    sorted([(i * 7919) % 10007 for i in range(50000)], key=lambda x: -x)
    re.sub("a+", "b", "xaaay" * 2000)
    json.loads(json.dumps({"a": list(range(3000))}))
