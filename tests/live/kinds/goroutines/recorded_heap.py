#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Record what the reader of memory profiles needs of a live Go program with symbols, as an input
of tests/fuzz/runtime/fuzz_go_heap.c: recorded_heap.py PID FILE."""
import struct
import sys

from recorded import symbols

BUCKETS = 120
HEAD = 48
RECORD = 128


def main():
    pid, out = int(sys.argv[1]), sys.argv[2]
    known = symbols("/proc/%d/exe" % pid)
    places = [known["runtime." + name] for name in ("mbuckets", "MemProfileRate", "mProfCycle")]
    pieces = []
    with open("/proc/%d/mem" % pid, "rb", buffering=0) as memory:
        def read(at, length):
            memory.seek(at)
            return memory.read(length)

        for at in places:
            pieces.append((at, read(at, 8)))
        at, = struct.unpack("<Q", pieces[0][1])
        for i in range(BUCKETS):
            head = read(at, HEAD)
            _, following, _, _, _, depth = struct.unpack("<6Q", head)
            rest = read(at + HEAD, 8 * depth + RECORD)
            if i == BUCKETS - 1:  # the list ends here
                head, following = head[:8] + bytes(8) + head[16:], 0
            pieces.append((at, head + rest))
            if not following:
                break
            at = following
    with open(out, "wb") as f:
        f.write(struct.pack("<QQQ", *places))
        for at, data in pieces:
            f.write(struct.pack("<QI", at, len(data)) + data)


if __name__ == "__main__":
    main()
