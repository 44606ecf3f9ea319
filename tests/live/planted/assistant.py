#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an assistant does by `otelprof mcp` to find planted faults: it records a process, makes the
calls that the answers name, and looks at waits where there is no CPU time.

    assistant.py --otelprof PROGRAM --dir DIR [--transcript]

After at most five calls the line with the word GUILTY (of tests/live/dump/deadlock.py: those of the two
locks) stands in an answer. Prints "ok|FAIL|skip assistant CELL: what", with --transcript the calls and
the beginnings of the answers, too. Exits 0, 1 (one failed) or 77 (nothing could run).
"""
import argparse
import json
import os
import re
import subprocess
import sys
import time

import planted
import programs
from programs import suite

SOURCES = ["regex.py", "concat.py", "dropped.py", "columns.c", "contended.c"]
DUMP = os.path.join(programs.HERE, "../dump/deadlock.py")
CALLS = 5
LINES = 14  # of an answer, in a transcript
SECONDS = 3


class Session:
    def __init__(self, otelprof, transcript):
        self.p = subprocess.Popen([otelprof, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  text=True)
        self.transcript = transcript
        self.id = 0

    def call(self, tool, **arguments):
        self.id += 1
        self.p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.id, "method": "tools/call",
                                       "params": {"name": tool, "arguments": arguments}}) + "\n")
        self.p.stdin.flush()
        result = json.loads(self.p.stdout.readline())["result"]
        text = result["content"][0]["text"]
        if self.transcript:
            print("\n> %s %s\n" % (tool, json.dumps(arguments)))
            print("\n".join("    " + line for line in text.splitlines()[:LINES]), flush=True)
        return text, result.get("structuredContent") or {}, result["isError"]

    def close(self):
        self.p.stdin.close()
        self.p.wait()
        self.p.stdout.close()


def found(texts, source, numbers):
    place = re.compile(r"%s:(%s)\b" % (re.escape(os.path.basename(source)), "|".join(map(str, numbers))))
    return any(place.search(text) for text in texts)


def calls(session, pid):
    """The answers, one call after another."""
    text, data, failed = session.call("record", pid=pid, seconds=SECONDS)
    yield text
    if failed:  # no sample: it does not run
        yield session.call("dump", pid=pid)[0]
        return
    yield session.call("record", pid=pid, seconds=SECONDS, kinds="locks")[0]
    for call in reversed(data["next"]):
        yield session.call(call["tool"], **call["arguments"])[0]


def check(args, source, run, numbers):
    program = subprocess.Popen(run, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    session = Session(args.otelprof, args.transcript)
    texts = []
    try:
        time.sleep(1)
        for text in calls(session, program.pid):
            texts.append(text)
            if found(texts, source, numbers):
                return "ok", "%d call%s" % (len(texts), "s" * (len(texts) > 1))
            if len(texts) == CALLS:
                break
    finally:
        session.close()
        program.kill()
        program.wait()
        program.stdin.close()
    return "FAIL", "the line is in none of the answers to %d calls:\n%s" % (len(texts), texts[-1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--otelprof", required=True)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--transcript", action="store_true")
    args = parser.parse_args()
    os.makedirs(args.dir, exist_ok=True)
    status = 77
    with open(DUMP, encoding="utf-8") as f:
        hung = [i for i, line in enumerate(f, 1) if "PLACE take_" in line]
    for source in [*SOURCES, DUMP]:
        name = os.path.basename(source)
        try:
            run = [programs.python(), DUMP] if source == DUMP else programs.build(source, args.dir)
            result, what = check(args, source, run, hung if source == DUMP
                                 else planted.guilty(source)[1])
        except suite.Skip as why:
            result, what = "skip", str(why)
        print("%s assistant %s: %s" % (result, name, what), flush=True)
        if result == "FAIL":
            status = 1
        elif result == "ok" and status == 77:
            status = 0
    return status


if __name__ == "__main__":
    sys.exit(main())
