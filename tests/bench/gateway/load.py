#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A load of many processes, each of which works all the time with a part of Python's standard
library, in Python and in C: stacks of real code that differ within and between processes.

    load.py PROCESSES       until it is ended
"""

import ast
import difflib
import glob
import html.parser
import json
import os
import pickle
import random
import re
import signal
import sqlite3
import sys
import textwrap
import tokenize
import zlib

SOURCES = sorted(glob.glob(os.path.dirname(os.__file__) + "/*.py"))


def text_of(chance):
    with open(chance.choice(SOURCES), encoding="utf-8", errors="replace") as f:
        return f.read()[:40000]


def parse(chance):
    tree = ast.parse(text_of(chance)[:10000].rsplit("\n\n\n", 1)[0])
    compile(tree, "x", "exec")
    ast.unparse(tree)


def tokens(chance):
    lines = iter(text_of(chance).encode().splitlines(True))
    list(tokenize.tokenize(lambda: next(lines, b"")))


def documents(chance):
    made = [{"n": i, "text": "x" * chance.randrange(50), "list": list(range(i % 20))}
            for i in range(500)]
    json.loads(json.dumps(made, indent=1))
    pickle.loads(pickle.dumps(made))


def compare(chance):
    a, b = (text_of(chance).splitlines()[:150] for _ in range(2))
    list(difflib.unified_diff(a, b))


def search(chance):
    text = text_of(chance)
    re.findall(r"\b(?:def|class)\s+(\w+)\s*(\([^)]*\))?:", text)
    re.sub(r"(\w+)\.(\w+)", r"\2.\1", text)


def table(chance):
    base = sqlite3.connect(":memory:")
    base.execute("create table t (a integer primary key, b text)")
    base.executemany("insert into t values (?, ?)",
                     [(i, str(chance.random())) for i in range(2000)])
    base.execute("select substr(b, 1, 4) k, count(*) from t group by k order by k").fetchall()
    base.close()


def squeeze(chance):
    zlib.decompress(zlib.compress(text_of(chance).encode(), 9))


def sort(chance):
    sorted((chance.random() for _ in range(20000)), key=lambda v: -v)


def pages(chance):
    parser = html.parser.HTMLParser()
    parser.feed("".join("<p class='c%d'>%s</p>" % (i, "a b " * 8) for i in range(200)))
    textwrap.fill(text_of(chance)[:8000])


JOBS = [parse, tokens, documents, compare, search, table, squeeze, sort, pages]


def work(number):
    """Each process has three of the jobs."""
    chance = random.Random(number)
    mine = chance.sample(JOBS, 3)
    while True:
        try:
            chance.choice(mine)(chance)
        except (SyntaxError, ValueError, tokenize.TokenError):
            pass  # a text that was cut in two


def main():
    children = []
    for number in range(int(sys.argv[1])):
        pid = os.fork()
        if not pid:
            work(number)
        children.append(pid)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        signal.pause()
    finally:
        for pid in children:
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
