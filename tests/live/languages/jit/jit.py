#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profile programs that make machine code and name it in /tmp/perf-PID.map.

    jit.py --otelprof PROGRAM --dir DIR [--hz N] [CELL...]

    anon memfd shared  writer.c: every stack is known, in code of each kind of memory
    late again         its map is written later; a function gets another name
    dump dump-moved    a jitdump file tells names and lines; and that code has moved
    dump-foreign       another user owns that file: it is not believed
    dump-namespace     a jitdump file in PID and mount namespaces of its own
    namespace          it runs in PID and mount namespaces of its own
    bare               its code keeps no frame pointer: its instructions tell the way
    node               Node with --perf-basic-prof
    python             CPython 3.12 or later with -X perf
    python-dump        CPython 3.13 or later with -X perf_jit: a jitdump file
    python-traces      CPython 3.14 with PYTHON_JIT=1: code without frame pointers
    llvm               LLVM's compiler with its listener for perf, as in Julia (llvm.py)
    nameless           Node.js without its symbols: what it makes has no names, and that is said
    wasmtime           WebAssembly in wasmtime with its perf map (wasm.py)
    wasmtime-dump      the same with its jitdump file

Prints lines like tests/live/languages/native/run.py's.
"""
import glob
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "framework"))

import check  # noqa: E402
import llvm  # noqa: E402
import suite  # noqa: E402
import wasm  # noqa: E402

SECONDS = 4
EARLY = 0.5  # seconds
SAMPLES_MIN = 200  # others may run on this machine
CALLERS = ["j3", "j2", "j1", "j0", "run", "main"]
PYTHON = """
import sys, time
def leaf(n):
    x = 0
    for i in range(n): x += i * i
    return x
def middle(n):
    return leaf(n) + 1
