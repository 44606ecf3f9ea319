#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What backends refuse, as they state it: backends.py WRITE, or backends.py FILE.bin...

The rules are written down from the backends' sources (docs/otlp.md names them). With the
writer's path, its requests must pass and a spoilt copy for each rule must not.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

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
        need(len(rp.resource.attributes) <= 30, "more than 30 labels")
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


def parca(request):
    for p in profiles(request):
        for s in p.samples:
            need(not s.values or not s.timestamps_unix_nano
                 or len(s.values) == len(s.timestamps_unix_nano), "values per timestamp")


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


SPOILT = [(pyroscope, spoil_period), (pyroscope, spoil_zero), (elastic, spoil_no_times),
          (devfiler, spoil_frame_type), (devfiler, spoil_hash), (parca, spoil_times)]


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
