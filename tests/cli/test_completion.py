# SPDX-License-Identifier: Apache-2.0
"""What bash completes, for every command and option that --help shows.

usage: test_completion.py PROGRAM COMPLETION
"""
import os
import re
import shutil
import subprocess
import sys
import unittest

PROGRAM, COMPLETION = (os.path.abspath(a) for a in sys.argv[1:3])


def complete(*words):
    """What bash offers for the last word."""
    script = f'''. "{COMPLETION}"
COMP_WORDS=("{PROGRAM}" {' '.join(f'"{w}"' for w in words)}); COMP_CWORD={len(words)}
_otelprof; printf '%s\\n' "${{COMPREPLY[@]}}"'''
    r = subprocess.run(['bash', '--norc', '-c', script], capture_output=True, text=True, timeout=60)
    assert r.returncode == 0 and not r.stderr, r
    return set(r.stdout.split())


def help_of(*args):
    return subprocess.run([PROGRAM, *args, '--help'], capture_output=True, text=True,
                          timeout=60).stdout


@unittest.skipIf(not shutil.which('bash'), 'there is no bash')
class Completion(unittest.TestCase):
    def test_commands(self):
        commands = set(re.findall(r'(?m)^  ([a-z]+) ', help_of()))
        self.assertIn('record', commands)
        self.assertEqual(complete(''), commands)
        self.assertEqual(complete('re'), {'record', 'report'})

    def test_options(self):
        for command in sorted(complete('')):
            text = help_of(command)
            options = set(re.findall(r'(?m)^ +(?:-\S, )?(--[a-z-]+)', text))
            options |= set(re.findall(r'(?m)^ +(-[^ -])\b', text))
            self.assertEqual(complete(command, '-'), options, command)
        self.assertEqual(complete('record', '--dur'), {'--duration'})

    def test_files_and_commands(self):
        self.assertEqual(complete('report', 'x'), set())
        self.assertIn('true', complete('record', '-F', '9', '--', 'tru'))
        self.assertEqual(complete('record', '--', 'true', '-'), set())


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
