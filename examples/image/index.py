#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tie the images of an OCI layout, one for each architecture, together by an index.

    index.py LAYOUT NAME CREATED TAG...

A tool that is asked for NAME takes the image of its own architecture.
"""
import hashlib
import json
import os
import sys

INDEX = "application/vnd.oci.image.index.v1+json"
NAME = "org.opencontainers.image.ref.name"


def blob(layout, digest):
    return os.path.join(layout, "blobs", *digest.split(":"))


def read(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def text(value):
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def main():
    layout, name, created, *tags = sys.argv[1:]
    top = read(os.path.join(layout, "index.json"))
    by_tag = {d["annotations"][NAME]: d for d in top["manifests"]}
    images = []
    for tag in tags:
        manifest = read(blob(layout, by_tag[tag]["digest"]))
        config = read(blob(layout, manifest["config"]["digest"]))
        by_tag[tag]["platform"] = {"os": config["os"], "architecture": config["architecture"]}
        images.append({key: value for key, value in by_tag[tag].items() if key != "annotations"})
    made = text({"schemaVersion": 2, "mediaType": INDEX, "manifests": images, "annotations": {
        "org.opencontainers.image.created": created,
        "org.opencontainers.image.version": name}}).encode()
    digest = "sha256:" + hashlib.sha256(made).hexdigest()
    with open(blob(layout, digest), "wb") as f:
        f.write(made)
    top["manifests"] = [by_tag[tag] for tag in tags] + [
        {"mediaType": INDEX, "digest": digest, "size": len(made), "annotations": {NAME: name}}]
    with open(os.path.join(layout, "index.json"), "w", encoding="utf-8") as f:
        f.write(text(top))


if __name__ == "__main__":
    main()
