#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Boot Debian kernels under qemu and check what otelprof records in each.

    tests/system/vm/vm.py --dir DIR [--build DIR] [--arch x86_64|aarch64] [--cpu CPU]
                   [--seconds S] [--cells CELL,…] [--parts PART,…] [--again] [VERSION...]

Prints "ok|FAIL|skip SUITE VERSION/CELL: what" for each program, where SUITE is vm or
vm-arm64, and writes loads.md into DIR: what each kernel program costs to load. Exits 0 (all
passed), 1 (one failed) or 77 (nothing could run). For aarch64 otelprof and the programs are
built by this script, with the cross compiler. The guest is emulated (tcg), so it runs on any
machine; a load on the host makes it slow, never wrong: time-outs are generous, and of samples
only a fraction is asked for. --again judges the recordings of the last run. A PART is loads,
ten, a kind of events, or cells; by default all are run.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import replace

import guest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "..", "..", "..")
sys.path[:0] = [os.path.join(HERE, "..", "..", "live", name)
                for name in ("framework", "languages/python")]

import build as truth
import cells as known
import check
import otlp
import python as known_python
import runtimes

VERSIONS = ["5.10", "6.1", "6.12", "7.2"]
BOOT_SECONDS = 900  # and for each cell
CELL_SECONDS = 90
INSTRUCTIONS_MAX = 60000  # of a program with one runtime at most
ALL_MAX = 110000  # with all of them
# Each has a recording KIND.txt of its test.
KINDS = ["off_cpu", "locks", "kernel_locks", "wakers", "waker_reasons", "block_io",
         "block_io_ends", "block_io_queue", "block_io_flush", "signals", "wall", "threads",
         "probes", "values", "page_faults", "growth", "fault_ticks", "heap", "kinds"]
FOLDERS = {"fault_ticks": "page_faults", "growth": "page_faults", "values": "probes",
           "waker_reasons": "wakers", "block_io_ends": "block_io",  # others: their own
           "block_io_queue": "block_io", "block_io_flush": "block_io", "kinds": "together"}
PARTS = ["loads", "ten", *KINDS, "cells"]
TESTS = ["live/walkers/test_walkers", "live/walkers/test_ten"] + [
    "live/kinds/%s/test_%s" % (FOLDERS.get(k, k), k) for k in KINDS]
# What a test starts, by the path at which it was built.
NEEDED = ["tests/live/kinds/heap/heap_places", "lib/preload/heap/libotelprof-heap.so.0.1.0"]
QUICK = ["c-gcc", "c-clang", "c-fp", "c-static", "c-stripped", "shapes-gcc", "signals", "vdso",
         "deep-600", "threads", "plt", "cpp-gcc", "cpp-throw", "rust", "go", "python", "php",
         "hotspot", *(name for name in runtimes.CHECKS if name.split("-")[0] in runtimes.SCRIPTS)]
PAC = "-O2 -fomit-frame-pointer -mbranch-protection="
AARCH64 = {
    # return addresses signed with key A or B, in leaf functions too
    "c-pac": replace(known.CELLS["c-gcc"], command="gcc %spac-ret {src} -o {out}" % PAC),
    "c-pac-leaf": replace(known.CELLS["c-gcc"],
                          command="gcc %spac-ret+leaf+b-key {src} -o {out}" % PAC),
    "cpp-pac": replace(known.CELLS["cpp-gcc"],
                       command="g++ %sstandard {src} -o {out}" % PAC),
}
# Features of file systems that 5.10 knows.
MKE2FS = """[defaults]
	base_features = sparse_super,large_file,filetype,resize_inode,dir_index,ext_attr
[fs_types]
	ext4 = {
		features = has_journal,extent,huge_file,flex_bg,64bit,dir_nlink,extra_isize
	}
"""
# What an emulated guest gives: fewer samples, and shares by a clock that stands still at times.
SEEN = {"leaf_points": None, "min_samples": 100}


