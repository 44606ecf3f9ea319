#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hostile programs, and runtimes whose memory changes, beside an honest one whose stacks are known.

    hostile.py --otelprof PROGRAM --dir DIR [CELL...]

The honest stacks stay exact, no otelprof_poll() works longer than 20 ms or takes longer than
50 ms, memory stays inside its budget, and nothing that is forged stands for somebody else. There is a cell for each
hostile program and runtime, and `all` for all programs together.
"""

import os
import re
import shutil
import struct
import subprocess
import sys
import time
import typing

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "framework"))
sys.path.insert(0, os.path.join(HERE, "..", "languages", "dotnet"))

import cells  # noqa: E402
import check  # noqa: E402
import dotnet as dotnet_cells  # noqa: E402
import otlp  # noqa: E402
import suite  # noqa: E402

# A sample may fall between two calls of the chain: that stack is right too, with fewer links;
# and in the first entry of the PLT, which has no name.
LINKS = "|".join(cells.chain(n) for n in range(1, 25))
HONEST = cells.replace(
    cells.CELLS["c-gcc"], leaf_points=None, min_samples=100, exact=1.0,
    pattern=cells.PLT + r"(?:c-gcc\+0x1\w{3}\n)?" + "(?:%s%s|(?:%s)|)" % (cells.one_of(cells.LEAVES), cells.chain(), LINKS) +
    cells.RUN + "main\n" + cells.LIBC_START)
SECONDS = 8
HZ = 199
WORK_MS_MAX = 20  # of a processor, in one poll
# By the clock, without what a poll waits for events and in a queue for a processor. What it waits
# for may itself be in such a queue: a reader of files, or who holds a lock. So the clock tells of
# the profiler only where its own thread waited less for processors than it worked. The hostile
# programs are nice, and cannot bring that about.
CLOCK_MS_MAX = 50
# memory_budget_bytes and symbol_budget_bytes are 64 MiB each by default; this is what the
# process itself may have of its own.
RSS_ANON_KB_MAX = 64 << 10
PAD = "x" * (16 << 10)
RULES = 33000
SPARSE_BYTES = 1 << 34
OTHER_USER = 1002


def compiled(run, name, source, *options):
    out = run.path(name)
    if os.path.exists(out) and os.path.getmtime(out) > os.path.getmtime(source):
        return out
    done = subprocess.run(["gcc", "-O2", "-D_GNU_SOURCE", "-o", out, source, *options],
                          capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-400:])
    return out


def program(run):
    return compiled(run, "hostile", os.path.join(HERE, "programs", "hostile.c"))


def for_user(path, user=1001):
    """An ordinary user's file: root's own are not suspected."""
    os.chown(path, user, user)
    return path


def folder_for_user(run, name):
    folder = suite.fresh_folder(run.path(name))
    os.chmod(folder, 0o777)
    return folder


def forged(run):
    """A copy of the honest program with its build id, head, tail and length, and with other
    unwind tables and names between."""
    with open(run.program("c-gcc"), "rb") as f:
        data = bytearray(f.read())
    shoff, = struct.unpack_from("<Q", data, 40)
    count, names = struct.unpack_from("<HH", data, 60)
    headers = [struct.unpack_from("<IIQQQQ", data, shoff + 64 * i) for i in range(count)]
    strings = headers[names][4]
    changed = 0
    for name, _, _, _, offset, size in headers:
        end = data.index(b"\0", strings + name)
        if bytes(data[strings + name:end]) != b".eh_frame":
            continue
        for at in range(offset, offset + size - 2):
            # DW_CFA_def_cfa_offset of small frames: 8 more, one byte for one byte
            if data[at] == 0x0e and 16 <= data[at + 1] < 96 and at >= 4096:
                data[at + 1] += 8
                changed += 1
    if not changed:
        raise RuntimeError("nothing to forge in %d bytes" % len(data))
    out = run.path("c-gcc-forged")
    if os.path.exists(out):
        os.unlink(out)
    with open(out, "wb") as f:
        f.write(data)
    os.chmod(out, 0o755)
    return for_user(out)


def assembled(run, name, text):
    source = run.path(name + ".S")
    if not os.path.exists(source):
        with open(source, "w", encoding="ascii") as f:
            f.write(text)
    return for_user(compiled(run, name, source, os.path.join(HERE, "programs", "spin.c")))


def flood_of_rules(run):
    """32,768 rules and more, each of a function of its own."""
    out = [".text\n"]
    for n in range(RULES):
        out.append(".cfi_startproc\n.cfi_def_cfa_offset %d\n.cfi_offset %%rbx, -%d\nnop\n"
                   ".cfi_endproc\n" % (16 + 8 * n, 24 + 8 * (n % 64)))
    out.append('.section .note.GNU-stack,"",@progbits\n')
    return assembled(run, "rules", "".join(out))


def sparse(run):
    """16 GiB of symbols and of FDEs in a few blocks of disk."""
    out = run.path("sparse")
    shutil.copyfile(compiled(run, "sparse-base", os.path.join(HERE, "programs", "spin.c")), out)
    with open(out, "r+b") as f:
        data = bytearray(f.read())
        shoff, = struct.unpack_from("<Q", data, 40)
        count, = struct.unpack_from("<H", data, 60)
        for i in range(count):
            at = shoff + 64 * i
            kind, = struct.unpack_from("<I", data, at + 4)
            if kind in (2, 3):  # SHT_SYMTAB, SHT_STRTAB
                offset, = struct.unpack_from("<Q", data, at + 24)
                struct.pack_into("<Q", data, at + 32, SPARSE_BYTES - offset - (1 << 20))
        f.seek(0)
        f.write(data)
        f.truncate(SPARSE_BYTES)
    os.chmod(out, 0o755)
    return for_user(out)


def deep(run):
    """A program whose path is nearly as long as one can be."""
    folder = run.path("deep")
    while len(folder) < 3800:
        folder = os.path.join(folder, "d" * 200)
    os.makedirs(folder, exist_ok=True)
    return shutil.copy(program(run), folder + "/p")


def forged_jvm(run):
    """Names that the library looks for in a JVM, with what is made up."""
    with open(os.path.join(HERE, "..", "..", "..", "lib", "runtime", "hotspot", "layout.c"),
              encoding="utf-8") as f:
        text = f.read().replace("CODELET,", '"InterpreterCodelet",')
    names = re.findall(r"\{ OP_HOTSPOT_\w+,\s+([\w| ]+), \d,\s+(\"[^\"]+\"),\s+"
                       r"(NULL|\"[^\"]+\") \}", text)
    if len(names) < 60:
        raise RuntimeError("%d names in layout.c" % len(names))
    folder = run.path("jvm-names")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "names.h"), "w", encoding="ascii") as f:
        for flags, kind, field in names:
            f.write("SIZE(%s)\n" % kind if field == "NULL" else
                    "X(%d, %s, %s)\n" % ("STATIC" in flags, kind, field))
    return for_user(compiled(run, "jvm", os.path.join(HERE, "programs", "jvm.c"), "-rdynamic",
                             "-I" + folder))


def spoiled(run, name):
    """A runtime, of which a child's memory changes while it is read."""
    def known(language, file):
        return os.path.join(HERE, "..", "languages", language, file)
    command = {
        "perl": ["perl", known("perl", "known.pl"), "calls", suite.LONG],
        "ruby": ["ruby", known("ruby", "known.rb"), "calls", suite.LONG],
        "luajit": ["luajit", known("lua", "known.lua"), "calls", "on"],
        "beam.smp": ["erl", "-noshell", "-eval", 'io:format("ready~n"), F = fun(G) -> '
                     "lists:sum(lists:seq(1, 1000)), G(G) end, F(F)."],
        "dotnet": None,
    }[name]
    # .NET's code is shared with the parent otherwise
    environment = {"SPOIL": name, "DOTNET_EnableWriteXorExecute": "0",
                   "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"}
    if name == "dotnet":
        dotnet, why = dotnet_cells.find()
        if not dotnet:
            raise suite.Skip(why)
        command = [dotnet, "exec", dotnet_cells.compile_known(dotnet, run.args.dir), "spin", suite.LONG]
    if not shutil.which(command[0]):
        raise suite.Skip("no " + command[0])
    environment["LD_PRELOAD"] = compiled(
        run, "libspoil.so", os.path.join(HERE, "programs", "spoil.c"), "-shared", "-fPIC")
    return command, environment, None


