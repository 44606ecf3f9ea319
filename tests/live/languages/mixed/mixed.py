#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profile two.c, a process in which Python calls PHP and PHP calls Python; short scripts; and an
interpreter of a version that only a layout file of the user knows.

    mixed.py --otelprof PROGRAM --dir DIR [--hz N] [--seconds N] [CELL...]

    two      the frames of both interpreters and of C in their true order
    scripts  100 Python scripts of 150 ms each: how many of the samples in the interpreter's
             loop have its frames
    cross-LANGUAGE  java, node, python, ruby, go: it calls C that calls it again (crossings.py);
             python-java: Python that has made a JVM
    subs-VERSION  several interpreters in one process (subs.py)
    uwsgi    an interpreter in a server that forks (uwsgi.py)
    layouts  Python 3.11 that says it is 3.99: native frames and a sentence without a layout
             file, its own frames with one

Prints lines like tests/live/languages/native/run.py's.
"""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "framework"))

import check  # noqa: E402
import crossings  # noqa: E402
import subs  # noqa: E402
import suite  # noqa: E402
import uwsgi  # noqa: E402

SCRIPTS = 100
CARRY = 0.97
LOOP = "_PyEval_EvalFrameDefault"
SCRIPT = """
import time
def leaf(n):
    x = 0
    for i in range(n): x += i * i
    return x
end = time.process_time() + 0.15
while time.process_time() < end: leaf(3000)
"""
# What the frames that matter read as, leaf first: (name, type) of each that is no other
# native frame. `middle` and `outer` may be innermost for a moment.
UPPER = ["outer/cpython", "<module>/cpython", "main/native"]
PHP = ["middle/php", "call_php/native"]
RIGHT = [
    ["inner/cpython", "zif_call_python/native", *PHP, *UPPER],
    ["zif_call_python/native", *PHP, *UPPER],
    ["call_python/php", *PHP, *UPPER],
    ["last/php", *PHP, *UPPER],
    [*PHP, *UPPER],
    ["call_php/native", *UPPER],
    UPPER,
]
KNOWN = {name for order in RIGHT for name in order}


def order_of(sample):
    """The frames that matter; PHP's own frame of the C function that it calls may stand."""
    names = ["%s/%s" % (f.name, f.type) for f in sample.frames]
    names = [name for name in names if name in KNOWN]
    if "call_python/php" in names and "zif_call_python/native" in names:
        names.remove("call_python/php")
    return names


def build_two(run):
    flags = []
    for command in (["php-config8.2", "--includes"],
                    ["pkg-config", "--cflags", "--libs", "python-3.11-embed"]):
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            raise suite.Skip("no %s: libphp8.2-embed, php8.2-dev and libpython3.11-dev are needed"
                             % command[0]) from None
        flags += done.stdout.split()
    path = run.path("two")
    done = subprocess.run(["gcc", "-O1", "-g", "-fno-optimize-sibling-calls", "-w", "-o", path,
                           os.path.join(HERE, "two.c"), *flags, "-lphp8.2"],
                          capture_output=True, text=True)
    if done.returncode:
        raise suite.Skip("two.c is not built: " + done.stderr[-300:])
    return path


def two(run, name):
    process = suite.start(build_two(run), suite.LONG)
    try:
        capture, text = run.record_process(name, process.pid)
    finally:
        suite.stop([process])
    result = check.Result()
    total = sum(s.count for s in capture.samples)
    right = sum(s.count for s in capture.samples if order_of(s) in RIGHT)
    deep = sum(s.count for s in capture.samples if order_of(s) in (RIGHT[0], RIGHT[3]))
    result.need(total >= 500, "%d samples" % total)
    result.need(right >= 0.99 * total, "%d of %d in true order" % (right, total))
    result.need(deep >= 0.8 * total, "%d of %d in a leaf of either language" % (deep, total))
    result.notes.append("%d of %d stacks in true order" % (right, total))
    for s in [s for s in capture.samples if order_of(s) not in RIGHT][:3]:
        result.notes.append(" < ".join(f.name for f in s.frames[:12]))
    run.judge(name, result, check.check_rules(capture), check.check_accounting(text))


def scripts(run, name):
    script = run.path("short.py")
    with open(script, "w", encoding="utf-8") as f:
        f.write(SCRIPT)
    capture, text = run.record(name, "-F", "99", "--", "sh", "-c",
                               "for i in $(seq %d); do /usr/bin/python3.11 %s; done" %
                               (SCRIPTS, script))
    result = check.Result()
    looped = carried = 0
    for s in capture.samples:
        python = any(f.type == "cpython" for f in s.frames)
        loop = any(f.name.startswith(LOOP) for f in s.frames)
        looped += s.count * (python or loop)
        carried += s.count * python
    result.need(looped >= SCRIPTS * 5, "%d samples in the interpreter's loop" % looped)
    result.need(carried >= CARRY * looped, "%d of %d carry Python frames" % (carried, looped))
    result.notes.append("%d of %d samples carry Python frames" % (carried, looped))
    run.judge(name, result, check.check_accounting(text))