def links(first, last, name="f%d"):
    """The pattern of a chain from any link down, or of none of it."""
    pattern = ""
    for n in range(first, last + 1):
        pattern = "(?:%s%s\n)?" % (pattern, name % n)
    return pattern


# There a signal takes long to come and to go: stacks that wait for it, and of its handler on the
# way to a leaf.
WAITING = (links(1, 12) + r"(?:on_signal\n)?(?:__restore_rt\n|__kernel_rt_sigreturn\n|"
           r"\[vdso\]\+0x[0-9a-f]+\n|%s\n)?(?:tiny\n|(?:__)?setitimer\n)?victim\n" %
           known.NO_NAME + known.chain(13, 24) + known.RUN + "main\n" + known.LIBC_START)
# And Go's preemption takes its share: by a signal, then a call that its handler injects.
PREEMPTED = (r"(?:(?:(?!main\.)[^\n]+\n)*(?:runtime\.sigtramp[^\n]*\n(?:__kernel_rt_sigreturn|"
             r"runtime\.sigreturn[^\n]*)|runtime\.asyncPreempt[^\n]*)\n)?")
# While a landing pad is installed the stack is of two frames at once (see tests/live/framework/cells.py):
# on aarch64 libgcc copies 97 registers for it, one after the other.
THROWING = {"x86_64": 0.97, "aarch64": 0.90}


# Emulated, a call of the chain takes so long that it is seen on the way to a leaf or back. That is
# not counted, but few may be: a walk that loses its leaf looks the same.
NAMES_OF = {"python": "Python", "php": "PHP", "hotspot": "HotSpot", "node": "Node"}  # for the table
MOST = (0, float("inf"))
NAMES = ("f%d", r"truth::link<%d>::run(?:\(job\*\))?", "chain::f%d", r"main\.f%d")
ON_THE_WAY_MOST = 0.05
WAITING_MOST = 0.8


def on_the_way(cell):
    """The pattern of @cell's chain from any link down, or None."""
    for name in NAMES:
        whole = known.chain(name=name)
        if cell.pattern.count(whole) == 1:
            return links(1, 24, name) + cell.pattern.split(whole)[1]
    return None