middle(1)
# CPython keeps some records of its jitdump file back: these push the others out.
for i in range(int(sys.argv[2])): exec("def g%d(): pass\\ng%d()" % (i, i))
end = time.time() + float(sys.argv[1])
while time.time() < end: middle(3000)
"""


def build(run):
    path = run.path("writer")
    done = subprocess.run(["gcc", "-O1", "-g", "-fomit-frame-pointer", "-o", path,
                           os.path.join(HERE, "writer.c")], capture_output=True, text=True)
    if done.returncode:
        raise suite.Skip("writer.c is not built: " + done.stderr[-300:])
    return path


def names_of(sample):
    return [f.name for f in sample.frames if f.type != "kernel"]


def forget_maps():
    for path in glob.glob("/tmp/perf-[0-9]*.map") + glob.glob("/tmp/jit-[0-9]*.dump"):
        try:
            pid = int(path.split("-")[-1].split(".")[0])
            if not os.path.exists("/proc/%d" % pid):
                os.unlink(path)
        except (ValueError, OSError):
            pass


def record_writer(run, name, *command):
    capture, text = run.record(name, "-F", str(run.args.hz), "--", *command)
    stacks = [names_of(s) for s in capture.samples if s.exe == "writer" for _ in range(s.count)
              if "run" in names_of(s)]
    return capture, text, stacks


def judge_writer(run, name, command, leaves=("leaf",), share=0.9):
    """At least 99 of 100 stacks are the whole of what was called, from the leaf to main; each
    leaf has its @share of them."""
    capture, text, stacks = record_writer(run, name, *command)
    result = check.Result()
    right = [s for s in stacks if s[0] in leaves and s[1:7] == CALLERS and s[-1] == "_start"]
    result.need(len(stacks) >= SAMPLES_MIN, "%d samples" % len(stacks))
    result.need(len(right) >= 0.99 * len(stacks), "%d of %d stacks are whole and named" %
                (len(right), len(stacks)))
    for leaf in leaves:
        count = sum(s[0] == leaf for s in right)
        result.need(count >= share * len(stacks), "%d in %s" % (count, leaf))
    for stack in [s for s in stacks if s not in right][:3]:
        result.notes.append(" < ".join(stack[:9]))
    result.notes.sort(key=lambda note: " < " in note)
    run.judge(name, result, check.check_rules(capture), check.check_accounting(text))


def writer(kind):
    def cell(run, name):
        judge_writer(run, name, [build(run), str(SECONDS), kind])
    return cell


def bare(run, name):
    """Whole stacks: none leads on by what happens to be in a register. Until the code was read the
    callers are guessed, and marked."""
    if os.uname().machine != "x86_64":
        raise suite.Skip("x86-64 alone")
    capture, text = run.record(name, "-F", str(run.args.hz), "--", build(run), str(SECONDS),
                               "anon", "bare")
    result = check.Result()
    samples = [s for s in capture.samples if s.exe == "writer" and names_of(s)[:1] == ["leaf"]]
    total = sum(s.count for s in samples)
    right = sum(s.count for s in samples
                if names_of(s)[1:7] == CALLERS and names_of(s)[-1] == "_start")
    marked = sum(s.count for s in samples
                 if any(f.guessed for f in s.frames if f.name in CALLERS[:4]))
    result.need(total >= SAMPLES_MIN, "%d samples" % total)
    result.need(right >= 0.99 * total, "%d of %d stacks are whole and named" % (right, total))
    result.need(marked <= total / 2, "%d of %d are marked" % (marked, total))
    run.judge(name, result, check.check_rules(capture), check.check_accounting(text))


def dump(how):
    def cell(run, name):
        capture, text = run.record(name, "-F", str(run.args.hz), "--", build(run), str(SECONDS),
                                   "anon", how)
        judge_dump(run, name, capture, text)
    return cell


def judge_dump(run, name, capture, text):
    """Names and lines: of callers the line of the call, which is the one before what follows."""
    want = [("leaf", 30), ("j3", 13), ("j2", 12), ("j1", 11), ("j0", 10)]
    result = check.Result()
    samples = [s for s in capture.samples if s.exe == "writer" and "run" in names_of(s)]
    total = sum(s.count for s in samples)
    right = lines = 0
    for s in samples:
        frames = [f for f in s.frames if f.type != "kernel"]
        named = [f.name for f in frames]
        if named[0] == "leaf" and named[1:7] == CALLERS and named[-1] == "_start":
            right += s.count
            lines += s.count * ([(f.name, f.line) for f in frames[:5]] == want and
                                all(f.file == "/src/jit.src" for f in frames[:5]))
        elif len(result.notes) < 3:
            result.notes.append(" < ".join(named[:9]))
    result.need(total >= SAMPLES_MIN, "%d samples" % total)
    result.need(right >= 0.99 * total, "%d of %d stacks are whole and named" % (right, total))
    result.need(lines == right, "lines right in %d of %d" % (lines, right))
    run.judge(name, result, check.check_rules(capture), check.check_accounting(text))


def dump_foreign(run, name):
    if os.geteuid():
        raise suite.Skip("needs root, to give a file away")
    command = ["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups"]
    if not shutil.which(command[0]):
        raise suite.Skip("no setpriv")
    # What root owns is believed, and nobody's file is not: the process's user is another.
    command += ["--inh-caps=+chown", "--ambient-caps=+chown", build(run), str(SECONDS), "anon",
                "foreign"]
    os.chmod(run.args.dir, 0o755)
    capture, text = run.record(name, "-F", str(run.args.hz), "--", *command)
    samples = [s for s in capture.samples if s.exe == "writer" and "run" in names_of(s)]
    total = sum(s.count for s in samples)
    believed = sum(s.count for s in samples if "j0" in names_of(s))
    whole = sum(s.count for s in samples if names_of(s)[5:7] == ["run", "main"])
    result = check.Result()
    result.need(total >= SAMPLES_MIN, "%d samples" % total)
    result.need(believed == 0, "%d have names" % believed)
    result.need(whole >= 0.99 * total, "%d of %d stacks are whole" % (whole, total))
    run.judge(name, result, check.check_accounting(text))


def again(run, name):
    """A name holds for a window of 5 s; then the new one is seen."""
    judge_writer(run, name, [build(run), "16", "anon", "again"], ("leaf", "renamed"), 0.15)


def late(run, name):
    """Without its map the code has no names but its frames; soon after it has both."""
    _, _, stacks = record_writer(run, name, build(run), "12", "anon", "late")
    result = check.Result()
    result.need(len(stacks) >= SAMPLES_MIN, "%d samples" % len(stacks))
    whole = sum(len(s) > 7 and s[5:7] == ["run", "main"] for s in stacks)
    named = sum(s[0] == "leaf" and s[1:7] == CALLERS for s in stacks)
    result.need(whole >= 0.99 * len(stacks), "%d of %d stacks are whole" % (whole, len(stacks)))
    result.need(named >= 0.2 * len(stacks), "%d of them have names" % named)
    run.judge(name, result)


def in_namespaces(run, more):
    if os.geteuid():
        raise suite.Skip("needs root")
    program = build(run)
    script = "mount -t tmpfs none /tmp && cp %s /tmp/writer && exec /tmp/writer %d anon%s" % (
        program, SECONDS, more)
    command = ["unshare", "--mount", "--pid", "--fork", "sh", "-c", script]
    if run.args.dir.startswith("/tmp/"):
        command[-1] = "cp %s /run/writer-jit && mount -t tmpfs none /tmp && cp /run/writer-jit " \
            "/tmp/writer && exec /tmp/writer %d anon%s" % (program, SECONDS, more)
    return command


def namespace(run, name):
    """Its own /tmp, in which it is process 1 or 2."""
    judge_writer(run, name, in_namespaces(run, ""))


def dump_namespace(run, name):
    capture, text = run.record(name, "-F", str(run.args.hz), "--", *in_namespaces(run, " dump"))
    judge_dump(run, name, capture, text)


def node(run, name):
    if not shutil.which("node"):
        raise suite.Skip("no node")
    capture, text = run.record(
        name, "-F", str(run.args.hz), "--", "env", "-C", run.args.dir, "node",  # it leaves logs
        "--perf-basic-prof",
        "--interpreted-frames-native-stack", "--no-turbo-inlining",
        os.path.join(HERE, "known.js"), str(SECONDS))
    result = check.Result()
    stacks = [names_of(s) for s in capture.samples for _ in range(s.count)]
    stacks = [s for s in stacks if any("outer" in n for n in s)]
    # At this rate the copies of a stack are used up before the table of Node's file is made.
    early = sum("native_no_copy" in s[-1] for s in stacks)
    chain = ("leaf", "middle", "outer")
    right = sum(all(part in n for part, n in zip(chain, s)) and s[-1] == "_start"
                or all(part in n for part, n in zip(chain[1:], s)) and s[-1] == "_start"
                for s in stacks)
    result.need(len(stacks) >= SAMPLES_MIN, "%d samples below outer" % len(stacks))
    result.need(early <= EARLY * run.args.hz, "%d before its table was made" % early)
    result.need(right >= 0.98 * (len(stacks) - early),
                "%d of %d stacks go from leaf or middle to _start" % (right, len(stacks)))
    run.judge(name, result, check.check_accounting(text))


def nameless(run, name):
    """Once for the file, not for each process. One that writes a map is no news."""
    if not shutil.which("node") or not shutil.which("strip"):
        raise suite.Skip("no node, or no strip")
    stripped = run.path("stripped-js")
    done = subprocess.run(["strip", "-o", stripped, os.path.realpath(shutil.which("node"))],
                          capture_output=True, text=True)
    if done.returncode:
        raise suite.Skip("strip: " + done.stderr[-200:])
    known = os.path.join(HERE, "known.js")
    result = check.Result()
    for options, times in (([], 1), (["--perf-basic-prof"], 0)):
        line = " ".join(["env -C", run.args.dir, stripped, *options, known, "2"])
        capture, text = run.record(name, "-F", str(run.args.hz), "--no-runtime", "node", "--",
                                   "sh", "-c", line + " & " + line + "; wait")
        said = [s for s in text.splitlines() if "runs generated code without names" in s]
        result.need(len(said) == times and all(stripped in s for s in said),
                    "said %d times with %s" % (len(said), options or "no map"))
        total = sum(s.count for s in capture.samples)
        result.need(total >= SAMPLES_MIN, "%d samples" % total)
    os.unlink(stripped)
    run.judge(name, result, check.check_accounting(text))


def find_python(option):
    """A python that has trampolines for perf: 3.12 and later, and built with them."""
    commands = [[path] for path in sorted(glob.glob("/usr/bin/python3.1[2-9]"))]
    fetched = subprocess.run(["sh", os.path.join(HERE, "fetch.sh")], capture_output=True,
                             text=True)
    for root in fetched.stdout.split():
        commands.append(["chroot", root, "/usr/bin/python3.13"])
    for command in commands:
        done = subprocess.run([*command, "-X", option, "-c", "import sys; "
                               "print(sys.is_stack_trampoline_active())"],
                              capture_output=True, text=True)
        if done.stdout.strip() == "True":
            return command
    raise suite.Skip("no CPython with -X %s: %s" % (option, fetched.stderr.strip()))


def python_dump(run, name):
    """The same from the jitdump file alone."""
    python(run, name, "perf_jit", 300)


def record_script(run, name, script, *command, options=()):
    """What is recorded of command, which reads script as its input: a root has no file of ours."""
    path = run.path(name + ".py")
    with open(path, "w", encoding="utf-8") as f:
        f.write(script)
    with open(path, encoding="utf-8") as f:
        process = subprocess.Popen(command, stdin=f)
    try:
        return run.record(name, "-F", str(run.args.hz), "-d", str(SECONDS),
                          "-p", str(process.pid), *options)
    finally:
        suite.stop([process])


def python(run, name, option="perf", others=0):
    command = find_python(option)
    capture, text = record_script(run, name, PYTHON, *command, "-X", option, "-", "60",
                                  str(others), options=["--no-runtime", "python"])
    result = check.Result()
    stacks = [names_of(s) for s in capture.samples for _ in range(s.count)]
    inside = [s for s in stacks if any(n.startswith("py::") for n in s)]
    whole = sum(s[-1] == "_start" or "+0x" in s[-1] for s in inside)
    order = sum([n for n in s if n.startswith("py::")][-1].startswith("py::<module>")
                for s in inside)
    result.need(len(inside) >= 0.9 * len(stacks) > SAMPLES_MIN, "%d of %d stacks have trampolines" %
                (len(inside), len(stacks)))
    result.need(whole >= 0.98 * len(inside), "%d of %d go down to _start" % (whole, len(inside)))
    result.need(order >= 0.98 * len(inside), "%d of %d begin in the module" % (order, len(inside)))
    run.judge(name, result, check.check_accounting(text))


TRACES = """
import sys, time
def leaf(n):
    x = 0
    while n:
        x = x * 3 + n & 0xffff
        n -= 1
    return x
