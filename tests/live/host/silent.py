#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Code without unwind data, made at random.

    silent.py --otelprof PROGRAM --dir DIR [CELL...]

Each function belongs to one chain (silent_code.py), so the innermost one of a stack tells all of
it. No stack may differ from that without a mark: a guessed frame, or the reason why it ends.
"""

import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "framework"))
import check  # noqa: E402
import otlp  # noqa: E402
import robust  # noqa: E402
import silent_code  # noqa: E402
import suite  # noqa: E402

CHAINS = 40
LONG = 600  # seconds
GAP = 6 << 20  # bytes of code that nothing describes
KINDS = ["library", "large", "alone", "made"]
# Of the samples of the second half: in the first one code is met, and read.
MARKED_MAX = 0.05
ABOVE = re.compile(r"run_chain\n(?:alone|main\n__libc_start_call_main\n__libc_start_main.*)\n_start\n")
REMADE = re.compile(r"inner\nouter\nmain\n__libc_start")
MARK = re.compile(r"\[(?!vdso|anon)[a-z ]+")
SKIPPED = re.compile(r"noise(?:_tick|_deep)?$|thunk$|c\d+_\d+_j$")
SILENT = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-stack-protector"]


def build(command):
    subprocess.run(command, check=True, capture_output=True, text=True)


def make(folder, seed, seconds):
    """{kind: (command, chains)}, of programs that work for @seconds."""
    source = os.path.join(HERE, "programs", "silent.c")
    commands = {}
    for i, (kind, gap) in enumerate((("library", 0), ("large", GAP), ("made", -1), ("alone", 0))):
        maker = silent_code.Maker("%d-%d" % (seed, i), CHAINS, gap)
        at = "%s/%s" % (folder, kind)
        with open(at + ".s", "w", encoding="utf-8") as f:
            f.write(maker.text())
        chains = {f.name: (c, k) for c in maker.chains for k, f in enumerate(c.functions)}
        build(["as", "-o", at + ".o", at + ".s"])
        if kind == "alone":
            build(["gcc", "-O2", "-static", "-nostdlib", "-no-pie", *SILENT, "-DALONE",
                   "-DSECONDS=%d" % seconds, "-o", at, source, at + ".o"])
            commands[kind] = [at], chains
        elif kind == "made":
            build(["ld", "-N", "-Ttext", "0", "-e", "0", "-o", at + ".elf", at + ".o"])
            build(["objcopy", "-O", "binary", at + ".elf", at])
            symbols = check.Symbols(at + ".elf")
            with open(at + ".names", "w", encoding="utf-8") as f:
                f.writelines("%x %x %s\n" % row for row in symbols.rows)
            commands[kind] = [folder + "/host", str(seconds), kind, at, at + ".names"], chains
        else:
            build(["gcc", "-shared", "-nostdlib", "-o", at, at + ".o"])
            commands[kind] = [folder + "/host", str(seconds), kind, at], chains
    build(["gcc", "-O2", "-o", folder + "/host", source, "-ldl"])
    return commands


def truth(names, chains):
    """(the stack that is true, the shapes of its functions), by the innermost function of a chain;
    None: the sample is of none."""
    i = 0
    while i < len(names) and SKIPPED.match(names[i]):
        i += 1
    if i == len(names) or names[i] not in chains:
        return None
    chain, k = chains[names[i]]
    if any(name.startswith("noise") for name in names[:i]):
        k = chain.noisy  # nothing else calls it
    return (names[:i] + [f.name for f in reversed(chain.functions[:k + 1])],
            [f.shape for f in chain.functions[:k + 1]])


def judge(capture, pid, chains):
    """{shape: [samples, wrong without a mark, marked]}, the same of the second half, and wrong
    stacks."""
    samples = check.select(capture, pid)
    times = sorted(t for sample in samples for t in sample.timestamps)
    middle = times[len(times) // 2] if times else 0
    rows, late, seen = {}, [0, 0, 0], {}
    for sample in samples:
        frames = [frame for frame in sample.frames if not check.is_kernel(frame)]
        names = [frame.name or "?" for frame in frames]
        true = truth(names, chains)
        if not true:
            continue
        stack, shapes = true
        marked = any(frame.guessed or MARK.match(frame.name or "") for frame in frames)
        right = names[:len(stack)] == stack and ABOVE.fullmatch(
            "".join(name + "\n" for name in names[len(stack):]))
        for row, count in [(late, sum(t >= middle for t in sample.timestamps))] + [
                (rows.setdefault(shape, [0, 0, 0]), sample.count)
                for shape in ["all"] + sorted(set(shapes))]:
            row[0] += count
            row[1] += count if not right and not marked else 0
            row[2] += count if marked else 0
        if not right or marked:
            text = "%s%s, not %s (%s)" % ("marked: " if marked else "", ";".join(
                n + ("?" if f.guessed else "") for n, f in zip(names, frames)), ";".join(stack),
                ",".join(reversed(shapes)))
            seen[text] = seen.get(text, 0) + sample.count
    return rows, late, seen


def cell_kind(kind, seconds):
    def cell(run, name):
        folder = suite.fresh_folder(run.path("silent-" + kind))
        seed = int(os.environ.get("OTELPROF_SEED", time.time_ns() // 1000000))
        print("seed %d" % seed, flush=True)
        command, chains = make(folder, seed, 2 * seconds + 600)[kind]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            # code that is made is compared while its process lives
            with suite.Recorder(run.args.otelprof, run.fresh("silent-%s.otlp" % kind), "-F", "997",
                                "-p", str(process.pid)) as recorder:
                suite.wait_for_work(process.pid, seconds)
                text = recorder.end()
        finally:
            suite.stop([process])
        rows, late, seen = judge(otlp.read_file(recorder.out), process.pid, chains)
        for shape, row in sorted(rows.items()):
            print("%-14s %6d samples, %5d wrong, %6.2f %% marked" % (
                shape, *row[:2], 100 * row[2] / row[0]), flush=True)
        total, wrong, _ = rows.get("all", (0, 0, 0))
        result = check.Result()
        result.need(total > 100 * seconds and not wrong, "%d of %d samples wrong; seed %d" % (
            wrong, total, seed))
        result.need(late[2] <= MARKED_MAX * late[0], "%.2f %% of %d later ones marked" % (
            100 * late[2] / max(late[0], 1), late[0]))
        if result.problems:
            result.problems += ["%d %s" % (n, t) for t, n in
                                sorted(seen.items(), key=lambda item: -item[1])[:16]]
        run.judge(name, result, check.check_accounting(text))
    return cell


def cell_remade(most_us, seconds):
    """Code that gives way to other code at its place, again and again."""
    def cell(run, name):
        folder = suite.fresh_folder(run.path(name))
        seed = int(os.environ.get("OTELPROF_SEED", time.time_ns() // 1000000)) % (1 << 31)
        print("seed %d" % seed, flush=True)
        build(["gcc", "-O2", "-o", folder + "/remade", os.path.join(HERE, "programs", "remade.c")])
        out = run.path(name + ".otlp")
        text = subprocess.run([run.args.otelprof, "record", "-v", "-F", "997", "-o", out, "--format",
                               "otlp", "--", folder + "/remade", str(seconds), str(most_us),
                               str(seed)], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=seconds * 10 + 60, check=False)
        total = wrong = marked = 0
        for sample in otlp.read_file(out).samples:
            frames = [frame for frame in sample.frames if not check.is_kernel(frame)]
            if not frames or not (frames[0].name or "").startswith("[anon]"):
                continue
            stack = "".join((frame.name or "?") + "\n" for frame in frames[1:])
            said = any(frame.guessed or MARK.match(frame.name or "") for frame in frames)
            total += sample.count
            marked += sample.count * said
            wrong += sample.count * (not said and not REMADE.match(stack))
        result = check.Result()
        result.need(text.returncode == 0, "exit %d" % text.returncode)
        result.need(total > 20 * seconds and not wrong, "%d of %d samples wrong, %.2f %% marked; "
                    "seed %d" % (wrong, total, 100 * marked / max(total, 1), seed))
        if seconds >= LONG:
            result.need(marked <= MARKED_MAX * total, "at most %d %% are marked" % (100 * MARKED_MAX))
        run.judge(name, result, check.check_accounting(text.stdout))
    return cell


CELLS = {kind: cell_kind(kind, 4) for kind in KINDS}
CELLS["remade"] = cell_remade(1000000, 4)
CELLS["remade-often"] = cell_remade(2000, 4)
CELLS.update({kind + "-long": cell_kind(kind, LONG) for kind in KINDS})
CELLS["remade-long"] = cell_remade(1000000, LONG)


if __name__ == "__main__":
    sys.exit(robust.Robust(suite.parser("otelprof").parse_args()).cells(CELLS))
