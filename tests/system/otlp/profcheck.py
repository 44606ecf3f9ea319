#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The profiling SIG's checker accepts every request: profcheck.py WRITE."""

import glob
import os
import subprocess
import sys
import tempfile

import peers


def check(tool, path):
    done = subprocess.run([tool, "-check-dupes", "-check-orphans", path],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    return done.returncode == 0, done.stdout


def main():
    write = sys.argv[1]
    tool = peers.profcheck()
    for seed, count, limit in ((3, 1, 0), (4, 2000, 0), (5, 3000, 60000)):
        with tempfile.TemporaryDirectory() as directory:
            subprocess.run([write, directory, str(seed), str(count), str(limit)], check=True)
            files = glob.glob(os.path.join(directory, "request-*.bin"))
            assert files
            for path in files:
                accepted, said = check(tool, path)
                assert accepted, "%s: %s" % (os.path.basename(path), said)
            # The checker does refuse: a second dictionary adds one more zero string.
            with open(files[0], "ab") as f:
                f.write(b"\x12\x02\x2a\x00")
            accepted, said = check(tool, files[0])
            assert not accepted, "a doubled string was accepted: " + said
            print("%d requests of %d samples accepted" % (len(files), count))


main()
