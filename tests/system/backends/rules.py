#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What backends refuse, as their sources state it: rules.py WRITE, or rules.py FILE.bin...

With the path of tests/system/otlp/write.c's program its requests must pass, and a copy spoilt for a
rule must not. docs/backends has a page for each backend.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "otlp"))
import peers

peers.enter_venv()

from opentelemetry.proto.collector.profiles.v1development import (  # noqa: E402
    profiles_service_pb2)

DEVFILER_TYPES = {"native", "kernel", "jvm", "perl", "cpython", "php", "phpjit", "ruby",
                  "dotnet", "v8js", "beam", "go", "abort-marker"}


class Refused(Exception):
    pass


def need(condition, text):
    if not condition:
        raise Refused(text)


def profiles(request):
    for rp in request.resource_profiles:
        for sp in rp.scope_profiles:
            for p in sp.profiles:
                yield p


def types(d, p):
    return tuple(d.string_table[i] for i in (
        p.sample_type.type_strindex, p.sample_type.unit_strindex,
        p.period_type.type_strindex, p.period_type.unit_strindex))


def attributes(d, indices):
    return {d.string_table[d.attribute_table[i].key_strindex]: d.attribute_table[i].value
            for i in indices}


def pyroscope(request):
    d = request.dictionary
    need(all((d.mapping_table, d.location_table, d.function_table, d.link_table,
              d.string_table, d.attribute_table, d.stack_table)), "an empty table")
    need(d.string_table[0] == "", "string 0")
    for rp in request.resource_profiles:
        # 30 with __delta__, __name__, __otel__ and service_name
        need(len(rp.resource.attributes) <= 26, "more than 30 labels")
        for a in rp.resource.attributes:
            need(len(a.key) <= 1024 and len(a.value.string_value) <= 2048, "a long label")
    for p in profiles(request):
        kind = types(d, p)
        off_cpu = kind == ("off_cpu", "nanoseconds", "", "")
        need(kind[0] and "-" not in kind[0], "sample type")
        need(off_cpu or (kind[2] and p.period > 0), "no period")
        need(len(p.samples) <= 16000, "more than 16000 samples")
        for s in p.samples:
            need(len(s.values) or len(s.timestamps_unix_nano), "no value")
            need(off_cpu or len(s.values) == 1 or not s.values, "sample values length mismatch")


def elastic(request):
    d = request.dictionary
    for p in profiles(request):
        if types(d, p) == ("off_cpu", "nanoseconds", "", ""):
            continue  # refused there; pipelines filter these out
        need(types(d, p) == ("samples", "count", "cpu", "nanoseconds"), "sample type")
        need(all(s.timestamps_unix_nano for s in p.samples), "no timestamps: no events")
    for x in d.location_table[1:]:
        need("profile.frame.type" in attributes(d, x.attribute_indices), "no frame type")


def devfiler(request):
    d = request.dictionary
    for x in d.location_table[1:]:
        found = attributes(d, x.attribute_indices).get("profile.frame.type")
        need(found and found.string_value in DEVFILER_TYPES, "frame type %s" % found)
    for x in d.mapping_table[1:]:
        found = attributes(d, x.attribute_indices)
        value = found.get("process.executable.build_id.htlhash")
        need(not found or value and re.fullmatch("[0-9a-fA-F]{32}", value.string_value),
             "build_id.htlhash of mapping %s" % d.string_table[x.filename_strindex])


def parca_dictionary(d):
    for field, table in d.ListFields():
        zero = type(table[0])()
        need(table[0] == zero, "entry 0 of %s" % field.name)
    need(len(d.ListFields()) == 7, "an empty table")
    for a in d.attribute_table[1:]:
        need(a.value.WhichOneof("value"), "an attribute without a value")