class Setup:
    """What all kernels of one architecture have in common."""

    def __init__(self, args):
        self.arch = args.arch
        self.how = guest.ARCHES[args.arch]
        self.suite = "vm" if args.arch == "x86_64" else "vm-" + self.how.debian
        self.seconds = args.seconds
        self.again = args.again
        self.parts = args.parts.split(",")
        self.dir = os.path.abspath(args.dir)
        self.cells = {**known.CELLS, **(AARCH64 if args.arch == "aarch64" else {})}
        self.cells["signals"] = replace(self.cells["signals"], others=WAITING)
        self.cells["go"] = replace(self.cells["go"],
                                   pattern=PREEMPTED + self.cells["go"].pattern)
        self.cells["cpp-throw"] = replace(self.cells["cpp-throw"], exact=THROWING[args.arch])
        for name, cell in self.cells.items():
            self.cells[name] = replace(cell, others="|".join(
                "(?:%s)" % p for p in (cell.others, on_the_way(cell)) if p))
        self.names = args.cells.split(",") if args.cells else QUICK + (
            list(AARCH64) if args.arch == "aarch64" else [])
        if "cells" not in self.parts:
            self.names = []
        self.programs = os.path.join(self.dir, "truth-" + self.how.debian)
        self.build = os.path.abspath(args.build) if args.build else None
        self.skipped = []
        os.makedirs(self.programs, exist_ok=True)

    def prepare(self):
        """Everything but the kernel. Raises CalledProcessError."""
        out = subprocess.run(["sh", os.path.join(HERE, "sysroot.sh"), self.how.debian],
                             check=True, stdout=subprocess.PIPE, text=True)
        self.sysroot, rust, self.runtimes, self.trixie = out.stdout.split()
        if self.arch == "aarch64":
            self.cross(rust)
        truth.cells.CELLS.update(self.cells)
        disk = guest.Disk(self.arch, [self.sysroot, self.runtimes],
                          os.path.join(self.dir, "disk"))
        self.fill(disk)
        self.image = os.path.join(self.dir, "disk-%s.ext4" % self.how.debian)
        disk.image(self.image)

    def cross(self, rust):
        tools = os.path.join(self.dir, "tools")
        subprocess.run(["sh", os.path.join(HERE, "tools.sh"), tools, self.sysroot, rust],
                       check=True)
        self.build = os.path.join(self.dir, "build-arm64")
        if not os.path.exists(os.path.join(self.build, "build.ninja")):
            subprocess.run(["meson", "setup", self.build, TOP, "--buildtype=release",
                            "--cross-file", os.path.join(tools, "cross.ini"),
                            "-Dgrpc=disabled", "-Dhttp=disabled"],
                           check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["ninja", "-C", self.build, "-j2", "examples/otelprof/otelprof",
                        *("tests/" + test for test in TESTS), *NEEDED], check=True,
                       stdout=subprocess.DEVNULL)
        os.environ["PATH"] = os.path.join(tools, "bin") + ":" + os.environ["PATH"]

    def fill(self, disk):
        """otelprof, Python and the known-answer programs, and the list of cells."""
        disk.add(find_file(self.build, "otelprof"), "usr/bin/otelprof")
        library = find_file(self.build, "libotelprof.so.0")
        disk.add(library, os.path.join(disk.libraries, os.path.basename(library)))
        disk.add(os.path.join(self.sysroot, "usr/bin/python3.11"), "usr/bin/python3.11")
        disk.add_folder(os.path.join(self.sysroot, "usr/lib/python3.11"), "usr/lib/python3.11",
                        ("__pycache__", "/test/", "/idlelib/", "/ensurepip/"))
        disk.add(os.path.join(HERE, "..", "..", "live", "languages", "python", "known.py"), "truth/known.py")
        lines = []
        for name in self.names:
            if name == "python":
                lines.append("python 10 %d python3.11 /truth/known.py spin 600" % self.seconds)
                continue
            if name in runtimes.CHECKS:
                command, why = self.add_runtime(disk, name)
                times = runtimes.SCRIPT_SECONDS if name in runtimes.SCRIPTS else 1
                if command:
                    lines.append("%s 10 %d %s" % (name, self.seconds * times, command))
                else:
                    self.skipped.append((name, why))
                continue
            path, why = truth.build(name, self.programs)
            if not path:
                self.skipped.append((name, why))
                continue
            lines.append("%s 2 %d %s 600" % (name, self.seconds, path))
        loads = os.path.join(self.programs, "loads.so")
        bits = os.path.join(self.programs, "bits")
        subprocess.run(["gcc", "-O2", "-Wall", "-shared", "-fPIC", os.path.join(HERE, "loads.c"),
                        "-o", loads, "-ldl"], check=True)
        subprocess.run(["gcc", "-O2", "-Wall", os.path.join(HERE, "bits.c"), "-o", bits],
                       check=True)
        # where they were built: some know where their library is
        disk.add_folder(self.programs, self.programs.lstrip("/"))
        disk.add(loads, "truth/loads.so")
        for test in TESTS:
            disk.add(os.path.join(self.build, "tests", test),
                     "truth/" + os.path.basename(test))
        for name in NEEDED:
            disk.add(os.path.join(self.build, name), os.path.join(self.build, name).lstrip("/"))
        disk.add(bits, "truth/bits")
        if self.arch == "x86_64":  # this machine's own
            disk.add(shutil.which("mke2fs"), "usr/bin/mkfs.ext4")
            disk.write("etc/mke2fs.conf", MKE2FS)
        disk.write("cells", "".join(line + "\n" for line in lines))
        disk.write("parts", "\n".join(self.parts) + "\n")

    def add_runtime(self, disk, name):
        if name == "php":
            return runtimes.add_php(disk, self.runtimes)
        if name.split("-")[0] in runtimes.SCRIPTS:
            return runtimes.add_script(disk, self.runtimes, self.trixie, name), None
        return runtimes.add_hotspot(disk, self.runtimes, self.how.debian, self.dir, name)


