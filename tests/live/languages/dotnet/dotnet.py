#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profile tests/live/languages/dotnet/known.cs under each .NET at hand.

    dotnet.py --otelprof PROGRAM --dir DIR [--seconds N] [--hz N] [VERSION...]

OTELPROF_DOTNET names the program `dotnet` of an installation that has an SDK and the runtimes to
test; without it, `dotnet` of the PATH is taken. Exit: 0 passed, 1 failed, 77 skipped.
"""

import argparse
import collections
import glob
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
EXACT = 0.99
LEAST = 50  # samples of a scene by which it is judged


def skip(reason):
    print("skipped: " + reason)
    sys.exit(77)


def newest(pattern):
    found = sorted(glob.glob(pattern))
    return found[-1] if found else None


def find(arguments):
    """The program, its folder, and the versions at hand."""
    program = os.environ.get("OTELPROF_DOTNET") or shutil.which("dotnet")
    if not program or not os.path.exists(program):
        skip("no .NET here; OTELPROF_DOTNET names a dotnet")
    root = os.path.dirname(os.path.realpath(program))
    versions = [os.path.basename(p) for p in
                sorted(glob.glob(root + "/shared/Microsoft.NETCore.App/*"))]
    wanted = arguments.versions or ["8.", "9.", "10."]
    versions = [v for v in versions if any(v.startswith(w) for w in wanted)]
    if not versions:
        skip("no .NET 8, 9 or 10 in " + root)
    return program, root, versions


def compile_known(program, root, folder):
    compiler = newest(root + "/sdk/*/Roslyn/bincore/csc.dll")
    pack = newest(root + "/packs/Microsoft.NETCore.App.Ref/8*/ref/net8.0")
    if not compiler or not pack:
        skip("no C# compiler with the references of .NET 8 in " + root)
    out = os.path.join(folder, "known.dll")
    subprocess.run([program, compiler, "-nologo", "-optimize+", "-unsafe", "-out:" + out] +
                   ["-r:" + p for p in glob.glob(pack + "/*.dll")] +
                   [os.path.join(HERE, "known.cs")], check=True)
    with open(os.path.join(folder, "known.runtimeconfig.json"), "w", encoding="utf-8") as f:
        f.write('{"runtimeOptions":{"framework":{"name":"Microsoft.NETCore.App",'
                '"version":"8.0.0"}}}')
    return out


def record(arguments, program, version, known, folder):
    """Returns what the program said, and [(names, count)], the outermost name first."""
    out = os.path.join(folder, version + ".folded")
    env = dict(os.environ, DOTNET_SYSTEM_GLOBALIZATION_INVARIANT="1")
    with subprocess.Popen([program, "exec", "--fx-version", version, known,
                           str(arguments.seconds)], stdout=subprocess.PIPE, text=True,
                          env=env) as p:
        pid = p.stdout.readline().split()[1]
        with subprocess.Popen([arguments.otelprof, "record", "-F", str(arguments.hz), "-p", pid,
                               "-d", str(int(arguments.seconds * 16 + 8)), "-o", out],
                              stdout=subprocess.DEVNULL) as recorder:
            said = p.stdout.read()
            recorder.wait()
    stacks = []
    with open(out, encoding="utf-8") as f:
        for line in f:
            text, count = line.rsplit(" ", 1)
            stacks.append((text.split(";"), int(count)))
    return said, stacks


def own(names):
    """Of a stack whose leaf is Work(), the program's methods; None: it is of another one."""
    names = [n for n in names if n.startswith("Known.") or n.startswith("[")]
    if not names or names[-1] != "Known.Work":
        return None
    return tuple(n.removeprefix("Known.") for n in names)


def judge(version, said, stacks):
    scenes = collections.OrderedDict()
    for line in said.splitlines():
        words = line.split()
        if words and words[0] == "scene":
            scenes[tuple(words[2:])] = words[1]
    seen = collections.Counter()
    wrong = collections.Counter()
    for names, count in stacks:
        mine = own(names)
        if mine in scenes:
            seen[scenes[mine]] += count
        elif mine:
            wrong[" ".join(mine)] += count
    total = sum(seen.values()) + sum(wrong.values())
    exact = sum(seen.values()) / max(total, 1)
    print("%-8s exact %.2f %% of %d, scenes: %s" % (
        version, 100 * exact, total,
        " ".join("%s %d" % (s, seen[s]) for s in scenes.values())))
    for text, count in wrong.most_common(8):
        print("  wrong %d: %s" % (count, text))
    few = [s for s in scenes.values() if seen[s] < LEAST and not s.startswith("may-")]
    if few:  # the machine was busy, or the scene is wrong
        print("  too few samples: " + " ".join(few))
    return exact >= EXACT and not few


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--otelprof", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--hz", type=int, default=999)
    parser.add_argument("versions", nargs="*")
    arguments = parser.parse_args()
    program, root, versions = find(arguments)
    os.makedirs(arguments.dir, exist_ok=True)
    known = compile_known(program, root, arguments.dir)
    good = [judge(v, *record(arguments, program, v, known, arguments.dir)) for v in versions]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
