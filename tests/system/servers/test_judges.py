#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The readers of other profilers' files, and what is made of two counts."""

import gzip
import json
import unittest
from types import SimpleNamespace

import judges


def frame(name, kind, file=""):
    return SimpleNamespace(name=name, type=kind, file=file)


def varint(n):
    out = b""
    while n > 0x7f:
        out += bytes([n & 0x7f | 0x80])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


class Judges(unittest.TestCase):
    def test_py_spy(self):
        text = "main (a.py:1);Shop.find (lib/b.py:7) 3\nmain (a.py:2) 2\nmain (a.py:3) 1\n"
        self.assertEqual(judges.py_spy(text), {"find (b.py)": 3, "main (a.py)": 3})

    def test_cpuprofile(self):
        def node(number, name, url, hits, *children):
            return {"id": number, "callFrame": {"functionName": name, "url": url},
                    "hitCount": hits, "children": list(children)}
        text = json.dumps({"nodes": [
            node(1, "(root)", "", 0, 2, 5), node(2, "outer", "file:///x/a.js", 4, 3, 4),
            node(3, "writev", "", 2), node(4, "", "file:///x/a.js", 1),
            node(5, "(idle)", "", 90)]})
        self.assertEqual(judges.cpuprofile(text), {"outer (a.js)": 6, "(anonymous) (a.js)": 1})

    def test_jfr(self):
        def event(kind, name):
            return {"values": {"stackTrace": {"frames": [
                {"method": {"type": {"name": kind}, "name": name}}]}}}
        text = json.dumps({"recording": {"events": [
            event("a/B", "c"), event("a.B", "c"), event("B$$Lambda.0x7f01", "run"),
            {"values": {"stackTrace": None}}]}})
        self.assertEqual(judges.jfr(text), {"a.B.c": 2, "B$$Lambda.run": 1})
        self.assertEqual(judges.java_name("B$$Lambda.run"), "B$$Lambda.run")

    def test_async_profiler(self):
        text = ("a/B.c_[0];a/B$$Lambda$7.0x7f01.run_[j] 2\na/B.c_[j];write 5\n"
                "a/B.c_[1];a/B.c_[i] 3\na/B.c_[j];schedule_[k] 1\n")
        self.assertEqual(judges.async_profiler(text), {"a.B$$Lambda.run": 2, "a.B.c": 3})

    def test_pprof(self):
        strings = [b"", b"main.leaf", b"main.caller[int]"]
        data = b"".join(field(6, s) for s in strings)
        data += field(5, field(1, 7) + field(2, 1)) + field(5, field(1, 8) + field(2, 2))
        # of one location both, the inlined one first
        data += field(4, field(1, 1) + field(4, field(1, 7)) + field(4, field(1, 8)))
        data += field(4, field(1, 2) + field(4, field(1, 8)))
        data += field(2, field(1, bytes([1, 2])) + field(2, bytes([5, 50])))
        data += field(2, field(1, bytes([2])) + field(2, bytes([3, 30])))
        self.assertEqual(judges.pprof(gzip.compress(data)),
                         {"main.leaf": 5, "main.caller[...]": 3})

    def test_speedscope(self):
        names = ["web!Web.Page()", "web!Web+<>c.<Page>b__4_0(class Item)", "System!X.Y()", "CPU_TIME"]
        events = [("O", 0, 0), ("O", 3, 0), ("C", 3, 2), ("O", 1, 2), ("O", 2, 2), ("O", 3, 2)] + [
            ("C", n, 5) for n in (3, 2, 1, 0)]
        text = json.dumps({"shared": {"frames": [{"name": n} for n in names]}, "profiles": [
            {"events": [{"type": t, "frame": f, "at": at} for t, f, at in events]}]})
        self.assertEqual(judges.speedscope(text), {"Web.Page": 5000})
        self.assertEqual(judges.ours_dotnet([frame("System.X", "dotnet"),
                                             frame("Web.Find.<lambda>", "dotnet")]), "Web.Find")

    def test_perf_script(self):
        text = ("     7f1 $web:total/2\n     7f2 $web:'-page/0-fun-0-'/1-CodeInfoPrologue\n"
                "     7f3 $global::call_bif_shared\n     55 process_main\n     7f4 [unknown]\n")
        self.assertEqual(judges.perf_script(text), {"web:total/2": 1, "web:-page/0-fun-0-/1": 1})
        total = frame("web:total/2", "beam")
        self.assertEqual(judges.ours_erlang([total]), "web:total/2")
        self.assertEqual(judges.ours_erlang([frame("web:'-page/0-fun-0-'/1", "beam"), total]),
                         "web:-page/0-fun-0-/1")
        self.assertIsNone(judges.ours_erlang([frame("binary_match", "native"), total]))
        self.assertIsNone(judges.ours_erlang([frame("global::call_nif_shared", "beam"), total]))

    def test_said(self):
        text = "5 Web#total\n3 block in Web#total\n2 (garbage collection)\n4 main::find\n1 A::B.c\n"
        self.assertEqual(judges.said(text), {"total": 8, "main::find": 4, "c": 1})
        self.assertEqual(judges.ours_ruby([frame("each", "native"), frame("block in total", "ruby")]),
                         "total")
        self.assertIsNone(judges.ours_perl([frame("main::now", "perl"), frame("main::look", "perl")]))
        self.assertEqual(judges.ours_lua([frame("find", "lua"), frame("search", "lua", "a.lua")]),
                         "search")

    def test_ours_node(self):
        compare, find = frame("compare", "v8js", "a.js"), frame("find", "v8js", "a.js")
        load = frame("Builtins_LoadIC_Megamorphic", "native")
        sort = frame("Builtins_ArrayTimSort", "native")
        self.assertEqual(judges.ours_node([compare, sort, find]), "compare (a.js)")
        self.assertEqual(judges.ours_node([load, compare, sort, find]), "find (a.js)")
        self.assertEqual(judges.ours_node([sort, find]), "find (a.js)")
        self.assertEqual(judges.ours_node([load, find]), "find (a.js)")
        self.assertIsNone(judges.ours_node(
            [frame("v8::internal::Heap::CollectGarbage()", "native"), find]))

    def test_ours_others(self):
        java = frame("a.B.c", "jvm")
        self.assertEqual(judges.ours_java([java, frame("d.E.f", "jvm")]), "a.B.c")
        self.assertIsNone(judges.ours_java([frame("arraycopy", "jvm"), java]))
        self.assertIsNone(judges.ours_java([frame("write", "native"), java]))
        self.assertEqual(judges.ours_go([frame("clock_gettime", "native"),
                                         frame("main.a[go.shape.int]", "go")]), "main.a[...]")
        self.assertIsNone(judges.ours_go([frame("runtime.sigprof", "go"),
                                          frame("runtime.sigtrampgo", "go")]))

    def test_early_ends(self):
        whole = SimpleNamespace(frames=[frame("a", "go"), frame("main", "go")], count=1)
        cut = SimpleNamespace(frames=[frame("read", "kernel"), frame("a", "go"),
                                      frame("b", "go"), frame("[truncated]", "native")], count=2)
        none = SimpleNamespace(frames=[frame("read", "kernel"), frame("[truncated]", "native")],
                               count=1)
        self.assertEqual(judges.early_ends([whole, cut, none]), (
            75, "50.00 % truncated at b, 25.00 % truncated at no frame"))
        self.assertEqual(judges.early_ends([whole]), (0, ""))

    def test_compare(self):
        rows, alike = judges.compare({"a": 60, "b": 40}, {"a": 500, "b": 400, "c": 100})
        self.assertEqual([row[0] for row in rows], ["a", "c", "b"])
        self.assertAlmostEqual(rows[0][1] - rows[0][2], 10)
        self.assertAlmostEqual(alike, 90)


if __name__ == "__main__":
    unittest.main()