def find_file(top, name):
    for folder, _, names in os.walk(top):
        path = os.path.join(folder, name)
        if name in names and os.path.isfile(path):
            return path
    raise FileNotFoundError("no %s in %s" % (name, top))


def read(*path):
    try:
        with open(os.path.join(*path), encoding="utf-8", errors="replace") as f:
            return f.read()
    except FileNotFoundError:
        return ""


def check_cell(setup, name, out):
    """check.Result of cell @name, whose recording is in folder @out."""
    text = read(out, name + ".txt")
    result = check.Result()
    status = re.search(r"^exit (\d+)", text, re.M)
    if not status or status.group(1) != "0":
        result.need(False, "otelprof record: %s: %s" % (
            status.group(0) if status else "did not end",
            " ".join(text.strip().splitlines()[-5:])[-700:]))
        return result
    capture = otlp.read_file(os.path.join(out, name + ".otlp"))
    if name == "python":
        cell = replace(known_python.CELL, **SEEN)
        result = check.check_chain(capture, cell, None, "python3.11")
        known_python.check_mix(capture, result)
    elif name in runtimes.CHECKS:
        result = runtimes.CHECKS[name](capture, read(out, name + ".program"))
    else:
        cell = replace(setup.cells[name], **SEEN)
        twin = cell.twin or name
        path = os.path.join(setup.programs, twin) if cell.by_address else None
        result = check.check_chain(capture, cell, None, name, path, name)
        check_others(capture, cell, name, path, result)
    for more in (check.check_rules(capture), check.check_accounting(text)):
        result.problems += more.problems
    return result


def check_others(capture, cell, name, twin, result):
    """Stacks that the cell does not count are few."""
    names_of = check.name_by_record if cell.by_name else check.name_by_address(
        check.Symbols(twin), name, cell)
    samples = check.select(capture, None, name)
    total = sum(s.count for s in samples)
    others = sum(s.count for s in samples if cell.others and re.fullmatch(
        cell.others, check.stack_names(s, cell, names_of)))
    most = WAITING_MOST if name in ("signals", "go") else ON_THE_WAY_MOST
    result.need(others <= most * total, "%d of %d on the way" % (others, total))


def loads_of(out):
    """{program: (instructions, milliseconds)} and [refusal], as test_walkers and, between its
    lines, loads.c wrote them."""
    loaded, refused = {}, []
    runtime = "none"
    for line in read(out, "loads.txt").splitlines():
        words = line.split()
        if line.startswith("with "):
            runtime = words[1]
        elif line.startswith("load ") and runtime != "some":
            name = words[1] + ("" if runtime == "none" else " with " + NAMES_OF.get(
                runtime, runtime))
            # of several loads the fastest: the machine may be busy
            loaded[name] = min((int(words[2]), float(words[3])), loaded.get(name, MOST),
                               key=lambda row: row[1])
        elif line.startswith("refused "):
            refused.append([line])
        elif refused:
            refused[-1].append(line.strip())
    # libbpf tries a refused program again for its log; op_probe asks what is allowed
    refused = [r for r in refused if r[0].split()[1] not in (*loaded, "op_probe")]
    return loaded, ["\n".join(r) for r in refused]


