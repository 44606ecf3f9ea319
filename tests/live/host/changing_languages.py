# SPDX-License-Identifier: Apache-2.0
"""Functions that a language makes, replaces and drops at random (programs/changes.*): does any
sample name one that did not run at its time?"""

import bisect
import itertools
import os
import re
import shutil
import subprocess
import time
import typing
import zipfile

import check
import identity
import otlp
import suite

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
SLACK_NS = 300000  # as changing.py's
BLOCK_NS = 1000000000  # marks come in bursts: what is in one second is one observation
# A stack that says that it is not whole, or a frame that says that its name is not known.
MARKED = re.compile(r"\[(?!vdso|anon)[a-z ]+|[\w.]+@0x")
# What the programs make: the last part of a name.
MADE = re.compile(r"(?:.*[.#:\\>/ ])?(made_\w+|\{closure\b.*)$")
CALLER = re.compile(r"(?:.*[.#:\\>/])?(?:run_made|runMade)$")
SHIFTED_MIN = 0.5  # of the samples in known moments
LONG = 50  # one function of so many


class Language(typing.NamedTuple):
    kind: str  # of its frames
    start: typing.Callable  # (folder, seed) -> the command before SEED SECONDS FOLDER LOG
    marked_max: float  # samples whose stack has a mark, of all


class Row(typing.NamedTuple):
    name: str
    file: str
    first: int
    last: int
    outer: int
    begin: int
    end: int
    over: int
    shape: str


