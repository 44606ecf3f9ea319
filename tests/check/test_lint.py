# SPDX-License-Identifier: Apache-2.0
"""Each rule of lint.py finds what breaks it, at its line, and leaves alone what does not."""
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import lint
import source

C = "/* SPDX-License-Identifier: Apache-2.0 */\n"

# rule: [(path, text, line of the wrong)]
BAD = {
    lint.spdx: [
        ("lib/base/a.c", "int a;\n", 1),
        ("lib/base/a.c", "\n" + C, 1),
        ("lib/base/a.c", "/* SPDX-License-Identifier: MIT */\n", 1),
        ("bpf/a.h", C, 1),
        ("lib/base/a.c", "/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */\n", 1),
        ("tests/a.py", "import os\n", 1),
        ("tests/a.sh", "#!/bin/sh\nset -e\n", 2),
        ("lib/base/empty.h", "", 1),
    ],
    lint.comments: [
        ("lib/base/a.c", C + "int a; // one\n", 2),
        ("bpf/a.h", "/* a */ // b\n", 1),
        ("tests/unit/a.c", 'char *s = "/*"; // c\n', 1),
    ],
    lint.output: [
        ("lib/base/a.c", C + 'f(void)\n{\n\tfprintf(stderr, "x");\n}\n', 4),
        ("lib/base/a.c", '\tprintf("x");\n', 1),
        ("lib/base/a.c", '\t(void)puts("x");\n', 1),
        ("lib/base/a.c", '\tperror("x");\n', 1),
        ("lib/code/elf/a.c", "\texit(1);\n", 1),
        ("lib/code/elf/a.h", "\tabort ();\n", 1),
        ("lib/code/elf/a.c", "\t_exit(1);\n", 1),
        ("lib/export/transport/grpc/a.c", "\tfputs(s, stdout);\n", 1),
    ],
    lint.close_on_exec: [
        ("lib/base/a.c", "\tfd = open(path, O_RDONLY);\n", 1),
        ("lib/base/a.c", "\n\tfd = openat(dir, f(path), O_RDONLY |\n\t\tO_NOFOLLOW);\n", 2),
        ("lib/base/a.c", "\topen(path, O_RDONLY /* O_CLOEXEC */);\n", 1),
        ("lib/base/a.c", '\tf = fopen(path, "r");\n', 1),
        ("lib/base/a.c", "\tfd = dup(fd);\n", 1),
        ("lib/base/a.c", "\tpipe(fds);\n", 1),
        ("lib/base/a.c", "\tfd = socket(AF_UNIX, SOCK_STREAM, 0);\n", 1),
        ("lib/base/a.c", "\tfd = epoll_create1(0);\n", 1),
    ],
    lint.folders: [
        ("lib/process/a.c", C + '#include "sample/sampler.h"\n', 2),
        ("lib/code/elf/a.h", '#include "process/target/maps.h"\n', 1),
        ("lib/base/a.c", '#include "code/elf/file.h"\n', 1),
        ("lib/code/symbol/a.c", '#include "runtime/runtime.h"\n', 1),
        ("lib/export/transport/grpc/a.c", '# include "profile/window.h"\n', 1),
        ("lib/kernel/a.c", '#include "api/handle.h"\n', 1),
        ("lib/kernel/a.c", "#include <api/handle.h>\n", 1),
        ("lib/sample/a.c", '#include "process/state.h"\n', 1),
        ("lib/code/symbol/a.c", '#include "code/elf/private.h"\n', 1),
    ],
    lint.examples: [
        ("examples/otelprof/top/a.c", C + '#include "base/vec.h"\n', 2),
        ("examples/otelprof/a.h", "#include <export/format/format.h>\n", 1),
        ("examples/minimal.c", '#include "recording/tree/view.h"\n', 1),
    ],
    lint.marks: [
        ("lib/base/a.c", C + "/* TO" "DO: b */\n", 2),
        ("docs/a.md", "FIX" "ME\n", 1),
        ("tests/a.py", "# XX" "X\n", 1),
        ("meson.build", "# a HA" "CK\n", 1),
    ],
    lint.bpf_tests: [
        ("bpf/a.h", "#ifdef OP_TEST\n", 1),
        ("bpf/a.h", "\n#if defined(TESTING)\n", 2),
        ("bpf/a.h", '#include "../tests/harness.h"\n', 1),
        ("bpf/a.h", '#include "test.h"\n', 1),
        ("bpf/a.bpf.c", "# define TEST 1\n", 1),
    ],
    lint.error_numbers: [
        ("bpf/include/op_errors.def",
         '\nOP_ERROR(32, a, "A.")\nOP_ERROR(32, b, "B.")\n', 3),
        ("bpf/include/op_errors.def",
         '\nOP_ERROR(33, a, "A.")\nOP_ERROR(32, b, "B.")\n', 3),
        ("bpf/include/op_errors.def",
         '\nOP_ERROR(32, a, "A.")\nOP_ERROR(33, a, "B.")\n', 3),
        ("bpf/include/op_errors.def", '\nOP_ERROR(7, a, "A.")\n', 2),
        ("bpf/include/op_errors.def", '\nOP_ERROR(0x20, a, "A.")\n', 1),
    ],
    lint.machine: [
        ("docs/a.md", "see /wo" "rk/main/README.md\n", 1),
        ("tests/a.sh", "cd /ro" "ot/x\n", 1),
        ("tests/a.sh", "\ncd /ho" "me/user/src\n", 2),
        ("tests/a.sh", "X=https://reg" "istry.example/simple\n", 1),
        ("tests/a.sh", "X=https://u:p@mir" "ror.example/simple\n", 1),
        ("tests/a.sh", "X=http://artifacts.inter" "nal/x\n", 1),
        ("docs/a.md", "from https://pro" "xy.golang.org/x\n", 1),
        ("tests/a.sh", "\nmirror=http://de" "b.debian.org/debian\n", 2),
        ("tests/a.py", "x = '/tmp/li" "ve/run'\n", 1),
    ],
    lint.foreign: [
        ("lib/base/a.c", C + "/* Copyr" "ight (c) 2019 The Others */\n", 2),
        ("tests/a.py", "# Copyr" "ight 2022-2026 The Others\n", 1),
        ("tests/a.py", "# x\n# Licen" "sed under the Other License\n", 2),
        ("tests/a.go", "// Permission is her" "eby granted, free of charge\n", 1),
        ("bpf/a.h", "\n// SPDX-License" "-Identifier: GPL-2.0-or-later\n", 2),
    ],
    lint.shown: [
        ("lib/recording/a.c", "\n(void)fputs(op_collect_text(c, name, &len), f);\n", 2),
        ("examples/otelprof/a.c", '(void)printf("(%.*s)",\n\t(int)len, name);\n', 1),
    ],
    lint.tools: [
        ("docs/a.md", "Written by Cla" "ude.\n", 1),
        ("tests/a.py", "\n# as Copi" "lot says\n", 2),
    ],
}

