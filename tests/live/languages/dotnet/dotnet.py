#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profile tests/live/languages/dotnet/known.cs under each .NET at hand, in each mode.

    dotnet.py --otelprof PROGRAM --dir DIR [--quick] [--hz N] [--seconds N] [--only CHECK]
              [CELL...]

A cell is dotnet-VERSION, dotnet-VERSION-MODE or dotnet-VERSION-awaits (--await-chains). OTELPROF_DOTNET names the program `dotnet` of an
installation that has the runtimes and an SDK; without it, that beside the tree or of the PATH is
taken. --quick takes the modes that need no more than a runtime.
"""

import glob
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "framework"))

import cells  # noqa: E402
import check  # noqa: E402
import scenes  # noqa: E402
import suite  # noqa: E402

VERSIONS = ["8", "9", "10"]
SOURCES = ["known.cs", "awaits.cs"]
# Of the environment, without its DOTNET_.
SETTINGS = ["TieredCompilation=0", "TieredPGO=0", "ReadyToRun=0", "EnableWriteXorExecute=0",
            "PerfMapEnabled=1"]
# Properties of the project.
FORMS = {
    "self-contained": ["-r", "linux-x64", "--self-contained"],
    "single-file": ["-r", "linux-x64", "--self-contained", "-p:PublishSingleFile=true"],
}
AWAITS = {
    "awaits": [],
    "awaits-debug": ["-optimize-"],
}
CELLS = {"dotnet-" + v + ("-" + mode if mode else ""): (v, mode)
         for v in VERSIONS for mode in ["", *SETTINGS, *FORMS, *AWAITS]}
SHARED = os.path.join(HERE, *[".."] * 5, "shared", "runtimes", "dotnet.sh")
LEAVES = {"a": r"Known\.Spin\.Leaf50", "b": r"Known\.Spin\.Leaf30", "c": r"Known\.Spin\.Leaf20"}
ROOT = r"Known\.Spin\.Run\nKnown\.Program\.Main\n"
SPIN = cells.Cell("(?:" + "|".join(LEAVES.values()) + ")\n" +
                  cells.chain(name=r"Known\.Spin\.F%d") + ROOT, LEAVES, only_type="dotnet",
                  others=r"(?!(?:.+\n)*Known\.Spin\.Leaf)(?:.+\n)*")
OTHERS_MOST = 0.05  # of the samples: the runtime's own threads, and code between two leaves
WHOLE_LEAST = 0.99
WORK = "Known.Shapes.Work"
LEAF = "Known.Framework.Work"
# Shapes with code that runs while an exception is on its way.
HANDLERS = {"Catches", "Filters", "FinallyOut", "Rethrows", "Normal", "InTry", "Usings", "Locks",
            "AsyncStream"}


def source_name(text):
    """As it stands in the source: the name that a method has in metadata."""
    types, _, method = text.rpartition(":")
    if not types:
        return text
    made = None
    names = []
    for name in types.split("+"):
        machine = re.fullmatch(r"<(.+)>d(?:__\d+(?:`\d+)?)?", name)
        if machine:
            made = machine[1]
        elif not name.startswith("<>c"):
            names.append(name)
    if made:
        names += [made_name(made)] + ([] if method == "MoveNext" else [method])
    else:
        names.append(made_name(method))
    return ".".join(names)


def made_name(name):
    """Of a lambda or a local function."""
    match = re.match(r"<(\w+)>(?:g__(\w+)\||b__)", name)
    return match[1] + "." + (match[2] or "<lambda>") if match else name


def lines_of(first, last):
    """The lines from that which holds @first to the next one, or itself, that holds @last."""
    with open(os.path.join(HERE, "known.cs"), encoding="utf-8") as f:
        lines = f.read().splitlines()
    start = next(n for n, line in enumerate(lines) if first in line)
    end = next(n for n, line in enumerate(lines) if n >= start and last in line)
    return set(range(start + 1, end + 2))


class Scenes(scenes.Scenes):
    """The stacks of one shape are one scene: better code may have another one. Frames of the
    framework are left out, as its code may be compiled again, and inlined. Where the JIT kept no
    place, StackTrace says the method's first line."""

    kind = "dotnet"

    def __init__(self, said):
        super().__init__(scenes.read(said, source_name))
        self.lines = lines_of("static int Work(", "return sum")
        self.forms = {}
        for name in self.scenes:
            self.forms.setdefault(name.rpartition("_")[0], []).append(name)

    def is_scene(self, leaf):
        return leaf == WORK

    def without_throw(self, frames):
        """A handler runs above the frames of what was thrown, down to its own method's. StackTrace
        leaves these out."""
        for i, f in enumerate(frames[:-1]):
            for j in range(i + 1, min(i + 6, len(frames))):
                if frames[j].name == f.name:
                    yield frames[:i + 1] + frames[j + 1:]

    def add(self, sample):
        frames = [f for f in sample.frames if f.name.startswith("Known.")]
        if not frames or frames[0].name != WORK:
            return
        self.total += sample.count
        found = self.match(frames)
        for shorter in self.without_throw(frames):
            found = found or [name for name in self.match(shorter)
                              if name.rpartition("_")[0] in HANDLERS]
            for shortest in self.without_throw(shorter):
                found = found or [name for name in self.match(shortest)
                                  if name.rpartition("_")[0] in HANDLERS]
        self.named += sample.count if found else 0
        wrong = {}
        for name in found:
            wrong[name] = self.problem(name, frames, sample)
            if not wrong[name]:
                self.right += sample.count
                for form in self.forms[name.rpartition("_")[0]]:
                    self.seen[form] = self.seen.get(form, 0) + sample.count
                return
        text = "%s: %s" % ("; ".join(sorted(set(wrong.values()))) or "no such scene",
                           " ".join("%s:%d" % (f.name, f.line) for f in sample.frames))
        self.wrong[text] = self.wrong.get(text, 0) + sample.count

    def match(self, frames):
        return self.names.get(tuple(f.name for f in frames), [])

    def problem(self, name, frames, _sample):
        for i, (label, file, line) in enumerate(self.scenes[name]):
            same = [f for f in frames if f.name == label]
            if i == 0:
                if same[0].line not in self.lines:
                    return "line %d of %s" % (same[0].line, label)
            elif line and not any(f.approximate or (f.file, f.line) == (file, line) for f in same):
                return "%s:%d of %s, not %s:%d" % (same[0].file, same[0].line, label, file, line)
        return None


