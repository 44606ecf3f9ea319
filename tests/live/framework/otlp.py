# SPDX-License-Identifier: Apache-2.0
"""A reader of OTLP profiles for tests. It uses only Python's standard library, and is written from
the published field numbers (opentelemetry-proto 1.10), so that it shares nothing with the encoder
that it checks.

    capture = otlp.read_framed(data)    requests, each after its length (4 bytes, big endian)
    for sample in capture.samples: ...
    capture.violations                  what breaks the format's rules, in words
"""

import struct
from dataclasses import dataclass, field

MAX_REQUEST = 4 << 20  # the Collector's default limit


class Malformed(Exception):
    pass


@dataclass
class Frame:
    name: str = ""
    system_name: str = ""
    file: str = ""
    line: int = 0
    column: int = 0
    type: str = ""  # profile.frame.type
    guessed: bool = False  # otelprof.frame.guessed: found without unwind data
    approximate: bool = False  # otelprof.frame.approximate: the runtime has no record for its line
    address: int = 0
    mapping: str = ""  # its file name
    mapping_attributes: dict = field(default_factory=dict)


@dataclass
class Sample:
    resource: dict
    attributes: dict
    frames: list  # leaf first
    count: int  # number of timestamps, or the value if there are none
    values: list
    timestamps: list
    sample_type: tuple  # (type, unit)
    period: int
    window: int = 0  # start of its profile
    link: tuple = None  # (trace id, span id) in hex
    period_type: tuple = ("", "")
    lost: int = 0  # lost samples of the kind, in the whole window
    duration: int = 0  # of the window

    @property
    def pid(self):
        return self.resource.get("process.pid")

    @property
    def exe(self):
        return self.resource.get("process.executable.name", "")


@dataclass
class Capture:
    samples: list = field(default_factory=list)
    violations: list = field(default_factory=list)
    requests: int = 0
    bytes: int = 0


def varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data):
            raise Malformed("a varint past the end")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
        if shift > 63:
            raise Malformed("a varint of more than 10 bytes")