GOOD = {
    lint.spdx: [
        ("lib/base/a.c", C),
        ("bpf/a.h", "/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */\n"),
        ("tests/a.py", "#!/usr/bin/env python3\n# SPDX-License-Identifier: Apache-2.0\n"),
        ("docs/a.md", "# A\n"),
    ],
    lint.comments: [
        ("lib/base/a.c", '/* https://a */ char *s = "http://b"; char c = \'"\'; /* // */\n'),
        ("tests/a.py", "a // b\n"),
    ],
    lint.output: [
        ("lib/base/a.c", '\tsnprintf(s, n, "exit(1)"); /* printf("x") */\n'),
        ("lib/base/a.c", "\tlog->abort(); x.exit(1); op_exit(1); STDOUT_FILENO;\n"),
        ("lib/base/a.h", "__attribute__((format(printf, 1, 2)))\n"),
        ("examples/a.c", '\tprintf("x");\n'),
    ],
    lint.close_on_exec: [
        ("lib/base/a.c", "\tfd = openat(dir, path, flags | O_CLOEXEC, 0644);\n"),
        ("lib/base/a.c", "\tops->open(x); op_open(path, 0); f.open(x); fd = op_dup(fd);\n"),
        ("lib/base/a.c", '\tf = fopen(path, "re");\n\td = opendir(path);\n'),
        ("lib/base/a.c", "\tfd = epoll_create1(EPOLL_CLOEXEC);\n"),
        ("tests/a.c", "\tfd = open(path, O_RDONLY);\n"),
    ],
    lint.folders: [
        ("lib/process/a.c", '#include "process/b.h"\n#include "base/io.h"\n'),
        ("lib/process/a.c", '#include "process/state.h"\n'),
        ("lib/process/mappings/a.c", '#include "process/state.h"\n'),
        ("lib/process/a.c", '#include "code/elf/file.h"\n#include "profile/window.h"\n'),
        ("lib/code/dwarf/a.c", '#include "code/elf/file.h"\n#include "code/unwind/arena.h"\n'),
        ("lib/code/symbol/a.c", '#include "code/elf/file.h"\n#include "op_user_types.h"\n'),
        ("lib/api/a.c", '#include "kernel/capture.h"\n#include "export/exporter.h"\n'),
        ("lib/process/a.c", '#include "otelprof/config.h"\n/* #include "capture/b.h" */\n'),
    ],
    lint.examples: [
        ("examples/otelprof/a.c", '#include "recording/tree/view.h"\n#include "base/cleanup.h"\n'),
        ("examples/minimal.c", "#include <otelprof/otelprof.h>\n"),
        ("tests/unit/a.c", '#include "base/vec.h"\n'),
    ],
    lint.marks: [("lib/base/a.c", '"/tmp/aXXXXXX" hackney TODOS\n')],
    lint.bpf_tests: [
        ("bpf/a.h", "#ifndef OP_A_H\n/*\n#ifdef OP_TEST\n*/\n#include <linux/types.h>\n"),
        ("tests/a.h", "#ifdef OP_TEST\n"),
    ],
    lint.error_numbers: [
        ("bpf/include/op_errors.def", '/* 32-63 */\nOP_ERROR(32, a, "A.")\nOP_ERROR(64, b, "B")\n'),
    ],
    lint.machine: [
        ("docs/a.md", "/proc/PID/root/x, %s/root/y, HOME=/root, build/lib, /usr/lib/x\n"),
        ("docs/a.md", "https://otlp.example/v1development/profiles, http://localhost:1\n"),
        ("docs/a.md", "http://collector:4317, internal/x.h\n"),
    ],
    lint.foreign: [
        ("COPYING", "Copyr" "ight (c) the libotelprof authors.\n"),
        ("bpf/a.h", "/* SPDX-License" "-Identifier: GPL-2.0-only OR BSD-2-Clause */\n"),
        ("docs/a.md", "Apache-2.0; see COPYING. A copyright of nobody else stands here.\n"),
    ],
    lint.shown: [
        ("lib/recording/a.c", 'print_name(f, op_collect_text(c, name, &len), 0);\n(void)fputs(") ", f);\n'),
        ("lib/recording/a.c", '(void)snprintf(buf, 9, "%.*s", 3, name); fail("%.*s", 3, name);\n'),
    ],
    lint.tools: [
        ("docs/a.md", "A pilot copies; the included model\n"),
    ],
}


