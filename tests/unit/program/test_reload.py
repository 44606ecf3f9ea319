# SPDX-License-Identifier: Apache-2.0
"""Exporters and probes when export reads its configuration again. fake_otelprof.c prints which are
made and removed, and refuses some.

usage: test_reload.py PROGRAM
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
NONE = 'there is no exporter now'
STAY = 'the exporters stay as they were'


class Exporters(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.alive = {}
        self.made = 0

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, text):
        with open(self.path('a.conf'), 'w', encoding='utf-8') as f:
            f.write(text)

    def begin(self, text, *args):
        self.write(text)
        env = {k: v for k, v in os.environ.items() if k != 'FAKE_OTELPROF'}
        self.daemon = subprocess.Popen(
            [PROGRAM, 'export', '-d', '60', '--config', self.path('a.conf'), *args],
            env=dict(env, NO_COLOR='1'), stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end)
        return self.until('profiling at')

    def end(self):
        self.daemon.terminate()
        _, rest = self.daemon.communicate(timeout=120)
        self.assertEqual(self.daemon.returncode, 0, rest)

    def until(self, last):
        """The lines up to this one. What they say is kept in self.alive."""
        said, fewest = '', None
        while last not in said:
            line = self.daemon.stderr.readline()
            self.assertTrue(line, said)
            said += line
            made = re.match('fake: endpoint (.*) compression', line)
            gone = re.match(r'fake: remove exporter (\d+)', line)
            if made:
                self.made += 1
                self.alive[self.made] = made.group(1)
            if gone:
                del self.alive[int(gone.group(1))]
            fewest = min(len(self.alive), len(self.alive) if fewest is None else fewest)
        self.fewest = fewest
        return said

    def hangup(self, text=None):
        if text is not None:
            self.write(text)
        self.daemon.send_signal(signal.SIGHUP)
        return self.until('the configuration was read again')

    def has(self, *endpoints):
        self.assertEqual(sorted(self.alive.values()), sorted(endpoints))

    def test_one_that_cannot_be_made_twice(self):
        self.begin('endpoint = http://a:1\n')
        for text in ('endpoint = http://bad:1\n', None, None):
            said = self.hangup(text)
            self.assertIn('otelprof: http://bad:1: it cannot be made', said)
            self.assertIn(STAY, said)
            self.assertNotIn(NONE, said)
            self.has('http://a:1')
        # what has been there all the time is not made anew
        said = self.hangup('endpoint = http://a:1\n')
        self.assertNotIn('exporter', said)
        self.assertEqual(self.made, 1)
        self.hangup('endpoint = http://b:2\n')
        self.has('http://b:2')

    def test_there_is_one_at_any_time(self):
        self.begin('endpoint = http://a:1\n')
        for endpoint in ('http://b:2', 'http://bad:1', 'http://c:3'):
            self.hangup(f'endpoint = {endpoint}\n')
            self.assertEqual(self.fewest, 1)
        self.has('http://c:3')

    def test_a_spill_directory_has_room_for_one(self):
        self.begin('endpoint = http://a:1\nspill_dir = /x\n')
        self.hangup('endpoint = http://b:2\nspill_dir = /x\n')
        self.has('http://b:2')
        for text in ('endpoint = http://bad:1\nspill_dir = /x\n', None):
            said = self.hangup(text)
            self.assertIn(STAY, said)
            self.assertNotIn(NONE, said)
            self.has('http://b:2')
        self.hangup('endpoint = http://c:3\n')
        self.assertEqual(self.fewest, 1)
        self.has('http://c:3')

    def test_none_is_left_until_one_can_be_made(self):
        """The old one goes for the spill directory, and cannot be made again."""
        with open(self.path('ca.pem'), 'w', encoding='utf-8'):
            pass
        good = f'endpoint = http://a:1\nspill_dir = /x\nca_file = {self.path("ca.pem")}\n'
        self.begin(good)
        os.rename(self.path('ca.pem'), self.path('away'))
        said = self.hangup('endpoint = http://bad:1\nspill_dir = /x\n')
        self.assertIn(NONE, said)
        self.has()
        os.rename(self.path('away'), self.path('ca.pem'))
        self.hangup(good)
        self.has('http://a:1')

    def test_endpoints_of_the_command_line(self):
        """All of them, or those before."""
        endpoints = ['--endpoint', 'http://a:1', '--endpoint', 'http://b:2']
        self.begin('compression = none\n', *endpoints)
        self.hangup('compression = gzip\n')
        self.assertEqual(self.made, 4)
        self.has('http://a:1', 'http://b:2')
        self.assertIn(STAY, self.hangup('ca_file = /nonexistent/ca.pem\n'))
        self.has('http://a:1', 'http://b:2')

    def test_probes_come_beside_the_cpus(self):
        self.begin('endpoint = http://a:1\n')
        said = self.hangup('endpoint = http://a:1\nprobes = kprobe:z\n')
        self.assertIn('fake: probe kprobe:z\nfake: kinds 513\n', said)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
