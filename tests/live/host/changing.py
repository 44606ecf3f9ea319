#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that change while processes that run them are profiled.

    changing.py --otelprof PROGRAM --dir DIR [--seed N] [--seconds N] [CELL...]

A library that is replaced, as packages do it, is two libraries: whoever had mapped the old
one keeps its names and its frames. Where one takes the place of another in a living process, its
frames are those of the one that is there. One that is overwritten or cut in place takes its
processes down; the profiler goes on and accounts for every sample.
"""

import bisect
import itertools
import os
import random
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "framework"))
import changing_languages as languages  # noqa: E402
import check  # noqa: E402
import otlp  # noqa: E402
import robust  # noqa: E402
import suite  # noqa: E402

SECONDS = 5
SPOILED = 80  # files
FIRST = re.compile(r"spin\nfirst_inner\nfirst_work\nplugin_work\nmain\n")
SECOND = re.compile(r"spin\nsecond_inner\nsecond_mid\nsecond_work\nplugin_work\nmain\n")
# its own work, or the dynamic linker's
SWAPPED = re.compile(r"(?!work\n|inner\n|plugin\n)|(?:work\n)?(?:inner\n)?plugin\nmain\n")


def make(folder):
    """The two libraries and the program that runs libplugin.so beside it."""
    suite.fresh_folder(folder)
    source = os.path.join(HERE, "programs", "plugin%s.c")
    library = ["gcc", "-O2", "-fomit-frame-pointer", "-shared", "-fPIC",
               "-Wl,-soname,libplugin.so", source % ""]
    for command in (library + ["-DFIRST", "-o", folder + "/first.so"],
                    library + ["-o", folder + "/second.so"],
                    ["gcc", "-O2", source % "_host", folder + "/first.so", "-o",
                     folder + "/host", "-Wl,-rpath," + folder]):
        subprocess.run(command, check=True, capture_output=True, text=True)
    place(folder, "first")


def place(folder, name):
    """Replace the library as a package manager does: a new file under the old name."""
    shutil.copy("%s/%s.so" % (folder, name), folder + "/new")
    os.rename(folder + "/new", folder + "/libplugin.so")


def host(folder):
    return subprocess.Popen([folder + "/host"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def profile(run, name):
    return suite.Recorder(run.args.otelprof, run.fresh(name + ".otlp"), "-F", "499", "--comm", "host")


def whole(capture, pid, pattern, result):
    """Nearly all stacks of @pid match @pattern, and so have no name of the other file."""
    total = right = 0
    for sample in check.select(capture, pid):
        names = "".join((frame.name or "?") + "\n" for frame in sample.frames
                        if not check.is_kernel(frame))
        total += sample.count
        right += sample.count if pattern.match(names) else 0
    result.need(total >= 50 and right >= 0.97 * total,
                "%d of %d stacks are %s" % (right, total, "whole" if pattern is SWAPPED else pattern.pattern.split(r"\n")[1]))


def cell_replaced(run, name):
    folder = run.path("plugin-replaced")
    make(folder)
    processes = [host(folder)]
    try:
        with profile(run, "replaced") as profiler:
            suite.wait_for_work(processes[0].pid, SECONDS / 2)
            place(folder, "second")
            processes.append(host(folder))
            suite.wait_for_work(processes[1].pid, SECONDS / 2)
            text = profiler.end()
    finally:
        suite.stop(processes)
    result = check.Result()
    capture = otlp.read_file(profiler.out)
    whole(capture, processes[0].pid, FIRST, result)
    whole(capture, processes[1].pid, SECOND, result)
    run.judge(name, result, check.check_accounting(text))


def spoil(folder, how):
    """Change the file that processes have mapped."""
    with open(folder + "/second.so", "rb") as f:
        other = f.read()
    with open(folder + "/libplugin.so", "r+b") as f:
        if how == "cut":
            f.truncate(random.randrange(len(other)))
        else:
            f.write(other[:random.randrange(len(other))])


def cell_spoiled(run, name):
    """The file is overwritten or cut at any moment of a process's life, many times."""
    folder = run.path("plugin-spoiled")
    make(folder)
    random.seed(7)
    with profile(run, "spoiled") as profiler:
        for i in range(SPOILED):
            place(folder, "first")
            process = host(folder)
            time.sleep(random.random() * 0.05)
            spoil(folder, ("cut", "overwrite")[i % 2])
            time.sleep(0.01)
            suite.stop([process])
        text = profiler.end()
    run.judge(name, check.check_accounting(text), check.check_rules(otlp.read_file(profiler.out)))