def parca(request):
    parca_dictionary(request.dictionary)
    for rp in request.resource_profiles:
        need(rp.HasField("resource"), "no resource")
        keys = [a.key for a in rp.resource.attributes]
        need(all(keys) and len(set(keys)) == len(keys), "keys of a resource")
        need(all(a.value.WhichOneof("value") for a in rp.resource.attributes), "no value")
        need(all(sp.HasField("scope") for sp in rp.scope_profiles), "no scope")
    for p in profiles(request):
        need(p.HasField("sample_type") and p.HasField("period_type"), "no type")
        need(p.period >= 0 and p.samples, "period or samples")
        need(len(p.profile_id) in (0, 16) and (not p.profile_id or any(p.profile_id)), "id")
        end = p.time_unix_nano + p.duration_nano
        for s in p.samples:
            need(s.values or s.timestamps_unix_nano, "no value")
            need(not s.values or not s.timestamps_unix_nano
                 or len(s.values) == len(s.timestamps_unix_nano), "values per timestamp")
            need(all(p.time_unix_nano <= t <= end for t in s.timestamps_unix_nano),
                 "a timestamp outside of its profile")


BACKENDS = [pyroscope, elastic, devfiler, parca]


def spoil_period(r):
    for p in profiles(r):
        p.period = 0


def spoil_times(r):
    for p in profiles(r):
        for s in p.samples:
            s.timestamps_unix_nano.append(1)
            s.values.extend([1, 1] if not s.values else [])


def spoil_no_times(r):
    for p in profiles(r):
        for s in p.samples:
            del s.timestamps_unix_nano[:]


def spoil_frame_type(r):
    for a in r.dictionary.attribute_table:
        if a.value.string_value == "native":
            a.value.string_value = "cuda"


def spoil_hash(r):
    for i, s in enumerate(r.dictionary.string_table):
        if s.endswith("htlhash"):
            r.dictionary.string_table[i] = "other"


def spoil_zero(r):
    del r.dictionary.mapping_table[:]


def spoil_period_type(r):
    for p in profiles(r):
        p.ClearField("period_type")


def spoil_window(r):
    for p in profiles(r):
        p.duration_nano = 1


def spoil_resource(r):
    for rp in r.resource_profiles:
        for a in rp.resource.attributes:
            a.key_strindex, a.key = 1, ""  # as a reference


def spoil_labels(r):
    for rp in r.resource_profiles:
        for i in range(30):
            rp.resource.attributes.add(key="label%d" % i).value.string_value = "x"


SPOILT = [(pyroscope, spoil_period), (pyroscope, spoil_zero), (pyroscope, spoil_labels),
          (elastic, spoil_no_times), (devfiler, spoil_frame_type), (devfiler, spoil_hash),
          (parca, spoil_times), (parca, spoil_zero), (parca, spoil_period_type),
          (parca, spoil_window), (parca, spoil_resource)]


def read(path):
    with open(path, "rb") as f:
        return profiles_service_pb2.ExportProfilesServiceRequest.FromString(f.read())


def refusals(request):
    out = []
    for backend in BACKENDS:
        try:
            backend(request)
        except Refused as e:
            out.append("%s: %s" % (backend.__name__, e))
    return out


def check_writer(write):
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([write, directory, "6", "1000", "0"], check=True)
        (path,) = glob.glob(os.path.join(directory, "request-*.bin"))
        assert not refusals(read(path)), refusals(read(path))
        for backend, spoil in SPOILT:
            request = read(path)
            spoil(request)
            try:
                backend(request)
            except Refused:
                continue
            raise AssertionError("%s took %s" % (backend.__name__, spoil.__name__))
    print("%d backends, %d spoilt requests refused" % (len(BACKENDS), len(SPOILT)))


def main():
    if not sys.argv[1].endswith(".bin"):
        check_writer(sys.argv[1])
        return
    bad = ["%s: %s" % (path, text) for path in sys.argv[1:] for text in refusals(read(path))]
    print("\n".join(bad) or "accepted")
    sys.exit(bool(bad))


main()