def offset_ns():
    """(CLOCK_MONOTONIC, how much later Unix time is)"""
    tries = []
    for _ in range(20):
        before, at, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        tries.append((after - before, before, at - (before + after) // 2))
    return min(tries)[1:]


class Moments:
    """What the programs say ran when: by thread, in the order of time."""

    def __init__(self, path, first, second):
        self.rows = {}
        drift = (second[1] - first[1]) / max(second[0] - first[0], 1)
        with open(path, encoding="utf-8") as f:
            for line in f:
                tid, name, file, *rest, shape = line.rstrip("\n").split("\t")
                lines, times = map(int, rest[:2]), (int(t) for t in rest[2:])
                self.rows.setdefault(int(tid), []).append(Row(name, file, *lines, *(
                    t + first[1] + int(drift * (t - first[0])) for t in times), shape))
        self.index()

    def index(self):
        self.begins, self.lasts = {}, {}  # the latest end of a row and those before it
        for tid, rows in self.rows.items():
            rows.sort(key=lambda row: row.outer)
            self.begins[tid] = [row.outer for row in rows]
            self.lasts[tid] = list(itertools.accumulate((row.over for row in rows), max))

    def shift(self):
        """Each function runs when the one after it did: a log that is wrong all the time."""
        for tid, rows in self.rows.items():
            calls = [list(group) for _, group in itertools.groupby(rows, lambda row: row.outer)]
            self.rows[tid] = [row._replace(outer=at[0].outer, begin=at[0].begin, end=at[0].end,
                                           over=at[0].over)
                              for at, call in zip(calls, calls[1:] + calls[:1]) for row in call]
        self.index()

    def at(self, tid, time_ns):
        """(the rows that may have run, those that did)"""
        may, did = [], []
        rows = self.rows.get(tid, ())
        i = bisect.bisect_right(self.begins.get(tid, ()), time_ns + SLACK_NS)
        while i > 0 and self.lasts[tid][i - 1] >= time_ns - SLACK_NS:
            i -= 1
            row = rows[i]
            if row.over >= time_ns - SLACK_NS:
                may.append(row)
            if row.begin + SLACK_NS <= time_ns <= row.end - SLACK_NS:
                did.append(row)
        return may, did

    def near(self, tid, time_ns):
        """The rows around a time, each with when it began and ended, in ms after it."""
        rows = self.rows.get(tid, ())
        at = bisect.bisect_right(self.begins.get(tid, ()), time_ns)
        return ", ".join("%s:%d-%d %s %+.3f to %+.3f" % (
            row.name, row.first, row.last, row.shape, (row.outer - time_ns) / 1e6,
            (row.over - time_ns) / 1e6) for row in rows[max(at - 3, 0):at + 1])

    def last_of(self, tid, frame, time_ns):
        """How long before it that function ended, and how long it ran, in words."""
        name = made_name(frame)
        ends = [(time_ns - row.over, row.over - row.outer, row.shape)
                for rows in self.rows.values() for row in rows
                if is_of(frame, row, name) and row.over < time_ns]
        if not ends:
            return "never before"
        ago, ran, shape = min(ends)
        return "%.3f ms after its end, as %s for %.0f ms" % (ago / 1e6, shape, ran / 1e6)


def share_of(blocks):
    """(the share of those marked, its standard error), from [samples, marked] by block: that of a
    ratio of two sums, with blocks as what was drawn. Of a short run the share is known less well: it
    is above a bound where it is so less two errors."""
    total, marked = (sum(block[i] for block in blocks) for i in range(2))
    share = marked / max(total, 1)
    n = max(len(blocks), 2)
    squares = sum((block[1] - share * block[0]) ** 2 for block in blocks)
    return share, (squares * n / (n - 1)) ** 0.5 / max(total, 1)


def made_name(frame):
    match = MADE.match(frame.name)
    return match and ("{closure}" if match[1][0] == "{" else match[1])


def is_of(frame, row, name):
    """Is it the function of that row: its name, and if they are told its file and line?"""
    return name == row.name and \
        (not frame.file or frame.file.endswith(row.file) or row.file.endswith(frame.file)) and \
        (not frame.line or frame.approximate or row.first <= frame.line <= row.last)


def said(frames, kind):
    """What a stack says of itself: that it is not whole; that the innermost function may be one
    that called it (a runtime has no records of all instructions), or that functions which V8
    inlined into one may be missing; or that a caller was guessed."""
    own = [frame for frame in frames if frame.type == kind]
    return next((frame.name for frame in frames if MARKED.match(frame.name)),
                "approximate" if any(f.approximate for f in (own if kind == "v8js" else own[:1])) else
                "guessed" if any(frame.guessed for frame in frames) else "")


def judge_sample(frames, made, may, did):
    """"wrong", "without" or "": what a stack is at one time."""
    if any(not any(is_of(frame, row, name) for row in may) for frame, name in made):
        return "wrong"
    if any(not any(is_of(frame, row, name) for frame, name in made) for row in did):
        return "without"
    if did:
        own = [frame for frame in frames if frame.type == made[-1][0].type]
        if not any(CALLER.match(frame.name) for frame in own[own.index(made[-1][0]) + 1:]):
            return "without"
    return ""


def told(what, frames, made, may, moments, tid, time_ns):
    """What is wrong with a stack, in words."""
    text = what + ": "
    if what == "wrong":
        text += "; ".join("%s %s:%d %s" % (f.name, f.file, f.line, moments.last_of(tid, f, time_ns))
                          for f, name in made if not any(is_of(f, row, name) for row in may))
    end = frames.index(made[-1][0]) + 3 if made else 14
    return text + " in %s; %d near %s" % (
        ";".join("%s:%d" % (f.name, f.line) for f in frames[:end]), tid, moments.near(tid, time_ns))


def judge(capture, moments, language, tell=True):
    """{shape: [samples, wrong, whole without what ran, marked, those in a known moment]},
    {what is wrong: samples} where @tell, and [samples, marked] of each second."""
    shapes, seen, blocks = {}, {}, {}
    for sample in capture.samples:
        frames = [frame for frame in sample.frames if not check.is_kernel(frame)]
        tid = sample.attributes.get("thread.id")
        made = [(frame, made_name(frame)) for frame in frames
                if frame.type == language.kind and made_name(frame)]
        mark = said(frames, language.kind)
        for time_ns in sample.timestamps:
            may, did = moments.at(tid, time_ns)
            row = shapes.setdefault(did[0].shape if did else "between", [0] * 5)
            row[0] += 1
            row[4] += bool(did)
            what = judge_sample(frames, made, may, did)
            marked = mark and (what == "without" or mark not in ("approximate", "guessed"))
            row[3] += bool(marked)
            block = blocks.setdefault(time_ns // BLOCK_NS, [0, 0])
            block[0] += 1
            block[1] += bool(marked)
            if what == "wrong" or what and not marked:
                row[1 if what == "wrong" else 2] += 1
                text = tell and told(what, frames, made, may, moments, tid, time_ns)
                seen[text] = seen.get(text, 0) + 1
            elif marked:
                text = "marked: " + re.sub(r"0x[0-9a-f]+", "0x", mark)[:60]
                seen[text] = seen.get(text, 0) + 1
    return shapes, seen, blocks.values()


def recorded(run, out, commands):
    """Record those commands, and nothing else, until they end. Returns (text, their statuses)."""
    cgroups = identity.Cgroups()
    group = "otelprof-changing-%d" % os.getpid()  # what others run is not the subject
    entered = cgroups.make(group)
    processes = []
    try:
        with suite.Recorder(run.args.otelprof, out, "-F", "999", "--cgroup", group,
                            first=True) as profiler:
            for command in commands:
                processes.append(subprocess.Popen(
                    ["sh", "-c", 'echo 0 >"$0/cgroup.procs"; exec "$@"', entered, *command]))
            statuses = [process.wait() for process in processes]
            text = profiler.end()
    finally:
        suite.stop(processes)
        cgroups.remove()
    return text, statuses


def need(*names):
    """The paths of those programs. Raises suite.Skip where one is missing."""
    paths = [shutil.which(name) for name in names]
    if not all(paths):
        raise suite.Skip("no " + names[paths.index(None)])
    return paths


def start_python(_folder, _seed):
    return [*need("python3"), PROGRAMS + "/changes.py"]


NODE_MODES = ["", "--jitless", "--no-opt", "--always-sparkplug", "--maglev", "--stress-flush-code"]


def start_node(_folder, seed):
    mode = NODE_MODES[seed % len(NODE_MODES)]
    return [*need("node"), "--expose-gc", *filter(None, [mode]), PROGRAMS + "/changes.js"]


# A memory that is small, so that what was dropped is used again.
PHP_OPTIONS = ["-dopcache.enable_cli=1", "-dopcache.file_update_protection=0",
               "-dopcache.memory_consumption=8", "-dopcache.interned_strings_buffer=1"]
PHP_MODES = [["-dopcache.enable_cli=0"], PHP_OPTIONS, *([
    *PHP_OPTIONS, "-dopcache.jit_buffer_size=1M", "-dopcache.jit=" + jit] for jit in ("tracing", "function"))]


def start_php(_folder, seed):
    php = need("php")
    modules = subprocess.run([*php, "-m"], capture_output=True, text=True, check=True).stdout
    if not all(name in modules.split() for name in ("pcntl", "posix")):
        raise suite.Skip("PHP without pcntl and posix")
    return [*php, *PHP_MODES[seed % len(PHP_MODES)], PROGRAMS + "/changes.php"]


def start_ruby(_folder, seed):
    ruby = need("ruby")
    if seed % 2 and subprocess.run([*ruby, "--yjit", "-e", ""], capture_output=True).returncode == 0:
        ruby.append("--yjit")
    return [*ruby, PROGRAMS + "/changes.rb"]


JAVA_BUILDS = 6
# All instructions have records, or not.
JAVA_RECORDS = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"]
JAVA_MODES = [["-Xint"], ["-XX:TieredStopAtLevel=1"], ["-XX:+UseSerialGC"], [*JAVA_RECORDS, "-XX:+UseG1GC"],
              [*JAVA_RECORDS, "-XX:+UseParallelGC"]]


def java_builds(folder, javac):
    """The program, and classes that differ in their lines and their code."""
    text = []
    classes = suite.folder(folder + "/classes")
    for k in range(JAVA_BUILDS):
        head = ["class Made%d implements Changes.Work {" % k]
        same = ["public void made_same(long ns, long[] inner) {", "int x = (int) ns;",
                *["x = x * 31 + %d;" % k] * (3 * k), "made_000000(ns, inner);", "Changes.sink = x; }"]
        made = ["static void made_000000(long ns, long[] inner) {", "int x = (int) ns;",
                *["x = x * 17 + %d;" % k] * (20 - 3 * k), "Changes.burn(ns, inner);",
                "Changes.sink = x; }", "}"]
        at = len(text + head) + 1
        with open("%s/Made%d.lines" % (classes, k), "w", encoding="utf-8") as f:
            f.write("%d %d %d %d" % (at, at + len(same) - 1, at + len(same), at + len(same + made) - 2))
        text += head + same + made
    with open(folder + "/Made.java", "w", encoding="utf-8") as f:
        f.write("\n".join(text))
    subprocess.run([javac, "-g", "-d", classes, PROGRAMS + "/Changes.java", folder + "/Made.java"],
                   check=True)
    with zipfile.ZipFile(folder + "/agent.jar", "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "Premain-Class: Changes\nCan-Redefine-Classes: true\n")


def start_java(folder, seed):
    java, javac = need("java", "javac")
    if not os.path.exists(folder + "/agent.jar"):
        java_builds(folder, javac)
    return [java, *JAVA_MODES[seed % len(JAVA_MODES)], *["-javaagent:%s/agent.jar" % folder] * (seed % 2),
            "-Dclasses=%s/classes" % folder, "-cp", folder + "/classes", "Changes"]


LANGUAGES = {
    "python": Language("cpython", start_python, 0.02),
    "node": Language("v8js", start_node, 0.01),
    # Compiled code without records of all instructions may tell a caller: approximate.
    "java": Language("jvm", start_java, 0.05),
    "php": Language("php", start_php, 0.02),
    # Under YJIT a stack is walked by guesses. That of a fiber then says so, at its whole end.
    "ruby": Language("ruby", start_ruby, 0.15),
}


def cell(run, name, which, seconds, old=False):
    """One language: two programs at once. @old: some functions run for so long that the profiler
    looks at them once a second, and takes what is then in their place for them."""
    language = LANGUAGES[which]
    seed = run.args.seed
    print("%s: seed %d" % (which, seed), flush=True)
    folder = suite.fresh_folder(run.path("changes-" + which))
    out = run.fresh("random-%s.otlp" % which)
    commands = []
    for i in range(2):
        os.mkdir("%s/%d" % (folder, i))
        commands.append([*language.start(folder, seed + i), str(seed + i), str(seconds),
                         "%s/%d" % (folder, i), folder + "/log"])
        print("    " + " ".join(commands[-1]), flush=True)
    first = offset_ns()
    os.environ["CHANGES_LONG"] = str(LONG if old else 0)
    text, statuses = recorded(run, out, commands)
    moments = Moments(folder + "/log", first, offset_ns())
    capture = otlp.read_file(out)
    shapes, seen, blocks = judge(capture, moments, language)
    total, wrong, without, _, inside = (sum(row[i] for row in shapes.values()) for i in range(5))
    for shape, row in sorted(shapes.items()):
        print("%-18s %6d samples, %4d wrong, %4d without what ran, %5.2f %% marked" % (
            shape, *row[:3], 100 * row[3] / row[0]), flush=True)
    result = check.Result()
    result.need(not any(statuses), "programs exit %s" % statuses)
    result.need(not wrong and not without,
                "%s: %d of %d samples wrong, %d whole without what ran; seed %d" % (
                    which, wrong, total, without, seed))
    for text_, count in sorted(seen.items(), key=lambda item: (item[0][0] == "m", -item[1]))[:40]:
        if text_.startswith("marked"):
            print("%6d %s" % (count, text_), flush=True)
        elif len(result.problems) < 12:
            result.problems.append("%d times %s" % (count, text_))
    share, error = share_of(blocks)
    result.need(inside > 20 * seconds and share - 2 * error <= language.marked_max,
                "%.2f %% of %d samples marked, with a standard error of %.2f %%; at most %.0f %%" % (
                    100 * share, total, 100 * error, 100 * language.marked_max))
    moments.shift()
    wrong = sum(row[1] for row in judge(capture, moments, language, False)[0].values())
    shifted = "by a log that is shifted by a function %d of %d are wrong" % (wrong, inside)
    print(shifted, flush=True)
    result.need(wrong >= SHIFTED_MIN * inside, shifted)
    run.judge(name, result, check.check_accounting(text))