def cell_swapped(run, name):
    """One library takes the place of another forty times a second. A stack is wrong, without
    a word, where it is walked by the table of the one before."""
    folder = suite.fresh_folder(run.path("plugin-swapped"))
    sources = os.path.join(HERE, "..", "..", "system", "wild", "sources")
    subprocess.run(["gcc", "-O2", "-o", folder + "/host", sources + "/plugins.c", "-ldl"], check=True)
    for step in range(1, 5):
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-DSTEP=%d" % step, "-o",
                        "%s/plugin%d.so" % (folder, step), sources + "/plugin.c"], check=True)
    with profile(run, "swapped") as profiler:
        process = subprocess.Popen([folder + "/host"], cwd=folder)
        try:
            suite.wait_for_work(process.pid, SECONDS)
            text = profiler.end()
        finally:
            suite.stop([process])
    result = check.Result()
    whole(otlp.read_file(profiler.out), process.pid, SWAPPED, result)
    run.judge(name, result, check.check_accounting(text))


def named(folder):
    """Two programs and a library, which tell by their frames which file they are."""
    suite.fresh_folder(folder)
    source = os.path.join(HERE, "programs", "named.c")
    for name, pad, more in (("alpha", 64, ["-rdynamic"]), ("beta", 512, ["-rdynamic"]),
                            ("gamma", 256, ["-DLIBRARY", "-shared", "-fPIC"])):
        subprocess.run(["gcc", "-O1", "-fno-inline", "-DNAME=" + name, "-DPAD=%d" % pad,
                        *more, "-o", "%s/%s" % (folder, name), source, "-ldl"], check=True)


def same_inode(folder, name, first, then):
    """Make file @name of @first, have then() do with it what it likes; make a file of `beta` that
    has its inode. None where the file system gives other numbers."""
    for i in range(200):  # the lowest numbers that are free are theirs
        open("%s/fill%d" % (folder, i), "w", encoding="utf-8").close()
    for i in range(20):
        path = "%s/%s%d" % (folder, name, i)
        shutil.copy(folder + "/" + first, path)
        inode = os.stat(path).st_ino
        held = then(path)
        os.unlink(path)
        second = "%s/second%d" % (folder, i)
        shutil.copy(folder + "/beta", second)
        if os.stat(second).st_ino == inode:
            return second, held
        os.unlink(second)
        suite.stop(held)
    return None


def inodes(run, name, work):
    """What work() runs of `beta` has frames of it alone, at each of its runs. A stack that says
    that it could not be walked names no file, and few are so."""
    folder = run.path("named-" + name)
    named(folder)
    held = []
    try:
        with suite.Recorder(run.args.otelprof, run.fresh(name + ".otlp"), "-F", "499") as profiler:
            betas, alphas = work(folder, held)
            text = profiler.end()
    finally:
        suite.stop(held)
    result = check.Result()
    capture = otlp.read_file(profiler.out)
    for pids, own, other in ((betas, "beta", "alpha|gamma"), (alphas, "alpha", "beta|gamma")):
        total = right = wrong = marked = 0
        for sample in capture.samples:
            if sample.resource.get("process.pid") not in pids:
                continue
            names = ";".join(frame.name or "?" for frame in sample.frames)
            total += sample.count
            right += sample.count if own + "_spin" in names else 0
            wrong += sample.count if re.search(other, names) else 0
            marked += sample.count if names.startswith("[unwind error: native_no_copy]") else 0
        result.need(not pids or (total >= 50 and right >= 0.9 * (total - marked) and
                                 marked <= FEW_MARKED_MAX * total and not wrong),
                    "%s: %d samples, %d right, %d marked, %d of another file" % (
                        own, total, right, marked, wrong))
        result.notes.append("%s: %d of %d right, %d of another file" % (own, right, total, wrong))
    run.judge(name, result, check.check_accounting(text))


