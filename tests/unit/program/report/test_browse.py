# SPDX-License-Identifier: Apache-2.0
"""report on a terminal: a whole screen, whose cells tmux tells, and a terminal that is as it was after
each end.

usage: test_browse.py PROGRAM

The recording is of the fake library: parse() has 3 of 10 samples, handle() of web.c calls it and has 5,
work() of app.py:12 has 4, and a function of another program has a hostile name.
"""
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from hostile import Request  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])


class Browse(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.record('r.otlp')
        with open(os.path.join(self.folder, 'app.py'), 'w') as f:
            f.write(''.join('line %d\n' % i for i in range(1, 41)))

    def record(self, name, *args, mode=''):
        subprocess.run([PROGRAM, 'record', '--no-keep', '-d', '0.1', '-o', name, *args], cwd=self.folder,
                       check=True, capture_output=True, timeout=60, env=dict(os.environ, FAKE_OTELPROF=mode))


@unittest.skipUnless(shutil.which('tmux'), 'there is no tmux')
class Screen(Browse):
    def begin(self, columns=100, lines=30, args='r.otlp'):
        self.tmux = ['tmux', '-f', '/dev/null', '-S', os.path.join(self.folder, 'socket%d' % columns)]
        self.run_it('new-session', '-d', '-x', str(columns), '-y', str(lines), '-c', self.folder,
                    PROGRAM + ' report ' + args + '; echo ended; cat')
        self.addCleanup(subprocess.run, [*self.tmux, 'kill-server'], capture_output=True)

    def run_it(self, *args):
        # The end of a terminal amid LeakSanitizer's search leaves a process that never ends.
        options = os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0'
        return subprocess.run([*self.tmux, *args], check=True, capture_output=True, text=True,
                              timeout=60, env=dict(os.environ, LC_ALL='C.UTF-8',
                                                   ASAN_OPTIONS=options)).stdout

    def screen(self, wanted):
        text = before = ''
        for _ in range(200):
            before, text = text, self.run_it('capture-pane', '-p')
            if text == before and re.search(wanted, text, re.M):
                return text  # and it is drawn to its end
            time.sleep(0.1)
        self.fail('no %r in %s' % (wanted, text))

    def send(self, keys, wanted):
        self.run_it('send-keys', *keys.split(' '))
        return self.screen(wanted)

    def test_the_answer_comes_first(self):
        self.begin()
        lines = self.screen('CALLS').splitlines()
        self.assertIn('100.0 ms of CPU time, 100 Hz per CPU', lines[0])
        self.assertRegex(lines[1], '^Used 0.10 CPUs for ')
        self.assertRegex('\n'.join(lines[:6]), r'(?m)^  40\.0% ±26\.0 app\.py:12 +work ')
        without = self.send('a', '\\A.*\n t tree')
        self.assertNotIn('YOUR CODE', without)

    def test_tree(self):
        self.begin()
        text = self.screen('web$')
        self.assertRegex(text, r'(?m)^ 50\.00% +- web$')
        self.assertRegex(text, r'(?m)^ 40\.00% +\+ python$')
        text = self.send('End Up', r'\+ python')
        text = self.send('Home', '- web')
        self.send('Left', r'\+ web')
        self.assertNotIn('handle', self.screen(r'\+ web').split('CALLS')[1])
        self.assertIn('handle', self.send('Right', '- web').split('CALLS')[1])

    def test_functions_and_around(self):
        self.begin(120)
        self.screen('CALLS')
        lines = self.send('f', 'HOT LINE').splitlines()
        row = next(line for line in lines if ' parse' in line and 'parse.h' in line and '%  30.00%' in line)
        self.assertEqual(row.split(), ['30.00%', '30.00%', 'parse.h:7', 'web', 'parse'])
        self.send('/ handle Enter', 'HOT LINE')
        text = self.send('Enter', 'CALLERS AND CALLEES OF handle')
        callers, callees = text.split('what it calls:')
        self.assertIn('main', callers)
        self.assertIn('ksys_read', callees)
        self.assertNotIn('ksys_read', callers.split('who calls it:')[1])
        self.assertIn('HOT LINE', self.send('BSpace', 'HOT LINE'))
        self.send('o', r'HOT LINE.*\n 90\.00%.* main$')

    def test_source(self):
        self.begin()
        self.screen('CALLS')
        self.send('f', 'FUNCTION')
        self.send('/ work Enter', 'FUNCTION')
        text = self.send('s', 'SELF +LINE')
        self.assertRegex(text, r'(?m)^ 40\.00%  40\.00%     12  line 12$')
        self.send('Escape', 'FUNCTION')
        self.send('/ parse Enter', 'FUNCTION')
        self.assertRegex(self.send('s', 'SELF +LINE'), 'parse.h is not on this machine')

    def test_search(self):
        self.begin()
        self.screen('CALLS')
        self.send('f', 'FUNCTION')
        self.send('/ nothing-has-this Enter', '^nothing has it')

    def test_kinds(self):
        self.record('k.otlp', mode='threads')
        self.begin(args='r.otlp k.otlp')
        self.assertIn('of CPU time', self.screen('kind cpu'))
        self.assertIn('of threads at one moment', self.send('k', 'kind threads'))
        self.send('k', 'kind cpu')

    def test_help_and_end(self):
        self.begin(80, 24)
        self.screen('CALLS')
        self.send('?', 'callers and callees')
        self.send('x', 'CALLS')
        self.assertNotIn('CALLS', self.send('q', '^ended'))

    def test_sizes(self):
        for columns, lines in (80, 24), (40, 10), (20, 5), (200, 60):
            self.begin(columns, lines)
            text = self.screen('TOTAL')
            self.assertTrue(all(len(line) <= columns for line in text.splitlines()))
            for keys in 'f', 'Enter', 's', 't', 'End', 'Home', '?', '?', 'a':
                self.run_it('send-keys', keys)
            self.screen('TOTAL|ended|t tree')
            self.send('q', 'ended')
            self.run_it('kill-server')

    def test_resize(self):
        self.begin(100, 30)
        self.screen('CALLS')
        self.run_it('resize-window', '-x', '60', '-y', '15')
        time.sleep(0.5)
        text = self.screen('CALLS')
        self.assertTrue(all(len(line) <= 60 for line in text.splitlines()))
        self.send('q', 'ended')

    def test_frames_of_runtimes(self):
        q = Request()
        work = q.frame('work', '/srv/app.py', 3, 5, kind='cpython')
        evaluate = q.frame('_PyEval_EvalFrameDefault', module='/usr/bin/python3.11')
        q.sample([evaluate, work, evaluate], 70)
        q.write(os.path.join(self.folder, 'p.otlp'))
        self.begin(args='p.otlp')
        self.assertNotIn('_PyEval', self.screen('runtime hidden').split('CALLS')[1])
        text = self.send('f', r'FUNCTION *\n.* work')
        self.assertNotIn('_PyEval', text.split('FUNCTION')[1])
        self.send('r', r'FUNCTION *\n.* _PyEval')

    def test_the_first_choice_is_what_the_answer_charges(self):
        """Not the library's inlined function that the program's own calls."""
        q = Request()
        own = q.frame('observe', os.path.join(self.folder, 'app.py'), 10, 14, module='/srv/app')
        library = q.frame('lock_it', '/usr/include/lib/lock.h', 1, 2, module='/srv/app')
        q.sample([library, own], 70)
        q.write(os.path.join(self.folder, 'p.otlp'))
        self.begin(args='p.otlp')
        self.screen('lock_it')
        self.assertRegex(self.send('s', 'LINE'), r'(?m)^100\.00% +100\.00% +14 +line 14')

    def test_hostile_names(self):
        self.record('h.otlp', mode='name=a\x1b[31mb\x9b2J\u202ec')
        self.begin(args='h.otlp')
        text = self.send('f', r'FUNCTION *\n.*x1b')
        self.assertIn('\\x1b[31m', text)
        self.assertIn('\\u202e', text)
        self.assertNotIn('\u202e', text)


class Ends(Browse):
    """What the terminal was before, it is after each end."""

    def run_on_terminal(self, *args, end):
        pid, fd = pty.fork()
        if not pid:
            os.chdir(self.folder)
            os.environ.update(TERM='xterm', LC_ALL='C.UTF-8')
            for ignored in (signal.SIGINT, signal.SIGHUP):  # in the background, under nohup
                signal.signal(ignored, signal.SIG_DFL)
            time.sleep(0.2)
            os.execv(PROGRAM, [PROGRAM, 'report', *args])
        before = termios.tcgetattr(fd)
        raw, sent, status = b'', False, None
        limit = time.monotonic() + 120
        while time.monotonic() < limit and status is None:
            if select.select([fd], [], [], 0.1)[0]:
                try:
                    raw += os.read(fd, 65536)
                except OSError:
                    pass
            if b'help' in raw and not sent:
                sent = True
                during = termios.tcgetattr(fd)
                self.assertNotEqual(during, before)
                end(pid, fd)
            done, code = os.waitpid(pid, os.WNOHANG)
            status = os.waitstatus_to_exitcode(code) if done else None
        if status is None:
            os.kill(pid, 9)
            self.fail('it does not end')
        after = termios.tcgetattr(fd)
        while select.select([fd], [], [], 0)[0]:
            try:
                raw += os.read(fd, 65536)
            except OSError:  # all is read
                break
        os.close(fd)
        return raw, status, before == after

    def test_ends(self):
        for end in (lambda pid, fd: os.write(fd, b'q'),
                    lambda pid, fd: os.write(fd, b'\x03'),
                    lambda pid, fd: os.kill(pid, signal.SIGTERM),
                    lambda pid, fd: os.kill(pid, signal.SIGHUP)):
            raw, status, same = self.run_on_terminal('r.otlp', end=end)
            self.assertEqual(status, 0)
            self.assertTrue(same)
            self.assertIn(b'\x1b[?1049h', raw)
            self.assertIn(b'\x1b[?1049l', raw)

    def test_text_where_it_is_asked_for(self):
        for args in (['--no-tui'], ['--stdio'], ['-n', '3'], ['--format=json'], ['--by', 'module'], ['--tree'],
                     ['--callers', 'parse'], ['--source']):
            raw, status, same = self.run_on_terminal(*args, 'r.otlp', end=None)
            self.assertEqual(status, 0, args)
            self.assertNotIn(b'\x1b[?1049h', raw)

    def test_no_terminal(self):
        done = subprocess.run([PROGRAM, 'report', '--tui', 'r.otlp'], cwd=self.folder, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn('no terminal for a whole screen', done.stderr)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
