# SPDX-License-Identifier: Apache-2.0
"""Every key of lib/api/settings/keys.def is in the help of the commands that have it, and says the
same of the switch, the variable, and the file; an alias says what its key says.

usage: test_options.py PROGRAM    (PYTHONPATH has tests/abi)
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import settings

PROGRAM = os.path.abspath(sys.argv[1])
TABLE = pathlib.Path(__file__).parents[3] / "lib/api/settings/keys.def"
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
        for command, key in EACH:
            value, plain = value_of(key), says(command)
            got = says(command, f"{switch(key.key)}={value}")
            self.assertNotEqual(got, plain)
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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
