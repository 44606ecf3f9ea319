#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that change while processes that run them are profiled.

    changing.py --otelprof PROGRAM --dir DIR [CELL...]

A library that is replaced, as packages do it, is two libraries: whoever had mapped the old
one keeps its names and its frames. Where one takes the place of another in a living process, its
frames are those of the one that is there. One that is overwritten or cut in place takes its
processes down; the profiler goes on and accounts for every sample.
"""

import os
import random
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "framework"))
import check  # noqa: E402
import otlp  # noqa: E402
import robust  # noqa: E402
import suite  # noqa: E402

SECONDS = 5
FIRST = re.compile(r"spin\nfirst_inner\nfirst_work\nplugin_work\nmain\n")
SECOND = re.compile(r"spin\nsecond_inner\nsecond_mid\nsecond_work\nplugin_work\nmain\n")
# its own work, or the dynamic linker's
SWAPPED = re.compile(r"(?!work\n|inner\n|plugin\n)|(?:work\n)?(?:inner\n)?plugin\nmain\n")


def make(folder):
    """The two libraries and the program that runs libplugin.so beside it."""
    suite.fresh_folder(folder)
    source = os.path.join(HERE, "programs", "plugin%s.c")
    library = ["gcc", "-O2", "-fomit-frame-pointer", "-shared", "-fPIC",
               "-Wl,-soname,libplugin.so", source % ""]
    for command in (library + ["-DFIRST", "-o", folder + "/first.so"],
                    library + ["-o", folder + "/second.so"],
                    ["gcc", "-O2", source % "_host", folder + "/first.so", "-o",
                     folder + "/host", "-Wl,-rpath," + folder]):
        subprocess.run(command, check=True, capture_output=True, text=True)
    place(folder, "first")


def place(folder, name):
    """Replace the library as a package manager does: a new file under the old name."""
    shutil.copy("%s/%s.so" % (folder, name), folder + "/new")
    os.rename(folder + "/new", folder + "/libplugin.so")


def host(folder):
    return subprocess.Popen([folder + "/host"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def profile(robust_run, out):
    return subprocess.Popen([robust_run.args.otelprof, "record", "-v", "-F", "499", "-d",
                             str(SECONDS), "--comm", "host", "-o", out, "--format", "otlp"],
                            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def whole(capture, pid, pattern, result):
    """Nearly all stacks of @pid match @pattern, and so have no name of the other file."""
    total = right = 0
    for sample in check.select(capture, pid):
        names = "".join((frame.name or "?") + "\n" for frame in sample.frames
                        if not check.is_kernel(frame))
        total += sample.count
        right += sample.count if pattern.match(names) else 0
    result.need(total >= 100 and right >= 0.97 * total,
                "%d of %d stacks are %s" % (right, total, "whole" if pattern is SWAPPED else pattern.pattern.split(r"\n")[1]))


def cell_replaced(run, name):
    folder = run.path("plugin-replaced")
    make(folder)
    out = run.path("replaced.otlp")
    processes = [host(folder)]
    profiler = profile(run, out)
    try:
        time.sleep(SECONDS / 2)
        place(folder, "second")
        processes.append(host(folder))
        text = profiler.communicate(timeout=60)[0]
    finally:
        suite.stop(processes)
    result = check.Result()
    result.need(profiler.returncode == 0, "exit %d" % profiler.returncode)
    if profiler.returncode == 0:
        capture = otlp.read_file(out)
        whole(capture, processes[0].pid, FIRST, result)
        whole(capture, processes[1].pid, SECOND, result)
    run.judge(name, result, check.check_accounting(text))


def spoil(folder, how):
    """Change the file that processes have mapped."""
    with open(folder + "/second.so", "rb") as f:
        other = f.read()
    with open(folder + "/libplugin.so", "r+b") as f:
        if how == "cut":
            f.truncate(random.randrange(len(other)))
        else:
            f.write(other[:random.randrange(len(other))])


def cell_spoiled(run, name):
    """The file is overwritten or cut at any moment of a process's life, many times."""
    folder = run.path("plugin-spoiled")
    make(folder)
    out = run.path("spoiled.otlp")
    random.seed(7)
    profiler = profile(run, out)
    rounds = 0
    while profiler.poll() is None and rounds < 200:
        place(folder, "first")
        process = host(folder)
        time.sleep(random.random() * 0.05)
        spoil(folder, ("cut", "overwrite")[rounds % 2])
        time.sleep(0.01)
        suite.stop([process])
        rounds += 1
    text = profiler.communicate(timeout=60)[0]
    result = check.Result()
    result.need(profiler.returncode == 0, "exit %d after %d files: %s" % (
        profiler.returncode, rounds, text.strip().splitlines()[-1:]))
    results = [result, check.check_accounting(text)]
    if profiler.returncode == 0:
        results.append(check.check_rules(otlp.read_file(out)))
    run.judge(name, *results)


def cell_swapped(run, name):
    """One library takes the place of another forty times a second. A stack is wrong, without
    a word, where it is walked by the table of the one before."""
    folder = suite.fresh_folder(run.path("plugin-swapped"))
    sources = os.path.join(HERE, "..", "..", "system", "wild", "sources")
    subprocess.run(["gcc", "-O2", "-o", folder + "/host", sources + "/plugins.c", "-ldl"], check=True)
    for step in range(1, 5):
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-DSTEP=%d" % step, "-o",
                        "%s/plugin%d.so" % (folder, step), sources + "/plugin.c"], check=True)
    out = run.path("swapped.otlp")
    profiler = profile(run, out)
    process = subprocess.Popen([folder + "/host"], cwd=folder)
    try:
        text = profiler.communicate(timeout=60)[0]
    finally:
        suite.stop([process])
    result = check.Result()
    result.need(profiler.returncode == 0, "exit %d" % profiler.returncode)
    if profiler.returncode == 0:
        whole(otlp.read_file(out), process.pid, SWAPPED, result)
    run.judge(name, result, check.check_accounting(text))


CELLS = {"library-replaced": cell_replaced, "library-spoiled": cell_spoiled,
         "library-swapped": cell_swapped}


if __name__ == "__main__":
    sys.exit(robust.Robust(suite.parser("otelprof").parse_args()).cells(CELLS))
