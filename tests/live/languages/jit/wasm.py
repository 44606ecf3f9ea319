# SPDX-License-Identifier: Apache-2.0
"""WebAssembly in wasmtime: what known.wat calls, through the host and back, and how long."""
import fcntl
import os
import shutil
import subprocess
import sys

import check
import suite

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = "wasmtime"
SHARES = {"leaf_a": 0.5, "leaf_b": 0.3, "leaf_c": 0.2}
POINTS = 2.0
BETWEEN = "between"
BETWEEN_MAX = 0.05
GUESSED_MAX = 0.1  # of the stacks: until its code was read, its callers are guessed and marked
# Leaf first, without the trampolines of wasmtime and what its Python package calls.
BELOW = ["f1/native", "f2/native", "make.<locals>.again/cpython", "f3/native", "f4/native", "run/cpython",
         "main/cpython", "<module>/cpython"]
KNOWN = {*BELOW, "now/cpython", *(leaf + "/native" for leaf in SHARES)}


def quiet(*command):
    """None, or why it failed."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=120, check=False)
    except (OSError, subprocess.TimeoutExpired) as e:
        return str(e)
    return None if done.returncode == 0 else (done.stdout.splitlines() or ["it says nothing"])[-1]


def find_python():
    """A Python with wasmtime's package; made once, in the cache. Raises suite.Skip."""
    cache = os.environ.get("OTELPROF_CACHE", os.path.expanduser("~/.cache/otelprof-tests"))
    folder = os.path.join(cache, "venv-wasmtime")
    path = os.path.join(folder, "bin", "python")
    os.makedirs(cache, exist_ok=True)
    with open(folder + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if quiet(path, "-c", "import wasmtime"):
            shutil.rmtree(folder, ignore_errors=True)
            failed = quiet(sys.executable, "-m", "venv", folder) or quiet(
                path, "-m", "pip", "install", "-q", "--only-binary", ":all:", PACKAGE)
            if failed:
                shutil.rmtree(folder, ignore_errors=True)
                raise suite.Skip("no %s for this Python: %s" % (PACKAGE, failed))
    return path


def order_of(sample):
    """The frames that matter. In wasmtime's names the function's own stands last."""
    names = ["%s/%s" % (f.name.split("::")[-1], f.type) for f in sample.frames]
    return [name for name in names if name in KNOWN]


def leaf_of(sample):
    """The leaf of a stack that is right from its end to the start, BETWEEN if the Python package
    works between two leaves there; None of any other. A guess must be right, too."""
    order = order_of(sample)
    order = order[1:] if order[:1] == ["now/cpython"] else order
    frames = [f for f in sample.frames if f.type != "kernel"]
    odd = [f for f in frames if f.name.startswith(("[anon]", "[unwind"))]
    leaf = order[0].split("/")[0] if order else None
    if odd or not leaf or frames[-1].name != "_start":
        return None
    if leaf in SHARES:
        return leaf if order[1:] == BELOW else None
    return BETWEEN if order == BELOW[-len(order):] else None


def wasmtime(strategy):
    def cell(run, name):
        command = [find_python(), os.path.join(HERE, "wasm_host.py"),
                   os.path.join(HERE, "known.wat"), strategy, suite.LONG]
        process = suite.start(*command, cwd=run.args.dir)  # its jitdump file is left there
        try:
            capture, text = run.record(name, "-F", "999", "-d", "5", "-p", str(process.pid))
        finally:
            suite.stop([process])
            if os.path.exists(run.path("jit-%d.dump" % process.pid)):
                os.unlink(run.path("jit-%d.dump" % process.pid))
        judge(run, name, capture, text)
    return cell


def judge(run, name, capture, text):
    result = check.Result()
    counts = dict.fromkeys([*SHARES, BETWEEN], 0)
    total = guessed = 0
    for s in capture.samples:
        leaf = leaf_of(s)
        total += s.count
        guessed += s.count * any(f.guessed for f in s.frames)
        if leaf:
            counts[leaf] += s.count
        elif len(result.notes) < 3:
            result.notes.append(" < ".join(f.name for f in s.frames))
    between = counts.pop(BETWEEN)
    right = sum(counts.values())
    error = max(abs(counts[leaf] / max(right, 1) - share) * 100
                for leaf, share in SHARES.items())
    result.need(total >= 500, "%d samples" % total)
    result.need(right >= 0.99 * (total - between), "%d of %d stacks are exact" % (
        right, total - between))
    result.need(guessed <= GUESSED_MAX * total, "%d have a guess" % guessed)
    result.need(between <= BETWEEN_MAX * total, "%d more are between two leaves" % between)
    result.need(error <= POINTS, "leaf error %.2f points" % error)
    if not result.problems:
        result.notes = [note for note in result.notes if " < " not in note]
    else:
        result.problems += [note for note in result.notes if " < " in note]
    run.judge(name, result, check.check_rules(capture), check.check_accounting(text))
