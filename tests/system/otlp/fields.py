#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every field of proto/otlp is the published one: fields.py PROTOC PROTO_DIR.

Compared with the descriptors of the packages opentelemetry-proto and
googleapis-common-protos: names, numbers, types, and that none is missing.
"""

import importlib
import os
import subprocess
import sys
import tempfile

import peers

peers.enter_venv()

from google.protobuf import descriptor_pb2  # noqa: E402

PUBLISHED = {
    "common.proto": ["opentelemetry.proto.common.v1.common_pb2"],
    "resource.proto": ["opentelemetry.proto.resource.v1.resource_pb2"],
    "profiles.proto": ["opentelemetry.proto.profiles.v1development.profiles_pb2"],
    "profiles_service.proto": [
        "opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2"],
    "status.proto": ["google.rpc.status_pb2", "google.rpc.error_details_pb2",
                     "google.protobuf.any_pb2", "google.protobuf.duration_pb2"],
}
# Messages of a published file that are of no use here.
PARTLY = {"status.proto"}


def fields(message):
    """{number: (name, type, label, short name of the type, in a oneof)}"""
    return {f.number: (f.name, f.type, f.label, f.type_name.split(".")[-1],
                       f.HasField("oneof_index")) for f in message.field}


def published(file):
    messages = {}
    for name in PUBLISHED[file]:
        proto = descriptor_pb2.FileDescriptorProto()
        importlib.import_module(name).DESCRIPTOR.CopyToProto(proto)
        messages.update({m.name: m for m in proto.message_type})
    return messages


def ours(protoc, directory):
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run([protoc, "-I" + directory, "--descriptor_set_out=" + out.name]
                       + sorted(PUBLISHED), check=True)
        return descriptor_pb2.FileDescriptorSet.FromString(out.read())


def main():
    protoc, directory = sys.argv[1:]
    listed = {f for f in os.listdir(directory) if f.endswith(".proto")}
    assert listed == set(PUBLISHED), "files: %s" % (listed ^ set(PUBLISHED))
    bad = 0
    count = 0
    for file in ours(protoc, directory).file:
        known = published(file.name)
        mine = {m.name: m for m in file.message_type}
        if file.name not in PARTLY and set(known) != set(mine):
            print("%s: messages %s" % (file.name, set(known) ^ set(mine)))
            bad += 1
        for name, message in mine.items():
            count += len(message.field)
            if fields(message) != fields(known[name]):
                print("%s %s:\n  ours      %s\n  published %s" % (
                    file.name, name, fields(message), fields(known[name])))
                bad += 1
    print("%d fields compared" % count)
    assert count > 80
    sys.exit(bad != 0)


main()
