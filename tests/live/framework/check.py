#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare a recording with stacks and shares that are known by construction.

    check.py chain FILE --cell NAME --pid PID [--twin ELF] [--hz N --cpu-ns N]
    check.py storm FILE --children FILE --hz N --ms N
    check.py accounting TEXT_FILE
    check.py rules FILE

A stack is *exact* if all of it, leaf to root, matches the only pattern of its program: allowed
callees of the leaf, the leaf, each function of the chain once and in order, and all start-up
frames.
"""

import argparse
import bisect
import re
import subprocess
import sys
from dataclasses import dataclass, field

import cells
import otlp


@dataclass
class Result:
    problems: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    figures: dict = field(default_factory=dict)  # see suite.row()

    @property
    def ok(self):
        return not self.problems

    def need(self, condition, text):
        (self.notes if condition else self.problems).append(text)


class Symbols:
    """Functions of an ELF file by address, from nm."""

    def __init__(self, path):
        out = subprocess.run(["nm", "-S", "-C", "--defined-only", path], check=True,
                             capture_output=True, text=True).stdout
        rows = []
        for line in out.splitlines():
            match = re.match(r"([0-9a-f]+) (?:([0-9a-f]+) )?([tTwWiu]) (.*)", line)
            if match:
                start = int(match.group(1), 16)
                rows.append((start, int(match.group(2) or "1", 16), match.group(4)))
        rows.sort()
        self.rows = rows
        self.starts = [row[0] for row in rows]

    def find(self, address):
        """The names of the functions that hold @address."""
        at = bisect.bisect_right(self.starts, address)
        return [name for start, size, name in self.rows[max(0, at - 8):at]
                if start <= address < start + size]


def is_kernel(frame):
    return frame.type == "kernel"


def stack_names(sample, cell, names_of):
    """The user stack's names, leaf first, one a line."""
    frames = [f for f in sample.frames if not is_kernel(f)]
    if cell.only_type:
        frames = [f for f in frames if f.type == cell.only_type]
    return "".join(names_of(f) + "\n" for f in frames)


def name_by_record(frame):
    return frame.name


def name_by_address(symbols, basename, cell):
    """A function from frame to name. Frames of the program itself are named by the twin's
    symbols."""
    def find(frame):
        if frame.mapping != basename:
            return frame.name
        names = symbols.find(frame.address)
        known = [n for n in names if re.fullmatch(cell.known, n)]
        return (known or names or [frame.name])[0]
    return find


def select(capture, pid=None, comm=None):
    return [s for s in capture.samples if s.sample_type[0] == "samples" and
            (pid is None or s.pid == pid) and
            (comm is None or s.exe == comm)]


ENDING = re.compile(r"\[(?:unwind error: (\w+)|(truncated|no unwind table yet|stack lost))\]")


def errors_of(samples):
    """The reasons why stacks end early: {name: samples}."""
    errors = {}
    for sample in samples:
        match = ENDING.fullmatch(sample.frames[-1].name) if sample.frames else None
        if match:
            name = match[1] or match[2]
            errors[name] = errors.get(name, 0) + sample.count
    return errors


def check_pattern(samples, cell, names_of, how, result):
    """Counts exact stacks and leaves. Returns the share of each leaf."""
    pattern = re.compile(cell.pattern)
    leaf = re.compile(cell.leaf_anywhere, re.M)
    others = re.compile(cell.others) if cell.others else None
    total = exact = 0
    leaves = {}
    wrong = {}
    for sample in samples:
        names = stack_names(sample, cell, names_of)
        if others and others.fullmatch(names):
            continue
        total += sample.count
        match = pattern.fullmatch(names)
        if match:
            exact += sample.count
        else:
            wrong[names] = wrong.get(names, 0) + sample.count
        found = leaf.search(names)
        if found:
            key = cell.leaf_of(found.group(0))
            leaves[key] = leaves.get(key, 0) + sample.count
    share = exact / total if total else 0
    result.figures["exact"] = min(share * 100, result.figures.get("exact", 100))
    result.need(share >= cell.exact, "exact by %s %.2f %% of %d (at least %.0f %%)" %
                (how, share * 100, total, cell.exact * 100))
    if share < cell.exact:
        for names, count in sorted(wrong.items(), key=lambda x: -x[1])[:3]:
            result.problems.append("  %d times: %s" % (count, " ".join(names.split("\n"))))
    known = sum(leaves.values())
    return {key: count / known for key, count in leaves.items()}


