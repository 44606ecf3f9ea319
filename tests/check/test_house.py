# SPDX-License-Identifier: Apache-2.0
"""house.py counts correctly, and its rules find what breaks them."""
import pathlib
import tempfile
import unittest

import house
import source


def function(head, *calls):
    return "%s\n{\n%s}\n\n" % (head, "".join("\t%s;\n" % call for call in calls))


# A poll: the session drains the ring, whose records become samples of the window.
POLL = {
    "lib/session/poll.c": '#include "kernel/ring.h"\n' +
        function("static int on_record(void *s)", "op_process_find(s)", "op_process_touch(s)",
                 "op_sample_add(s)", "op_vec_push(s)") +
        function("int op_session_poll(void *s)", "op_ring_drain(ring, on_record, s)",
                 "op_process_settle(s)"),
    "lib/kernel/ring.c": function("int op_ring_drain(void *r, fn *f, void *s)", "f(s)"),
    "lib/kernel/ring.h": "int op_ring_drain(void *r, fn *f, void *s);\n",
    "lib/process/process.c": function("int op_process_find(void *s)") +
        function("int op_process_touch(void *s)") + function("int op_process_settle(void *s)"),
    "lib/sample/sample.c": function("int op_sample_add(void *s)", "op_window_add(s)"),
    "lib/profile/window.c": function("int op_window_add(void *w)"),
    "lib/base/vec.c": function("int op_vec_push(void *v)"),
}


class OfTree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def tree(self, files):
        for path, text in files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
        return house.Tree(self.root)

    def poll(self, files):
        return {name: (value, list(counted)) for name, value, counted in
                house.poll(house.named_calls(self.tree(files), "lib"), None)}


class Poll(OfTree):
    def test_entries(self):
        found = self.poll(POLL)
        value, steps = found["the poll from op_session_poll to op_window_add: folders entered"]
        self.assertEqual(steps, [
            "lib/session op_session_poll -> lib/kernel op_ring_drain",
            "lib/session on_record -> lib/process op_process_find",
            "lib/session on_record -> lib/sample op_sample_add",
            "lib/sample op_sample_add -> lib/profile op_window_add",
            "lib/session op_session_poll -> lib/process op_process_settle"])
        self.assertEqual(value, 5)
        self.assertEqual(found["the poll: folders entered that stand above"], (0, []))

    def test_way_up(self):
        files = dict(POLL)
        files["lib/sample/sample.c"] = function("int op_sample_add(void *s)", "op_session_tell(s)",
                                                "op_window_add(s)")
        files["lib/session/tell.c"] = function("void op_session_tell(void *s)")
        _, steps = self.poll(files)["the poll: folders entered that stand above"]
        self.assertEqual(steps, ["lib/sample op_sample_add -> lib/session op_session_tell UP"])

    def test_no_entry(self):
        with self.assertRaises(SystemExit):
            self.poll({"lib/base/a.c": function("int op_a(void)")})

    def test_table_is_no_call(self):
        graph = house.named_calls(self.tree({
            "lib/parts/a.c": function("static int take(void)") +
                "const struct op_part_ops op_a = { .take = take };\n\n" +
                function("int op_b(struct p *p)", "p->take()", "int take = 1")}), "lib")
        self.assertEqual(graph["lib/parts/a.c", "op_b"], [])


class Shapes(OfTree):
    def test_functions(self):
        text = "#define A \\\n\tb\n\n__attribute__((noinline)) static int\nf(int a,\n  int b)\n" \
               "{\n\tif (a) {\n\t}\n}\n\n" + function('SEC("kprobe")\nint g(void *c)')
        self.assertEqual([f[:4] for f in source.functions(text)],
                         [("f", True, 4, 10), ("g", False, 12, 15)])

    def test_members(self):
        for body, count in [("\tint a, *b;\n\tchar c[A(1, 2)];\n", 3),
                            ("\tint (*f)(int, int (*g)(int, int));\n", 1),
                            ("\tunsigned a : 1, b : 2;\n", 2),
                            ("\tunion {\n\t\tint a;\n\t\tstruct x *b;\n\t} u[2];\n", 2),
                            ("\tenum { A, B } e;\n", 1), ("", 0)]:
            self.assertEqual(source.members(body), count, body)

    def test_limits(self):
        long = function("int op_f(void)", *["a()"] * 78)
        big = "struct op_s {\n%s};\n" % ("\tint a;\n" * 31)
        found = {name: value for name, value, _ in house.shapes(self.tree({
            "lib/base/a.c": long + big, "lib/base/b.c": long.replace("\ta();\n", "", 1)}))}
        self.assertEqual(found["lib: functions over 80 lines"], 1)
        self.assertEqual(found["lib: structs over 30 members"], 1)

    def test_crowds(self):
        files = {"lib/%s/a%d.c" % (room, i): "" for room, n in (("base", 21), ("code/elf", 20))
                 for i in range(n)}
        files.update(("tests/fuzz/corpus/%d.c" % i, "") for i in range(30))
        found = {name: (value, counted) for name, value, counted in house.crowds(self.tree(files))}
        self.assertEqual(found["folders over 20 files"], (1, ["lib/base 21"]))
        self.assertEqual(found["rooms at the top of lib"], (2, ["base: ", "code: elf"]))


