#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profile tests/live/languages/php/known.php under each PHP at hand: a cell a version and mode.

    php.py --otelprof PROGRAM --dir DIR [--quick] [--hz N] [--seconds N] [--only CHECK]
           [--peer TOOLS] [CELL...]

A cell is php-VERSION, php-VERSION-opcache, -jit (tracing) or -function (the other JIT); 7.4
has no JIT. 8.2-zts is built for threads. PHPs are those in Debian roots that fetch.sh finds or
makes. --quick takes 8.2, with and without the JIT. --peer runs the OpenTelemetry eBPF profiler
beside, from the folder that tests/bench/build-peer.sh prints, and says what it makes of the chain
and its shares.
Prints lines like tests/live/languages/native/run.py's.
"""

import http.client
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "framework"))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "system", "wild"))

import beside  # noqa: E402
import check  # noqa: E402
import interpreted  # noqa: E402
import scenes  # noqa: E402
import suite  # noqa: E402
from cells import Cell, chain  # noqa: E402

VERSIONS = ["7.4", "8.2", "8.4", "8.5", "8.6", "8.2-zts"]
# OPcache leaves files alone that are younger than two seconds, as those made for a test are.
OPCACHE = ["-dopcache.enable_cli=1", "-dopcache.file_update_protection=0"]
JIT = OPCACHE + ["-dopcache.jit_buffer_size=32M"]
MODES = {
    "": [],
    "-opcache": OPCACHE,
    "-jit": JIT + ["-dopcache.jit=tracing"],
    "-function": JIT + ["-dopcache.jit=function"],
}
MODE_NAMES = {"": "", "-opcache": "OPcache", "-jit": "tracing JIT", "-function": "function JIT"}
CELLS = {"php-" + version + mode: (version, mode) for version in VERSIONS for mode in MODES
         if version != "7.4" or mode in ("", "-opcache")}
QUICK = ["php-8.2", "php-8.2-jit"]
FOLDER = "/tmp/otelprof-php"  # of the programs, in the root
LEAVES = {"a": r"Known\\leaf_50", "b": r"Known\\leaf_30", "c": r"Known\\leaf_20"}
ROOT = r"Known\\spin\n\{main\}\n"
SCRIPTS = 100
SCRIPT_MS = 150
CARRY = 0.97


def on_the_way():
    """The chain from any link down: on the way to a leaf or back."""
    pattern = ""
    for n in range(1, 25):
        pattern = r"(?:%sKnown\\f%d\n)?" % (pattern, n)
    return pattern


# The PHP frames alone; between two leaves there are few, and they are bounded below.
SPIN = Cell("(?:" + "|".join(LEAVES.values()) + ")\n" + chain(name=r"Known\\f%d") + ROOT, LEAVES,
            only_type="php", leaf_points=1.0,
            others=r"(?:%s|(?:getrusage\n)?Known\\cpu\n|Known\\choose\n|Known\\Turn::(?:next|took)\n|"
            r"(?:microtime|sprintf)\n)%s" % (on_the_way(), ROOT))
OTHERS_MOST = 0.025
CALLS = Cell(r"(?:(?:Known\\tick\n)?Known\\leaf_calls\n|"
             r"(?:(?:Known\\add\n)?array_map\n|range\n)?Known\\leaf_callbacks\n)" +
             chain(name=r"Known\\f%d") + r"Known\\calls\n\{main\}\n", {}, only_type="php",
             leaf_points=None,
             others=r"(?:%s|microtime\n)Known\\calls\n\{main\}\n" % on_the_way())

# The functions of a scene that C code calls: each begins an activation of PHP's loop.
CALLED_BY_C = {
    "destruct": ["Known\\Ended::__destruct"],
    "destruct_by_assignment": ["Known\\Ended::__destruct"],
    "get": ["Known\\Made::__get"],
    "set": ["Known\\Made::__set"],
    "to_string": ["Known\\Made::__toString"],
    "offset_get": ["Known\\Made::offsetGet"],
    "offset_set": ["Known\\Made::offsetSet"],
    "foreach": ["Known\\Made::getIterator"],
    "json": ["Known\\Made::jsonSerialize"],
    "array_map": ["Known\\key_via_c"],
    "usort": ["Known\\key_via_c"],
    "map_in_map": ["Known\\key_via_c", "Known\\inner_via_c"],
    "preg": ["{closure}"],
    "map_method": ["Known\\Made::method"],
    "generator": ["Known\\generate"],
    "generator_resumed": ["Known\\generate_after"],
    "generator_in_c": ["Known\\generate"],
    "yield_from": ["Known\\innermost"],
    "yield_from_in_c": ["Known\\innermost"],
    "yield_from_recursion": ["Known\\tree"],
    "isset": ["Known\\Made::offsetExists"],
    "unset": ["Known\\Made::offsetUnset"],
    "call_user_func": ["Known\\in_chain"],
    "ffi_sort": ["Known\\compare"],
    "ffi_search": ["Known\\compare"],
    "autoload": ["{closure}"],
    "fiber": ["{closure}"],
    "fiber_resumed": ["Known\\in_fiber"],
    "fiber_in_fiber": ["{closure}", "{closure}"],
    "fiber_in_map": ["{closure}", "Known\\fiber_in_map"],
}
LOOP = "execute_ex"


def plain(name):
    """8.4 calls closures {closure:WHERE}; the namespace stands before it until then. Behind a
    NUL, a class without a name has its place."""
    name = re.sub(r"\0[^$]*\$[0-9a-f]+", "", name)
    return re.sub(r"(?:Known\\)?\{closure[^}]*\}", "{closure}", name)


def work_lines():
    """The lines of work(), and those of its loop."""
    with open(os.path.join(HERE, "known.php"), encoding="utf-8") as f:
        lines = f.read().splitlines()
    first = lines.index("function work()") + 1
    loop = next(n for n in range(first, len(lines)) if "for (" in lines[n]) + 1
    end = next(n for n in range(first, len(lines)) if lines[n] == "}") + 1
    return set(range(first, end + 1)), {loop, loop + 1}


def runs_of(sample):
    """The last PHP frame of each activation of the loop: right above its native frame. None
    where one has no PHP frame above it. The innermost may be about to return and have none: it
    is left out."""
    ends = []
    above = None
    begun = False
    for frame in sample.frames:
        begun |= frame.type == "php"
        if frame.type == "native" and frame.name == LOOP and begun:
            if above.type != "php":
                return None
            ends.append(plain(above.name))
        above = frame
    return ends


class Scenes(scenes.Scenes):
    kind = "php"
    said = "files, lines and order"
    plain = staticmethod(plain)

    def __init__(self, said, php):
        # PHP says of FFI's functions only where they were called
        super().__init__({name: [(row[0], "", 0) if row[0].startswith("FFI::") else row
                                 for row in rows]
                          for name, rows in scenes.read(said, plain).items()})
        whole, loop = work_lines()
        self.lines = whole | {0} if php.jit else loop
        # The file's name of an eval(), and without OPcache of a file that is included again, is
        # freed with its code, before it is read.
        self.gone = ("eval",) if php.opcache else ("eval", "include")

    def is_scene(self, leaf):
        return leaf in ("Known\\work", "hash", "sha1")

    def problem(self, name, frames, sample):
        for frame, (_, file, line) in zip(frames, self.scenes[name]):
            if frame.name == "Known\\work":
                if frame.line not in self.lines:
                    return "line %d of work()" % frame.line
            elif frame.line != line:
                return "line %d of %s, not %d" % (frame.line, frame.name, line)
            if frame.file != file and (frame.file or frame.name not in self.gone):
                return "file %s of %s" % (frame.file, frame.name)
        want = CALLED_BY_C.get(name, []) + ["{main}"]
        runs = runs_of(sample)
        if runs != want:
            return "activations of %s" % (runs,)
        return None


class Php:
    def __init__(self, version, mode, root):
        self.version = version
        self.opcache = bool(mode)
        self.jit = mode in ("-jit", "-function")
        self.comm = "php" + version
        self.root = root
        self.command = ["chroot", root, "/usr/bin/php" + version, *MODES[mode]]
        self.release = subprocess.run([*self.command, "-r", "echo PHP_VERSION;"],
                                      capture_output=True, text=True).stdout

    def start(self, *arguments):
        return subprocess.Popen([*self.command, FOLDER + "/known.php", *arguments],
                                stdout=subprocess.PIPE, text=True)


def check_mix(capture, result):
    total = sum(s.count for s in capture.samples)
    right = sum(s.count for s in capture.samples
                if (runs_of(s) or [""])[-1] == "{main}" and s.frames[-1].name == "_start")
    result.need(right >= 0.99 * total, "native and PHP frames in true order to _start in %d of %d"
                % (right, total))


def peers(samples):
    """What the peer makes of the same seconds."""
    other = check.Result()
    shares = check.check_pattern(
        samples, replace(SPIN, exact=0),
        lambda f: "{main}" if f.name == "<top-level>" else f.name, "name", other)
    check.check_shares(shares, replace(SPIN, leaf_points=100), other)
    return other.figures


def check_jit(capture, result):
    """JIT code calls no C functions for what the leaves do; the interpreter does."""
    leaves = []
    for sample in capture.samples:
        user = [f for f in sample.frames if f.type != "kernel"]
        if any(f.name.startswith("Known\\leaf_") for f in user[:2]):
            leaves.append((user[0].type == "php", sample.count))
    total = sum(count for _, count in leaves)
    made = sum(count for is_php, count in leaves if is_php)
    result.need(made >= 0.95 * total, "%d of %d samples of leaves in JIT code" % (made, total))


def check_spin(run, name, php):
    start_ns = time.time_ns()
    capture, text, _, pid = scenes.record(run, name, php, "spin")
    result = check.check_chain(capture, scenes.spin_cell(SPIN, capture.samples), pid)
    check_mix(capture, result)
    total = sum(s.count for s in capture.samples)
    others = sum(s.count for s in capture.samples
                 if re.fullmatch(SPIN.others, check.stack_names(s, SPIN, check.name_by_record)))
    result.need(others <= OTHERS_MOST * total, "%d of %d outside the chain" % (others, total))
    if php.jit:
        check_jit(capture, result)
    beside.tell(run, name, pid, start_ns, peers)
    return [result, check.check_rules(capture), check.check_accounting(text)]


def check_calls(run, name, php):
    capture, _, _, pid = scenes.record(run, name, php, "calls")
    result = check.check_chain(capture, CALLS, pid)
    check_mix(capture, result)
    return [result]


def check_scenes(run, name, php):
    capture, _, said, pid = scenes.record(run, name, php, "scenes", 2)
    result = check.Result()
    Scenes(said, php).judge(check.select(capture, pid), result)
    return [result]


def check_scripts(run, name, php):
    """Of the samples while a short script ran, how many carry its frames?"""
    out = run.fresh(name + "-short.otlp")
    said = ""
    with suite.Recorder(run.args.otelprof, out, "-F", str(run.args.hz), "--comm",
                        php.comm) as recorder:
        for _ in range(SCRIPTS):
            process = php.start("short", str(SCRIPT_MS))
            said += process.communicate()[0]
        recorder.end()
    result = check.Result()
    rows = {int(pid): (float(begin) * 1e9, float(end) * 1e9) for pid, begin, end in
            re.findall(r"short (\d+) ([\d.]+) ([\d.]+)", said)}
    total = right = 0
    wrong = {}
    for sample in check.select(suite.otlp.read_file(out)):
        begin, end = rows.get(sample.pid, (0, 0))
        count = sum(begin <= t <= end for t in sample.timestamps)
        names = [f.name for f in sample.frames if f.type == "php"]
        total += count
        if names and names[-1] == "{main}":
            right += count
        elif count:
            text = " ".join(f.name for f in sample.frames)
            wrong[text] = wrong.get(text, 0) + count
    result.need(right >= CARRY * total, "%d of %d samples of scripts of %d ms carry its frames" %
                (right, total, SCRIPT_MS))
    expected = SCRIPTS * SCRIPT_MS * run.args.hz / 1000
    result.need(total >= 0.9 * expected, "%d samples of %.0f" % (total, expected))
    if right < CARRY * total:
        for text, count in sorted(wrong.items(), key=lambda x: -x[1])[:4]:
            result.problems.append("  %d times: %s" % (count, text))
    return [result]


# Scripts that are alike but for names; the functions of each request are where those of the
# one before were, unless OPcache keeps them.
ALIKE = ("alpha", "gamma")
NAMED = 0.99
REQUEST = """<?php
function %(name)s_leaf() {
    for ($i = 0, $x = 1; $i < 20000; $i++)
        $x = ($x * 31 + $i) & 65535;
    return $x;
}
function %(name)s_calls() { return %(name)s_leaf() + 1; }
for ($end = microtime(true) + mt_rand(10, 30) / 1000; microtime(true) < $end;) %(name)s_calls();
echo "%(name)s";
"""


def ask(port, name):
    """When the script began and ended, or earlier and later than that."""
    begin = time.time_ns()
    server = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        server.request("GET", "/%s.php" % name)
        said = server.getresponse().read().decode()
    finally:
        server.close()
    if said != name:
        raise RuntimeError("%s.php said %s" % (name, said[:200]))
    return begin, time.time_ns()


def start_server(php):
    """Returns (process, port)."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for name in ALIKE:
        with open(php.root + FOLDER + "/%s.php" % name, "w", encoding="utf-8") as file:
            file.write(REQUEST % {"name": name})
    # Of this SAPI OPcache is on by default.
    process = subprocess.Popen([*php.command, "-dopcache.enable=%d" % php.opcache,
                                "-S", "127.0.0.1:%d" % port, "-t", FOLDER],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(100):
        try:
            ask(port, ALIKE[0])
            return process, port
        except ConnectionRefusedError:
            time.sleep(0.05)
    suite.stop([process])
    raise RuntimeError("php -S does not answer")


def check_requests(run, name, php):
    """Does each sample of a request have the functions of its script?"""
    process, port = start_server(php)
    asked = []
    over = threading.Event()

    def client():
        while not over.is_set():
            for script in ALIKE:
                asked.append((*ask(port, script), script))

    thread = threading.Thread(target=client)
    thread.start()
    try:
        capture, _ = run.record_process(name + "-requests", process.pid)
    finally:
        over.set()
        thread.join()
        suite.stop([process])
    result = check.Result()
    total = right = 0
    wrong = {}
    for sample in check.select(capture, process.pid):
        names = [f.name for f in sample.frames if f.type == "php"]
        text = " ".join(names)
        for time_ns in sample.timestamps:
            script = next((s for begin, end, s in asked if begin <= time_ns <= end), None)
            if not script or not names:
                continue
            total += 1
            right += bool(re.fullmatch(r"(%(name)s_leaf )?(%(name)s_calls )?(microtime )?{main}"
                                       % {"name": script}, text))
            if ALIKE[script == ALIKE[0]] in " ".join([text, *(f.file for f in sample.frames)]):
                wrong[text] = wrong.get(text, 0) + 1
    result.need(not wrong, "%d of %d samples of requests show another script" %
                (sum(wrong.values()), total))
    result.need(right >= NAMED * total, "%d of %d have all functions of theirs" % (right, total))
    result.need(total >= 500, "%d requests" % len(asked))
    for text, count in sorted(wrong.items(), key=lambda x: -x[1])[:4]:
        result.problems.append("  %d times: %s" % (count, text))
    return [result]


# Of samples in what an eval() made: what was dropped before it was met has no name.
YOUNG = 0.99


def check_young(run, name, php):
    """Has each sample the function of the eval() that lived then, with its line and its eval()?"""
    total = right = nameless = 0
    wrong = {}
    for _, frames, said in scenes.young(run, name, [*php.command, FOLDER + "/young.php",
                                                    suite.LONG], "php", "Young\\burn", 6, 2):
        total += 1
        frame = frames[0]
        is_it = (frame.name.split("\\")[-1].split(":")[0].rstrip("}") == said[0].rstrip("}") and
                 frame.line == said[1] and
                 frame.file.endswith("young.php(%d) : eval()'d code" % said[2]))
        right += is_it
        if "@0x" in frame.name:
            nameless += 1
        elif not is_it:
            text = "%s:%d %s for %s:%d of %d" % (frame.name, frame.line, frame.file, *said)
            wrong[text] = wrong.get(text, 0) + 1
    result = check.Result()
    count = sum(wrong.values())
    result.need(total >= 500, "%d samples in what an eval() made" % total)
    result.need(count == 0, "%d with another's name, line or file" % count)
    result.need(right >= YOUNG * total, "%.2f %% with their own; %d without a name" %
                (100 * right / max(total, 1), nameless))
    for text, n in sorted(wrong.items(), key=lambda x: -x[1])[:4]:
        result.problems.append("  %d times: %s" % (n, text))
    return [result]


# A program that includes a library from its first moment on: each file is met once, and so is the
# native code of its extensions.
FILES = 1500
LIBRARY = """<?php
namespace Library%(n)d;
interface Shape { public function area(array $of): float; }
abstract class Base implements Shape { %(methods)s }
class Square extends Base { public function area(array $of): float { return array_sum($of) ** 2; } }
function made() { return json_encode(array_map(fn ($x) => hash('md5', $x), range(0, %(n)d %% 60))); }
preg_match('/^(a|b)*%(n)d[[:alpha:]]+$/u', str_repeat('ab', %(n)d %% 90)) || made();
return (new Square)->area([%(n)d, 2]) + strlen(serialize(new \\ArrayObject([%(n)d])));
"""
MAIN = """<?php
for ($i = 0; $i < %d; $i++) include __DIR__ . "/library/$i.php";
"""
EARLY = 0.003
# While OPcache compiles a file, a frame of its own may hide the others.
COMPILING = 0.008
NAMELESS = 0.001
INCLUDES_SAMPLES = 2000
INCLUDES_RUNS_MAX = 20


def write_library(folder):
    os.makedirs(folder + "/library", exist_ok=True)
    for n in range(FILES):
        methods = " ".join("public function m%d($a) { return $a + %d; }" % (k, n) for k in range(12))
        with open("%s/library/%d.php" % (folder, n), "w", encoding="utf-8") as file:
            file.write(LIBRARY % {"n": n, "methods": methods})
    with open(folder + "/includes.php", "w", encoding="utf-8") as file:
        file.write(MAIN % FILES)


def check_includes(run, name, php):
    """Do the stacks of a program that includes files have their ends and names?"""
    write_library(php.root + FOLDER)
    total = early = nameless = inner = 0
    ends = {}
    for _ in range(INCLUDES_RUNS_MAX):
        capture, _ = run.record(name + "-includes", "-F", "999", "--", *php.command,
                                FOLDER + "/includes.php")
        for sample in capture.samples:
            last = sample.frames[-1].name if sample.frames else "[none]"
            total += sample.count
            frames = [f for f in sample.frames if f.type == "php"]
            nameless += sample.count if any("php@0x" in f.name for f in frames) else 0
            main = frames and (frames[-1].name, os.path.basename(frames[-1].file), frames[-1].line)
            inner += sample.count if frames and main != ("{main}", "includes.php", 2) else 0
            if last.startswith("["):
                early += sample.count
                ends[last] = ends.get(last, 0) + sample.count
        if total >= INCLUDES_SAMPLES:
            break
    result = check.Result()
    compiling = ends.get("[unwind error: php_compiling]", 0)
    early -= compiling
    most = EARLY * total + 3 * (EARLY * total) ** 0.5  # what chance can add
    result.need(compiling <= COMPILING * total, "%d of %d end in php_compiling" % (compiling, total))
    result.need(total >= INCLUDES_SAMPLES / 2, "%d samples of includes" % total)
    result.need(early <= most, "%d of %d end early: %s" % (early, total, ends))
    result.need(nameless <= NAMELESS * total, "%d of %d have nameless frames" % (nameless, total))
    result.need(inner <= EARLY * total, "%d of %d do not begin in the loop of {main}" % (inner, total))
    return [result]


CHECKS = {"young": check_young, "spin": check_spin, "calls": check_calls, "scenes": check_scenes,
          "short": check_scripts, "requests": check_requests, "includes": check_includes}


def cell(run, name, root, why, wanted):
    version, mode = CELLS[name]
    if not root:
        raise suite.Skip("no PHP %s: %s" % (version, why[-200:] or "tests/live/languages/php/fetch.sh has none"))
    php = Php(version, mode, root)
    folder = root + FOLDER
    os.makedirs(folder, exist_ok=True)
    for file in ("known.php", "included.php", "young.php"):
        shutil.copy(os.path.join(HERE, file), folder)
    row = dict(run.row, release=php.release)
    for what in wanted:
        # These scripts are too short for figures like those of the others.
        run.row = dict(row, program=what) if what not in (
            "short", "requests", "young", "includes") else None
        run.judge(name + "-" + what, *CHECKS[what](run, name, php))


def row_of(version, mode):
    version, _, zts = version.partition("-")
    return suite.row("PHP", version, ", ".join(filter(None, [zts and "ZTS",
                                                             MODE_NAMES[mode]])))


def main():
    run = interpreted.start("php", CHECKS)
    wanted = run.args.cells or (QUICK if run.args.quick else list(CELLS))
    found, why = ({}, "") if run.args.list else interpreted.fetch(
        HERE, sorted({CELLS[name][0] for name in wanted}))
    with beside.started(run):
        for name in wanted:
            run.cell(name, cell, found.get(CELLS[name][0]), why,
                     run.args.only or list(CHECKS),
                     row=row_of(*CELLS[name]))
    return run.status()


if __name__ == "__main__":
    sys.exit(main())