def tens_of(out):
    """{program: (instructions, milliseconds)}: with ten runtimes, as test_ten printed them. Of
    those with one each, the most."""
    most = {}
    for name, runtimes, instructions, ms in re.findall(
            r"  (\w+), runtimes 0x(\w+): (\d+) instructions verified, ([\d.]+) ms",
            read(out, "ten.txt")):
        count = bin(int(runtimes, 16)).count("1")
        key = name + {0: ", ten: none", 1: ", ten: the most"}.get(count, " with ten")
        most[key] = max(most.get(key, (0, 0)), (int(instructions), float(ms)))
    return most


def check_size(report, version, loaded):
    """No program takes more of the verifier than its share."""
    for what, most, every in (("one runtime", INSTRUCTIONS_MAX, False), ("all", ALL_MAX, True)):
        rows = [(row[0], name) for name, row in loaded.items()
                if bool(re.search("_whole| with (all|ten)$", name)) == every]
        if rows:
            report.say("ok" if max(rows)[0] <= most else "FAIL", version + "/size",
                       "the largest program with %s, %s: %s instructions" % (
                           what, max(rows)[1], format(max(rows)[0], ",")))


def write_loads(path, arch, table):
    """Instructions and milliseconds: the table of docs/kernel-support.md."""
    programs = sorted({p for loaded in table.values() for p in loaded})
    with open(path, "w", encoding="utf-8") as f:
        f.write("| %s | %s |\n|---|%s\n" % (arch, " | ".join(table), "---|" * len(table)))
        for program in programs:
            row = ["%s, %.0f" % (format(v[0], ","), v[1]) if v else "–"
                   for v in (loaded.get(program) for loaded in table.values())]
            f.write("| %s | %s |\n" % (program, " | ".join(row)))


def check_signature(report, version, text):
    """Does a signature begin where the process's addresses end? The walk takes them apart by
    the end of the addresses (mm->task_size), and the kernel tells debuggers the bits."""
    found = re.match(r"(\d+)\nsignature 0x([0-9a-f]+)$", text.strip())
    if not found:
        return report.say("skip", version + "/signature", "this CPU does not sign")
    bits, mask = int(found.group(1)), int(found.group(2), 16)
    ok = mask and mask & -mask == 1 << bits
    report.say("ok" if ok else "FAIL", version + "/signature",
               "addresses of %d bits, signatures in %#x" % (bits, mask))


class Report:
    def __init__(self, suite):
        self.suite = suite
        self.failed = self.passed = 0

    def say(self, status, name, text, problems=()):
        print("%s %s %s: %s" % (status, self.suite, name, " ".join(text.split())), flush=True)
        for problem in problems:
            print("    " + "\n    ".join(problem.splitlines()[-25:]), flush=True)
        self.failed += status == "FAIL"
        self.passed += status == "ok"


def check_ten(report, version, text, tens):
    ok = re.search(r"^exit 0$", text, re.M)
    report.say("ok" if ok else "FAIL", version + "/ten",
               "; ".join("%s: %s instructions" % (name, format(row[0], ","))
                         for name, row in sorted(tens.items())), [] if ok else [text])
    return tens