CLAIMS = {"OTEL_RESOURCE_ATTRIBUTES": "k8s.namespace.name=kube-system,k8s.pod.name=forged,"
                                      "k8s.pod.uid=forged,container.id=forged,host.name=forged"}


def command_of(run, kind):
    """(command, environment, user)"""
    path = program(run)
    jit = os.path.join("/tmp", "perf-")
    if kind.startswith("spoiled-"):
        return spoiled(run, kind.partition("-")[2])
    return {
        "stall": lambda: ([path, "stall"], {"PAD": PAD}, None),
        "forged_build_id": lambda: ([forged(run), suite.LONG], {}, None),
        "swapped_mapping": lambda: ([path, "swap", run.program("c-gcc"), forged(run)], {}, None),
        "rule_flood": lambda: ([flood_of_rules(run)], {}, 1001),
        "sparse_elf": lambda: ([sparse(run)], {}, 1001),
        "hash_flood": lambda: ([path, "flood"], {}, None),
        "perf_map": lambda: ([path, "jit", jit, str(OTHER_USER)], {}, None),
        "forged_jvm": lambda: ([forged_jvm(run), suite.LONG], {}, 1001),
        "fork_storm": lambda: ([path, "storm"], {}, None),
        "many_mappings": lambda: ([path, "maps", deep(run)], {}, None),
        "inodes": lambda: ([path, "inodes", folder_for_user(run, "inodes"), run.program("c-gcc"),
                            forged(run)], {}, 1001),
        "k8s_attributes": lambda: ([path, "burn"], CLAIMS, None),
    }[kind]()


