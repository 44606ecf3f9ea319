# SPDX-License-Identifier: Apache-2.0
"""Rules of a configuration that is read again: those that wait for their target, beside rules of
`otelprof ctl`, and where some cannot be. fake_otelprof.c has the rules.

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
WAITS = 'warning: a rule waits until there is what it names: it cannot be made'


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

    def begin(self, *rules, mode=None):
        self.write(*rules)
        if mode:
            self.env['FAKE_OTELPROF'] = mode
        self.daemon = subprocess.Popen(
            [PROGRAM, 'export', '-d', '60', '--config', self.path('a.conf'),
             '--control=' + self.path('control')],
            env=dict(self.env, NO_COLOR='1'), stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end)
        return self.until('profiling at')

    def end(self):
        self.daemon.terminate()
        _, rest = self.daemon.communicate(timeout=30)
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
                           env=self.env, capture_output=True, text=True, timeout=30)
        self.assertEqual(r.returncode, 0, r.stderr)
        return r.stdout

    def has(self, *rules):
        """The rules in force, in the order of adding: the last one wins."""
        found = []
        for line in self.ctl('rules').splitlines():
            _, action, hz, _, target = line.split()
            found.append(f'rate {hz} {target}' if action == 'rate' else f'{action} {target}')
        self.assertEqual(found, list(rules))

    def test_what_is_not_there_is_waited_for(self):
        away = f'exclude cgroup:/there{self.path("group")}'
        said = self.begin(away, 'include pid:1')
        self.assertEqual(said.count(WAITS), 1)
        self.has('include pid:1')
        # it keeps nothing else back, and is told of once
        said = self.hangup(away, 'include pid:1', 'include pid:2')
        self.assertNotIn(WAITS, said)
        self.assertNotIn('cannot', said)
        self.has('include pid:1', 'include pid:2')
        with open(self.path('group'), 'w', encoding='utf-8'):
            pass
        self.until(f'a rule is in force that waited for /there{self.path("group")}')
        # in the order of the file
        self.has(away, 'include pid:1', 'include pid:2')
        self.assertNotIn('wait', self.hangup(away))
        self.has(away)

    def test_what_waits_to_be_included_is_not_all(self):
        away = f'include cgroup:/there{self.path("group")}'
        stand_in = 'include pid:2147483647'
        self.begin(away)
        self.has(stand_in)
        self.hangup('exclude comm:x')
        self.has('exclude comm:x')
        self.hangup('exclude comm:x', away)
        self.has('exclude comm:x', stand_in)
        with open(self.path('group'), 'w', encoding='utf-8'):
            pass
        self.until('a rule is in force that waited')
        self.has('exclude comm:x', away)

    def test_rules_of_ctl_stay_the_last_ones(self):
        rules = 'include comm:web', 'rate 5 pid:1'
        self.begin(*rules)
        self.ctl('exclude', 'comm:web')
        self.ctl('remove', '2')
        for _ in range(2):
            self.hangup(*rules)
            self.has('include comm:web', 'exclude comm:web')
        # one more and one less, and what stays is not touched
        self.hangup(*rules, 'include pid:2')
        self.has('include comm:web', 'exclude comm:web', 'include pid:2')
        self.hangup('include pid:2')
        self.has('exclude comm:web', 'include pid:2')

    def test_the_order_of_the_file_holds(self):
        self.begin('exclude cgroup:/a', 'include uid:7', 'exclude pid:1')
        self.hangup('include comm:x', 'exclude cgroup:/a', 'include uid:7', 'exclude pid:1')
        self.has('include comm:x', 'exclude cgroup:/a', 'include uid:7', 'exclude pid:1')
        # a rule that says the same, or is of another process, stays where it is
        self.hangup('exclude pid:2', 'include comm:x', 'exclude cgroup:/a', 'include uid:7',
                    'exclude pid:1')
        self.has('exclude pid:2', 'include comm:x', 'exclude cgroup:/a', 'include uid:7',
                 'exclude pid:1')
        self.hangup('exclude pid:1', 'include uid:7')
        self.has('exclude pid:1', 'include uid:7')
        self.hangup('exclude pid:1', 'exclude pid:1', 'include uid:7')
        self.has('exclude pid:1', 'exclude pid:1', 'include uid:7')

    def test_one_that_cannot_be_leaves_those_of_before(self):
        self.begin('include pid:1', 'include pid:2')
        said = self.hangup('include pid:2', 'include pid:3', 'exclude cgroup:/deep')
        self.assertIn('cannot add a rule: it cannot be made', said)
        self.assertIn('the rules stay as they were', said)
        self.assertEqual(set(self.ctl('rules').split()) & {'pid:1', 'pid:2', 'pid:3'},
                         {'pid:1', 'pid:2'})
        # it is tried again, also where nothing else changed
        self.assertIn('cannot add', self.hangup('include pid:2', 'include pid:3',
                                                'exclude cgroup:/deep'))
        self.hangup('include pid:3')
        self.has('include pid:3')

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