def check_shares(shares, cell, result):
    if cell.leaf_points is None:
        return
    error = max(abs(shares.get(key, 0) - truth) * 100 for key, truth in cell.shares.items())
    result.figures["leaf"] = error
    result.need(error <= cell.leaf_points, "leaf error %.2f points (at most %.1f): %s" % (
        error, cell.leaf_points,
        " ".join("%s %.1f %%" % (k, v * 100) for k, v in sorted(shares.items()))))


def check_lines(samples, cell, lines, result):
    """In exact stacks, is each function of @lines, {name: its lines}, at one of its lines?"""
    pattern = re.compile(cell.pattern)
    total = right = 0
    wrong = {}
    for sample in samples:
        if not pattern.fullmatch(stack_names(sample, cell, name_by_record)):
            continue
        odd = ["%s:%d" % (f.name, f.line) for f in sample.frames
               if (not cell.only_type or f.type == cell.only_type) and
               f.line not in lines.get(f.name, (f.line,))]
        total += sample.count
        right += 0 if odd else sample.count
        if odd:
            wrong[" ".join(odd)] = wrong.get(" ".join(odd), 0) + sample.count
    share = right / total if total else 0
    result.figures["lines"] = share * 100
    result.need(share >= cell.exact, "lines right in %.2f %%" % (share * 100))
    if share < cell.exact:
        for odd, count in sorted(wrong.items(), key=lambda x: -x[1])[:3]:
            result.problems.append("  %d times: %s" % (count, odd))


def check_chain(capture, cell, pid=None, comm=None, twin=None, basename=None, hz=None,
                cpu_ns=None, stolen_ns=0):
    """@stolen_ns: time that the host of a virtual machine may have taken while the program was on a
    CPU. The program's CPU time leaves it out, but the timer of samples does not."""
    result = Result()
    samples = select(capture, pid, comm)
    total = sum(s.count for s in samples)
    result.figures.update(samples=total, errors=errors_of(samples))
    result.need(total >= cell.min_samples, "%d samples (at least %d)" %
                (total, cell.min_samples))
    if not total:
        return result
    by_name = check_pattern(samples, cell, name_by_record, "name", result) \
        if cell.by_name else None
    by_address = None
    if twin:
        find = name_by_address(Symbols(twin), basename, cell)
        by_address = check_pattern(samples, cell, find, "address", result)
    check_shares(by_name or by_address or {}, cell, result)
    if cpu_ns:
        least = cpu_ns * hz / 1e9
        most = (cpu_ns + stolen_ns) * hz / 1e9
        result.need(least * (1 - cell.count_error) <= total <= most * (1 + cell.count_error),
                    "%d samples for %.0f to %.0f expected (within %.0f %%)" %
                    (total, least, most, cell.count_error * 100))
    return result


EDGES_MOST = 0.2  # share of a process of 30 ms: what exec, its linker and its end take


