# SPDX-License-Identifier: Apache-2.0
"""Several interpreters of CPython in one process (sources/subs.c), for each version whose library
and headers are here."""

import glob
import os
import subprocess

import check
import suite

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sources", "subs.c")
VERSIONS = ["3.%d" % n for n in range(6, 16)]
INNER = ["sub_leaf/cpython", "sub_run/cpython"]
OUTER = ["outer/cpython", "<module>/cpython"]
OWN = ["own_leaf/cpython"] + OUTER
# What the frames that matter read as, leaf first, and the least share of the whole of them.
RIGHT = {
    "nested": [INNER + ["enter/native"] + OUTER, OWN],
    "alone": [INNER],
    "threads": [INNER],
}
LEAST = {"nested": 0.3, "alone": 0.8, "threads": 0.8}
KNOWN = {*INNER, "enter/native", *OWN}
MIN_SAMPLES = 300
RECORDINGS_MOST = 3
MARKED_MOST = 0.05  # they wait for the interpreter's lock
MISSING = "[unwind error: python_other_chain]"
LOOP = "_PyEval_EvalFrameDefault"


def tells(prefix):
    """Flags to build with the CPython of @prefix."""
    version = os.path.basename(glob.glob(prefix + "/include/python3.*")[0])
    library = glob.glob(prefix + "/lib/libpython3.[0-9]*.so")
    if not library:
        return None
    return ["-I%s/include/%s" % (prefix, version), library[0], "-Wl,-rpath," + prefix + "/lib"]


def pythons():
    """version → flags."""
    found = {}
    for prefix in sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*"))):
        version = ".".join(os.path.basename(prefix).split(".")[:2])
        if glob.glob(prefix + "/include/python3.*") and tells(prefix):
            found.setdefault(version, (tells(prefix), prefix))
    done = subprocess.run(["pkg-config", "--cflags", "--libs", "python-3.11-embed"],
                          capture_output=True, text=True)
    if done.returncode == 0:
        found.setdefault("3.11", (done.stdout.split(), ""))
    return found


def build(run, version):
    found = pythons()
    if version not in found:
        raise suite.Skip("no libpython%s with its headers" % version)
    path = run.path("subs-" + version)
    flags, prefix = found[version]
    done = subprocess.run(["gcc", "-O1", "-g", "-w", "-fno-optimize-sibling-calls", "-pthread", "-o",
                           path, SOURCE, *flags], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError("subs.c is not built: " + done.stderr[-300:])
    return path, dict(os.environ, **({"PYTHONHOME": prefix} if prefix else {}))


def order_of(sample):
    names = ["%s/%s" % (f.name, f.type) for f in sample.frames]
    return [name for name in names if name in KNOWN]


def is_right(order, known):
    """The whole of a known order, or what is left of it from some function on."""
    return any(order == whole[at:] for whole in known for at in range(len(whole)))


def is_marked(sample, order, mode):
    """The other interpreter's frames, or none; and it says that some are missing."""
    inner = INNER + ["enter/native"] * (mode == "nested")
    return sample.frames[-1].name == MISSING and order in [inner[at:] for at in range(
        len(inner) + 1)]


def judge(mode, samples, result):
    known = RIGHT[mode]
    total = right = leaf = marked = 0
    wrong = {}
    for sample in samples:
        order = order_of(sample)
        looped = any(f.name.startswith(LOOP) for f in sample.frames)
        if not order and not looped:
            continue  # it starts up, or waits
        total += sample.count
        whole = is_right(order, known)
        cut = is_marked(sample, order, mode)
        right += sample.count * (whole or cut)
        marked += sample.count * cut
        leaf += sample.count * (order == known[0] or cut)
        if not whole and not cut:
            text = " ".join("%s/%s" % (f.name, f.type[0]) for f in sample.frames[:14])
            wrong[text] = wrong.get(text, 0) + sample.count
    result.need(total >= MIN_SAMPLES, "%s: %d samples" % (mode, total))
    result.need(right >= 0.99 * total, "%d of %d in true order" % (right, total))
    result.need(mode == "nested" or marked <= MARKED_MOST * total,
                "%d say that frames are missing" % marked)
    result.need(leaf >= LEAST[mode] * total, "%d in the other interpreter's leaf" % leaf)
    if result.problems:
        result.problems += ["  %d times %s" % (n, text)
                            for text, n in sorted(wrong.items(), key=lambda x: -x[1])[:3]]


def cell(version):
    def run_cell(run, name):
        program, environment = build(run, version)
        result = check.Result()
        results = [result]
        for mode in RIGHT:
            process = suite.start(program, mode, suite.LONG, env=environment,
                                  stderr=subprocess.DEVNULL)
            samples = []
            try:
                for _ in range(RECORDINGS_MOST):
                    capture, text = run.record_process(name, process.pid, 0.5)
                    results += [check.check_rules(capture), check.check_accounting(text)]
                    samples += capture.samples
                    if sum(s.count for s in samples) >= 2 * MIN_SAMPLES:
                        break
            finally:
                suite.stop([process])
            judge(mode, samples, result)
        result.notes[:] = ["; ".join(result.notes)]
        run.judge(name, *results)
    return run_cell


CELLS = {"subs-" + version: cell(version) for version in VERSIONS}
