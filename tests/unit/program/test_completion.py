# SPDX-License-Identifier: Apache-2.0
"""Completion in bash, fish and zsh, for every command and option that --help shows.

usage: test_completion.py PROGRAM COMPLETION    (that of bash; the others stand beside it)
"""
import fcntl
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


def all_options(command):
    text = help_of(command)
    return set(re.findall(r'(?m)^ +(?:-\S, )?(--[a-z-]+)', text))


class Shell(unittest.TestCase):
    """The program stands in the path by its own name, as shells look for it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.symlink(PROGRAM, os.path.join(self.folder, 'otelprof'))
        shutil.copy(os.path.join(os.path.dirname(COMPLETION), '_otelprof'), self.folder)
        self.env = dict(os.environ, PATH=self.folder + ':' + os.environ['PATH'],
                        HOME=self.folder, TERM='dumb', LC_ALL='C.UTF-8')


@unittest.skipIf(not shutil.which('fish'), 'there is no fish')
class Fish(Shell):
    def complete(self, line):
        script = 'source "$argv[1]"; complete -C "$argv[2]"'
        r = subprocess.run(['fish', '--no-config', '-c', script,
                            os.path.join(os.path.dirname(COMPLETION), 'otelprof.fish'), line],
                           capture_output=True, text=True, timeout=60, env=self.env)
        self.assertEqual((r.returncode, r.stderr), (0, ''))
        return {entry.split('\t')[0] for entry in r.stdout.splitlines()}

    def test_commands(self):
        self.assertEqual(self.complete('otelprof '), complete(''))
        self.assertEqual(self.complete('otelprof rec'), {'record'})

    def test_options(self):
        for command in sorted(complete('')):
            self.assertEqual(self.complete(f'otelprof {command} -') - {'-'}, all_options(command),
                             command)


@unittest.skipIf(not shutil.which('zsh'), 'there is no zsh')
class Zsh(Shell):
    def complete(self, line):
        """What zsh shows after a Tab, on a terminal where all of it has room."""
        pid, fd = pty.fork()
        if not pid:
            os.execvpe('zsh', ['zsh', '-f', '-i'], self.env)
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('4H', 200, 200, 0, 0))
        try:
            os.write(fd, f'PS1=; fpath=({self.folder} $fpath); autoload -Uz compinit; '
                         'compinit -D -u; LISTMAX=1000; stty -echo; print -r "be""gin"\n'.encode())
            self.until(fd, 'begin\r\n')
            os.write(fd, line.encode() + b'\t')
            shown = self.until(fd, '')
            while select.select([fd], [], [], 1)[0]:  # all of it
                shown += os.read(fd, 65536).decode(errors='replace')
            os.write(fd, b'\x15print -r "e""nd"\n')
            return shown + self.until(fd, '\nend\r\n')
        finally:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
            os.close(fd)

    def until(self, fd, text):
        read, end = '', time.monotonic() + 120
        while (not read or text not in read) and time.monotonic() < end:
            if select.select([fd], [], [], 0.2)[0]:
                read += os.read(fd, 65536).decode(errors='replace')
        self.assertIn(text, read)
        return read

    def test_commands(self):
        words = set(self.complete('otelprof ').split())
        self.assertLessEqual(complete(''), words)
        self.assertIn('otelprof record', self.complete('otelprof reco'))

    def test_options(self):
        words = set(self.complete('otelprof record -').split())
        self.assertLessEqual(all_options('record'), words)
        self.assertIn('otelprof report --symbols', self.complete('otelprof report --symb'))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
