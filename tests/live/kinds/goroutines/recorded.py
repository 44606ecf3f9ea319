#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Record what the reader of goroutines needs of a live Go program with symbols, as an input of
tests/fuzz/runtime/fuzz_goroutine.c: recorded.py PID MINOR FILE."""
import struct
import subprocess
import sys

GOROUTINES = 24
G_BYTES = 384
STACK_BYTES = 512
AROUND = 1024  # bytes of variables around those that are searched
REASONS = 64


def symbols(path):
    out = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
    return {line.split()[2]: int(line.split()[0], 16)
            for line in out.splitlines() if len(line.split()) == 3}


def main():
    pid, minor, out = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    known = symbols("/proc/%d/exe" % pid)
    pieces = []
    with open("/proc/%d/mem" % pid, "rb", buffering=0) as memory:
        def read(at, length, keep=True):
            memory.seek(at)
            data = memory.read(length)
            if keep:
                pieces.append((at, data))
            return data

        allgs = known["runtime.allgs"]
        reasons = known["runtime.waitReasonStrings"]
        read(allgs - AROUND, 2 * AROUND)
        for at, length in struct.iter_unpack("<QQ", read(reasons, 16 * REASONS)):
            if 0 < length < 48:
                read(at, length)
        array, length, _ = struct.unpack("<QQQ", read(allgs, 24, False))
        for g, in struct.iter_unpack("<Q", read(array, 8 * min(length, GOROUTINES))):
            lo, hi = struct.unpack("<QQ", read(g, G_BYTES)[:16])
            sp, = struct.unpack("<Q", read(g + 56, 8, False))
            if lo <= sp < hi:
                at = max(lo, sp - 256)
                read(at, min(hi - at, STACK_BYTES))
    with open(out, "wb") as f:
        f.write(struct.pack("<IQQ", minor, allgs - AROUND, allgs + AROUND))
        for at, data in pieces:
            f.write(struct.pack("<QI", at, len(data)) + data)


if __name__ == "__main__":
    main()
