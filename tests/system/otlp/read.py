#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests read by the published Python classes hold what the model says: read.py WRITE."""

import glob
import os
import subprocess
import sys
import tempfile

import peers

peers.enter_venv()

from opentelemetry.proto.collector.profiles.v1development import (  # noqa: E402
    profiles_service_pb2)

RESOURCE = [("process.pid", "pid"), ("process.executable.name", "name"),
            ("process.executable.path", "path"), ("container.id", "container"),
            ("service.name", "service"), ("process.command_args", "args")]


def value(v):
    kind = v.WhichOneof("value")
    if kind == "array_value":
        return ",".join(value(x) for x in v.array_value.values)
    assert kind in ("string_value", "int_value"), kind
    return str(getattr(v, kind))


class Request:
    """The texts of tests/unit/profile/otlp/model.c, from decoded messages."""

    def __init__(self, path):
        with open(path, "rb") as f:
            self.message = profiles_service_pb2.ExportProfilesServiceRequest.FromString(
                f.read())
        self.d = self.message.dictionary

    def attributes(self, indices):
        out = []
        for i in indices:
            a = self.d.attribute_table[i]
            out.append(" %s=%s%s" % (self.d.string_table[a.key_strindex], value(a.value),
                                     self.d.string_table[a.unit_strindex]))
        return "".join(sorted(out))

    def function(self, i):
        f = self.d.function_table[i]
        strings = self.d.string_table
        return "%s%s%s+%d" % (
            strings[f.name_strindex],
            "(%s)" % strings[f.system_name_strindex] if f.system_name_strindex else "",
            "@" + strings[f.filename_strindex] if f.filename_strindex else "",
            f.start_line)

    def mapping(self, i):
        m = self.d.mapping_table[i]
        if i == 0:
            return ""
        return "[%#x-%#x+%#x %s%s]" % (m.memory_start, m.memory_limit, m.file_offset,
                                       self.d.string_table[m.filename_strindex],
                                       self.attributes(m.attribute_indices))

    def location(self, i):
        x = self.d.location_table[i]
        address = "%#x" % x.address if x.address else "0"  # as C prints it
        lines = "<".join("%s:%d:%d" % (self.function(y.function_index), y.line, y.column)
                         for y in x.lines)
        return "; %s%s%s%s" % (address, self.mapping(x.mapping_index),
                               " " + lines if lines else "",
                               self.attributes(x.attribute_indices))

    def link(self, i):
        x = self.d.link_table[i]
        if i == 0:
            return ""
        assert len(x.trace_id) == 16 and len(x.span_id) == 8
        return " link=%02x/%02x" % (x.trace_id[0], x.span_id[7])

    def resource(self, r):
        found = {a.key: value(a.value) for a in r.attributes}
        assert found.pop("host.name") == "box"
        texts = ["%s=%s" % (name, found.pop(key)) for key, name in RESOURCE if key in found]
        assert not found, found
        return " ".join(texts)

    def samples(self):
        for rp in self.message.resource_profiles:
            for p in rp.scope_profiles[0].profiles:
                head = "%s; %s" % (self.d.string_table[p.sample_type.type_strindex],
                                   self.resource(rp.resource))
                for s in p.samples:
                    text = head + "".join(
                        self.location(i)
                        for i in self.d.stack_table[s.stack_index].location_indices)
                    text += ";" + self.attributes(s.attribute_indices) + self.link(
                        s.link_index)
                    for k, time in enumerate(s.timestamps_unix_nano):
                        yield "%s at %d%s" % (
                            text, time, " value %d" % s.values[k] if s.values else "")


def main():
    write = sys.argv[1]
    for seed, count, limit in ((1, 500, 0), (2, 3000, 60000)):
        with tempfile.TemporaryDirectory() as directory:
            subprocess.run([write, directory, str(seed), str(count), str(limit)], check=True)
            files = glob.glob(os.path.join(directory, "request-*.bin"))
            with open(os.path.join(directory, "samples.txt"), encoding="utf-8") as f:
                want = sorted(f.read().splitlines())
            got = sorted(text for path in files for text in Request(path).samples())
            assert len(want) == count and (len(files) == 1) == (limit == 0), len(files)
            for a, b in zip(got, want):
                assert a == b, "got  %s\nwant %s" % (a, b)
            assert len(got) == len(want), (len(got), len(want))
            print("%d samples in %d requests" % (count, len(files)))


main()
