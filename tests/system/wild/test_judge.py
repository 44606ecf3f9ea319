#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The verdict finds what it must: each wrong end is put into a stack that is otherwise right."""

import os
import re
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "..", "live", "framework"))
import installed
import judge
import made
import otlp


def frame(name, address=0x100, mapping="libx.so", kind="native"):
    return otlp.Frame(name=name, type=kind, address=address, mapping=mapping)


def sample(*frames, count=1, path="/bin/none"):
    return otlp.Sample({"process.pid": 1, "process.executable.name": "none",
                        "process.executable.path": path}, {}, list(frames), count, [], [],
                       ("samples", "count"), 1)


def verdict(*samples, begin="", never=""):
    found = judge.Verdict(begin, never)
    for one in samples:
        found.add(one)
    return found


class JudgeTest(unittest.TestCase):
    def setUp(self):
        judge.begins.clear()

    def test_whole(self):
        v = verdict(sample(frame("entry", kind="kernel"), frame("f"), frame("_start"), count=3))
        self.assertEqual((v.samples, v.bad, v.odd, v.depth), (3, 0, 0, 2))

    def test_kernel_alone_is_whole(self):
        v = verdict(sample(frame("do_exit", kind="kernel")))
        self.assertEqual((v.bad, v.odd), (0, 0))

    def test_early_ends(self):
        v = verdict(sample(frame("f"), frame("[truncated]")),
                    sample(frame("f"), frame("[unwind error: native_no_rule]"), count=2),
                    sample(frame("f"), frame("", 4012, kind="abort-marker")))
        self.assertEqual(v.bad, 4)
        self.assertEqual(v.reasons, {"truncated": 1, "native_no_rule": 2, "abort 4012": 1})

    def test_limit_is_told_apart(self):
        v = verdict(sample(*[frame("f")] * judge.FRAMES_MAX, frame("[truncated]")))
        self.assertEqual(v.reasons, {"limit of frames": 1})
        v = verdict(sample(*[frame("f")] * 512, frame(judge.LEFT_OUT), frame("f"),
                           frame("[truncated]")))
        self.assertEqual(v.reasons, {"limit of frames": 1})

    def test_odd_beginning(self):
        v = verdict(sample(frame("f"), frame("main")), sample(frame("f"), frame("g+0x10")))
        self.assertEqual((v.bad, v.odd), (0, 2))

    def test_pattern_of_a_program(self):
        v = verdict(sample(frame("f"), frame("", 0x519bf, "libc.so.6")),
                    begin=r"libc\.so\.6\+0x\w+")
        self.assertEqual(v.odd, 0)

    def test_what_cannot_follow(self):
        never = made.NO_CFI_NEVER
        down = ["down"] * 9 + ["main", "_start"]
        for names, odd in ((["asm_leaf", "asm_frame_pointer", *down], 0),
                           (["work", "asm_calls_back", *down], 0), (["asm_leaf", *down], 0),
                           (["asm_pushes", "asm_calls_back", *down], 1),
                           (["asm_realigns", *down[1:]], 1), (["down", "main", "_start"], 0)):
            v = verdict(sample(*[frame(n) for n in names]), never=never)
            self.assertEqual((v.bad, v.odd), (0, odd), names)

    def test_entry_point_by_the_file(self):
        path = os.path.realpath(sys.executable)
        entry = judge.entry_point(path)
        here = os.path.basename(path)
        for address, odd in ((entry + 5, 0), (entry + judge.ENTRY_BYTES, 1), (entry - 1, 1)):
            v = verdict(sample(frame("f"), frame("", address, here), path=path))
            self.assertEqual(v.odd, odd, hex(address))

    def test_names_of_ours_are_believed_for_the_peer(self):
        verdict(sample(frame("f"), frame("clone3", 0x1098eb, "libc.so.6")))
        v = verdict(sample(frame("", 0x10), frame("", 0x1098eb, "libc.so.6")))
        self.assertEqual((v.odd, v.unnamed), (0, 2))

    def test_above_by_more_than_chance(self):
        bad = sample(frame("f"), frame("[truncated]"))
        good = sample(frame("_start"), count=99)
        one = verdict(bad, good)
        ten = verdict(*[bad] * 10, good)
        none = verdict(good)
        self.assertFalse(one.above(none))
        self.assertTrue(ten.above(none))
        self.assertFalse(ten.above(verdict()))


class ProgramsTest(unittest.TestCase):
    def test_rows(self):
        rows = installed.PROGRAMS + made.PROGRAMS
        self.assertGreaterEqual(len(rows), 25)
        self.assertEqual(len({row.name for row in rows}), len(rows))
        for row in rows:
            for name in re.findall(r"\$SRC/([\w.+-]+)", row.make + " " + row.load):
                name = name.replace("plugin$n", "plugin")
                self.assertTrue(os.path.exists(os.path.join(HERE, "sources", name)), name)


if __name__ == "__main__":
    unittest.main()
