# SPDX-License-Identifier: Apache-2.0
"""A session from its start to its end: the ends of windows, failed polls and exports, an export
that delivered nothing, and a file that is written over.

usage: test_session.py PROGRAM
"""
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
KEPT = 'the older {0} is kept as {0}.old'


def run(*args, mode=None, **kwargs):
    env = {k: v for k, v in os.environ.items() if k != 'FAKE_OTELPROF'}
    if mode:
        env['FAKE_OTELPROF'] = mode
    return subprocess.run([PROGRAM, *args], env=dict(env, NO_COLOR='1'), capture_output=True,
                          text=True, timeout=60, **kwargs)


def may_go_first():
    try:
        return subprocess.run(['true'], check=False, preexec_fn=lambda: os.setpriority(
            os.PRIO_PROCESS, 0, -10)).returncode == 0
    except subprocess.SubprocessError:
        return False


class Session(unittest.TestCase):
    def test_the_first_window_is_short(self):
        r = run('export', '-d', '1.4', '--interval', '30', mode='windows')
        times = [float(t) for t in re.findall(r'fake: export after ([0-9.]+) s', r.stderr)]
        # Half a second, by a tenth more or less; and the end's.
        self.assertEqual(len(times), 2, r.stderr)
        self.assertGreater(times[0], 0.4)
        self.assertLess(times[0], 1.2)
        self.assertGreater(times[1], 1.3)

    @unittest.skipUnless(may_go_first(), 'no right to a higher priority')
    def test_it_goes_first_unless_its_user_says_otherwise(self):
        # COMMAND keeps the priority of the one who runs it
        for nice, while_it_runs in ((0, -10), (5, 5), (-3, -3)):
            with tempfile.TemporaryDirectory() as folder:
                told = os.path.join(folder, 'nice')
                p = subprocess.Popen([PROGRAM, 'record', '-o', '/dev/null', '--format', 'otlp', '--',
                                      'sh', '-c', f'nice > {told}; sleep 2'],
                                     stderr=subprocess.DEVNULL,
                                     preexec_fn=lambda n=nice: os.setpriority(os.PRIO_PROCESS, 0, n))
                seen = set()
                while p.poll() is None:
                    with contextlib.suppress(ProcessLookupError):
                        seen.add(os.getpriority(os.PRIO_PROCESS, p.pid))
                    time.sleep(0.01)
                self.assertIn(while_it_runs, seen)
                with open(told) as f:
                    self.assertEqual(int(f.read()), nice)

    def test_a_failed_poll_is_no_end(self):
        r = run('export', '-d', '1', mode='hiccup')
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(r.stderr.count('a poll failed: '), 3)
        self.assertIn('; going on\n', r.stderr)
        self.assertIn('samples: taken 10 = exported 10', r.stderr.splitlines()[-1])

    def test_a_failed_export_is_no_end(self):
        r = run('export', '-d', '2', '--interval', '0.2', mode='exports')
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(r.stderr.count('an export failed: '), 3)
        self.assertIn('samples: taken 10 = exported 10', r.stderr.splitlines()[-1])

    def test_it_gives_up_after_many_failed_exports(self):
        r = run('export', '-d', '50', '--interval', '0.1', mode='never')
        self.assertEqual(r.returncode, 1, r.stderr)
        self.assertEqual(r.stderr.count('an export failed: '), 19)
        # what earlier windows left in a queue is sent, though there is no last window
        self.assertIn('otelprof: cannot export: ', r.stderr)
        self.assertIn('fake: flush\n', r.stderr)

    def test_nothing_delivered_is_1(self):
        for mode, reason in (('drop', 'ring: It was full.'), ('full', 'other: ')):
            r = run('export', '-d', '0.2', mode=mode)
            self.assertEqual(r.returncode, 1, r.stderr)
            self.assertIn('dropped 10', r.stderr.splitlines()[-1])
            if mode == 'drop':
                self.assertIn(f'otelprof: nothing was delivered; {reason}\n', r.stderr)
        for mode in (None, 'some', 'filter', 'none'):
            r = run('export', '-d', '0.2', mode=mode)
            self.assertEqual(r.returncode, 0, r.stderr)

    def test_a_recording_waits_for_who_reads_it(self):
        r = run('record', '-d', '0.1', '-o', '-', '--format', 'folded', mode='pager')
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn('10 samples in -', r.stderr)
        self.assertTrue(r.stdout)

    def test_a_signal_ends_the_wait(self):
        env = dict(os.environ, FAKE_OTELPROF='stuck', NO_COLOR='1')
        p = subprocess.Popen([PROGRAM, 'record', '-d', '0.1', '-o', '/dev/null', '--format', 'otlp'],
                             env=env, text=True, stderr=subprocess.PIPE)
        with self.assertRaises(subprocess.TimeoutExpired):
            p.communicate(timeout=3)
        told = None
        while told is None:  # the first may end the recording
            p.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                told = p.communicate(timeout=3)[1]
        self.assertEqual(p.returncode, 1, told)
        self.assertIn('not everything was delivered', told)

    def test_an_older_recording_is_kept(self):
        def record(path, mode=None):
            r = run('record', '-d', '0.1', '-o', path, mode=mode)
            self.assertEqual(r.returncode, 0, r.stderr)
            return r.stderr

        def content(path):
            with open(path, 'rb') as f:
                return f.read()

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'a.folded')
            self.assertNotIn(KEPT, record(path, 'name=first'))
            self.assertEqual(os.listdir(folder), ['a.folded'])
            self.assertIn(f'otelprof: {KEPT.format(path)}\n', record(path, 'name=second'))
            self.assertIn(b'first', content(path + '.old'))
            self.assertIn(b'second', content(path))
            record(path, 'name=third')
            self.assertIn(b'second', content(path + '.old'))
            self.assertEqual(sorted(os.listdir(folder)), ['a.folded', 'a.folded.old'])
            # An empty file is nothing to keep; of a link the target is.
            os.truncate(path, 0)
            self.assertNotIn(KEPT.format(path), record(path))
            link = os.path.join(folder, 'link.folded')
            os.symlink('a.folded', link)
            self.assertIn(KEPT.format(path).split(' is ')[1], record(link))
            self.assertEqual(os.readlink(link), 'a.folded')
            # A flush that fails leaves the recording that was there.
            before, older = content(path), content(path + '.old')
            r = run('record', '-d', '0.1', '-o', path, mode='full')
            self.assertEqual(r.returncode, 1)
            self.assertEqual((content(path), content(path + '.old')), (before, older))
            self.assertEqual(sorted(os.listdir(folder)),
                             ['a.folded', 'a.folded.old', 'link.folded'])
        r = run('record', '-d', '0.1', '-o', '/dev/null', '--format', 'otlp')
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertNotIn('is kept as', r.stderr)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
