#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profile known.js in programs that embed V8 and have no symbols of it, or compress its pointers.

    v8.py --otelprof PROGRAM --dir DIR [--seconds N] [--hz N] [CELL...]

A cell is NAME[-MODE], NAME one of deno, workerd, chromium. By themselves these programs note places
in the source only where an exception was thrown ("lazily"), so that lines are unknown and what was
compiled into its caller is not told from it. Modes: noopt (bytecode and baseline code, so that all
functions have frames), and with lines, by --no-enable-lazy-source-positions: jitless (bytecode alone),
positions (optimized code, with --detailed-line-info for all instructions). Chromium's have none. Programs come from fetch.sh. Prints lines like native/run.py's.
"""

import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "framework"))

import check  # noqa: E402
import suite  # noqa: E402

SOURCE = os.path.join(HERE, "known.js")
PORT = 18791
PROGRAMS = ["deno", "workerd", "chromium"]
EAGER = "--no-enable-lazy-source-positions"
MODES = {
    "jitless": ["--jitless", EAGER],
    "noopt": ["--no-opt", "--no-maglev"],
    "positions": [EAGER, "--detailed-line-info"],
}
DEFAULT = ["%s-%s" % (program, mode) for program in PROGRAMS for mode in MODES]
CHAIN = ["f%d" % n for n in range(24, 0, -1)] + ["spin"]
SHARES = {"leafA": 0.5, "leafB": 0.3, "leafC": 0.2}
EXACT = 0.99
LEAF_POINTS = 2.0
NOISE = 3 * 50
MIN_SAMPLES = 500
ENOUGH = 1000
RECORDINGS_MOST = 2
STARTS_MOST = 60  # seconds
CONFIG = """using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [ (name = "main", worker = .known) ],
  sockets = [ (name = "http", address = "127.0.0.1:%d", http = (), service = "main") ],
  v8Flags = [ %s ]
);
const known :Workerd.Worker = (
  modules = [ (name = "known.js", esModule = embed "known.js") ],
  compatibilityDate = "2024-09-01"
);
"""


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def start_deno(program, flags, folder):
    write(os.path.join(folder, "known.js"), read() + "known(1e9);\n")
    process = subprocess.Popen([program, "run", "--v8-flags=" + ",".join(flags),
                                os.path.join(folder, "known.js")], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    time.sleep(2)
    return process, process.pid


def start_workerd(program, flags, folder):
    write(os.path.join(folder, "known.js"), read() + "export default { async fetch() "
          "{ return new Response(String(known(1e9))); } };\n")
    write(os.path.join(folder, "config.capnp"),
          CONFIG % (PORT, ", ".join('"%s"' % flag for flag in flags)))
    process = subprocess.Popen([program, "serve", os.path.join(folder, "config.capnp")],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
    try:
        urllib.request.urlopen("http://127.0.0.1:%d/" % PORT, timeout=2)
    except OSError:
        pass  # it works until it is ended
    return process, process.pid


def start_chromium(program, flags, folder):
    write(os.path.join(folder, "known.js"), read() + "setTimeout(() => known(1e9), 100);\n")
    write(os.path.join(folder, "page.html"), '<script src="known.js"></script>\n')
    process = subprocess.Popen(
        [program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
         "--user-data-dir=" + os.path.join(folder, "data"), "--js-flags=" + " ".join(flags),
         "file://" + os.path.join(folder, "page.html")], stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    for _ in range(STARTS_MOST):
        time.sleep(1)
        seconds, pid = busiest_child(process.pid)
        if seconds > 1:
            break
    return process, pid


def busiest_child(of):
    """The renderer that has used most CPU time, and how many seconds of it."""
    found, best = {of}, (0, of)
    for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            with open("/proc/%d/stat" % pid, encoding="utf-8") as f:
                words = f.read().rpartition(")")[2].split()
            with open("/proc/%d/cmdline" % pid, "rb") as f:
                renderer = b"--type=renderer" in f.read()
        except OSError:
            continue
        if int(words[1]) in found:
            found.add(pid)
            if renderer:
                best = max(best, (int(words[11]) + int(words[12]), pid))
    return best[0] / os.sysconf("SC_CLK_TCK"), best[1]


def read():
    with open(SOURCE, encoding="utf-8") as f:
        return f.read()


def marked_lines():
    """name → the lines of the source that end with "// name"."""
    marks = {}
    for number, text in enumerate(read().splitlines(), 1):
        found = re.search(r"// (\w+)$", text)
        if found:
            marks.setdefault(found.group(1), set()).add(number)
            for leaf in re.findall(r"return (leaf.)\(n\)", text):
                marks[leaf, found.group(1)] = {number}  # its call
    return marks


def count(samples):
    marks = marked_lines()
    total = exact = lines = others = 0
    leaves, wrong = {}, {}
    for sample in samples:
        frames = [f for f in sample.frames if f.type == "v8js"]
        names = [f.name for f in frames]
        at = next((i for i, name in enumerate(names) if name in SHARES), None)
        total += sample.count
        if at is None and "spin" not in names:
            others += sample.count
            continue
        if at is not None:
            leaves[names[at]] = leaves.get(names[at], 0) + sample.count
        chain = names[at + 1:] if at is not None else names
        # between two leaves some of the outermost functions are there
        if "spin" not in chain or not chain or \
                chain[:chain.index("spin") + 1] != CHAIN[-(chain.index("spin") + 1):] or \
                (at is not None and chain[0] != "f24"):
            text = " ".join("%s:%d" % (f.name, f.line) for f in sample.frames[:40])
            wrong[text] = wrong.get(text, 0) + sample.count
            continue
        exact += sample.count
        caller = (names[at], chain[0]) if at is not None else None
        right = all(f.line in marks.get(caller if f.name == chain[0] and caller else f.name, ())
                    for f in frames if f.name in SHARES or f.name in CHAIN)
        lines += sample.count * right
        if not right:
            text = "lines: " + " ".join("%s:%d" % (f.name, f.line) for f in frames)
            wrong[text] = wrong.get(text, 0) + sample.count
    return total, exact, lines, others, leaves, wrong


def judge(samples, need_lines):
    total, exact, lines, others, leaves, wrong = count(samples)
    result = check.Result()
    judged = max(total - others, 1)
    result.need(total >= MIN_SAMPLES, "%d samples (at least %d)" % (total, MIN_SAMPLES))
    result.need(others <= 0.05 * total, "%d not of the program" % others)
    result.need(exact >= EXACT * judged, "exact by name %.2f %% of %d" %
                (100 * exact / judged, judged))
    result.need(not need_lines or lines >= EXACT * exact, "lines right in %.2f %%" %
                (100 * lines / max(exact, 1)))
    known = max(sum(leaves.values()), 1)
    error = max(abs(leaves.get(name, 0) / known - share) * 100 for name, share in SHARES.items())
    result.need(error <= max(LEAF_POINTS, NOISE / known ** 0.5), "leaf error %.2f points: %s" %
                (error, leaves))
    result.figures.update(samples=total, exact=100 * exact / judged,
                          lines=100 * lines / max(exact, 1), leaf=error,
                          errors=check.errors_of(samples))
    if not need_lines:
        del result.figures["lines"]
    if result.problems:
        for text, n in sorted(wrong.items(), key=lambda x: -x[1])[:4]:
            result.problems.append("  %d times: %s" % (n, text))
    return result


def cell(run, name, program, why, kind, mode):
    if not program:
        raise suite.Skip(why or "no such program here")
    folder = os.path.join(run.args.dir, name + ".program")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    if run.row:
        run.row["release"] = version_of(program)
    process, pid = {"deno": start_deno, "workerd": start_workerd,
                    "chromium": start_chromium}[kind](program, MODES.get(mode, []), folder)
    samples, results = [], []
    try:
        for _ in range(RECORDINGS_MOST):
            capture, text = run.record_process(name, pid)
            mine = check.select(capture, pid)
            samples += [s for s in mine if s.attributes.get("thread.id") == busiest(mine)]
            results += [check.check_rules(capture), check.check_accounting(text)]
            if sum(s.count for s in samples) >= ENOUGH:
                break
    finally:
        suite.stop([process])
    run.judge(name, judge(samples, kind != "chromium" and EAGER in MODES.get(mode, [])), *results)


def busiest(samples):
    threads = {}
    for s in samples:
        thread = s.attributes.get("thread.id")
        threads[thread] = threads.get(thread, 0) + s.count
    return max(threads, key=threads.get, default=None)


def version_of(program):
    done = subprocess.run([program, "--version"], capture_output=True, text=True)
    found = re.search(r"\d+(\.\d+)+|\d{4}-\d\d-\d\d", done.stdout)
    return found.group(0) if found else ""


def programs(names):
    done = subprocess.run(["sh", os.path.join(HERE, "fetch.sh"), *names], capture_output=True,
                          text=True)
    return dict(line.split(" ", 1) for line in done.stdout.splitlines()), " ".join(
        done.stderr.split())[-200:]


def main():
    parser = suite.parser("otelprof")
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--hz", type=int, default=999)
    run = suite.Run(parser.parse_args())
    run.suite = "v8"
    cells = {"-".join(x for x in (program, mode) if x): (program, mode)
             for program in PROGRAMS for mode in ("", *MODES)}
    wanted = [name for name in cells if name in (run.args.cells or DEFAULT)]
    found, why = ({}, "") if run.args.list else programs(
        sorted({cells[name][0] for name in wanted}))
    for name in wanted:
        program, mode = cells[name]
        run.cell(name, cell, found.get(program), why, program, mode, row=suite.row(
            "V8 elsewhere", {"deno": "Deno 2.9", "workerd": "workerd 1.2026",
                             "chromium": "Chromium 156"}[program], " ".join(MODES.get(mode, [])),
            "spin"))
    return run.status()


if __name__ == "__main__":
    sys.exit(main())
