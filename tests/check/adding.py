# SPDX-License-Identifier: Apache-2.0
"""Adds a kind and a runtime by docs/adding-a-kind.md and docs/adding-a-runtime.md.

    adding.py ROOT             in a copy of the tree: do the pages name the shared places?
    adding.py ROOT --build     and does what comes out build, and know the new words?

A page's block of code goes into the file that the line above it names: as the whole file, before a
line of it, or at its end. The page's table lists the existing files.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from source import tracked

PLACES_MAX = 6
CHECKS = [("docs/rows.py",), ("tests/check/lint.py", "text"), ("tests/check/links.py",)]
# page: word of the kind or runtime that it adds
PAGES = {"docs/adding-a-kind.md": "forks", "docs/adding-a-runtime.md": "basic"}
STEP = re.compile(r"^`([\w./-]+)`(?:, before `([^`]+)`|, (at the end))?:\n\n```\w*\n(.*?)^```\n"
                  r"|^```sh\n(.*?)^```\n", re.M | re.S)


def steps(page):
    """The page's steps: (path, line before which, at the end, text, None). The last is the
    command."""
    return [match.groups() for match in STEP.finditer(page)]


def places(page):
    part = page.split("## The shared places")[1].split("\n## ")[0]
    return re.findall(r"^\| `([^`]+)` \|", part, re.M)


def renumbered(text, table):
    """@text with the next free number of @table in its row."""
    taken = [int(n) for n in re.findall(r"^OP_\w+\((\d+),", table, re.M)]
    return re.sub(r"^(OP_\w+\()\d+", r"\g<1>%d" % (max(taken) + 1), text, flags=re.M)


def take(copy, step):
    path, line, end, text, command = step
    if command:
        subprocess.run(["sh", "-e", "-c", command], cwd=copy, check=True)
        return
    file = copy / path
    if not line and not end:
        if file.exists():
            raise ValueError("%s is no new file" % path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return
    before = file.read_text()
    if path.endswith(".def"):
        text = renumbered(text, before)
    at = len(before) if end else ("\n" + before).find("\n" + line)
    if at < 0:
        raise ValueError("%s has no line that begins with %s" % (path, line))
    file.write_text(before[:at] + text + before[at:])


def snapshot(root, names):
    return {name: (root / name).read_bytes() for name in names}


def follow(copy, names, page):
    """Take the steps of @page in @copy. Returns what is wrong on the page."""
    text = (copy / page).read_text()
    before = snapshot(copy, names)
    for step in steps(text):
        take(copy, step)
    after = snapshot(copy, names)
    touched = sorted(name for name in names if before[name] != after[name])
    listed = sorted(places(text))
    if touched != listed:
        yield "%s lists %s, and its steps touch %s" % (page, ", ".join(listed), ", ".join(touched))
    if len(touched) > PLACES_MAX:
        yield "%s touches %d shared places, more than %d" % (page, len(touched), PLACES_MAX)
    print("%s: %d shared places" % (page, len(touched)))


def run(*command, **options):
    print("+", " ".join(str(word) for word in command), flush=True)
    return subprocess.run(command, check=True, text=True, **options)


def said(copy, program, library, word):
    """The programs that do not know @word."""
    env = {"LD_LIBRARY_PATH": str(library.parent), "PATH": "/usr/bin:/bin"}

    def output(*args):
        return subprocess.run([program, *args], env=env, text=True, capture_output=True,
                              check=False)
    for args in (["record", "--help"], ["doctor"]):
        out = output(*args).stdout
        if not re.search(r"\b%s\b" % word, out):
            yield "otelprof %s: no %s" % (" ".join(args), word)
    config = copy / "wrong.conf"
    for key in "kinds", "runtimes_off":
        config.write_text("%s = no_such_word\n" % key)
        if re.search(r"\b%s\b" % word, output("record", "--config", config, "true").stderr):
            return
    yield "the settings have no %s" % word


def build(copy):
    """Build the library and the program of @copy, and check that they know the words."""
    folder = copy / "build"
    run("meson", "setup", folder, copy, "-Dgrpc=disabled", "-Dhttp=disabled", "-Dmcp=disabled",
        stdout=subprocess.DEVNULL)
    targets = ["examples/otelprof/otelprof", "tests/unit/runtime/basic/test_basic"]
    run("ninja", "-C", folder, *targets, stdout=subprocess.DEVNULL)
    run(folder / "tests/unit/runtime/basic/test_basic")
    library = next(folder.glob("lib/libotelprof.so.0"))
    for word in PAGES.values():
        yield from said(copy, folder / "examples/otelprof/otelprof", library, word)
    for check, *args in CHECKS:
        out = subprocess.run([sys.executable, copy / check, *args, copy], text=True,
                             capture_output=True, check=False)
        if out.returncode:
            yield "%s:\n%s" % (check, out.stdout + out.stderr)


def main(root, *args):
    root = pathlib.Path(root)
    names = tracked(root)
    with tempfile.TemporaryDirectory() as where:
        copy = pathlib.Path(where, "tree")
        for name in names:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, copy / name, follow_symlinks=False)
        wrong = []
        for page in PAGES:
            wrong += follow(copy, names, page)
        if "--build" in args and not wrong:
            wrong += build(copy)
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