def check_storm(capture, children, hz, ms, seen=280 / 300, kept=0.95):
    """@children: {pid: name of the executable}."""
    result = Result()
    cell = cells.CELLS["storm"]
    pattern = re.compile(cell.pattern)
    chain = re.compile(cell.leaf_anywhere, re.M)
    found = set()
    total = exact = misnamed = edges = 0
    for sample in select(capture):
        stack = stack_names(sample, cell, name_by_record)
        if sample.pid not in children:
            continue  # a process of something else, perhaps another storm
        if sample.exe != children[sample.pid]:
            # between fork and exec a child has its parent's name
            misnamed += sample.count if chain.search(stack) else 0
            continue
        found.add(sample.exe)
        total += sample.count
        if not stack or (stack.endswith("\n_start\n") and "\nmain\n" not in stack):
            edges += sample.count  # before main() and after it
        exact += sample.count if pattern.fullmatch(stack) else 0
    expected = len(children) * ms * hz / 1000
    result.need(len(found) >= seen * len(children), "%d of %d processes seen (at least %d)" %
                (len(found), len(children), seen * len(children)))
    result.need(total >= kept * expected, "%d samples of %.0f kept (at least %.0f %%)" %
                (total, expected, kept * 100))
    result.need(total and edges <= EDGES_MOST * total,
                "%d before and after main (at most %.0f %%)" % (edges, EDGES_MOST * 100))
    result.need(total > edges and exact >= cell.exact * (total - edges),
                "%d of %d other stacks exact (at least %.0f %%)" %
                (exact, total - edges, cell.exact * 100))
    result.need(misnamed == 0, "%d samples under the name of another program" % misnamed)
    return result


# either "taken 10 = exported 7 + …" or "10 taken = 7 exported + …"
ACCOUNTING = (r"%s[ =:]+(\d+)", r"(\d+)[ a-z]*%s")


def accounting(text):
    """{taken, exported, filtered, dropped} of the last accounting line of @text, or None."""
    out = None
    for line in text.splitlines():
        for form in ACCOUNTING:
            matches = {word: re.search(form % word, line)
                       for word in ("taken", "exported", "filtered", "dropped")}
            if all(matches.values()):
                out = {word: int(match.group(1)) for word, match in matches.items()}
                break
    return out


def check_accounting(text, capture=None):
    result = Result()
    row = accounting(text)
    result.need(row is not None, "an accounting line was printed")
    if row:
        right = row["exported"] + row["filtered"] + row["dropped"]
        result.need(row["taken"] == right, "taken %d = exported %d + filtered %d + dropped %d"
                    % (row["taken"], row["exported"], row["filtered"], row["dropped"]))
        result.need(row["taken"] > 0, "something was taken")
    if row and capture:
        there = sum(s.count for s in capture.samples)
        result.need(there == row["exported"], "%d samples in the file, %d exported" %
                    (there, row["exported"]))
    return result


def check_rules(capture):
    result = Result()
    result.need(capture.requests > 0, "%d requests" % capture.requests)
    for violation in capture.violations:
        result.need(False, "rule broken: " + violation)
    return result


def report(result):
    for note in result.notes:
        print("  ok   " + note)
    for problem in result.problems:
        print("  FAIL " + problem)
    return 0 if result.ok else 1


def read_children(path):
    with open(path, encoding="utf-8") as f:
        rows = [line.split() for line in f if line.startswith("child ")]
    return {int(pid): name for _, pid, name in rows}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["chain", "storm", "accounting", "rules"])
    parser.add_argument("file")
    parser.add_argument("--cell", default="c")
    parser.add_argument("--pid", type=int)
    parser.add_argument("--comm")
    parser.add_argument("--twin")
    parser.add_argument("--basename")
    parser.add_argument("--hz", type=float, default=0)
    parser.add_argument("--ms", type=float, default=30)
    parser.add_argument("--cpu-ns", type=int, default=0)
    parser.add_argument("--children")
    args = parser.parse_args()
    if args.what == "accounting":
        with open(args.file, encoding="utf-8", errors="replace") as f:
            return report(check_accounting(f.read()))
    capture = otlp.read_file(args.file)
    if args.what == "rules":
        return report(check_rules(capture))
    if args.what == "storm":
        return report(check_storm(capture, read_children(args.children), args.hz, args.ms))
    return report(check_chain(capture, cells.CELLS[args.cell], args.pid, args.comm, args.twin,
                              args.basename, args.hz, args.cpu_ns))


if __name__ == "__main__":
    sys.exit(main())
