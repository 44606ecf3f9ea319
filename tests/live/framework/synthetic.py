# SPDX-License-Identifier: Apache-2.0
"""Captures made by hand for the checker's own tests: a minimal encoder."""

import struct


def varint(value):
    value &= 0xFFFFFFFFFFFFFFFF
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value) if value else b""


def data(field, value):
    return varint(field << 3 | 2) + varint(len(value)) + value


def fixed64(field, value):
    return varint(field << 3 | 1) + struct.pack("<Q", value)


def packed(field, values):
    return data(field, b"".join(varint(v) for v in values)) if values else b""


class Table:
    def __init__(self):
        self.entries = [b""]

    def index(self, entry):
        if entry not in self.entries:
            self.entries.append(entry)
        return self.entries.index(entry)


class Builder:
    """add() samples, then request(). A frame is (name, type, address, mapping)."""

    def __init__(self, start=1000, duration=1000000):
        self.start = start
        self.duration = duration
        self.tables = {n: Table() for n in range(1, 8)}
        self.samples = {}  # resource → [sample]

    def string(self, text):
        return self.tables[5].index(text.encode())

    def attribute(self, key, text):
        return self.tables[6].index(number(1, self.string(key)) +
                                    data(2, data(1, text.encode())))

    def mapping(self, name):
        if not name:
            return 0
        build_id = self.attribute("process.executable.build_id.htlhash", "00" + name)
        return self.tables[1].index(number(2, 1 << 40) + number(4, self.string(name)) +
                                    packed(5, [build_id]))

    def location(self, name, kind="native", address=16, mapping="prog"):
        function = self.tables[3].index(number(1, self.string(name)))
        kind = self.attribute("profile.frame.type", kind)
        return self.tables[2].index(
            number(1, self.mapping(mapping)) + number(2, address) +
            data(3, number(1, function)) + packed(4, [kind]))

    def add(self, frames, count=1, pid=1, exe="prog", times=None):
        locations = [self.location(*(f if isinstance(f, tuple) else (f,))) for f in frames]
        stack = self.tables[7].index(packed(1, locations))
        times = times or [self.start + i for i in range(count)]
        sample = number(1, stack) + data(5, b"".join(struct.pack("<Q", t) for t in times))
        self.samples.setdefault((pid, exe), []).append(sample)

    def request(self):
        out = b""
        sample_type = number(1, self.string("samples")) + number(2, self.string("count"))
        for (pid, exe), samples in self.samples.items():
            attributes = (
                data(1, data(1, b"process.pid") + data(2, number(3, pid))) +
                data(1, data(1, b"process.executable.name") + data(2, data(1, exe.encode()))))
            profile = (data(1, sample_type) + b"".join(data(2, s) for s in samples) +
                       fixed64(3, self.start) + number(4, self.duration))
            out += data(1, data(1, attributes) + data(2, data(2, profile)))
        tables = b"".join(data(n, e) for n, t in self.tables.items() for e in t.entries)
        return out + data(2, tables)
