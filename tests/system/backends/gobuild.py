# SPDX-License-Identifier: Apache-2.0
"""Builds a program of tests/system/backends/go, whose modules come by go's own ways."""

import hashlib
import os
import re
import shutil
import subprocess
import time

import peers

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD_SECONDS = 1800
# What go says where a module cannot be had, or needs a newer go.
NOT_THERE = re.compile(r"Forbidden|Not Found|no such host|not available|connection refused|"
                       r"dial tcp|i/o timeout|module lookup disabled|x509: certificate|"
                       r"toolchain not available")
# What a go says that is older than the go.mod asks for; one before 1.21 cannot read the number.
TOO_OLD = re.compile(r"requires go >=|invalid go version")


def digest(folder):
    h = hashlib.sha256()
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as f:
            h.update(f.read())
    return h.hexdigest()[:16]


def program(name, modules="go.mod"):
    """(path, what it cost), or (None, why not). @modules: the file with their versions."""
    folder = os.path.join(HERE, "go", name)
    where = os.path.join(peers.cache(), "backends", "%s-%s%s" % (
        name, digest(folder), modules.removesuffix(".mod").removeprefix("go")))
    path = os.path.join(where, name)
    if os.access(path, os.X_OK):
        return path, "built before"
    if os.environ.get("OTELPROF_E2E") != "1" and os.environ.get("CI") != "true":
        return None, "not built (OTELPROF_E2E=1 builds it)"
    go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    if not go:
        return None, "no go"
    os.makedirs(where, exist_ok=True)
    modfile = os.path.join(where, "go.mod")  # go adds to it; the tree's stays as it is
    shutil.copy(os.path.join(folder, modules), modfile)
    begin = time.monotonic()
    done = subprocess.run(["nice", go, "build", "-mod=mod", "-modfile=" + modfile, "-o", path, "."],
                          cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=BUILD_SECONDS, check=False,
                          env=dict(os.environ, CGO_ENABLED="0", GOFLAGS="-buildvcs=false"))
    if done.returncode:
        shutil.rmtree(where)
        if TOO_OLD.search(done.stdout):
            return None, "this go is older than its modules need"
        if NOT_THERE.search(done.stdout):
            return None, "its modules cannot be had here"
        raise RuntimeError("go build: " + done.stdout.strip()[-300:])
    return path, "built in %d s" % (time.monotonic() - begin)