class Dotnet:
    """The known program under one runtime."""

    def __init__(self, command, settings, release):
        self.command = command
        self.env = dict(os.environ, DOTNET_SYSTEM_GLOBALIZATION_INVARIANT="1", **settings)
        self.release = release

    def start(self, *arguments):
        return subprocess.Popen([*self.command, *arguments], stdout=subprocess.PIPE, text=True,
                                env=self.env)


def find():
    """(the program dotnet, why there is none)"""
    program = os.environ.get("OTELPROF_DOTNET")
    if not program and os.path.exists(SHARED):
        done = subprocess.run(["bash", "-c", '. "$0" sdk && command -v dotnet', SHARED],
                              capture_output=True, text=True)
        program = done.stdout.strip()
        if not program:
            return None, "%s: %s" % (SHARED, done.stderr.strip()[-200:])
    program = program or shutil.which("dotnet")
    if not program or not os.path.exists(program):
        return None, "no .NET here: OTELPROF_DOTNET names a dotnet"
    return os.path.realpath(program), ""


def newest(pattern):
    found = sorted(glob.glob(pattern), key=lambda p: [int(n) for n in re.findall(r"\d+", p)])
    return found[-1] if found else None


def compile_known(program, folder, options=()):
    """known.dll, for every version from 8 on."""
    folder = os.path.join(folder, "debug" if options else "release")
    os.makedirs(folder, exist_ok=True)
    root = os.path.dirname(program)
    compiler = newest(root + "/sdk/*/Roslyn/bincore/csc.dll")
    pack = newest(root + "/packs/Microsoft.NETCore.App.Ref/8.*/ref/net8.0")
    if not compiler or not pack:
        raise suite.Skip("no C# compiler with the references of .NET 8 in " + root)
    out = os.path.join(folder, "known.dll")
    sources = [os.path.join(HERE, name) for name in SOURCES]
    if os.path.exists(out) and os.path.getmtime(out) > max(map(os.path.getmtime, sources)):
        return out
    done = subprocess.run(
        [program, compiler, "-nologo", "-optimize+", "-unsafe", "-nowarn:649", "-debug:portable",
         *options, "-out:" + out, *["-r:" + p for p in glob.glob(pack + "/*.dll")], *sources],
        capture_output=True, text=True, env=dict(os.environ, DOTNET_ROOT=root))
    if done.returncode:
        raise RuntimeError(done.stdout[-2000:])
    with open(os.path.join(folder, "known.runtimeconfig.json"), "w", encoding="utf-8") as f:
        f.write('{"runtimeOptions":{"framework":{"name":"Microsoft.NETCore.App",'
                '"version":"8.0.0"}}}')
    return out


