# SPDX-License-Identifier: Apache-2.0
"""The full-screen view of top, on a pseudo-terminal: the test types keys and reads the text.

usage: test_top.py PROGRAM

The program is linked with a library that has samples only in the first table.
"""
import fcntl
import json
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
ESCAPES = re.compile(rb'\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>78]')


class Screen:
    """A terminal of 24 lines and 100 columns that a program writes to."""

    def __init__(self, *args, mode='', keyboard=True):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            if not keyboard:  # one table after the other, then
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.environ.update(TERM='vt100', LC_ALL='C.UTF-8', FAKE_OTELPROF=mode)
            os.execv(PROGRAM, [PROGRAM, 'top', '-d', '0.3', *args])
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack('4H', 24, 100, 0, 0))
        self.raw = b''

    def read_until(self, text, seconds=120):
        """All that was written until @text came, without what moves the cursor."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            plain = ESCAPES.sub(b' ', self.raw).decode(errors='replace')
            if text in plain:
                self.raw = b''
                return plain
            if select.select([self.fd], [], [], 0.2)[0]:
                try:
                    self.raw += os.read(self.fd, 65536)
                except OSError:
                    break
        raise AssertionError('no %r in %r' % (text, ESCAPES.sub(b' ', self.raw)))

    def send(self, keys, redraw='\x0c'):
        """And draw all of the screen anew: else only what has changed would come."""
        os.write(self.fd, (keys + redraw).encode())

    def wait(self):
        end = time.monotonic() + 120
        while time.monotonic() < end:
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    self.raw += os.read(self.fd, 65536)
                except OSError:
                    pass
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, 9)
        raise AssertionError('it does not end')


class Top(unittest.TestCase):
    def setUp(self):
        self.screen = Screen()
        self.screen.read_until('q end')

    def tearDown(self):
        if self.screen:
            self.screen.send('q')
            self.assertEqual(self.screen.wait(), 0)

    def test_owners_and_order(self):
        for owner in ('program', 'container', 'thread', 'function alone', 'process'):
            self.screen.send('g')
            self.screen.read_until(owner)
        self.screen.send('s')
        self.screen.read_until('TOTAL')

    def test_filter(self):
        """What is filtered out is gone; Escape brings it back."""
        self.screen.send('fno such function\n')
        self.screen.read_until('with "no such function"')
        self.screen.send('\x1b')
        self.assertNotIn('no such', self.screen.read_until('h help'))

    def test_search(self):
        self.screen.send('/no such function\n')
        self.screen.read_until('nothing below has "no such function"')

    def test_pause_and_help(self):
        self.screen.send(' ')
        self.screen.read_until('PAUSED')
        self.screen.send('h', redraw='')
        self.screen.read_until('any key leaves it')
        self.screen.send('x')
        self.screen.read_until('PAUSED')

    def test_signal_ends_it(self):
        os.kill(self.screen.pid, 15)
        self.assertEqual(self.screen.wait(), 0)
        self.screen = None


@unittest.skipUnless(shutil.which('tmux'), 'there is no tmux')
class Tmux(unittest.TestCase):
    """The same in a terminal that somebody uses: what stands on its screen, cell by cell."""
    def setUp(self):
        self.begin(100)

    def begin(self, columns):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tmux = ['tmux', '-f', '/dev/null', '-S', os.path.join(folder.name, 'socket')]
        self.run_it('new-session', '-d', '-x', str(columns), '-y', '24', PROGRAM + ' top -d 3')
        self.addCleanup(subprocess.run, [*self.tmux, 'kill-server'], capture_output=True)

    def run_it(self, *args):
        # a leak checker whose terminal goes meanwhile would wait for ever, with all of a CPU
        options = os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0'
        return subprocess.run([*self.tmux, *args], check=True, capture_output=True, text=True, timeout=60,
                              env=dict(os.environ, LC_ALL='C.UTF-8', ASAN_OPTIONS=options)).stdout

    def screen(self, wanted):
        for _ in range(100):
            text = self.run_it('capture-pane', '-p')
            if wanted in text:
                return text
            time.sleep(0.1)
        self.fail('no %r in %s' % (wanted, text))

    def test_a_narrow_terminal_keeps_the_function(self):
        for columns, titles, row in (
                (50, ['SELF', 'TOTAL', 'PROCESS', 'FUNCTION'], ['30.00%', '30.00%', 'web', 'parse']),
                (60, ['SELF', 'TOTAL', 'PID', 'PROCESS', 'FUNCTION'], ['30.00%', '30.00%', '100', 'web', 'parse']),
                (30, ['SELF', 'TOTAL', 'FUNCTION'], ['30.00%', '30.00%', 'parse'])):
            self.begin(columns)
            self.screen('parse')
            self.run_it('send-keys', 'a')  # without the answer
            lines = self.screen('parse').splitlines()
            while not lines[2].startswith('   SELF'):
                time.sleep(0.1)
                lines = self.screen('parse').splitlines()
            self.assertEqual((lines[2].split(), lines[4].split()), (titles, row))

    def test_the_answer_comes_first(self):
        for columns in 100, 80, 60:
            self.begin(columns)
            lines = self.screen('ksys_read').splitlines()
            self.assertRegex(lines[1], r'^Used 0\.\d\d of \d+ CPUs? for ')
            own = next(i for i, line in enumerate(lines) if line.startswith('YOUR CODE'))
            self.assertRegex(lines[own + 1], r'^  40\.0% ')
            self.assertIn('app.py:12', lines[own + 1])
            self.assertTrue(all(len(line) <= columns for line in lines), lines)

    def test_what_stands_there(self):
        self.screen('ksys_read')
        self.run_it('send-keys', 'Space') # the next table has no samples
        self.run_it('send-keys', 'a')
        self.screen('PAUSED')
        lines = self.screen('\n   SELF   TOTAL     PID').splitlines()
        self.assertRegex(lines[0], r'^otelprof top  \d\d:\d\d:\d\d  10 samples in .* at 100 Hz')
        self.assertEqual(lines[2].split(), ['SELF', 'TOTAL', 'PID', 'PROCESS', 'MODULE', 'FUNCTION'])
        self.assertEqual(lines[3].split(), ['40.00%', '40.00%', '200', 'python', 'app.py', 'work'])
        self.assertEqual(lines[4].split(), ['30.00%', '30.00%', '100', 'web', 'web', 'parse'])
        self.run_it('send-keys', 'g')
        lines = self.screen('PROGRAM').splitlines()
        self.assertEqual(lines[3].split(), ['40.00%', '40.00%', 'python', 'app.py', 'work'])
        self.run_it('send-keys', 'f')
        self.screen('show only:')
        self.run_it('send-keys', 'ksys', 'Enter')
        lines = [line for line in self.screen('with "ksys"').splitlines()[3:] if '%' in line]
        self.assertEqual([line.split()[-1] for line in lines], ['ksys_read'])
        self.run_it('send-keys', 'q')


class Failures(unittest.TestCase):
    """One export that fails is no end; twenty in a row are, with the library's words."""

    def test_a_failed_export_is_no_end(self):
        screen = Screen(mode='exports')
        screen.read_until(' 10 samples in ')
        screen.send('q')
        self.assertEqual(screen.wait(), 0)
        told = screen.raw.decode(errors='replace')
        self.assertEqual(told.count('an export failed: '), 3)

    def test_it_ends_after_many(self):
        for keyboard in True, False:
            screen = Screen('-d', '0.1', mode='never', keyboard=keyboard)
            self.assertEqual(screen.wait(), 1)
            told = screen.raw.decode(errors='replace')
            # and one of the recording itself, which a busy machine may have time for
            self.assertIn(told.count('an export failed: '), (19, 20, 21))
            self.assertIn(' cannot export: it cannot be made', told)


