# SPDX-License-Identifier: Apache-2.0
"""LuaJIT with a perf map. Its traces keep no frame pointer, and the VM jumps into them: their
caller is guessed, and has to say so."""
import os
import re
import subprocess

import check
import suite

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "known.lua")
SHARES = {"loop_a": 0.5, "loop_b": 0.3, "loop_c": 0.2}
POINTS = 2.0
TRACE = re.compile(r"TRACE_\d+::.*known\.lua:(\d+)$")
# What the command line calls, which gdb shows below the VM.
TRUE = ["lua_pcall", "docall", "pmain", "lj_BC_FUNCC", "lua_cpcall", "main",
        "__libc_start_call_main", "__libc_start_main", "_start"]


def find():
    done = subprocess.run(["sh", os.path.join(HERE, "luajit.sh")], capture_output=True, text=True,
                          timeout=240)
    if done.returncode:
        raise suite.Skip("no LuaJIT with perf maps: " + (
            done.stderr.strip().splitlines() or ["luajit.sh says nothing"])[-1])
    return done.stdout.strip()


def functions():
    """line → the function of known.lua that it stands in."""
    found, name = {}, None
    with open(PROGRAM, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            begins = re.match(r"local function (\w+)", line)
            name = begins.group(1) if begins else name
            found[number] = name
            name = None if line.startswith("end") else name
    return found


def is_part(names, whole):
    """Do @names come in @whole, in this order?"""
    rest = iter(whole)
    return all(name in rest for name in names)


def luajit(run, name):
    capture, text = run.record(name, "-F", "999", "--", find(), PROGRAM, "4")
    lines = functions()
    counts = dict.fromkeys(SHARES, 0)
    total = whole = marked = wrong = 0
    odd = []
    for s in capture.samples:
        frames = [f for f in s.frames if f.type != "kernel"]
        trace = TRACE.match(frames[0].name) if frames else None
        if not trace:
            continue
        total += s.count
        counts[lines[int(trace.group(1))]] += s.count
        names = [f.name for f in frames[1:]]
        guessed = len(frames) > 1 and frames[1].guessed
        marked += s.count * guessed
        if names == TRUE:
            whole += s.count
        elif not (is_part(names, TRUE) and guessed) and "unwind error" not in frames[-1].name:
            wrong += s.count
            odd.append(" < ".join(f.name for f in frames))
    error = max(abs(counts[f] / max(total, 1) - share) * 100 for f, share in SHARES.items())
    result = check.Result()
    result.need(total >= 500, "%d samples in traces" % total)
    result.need(error <= POINTS, "error of a trace's share %.2f points" % error)
    result.need(wrong <= 0.002 * total, "%d are wrong and do not say so" % wrong)
    result.problems += odd[:3] if result.problems else []
    result.notes[:] = ["; ".join([*result.notes, "%d of %d have a caller that is marked as guessed, "
                                  "%d the whole stack" % (marked, total, whole)])]
    run.judge(name, result, check.check_rules(capture), check.check_accounting(text))
