# SPDX-License-Identifier: Apache-2.0
"""What a runtime's own profiler says: {function: samples} of the innermost functions, by names
that ours have too; and the same of our samples."""

import collections
import gzip
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "live", "framework"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "wild"))
import judge as wild  # noqa: E402
import otlp  # noqa: E402

ENDS_SAID = 4  # reasons and places of these


def of_file(name, path):
    return "%s (%s)" % (name, os.path.basename(path))


# ---- Python: py-spy record --format raw ----

def python_name(name, path):
    """py-spy may give a function's name or its qualified name."""
    return of_file(name.rsplit(".", 1)[-1], path)


def py_spy(text):
    count = collections.Counter()
    for line in text.splitlines():
        stack, _, samples = line.rpartition(" ")
        frame = re.fullmatch(r"(.*) \((.*?)(?::\d+)?\)", stack.split(";")[-1])
        if frame:
            count[python_name(frame[1], frame[2])] += int(samples)
    return count


# ---- Node: V8's .cpuprofile ----

def node_name(name, url):
    """V8 gives its profiles the last part of an inferred name alone."""
    return of_file((name or "(anonymous)").rsplit(".", 1)[-1], url)


def cpuprofile(text):
    """What has no file (builtins, callbacks of C++) belongs to its caller. The collector's time,
    time of no JavaScript and idle time count for no function."""
    nodes = {node["id"]: node for node in json.loads(text)["nodes"]}
    parent = {child: node["id"] for node in nodes.values() for child in node.get("children", [])}
    count = collections.Counter()
    for number, node in nodes.items():
        while number in parent and not nodes[number]["callFrame"]["url"]:
            number = parent[number]
        frame = nodes[number]["callFrame"]
        if frame["url"] and node["hitCount"]:
            count[node_name(frame["functionName"], frame["url"])] += node["hitCount"]
    return count


# ---- Java: jfr print --json ----

def java_name(name):
    return re.sub(r"(\$\$Lambda|\$\$\w*Hidden\w*|LambdaForm\$\w+).*\.", r"\1.", name)


def jfr(text):
    count = collections.Counter()
    for event in json.loads(text)["recording"]["events"]:
        trace = event["values"].get("stackTrace") or {}
        for frame in (trace.get("frames") or [])[:1]:
            method = frame["method"]
            count[java_name("%s.%s" % (method["type"]["name"].replace("/", "."),
                                       method["name"]))] += 1
    return count


# ---- Java: async-profiler, collapsed stacks with marks ----

def async_profiler(text):
    """Of samples in Java code: interpreted, compiled, or inlined."""
    count = collections.Counter()
    for line in text.splitlines():
        stack, _, samples = line.rpartition(" ")
        frame = re.fullmatch(r"(.*)_\[[01ij]\]", stack.split(";")[-1])
        if frame:
            count[java_name(frame[1].replace("/", "."))] += int(samples)
    return count


# ---- Go: profile.proto ----

def go_name(name):
    return re.sub(r"\[.*\]", "[...]", name)


def pprof(data):
    """The innermost function, inlined ones counted for themselves."""
    top = otlp.message(gzip.decompress(data))
    strings = [value.decode() for value in otlp.messages_of(top, 6)]
    functions = {}
    for data in otlp.messages_of(top, 5):
        function = otlp.message(data)
        functions[otlp.number_of(function, 1)] = strings[otlp.number_of(function, 2)]
    innermost = {}
    for data in otlp.messages_of(top, 4):
        location = otlp.message(data)
        for line in list(otlp.messages_of(location, 4))[:1]:
            innermost[otlp.number_of(location, 1)] = functions[
                otlp.number_of(otlp.message(line), 1)]
    count = collections.Counter()
    for data in otlp.messages_of(top, 2):
        sample = otlp.message(data)
        stack = otlp.packed(sample, 1)
        if stack and stack[0] in innermost:
            count[go_name(innermost[stack[0]])] += otlp.packed(sample, 2)[0]
    return count


# ---- .NET: dotnet-trace's speedscope file ----

def dotnet_name(name):
    """The method of the program, without class and what the compiler makes of it."""
    match = re.match(r"(?:web!)?Web(?:\.|\+.*?<)(\w+)", name)
    return "Web." + match[1] if match else None


def speedscope(text):
    """Of threads that work, in microseconds; the method of the program that is nearest: the
    threads stop at safe points, which the framework's innermost functions may not have."""
    file = json.loads(text)
    names = [frame["name"] for frame in file["shared"]["frames"]]
    count = collections.Counter()
    for profile in file["profiles"]:
        stack = []
        last = 0
        for event in profile["events"]:
            nearest = next((n for n in reversed(stack) if n.startswith("web!Web")), None)
            if nearest and stack[-1].endswith("_TIME") and dotnet_name(nearest) != "Web.Main":
                count[dotnet_name(nearest)] += round(1000 * (event["at"] - last))
            last = event["at"]
            if event["type"] == "O":
                stack.append(names[event["frame"]])
            else:
                stack.pop()
    return count


# ---- Erlang: perf script -F ip,sym, with BEAM's perf map ----

def erlang_name(name):
    """None for C code, and for code that modules share."""
    name = name.replace("'", "").lstrip("$").replace("-CodeInfoPrologue", "")
    return name if re.fullmatch(r"[^:]+:[^:].*/\d+", name) else None