def run_kernel(setup, report, version, kernel, cpu):
    """Boot @version, check everything. Returns what its programs cost to load."""
    started = time.monotonic()
    version += "-" + cpu.split(",")[0] if cpu else ""
    name = "%s-%s" % (setup.how.debian, version)
    image = os.path.join(setup.dir, name + ".ext4")
    log = os.path.join(setup.dir, name + ".console")
    if setup.again:
        console = read(log).replace("\r", "")
        out = os.path.join(setup.dir, name, "out")
    else:
        shutil.copy(setup.image, image)
        console = guest.boot(setup.arch, kernel, guest.make_initramfs(setup.sysroot, kernel),
                             image, cpu, log,
                             BOOT_SECONDS + CELL_SECONDS * len(setup.names))
        out = guest.results(image, os.path.join(setup.dir, name))
        os.unlink(image)
    release = re.search(r"^VM: kernel (\S+)", console, re.M)
    if not release:
        report.say("FAIL", version + "/boot", "the kernel did not boot",
                   [console[-2000:]])
        return {}
    loaded, refused = loads_of(out)
    wanted = "loads" in setup.parts
    what = "%s, %s, addresses of %s bits, %.0f s" % (
        release.group(1), "BTF" if "VM: btf yes" in console else "no BTF",
        (read(out, "bits.txt").split() or ["unknown"])[0], time.monotonic() - started)
    report.say("FAIL" if refused or (wanted and not loaded) or "VM: end" not in console else "ok",
               version + "/load", "%d programs loaded, %d refused (%s)" %
               (len(loaded), len(refused), what),
               refused or ([] if loaded or not wanted else
                           [read(out, "loads.txt"), read(out, "doctor.txt")]))
    if wanted:
        check_size(report, version, loaded)
    if "ten" in setup.parts:
        loaded.update(check_ten(report, version, read(out, "ten.txt"), tens_of(out)))
    for kind in (k for k in KINDS if k in setup.parts):
        text = read(out, kind + ".txt")
        ok = re.search(r"^exit 0$", text, re.M)
        why = re.search(r"^SKIP: (.*)", text, re.M)
        if ok and why:
            report.say("skip", version + "/" + kind, why.group(1))
            continue
        report.say("ok" if ok else "FAIL", version + "/" + kind, "; ".join(
            line.strip() for line in text.splitlines() if ", wanted " in line or
            "told or dropped" in line or ", anywhere: " in line or
            " switches, " in line or "told: " in line),
                   [] if ok else [text])
    if setup.arch == "aarch64":
        check_signature(report, version, read(out, "bits.txt"))
    for cell in setup.names:
        if cell in dict(setup.skipped):
            report.say("skip", version + "/" + cell, dict(setup.skipped)[cell])
            continue
        try:
            result = check_cell(setup, cell, out)
        except Exception as e:  # a broken recording is a result too
            report.say("FAIL", version + "/" + cell, "%s: %s" % (type(e).__name__, e))
            continue
        report.say("ok" if result.ok else "FAIL", version + "/" + cell,
                   "; ".join(result.notes[:3]) if result.ok else "wrong", result.problems)
    return loaded


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir", required=True)
    parser.add_argument("--build", default="")
    parser.add_argument("--arch", choices=list(guest.ARCHES), default="x86_64")
    parser.add_argument("--cpu", default="")
    parser.add_argument("--seconds", type=int, default=6)
    parser.add_argument("--cells", default="")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--again", action="store_true")
    parser.add_argument("versions", nargs="*", default=VERSIONS)
    args = parser.parse_args()
    setup = Setup(args)
    report = Report(setup.suite)
    tools = [setup.how.qemu, "mke2fs", "debugfs", "readelf"]
    tools += ["aarch64-linux-gnu-gcc", "meson"] if args.arch == "aarch64" else []
    missing = [tool for tool in tools if not shutil.which(tool)]
    if missing:
        report.say("skip", "all", "no " + " ".join(missing))
        return 77
    try:
        if not setup.again:
            setup.prepare()
    except (subprocess.CalledProcessError, FileNotFoundError) as e:
        report.say("FAIL", "all", "cannot be prepared: %s" % e)
        return 1
    flag = ["--arm64"] if args.arch == "aarch64" else []
    fetched = subprocess.run(["sh", os.path.join(HERE, "fetch.sh"), *flag, *args.versions],
                             stdout=subprocess.PIPE, text=True)
    kernels = dict(line.split(" ", 1) for line in fetched.stdout.splitlines())
    table = {}
    for version in args.versions:
        if version in kernels:
            table[version] = run_kernel(setup, report, version, kernels[version], args.cpu)
        else:
            report.say("FAIL", version + "/boot", "could not be fetched")
    write_loads(os.path.join(setup.dir, "loads-%s.md" % setup.how.debian), args.arch, table)
    return 1 if report.failed else 0 if report.passed else 77


if __name__ == "__main__":
    sys.exit(main())
