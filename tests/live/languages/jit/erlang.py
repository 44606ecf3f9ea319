# SPDX-License-Identifier: Apache-2.0
"""Erlang: what known.erl calls, to the beginning of its Erlang process, which has a stack of its
own. With +JPperf map its compiled code keeps frame pointers, with +JPperf dump it does not: then
callers may be guessed, and say so."""
import glob
import os
import subprocess

import check
import suite

HERE = os.path.dirname(os.path.abspath(__file__))
SHARES = {"leaf_a/1": 0.5, "leaf_b/1": 0.3, "leaf_c/1": 0.2}
POINTS = 2.0
# A share's standard deviation is 50 points over the root of the number of samples, at most.
NOISE = 3 * 50
EARLY_MOST = 0.2
PROLOGUE = "work/2-CodeInfoPrologue"  # Erlang's own name of it
BELOW = ["f1/2", "f2/2", "f3/2", "loop/2"]


def find():
    """The environment and the program of Erlang. Raises suite.Skip."""
    done = subprocess.run(["sh", os.path.join(HERE, "erlang.sh")], capture_output=True, text=True,
                          timeout=120)
    if done.returncode:
        raise suite.Skip("no Erlang: " + (
            done.stderr.strip().splitlines() or ["erlang.sh says nothing"])[-1])
    root = done.stdout.strip()
    bins = glob.glob(root + "/erts-*/bin")[0]
    libraries = ":".join(glob.glob(root + "/../*-linux-gnu"))
    return ["env", "ROOTDIR=" + root, "BINDIR=" + bins, "EMU=beam", "PROGNAME=erl",
            "LD_LIBRARY_PATH=" + libraries, bins + "/erlexec"]


def erlang(what):
    def cell(run, name):
        command = find()
        source = os.path.join(HERE, "known.erl")
        made = subprocess.run([*command, "-noshell", "-eval", 'compile:file("%s",'
                               ' [{outdir, "%s"}]), halt().' % (source, run.args.dir)],
                              capture_output=True, text=True, timeout=60)
        if not os.path.exists(run.path("known.beam")):
            raise suite.Skip("known.erl is not compiled: " + (made.stdout + made.stderr)[-200:])
        capture, text = run.record(
            name, "-F", "999", "--", *command, "+JPperf", what, "+S", "1", "-noshell", "-pa",
            run.args.dir, "-eval", "known:main(4), halt().")
        judge(run, name, capture, text, what == "dump")
    return cell


def judge(run, name, capture, text, guessed):
    """Before its prologue a function has no frame: its caller may be missing, and no other."""
    result = check.Result()
    counts = dict.fromkeys(SHARES, 0)
    total = whole = early = 0
    odd = []
    for s in capture.samples:
        user = [f for f in s.frames if f.type != "kernel"]
        # In the map a name begins with "$".
        names = [f.name.lstrip("$").replace("known:", "") for f in user]
        if not names or not names[0].startswith("work/2"):
            continue
        total += s.count
        # Where a function has no frame its caller is guessed, and no other. Without frame pointers
        # any may be.
        if not guessed and any(f.guessed for f in user[2:6] if not f.name.startswith("[")):
            odd.append("marks: " + " < ".join(names))
        elif names[1] in SHARES and names[2:6] == BELOW:
            counts[names[1]] += s.count
            whole += s.count
        elif names[0] == PROLOGUE and names[1:5] == BELOW:
            early += s.count
        else:
            odd.append(" < ".join(names))
    error = max(abs(counts[leaf] / max(whole, 1) - share) * 100
                for leaf, share in SHARES.items())
    most = max(POINTS, NOISE / max(whole, 1) ** 0.5)
    result.need(total >= 500, "%d samples" % total)
    result.need(whole + early >= 0.99 * total,
                "%d of %d stacks are exact%s" % (whole, total, ", and %d but for the caller of who "
                                                 "is before its prologue" % early if early else ""))
    result.need(early <= EARLY_MOST * total, "%d before a prologue" % early)
    result.need(error <= most, "leaf error %.2f points (at most %.1f)" % (error, most))
    result.problems += odd[:3] if result.problems else []
    run.judge(name, result, check.check_rules(capture), check.check_accounting(text))
