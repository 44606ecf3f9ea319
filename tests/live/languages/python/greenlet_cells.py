# SPDX-License-Identifier: Apache-2.0
"""Cells of greenlets.py: a greenlet's stack is whole up to its own first function."""
import fcntl
import os
import re
import shutil
import subprocess

import check
import suite

MODE = "greenlets"
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "greenlets.py")
PACKAGES = ["greenlet", "gevent"]
# Each greenlet's stack, innermost first; samples may be on the way to its leaf or back.
KNOWN = ["leaf_a middle_a root_a", "leaf_b " * 8 + "root_b", "leaf_c root_c", "leaf_d root_d",
         "resume " * 5 + "main <module>"]
LEAVES = ["spin", "hand"]  # gevent's functions above these are left out
HUB = r"(Hub\.)?run"  # gevent's own greenlet
SHARE_LEAST = 0.05  # of the samples, for each of KNOWN
WHOLE = 0.97  # the rest is taken while greenlets switch
MARKS = ("[unwind error", "[truncated]", "[no unwind table", "[stack lost]")


def failure(*command):
    """Why the command failed, or None."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired) as e:
        return str(e)
    return (done.stderr.splitlines() or ["it says nothing"])[-1] if done.returncode else None


def find_python(command, version):
    """A Python of @command's with PACKAGES; made once, in the cache. Raises suite.Skip."""
    if command[0] in ("chroot", "env"):
        raise suite.Skip("no package is installed for %s" % " ".join(command[:2]))
    cache = os.environ.get("OTELPROF_CACHE", os.path.expanduser("~/.cache/otelprof-tests"))
    folder = os.path.join(cache, "venv-greenlets-" + version)
    path = os.path.join(folder, "bin", "python")
    os.makedirs(cache, exist_ok=True)
    with open(folder + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if failure(path, "-c", "import gevent"):
            shutil.rmtree(folder, ignore_errors=True)
            failed = failure(*command, "-m", "venv", folder) or failure(
                path, "-m", "pip", "install", "-q", "--only-binary", ":all:", *PACKAGES)
            if failed:
                shutil.rmtree(folder, ignore_errors=True)
                raise suite.Skip("no gevent for this Python: %s" % failed)
    return path


def stacks():
    """Each stack of KNOWN from its root on, to any depth, with or without a function of LEAVES."""
    found = {}
    for known in KNOWN:
        names = known.split()
        for i in range(len(names)):
            for leaf in [[], *([leaf] for leaf in LEAVES)]:
                found[tuple(leaf + names[i:])] = known
    return found


def judge(samples):
    known = stacks()
    counts = dict.fromkeys(KNOWN, 0)
    total = whole = marked = 0
    wrong = {}
    for sample in samples:
        frames = [f for f in sample.frames if f.type == "cpython"]
        while len(frames) > 1 and "/gevent/" in frames[0].file:
            del frames[0]
        names = tuple(f.name for f in frames)
        total += sample.count
        if any(f.name.startswith(MARKS) for f in sample.frames):
            marked += sample.count
            continue
        at = next((i for i, f in enumerate(sample.frames) if f.type == "cpython"), len(sample.frames))
        if any(f.mapping.startswith("_greenlet.") for f in sample.frames[:at]):
            continue
        # gevent's C code works for a greenlet before its first function and after it
        if not names or re.fullmatch(HUB, names[-1]):
            whole += sample.count
        elif names in known and is_own(sample, names):
            whole += sample.count
            counts[known[names]] += sample.count
        else:
            text = " < ".join(f.name for f in sample.frames)
            wrong[text] = wrong.get(text, 0) + sample.count
    result = check.Result()
    result.need(whole >= WHOLE * total, "%d of %d whole, %d marked" % (whole, total, marked))
    result.need(not wrong, "%d wrong" % sum(wrong.values()))
    few = [known.split()[-1] for known, n in counts.items() if n < SHARE_LEAST * total]
    result.need(not few, "each greenlet seen" if not few else "too few of " + " ".join(few))
    result.problems += ["  %d times: %s" % (n, text) for text, n in wrong.items()]
    result.figures.update(samples=total, exact=100 * whole / max(total, 1),
                          errors=check.errors_of(samples))
    return result


def is_own(sample, names):
    """Does the stack of another greenlet than the main one end at its own root?"""
    outermost = sample.frames[-1].name
    return (outermost == "_start") == (names[-1] == "<module>") and \
        not any(f.mapping.startswith("_greenlet.") for f in sample.frames)


def cell(run, name, command, release, why):
    if not command:
        raise suite.Skip("no such interpreter here" + ("; " + why if why else ""))
    path = find_python(command, ".".join(release.split(".")[:2]))
    run.row["release"] = release
    with suite.interpreted([path], PROGRAM, suite.LONG) as process:
        capture, text = run.record_process(name, process.pid)
    run.judge(name, judge(check.select(capture, process.pid)), check.check_rules(capture),
              check.check_accounting(text))
