# SPDX-License-Identifier: Apache-2.0
"""Rules of a configuration that is read again, together with rules of `otelprof ctl`, some of which
are refused. fake_otelprof.c has the rules.

usage: test_config_rules.py PROGRAM
"""
import os
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
READ = 'the configuration was read again'


class Rules(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.env = {k: v for k, v in os.environ.items() if k != 'FAKE_OTELPROF'}

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, *rules):
        with open(self.path('a.conf'), 'w', encoding='utf-8') as f:
            f.writelines(f'rules = {rule}\n' for rule in rules)

    def begin(self, *rules, mode=None, options=()):
        self.write(*rules)
        if mode:
            self.env['FAKE_OTELPROF'] = mode
        self.daemon = subprocess.Popen(
            [PROGRAM, 'export', '-d', '60', '--config', self.path('a.conf'),
             '--control=' + self.path('control'), *options],
            env=dict(self.env, NO_COLOR='1'), stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end)
        return self.until('profiling at')

    def end(self):
        self.daemon.terminate()
        _, rest = self.daemon.communicate(timeout=120)
        self.assertEqual(self.daemon.returncode, 0, rest)

    def until(self, last):
        said = ''
        while last not in said:
            line = self.daemon.stderr.readline()
            self.assertTrue(line, said)
            said += line
        return said

    def hangup(self, *rules):
        self.write(*rules)
        self.daemon.send_signal(signal.SIGHUP)
        return self.until(READ)

    def ctl(self, *args):
        r = subprocess.run([PROGRAM, 'ctl', '--socket', self.path('control'), *args],
                           env=self.env, capture_output=True, text=True, timeout=120)
        self.assertEqual(r.returncode, 0, r.stderr)
        return r.stdout

    def has(self, *rules):
        """The rules in force, in their order: the last one wins."""
        found = [line.split(maxsplit=2)[2] for line in self.ctl('rules').splitlines()]
        self.assertEqual(found, list(rules))

    def test_rules_of_ctl_stay_the_last_ones(self):
        rules = 'include comm:web', 'rate 5 pid:1'
        self.begin(*rules)
        self.ctl('exclude', 'comm:web')
        self.ctl('remove', '2')
        for _ in range(2):  # what is the same is not touched
            self.hangup(*rules)
            self.has('include comm:web', 'exclude comm:web')
        self.hangup(*rules, 'include pid:2')
        self.has('include comm:web', 'rate 5 pid:1', 'include pid:2', 'exclude comm:web')
        self.hangup('include pid:2')
        self.has('include pid:2', 'exclude comm:web')

    def test_the_order_of_the_file_holds(self):
        self.begin('exclude cgroup:/a', 'include uid:7', 'exclude pid:1')
        for rules in (['include comm:x', 'exclude cgroup:/a', 'include uid:7', 'exclude pid:1'],
                      ['exclude pid:1', 'include uid:7'],
                      ['exclude pid:1', 'exclude pid:1', 'include 99 1/2 tree:7'],
                      ['include all', 'exclude age:1500ms']):
            self.hangup(*rules)
            self.has(*rules)

    def test_one_that_cannot_be_leaves_those_of_before(self):
        self.begin('include pid:1', 'include pid:2')
        rules = 'include pid:2', 'include pid:3', 'exclude cgroup:/deep'
        said = self.hangup(*rules)
        self.assertIn('cannot set the rules: it cannot be made', said)
        self.assertIn('the rules stay as they were', said)
        self.has('include pid:1', 'include pid:2')
        # it is tried again, also where nothing else changed
        self.assertIn('cannot set', self.hangup(*rules))
        self.hangup('include pid:3')
        self.has('include pid:3')

    def test_options_are_in_place_of_the_file(self):
        self.begin('include pid:1', options=('--rule', 'exclude comm:a', '--comm', 'b'))
        self.has('include comm:b', 'exclude comm:a')
        self.hangup('include pid:2')
        self.has('include comm:b', 'exclude comm:a')

    def test_status_tells_what_budgets_decided(self):
        self.begin('exclude comm:x', mode='budget')
        said = dict(line.split(' ', 1) for line in self.ctl('status').splitlines())
        self.assertEqual(said['rules'], '1')
        for number, name in enumerate((
                'cpu_ns', 'rate_changes', 'names_postponed', 'tables_postponed', 'memory_bytes',
                'memory_limit_bytes', 'memory_over', 'names_evicted', 'tables_evicted',
                'processes_evicted'), 101):
            self.assertEqual(said[name], str(number), name)

    def test_all_rates_can_change(self):
        """There is room for 15, and not for those of before beside them."""
        rules = [[f'rate {hz + i} pid:{i}' for i in range(1, 16)] for hz in (10, 50)]
        self.begin(*rules[0])
        for number in 1, 0:
            self.assertNotIn('cannot', self.hangup(*rules[number]))
            self.has(*rules[number])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
