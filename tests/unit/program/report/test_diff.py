# SPDX-License-Identifier: Apache-2.0
"""diff of two versions of a program: files and processes of other names are the same ones.

usage: test_diff.py PROGRAM
"""
import json
import pathlib
import re
import subprocess
import tempfile
import unittest

from test_filters import CPU, OFF, PROGRAM, event, recording

LIBC = ('write', '/lib/libc.so.6', '', 0)


def version(program, module, library, counts, kind=CPU, value=1):
    """Events of a program whose functions have their names in each version."""
    main = ('main', f'/build/{module}', '/src/main.c', 10)
    frames = {'parse': [('parse', f'/build/{module}', '/src/parse.c', 7), main],
              'add': [('add', f'/lib/{library}', '', 0), ('call', f'/lib/{library}', '', 0), main],
              'write': [LIBC, main]}
    return [event(kind, 7, program, ('main', 7), frames[name], [n / 100 for n in range(count)],
                  value=value) for name, count in counts.items()]


BEFORE = version('orders', 'orders', 'libx.so.1', {'parse': 40, 'add': 50, 'write': 10})
AFTER = version('orders-fixed', 'orders-fixed', 'libx.so.2', {'parse': 40, 'add': 20, 'write': 20})


class Diff(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, events):
        (self.folder / name).write_bytes(recording(events))
        return str(self.folder / name)

    def diff(self, before, after, *args):
        files = [self.write('before.otlp', before), self.write('after.otlp', after)]
        r = subprocess.run([PROGRAM, 'diff', '--min=0', *args, *files], capture_output=True, text=True,
                           timeout=60)
        self.assertEqual(r.returncode, 0, r.stderr)
        return r

    def changes(self, *args):
        r = self.diff(*args, '--format=json')
        return {(c['name'], c['module']): (c['self_before'], c['self_after'], c['total_before'],
                                           c['total_after']) for c in json.loads(r.stdout)['changes']}, r.stderr

    def test_versions_are_joined(self):
        changes, said = self.changes(BEFORE, AFTER)
        self.assertEqual(changes, {
            ('main', 'orders'): (0, 0, 100, 80), ('parse', 'orders'): (40, 40, 40, 40),
            ('add', 'libx.so.1'): (50, 20, 50, 20), ('call', 'libx.so.1'): (0, 0, 50, 20),
            ('write', 'libc.so.6'): (10, 20, 10, 20)})
        for what in ('module orders-fixed (after) is compared with orders (before)',
                     'module libx.so.2 (after) is compared with libx.so.1 (before)',
                     'program orders-fixed (after) is compared with orders (before)'):
            self.assertIn(what, said)
        for by, rows in (('program', {'orders'}), ('module', {'orders', 'libx.so.1', 'libc.so.6'})):
            changes, _ = self.changes(BEFORE, AFTER, '--by', by)
            self.assertEqual({name.rsplit('/', 1)[-1] for name, _ in changes}, rows)

    def test_scripts_are_joined(self):
        """A file is the module of a script's functions. What all scripts have pairs none."""
        def script(path, names, line=1):
            main = ('<module>', '', path, line)
            return [event(CPU, 7, 'python3', ('main', 7), [(name, '', path, line + 9), main] if name else [main],
                          [0.1]) for name in names]
        lib = script('/usr/lib/re.py', ['match'])
        both, said = self.changes(script('/a/shop.py', ['find', 'show', '']) + lib,
                                  script('/b/shop_fast.py', ['find', 'show', ''], 3) + lib)
        self.assertEqual(said, 'otelprof: module shop_fast.py (after) is compared with shop.py (before)\n')
        self.assertEqual({name: v[:2] for name, v in both.items()}, {
            ('find', 'shop.py'): (1, 1), ('show', 'shop.py'): (1, 1), ('<module>', 'shop.py'): (1, 1),
            ('match', 're.py'): (1, 1), ('<module>', 're.py'): (0, 0)})
        # each recording may import a file that the other one does not
        both, said = self.changes(script('/a/one.py', ['']), script('/a/two.py', ['']))
        self.assertEqual((both['<module>', 'one.py'][:2], said), ((1, 0), ''))

    def test_the_page_has_one_program(self):
        page = self.folder / 'x.html'
        self.diff(BEFORE, AFTER, '-o', str(page))
        strings = [json.loads(s) for s in re.findall(r'"strings":(\[.*?\]),"functions"', page.read_text())]
        self.assertEqual(len(strings), 2)
        for of in strings:
            self.assertIn('orders', of)
        functions = [json.loads(s) for s in re.findall(r'"functions":(\[\[.*?\]\])', page.read_text())]
        self.assertEqual(len(functions), 2)

    def test_others_stay_apart(self):
        """What both have keeps its name; programs with nothing in common are two."""
        changes, said = self.changes(BEFORE, BEFORE)
        self.assertEqual(said, '')
        self.assertTrue(all(v[0] == v[1] and v[2] == v[3] for v in changes.values()))
        frames = [('serve', '/bin/httpd', '', 0), ('loop', '/bin/httpd', '', 0), ('run', '/bin/httpd', '', 0),
                  ('idle', '/bin/httpd', '', 0), ('main', '/bin/httpd', '', 0)]
        other = [event(CPU, 9, 'httpd', ('main', 9), frames, [0.1]),
                 event(CPU, 8, 'sh', ('main', 8), [LIBC], [0.2])]
        changes, said = self.changes(BEFORE, other)
        self.assertIn(('serve', 'httpd'), changes)
        self.assertNotIn('module', said)
        self.assertEqual(changes['parse', 'orders'][:2], (40, 0))

    def test_values_stand_beside_shares(self):
        slow = version('orders', 'orders', 'libx.so.1', {'parse': 4, 'add': 4}, OFF, 250_000_000)
        fast = version('orders', 'orders', 'libx.so.1', {'parse': 2, 'add': 2}, OFF, 250_000_000)
        changes, _ = self.changes(slow, fast)
        self.assertEqual(changes['add', 'libx.so.1'][:2], (10 ** 9, 5 * 10 ** 8))
        text = self.diff(slow, fast).stdout
        self.assertRegex(text, r'50\.00% +50\.00% +\+0\.00% +1\.00 s +500\.0 ms +\S+ +add')
        text = self.diff(slow, fast, '--format=markdown').stdout
        self.assertRegex(text, r'`add` \| `libx.so.1` +\| 1\.00 s \| 500\.0 ms \|')

    def test_counts_of_a_moment_are_compared_themselves(self):
        """Their size does not depend on how long was recorded."""
        kind = ('goroutines', 'count', '', '', 0)
        for changed in (0, 1900):
            before = version('server', 'server', 'libx.so.1', {'parse': 1}, kind, 106)
            after = version('server', 'server', 'libx.so.1', {'parse': 1}, kind, 106 + changed)
            changes, _ = self.changes(before, after, '--min=1')
            self.assertEqual(('parse', 'server') in changes, changed > 0)
        text = self.diff(before, after, '--min=1').stdout
        self.assertRegex(text, r'106 +2,?006 +\S+ +parse')
        # one function grows; the others are what they were
        before = version('server', 'server', 'libx.so.1', {'parse': 1, 'add': 1}, kind, 100)
        after = (version('server', 'server', 'libx.so.1', {'parse': 1}, kind, 1900) +
                 version('server', 'server', 'libx.so.1', {'add': 1}, kind, 100))
        changes, _ = self.changes(before, after, '--min=1')
        self.assertEqual({name for name, _ in changes}, {'parse'})

    def test_by_line(self):
        changes, _ = self.changes(BEFORE, AFTER, '--by=line')
        self.assertEqual({name: v[2:] for (name, _), v in changes.items()}['/src/parse.c:7'], (40, 40))


if __name__ == '__main__':
    unittest.main(argv=[__file__])
