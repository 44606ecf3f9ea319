#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes, replaces and drops functions at random, and writes what ran when.

    changes.py SEED SECONDS FOLDER LOG [DEPTH]

The programs of the other languages do the same. A line of LOG is, with tabs between,

    THREAD NAME FILE FIRST LAST OUTER_BEGIN INNER_BEGIN INNER_END OUTER_END SHAPE

in ns of CLOCK_MONOTONIC: THREAD was in the function NAME, lines FIRST to LAST of FILE, at no time but
the outer one, and at each moment of the inner one. run_made() calls it, and it calls burn(). Where
CHANGES_LONG is N, one function of N runs for more than a second: the profiler takes it for an old one.
"""

import gc
import importlib
import os
import random
import sys
import threading
import time

SEED, SECONDS, FOLDER, LOG = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3], sys.argv[4]
DEPTH = int(sys.argv[5]) if len(sys.argv) > 5 else 0
LONG = int(os.environ.get("CHANGES_LONG", 0))
DEPTH_MAX = 2
APART = 40  # lines between the places of functions

chance = random.Random(SEED)
now = time.monotonic_ns
log = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
counts = [0]
sys.dont_write_bytecode = True  # its time stamps are of seconds


def below(n):
    return chance.randrange(n)


def piece_ns():
    if LONG and not below(LONG):
        return 1000000 * (1100 + below(400))
    return 1000000 * (1 + below(20) if below(8) else 20 + below(300))


def burn(ns, inner):
    inner[0] = now()
    end = inner[0] + ns
    x = 1
    while now() < end:
        for i in range(200):
            x = x * 31 + i & 65535
    inner[1] = now()
    return x


def run_made(fn, rows, shape):
    """@rows: (name, file, first, last) of all that is on the stack."""
    inner = [0, 0]
    outer = now()
    fn(piece_ns(), inner)
    end = now()
    text = "".join("%d\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n" % (
        threading.get_native_id(), *row, outer, *inner, end, shape) for row in rows)
    os.write(log, text.encode())


def new_name():
    counts[0] += 1
    return "made_%d" % counts[0]


def source(name, line=0, kind="", indent=""):
    """(text of a function at some line, its first and last line)"""
    pad = below(APART - 8)
    body = ["%sdef %s(%sns, inner):" % (indent, name, "self, " if indent else ""), "    x = 1",
            *["    x = x * %d + 7 & 65535" % (3 + below(250))] * pad,
            "    x += call(ns, inner) or 1", "    yield x" if kind == "generator" else "    return x"]
    line = line or 2 + APART * below(50)
    return "\n" * (line - 1) + ("\n" + indent).join(body) + "\n", line, line + len(body) - 1


def made(name, call=burn, kind=""):
    """A function, and its row."""
    text, first, last = source(name, 0, kind)
    file = "made/%d.py" % below(4)
    place = {"call": call}
    exec(compile(text, file, "exec"), place)
    return place.pop(name), (name, file, first, last)


def change_exec():
    fn, row = made(new_name())
    run_made(fn, [row], "exec")
    if not below(3):
        run_made(fn, [row], "exec")


def change_same():
    """One name; the older function is dropped before or after the newer one is made."""
    fn, row = made("made_same")
    run_made(fn, [row], "same")
    if below(2):
        fn = None
    for _ in range(1 + below(3)):
        fn, row = made("made_same")
        run_made(fn, [row], "same")


def change_code():
    """A living function gets another one's code."""
    fn, row = made(new_name())
    run_made(fn, [row], "code")
    for _ in range(1 + below(3)):
        other, row = made(new_name())
        fn.__code__ = other.__code__
        del other
        run_made(fn, [row], "code")


def change_generator():
    """Frames that are dropped before they end."""
    fn, row = made(new_name(), kind="generator")
    run_made(lambda ns, inner: next(fn(ns, inner)), [row], "generator")


def change_method():
    text, first, last = source("made_work", 3, indent="    ")
    place = {"call": burn}
    exec(compile("class Made:\n" + text[1:], "made/class.py", "exec"), place)
    run_made(place["Made"]().made_work, [("made_work", "made/class.py", first, last)], "method")


def change_nested():
    fn, row = made(new_name())
    rows = [row]
    for _ in range(1 + below(12)):
        fn, row = made(new_name(), fn)
        rows.append(row)
    run_made(fn, rows, "nested")


def give(path, text):
    how = below(3)
    if how == 0:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return "rewritten"
    if how == 1 and os.path.exists(path):
        os.unlink(path)
    with open(path if how == 1 else path + ".new", "w", encoding="utf-8") as f:
        f.write(text)
    if how == 2:
        os.rename(path + ".new", path)
    return "unlinked" if how == 1 else "renamed"


def change_module():
    """A module's file is written anew, and loaded again."""
    module = "plugin_%d_%d" % (os.getpid(), below(2))
    path = "%s/%s.py" % (FOLDER, module)
    for _ in range(1 + below(4)):
        name = "made_same" if below(2) else new_name()
        text, first, last = source(name)
        shape = give(path, "from __main__ import burn as call\n" + text)
        importlib.invalidate_caches()
        again = below(2)
        if not again or module not in sys.modules:
            sys.modules.pop(module, None)
            importlib.import_module(module)
        else:
            importlib.reload(sys.modules[module])
        fn = getattr(sys.modules[module], name)
        run_made(fn, [(name, path, first + 1, last + 1)], "%s-%s" % (
            "reload" if again else "import", shape))
        fn = None


def change_thread():
    """Two threads at once, whose functions come and go."""
    def work():
        for _ in range(1 + below(3)):
            fn, row = made(new_name())
            run_made(fn, [row], "thread")
    thread = threading.Thread(target=work)
    thread.start()
    work()
    thread.join()


def change_forked():
    pid = os.fork()
    if pid == 0:
        chance.seed(SEED + os.getpid())
        for _ in range(1 + below(3)):
            change(DEPTH_MAX)
        os._exit(0)
    os.waitpid(pid, 0)


def change_executed():
    fn, row = made(new_name())
    pid = os.fork()
    if pid == 0:
        run_made(fn, [row], "executed")
        os.execv(sys.executable, [sys.executable, __file__, str(below(1 << 30)), "0.3", FOLDER, LOG,
                                  str(DEPTH + 1)])
    os.waitpid(pid, 0)


CHANGES = [change_exec, change_exec, change_same, change_code, change_generator, change_method,
           change_nested, change_module, change_module, change_thread]


def change(depth):
    kinds = CHANGES + [change_forked, change_executed] * (depth < DEPTH_MAX)
    kinds[below(len(kinds))]()
    if not below(3):
        gc.collect()


def main():
    sys.path.insert(0, FOLDER)
    end = now() + SECONDS * 1e9
    while now() < end:
        change(DEPTH)


if __name__ == "__main__":
    main()
