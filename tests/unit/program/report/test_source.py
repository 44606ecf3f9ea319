# SPDX-License-Identifier: Apache-2.0
"""report --source: lines of source files with their time, of files that others name.

usage: test_source.py PROGRAM

The recording is of the fake library: work() of app.py:12 has 4 of 10 samples, parse() of parse.h:7 has
3, handle() of web.c calls it at lines 20 and 30.
"""
import os
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
OLD = time.time() - 100 * 365 * 86400


class Source(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.run_it('record', '--no-keep', '-d', '0.1', '-o', 'r.otlp')

    def run_it(self, *args, status=0):
        done = subprocess.run([PROGRAM, *args], cwd=self.folder, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, status, done)
        return done.stdout + done.stderr

    def write(self, name, data, when=OLD):
        path = os.path.join(self.folder, name)
        with open(path, 'wb') as f:
            f.write(data)
        os.utime(path, (when, when))
        return path

    def source(self, *args):
        return self.run_it('report', '--source', *args, 'r.otlp')

    def lines(self, *args):
        """The text of each line with its shares."""
        ret = {}
        for line in self.source(*args).split('LINE\n', 1)[1].splitlines():
            if line.strip() != '...':
                shares, number, text = line[:16].split(), int(line[16:22]), line[24:]
                ret[number] = ([float(s[:-1]) for s in shares], text)
        return ret

    def test_lines_with_their_time(self):
        self.write('app.py', b''.join(b'line %d\n' % i for i in range(1, 41)))
        for what in ['app.py'], ['work'], []:
            lines = self.lines(*what)
            self.assertEqual(lines[12], ([40.0, 40.0], 'line 12'))
            if what != ['work']:
                self.assertEqual(lines[3], ([40.0], 'line 3'))  # <module>, which calls it
            self.assertEqual(sorted(lines), [*range(1, 7), *range(9, 16)][0 if what != ['work'] else 6:])
            self.assertEqual(lines[13], ([], 'line 13'))

    def test_a_recording_is_not_taken_for_a_file(self):
        os.rename(os.path.join(self.folder, 'r.otlp'), os.path.join(self.folder, 'kept'))
        self.assertIn('app.py: 40.00%', self.run_it('report', '--source', 'kept'))

    def test_a_file_that_is_not_here(self):
        text = self.source('app.py')
        self.assertIn('app.py is not on this machine', text)
        self.assertRegex(text, r'40\.00%\s+40\.00%\s+12\s+in work')

    def test_a_newer_file(self):
        self.write('app.py', b'x\n' * 40, time.time() + 10)
        self.assertIn('was changed after the recording', self.source('app.py'))

    def test_another_file(self):
        self.write('app.py', b'x\n')
        self.assertIn('has fewer lines than the recording', self.source('app.py'))

    def test_what_a_terminal_obeys(self):
        self.write('app.py', b'\n' * 10 + b'\tif\x1b[31m\x9b2J\xc2\x9b\r\n' + b'\xff\0hidden' * 3 + b'\n' + b'y' * 100000)
        lines = self.lines('app.py')
        self.assertEqual(lines[11][1], r'        if\x1b[31m\x9b2J\u009b')
        self.assertEqual(lines[12][1], r'\xff')
        self.assertLess(len(lines[13][1]), 5000)

    def test_files_that_are_none(self):
        path = os.path.join(self.folder, 'app.py')
        os.mkfifo(path)
        self.assertIn('it is no plain file', self.run_it('report', '--source=app.py', 'r.otlp'))
        os.unlink(path)
        os.symlink('/dev/zero', path)
        self.assertIn('it is no plain file', self.run_it('report', '--source=app.py', 'r.otlp'))
        os.unlink(path)
        with open(path, 'wb') as f:
            f.truncate(1 << 30)
        self.assertIn('is larger than 8 MiB', self.run_it('report', '--source=app.py', 'r.otlp'))

    @unittest.skipIf(os.geteuid(), 'only root may read what is closed to it')
    def test_root_shows_nothing_that_is_closed_to_others(self):
        os.chmod(self.write('app.py', b'secret\n' * 40), 0o600)
        text = self.source('app.py')
        self.assertIn('cannot be read', text)
        self.assertNotIn('secret', text)

    def test_what_is_not_there(self):
        self.assertIn('no file and no function of these samples is "nothing"',
                      self.run_it('report', '--source=nothing', 'r.otlp', status=1))
        self.assertIn('--source cannot be combined',
                      self.run_it('report', '--source', 'work', '--tree', 'r.otlp', status=2))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
