# SPDX-License-Identifier: Apache-2.0
"""Checks that clang-format-14 (Debian 12's) would change nothing. Other versions would.

    format.py ROOT [--fix]    --fix changes the files that git calls unmodified
"""
import shutil
import subprocess
import sys

from source import SKIP, tracked

PATTERNS = ["%s/*.%s" % (folder, end) for end in "ch"
            for folder in ("lib", "bpf", "include", "examples", "proto/otlp", "tests")]
TOOL = "clang-format-14"


BATCH = 100  # files in one run, because most of the time for one file is the tool's start


def differ(root, *names):
    return subprocess.run([TOOL, "--dry-run", "--Werror", *names], cwd=root,
                          stderr=subprocess.DEVNULL).returncode != 0


def wrong_of(root, files):
    for at in range(0, len(files), BATCH):
        batch = files[at:at + BATCH]
        if differ(root, *batch):
            yield from (name for name in batch if differ(root, name))


def modified(root):
    out = subprocess.run(["git", "-C", root, "status", "--porcelain", "-z"], check=True,
                         capture_output=True, text=True).stdout
    return {entry[3:] for entry in out.split("\0")}


def main(root, *options):
    if not shutil.which(TOOL):
        print("SKIP: %s is not installed" % TOOL)
        return SKIP
    files = tracked(root, *PATTERNS)
    wrong = list(wrong_of(root, files))
    if "--fix" in options:
        busy = modified(root)
        for name in [name for name in wrong if name not in busy]:
            subprocess.run([TOOL, "-i", name], cwd=root, check=True)
            print("formatted:", name)
        wrong = [name for name in wrong if name in busy]
    for name in wrong:
        print("%s: %s -i would change it" % (name, TOOL))
    if not files:
        print("no files found")
    print("%d files, %d differ" % (len(files), len(wrong)))
    return bool(wrong or not files)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