class Text(unittest.TestCase):
    def test_every_rule_has_texts(self):
        self.assertEqual(set(lint.RULES), set(BAD))
        self.assertEqual(set(lint.RULES), set(GOOD))

    def test_bad_is_found(self):
        for rule, cases in BAD.items():
            for path, text, line in cases:
                with self.subTest(rule=rule.__name__, text=text):
                    self.assertIn(line, [at for at, _ in rule(path, text)])

    def test_good_is_left_alone(self):
        for rule, cases in GOOD.items():
            for path, text in cases:
                with self.subTest(rule=rule.__name__, text=text):
                    self.assertEqual([], list(rule(path, text)))

    def test_allowed_headers_have_reasons(self):
        self.assertTrue(all(lint.FOLDERS_ALLOWED.values()))
        self.assertTrue(all(lint.DATA_ALLOWED.values()))

    def test_what_is_allowed_in_vain_is_found(self):
        with tempfile.TemporaryDirectory() as where:
            self.assertEqual(len(lint.FOLDERS_ALLOWED), len(list(lint.unneeded(where))))

    def test_a_tarball_is_walked(self):
        with tempfile.TemporaryDirectory() as where:
            for name in ["lib/code/elf/a.c", "lib/b.h", "build/c.c", "tests/__pycache__/d.c", "e.md"]:
                path = pathlib.Path(where, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(C)
            self.assertEqual(["e.md", "lib/b.h", "lib/code/elf/a.c"], source.tracked(where))
            self.assertEqual(["lib/code/elf/a.c"], source.tracked(where, "lib/*.c"))

    def test_circles_of_objects(self):
        defined = [("a.o", "op_a"), ("b.o", "op_b"), ("c.o", "op_c")]
        self.assertEqual([], list(lint.circles(defined, [("a.o", "op_b"), ("b.o", "op_c"),
                                                         ("c.o", "malloc")])))
        self.assertEqual(["a.o and b.o call each other in a circle (op_b)"],
                         list(lint.circles(defined, [("a.o", "op_b"), ("b.o", "op_a")])))
        self.assertTrue(list(lint.circles(defined, [("a.o", "op_b"), ("b.o", "op_c"),
                                                    ("c.o", "op_a")])))

    def test_a_crowded_folder(self):
        files = ["lib/x/%d.c" % n for n in range(20)]
        self.assertEqual([], list(lint.crowded(files + ["lib/y/a.c", "tests/x/a.c"])))
        self.assertEqual(["lib/x has 21 source files, more than 20"],
                         list(lint.crowded(files + ["lib/x/a.h"])))
        tests = ["tests/x/%d.py" % n for n in range(20)] + ["tests/x/meson.build"]
        inputs = ["tests/fuzz/corpus/x/%d" % n for n in range(40)]
        self.assertEqual([], list(lint.crowded(tests + inputs)))
        self.assertEqual(["tests/x has 21 source files, more than 20"],
                         list(lint.crowded(tests + ["tests/x/a.sh"])))

    def test_drawing(self):
        with tempfile.TemporaryDirectory() as where:
            for name, text in [("x/a.h", '#include "y/b.h"\n'), ("y/b.h", '#include "x/a.h"\n'),
                               ("y/c.c", "struct op_a {\n};\n"), ("z/c.c", "struct op_a {\n};\n"),
                               ("z/d.h", "struct %s {\n%s};\n" % (lint.STATS, "\tint a;\n" * 31)),
                               ("z/e.h", "struct op_e {\n%s};\n" % ("\tint a;\n" * 31))]:
                path = pathlib.Path(where, "lib", name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            self.assertEqual(["lib/z/c.c:1: op_a is defined in lib/y/c.c, too",
                              "rooms in a circle: x -> y (y/b.h), y -> x (x/a.h)"],
                             list(lint.drawing(where))[:2])
            self.assertEqual(["lib/z/e.h:1 op_e 31: lib: structs over 30 members"],
                             [wrong for wrong in lint.drawing(where) if "30" in wrong])

    def test_a_header_of_no_folder_is_no_folder(self):
        text = '#include "capture/b.h"\n'
        self.assertEqual([], list(lint.folders("lib/profile/otlp/a.c", text, lambda name: False)))


NM = """
Symbols from lib.a[a.c.o]:

Name                  Value           Class        Type         Size             Line  Section
lib.a:dir/a.c.o:%-20s|0000000000000000|   %s  |            OBJECT|0000000000000008|     |%s
"""


def nm(name, kind, section):
    return list(lint.check_symbols(lint.parse_nm(NM % (name, kind, section))))


class Objects(unittest.TestCase):
    def test_writable_data_is_found(self):
        for kind, section in [("b", ".bss"), ("d", ".data"), ("b", ".tbss"), ("d", ".tdata"),
                              ("d", ".data.rel"), ("d", ".data.counter"), ("C", "*COM*")]:
            with self.subTest(section=section):
                self.assertTrue(nm("op_count", kind, section))
                self.assertTrue(nm("op_count.12", kind, section))

    def test_constants_are_left_alone(self):
        for section in [".rodata", ".data.rel.ro", ".data.rel.ro.local", ".rodata.str1.1"]:
            with self.subTest(section=section):
                self.assertEqual([], nm("names.0", "d", section))

    def test_what_is_allowed_is_left_alone(self):
        self.assertEqual([], nm("completed", "b", ".bss"))

    def test_foreign_names_are_found(self):
        self.assertTrue(nm("elf_open", "T", ".text"))
        self.assertTrue(nm("names", "R", ".rodata"))
        self.assertTrue(nm("open_op_x", "T", ".text"))

    def test_own_names_are_left_alone(self):
        self.assertEqual([], nm("op_elf_open", "T", ".text"))
        self.assertEqual([], nm("otelprof_init", "T", ".text"))
        self.assertEqual([], nm("elf_open", "t", ".text"))
        self.assertEqual([], nm("op_names", "R", ".rodata"))

    @unittest.skipUnless(shutil.which("cc") and shutil.which("ar"), "no compiler")
    def test_a_real_archive(self):
        source = """
            struct s { const char *name; };
            static const char text[] = "a";
            static const struct s table[] = { { text } };
            static int hidden;
            int otelprof_init(void) { static int calls; return ++calls + ++hidden; }
            const char *op_name(int i) { return table[i].name; }
            void foreign(void) { }
        """
        with tempfile.TemporaryDirectory() as where:
            path = pathlib.Path(where)
            (path / "a.c").write_text(source)
            subprocess.run(["cc", "-fPIC", "-c", "a.c"], cwd=path, check=True)
            subprocess.run(["ar", "rc", "lib.a", "a.o"], cwd=path, check=True)
            wrong, _ = lint.check_objects(str(path / "lib.a"), "otelprof_init")
            empty, _ = lint.check_objects(str(path / "lib.a"), "otelprof_start")
        self.assertEqual(1, len(empty))
        self.assertEqual(["calls", "foreign", "hidden"],
                         sorted(line.split()[1].split(".")[0] for line in wrong), wrong)


if __name__ == "__main__":
    unittest.main()