def key_via_c(x):
    leaf(3000)
    return x
def middle():
    sorted([1, 2, 3], key=key_via_c)
def outer():
    n = 20
    while n:
        middle()
        n -= 1
end = time.time() + float(sys.argv[1])
while time.time() < end: outer()
"""


def find_traces():
    """A python 3.14 that compiles traces: this host's, or of a Debian root at hand, or of the one
    that tests/live/languages/python/fetch.sh makes."""
    fetch = os.path.join(HERE, "..", "python", "fetch.sh")
    done = subprocess.run(["sh", fetch], capture_output=True, text=True)
    commands = [["/usr/bin/python3.14"]] + [
        ["chroot", root, "/usr/bin/python3.14"]
        for root in os.environ.get("OTELPROF_CHROOTS", "").split() + done.stdout.split()]
    for command in commands:
        if not os.path.exists("".join(command[-2:]) if command[1:] else command[0]):
            continue
        command = ["env", "PYTHON_JIT=1", *command]
        asked = subprocess.run([*command, "-c", "import sys; print(sys._jit.is_enabled())"],
                               capture_output=True, text=True)
        if asked.stdout.strip() == "True":
            return command
    why = (done.stderr.strip().splitlines() or ["OTELPROF_CHROOTS names roots"])[-1]
    raise suite.Skip("no CPython 3.14 with a compiler of traces (Debian sid has one): " + why)


def traces(run, name):
    """Python calls C that calls Python, in compiled traces: the true order, or a mark."""
    command = find_traces()
    capture, text = record_script(run, name, TRACES, *command, "-", "60")
    result = check.Result()
    chain = ["leaf", "key_via_c", "middle", "outer", "<module>"]
    total = right = wrong = compiled = 0
    for s in capture.samples:
        frames = [f for f in s.frames if f.type != "kernel"]
        python = [i for i, f in enumerate(frames) if f.type == "cpython"]
        called = [frames[i].name for i in python]
        loops = [i for i, f in enumerate(frames) if f.name.startswith("_PyEval_EvalFrameDefault")]
        via_c = called.index("key_via_c") if "key_via_c" in called else -1
        # C code between middle() and what it calls; to the end
        true = called and called == chain[-len(called):] and frames[-1].name == "_start" and (
            via_c < 0 or python[via_c + 1] - python[via_c] > 2) and (
            len(loops) == 1 + (via_c >= 0))
        total += s.count
        compiled += s.count * any(f.name.startswith("[anon]") for f in frames)
        right += s.count * bool(true)
        wrong += s.count * (not true and frames[-1].name == "_start" and
                            not any(f.guessed for f in frames))
    result.need(total >= SAMPLES_MIN, "%d samples" % total)
    result.need(compiled >= 0.3 * total, "%d with compiled code" % compiled)
    result.need(right >= 0.99 * total, "%d of %d stacks are whole and in true order" %
                (right, total))
    result.need(wrong <= 0.002 * total, "%d are wrong and do not say so" % wrong)
    run.judge(name, result, check.check_rules(capture), check.check_accounting(text))


CELLS = {
    "anon": writer("anon"),
    "memfd": writer("memfd"),
    "shared": writer("shared"),
    "again": again,
    "late": late,
    "namespace": namespace,
    "bare": bare,
    "dump": dump("dump"),
    "dump-moved": dump("moved"),
    "dump-foreign": dump_foreign,
    "dump-namespace": dump_namespace,
    "node": node,
    "python": python,
    "python-dump": python_dump,
    "python-traces": traces,
    "llvm": llvm.llvm,
    "nameless": nameless,
    "wasmtime": wasm.wasmtime("perfmap"),
    "wasmtime-dump": wasm.wasmtime("jitdump"),
}


def main():
    parser = suite.parser("otelprof")
    parser.add_argument("--hz", type=int, default=499)
    run = suite.Run(parser.parse_args())
    run.suite = "jit"
    try:
        return run.cells(CELLS)
    finally:
        forget_maps()


if __name__ == "__main__":
    sys.exit(main())
