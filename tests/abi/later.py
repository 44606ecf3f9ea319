# SPDX-License-Identifier: Apache-2.0
"""test_structs.c with this library; with a library of a later version, in which each struct has a
field more; and built for that later version, with this library.

    later.py BUILD_ROOT SOURCE_ROOT LIBRARY CONTEXT_LIBRARY

The later library is made of this build's own commands: what sees a public header is compiled
with the grown ones, and all else is linked as it is.
"""
import contextlib
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import grown

SKIPPED = 77
FIELD_BYTES = 8
PROGRAM_S = 240
HERE = pathlib.Path(__file__).resolve().parent


def run(command, cwd, **more):
    r = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, **more)
    if r.returncode:
        sys.exit(f"{shlex.join(map(str, command))}: {r.stdout}{r.stderr}")
    return r.stdout


def table(include):
    """structs.h: what the headers have, which the program must have a row for."""
    names = grown.sized(include)
    if len(names) < 16:
        sys.exit(f"only {len(names)} structs found in the headers")
    rows = " ".join(f"OP_STRUCT({name})" for name in names)
    return f"#define OP_STRUCTS {rows}\n"


class Build:
    """The commands of a build folder."""

    def __init__(self, root):
        self.root = root
        entries = json.loads((root / "compile_commands.json").read_text())
        self.commands = {e["output"]: shlex.split(e["command"]) for e in entries}
        self.sees = {}
        target = None
        for line in run(["ninja", "-t", "deps"], root).splitlines():
            if line and not line[0].isspace():
                target = line.split(":")[0]
                self.sees[target] = False
            elif re.search(r"/include/otelprof/(?!macros|version)\w+\.h$", line):
                self.sees[target] = True

    def again(self, output, include, to):
        """Compile the object @output with other headers, into the folder @to."""
        command = list(self.commands[output])
        made = to / output.replace("/", "_")
        for option in ("-o", "-MF"):
            command[command.index(option) + 1] = str(made) + ("" if option == "-o" else ".d")
        command.insert(command.index("-c"), f"-I{include}")
        at = next(i for i, word in enumerate(command) if word.startswith("-I"))
        command.insert(at, f"-I{include}")
        run(command, self.root)
        return str(made)

    def later(self, library, include, to):
        """The library again, as a later version would be."""
        name = os.path.relpath(library.resolve(), self.root)
        link = shlex.split(run(["ninja", "-t", "commands", "-s", name],
                               self.root).strip().splitlines()[-1])
        if link[-1].startswith("@"):
            link[-1:] = shlex.split((self.root / link[-1][1:]).read_text())
        objects = [word for word in link if self.sees.get(word)]
        if not objects:
            sys.exit(f"{name}: no object of it sees a public header")
        with ThreadPoolExecutor(2) as pool:
            made = dict(zip(objects, pool.map(lambda o: self.again(o, include, to), objects)))
        out = to / re.search(r"-soname,([\w.-]+)", " ".join(link)).group(1)
        link[link.index("-o") + 1] = str(out)
        run([made.get(word, word) for word in link], self.root)
        return out, len(objects)


def sanitizers(build):
    """The options with which the library was built, which a program of its needs, too."""
    command = next(c for output, c in build.commands.items()
                   if output.startswith("lib/libotelprof-private.a.p/"))
    return [word for word in command
            if word.startswith("-fsanitize")]


def program(build, to, name, include, libraries, own, lib):
    """test_structs.c for headers of @own and a library of @lib bytes more in each struct."""
    out = to / name
    run(["cc", "-std=gnu11", "-D_GNU_SOURCE", "-g", "-O1", *sanitizers(build), f"-DOWN_MORE={own}",
         f"-DLIB_MORE={lib}", f"-I{include}", f"-I{to}", f"-I{build.root}/include",
         f"-I{HERE.parent}/harness", str(HERE / "test_structs.c"), "-o", str(out),
         "-Wl,--allow-shlib-undefined", *map(str, libraries)], to)
    return out


def result(what, command, libraries):
    """Run a program with libraries found in these folders."""
    env = dict(os.environ, LD_LIBRARY_PATH=":".join(str(l.parent) for l in libraries))
    with tempfile.TemporaryFile("w+") as out:
        with subprocess.Popen(command, env=env, stdout=out, stderr=subprocess.STDOUT,
                              start_new_session=True) as p:
            try:
                code = p.wait(PROGRAM_S)
            except subprocess.TimeoutExpired:
                code = -signal.SIGALRM
            # and the children that it may have left
            with contextlib.suppress(ProcessLookupError):
                os.killpg(p.pid, signal.SIGKILL)
        out.seek(0)
        last = out.read().strip().splitlines()[-12:]
    verdict = {0: "ok", SKIPPED: "skipped"}.get(code, f"FAILED ({code})")
    print(f"{what}: {verdict}" + ("" if verdict == "ok" else "\n" + "\n".join(last)), flush=True)
    return code


def main(args):
    root, source = (pathlib.Path(a).resolve() for a in args[:2])
    libraries = [pathlib.Path(a).absolute() for a in args[2:]]
    if not shutil.which("ninja") or not (root / "compile_commands.json").exists():
        print("SKIP: not a build of ninja's")
        return SKIPPED
    include = source / "include"
    build = Build(root)
    codes = []
    os.environ["OTELPROF_MODULE_DIR"] = str(libraries[0].parent)
    # always the same path, so that a cache of the compiler's knows what it has compiled before
    with contextlib.ExitStack() as stack:
        folder = root / "tests/abi/later"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        stack.callback(shutil.rmtree, folder)
        to_come = folder / "include"
        grown.grow(include, to_come)
        (folder / "structs.h").write_text(table(include))
        codes.append(result("this program, this library", [program(
            build, folder, "same", include, libraries, 0, 0)], libraries))
        later, objects = zip(*(build.later(l, to_come, folder) for l in libraries))
        print(f"{sum(objects)} objects see a public header")
        codes.append(result("this program, a later library", [program(
            build, folder, "old", include, later, 0, FIELD_BYTES)], later))
        codes.append(result("a later program, this library", [program(
            build, folder, "new", to_come, libraries, FIELD_BYTES, 0)], libraries))
    if any(code not in (0, SKIPPED) for code in codes):
        return 1
    if SKIPPED in codes:
        print("SKIP: what needs a handle was not tested")
    return max(codes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
