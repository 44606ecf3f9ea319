#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The profiler on hosts and inputs that are not as they should be.

    robust.py --otelprof PROGRAM --dir DIR [CELL...]

Each cell ends in a profiler that works with reduced features, or in one sentence that says what is
missing; never in a crash, and never in a sample that is not accounted for.
"""

import os
import re
import shutil
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "framework"))
import cells  # noqa: E402
import check  # noqa: E402
import otlp  # noqa: E402
import suite  # noqa: E402

CELL = cells.replace(cells.CELLS["c-gcc"], leaf_points=None, min_samples=50, exact=0.97)
SIGNALLED = 128


class Robust(suite.Run):
    suite = "robust"


def run(command, timeout=60):
    """(exit status, what was printed); a crash is a status of 128 and more."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired as e:
        return SIGNALLED + 14, "did not end: %s" % ((e.stderr or b"")[-300:])
    status = done.returncode
    return (SIGNALLED - status if status < 0 else status), done.stdout + done.stderr


def in_namespace(setup, command):
    """Run @command in a mount namespace of its own, after the shell code @setup."""
    return ["unshare", "-m", "sh", "-c", setup + '\nexec "$@"', "sh", *command]


def record_command(robust, out, pid, seconds=2):
    return [robust.args.otelprof, "record", "-v", "-F", "199", "-d", str(seconds), "-p",
            str(pid), "-o", out, "--format", "otlp"]


def with_chain(robust, name, wrap, setup=""):
    """Profile the chain under a changed host. It must work."""
    path = robust.program("c-gcc")
    out = robust.path("robust-%s.otlp" % name)
    process = suite.start(path, suite.LONG)
    try:
        status, text = run(wrap(setup, record_command(robust, out, process.pid)))
    finally:
        suite.stop([process])
    result = check.Result()
    result.need(status == 0, "exit %d%s" % (status, ": " + " ".join(text.split())[-200:]
                                            if status else ""))
    if status == 0:
        robust.judge(name, result, check.check_chain(otlp.read_file(out), CELL, process.pid),
                     check.check_accounting(text))
    else:
        robust.judge(name, result)


def cell_no_mounts(robust, name):
    with_chain(robust, name, in_namespace,
               "umount -l /sys/kernel/tracing /sys/kernel/debug /sys/fs/bpf 2>/dev/null; true")


def cell_no_kernel_names(robust, name):
    """/proc/kallsyms as with kptr_restrict=2: every address is zero."""
    zeros = robust.path("kallsyms")
    with open("/proc/kallsyms", encoding="ascii") as f, \
            open(zeros, "w", encoding="ascii") as g:
        g.writelines("0" * 16 + line[16:] for line in f)
    with_chain(robust, name, in_namespace, "mount --bind %s /proc/kallsyms" % zeros)


def cell_no_sys_resource(robust, name):
    if not shutil.which("setpriv"):
        raise suite.Skip("no setpriv")
    with_chain(robust, name, lambda _, command: [
        "setpriv", "--bounding-set", "-sys_resource", "--inh-caps", "-sys_resource", *command])


def cell_no_root(robust, name):
    """Without any rights the profiler says so in a sentence."""
    if not shutil.which("setpriv"):
        raise suite.Skip("no setpriv")
    suite.need_reach(robust.args.otelprof)
    status, text = run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                        robust.args.otelprof, "record", "-d", "1", "-o", "/dev/null",
                        "--format", "otlp"])
    result = check.Result()
    result.need(status == 1, "exit %d" % status)
    lines = text.strip().splitlines()
    result.need(0 < len(lines) <= 3, "%d lines: %s" % (len(lines), text.strip()[:200]))
    result.need(re.search(r"CAP_|root|perf_event_paranoid|permi", text), "it says what is missing")
    robust.judge(name, result)


