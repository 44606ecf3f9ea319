# SPDX-License-Identifier: Apache-2.0
"""dump of known threads (rq_threads() of request.h), as text and as JSON, and its options.

usage: test_dump.py PROGRAM
"""
import json
import os
import re
import subprocess
import sys
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
ME = str(os.getpid())
TEXT = '''process 42 app, container 0123456789ab, 16 threads

thread 42 main: sleeping, waits for pipe in pipe_read
    _Py_read (libpython3.so)
    ask (/app/x.py:7)
    and 1 frame of the runtime (--all)

threads 43 pool, 44 pool, 45 pool, 46 pool, 47 pool, 48 pool, 49 pool, 50 pool and 5 more: sleeping, waits for lock \
in futex_wait
    work\\x1b[2J (w.c:9)

thread 56 pool: running
    [running]

thread 57 pool: runnable, waits for CPU
    work\\x1b[2J (w.c:9)
'''


def run(*args, mode='threads'):
    return subprocess.run([PROGRAM, 'dump', *args], capture_output=True, text=True, timeout=60,
                          env=dict(os.environ, FAKE_OTELPROF=mode))


class Dump(unittest.TestCase):
    maxDiff = None

    def test_text(self):
        for args in (['-p', ME], [ME], ['--tree', ME], ['--container', 'abc'], ['--format=text', '--user', '0']):
            r = run(*args)
            self.assertEqual((r.returncode, r.stdout), (0, TEXT), r.stderr)

    def test_all_frames(self):
        r = run('--all', ME)
        self.assertIn('''in pipe_read
    pipe_read (vmlinux)
    vfs_read (vmlinux)
    _Py_read (libpython3.so)
    ask (/app/x.py:7)
    _PyEval (libpython3.so)

''', r.stdout)
        self.assertNotIn('--all', r.stdout)

    def test_json(self):
        d = json.loads(run('--format=json', ME).stdout)
        self.assertEqual((d['schema'], d['version'], len(d['processes'])), ('otelprof.dump', 1, 1))
        p, = d['processes']
        self.assertEqual((p['pid'], p['program'], p['container_id'][:4]), (42, 'app', '0123'))
        self.assertEqual([t['tid'] for t in p['threads']], list(range(42, 58)))
        self.assertEqual([t['waits_for'] for t in p['threads']], ['pipe', *['lock'] * 13, None, 'CPU'])
        self.assertEqual([t['state'] for t in p['threads'][-3:]], ['sleeping', 'running', 'runnable'])
        self.assertEqual(p['threads'][0]['stack'][3], {
            'function': 'ask', 'module': '', 'file': '/app/x.py', 'line': 7, 'type': 'cpython'})

    def test_program(self):
        with open('/proc/self/comm', encoding='utf-8') as f:
            comm = f.read().strip()
        for name in (comm, os.path.basename(os.readlink('/proc/self/exe'))):
            self.assertEqual(run('--program', name).stdout, TEXT)
        r = run('--program', 'no-such-program')
        self.assertEqual((r.returncode, r.stdout), (1, ''))
        self.assertIn('no-such-program', r.stderr)

    def test_nothing(self):
        r = run(ME, mode='none')
        self.assertEqual((r.returncode, r.stdout), (1, ''))
        self.assertIn('thread', r.stderr)
        r = run(ME, mode='')
        self.assertEqual((r.returncode, r.stdout), (1, ''))
        self.assertEqual(run('-p', '99999999').returncode, 1)

    def test_mistakes(self):
        for args in ([], ['x'], ['--format=yaml', ME], ['-F', '9', ME], ['-p', 'x']):
            r = run(*args)
            self.assertEqual((r.returncode, r.stdout), (2, ''), args)
            self.assertRegex(r.stderr, re.compile('dump', re.S))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