def start(command, environment, user):
    """The honest program and the profiler are not to be short of processors for it."""
    more = {"user": user} if user else {}
    if user:
        suite.need_reach(command[0])
    return suite.start(*command, env={**os.environ, **environment}, preexec_fn=lambda:
                       os.nice(15), **more)


def anonymous_kb(pid):
    try:
        with open("/proc/%d/status" % pid, encoding="ascii") as f:
            return next((int(line.split()[1]) for line in f if line.startswith("RssAnon")), 0)
    except OSError:
        return 0


def check_from(capture, pid, began_ns):
    """Leave out the samples of @pid before @began_ns."""
    for sample in capture.samples:
        if sample.pid == pid:
            sample.timestamps = [t for t in sample.timestamps if t >= began_ns]
            sample.count = len(sample.timestamps)
    capture.samples = [s for s in capture.samples if s.count]


class Polls(typing.NamedTuple):
    work_ms: float  # the most of one
    clock_ms: float  # the same
    worked_ms: float  # of all
    queued_ms: float


def run_profiler(run, name, honest_path):
    """Profile the host, the honest program from a second on. Returns what came of it."""
    out = run.fresh("hostile-%s.otlp" % name)
    watch = run.fresh("watch")
    library = compiled(run, "libwatch.so", os.path.join(HERE, "programs", "watch.c"), "-shared",
                       "-fPIC", "-ldl")
    log = run.path("hostile-%s.log" % name)
    with open(log, "w", encoding="utf-8") as f:
        profiler = subprocess.Popen(
            [run.args.otelprof, "record", "-v", "-F", str(HZ), "-d", str(SECONDS), "-o", out,
             "--format", "otlp"], stdout=f, stderr=subprocess.STDOUT,
            env={**os.environ, "LD_PRELOAD": library, "WATCH_FILE": watch})
    time.sleep(1)  # the hostile ones have been sampled
    honest = suite.start(honest_path, suite.LONG)
    began_ns = time.time_ns()
    most = 0
    try:
        end = time.monotonic() + SECONDS + 30
        while profiler.poll() is None and time.monotonic() < end:
            most = max(most, anonymous_kb(profiler.pid))
            time.sleep(0.05)
    finally:
        suite.stop([honest])
        stalled = profiler.poll() is None
        if stalled:
            profiler.kill()
            profiler.wait()
    with open(log, encoding="utf-8") as f:
        text = f.read()
    if stalled or profiler.returncode:
        raise RuntimeError("otelprof record: %s: %s" % (
            "did not end" if stalled else "exit %d" % profiler.returncode, text[-300:]))
    with open(watch, encoding="ascii") as f:
        work_ns, longest_ns, verified_ns, _, worked_ns, queued_ns = map(int, f.read().split())
    capture = otlp.read_file(out)
    # Before it said that it is ready it was starting up, and not in its chain.
    check_from(capture, honest.pid, began_ns)
    if verified_ns:
        raise RuntimeError("a poll had the kernel verify a program: %.1f ms" %
                           (verified_ns / 1e6))
    polls = Polls(*(ns / 1e6 for ns in (work_ns, longest_ns, worked_ns, queued_ns)))
    return capture, text, honest.pid, polls, most