PROJECT = """<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup>
<OutputType>Exe</OutputType><TargetFramework>net%s.0</TargetFramework><Optimize>true</Optimize>
<AllowUnsafeBlocks>true</AllowUnsafeBlocks><NoWarn>CS0649;CS8981</NoWarn><LangVersion>12</LangVersion>
<InvariantGlobalization>true</InvariantGlobalization>
</PropertyGroup></Project>
"""


def publish(program, version, form, folder):
    """The program of the project known in a form. Only the SDK of 10 has all packs."""
    suite.fresh_folder(folder)
    for source in SOURCES:
        shutil.copy(os.path.join(HERE, source), folder)
    for name, text in (("known.csproj", PROJECT % version), (
            "NuGet.Config", "<configuration><packageSources><clear /></packageSources>"
            "</configuration>")):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
    root = os.path.dirname(program)
    done = subprocess.run(
        [program, "publish", "-c", "Release", "-o", folder + "/out", *FORMS[form]], cwd=folder,
        capture_output=True, text=True, env=dict(
            os.environ, DOTNET_ROOT=root, NUGET_PACKAGES=root + "/packages", DOTNET_NOLOGO="1",
            DOTNET_CLI_TELEMETRY_OPTOUT="1", DOTNET_CLI_USE_MSBUILD_SERVER="0",
            MSBUILDDISABLENODEREUSE="1", DisableTransitiveFrameworkReferenceDownloads="true",
            DOTNET_SYSTEM_GLOBALIZATION_INVARIANT="1"))
    if done.returncode:
        errors = re.findall(r"error [^\n]*", done.stdout + done.stderr)
        raise suite.Skip("the SDK cannot make it: %s" % (errors or ["?"])[0][:200])
    return folder + "/out/known"


def make(run, program, version, mode):
    release = newest(os.path.dirname(program) + "/shared/Microsoft.NETCore.App/%s.*" % version)
    if mode in FORMS:
        made = publish(program, version, mode, run.path("%s-%s" % (version, mode)))
        return Dotnet([made], {}, os.path.basename(release) if release else "")
    if not release:
        raise suite.Skip("no .NET %s in %s" % (version, os.path.dirname(program)))
    release = os.path.basename(release)
    settings = {"DOTNET_" + mode.split("=")[0]: mode.split("=")[1]} if mode in SETTINGS else \
        {"DOTNET_TieredPGO": "0"} if mode in AWAITS else {}
    known = compile_known(program, run.args.dir, AWAITS.get(mode, []))
    return Dotnet([program, "exec", "--fx-version", release, known], settings, release)


def check_spin(run, name, dotnet):
    capture, text, _, pid = scenes.record(run, name, dotnet, "spin")
    result = check.check_chain(capture, scenes.spin_cell(SPIN, capture.samples), pid)
    lines = {"Known.Spin.F%d" % n: lines_of("static int F%d(" % n, ";") for n in range(2, 25)}
    lines.update({"Known.Spin.Leaf%d" % n: lines_of("static int Leaf%d(" % n, "return x;")
                  for n in (50, 30, 20)})
    check.check_lines(check.select(capture, pid), SPIN, lines, result)
    total = sum(s.count for s in capture.samples)
    others = sum(s.count for s in capture.samples if re.fullmatch(
        SPIN.others, check.stack_names(s, SPIN, check.name_by_record)))
    result.need(others <= OTHERS_MOST * total, "%d of %d outside the chain" % (others, total))
    cut = sum(check.errors_of(capture.samples).values())
    result.need(total - cut >= WHOLE_LEAST * total, "%d of %d stacks whole" % (total - cut, total))
    return [result, check.check_rules(capture), check.check_accounting(text)]


def check_shapes(run, name, dotnet):
    process = dotnet.start("shapes", suite.LONG)
    try:
        said = scenes.wait_ready(process)
        capture, _ = run.record_process(name + "-shapes", process.pid, 3)
        process.kill()
        said += process.stdout.read()
    finally:
        suite.stop([process])
    result = check.Result()
    Scenes(said).judge(check.select(capture, process.pid), result)
    return [result]