def cell_kill_loop(robust, name):
    """Targets die by SIGKILL all the time."""
    path = robust.program("c-gcc")
    out = robust.path("robust-kill.otlp")
    profiler = subprocess.Popen([robust.args.otelprof, "record", "-v", "-F", "999", "-d", "4",
                                 "-o", out, "--format", "otlp"], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    killed = 0
    while profiler.poll() is None and killed < 200:
        process = subprocess.Popen([path, suite.LONG], stdout=subprocess.DEVNULL)
        time.sleep(0.004 * (killed % 8))
        process.kill()
        process.wait()
        killed += 1
    text = profiler.communicate(timeout=60)[0]
    result = check.Result()
    result.need(profiler.returncode == 0, "exit %d after %d kills: %s" %
                (profiler.returncode, killed, text.strip().splitlines()[-1:]))
    results = [result, check.check_accounting(text)]
    if profiler.returncode == 0:
        results.append(check.check_rules(otlp.read_file(out)))
    robust.judge(name, *results)


CHURN = """
while :; do
	i=0
	while [ $i -lt 50 ]; do /bin/true; i=$((i + 1)); done
	timeout -s KILL 0.2 "$0" 600 >/dev/null
done
"""
LOADS = 'sleep 2; i=0; while [ $i -lt 5 ]; do "$0" doctor >/dev/null 2>&1; i=$((i + 1)); done'


def cell_beside(robust, name):
    """A second profiler listens, and kernel programs are loaded while both run: what the kernel
    tells the first of processes that begin afterwards is still heard."""
    path = robust.program("c-gcc")
    out = robust.fresh("robust-%s.otlp" % name)
    record = [robust.args.otelprof, "record", "-v", "-F", "199", "--format", "otlp"]
    other = subprocess.Popen(["sh", "-c", 'sleep 1; exec "$@"', "sh", *record, "-d", "12", "-o",
                              robust.path("robust-other.otlp")],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    churn = subprocess.Popen(["sh", "-c", CHURN, path], stderr=subprocess.DEVNULL)
    loads = subprocess.Popen(["sh", "-c", LOADS, robust.args.otelprof])
    try:
        status, text = run([*record, "-d", "8", "-o", out])
    finally:
        suite.stop([churn, loads])
        suite.end(other)
    result = check.Result()
    result.need(status == 0, "exit %d" % status)
    samples = check.select(otlp.read_file(out), comm="c-gcc")
    total = sum(s.count for s in samples)
    errors = check.errors_of(samples)
    result.need(total >= 200, "%d samples" % total)
    result.need(sum(errors.values()) <= 0.05 * total, "of them end early: %s" % errors)
    robust.judge(name, result, check.check_accounting(text))


def cell_full_disk(robust, name):
    """The file system of -o is full: the profiler says so, and counts every sample."""
    path = robust.program("c-gcc")
    folder = robust.path("full")
    os.makedirs(folder, exist_ok=True)
    process = suite.start(path, suite.LONG)
    try:
        status, text = run(in_namespace(
            "mount -t tmpfs -o size=4k tmpfs %s; head -c 4096 /dev/zero >%s/filler" %
            (folder, folder), record_command(robust, folder + "/x.otlp", process.pid)))
    finally:
        suite.stop([process])
    result = check.Result()
    result.need(0 < status < SIGNALLED, "exit %d" % status)
    result.need(re.search(r"[Nn]o space|ENOSPC", text), "it says why: %s" % text.strip()[-300:])
    # If nothing was kept, the sentence itself has the count.
    lost = re.search(r"all (\d+) were dropped", text)
    more = [] if lost and int(lost[1]) else [check.check_accounting(text)]
    robust.judge(name, result, *more)


def cell_dead_endpoint(robust, name):
    """No server listens: the profiler ends in time, says so, and counts what was lost."""
    process = suite.start(robust.program("c-gcc"), suite.LONG)  # a quiet host has no samples
    try:
        started = time.monotonic()
        status, text = run([robust.args.otelprof, "export", "--endpoint",
                            "http://127.0.0.1:1", "-F", "99", "--interval", "1", "-d", "3"],
                           timeout=90)
        took = time.monotonic() - started
    finally:
        suite.stop([process])
    row = check.accounting(text) or {}
    result = check.Result()
    result.need(status < SIGNALLED, "exit %d" % status)
    result.need(took < 45, "took %.0f s" % took)
    result.need(row.get("exported") == 0 and row.get("dropped", 0) > 0,
                "lost samples are counted: %s" % row)
    result.need(re.search(r"127\.0\.0\.1:1|connect|UNAVAILABLE|unavailable", text),
                "it says what is wrong: %s" % text.strip()[-300:])
    robust.judge(name, result, check.check_accounting(text))


def cell_no_sections(robust, name):
    """A file is cut after its last segment and has no section headers: it is unwound all the same."""
    path = robust.program("c-gcc")
    cut = robust.fresh("c-cut")
    with open(path, "rb") as f:
        data = f.read()
    count = struct.unpack_from("<H", data, 56)[0]
    end = 0
    for i in range(count):  # program headers of 56 bytes: type, …, offset at 8, filesz at 32
        at = struct.unpack_from("<Q", data, 32)[0] + i * 56
        if struct.unpack_from("<I", data, at)[0] == 1:
            end = max(end, struct.unpack_from("<Q", data, at + 8)[0] +
                      struct.unpack_from("<Q", data, at + 32)[0])
    write_program(cut, data[:end])
    cell = cells.replace(CELL, by_name=False)
    with_program(robust, name, cut, lambda capture, pid: check.check_chain(
        capture, cell, pid, None, path, "c-cut"))


def cell_bad_record(robust, name):
    """Only f12's record of .eh_frame is garbled. Stacks are right up to f12; then they say why
    they end, or go on with the true callers, of which the first one is marked as a guess."""
    path = robust.program("c-gcc")
    with open(path, "rb") as f:
        data = bytearray(f.read())
    if not garble_record(path, data, "f12"):
        raise RuntimeError("the test found no record of f12")
    garbled = robust.fresh("c-garbled")
    write_program(garbled, bytes(data))

    def judge(capture, pid):
        ends = re.compile(cells.CLOCK + cells.one_of(cells.LEAVES) + cells.chain(1, 12) +
                          r"\[unwind error[^\n]*\]\n")

        def is_right(sample):
            names = check.stack_names(sample, CELL, check.name_by_record)
            guessed = [f.name for f in sample.frames if f.guessed]
            return ends.fullmatch(names) if not guessed else (
                guessed == ["f13"] and re.fullmatch(CELL.pattern, names))
        samples = check.select(capture, pid)
        total = sum(s.count for s in samples)
        right = sum(s.count for s in samples if is_right(s))
        result = check.Result()
        result.need(total >= 50 and right >= 0.97 * total,
                    "%d of %d stacks right up to f12, and saying why they end or that they guess"
                    % (right, total))
        return result
    with_program(robust, name, garbled, judge)


def garble_record(path, data, function):
    """Fill the instructions of @function's FDE with an opcode that does not exist."""
    sections = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True).stdout
    match = re.search(r" \.eh_frame +PROGBITS +(\w+) (\w+) (\w+)", sections)
    symbols = subprocess.run(["nm", path], capture_output=True, text=True).stdout
    address = int(re.search(r"(\w+) [tT] %s$" % function, symbols, re.M)[1], 16)
    start, offset, size = (int(x, 16) for x in match.groups())
    at = offset
    while at < offset + size:
        length, cie = struct.unpack_from("<Ii", data, at)
        if length == 0:
            break
        if cie:
            begin = struct.unpack_from("<i", data, at + 8)[0] + start + (at + 8 - offset)
            if begin == address:
                first = at + 17  # after length, CIE, begin, range, augmentation length 0
                data[first:at + 4 + length] = b"\x3f" * (at + 4 + length - first)
                return True
        at += 4 + length
    return False


def write_program(path, data):
    with open(path, "wb") as f:
        f.write(data)
    os.chmod(path, 0o755)


def with_program(robust, name, path, judge):
    out = robust.path("robust-%s.otlp" % name)
    process = suite.start(path, suite.LONG)
    try:
        status, text = run(record_command(robust, out, process.pid, 3))
    finally:
        suite.stop([process])
    if status:
        raise RuntimeError("exit %d: %s" % (status, text.strip()[-300:]))
    robust.judge(name, judge(otlp.read_file(out), process.pid), check.check_accounting(text))


CELLS = {
    "no-mounts": cell_no_mounts,
    "no-kernel-names": cell_no_kernel_names,
    "no-sys-resource": cell_no_sys_resource,
    "no-root": cell_no_root,
    "kill-loop": cell_kill_loop,
    "beside": cell_beside,
    "full-disk": cell_full_disk,
    "dead-endpoint": cell_dead_endpoint,
    "no-sections": cell_no_sections,
    "bad-record": cell_bad_record,
}


if __name__ == "__main__":
    sys.exit(Robust(suite.parser("otelprof").parse_args()).cells(CELLS))