def ran(path, ms=1000):
    process = subprocess.Popen([path, str(ms)])
    process.wait()
    return process.pid


def cell_reused(run, name):
    """A program gets the inode of another one that ended before."""
    def work(folder, held):
        alphas = []

        def then(path):
            alphas.append(ran(path))
            time.sleep(4)  # while the profiler has the file open, its inode is not free
            return []
        found = same_inode(folder, "first", "alpha", then)
        if not found:
            raise suite.Skip("the file system does not give an inode again")
        return [ran(found[0])], alphas
    inodes(run, name, work)


def cell_held(run, name):
    """The same of a library that a living process has closed."""
    def work(folder, held):
        def then(path):
            holder = subprocess.Popen([folder + "/alpha", "hold", path], text=True,
                                      stdout=subprocess.PIPE)
            held.append(holder)
            holder.stdout.readline()
            time.sleep(0.3)
            return [holder]
        found = same_inode(folder, "plugin", "gamma", then)
        if not found:
            raise suite.Skip("the file system does not give an inode again")
        time.sleep(4)
        return [ran(found[0])], []
    inodes(run, name, work)


def cell_rewritten(run, name):
    """A program is written over another, and has its path and its inode."""
    def work(folder, held):
        alphas, betas = [], []
        shutil.copy(folder + "/alpha", folder + "/program")
        alphas.append(ran(folder + "/program"))
        time.sleep(0.4)
        with open(folder + "/beta", "rb") as f, open(folder + "/program", "r+b") as to:
            to.truncate(0)
            to.write(f.read())
        betas.append(ran(folder + "/program"))
        return betas, alphas
    inodes(run, name, work)


BUILDS = 6
# Whose function it is, and with which frames it stands on the stack.
NAMED = re.compile(r"(lib|run)(\d+)_(?:spin|fill)$")
# An address of a file that cannot be told any more has no name.
NAMELESS = re.compile(r"(?:plugin|beside|program)[-.\w]*\+0x")
MARKED = re.compile(r"\[(?!vdso|anon)[a-z ]+")
# The clocks of the two differ by less, and so do the moments around a call.
SLACK_NS = 300000
# Samples whose stack has a mark, of all that the cell `random` has.
MARKED_MAX = 0.005
# The same where one program or two are all that is looked at: of a program that has just begun the
# first stacks are marked, and more where the profiler waits for a CPU.
FEW_MARKED_MAX = 0.25
TURN_SECONDS = 6  # of one language, in the default run
LANGUAGE_SECONDS = 20


class Moments:
    """What changes.c says ran when: by process, in the order of time."""

    def __init__(self, path):
        self.rows = {}
        with open(path, encoding="utf-8") as f:
            for line in f:
                pid, name, *times, shape = line.split()
                self.rows.setdefault(int(pid), []).append(
                    (name, [int(t) for t in times], shape))
        self.begins, self.lasts = {}, {}  # the latest end of a row and those before it
        for pid, rows in self.rows.items():
            rows.sort(key=lambda row: row[1][0])
            self.begins[pid] = [row[1][0] for row in rows]
            self.lasts[pid] = list(itertools.accumulate((row[1][3] for row in rows), max))

    def at(self, pid, time_ns):
        """(the names that may have run, (name, shape) that did run or None)"""
        may, did = set(), None
        rows = self.rows.get(pid, ())
        i = bisect.bisect_right(self.begins.get(pid, ()), time_ns + SLACK_NS)
        while i > 0 and self.lasts[pid][i - 1] >= time_ns - SLACK_NS:
            i -= 1
            name, (outer, begin, end, last), shape = rows[i]
            if outer - SLACK_NS <= time_ns <= last + SLACK_NS:
                may.add(name)
            if begin + SLACK_NS <= time_ns <= end - SLACK_NS:
                did = (name, shape)
        return may, did

    def near(self, pid, time_ns):
        """The rows around a time, each with when it began and ended, in ms after it."""
        rows = self.rows.get(pid, ())
        at = sum(row[1][0] <= time_ns for row in rows)
        return ", ".join("%s %s %+.3f to %+.3f" % (
            name, shape, (times[0] - time_ns) / 1e6, (times[3] - time_ns) / 1e6)
            for name, times, shape in rows[max(at - 2, 0):at + 1])