class Drawing(OfTree):
    def test_floors_and_circles(self):
        graph = {"a": {"b": ""}, "b": {"c": ""}, "c": {"b": "", "d": ""}}
        self.assertEqual(house.circles(graph), [("b", "c")])
        self.assertEqual(house.floors(graph), 3)

    def test_order(self):
        for a, b, up in [("lib/base/a.c", "lib/api/b.c", True),
                         ("lib/session/a.c", "lib/code/elf/b.c", False),
                         ("lib/elf/a.c", "lib/dwarf/b.c", False),
                         ("lib/capture/sideband/a.c", "lib/sample/b.c", True),
                         ("lib/heap/sampler/a.c", "lib/heap/b.c", True),
                         ("lib/base/a.c", "bpf/event/b.c", False)]:
            self.assertEqual(house.is_up(a, b), up, (a, b))

    def test_includes(self):
        tree = self.tree({"lib/api/a.c": '#include "b.h"\n#include "elf/c.h"\n#include <d.h>\n',
                          "lib/api/b.h": "", "lib/code/elf/c.h": "", "lib/base/d.h": ""})
        self.assertEqual(sorted(house.includes(tree, "lib")["lib/api/a.c"]),
                         ["lib/api/b.h", "lib/code/elf/c.h"])

    def test_nm(self):
        text = "l.a[x/code_elf_read.c.o]: op_read T 0 8\n" \
               "l.a[x/meson-generated_.._code_elf_page.c.o]: op_page R 0 8\n" \
               "l.a[x/api_a.c.o]: op_read U\nl.a[x/api_a.c.o]: op_page U\n"
        symbols = list(house.parse_nm(text, ["lib/code/elf/read.c", "lib/api/a.c"]))
        self.assertEqual(symbols[1], ("lib/code/elf/made.c", "op_page", "R"))
        self.assertEqual(house.calls(symbols), {"lib/api/a.c": {"lib/code/elf/read.c": "op_read"}})


# [(texts, path of the wrong, line, a word of the message)]
TWO_HOMES = [
    ({"lib/a/a.h": "struct op_x {\n};\n", "bpf/b.h": "\nenum op_x {\n\tA,\n};\n"}, "bpf/b.h", 2,
     "defined"),
    ({"lib/a/a.h": "union op_x {\n};\n", "lib/a/b.c": "struct op_x {\n};\n"}, "lib/a/b.c", 1,
     "defined"),
    ({"lib/a/a.h": "struct op_x {\n};\n", "lib/b/b.h": "struct op_xs {\n\tint a;\n};\n"},
     "lib/b/b.h", 1, "holds no op_x"),
    ({"lib/a/a.c": function("int op_x_a(void)"), "lib/b/b.c": function("int op_x_b(void)")},
     "lib/b/b.c", 1, "prefix op_x_"),
    ({"lib/a/c/a.c": function("int op_x_a(void)"),
      "lib/a/d/b.h": "\n" + function("static inline int op_x_b(void)")}, "lib/a/d/b.h", 2,
     "prefix op_x_"),
]
ONE_HOME = [
    {"lib/a/a.h": "struct op_x;\n", "lib/b/b.h": "struct op_x {\n};\nstruct op_x *op_y(void);\n"},
    {"lib/a/a.c": "struct found {\n};\n", "lib/b/b.c": "struct found {\n};\n"},
    {"lib/a/a.h": "struct op_x {\n};\n", "lib/b/b.h": "struct op_xs {\n\tstruct op_x *a;\n};\n"},
    {"lib/a/a.h": "struct op_x {\n};\n", "lib/a/b/b.h": "struct op_xs {\n\tint a;\n};\n"},
    {"lib/a/a.c": function("int op_x_a(void)"), "lib/a/b/b.c": function("int op_x_b(void)")},
    {"lib/a/a.c": function("int op_x_a(void)"), "lib/b/b.c": function("static int op_x_b(void)")},
    {"lib/a/a.c": function("int op_x_a(void)"), "lib/b/b.h": "int op_x_b(void);\n"},
]


class Rules(unittest.TestCase):
    def test_two_homes(self):
        for texts, path, line, word in TWO_HOMES:
            found = list(house.two_homes(texts))
            self.assertEqual([item[:2] for item in found], [(path, line)], texts)
            self.assertIn(word, found[0][2])

    def test_one_home(self):
        for texts in ONE_HOME:
            self.assertEqual(list(house.two_homes(texts)), [], texts)

    def test_what_nothing_calls(self):
        texts = {"lib/a/a.h": "int op_a(void);\nint op_b(void);\n",
                 "lib/a/a.c": "int op_a(void)\n{\n}\nint op_b(void)\n{\n\treturn 0;\n}\n",
                 "lib/b/b.c": "static int c(void)\n{\n\treturn op_b();\n}\n"}
        self.assertEqual(list(house.uncalled(texts)), [("lib/a/a.c", 1, "nothing calls op_a()")])
        self.assertEqual(list(house.uncalled(texts | {"tests/x.c": "op_a();"})), [])

    def test_circles(self):
        circle = {"lib/a/x/1.c": {"lib/b/1.c": "op_b"}, "lib/b/2.c": {"lib/a/2.c": "op_a"}}
        self.assertEqual(list(house.folder_circles(circle)),
                         ["rooms in a circle: a -> b (op_b), b -> a (op_a)"])
        inside = {"lib/a/1.c": {"lib/a/x/1.c": "op_x"}, "lib/a/x/2.c": {"lib/a/2.c": "op_a"}}
        self.assertEqual(list(house.folder_circles(inside)),
                         ["folders in a circle: lib/a -> lib/a/x (op_x), lib/a/x -> lib/a (op_a)"])
        self.assertEqual(list(house.folder_circles({
            "lib/a/1.c": {"lib/b/1.c": "op_b", "lib/a/2.c": "op_a"}, "lib/a/2.c":
            {"lib/a/1.c": "op_c"}})), [])


if __name__ == "__main__":
    unittest.main()