class LowerRate(unittest.TestCase):
    """99 Hz are asked for, a budget allows 10, and one process has a rule of 100: a sample counts as
    the time that it stands for."""
    CPU_SECONDS = 9 * 0.1 + 0.01

    def test_screen(self):
        screen = Screen('-F', '99', '-d', '3', mode='slow')
        head = None
        end = time.monotonic() + 120
        while not head and time.monotonic() < end:
            time.sleep(0.3)
            screen.send('')
            head = re.search(r' 10 samples in ([0-9.]+) s at 10 Hz\s+CPUs busy: ([0-9.]+) of',
                             screen.read_until('q end'))
        screen.send('q')
        self.assertEqual(screen.wait(), 0)
        self.assertIsNotNone(head)
        seconds, busy = map(float, head.groups())
        self.assertAlmostEqual(seconds * busy, self.CPU_SECONDS, delta=0.1)

    def test_json_and_text(self):
        def top(*args, mode='slow'):
            return subprocess.run([PROGRAM, 'top', '-F', '99', '-d', '0.1', *args], text=True,
                                  env=dict(os.environ, FAKE_OTELPROF=mode), check=True,
                                  capture_output=True, timeout=60).stdout
        d = json.loads(top('--json'))
        self.assertEqual((d['rate_hz'], d['samples'], d['cpu_ns']), (10, 10, 910_000_000))
        rows = {(row['process'], row['function']): row for row in d['functions']}
        for key, count, ns in ((('web', 'parse'), 3, 300_000_000),
                               (('python', 'work'), 4, 400_000_000),
                               (('evil', 'a;b'), 1, 10_000_000)):
            row = rows[key]
            self.assertEqual((row['self'], row['self_ns'], row['total_ns']), (count, ns, ns), key)
            for percent in row['self_percent'], row['total_percent']:
                self.assertAlmostEqual(percent, 100 * ns / 910_000_000, delta=0.006)
        text = top()
        self.assertRegex(text, r'(?m)^10 samples in [0-9.]+ s at 10 Hz\n')
        self.assertRegex(text, r'(?m)^ 43\.96%  43\.96% +200 python +.* work$')
        self.assertRegex(top(mode='some'), r'(?m)^10 samples in .* Hz, 23% were lost\n')