def fields(data):
    """Yield (number, wire type, value) of each field of a message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        if number == 0:
            raise Malformed("field number 0")
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 1:
            value, at = data[at:at + 8], at + 8
        elif wire == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        elif wire == 5:
            value, at = data[at:at + 4], at + 4
        else:
            raise Malformed("wire type %d" % wire)
        if at > len(data):
            raise Malformed("field %d runs past its message" % number)
        yield number, wire, value


def message(data):
    """A message as {number: [values]}, wire types checked by the getters below."""
    out = {}
    for number, wire, value in fields(data):
        out.setdefault(number, []).append((wire, value))
    return out


def last(msg, number, wire, default):
    values = msg.get(number)
    if not values:
        return default
    if values[-1][0] != wire:
        raise Malformed("field %d has wire type %d, not %d" % (number, values[-1][0], wire))
    return values[-1][1]


def number_of(msg, number):
    return last(msg, number, 0, 0)


def int_of(msg, number):
    return signed(number_of(msg, number))


def text_of(msg, number):
    return last(msg, number, 2, b"").decode("utf-8", "strict")


def fixed64_of(msg, number):
    return struct.unpack("<Q", last(msg, number, 1, b"\0" * 8))[0]


def messages_of(msg, number):
    for wire, value in msg.get(number, []):
        if wire != 2:
            raise Malformed("field %d is no message" % number)
        yield value


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


def packed(msg, number):
    """Repeated varints, packed or not."""
    out = []
    for wire, value in msg.get(number, []):
        if wire == 0:
            out.append(signed(value))
            continue
        at = 0
        while at < len(value):
            one, at = varint(value, at)
            out.append(signed(one))
    return out


def packed64(msg, number):
    """Repeated fixed64, packed or not."""
    data = b"".join(value for _, value in msg.get(number, []))
    if len(data) % 8:
        raise Malformed("field %d is no array of 8-byte numbers" % number)
    return list(struct.unpack("<%dQ" % (len(data) // 8), data))


def is_zero(name, entry):
    """Is the entry zero? A zero message may have explicit zeros. A zero string is empty."""
    return entry == b"" or name != "string" and all(not value for _, _, value in fields(entry))


class Request:
    """One ExportProfilesServiceRequest (or ProfilesData: the same bytes)."""

    TABLES = {1: "mapping", 2: "location", 3: "function", 4: "link", 5: "string",
              6: "attribute", 7: "stack"}

    def __init__(self, data, capture):
        self.capture = capture
        self.complaints = set()
        top = message(data)
        dictionary = message(last(top, 2, 2, b""))
        self.tables = {name: list(messages_of(dictionary, number))
                       for number, name in self.TABLES.items()}
        self.strings = [s.decode("utf-8", "strict") for s in self.tables["string"]]
        self.check_tables(len(data))
        self.attribute_cache = {}
        self.location_cache = {}
        self.stack_cache = {}
        for resource_profiles in messages_of(top, 1):
            self.read_resource(message(resource_profiles))

    def complain(self, text):
        if text not in self.complaints:
            self.complaints.add(text)
            self.capture.violations.append(text)

    def check_tables(self, size):
        if size >= MAX_REQUEST:
            self.complain("a request of %d bytes" % size)
        for name, table in self.tables.items():
            if not table or not is_zero(name, table[0]):
                self.complain("%s_table[0] is not the zero value" % name)
            if len(set(table)) != len(table):
                self.complain("%s_table has duplicates" % name)
        self.used = {name: {0} for name in self.tables}

    def entry(self, name, index):
        table = self.tables[name]
        if not 0 <= index < len(table):
            self.complain("an index into %s_table is out of range" % name)
            return b""
        self.used[name].add(index)
        return table[index]

    def string(self, index):
        self.entry("string", index)
        return self.strings[index] if 0 <= index < len(self.strings) else ""

    def any_value(self, data):
        msg = message(data)
        if 1 in msg:
            return text_of(msg, 1)
        if 2 in msg:
            return bool(number_of(msg, 2))
        if 3 in msg:
            return int_of(msg, 3)
        if 4 in msg:
            return struct.unpack("<d", last(msg, 4, 1, b"\0" * 8))[0]
        if 5 in msg:
            return [self.any_value(v) for v in messages_of(message(last(msg, 5, 2, b"")), 1)]
        if 7 in msg:
            return last(msg, 7, 2, b"")
        if 8 in msg:
            return self.string(int_of(msg, 8))
        return None

    def key_values(self, values):
        """common.KeyValue: key inline, or by string index (as a Collector re-writes it)."""
        out = {}
        for data in values:
            msg = message(data)
            key = text_of(msg, 1) if 1 in msg else self.string(int_of(msg, 3))
            if key in out:
                self.complain("the attribute %s twice" % key)
            if not key:
                self.complain("an attribute with no key")
            out[key] = self.any_value(last(msg, 2, 2, b""))
        return out

    def attributes(self, indices):
        out = {}
        for index in indices:
            if index not in self.attribute_cache:
                msg = message(self.entry("attribute", index))
                self.attribute_cache[index] = (self.string(int_of(msg, 1)),
                                               self.any_value(last(msg, 2, 2, b"")))
            key, value = self.attribute_cache[index]
            if not key:
                self.complain("an attribute reference to the zero entry")
            out[key] = value
        return out

    def mapping(self, index):
        if index == 0:
            return "", {}, 0, 0
        msg = message(self.entry("mapping", index))
        attributes = self.attributes(packed(msg, 5))
        if not any(k.startswith("process.executable.build_id.") for k in attributes):
            self.complain("a mapping (%s) with no build id" % self.string(int_of(msg, 4)))
        return self.string(int_of(msg, 4)), attributes, number_of(msg, 1), number_of(msg, 2)

    def location(self, index):
        if index not in self.location_cache:
            self.location_cache[index] = self.read_location(index)
        return self.location_cache[index]

    def read_location(self, index):
        """The frames of a location, innermost first."""
        msg = message(self.entry("location", index))
        if index == 0:
            self.complain("a stack refers to location 0")
        mapping, mapping_attributes, start, limit = self.mapping(int_of(msg, 1))
        attributes = self.attributes(packed(msg, 4))
        address = number_of(msg, 2)
        if "profile.frame.type" not in attributes:
            self.complain("a location with no profile.frame.type")
        if mapping and limit and not start <= address < limit:
            self.complain("an address outside its mapping (%s)" % mapping)
        frames = []
        for line_data in messages_of(msg, 3):
            line = message(line_data)
            function = message(self.entry("function", int_of(line, 1)))
            names = [self.string(int_of(function, n)) for n in (1, 2, 3)]
            if not any(names):
                self.complain("a function with no name")
            frames.append(Frame(names[0] or names[1], names[1], names[2], int_of(line, 2),
                                int_of(line, 3)))
        for frame in frames or [Frame()]:
            frame.type = attributes.get("profile.frame.type", "")
            frame.guessed = "otelprof.frame.guessed" in attributes
            frame.approximate = "otelprof.frame.approximate" in attributes
            frame.address = address
            frame.mapping = mapping
            frame.mapping_attributes = mapping_attributes
            if not frames:
                frames = [frame]
        return frames

    def stack(self, index):
        if index not in self.stack_cache:
            frames = []
            for location in packed(message(self.entry("stack", index)), 1):
                frames += self.location(location)
            self.stack_cache[index] = frames
        return self.stack_cache[index]

    def value_type(self, data):
        msg = message(data)
        return self.string(int_of(msg, 1)), self.string(int_of(msg, 2))

    def read_resource(self, msg):
        resource = self.key_values(messages_of(message(last(msg, 1, 2, b"")), 1))
        for scope_profiles in messages_of(msg, 2):
            for profile in messages_of(message(scope_profiles), 2):
                self.read_profile(message(profile), resource)

    def read_profile(self, msg, resource):
        sample_type = self.value_type(last(msg, 1, 2, b""))
        period_type = self.value_type(last(msg, 5, 2, b""))
        start = fixed64_of(msg, 3)
        end = start + number_of(msg, 4)
        period = int_of(msg, 6)
        if not sample_type[0]:
            self.complain("a profile with no sample type")
        lost = self.attributes(packed(msg, 11)).get("otelprof.window.samples_lost", 0)
        count = 0
        for data in messages_of(msg, 2):
            sample = message(data)
            values = packed(sample, 4)
            timestamps = packed64(sample, 5)
            if not values and not timestamps:
                self.complain("a sample with neither values nor timestamps")
            if values and timestamps and len(values) != len(timestamps):
                self.complain("values and timestamps of different lengths")
            if any(not start <= t < end for t in timestamps):
                self.complain("a timestamp outside the window")
            link = int_of(sample, 3)
            if link:
                entry = message(self.entry("link", link) or b"")
                link = (last(entry, 1, 2, b"").hex(), last(entry, 2, 2, b"").hex())
            self.capture.samples.append(Sample(
                resource, self.attributes(packed(sample, 2)), self.stack(int_of(sample, 1)),
                len(timestamps) if timestamps else sum(values), values, timestamps,
                sample_type, period, start, link or None, period_type, lost,
                end - start))
            count += 1
        if count == 0:
            self.complain("a profile with no samples")


def check_orphans(request):
    """Report table entries that nothing refers to. Call it after everything was read."""
    for name, used in request.used.items():
        if len(used) < len(request.tables[name]):
            request.complain("%s_table has entries that nothing uses" % name)


def read_request(data, capture=None):
    capture = capture or Capture()
    capture.requests += 1
    capture.bytes += len(data)
    check_orphans(Request(data, capture))
    return capture


def read_framed(data):
    capture = Capture()
    at = 0
    while at < len(data):
        if at + 4 > len(data):
            raise Malformed("a cut length")
        length = struct.unpack(">I", data[at:at + 4])[0]
        at += 4
        if at + length > len(data):
            raise Malformed("a cut request")
        read_request(data[at:at + length], capture)
        at += length
    return capture


def read_file(path):
    with open(path, "rb") as f:
        return read_framed(f.read())