def by_what(sample):
    """The files by which the frames of a stack were named, with their build ids."""
    return ";".join("%s %s+%#x" % (
        os.path.basename(frame.mapping),
        frame.mapping_attributes.get("process.executable.build_id.gnu", "")[:8], frame.address)
        for frame in sample.frames if not check.is_kernel(frame))


def lacks(names, told, did):
    """Is a stack without what ran? Code that was made has no name: it is the innermost frame, of
    no file, and run_made() called it."""
    if did[0] == "made":
        return names[1:2] != ["run_made"] or not names[0].startswith("[anon]")
    return did[0] not in told


def judge_moments(capture, moments):
    """{shape: [samples, named by what did not run, whole without what ran, marked]}, one
    stack of each kind, {(shape, mark): samples}, and {second: [samples, marked]}."""
    shapes, seen, marks, blocks = {}, {}, {}, {}
    for sample in capture.samples:
        if sample.pid not in moments.rows:
            continue
        names = [frame.name or "?" for frame in sample.frames if not check.is_kernel(frame)]
        told = {match.group(1) + match.group(2) for match in map(NAMED.match, names) if match}
        said = [name for name in names if MARKED.match(name) or NAMELESS.match(name)]
        marked = bool(said)
        for time_ns in sample.timestamps:
            may, did = moments.at(sample.pid, time_ns)
            shape = did[1] if did else "between"
            row = shapes.setdefault(shape, [0, 0, 0, 0])
            row[0] += 1
            block = blocks.setdefault(time_ns // languages.BLOCK_NS, [0, 0])
            block[0] += 1
            block[1] += marked
            # a file that made code took the place of is what did not run, with a name or not
            of_file = did and did[0] == "made" and any(map(NAMELESS.match, names))
            if told - may or of_file:
                row[1] += 1
                seen.setdefault("%s: %s, not %s; %d near %s; by %s" % (
                    shape, ";".join(names), may, sample.pid, moments.near(sample.pid, time_ns),
                    by_what(sample)), 0)
            elif did and not marked and lacks(names, told, did):
                row[2] += 1
                seen.setdefault("%s: %s without %s" % (shape, ";".join(names), did[0]), 0)
            row[3] += marked
            if marked:
                mark = shape, NAMELESS.sub("no name, 0x", said[-1])[:60]
                marks[mark] = marks.get(mark, 0) + 1
    return shapes, list(seen), marks, blocks.values()


def make_changes(folder):
    """The program changes and its builds."""
    suite.fresh_folder(folder)
    programs = os.path.join(HERE, "programs")
    subprocess.run(["gcc", "-O1", "-fno-inline", "-o", folder + "/changes",
                    programs + "/changes.c", "-ldl"], check=True)
    os.mkdir(folder + "/builds")
    for k in range(BUILDS):
        for kind, how in (("lib", ["-shared", "-fPIC"]), ("run", ["-DPROGRAM"])):
            subprocess.run(["gcc", "-O1", "-fno-inline", *how, "-DNAME=%s%d" % (kind, k),
                            "-DPAD=%d" % (48 + 96 * k), "-DFILL=%d" % (3000 * k), "-o",
                            "%s/builds/%s%d" % (folder, kind, k),
                            programs + "/changes_code.c"], check=True)
    return folder


def cell_random(run, name, seconds=None):
    """Code comes and goes at random. No sample has a function that did not run at its time."""
    seconds = seconds or run.args.seconds or 10
    folder = make_changes(run.path("changes"))
    seed = run.args.seed
    print("seed %d" % seed, flush=True)
    for i in range(2):
        os.mkdir("%s/%d" % (folder, i))
    out = run.fresh("random.otlp")
    text, status = languages.recorded(run, out, [
        [folder + "/changes", str(seed + i), str(seconds), folder + "/builds", str(BUILDS),
         "%s/%d" % (folder, i), folder + "/log"] for i in range(2)])
    result = check.Result()
    result.need(not any(status), "programs exit %s" % status)
    judge_changes(otlp.read_file(out), folder + "/log", seed, result)
    run.judge(name, result, check.check_accounting(text))


def judge_changes(capture, log, seed, result, marked_max=MARKED_MAX):
    """Print what came of each shape. Returns {shape: samples}."""
    shapes, seen, marks, blocks = judge_moments(capture, Moments(log))
    total, wrong, without = (sum(row[i] for row in shapes.values()) for i in range(3))
    for shape, row in sorted(shapes.items()):
        print("%-16s %6d samples, %4d wrong, %4d without what ran, %5.2f %% marked" % (
            shape, *row[:3], 100 * row[3] / row[0]), flush=True)
    for (shape, mark), count in sorted(marks.items(), key=lambda item: -item[1])[:12]:
        print("%6d marked in %s: %s" % (count, shape, mark), flush=True)
    result.need(not wrong and not without,
                "%d of %d samples wrong, %d whole without what ran; seed %d" % (
                    wrong, total, without, seed))
    result.problems += seen[:8]
    share, error = languages.share_of(blocks)
    result.need(total > 200 and share - 2 * error <= marked_max,
                "%.2f %% of %d samples marked, with a standard error of %.2f %%; at most %.1f %%" % (
                    100 * share, total, 100 * error, 100 * marked_max))
    return {shape: row[0] for shape, row in shapes.items()}


# Shell code that mounts a file system with build $1 at $at. All files have one length, and one
# time where the file system lets a writer choose it: only who mounted what tells them apart.
MOUNTS = {
    "tmpfs": 'mount -t tmpfs tmpfs "$at" && fill "$at" "$1"',
    "overlay": 'mount -t tmpfs tmpfs "$at-in" && cd "$at-in" && mkdir lower upper work && '
               'fill lower "$1" && mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work '
               'overlay "$at"',
    "ext4": 'mount -o loop,ro "$dir/ext4-$1" "$at"',
    # one file system, whose subvolumes count inodes from the same number
    "btrfs": 'mount -o "subvol=s$1" "$dir/btrfs-loop" "$at"',
}
FILL = 'fill() { cp -p "$dir/builds/lib$2" "$1/plugin.so" && cp -p "$dir/builds/run$2" "$1/program"; }\n'
MADE = {
    "ext4": ("mkfs.ext4", """
for k in %(all)s; do
	mkdir in && fill in $k
	mkfs.ext4 -q -O ^has_journal -d in "ext4-$k" 2M
	for file in plugin.so program; do for field in ctime ctime_extra crtime crtime_extra; do
		debugfs -w -R "set_inode_field /$file $field 1000000000" "ext4-$k"
	done; done
	rm -r in
done"""),
    "btrfs": ("mkfs.btrfs", """
truncate -s 128M btrfs && mkfs.btrfs -q btrfs
ln -s "$(losetup -f --show btrfs)" btrfs-loop && mkdir in && mount btrfs-loop in
for k in %(all)s; do btrfs -q subvolume create in/s$k; fill in/s$k $k; done
umount in"""),
}
# The profiler has the last files of a living program open: "umount" needs -l, and numbers come again
# only after some turns, or in the second round.
KIND_SECONDS, ROUNDS = 3, 2
MOUNTED_MIN = 300  # samples of each kind
MOUNTED_MARKED_MAX = 0.02  # each turn maps a file that was not there before
AGAIN_MIN = 2  # libraries with the device and the inode of an earlier, other one


def make_mount(folder, kind):
    """The shell script that mounts @kind. Raises suite.Skip where that cannot be."""
    head = 'set -e; dir=%s at=%s/at\n%s' % (folder, folder, FILL)
    script = "%s/mount-%s" % (folder, kind)
    with open(script, "w", encoding="ascii") as f:
        f.write(head + MOUNTS[kind])
    made = ""
    if kind in MADE:
        languages.need(MADE[kind][0])
        made = MADE[kind][1] % {"all": " ".join(map(str, range(BUILDS)))}
    for step in (head + made, 'sh %s 0' % script):
        done = subprocess.run(["unshare", "-m", "sh", "-c", step], cwd=folder, check=False,
                              capture_output=True, text=True)
        if done.returncode:
            raise suite.Skip(" ".join(done.stderr.split())[-200:])
    return script


def numbers(path):
    """{kind: (libraries that have the device and the inode of an earlier, other one; all)}"""
    before, again = {}, {}
    with open(path, encoding="ascii") as f:
        for line in f:
            kind, k, *number = line.split()
            others = before.setdefault((kind, *number), set())
            have, of = again.get(kind, (0, 0))
            again[kind] = have + bool(others - {k}), of + 1
            others.add(k)
    return again


def cell_mounts(run, name):
    """File systems come and go at one path, and their files have the numbers of those before."""
    folder = make_changes(run.path("mounts"))
    builds = [os.path.join(folder, "builds", b) for b in os.listdir(folder + "/builds")]
    for build in builds:
        os.truncate(build, max(map(os.path.getsize, builds)))
        os.utime(build, (1000000000, 1000000000))
    os.mkdir(folder + "/at")
    os.mkdir(folder + "/at-in")
    seed = run.args.seed
    print("seed %d" % seed, flush=True)
    result = check.Result()
    commands = ["", ""]
    out = run.fresh("mounts.otlp")
    try:
        for kind in MOUNTS:
            try:
                script = make_mount(folder, kind)
            except suite.Skip as e:
                print("skip %s: %s" % (kind, e), flush=True)
                continue
            for i in range(2):
                commands[i] += "%s/changes %d %d %s/builds %d %s/at %s/log 'sh %s' 'umount -l %s' %s\n" % (
                    folder, seed + i, KIND_SECONDS, folder, BUILDS, folder, folder, script,
                    folder + "/at" + " %s/at-in" % folder * (kind == "overlay"), kind)
        text, status = languages.recorded(
            run, out, [["unshare", "-m", "sh", "-ec", command * ROUNDS] for command in commands])
    finally:
        if os.path.lexists(folder + "/btrfs-loop"):
            subprocess.run(["losetup", "-d", os.readlink(folder + "/btrfs-loop")], check=False)
    result.need(not any(status), "programs exit %s" % status)
    seen = judge_changes(otlp.read_file(out), folder + "/log", seed, result, MOUNTED_MARKED_MAX)
    for kind, (again, of) in numbers(folder + "/log.numbers").items():
        print("%-16s %6d libraries, %4d with the number of another one before" % (kind, of, again),
              flush=True)
        # nothing says when a loop device is free again
        result.need(again >= AGAIN_MIN or kind == "ext4", "%s: %d of %d numbers come again" % (kind, again, of))
        result.need(min(seen.get(kind, 0), seen.get("exec-" + kind, 0)) >= MOUNTED_MIN,
                    "%s: %d and %d samples" % (kind, seen.get(kind, 0), seen.get("exec-" + kind, 0)))
    run.judge(name, result, check.check_accounting(text))


def cell_random_language(run, name):
    """One of the languages, which the seed tells."""
    known = list(languages.LANGUAGES)
    languages.cell(run, name, known[run.args.seed % len(known)],
                   run.args.seconds or TURN_SECONDS)


def cell_random_hour(run, name):
    """C for half of it, then each language by turns."""
    seconds = run.args.seconds or 3600
    cell_random(run, name, seconds // 2)
    known = languages.LANGUAGES
    for which in known:
        run.cell("%s-%s" % (name, which), languages.cell, which, seconds // 2 // len(known))


def cell_of(which, old=False):
    return lambda run, name: languages.cell(run, name, which, run.args.seconds or LANGUAGE_SECONDS, old)


CELLS = {"random": cell_random, "mounts": cell_mounts, "random-language": cell_random_language, "random-hour": cell_random_hour,
         **{"random-" + which: cell_of(which) for which in languages.LANGUAGES},
         **{"old-" + which: cell_of(which, True) for which in languages.LANGUAGES},
         "inode-reused": cell_reused, "inode-held": cell_held, "file-rewritten": cell_rewritten,
         "library-replaced": cell_replaced, "library-spoiled": cell_spoiled, "library-swapped": cell_swapped}


def main():
    parser = suite.parser("otelprof")
    parser.add_argument("--seed", type=int, help="of what comes and goes at random",
                        default=int(os.environ.get("OTELPROF_SEED", time.time_ns() // 1000000)))
    parser.add_argument("--seconds", type=int, help="of what comes and goes at random")
    return robust.Robust(parser.parse_args()).cells(CELLS)


if __name__ == "__main__":
    sys.exit(main())
