# SPDX-License-Identifier: Apache-2.0
"""Every key of lib/api/settings/keys.def is in the help of its commands. Switch, variable, file and
alias of a key set the same. The command lines of the documents have options and values that the
program takes.

usage: test_options.py PROGRAM    (PYTHONPATH has tests/abi)
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

import settings

ROOT = pathlib.Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tests/check"))
import source  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
TABLE = ROOT / "lib/api/settings/keys.def"
KEYS = settings.keys(TABLE.read_text())
# Of types whose least value is not what to try.
VALUES = {"ON": "true", "OFF": "false", "FLAG": "true", "TEXT": "http://x", "NAMES": "A, B",
          "PAIRS": "a=x%2Cy, b=", "PROBES": "kprobe:x", "RULES": "rate 7 pid:1", "LIMIT": "64MiB",
          "POWER": "65536"}
WORDS = {"kinds": "cpu, wall", "runtimes_off": "php, python", "log_level": "info",
         "protocol": "http/protobuf", "compression": "none"}
# Of an alias: its value, and that of its key.
ALIASES = {"": None, "not": ("true", "false"), "one": ("a=x,y", "a=x%2Cy"), "us": ("7", "7000"),
           "%": ("0.5", "5"), "MiB": ("64", "67108864"), "s": ("3", "3000")}


def value_of(key):
    return WORDS.get(key.key) or VALUES.get(key.kind) or str(max(17, int(key.least)))


def run(command, *args, **env):
    for name in [name for name in os.environ if name.startswith("OTEL")]:
        del os.environ[name]
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([PROGRAM, command, *args], capture_output=True, text=True, timeout=60,
                              env=dict(os.environ, FAKE_OTELPROF="dump", **env), cwd=folder)


def says(command, *args, **env):
    """What the library is told."""
    if command == "record":
        args = ("-d", "0.01", *args)
    r = run(command, *args, **env)
    lines = re.findall(r"(?m)^(?:dump|fake): .*", r.stderr)
    assert len(lines) > 20, (args, r.stderr)
    return lines


def switch(name):
    return "--" + name.replace("_", "-")


EACH = [("export" if key.where == "EXPORT" else "record", key) for key in KEYS
        if key.where != "LIBRARY"]


class Options(unittest.TestCase):
    def test_sources_say_the_same(self):
        plain = {command: says(command) for command, _ in EACH}
        for command, key in EACH:
            value = value_of(key)
            got = says(command, f"{switch(key.key)}={value}")
            self.assertNotEqual(got, plain[command])
            self.assertEqual(says(command, **{"OTELPROF_" + key.key.upper(): value}), got)
            with tempfile.NamedTemporaryFile("w") as f:
                f.write(f"{key.key} = {value}\n")
                f.flush()
                self.assertEqual(says(command, "--config", f.name), got)

    def test_aliases(self):
        for command, key in EACH:
            for name, letter, like, _ in key.aliases:
                theirs, ours = ALIASES[like] or (value_of(key),) * 2
                got = says(command, f"{switch(key.key)}={ours}")
                self.assertEqual(says(command, f"{switch(name)}={theirs}"), got, name)
                if letter != "0":
                    self.assertEqual(says(command, f"-{letter}{theirs}"), got, name)
            if key.kind == "OFF":
                self.assertEqual(says(command, switch("no_" + key.key)),
                                 says(command, f"{switch(key.key)}=false"))

    def test_a_wrong_value_is_explained(self):
        for command, key in EACH:
            if key.kind in ("TEXT", "PROBES", "RULES"):
                continue  # what is wrong with those is found later
            r = run(command, f"{switch(key.key)}={'=' * 200}")
            self.assertEqual(r.returncode, 2, (key.key, r.stderr))
            self.assertRegex(r.stderr, f"(?m)^otelprof: {switch(key.key)}: .*(must|has|takes) ", key.key)

    def test_help_has_all(self):
        texts = {command: run(command, "--help").stdout for command in ("record", "top", "export")}
        for key in KEYS:
            names = [name for name, _, like, _ in key.aliases if like not in ("not", "one")]
            shown = names[0] if names else "no_" * (key.kind == "OFF") + key.key
            for command, text in texts.items():
                there = key.where in ("ALL", "PROGRAM") or (key.where, command) == ("EXPORT", "export")
                self.assertEqual(bool(re.search(r"(?m)^ .*%s( |$)" % switch(shown), text)), there,
                                 (command, key.key))


# Command lines in blocks of code of pages, up to a comment, a pipe or a redirection.
LINES = re.compile(r"^(?:\t| {4})?(?:sudo )?otelprof ((?:record|report|diff|convert|merge|dump|top|"
                   r"export|doctor)\b(?:'[^'\n]*'|\"[^\"\n]*\"|[^\n#|;&<>'\"])*)", re.M)
BLOCKS = re.compile(r"^```\w*\n(.*?)^```|^((?:\t| {4})[^\n]*)$", re.M | re.S)
STANDS = {"PID": str(os.getpid()), "ID": "0123abcd", "1234": str(os.getpid()), "COMMAND": "true",
          "PROGRAM": "true", "profiles-\\*.otlp": "a.otlp"}
USAGE = 2


def lines_of(text):
    """The command lines in blocks of code of a page, as arguments."""
    for block in BLOCKS.finditer(text):
        for line in LINES.finditer((block.group(1) or block.group(2)).replace("\\\n", " ")):
            args, _, command = line.group(1).partition(" -- ")
            args = [STANDS.get(arg, arg) for arg in shlex.split(args.replace("\\_", "_"))]
            args = ["0.05" if args[i - 1] == "-d" else arg for i, arg in enumerate(args)]
            if "-d" not in args and args[0] in ("record", "export", "top") and not command:
                args += ["-d", "0.05"] if args[0] != "top" else ["--json", "-n", "1"]
            yield args + (["--", "true"] if command else [])


class Pages(unittest.TestCase):
    def run_lines(self, text):
        """[(arguments, why)] of the command lines that the program does not understand."""
        wrong = []
        with tempfile.TemporaryDirectory() as folder:
            def program(*args):
                return subprocess.run([PROGRAM, *args], cwd=folder, capture_output=True, text=True,
                                      timeout=60, env=dict(os.environ, HOME=folder))
            program("record", "-q", "-d", "0.05", "-o", "a.otlp")
            for args in lines_of(text):
                for name in args[1:]:
                    if name.endswith(".otlp") and not os.path.exists(os.path.join(folder, name)):
                        shutil.copy(os.path.join(folder, "a.otlp"), os.path.join(folder, name))
                done = program(*args)
                if done.returncode == USAGE:
                    wrong.append((args, done.stderr))
        return wrong

    def test_command_lines_of_pages(self):
        count = 0
        for path in source.tracked(ROOT, "*.md", "docs/man/*.scd"):
            text = (ROOT / path).read_text()
            count += len(list(lines_of(text)))
            if not path.startswith("tests/"):
                self.assertEqual([], self.run_lines(text), path)
        self.assertGreater(count, 60)

    def test_a_wrong_line_is_found(self):
        for line in ("otelprof record --kinds lock -p PID",
                     "sudo otelprof report --by colour a.otlp", "otelprof diff a.otlp", "otelprof convert -o x.docx a.otlp",
                     "otelprof export --protocol smtp"):
            for text in ("```sh\n%s\n```\n", "    %s   # why\n", "\t%s\n"):
                self.assertEqual(1, len(self.run_lines(text % line)), line)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