class Filters(unittest.TestCase):
    """What report takes, top takes, too, as far as it means something live."""

    def top(self, *args, status=0):
        done = subprocess.run([PROGRAM, 'top', '-d', '0.1', *args], text=True, capture_output=True, timeout=60)
        self.assertEqual(done.returncode, status, done)
        return done

    def functions(self, *args):
        return {row['function'] for row in json.loads(self.top('--json', *args).stdout)['functions']}

    def test_the_answer(self):
        d = json.loads(self.top('--json').stdout)
        self.assertRegex(d['answer'], r'^Used 0\.\d\d CPUs for ')
        row = d['your_code'][0]
        self.assertEqual((row['name'], row['file'], row['line'], row['total_percent']),
                         ('work', 'app.py', 12, 40.0))

    def test_filters(self):
        everything = self.functions()
        self.assertIn('parse', everything)
        for args in ['--program', 'python'], ['--focus', '^work$'], ['--ignore', 'app'], ['--kind', 'cpu']:
            some = self.functions(*args)
            self.assertTrue(some and some <= everything, args)
        self.assertNotIn('parse', self.functions('--program', 'python'))
        self.assertNotIn('work', self.functions('--ignore', '^work$'))
        self.assertIn('no sample passes the filters, of 10',
                      self.top('--program', 'nobody', status=1).stderr)
        self.assertIn('regular expression', self.top('--focus', '(', '--focus', '[', status=2).stderr)


class Kinds(unittest.TestCase):
    """Each type of samples has a table of its own, in its unit."""
    TYPES = [('alloc_space', 'bytes', 3 << 20), ('contentions', 'count', 1),
             ('off_cpu', 'nanoseconds', 250_000_000)]

    def top(self, mode, *args):
        return subprocess.run([PROGRAM, 'top', '-d', '0.1', '--kinds=cpu,off_cpu,locks,heap', *args],
                              text=True, env=dict(os.environ, FAKE_OTELPROF=mode), check=True,
                              capture_output=True, timeout=60).stdout

    def test_json(self):
        for mode in ('kinds', 'kinds-only'):
            d = json.loads(self.top(mode, '--json'))
            self.assertEqual(d['samples'], 10 if mode == 'kinds' else 0)
            self.assertEqual([(k['type'], k['unit']) for k in d['kinds']],
                             [(t, u) for t, u, _ in self.TYPES])
            for k, (_, _, each) in zip(d['kinds'], self.TYPES, strict=True):
                self.assertEqual(k['value'], 4 * each)
                self.assertEqual(
                    [(f['function'], f['self_value'], f['total_value'], f['self_percent'])
                     for f in k['functions']],
                    [('outer', 3 * each, 4 * each, 75.0), ('inner', each, each, 25.0),
                     ('main', 0, 4 * each, 0.0)])
                self.assertEqual(k['functions_known'], 3)

    def test_text(self):
        text = self.top('kinds')
        self.assertRegex(text, r'(?m)^10 samples in ')
        for head, row in ((r'alloc_space: 12\.0 MiB \(bytes\)', r'12\.0 MiB'),
                          (r'contentions: 4 \(count\)', '4'),
                          (r'off_cpu: 1\.00 s \(nanoseconds\)', r'1\.00 s')):
            self.assertRegex(text, r'(?m)^%s in [0-9.]+ s\n.*\n'
                             r' 75\.00%% 100\.00%% +%s +100 web .* outer$' % (head, row))
        self.assertNotIn(' Hz', self.top('kinds-only'))

    def test_screen(self):
        screen = Screen('-d', '1', mode='kinds')
        screen.read_until(' samples in')
        end = time.monotonic() + 120
        seen = ''
        while 'work' not in seen and time.monotonic() < end:
            time.sleep(0.2)
            screen.send('p')
            seen = screen.read_until('q end')
        screen.send(' k')
        for name, amount in (('alloc_space', '12.0 MiB'), ('contentions', '4'),
                             ('off_cpu', '1.00 s')):
            seen = screen.read_until('q end')
            while name + ': ' not in seen:
                seen = screen.read_until('q end')
            self.assertIn('%s: %s (' % (name, amount), seen)
            screen.send('k')
        while ' Hz' not in seen:
            seen = screen.read_until('q end')
        screen.send('q')
        self.assertEqual(screen.wait(), 0)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
