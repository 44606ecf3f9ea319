#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The first second of a look at programs that run already.

    first.py --otelprof PROGRAM --dir DIR [CELL...]

The program has so many functions that its unwind table takes many polls, and works in some of
them, far apart. Its stacks are known: DEPTH functions f0 to f199999, then main. They must be
whole from the beginning, not only once the table is complete.
"""

import collections
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "framework"))
import otlp  # noqa: E402
import suite  # noqa: E402

FUNCTIONS = 200000
USED = 40  # of them, all over the text
DEPTH = 24
COPIES = 10
BOUND = 0.97  # of the samples of the first second
NS = 1000000000


class First(suite.Run):
    suite = "first"


def write_program(path):
    """Functions that save one or two registers, and call one of USED by a number that goes on."""
    with open(path, "w", encoding="ascii") as f:
        f.write("\t.text\n")
        for i in range(FUNCTIONS):
            size = 16 * (i % 9)
            f.write(
                "f%d:\n\t.cfi_startproc\n\tpush %%rbx\n\t.cfi_def_cfa_offset 16\n"
                "\t.cfi_offset 3, -16\n\tsub $%d, %%rsp\n\t.cfi_def_cfa_offset %d\n"
                "\tcall step\n\tadd $%d, %%rsp\n\t.cfi_def_cfa_offset 16\n\tpop %%rbx\n"
                "\t.cfi_def_cfa_offset 8\n\tret\n\t.cfi_endproc\n"
                "\t.type f%d, @function\n\t.size f%d, .-f%d\n"
                % (i, size, 16 + size, size, i, i, i)
            )
        # step: the next function by edi (what is left) and esi, or work; it jumps to it
        f.write(
            "step:\n\t.cfi_startproc\n\tdec %%edi\n\tjz 1f\n\timul $1664525, %%esi, %%esi\n"
            "\tadd $1013904223, %%esi\n\tmov %%esi, %%eax\n\tshr $16, %%eax\n\txor %%edx, %%edx\n"
            "\tmov $%d, %%ecx\n\tdiv %%ecx\n\tlea table(%%rip), %%rax\n"
            "\tjmp *(%%rax,%%rdx,8)\n1:\tmov $200000, %%ecx\n2:\tdec %%ecx\n\tjnz 2b\n\tret\n"
            "\t.cfi_endproc\n\t.type step, @function\n\t.size step, .-step\n" % USED
        )
        f.write(
            "\t.globl main\nmain:\n\t.cfi_startproc\n\tpush %rbx\n\t.cfi_def_cfa_offset 16\n"
            "1:\tmov $"
            + str(DEPTH)
            + ", %edi\n\tcall step\n\tjmp 1b\n\t.cfi_endproc\n\t.type main, @function\n"
            "\t.size main, .-main\n\t.section .data.rel.ro, \"aw\"\ntable:\n"
        )
        for i in range(USED):
            f.write("\t.quad f%d\n" % (i * (FUNCTIONS // USED) + 7))
        f.write('\t.section .note.GNU-stack, "", @progbits\n')


def is_whole(names):
    """step, DEPTH - 1 functions with step between them, or the moment of a call; then main."""
    if "main" not in names:
        return False
    if not names[-1].startswith("_start"):
        return False
    chain = names[: names.index("main")]
    known = [n for n in chain if re.fullmatch(r"f\d+", n)]
    return len(known) + chain.count("step") == len(chain) and len(known) >= 1


def first_second(run, name):
    program = run.path("first")
    if not os.path.exists(program):
        write_program(run.path("first.s"))
        subprocess.run(["cc", "-o", program, run.path("first.s")], check=True)
    # each a file of its own for the profiler: it does not compare such large ones
    copies = [run.path("first-%d" % i) for i in range(COPIES)]
    for copy in copies:
        shutil.copy(program, copy)
    processes = [subprocess.Popen([copy]) for copy in copies]
    try:
        time.sleep(1)
        # by name: a process that is given by number has its tables before the first sample
        chosen = [o for c in copies for o in ("--comm", os.path.basename(c))]
        capture, _ = run.record(name, "-F", "999", "-d", "2", *chosen)
    finally:
        for process in processes:
            process.kill()
            process.wait()
        for copy in copies:
            os.unlink(copy)
    begin = min(t for s in capture.samples for t in s.timestamps)
    ends = collections.Counter()
    for s in capture.samples:
        names = [f.name for f in s.frames if f.type != "kernel"]
        early = sum(t < begin + NS for t in s.timestamps)
        ends["whole" if is_whole(names) else names[-1] if names else "-"] += early
    taken = sum(ends.values())
    share = ends["whole"] / max(taken, 1)
    text = "%d samples, %.1f %% whole: %s" % (taken, 100 * share, ends.most_common(6))
    run.say("ok" if taken >= 100 and share >= BOUND else "FAIL", name, text)


if __name__ == "__main__":
    sys.exit(suite.live_main(First, {"first-second": first_second}))