def unknown_python(run):
    """A copy of python3.11 whose Py_Version says 3.99. Its last byte is another too, for files of
    equal build id, head and tail are one for the library."""
    source = "/usr/bin/python3.11"
    try:
        symbols = subprocess.run(["nm", "-D", source], capture_output=True, text=True, check=True)
        headers = subprocess.run(["readelf", "-lW", source], capture_output=True, text=True,
                                 check=True)
    except (OSError, subprocess.CalledProcessError):
        raise suite.Skip("no python3.11 or no binutils") from None
    at = [int(line.split()[0], 16) for line in symbols.stdout.splitlines()
          if line.endswith(" Py_Version")]
    loads = [[int(word, 16) for word in line.split()[1:6]]
             for line in headers.stdout.splitlines() if line.strip().startswith("LOAD")]
    for offset, address, _, size, _ in loads:
        if at and address <= at[0] < address + size:
            path = run.path("python3.99")
            shutil.copy(source, path)
            with open(path, "r+b") as f:
                f.seek(offset + at[0] - address)
                if f.read(4)[2:] != b"\x0b\x03":
                    break
                f.seek(-4, os.SEEK_CUR)
                f.write(bytes([0xf0, 0, 99, 3]))
                f.seek(0, os.SEEK_END)
                f.write(b"x")
            return path
    raise suite.Skip("Py_Version is not where it is expected")


def layouts(run, name):
    program = unknown_python(run)
    script = run.path("long.py")
    with open(script, "w", encoding="utf-8") as f:
        f.write(SCRIPT.replace("0.15", "3"))
    folder = suite.fresh_folder(run.path("layouts.d"))
    os.chmod(folder, 0o755)
    run_it = ["--", "env", "PYTHONHOME=/usr", program, script]
    result = check.Result()
    before, text = run.record(name, "-F", str(run.args.hz), "--layouts", folder, *run_it)
    python = sum(s.count for s in before.samples if any(f.type == "cpython" for f in s.frames))
    result.need(python == 0, "%d samples have Python frames without a layout" % python)
    said = [line for line in text.splitlines() if "[python 3.99]" in line]
    result.need(len(said) == 1 and program in said[0], "what is said of 3.99: %s" % said)
    native = sum(s.count for s in before.samples
                 if any(f.name.startswith(LOOP) for f in s.frames))
    result.need(native >= 500, "%d native samples in the loop" % native)
    for file, content in (("mine.layout", "[python 3.99]\nlike = 3.11\n"),
                          ("wrong.layout", "[python 3.99]\nframe_cod = 1\n")):
        with open(os.path.join(folder, file), "w", encoding="utf-8") as f:
            f.write(content)
        os.chmod(f.name, 0o644)
    after, text = run.record(name, "-F", str(run.args.hz), "--layouts", folder, *run_it)
    names = [[f.name for f in s.frames if f.type == "cpython"] for s in after.samples
             for _ in range(s.count) if any(f.name.startswith(LOOP) for f in s.frames)]
    right = sum(n in (["leaf", "<module>"], ["<module>"]) for n in names)
    leaf = sum(n == ["leaf", "<module>"] for n in names)
    result.need(len(names) >= 500, "%d samples in the loop with a layout" % len(names))
    result.need(right >= 0.97 * len(names) and leaf >= 0.9 * len(names),
                "%d of %d named rightly, %d in leaf" % (right, len(names), leaf))
    said = [line for line in text.splitlines() if "warning" in line]
    result.need(len(said) == 1 and "wrong.layout:2: python has no key" in said[0],
                "what is said of the wrong file: %s" % said)
    result.notes.append("%d of %d samples in the loop named rightly with the user's file, "
                        "0 of %d without" % (right, len(names), native))
    run.judge(name, result, check.check_accounting(text))


def main():
    parser = suite.parser("otelprof")
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--hz", type=int, default=999)
    run = suite.Run(parser.parse_args())
    run.suite = "mixed"
    return run.cells({"two": two, "scripts": scripts, "layouts": layouts, **crossings.CELLS,
                      **subs.CELLS, **uwsgi.CELLS})


if __name__ == "__main__":
    sys.exit(main())
