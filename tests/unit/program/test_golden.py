# SPDX-License-Identifier: Apache-2.0
"""Compares whole outputs with the files in golden/, so that a review shows each change of a text.
The recordings come from fake_otelprof.c, so nothing depends on time or machine.

usage: test_golden.py PROGRAM [--write]

With --write the files are written again. Read the difference before you commit it.
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
WRITE = '--write' in sys.argv
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'golden')

# Name of the file: the arguments. a.otlp has ten events, b.otlp twenty: work has 14 of them.
CASES = {
    'report.txt': ['report', 'a.otlp'],
    'report-tree.txt': ['report', '--tree', 'a.otlp'],
    'report-callers.txt': ['report', '--callers=parse', 'a.otlp'],
    'report-callees.txt': ['report', '--callees=handle', 'a.otlp'],
    'report-process.txt': ['report', '--by=process', 'a.otlp'],
    'report-container.txt': ['report', '--by=container', 'a.otlp'],
    'report.md': ['report', '--format=markdown', 'a.otlp'],
    'report-poor.md': ['report', '--format=markdown', 'poor.otlp'],
    'report.json': ['report', '--format=json', 'a.otlp'],
    'diff.txt': ['diff', 'a.otlp', 'b.otlp'],
    'diff.md': ['diff', '--format=markdown', 'a.otlp', 'b.otlp'],
    'diff.json': ['diff', '--format=json', 'a.otlp', 'b.otlp'],
    'merged.json': ['report', '--format=json', 'merged.otlp'],
    'merged.folded': ['convert', '--format=folded', '-o', '-', 'merged.otlp'],
    'convert.folded': ['convert', '--format=folded', '-o', '-', 'a.otlp'],
    'convert.speedscope.json': ['convert', '--format=speedscope', '-o', '-', 'a.otlp'],
}
COMMANDS = ['record', 'dump', 'top', 'export', 'ctl', 'report', 'diff', 'convert', 'merge', 'mcp', 'sink',
            'doctor']
CASES.update({f'help-{name}.txt': [name, '--help'] for name in COMMANDS})
CASES['help.txt'] = ['--help']


class Golden(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        for name, mode in (('a', ''), ('b', 'later'), ('poor', 'poor')):
            cls.run_it('record', '-q', '-d', '0.1', '-o', f'{name}.otlp', mode=mode)
        cls.run_it('merge', '-o', 'merged.otlp', 'a.otlp', 'b.otlp')

    @classmethod
    def run_it(cls, *args, mode=''):
        r = subprocess.run([PROGRAM, *args], capture_output=True, text=True, timeout=60,
                           env=dict(os.environ, FAKE_OTELPROF=mode), cwd=cls.folder)
        assert r.returncode == 0, (args, r.stderr)
        # The list of kinds grows with the library.
        return re.sub(r'(?ms)^( +--kinds LIST ).*?(?=^ +-)', r'\1...\n', r.stdout)

    def test_each(self):
        for name, args in CASES.items():
            path, text = os.path.join(GOLDEN, name), self.run_it(*args)
            with self.subTest(name):
                self.assertTrue(text)
                # What is piped has no colours and no other control characters.
                self.assertIsNone(re.search(r'[\x00-\x08\x0b-\x1f\x7f]', text))
                if WRITE:
                    with open(path, 'w', encoding='utf-8') as f:
                        f.write(text)
                with open(path, encoding='utf-8') as f:
                    self.assertEqual(text, f.read())

    def test_there_are_no_others(self):
        self.assertEqual(sorted(os.listdir(GOLDEN)), sorted(CASES))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