def perf_script(text):
    """Of samples in Erlang code."""
    count = collections.Counter()
    for line in text.splitlines():
        name = erlang_name(line.strip().partition(" ")[2])
        if name:
            count[name] += 1
    return count


# ---- Lua, Perl, Ruby: what a server's page /judge says, a line each: "COUNT NAME" ----

def said(text):
    count = collections.Counter()
    for line in text.splitlines():
        samples, _, name = line.partition(" ")
        if not name.startswith("("):  # stackprof's states of the collector; Perl's evals
            count[ruby_name(name)] += int(samples)
    return count


def ruby_name(name):
    """stackprof has the class, which Ruby's own labels before 3.4 lack, and the method of a block."""
    return re.sub(r"^(.* in )?([\w:]+[#.](?=\S))?", "", name)


# ---- ours ----

def user_frames(frames):
    return [f for f in frames if f.type != "kernel"]


def ours_python(frames):
    return next((python_name(f.name, f.file) for f in frames if f.type == "cpython"), None)


def ours_dotnet(frames):
    name = next((dotnet_name(f.name) for f in frames if f.name.startswith("Web.")), None)
    return name if name != "Web.Main" else None


def ours_erlang(frames):
    """Of samples in Erlang code, not in C code that it called."""
    return erlang_name(frames[0].name) if frames and frames[0].type == "beam" else None


def ours_lua(frames):
    """Of code of Lua: functions in C have no file."""
    return next((f.name for f in frames if f.type == "lua" and f.file), None)


def ours_perl(frames):
    """Not those in the handler of the other profiler's signal."""
    if any(f.name == "main::look" for f in frames):
        return None
    return next((f.name for f in frames if f.type == "perl" and f.name[0] != "("), None)


def ours_ruby(frames):
    return next((ruby_name(f.name) for f in frames if f.type == "ruby"), None)


COLLECTOR = re.compile(r"v8::internal::(Heap::(CollectGarbage|Scavenge|PerformGarbage)|Scaveng|"
                       r"MarkCompact|GCTracer)")


def ours_interpreted(frames):
    if any(COLLECTOR.search(f.name) for f in frames):
        return None
    return next((node_name(f.name, f.file) for f in frames if f.type == "v8js" and f.file), None)


# Stubs of inline caches have no frame of their own. V8's profiler takes the frame that the frame
# pointer leads to for the one of the code that runs, and so leaves out who called the stub
# (tests/live/languages/node, program "stubs", has the proof).
FRAMELESS = re.compile(r"Builtins_((Keyed)?(Load|Store)IC\w*|Call(Function)?_\w+)$")


def ours_node(frames):
    """As V8's profiler counts compiled code: see FRAMELESS."""
    functions = [f for f in frames if f.type == "v8js" and f.file]
    skip = bool(frames and FRAMELESS.match(frames[0].name) and len(functions) > 1 and
                frames[1] is functions[0])
    return ours_interpreted(functions[skip:] if skip else frames)


def ours_java(frames):
    """Of samples in Java code, as the other profilers': not those in native code that Java called,
    nor in the VM's stubs, as those that copy arrays."""
    if not frames or frames[0].type != "jvm" or "." not in frames[0].name:
        return None
    return java_name(frames[0].name)


def ours_go(frames):
    """Not those in the handler of the other profiler's signal."""
    if any(f.name.startswith("runtime.sigtramp") for f in frames):
        return None
    return next((go_name(f.name) for f in frames if f.type == "go"), None)


def count_ours(samples, name_of):
    count = collections.Counter()
    for sample in samples:
        name = name_of(user_frames(sample.frames))
        if name:
            count[name] += sample.count
    return count


def early_ends(samples):
    """The share of the stacks that end early, in %; and of each reason and outermost function."""
    ends = collections.Counter()
    for sample in samples:
        reason, frames = wild.end_of(sample.frames)
        if reason:
            user = user_frames(frames)
            ends["%s at %s" % (reason, user[-1].name if user else "no frame")] += sample.count
    one = 100 / max(sum(s.count for s in samples), 1)
    return one * sum(ends.values()), ", ".join("%.2f %% %s" % (one * n, end)
                                               for end, n in ends.most_common(ENDS_SAID))


# ---- both ----

def shares(count):
    total = max(sum(count.values()), 1)
    return {name: n / total for name, n in count.items()}


def compare(ours, theirs, top=10):
    """[(function, our share, theirs, chance)] of the functions that have most in either, the
    largest difference first; shares and chance (three standard deviations) in points. And how
    much of the two distributions is the same, in per cent."""
    a, b = shares(ours), shares(theirs)
    names = sorted(set(a) | set(b), key=lambda n: -max(a.get(n, 0), b.get(n, 0)))
    rows = []
    for name in names[:top]:
        x, y = a.get(name, 0), b.get(name, 0)
        p = (x + y) / 2
        chance = 3 * (p * (1 - p) * (1 / max(sum(ours.values()), 1) +
                                     1 / max(sum(theirs.values()), 1))) ** 0.5
        rows.append((name, 100 * x, 100 * y, 100 * chance))
    rows.sort(key=lambda row: -abs(row[1] - row[2]))
    return rows, 100 * sum(min(a.get(n, 0), b.get(n, 0)) for n in names)