def check_awaits(run, name, dotnet):
    """Between the method that works and the box that resumed it stand those that await it, and
    no others. Frames of the framework are left out."""
    process = dotnet.start("awaits", suite.LONG)
    try:
        said = scenes.wait_ready(process)
        capture, text = run.record_process(name, process.pid, options=["--await-chains"])
    finally:
        suite.stop([process])
    known = scenes.read(said, source_name)
    seen = dict.fromkeys(known, 0)
    total = right = 0
    wrong = {}
    for sample in check.select(capture, process.pid):
        names = [f.name for f in sample.frames]
        box = next((i for i, n in enumerate(names) if ".AsyncStateMachineBox`1." in n), len(names))
        if "Known.Awaits.Work" not in names:
            continue
        chain = [n for n in names[names.index("Known.Awaits.Work"):box] if n.startswith("Known.")]
        found = [scene for scene, rows in known.items() if [r[0] for r in rows] == chain]
        total += sample.count
        right += sample.count if found else 0
        for scene in found:
            seen[scene] += sample.count
        if not found:
            key = " ".join(chain)
            wrong[key] = wrong.get(key, 0) + sample.count
    result = check.Result()
    result.need(total >= 500 and right >= 0.99 * total,
                "%d of %d samples have the methods that await" % (right, total))
    missing = [scene for scene, n in seen.items() if not n]
    result.need(not missing, "%d scenes seen%s" % (
        len(seen) - len(missing), ", not: " + " ".join(missing) if missing else ""))
    result.figures.update(samples=total, errors=check.errors_of(capture.samples),
                          exact=100 * right / max(total, 1))
    if result.problems:
        result.problems += ["  %d times: %s" % (n, text) for text, n in sorted(
            wrong.items(), key=lambda x: -x[1])[:12]]
    return [result, check.check_rules(capture), check.check_accounting(text)]


def is_managed(frame):
    return frame.type == "dotnet" or frame.mapping.endswith(".dll")


def check_framework(run, name, dotnet):
    """Methods of the framework have the names that StackTrace says, handlers and instances of
    generic methods, too, in the code that was compiled ahead of time."""
    capture, _, said, pid = scenes.record(run, name, dotnet, "framework")
    result = check.Result()
    wanted = {tuple(row[0] for row in rows): scene
              for scene, rows in scenes.read(said, source_name).items()}
    total = right = 0
    seen = set()
    wrong = {}
    for sample in check.select(capture, pid):
        names = [f.name for f in sample.frames]
        if LEAF not in names:
            continue
        frames = [f for f in sample.frames[names.index(LEAF) + 1:] if is_managed(f)]
        stack = tuple(f.name for f in frames)
        # A handler runs above the frames of what was thrown, down to its own method's.
        stacks = [stack] + [stack[:i + 1] + stack[j + 1:] for i in range(len(stack))
                            for j in range(i + 1, len(stack)) if stack[i] == stack[j]]
        scene = next((wanted[s] for s in stacks if s in wanted), None)
        total += sample.count
        if scene and any(f.type != "dotnet" for f in frames):
            right += sample.count
            seen.add(scene)
        else:
            wrong[" ".join(stack)] = wrong.get(" ".join(stack), 0) + sample.count
    result.need(total >= 500 and right >= 0.99 * total,
                "%d of %d samples exact in code compiled ahead of time" % (right, total))
    missing = sorted(set(wanted.values()) - seen)
    result.need(not missing, "%d scenes seen%s" % (
        len(seen), ", not: " + " ".join(missing) if missing else ""))
    if result.problems:
        result.problems += ["  %d times: %s" % (n, text) for text, n in sorted(
            wrong.items(), key=lambda x: -x[1])[:6]]
    run.row = None  # no figures of a mode
    return [result]


CHECKS = {"spin": check_spin, "shapes": check_shapes, "framework": check_framework,
          "awaits": check_awaits}


def cell(run, name, program, why, wanted):
    version, mode = CELLS[name]
    if not program:
        raise suite.Skip(why)
    dotnet = make(run, program, version, mode)
    row = dict(run.row, release=dotnet.release)
    for what in wanted:
        if (what == "framework" and mode) or (what == "awaits") != (mode in AWAITS):
            continue
        run.row = dict(row, program=what)
        run.judge(name if mode in AWAITS else name + "-" + what, *CHECKS[what](run, name, dotnet))


def main():
    parser = suite.parser("otelprof")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--hz", type=int, default=999)
    parser.add_argument("--only", choices=CHECKS, action="append")
    run = suite.Run(parser.parse_args())
    run.suite = "dotnet"
    program, why = find()
    quick = ["dotnet-" + v + mode for v in VERSIONS for mode in ("", "-awaits")]
    for name in run.args.cells or (quick if run.args.quick else list(CELLS)):
        version, mode = CELLS[name]
        run.cell(name, cell, program, why, run.args.only or list(CHECKS),
                 row=suite.row(".NET", version, mode))
    return run.status()


if __name__ == "__main__":
    sys.exit(main())