def check_claims(capture, processes):
    result = check.Result()
    pids = {processes[kind].pid: kind for kind in processes}
    for sample in capture.samples:
        kind = pids.get(sample.pid)
        if kind == "k8s_attributes":
            bad = [k for k, v in sample.resource.items() if v in ("forged", "kube-system")]
            if bad:
                result.need(False, "%s as %s claims" % (bad, kind))
                return result
        if kind == "perf_map" and any(f.name == "FORGED" for f in sample.frames):
            result.need(False, "a name of another user's perf map")
            return result
    for pid, kind in pids.items():
        count = sum(s.count for s in capture.samples
                    if s.pid == pid or (kind == "forged_jvm" and s.exe == "jvm"))
        if not count:
            result.need(False, "no sample of %s" % kind)
    return result


def profile_beside(run, name, kinds):
    if os.geteuid() != 0:
        raise suite.Skip("not root")
    honest = run.program("c-gcc")
    commands = {kind: command_of(run, kind) for kind in kinds}
    processes = {}
    try:
        for kind in kinds:
            processes[kind] = start(*commands[kind])
        capture, text, pid, polls, most_kb = run_profiler(run, name, honest)
        result = check.Result()
        busy = polls.queued_ms > polls.worked_ms
        result.need(polls.work_ms <= WORK_MS_MAX and (busy or polls.clock_ms <= CLOCK_MS_MAX),
                    "a poll worked %.1f ms (at most %d) and took %.1f ms (%s); all worked %.0f ms and "
                    "waited %.0f ms for a processor" % (
                        polls.work_ms, WORK_MS_MAX, polls.clock_ms,
                        "others are busy" if busy else "at most %d" % CLOCK_MS_MAX,
                        polls.worked_ms, polls.queued_ms))
        if "stall" in kinds:
            result.need("reads_stalled:" in text, "the stalled reads are told of")
        result.need(most_kb <= RSS_ANON_KB_MAX, "%.1f MB of memory" % (most_kb / 1024))
        dead = [kind for kind, p in processes.items() if p.poll() is not None]
        result.need(not dead, "hostile programs that ended: %s" % (dead or "none"))
        run.judge(name, check.check_chain(capture, HONEST, pid), result,
                  check_claims(capture, processes), check.check_accounting(text))
    finally:
        for kind, process in processes.items():
            if kind == "perf_map":
                try:
                    os.unlink("/tmp/perf-%d.map" % process.pid)
                except OSError:
                    pass
        suite.stop(processes.values())


KINDS = ("stall", "forged_build_id", "swapped_mapping", "rule_flood", "sparse_elf", "hash_flood",
         "perf_map", "k8s_attributes", "forged_jvm", "fork_storm", "many_mappings", "inodes")


SPOILED = tuple("spoiled-" + name for name in ("perl", "ruby", "luajit", "beam.smp", "dotnet"))


class Hostile(suite.Run):
    suite = "hostile"


def one(kind):
    return lambda run, name: profile_beside(run, name, (kind,))


# Without any: what the machine itself brings.
CELLS = {"none": lambda run, name: profile_beside(run, name, ())}
CELLS.update({kind: one(kind) for kind in KINDS})
CELLS["all"] = lambda run, name: profile_beside(run, name, KINDS)
CELLS.update({kind: one(kind) for kind in SPOILED})


if __name__ == "__main__":
    sys.exit(Hostile(suite.parser("otelprof").parse_args()).cells(CELLS))
