# SPDX-License-Identifier: Apache-2.0
"""Language runtimes in a guest: what goes to its disk, and what is true of a recording.

The programs, and what they must look like, are those of tests/live/languages. Samples are few, so
shares are not looked at.
"""

import functools
import glob
import os
import re
import shutil
import subprocess
import sys
import types
import typing
from dataclasses import replace
from types import SimpleNamespace

HERE = os.path.dirname(os.path.abspath(__file__))
LANGUAGES = os.path.join(HERE, "..", "..", "live", "languages")
PHP = os.path.join(LANGUAGES, "php")
HOTSPOT = os.path.join(LANGUAGES, "hotspot")
sys.path[:0] = [PHP, HOTSPOT, os.path.join(HERE, "..", "wild"),
                *(os.path.join(LANGUAGES, name) for name in ("ruby", "perl"))]

import check
import guest
import hotspot
import perl
import php
import ruby

MIN_SAMPLES = 100
MIN_SCENES = 20
WAY_MOST = 0.2  # of the samples: between two leaves; emulated, that takes its time
JAVA = "usr/lib/jvm/java-17-openjdk-"
KNOWN = "/truth/hotspot"
# Cells of HotSpot: the mode of the VM, and how much more the leaves do (see hotspot.py). Those of
# compiled code only run when they are named, because a busy host fails them.
HOTSPOTS = {"hotspot": ("int", 1), "hotspot-c1": ("c1", 60), "hotspot-jit": ("debug", 60)}


def real(tree, path):
    """@path of a Debian tree, which has links from its root."""
    while os.path.islink(path):
        to = os.readlink(path)
        path = tree + to if to.startswith("/") else os.path.join(os.path.dirname(path), to)
    return path


def add_tree(disk, tree, folder, skip=()):
    """Folder @folder of @tree, with the files that its links lead to."""
    for name in sorted(os.listdir(os.path.join(tree, folder))):
        path = os.path.join(folder, name)
        source = real(tree, os.path.join(tree, path))
        if name in skip:
            continue
        if os.path.isfile(source):
            disk.add(source, path)
        elif not os.path.islink(os.path.join(tree, path)):
            add_tree(disk, tree, path, skip)


def add_php(disk, tree):
    """Returns the command, or why there is none."""
    disk.add(os.path.join(tree, "usr/bin/php8.2"), "usr/bin/php8.2")
    disk.add(os.path.join(PHP, "known.php"), "truth/known.php")
    return "php8.2 /truth/known.php spin 600", None


def add_hotspot(disk, tree, arch, work, name):
    mode, factor = HOTSPOTS[name]
    home = JAVA + arch
    out = os.path.join(work, "hotspot-classes")
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    done = None
    for javac in sorted(glob.glob("/usr/lib/jvm/*/bin/javac")):
        done = subprocess.run([javac, "--release", "8", "-Xlint:-options", "-d", out,
                               os.path.join(HOTSPOT, "Known.java")], capture_output=True)
        if done.returncode == 0:
            break
    if not done or done.returncode:
        return None, "no javac that makes classes for JDK 8"
    disk.add_folder(out, KNOWN.lstrip("/"))
    add_tree(disk, tree, home, ("man", "docs", "legal", "src.zip", "jmods"))
    options = ["-Xmx256m", *hotspot.OPTIONS, *hotspot.MODES[mode]]
    return "/%s/bin/java %s -cp %s Known scenes 600 %d" % (
        home, " ".join(options), KNOWN, factor), None


class Script(typing.NamedTuple):
    """A language whose program knows the stack of each of its scenes."""

    language: types.ModuleType
    command: str
    source: str
    folders: tuple
    version: str  # of the folders
    root: str = "/"  # of the guest; another one: Debian 13, whose libraries are newer


PERL = "usr/share/perl/{version}", "usr/lib/{triplet}/perl-base", "usr/lib/{triplet}/perl/{version}"
RUBY = "usr/lib/ruby/{version}", "usr/lib/{triplet}/ruby/{version}"
SCRIPTS = {
    "ruby": Script(ruby, "ruby3.1 --disable-gems", "known.rb", RUBY, "3.1.0"),
    "ruby3.3": Script(ruby, "ruby3.3 --disable-gems", "known.rb", RUBY, "3.3.0", "/trixie"),
    "perl": Script(perl, "perl", "known.pl", PERL, "5.36"),
    "perl5.40": Script(perl, "perl", "known.pl", PERL, "5.40", "/trixie"),
}
SCRIPT_SECONDS = 5  # times those of other cells: there are more than a hundred scenes


def add_script(disk, tree, trixie, name):
    """Returns the command of cell @name: SCRIPT, all its scenes, or SCRIPT-calls."""
    script, _, what = name.partition("-")
    script = SCRIPTS[script]
    command = "%s /truth/%s %s 600" % (script.command, script.source, what or "shapes")
    if script.root != "/":
        command = "chroot %s %s" % (script.root, command)
        disk, tree = disk.root(script.root, trixie), trixie
    program = "usr/bin/" + script.command.split()[0]
    disk.add(os.path.join(tree, program), program)
    for folder in script.folders:
        folder = folder.format(triplet=guest.ARCHES[disk.arch].triplet, version=script.version)
        add_tree(disk, tree, folder, ("rdoc", "irb", "unicore", "pod"))
    disk.add(os.path.join(script.language.HERE, script.source), "truth/" + script.source)
    return command


def check_script(name, capture, said):
    script, _, what = name.partition("-")
    language = SCRIPTS[script].language.LANGUAGE
    if what:
        result = check.check_chain(capture, replace(language.calls, min_samples=MIN_SAMPLES))
        # names of native code may wait for CPU time
        program = re.escape(SCRIPTS[script].command.split()[0])
        language.check_mix(capture, result, r"_start|%s\+0x[0-9a-f]+" % program)
        return result
    result = check.Result()
    scenes = language.scenes(said)
    scenes.missing_most = 1
    # here code of files, of eval() and of threads may live shorter than the library takes to read
    # what names it
    named = [s for s in check.select(capture) if not any(
        f.name == "(file)" or f.name.startswith(language.kind + "@0x") for f in s.frames)]
    scenes.judge(named, result)
    result.need(scenes.right >= MIN_SAMPLES and len(scenes.seen) >= MIN_SCENES,
                "functions were gone in %d samples" %
                (sum(s.count for s in capture.samples) - sum(s.count for s in named)))
    return result


def check_php(capture, said):
    cell = replace(php.SPIN, leaf_points=None, min_samples=MIN_SAMPLES)
    result = check.check_chain(capture, cell)
    php.check_mix(capture, result)
    total = sum(s.count for s in capture.samples)
    others = sum(s.count for s in capture.samples if check.re.fullmatch(
        cell.others, check.stack_names(s, cell, check.name_by_record)))
    result.need(others <= WAY_MOST * total, "%d of %d on the way" % (others, total))
    return result


def check_hotspot(capture, said):
    known = SimpleNamespace(stacks={
        tuple(hotspot.frame(word) for word in line.split()[2:])
        for line in said.splitlines() if line.startswith("stack ")})
    known.tails = {stack[1:] for stack in known.stacks}
    hotspot.MIN_SAMPLES = MIN_SAMPLES
    hotspot.OTHERS_MOST = WAY_MOST
    result = check.Result()
    count = hotspot.count_scenes(check.select(capture), known)
    hotspot.judge(count, result, True)
    return result


CHECKS = {"php": check_php, **{name: check_hotspot for name in HOTSPOTS},
          **{name + what: functools.partial(check_script, name + what)
             for name in SCRIPTS for what in ("", "-calls")}}
