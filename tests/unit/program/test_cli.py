# SPDX-License-Identifier: Apache-2.0
"""The program on known data: it is linked with fake_otelprof.c (ten events of request.h).

usage: test_cli.py PROGRAM
"""
import contextlib
import gzip
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import unittest.mock

PROGRAM = os.path.abspath(sys.argv[1])

# A client of another user.
UNWELCOME = '''
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b'status\\n')
print(s.recv(1000).decode())
'''


def run(*args, mode=None, **kwargs):
    env = dict(os.environ, NO_COLOR='1')
    env.pop('FAKE_OTELPROF', None)
    if mode:
        env['FAKE_OTELPROF'] = mode
    return subprocess.run([PROGRAM, *args], env=env, capture_output=True, text=True,
                          timeout=60, **kwargs)


class Usage(unittest.TestCase):
    def test_help_of_all(self):
        r = run('--help')
        self.assertEqual(r.returncode, 0)
        for command in ('record', 'top', 'export', 'report', 'diff', 'convert', 'merge',
                        'mcp', 'sink', 'doctor', 'ctl'):
            self.assertRegex(r.stdout, rf'(?m)^  {command} ')
            h = run(command, '--help')
            self.assertEqual((h.returncode, h.stderr), (0, ''), command)
            self.assertTrue(h.stdout.startswith(f'Usage: otelprof {command}'), command)
            self.assertLessEqual(max(map(len, h.stdout.split('\n'))), 80, command)

    def test_help_command(self):
        self.assertEqual(run('help', 'record').stdout, run('record', '--help').stdout)
        self.assertEqual(run('help', 'frob').returncode, 2)
        self.assertIn('there is no option "-v"', run('-v').stderr)
        self.assertIn('there is no command "frob"', run('frob').stderr)

    def test_version(self):
        r = run('--version')
        self.assertEqual(r.returncode, 0)
        self.assertRegex(r.stdout, r'^otelprof \d+\.\d+\.\d+ \(library 0\.1\.0-fake\)\n$')

    def test_mistakes_are_status_2_with_a_hint(self):
        for args in ([], ['frob'], ['record', '-F', '0'], ['record', '-F', '1001'],
                     ['record', '-F', '9x'], ['record', '-d', '0'], ['record', '-d', 'inf'],
                     ['record', '-d', '-1'], ['record', '--format', 'svg'],
                     ['record', '-o', 'x.svg'], ['record', '--bogus'], ['record', '-p', '0'],
                     ['record', '-p', '1', '--', 'true'], ['record', '--exclude', 'x:1'],
                     ['record', '--exclude', 'pid'], ['record', '--exclude', 'pid:x'],
                     ['record', '--rule', ''], ['record', '--rule', 'keep pid:1'], ['record', '--comm', ''],
                     ['record', '--comm', 'sixteen-bytes-xx'], ['top', 'x'], ['top', '-n', '0'],
                     ['export', '--header', 'novalue'], ['export', '--compression', 'zip'],
                     ['export', '--protocol', 'http/json'], ['export', '--spill-size', '0'],
                     ['export', '--retry-for', 'x'],
                     ['export', '--interval', '0'], ['sink', '--count', '-1'],
                     ['doctor', 'x'], ['record'] + ['-p', '1'] * 257):
            with self.subTest(args=args):
                r = run(*args)
                self.assertEqual(r.returncode, 2)
                self.assertEqual(r.stdout, '')
                self.assertIn('--help', r.stderr)


class Record(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def record(self, name, *args, **kwargs):
        path = os.path.join(self.dir.name, name)
        r = run('record', '-d', '0.1', '-o', path, *args, **kwargs)
        return r, path

    def test_format_is_that_of_the_ending(self):
        starts = {'a.html': b'<!DOCTYPE html>', 'a.pb.gz': b'\x1f\x8b', 'a.pprof': b'\x1f\x8b',
                  'a.folded': b'evil;', 'a.txt': b'evil;', 'a.otlp': b'\0\0'}
        for name, start in starts.items():
            r, path = self.record(name)
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertIn(f'10 samples in {path}', r.stderr)
            with open(path, 'rb') as f:
                self.assertTrue(f.read().startswith(start), name)

    def test_otlp_framing(self):
        _, path = self.record('a', '--format', 'otlp')
        with open(path, 'rb') as f:
            data = f.read()
        self.assertEqual(struct.unpack('>I', data[:4])[0], len(data) - 4)

    def test_pprof_is_whole_gzip(self):
        _, path = self.record('a.pb.gz')
        with gzip.open(path) as f:
            self.assertIn(b'ksys_read', f.read())

    def test_standard_output(self):
        r = run('record', '-d', '0.1', '-o', '-', '--format', 'folded')
        self.assertEqual(r.returncode, 0)
        self.assertIn('web;main;handle;parse 3\n', r.stdout)
        self.assertEqual(len(r.stdout.splitlines()), 4)

    def test_formats_that_need_the_times_of_samples(self):
        for name in ('a.speedscope.json', 'a.json.gz'):
            r, path = self.record(name)
            if name.endswith('.gz'):
                self.assertEqual(r.returncode, 2)
                continue
            with open(path, encoding='utf-8') as f:
                self.assertIn('shared', json.load(f))

    def test_lines_and_inlined_functions_are_in_the_page(self):
        """The page is made when lines are known: of the sample of parse, inlined into handle."""
        _, path = self.record('a.html')
        with open(path, encoding='utf-8') as f:
            self.assertIn('parse', f.read())

    def test_default_file(self):
        r = run('record', '-d', '0.1', cwd=self.dir.name)
        self.assertEqual(r.returncode, 0)
        self.assertEqual(os.listdir(self.dir.name), ['profile.html'])

    def test_what_was_dropped_is_said_without_v(self):
        r, _ = self.record('a.html', mode='some')
        self.assertEqual(r.returncode, 0)
        self.assertEqual(r.stderr.splitlines()[-1],
                         'lost: 3 of 13 samples (ring 3)')
        r, _ = self.record('a.html')
        self.assertNotIn('lost:', r.stderr)
        r, _ = self.record('a.html', '-v')
        self.assertIn('samples: taken 10 = exported 10', r.stderr)
        r, _ = self.record('a.html', mode='full')
        self.assertEqual(r.returncode, 1)
        self.assertIn('No space left', r.stderr)
        self.assertEqual(r.stderr.splitlines()[-1],
                         'lost: 10 of 10 samples (other 10)')

    def test_no_samples_is_1_with_the_reason(self):
        reasons = {'none': 'the kernel gave none', 'drop': 'all 10 were dropped (ring 10)',
                   'filter': 'idle', 'missing': None}
        for mode, reason in reasons.items():
            if reason:
                r, _ = self.record('a.html', mode=mode)
                self.assertEqual(r.returncode, 1, mode)
                self.assertIn('no samples: ', r.stderr)
                self.assertIn(reason, r.stderr)
        r, _ = self.record('a.html', '-p', '1', mode='filter')
        self.assertIn('where they are (10 samples of others',
                      r.stderr)

        # COMMAND did not fail: in front of a command it is transparent.
        r, _ = self.record('a.html', '--', 'true', mode='filter')
        self.assertEqual(r.returncode, 0)
        self.assertIn('no samples: the command used too little CPU time', r.stderr)

    def test_a_command_that_cannot_run_is_the_reason(self):
        r, _ = self.record('a.html', '--', '/nonexistent', mode='filter')
        self.assertEqual(r.returncode, 127)
        self.assertIn('cannot run /nonexistent: No such file', r.stderr)
        self.assertNotIn('no samples', r.stderr)

    def test_one_sample(self):
        r, path = self.record('a.html', mode='one')
        self.assertIn(f'otelprof: 1 sample in {path}\n', r.stderr)

    def test_library_failures_are_1_with_their_words(self):
        r, _ = self.record('a.html', mode='init')
        self.assertEqual(r.returncode, 1)
        self.assertIn('cannot profile: CAP_BPF is missing', r.stderr)
        r, _ = self.record('a.html', mode='poll')
        self.assertEqual(r.returncode, 1)
        self.assertIn('the ring is gone', r.stderr)
        r = run('record', '-d', '0.1', '-o', '/nonexistent/x.html')
        self.assertEqual(r.returncode, 1)

    @unittest.skipIf(os.geteuid(), 'it takes root to become another user')
    def test_who_lacks_the_rights_is_told_of_sudo(self):
        self.assertNotIn('sudo', self.record('a.html', mode='init')[0].stderr)
        try:
            r = run('record', '-o', 'a.html', mode='init', user=65534, cwd='/')
        except PermissionError as e:
            self.skipTest(f'another user cannot run the program: {e}')
        self.assertIn('try it with sudo', r.stderr)

    def test_where_nothing_ran_the_threads_are_looked_at(self):
        me = str(os.getpid())
        for args, kinds in ((['-p', me], [1 | 256]), (['-p', me, '--kinds', 'off_cpu'], [4 | 256]),
                            (['-p', me, '--kinds', 'heap'], []), ([], [])):
            r, _ = self.record('a.otlp', *args, mode='filter')
            self.assertEqual([int(n) for n in re.findall(r'fake: kinds (\d+)', r.stderr)], kinds, args)
        # What was sampled is the answer. Waits that still last count when the kind threads is on.
        self.assertNotIn('fake: kinds', self.record('a.otlp', '-p', me)[0].stderr)
        for name in ('a.otlp', 'a.html', 'a.folded', 'a.pb.gz'):
            r, _ = self.record(name, '-p', me, '--kinds', 'off_cpu')
            self.assertEqual(r.stderr.count('fake: kinds 260\n'), 1, name)

    def test_messages_of_kinds_that_have_none(self):
        for kind, sentence in (('heap', 'LD_PRELOAD=libotelprof-heap.so.0'),
                               ('signals', 'no signal ended one of them'),
                               ('block_io', 'no requests to block devices'),
                               ('locks', "'--kinds threads' shows")):
            r, _ = self.record('a.html', '--kinds', kind, '-p', str(os.getpid()), mode='filter')
            self.assertEqual(r.returncode, 1)
            self.assertIn(sentence, r.stderr)

    def test_near_words(self):
        for args, sentence in ((['repord'], 'did you mean "record"?'),
                               (['record', '--kidns', 'cpu'], 'did you mean --kinds?'),
                               (['record', '--kinds', 'offcpu'], 'did you mean --kinds off_cpu?'),
                               (['report', '--fromat=x'], 'did you mean --format?')):
            r = run(*args)
            self.assertEqual(r.returncode, 2, args)
            self.assertIn(sentence, r.stderr)

    def test_habits_of_perf(self):
        r, _ = self.record('a.html', '-a', '-g')
        self.assertEqual(r.returncode, 0)
        self.assertIn('-g is always on', r.stderr)

    def test_a_thread_stands_for_its_process(self):
        ids = []
        ended = threading.Event()
        thread = threading.Thread(target=lambda: (ids.append(threading.get_native_id()), ended.wait()))
        thread.start()
        while not ids:
            time.sleep(0.01)
        r, _ = self.record('a.html', '-p', str(ids[0]))
        ended.set()
        self.assertEqual(re.findall(r'fake: rule (.*)', r.stderr), [f'1 {os.getpid()} -'])
        self.assertIn(f'{ids[0]} is a thread of process {os.getpid()}', r.stderr)

    def test_children_are_not_left_out_in_silence(self):
        with subprocess.Popen(['sleep', '60']) as child:
            r, _ = self.record('a.html', '-p', str(os.getpid()))
            child.kill()
        self.assertRegex(r.stderr, fr'process {os.getpid()} has \d+ child process.*, left out: '
                                   fr'--tree {os.getpid()} takes them, too')
        r, _ = self.record('a.html', '--tree', str(os.getpid()))
        self.assertNotIn('left out', r.stderr)

    def test_choices_become_rules(self):
        me, mother = os.getpid(), os.getppid()
        r, _ = self.record('a.html', '-p', str(me), '--cgroup', '/sys/fs/cgroup/system.slice',
                           '--comm', 'nginx', '--cgroup', '/a', '-p', str(mother), '--user', 'root',
                           '--user', '77')
        rules = re.findall(r'fake: rule (.*)', r.stderr)
        self.assertEqual(rules, [f'1 {me} -', '5 0 /sys/fs/cgroup/system.slice', '3 0 nginx', '5 0 /a',
                                 f'1 {mother} -', '4 0 -', '4 77 -'])

    def test_what_excludes_comes_last(self):
        r, _ = self.record('a.html', '--user', '7', '--exclude', 'comm:a=b', '--rule',
                           'include 7 1/2 all', '--tree', str(os.getpid()), '--exclude', 'pid:12')
        rules = re.findall(r'fake: rule (.*)', r.stderr)
        self.assertEqual(rules, ['4 7 -', '2 0 -', 'not 3 0 a=b', '0 0 -', 'not 1 12 -'])
        r, _ = self.record('a.html', '--exclude', 'uid:0', '--', 'true')
        self.assertEqual(re.findall(r'fake: rule (.*)', r.stderr), ['2 0 -', 'not 4 0 -'])

    def test_settings_reach_the_library(self):
        r, _ = self.record('a.html', '--all-user', '--idle', '--no-native-names',
                           '--command-line', '--no-runtime', 'php,node', '--max-frames', '77',
                           '--memory-budget', '5', '--symbol-budget', '6', '--off-cpu-min', '20',
                           '--memory-limit', '32',
                           '--environment', 'HOME', '--environment', 'PATH')
        self.assertIn(f'fake: flags {1 | 4 | 8 | 16:x} runtimes {4 | 16:x} memory {5 << 20} '
                      f'symbols {6 << 20} limit {32 << 20} frames 77 off 20000 environment 2 HOME\n', r.stderr)
        r, _ = self.record('a.html', '--all-kernel')
        self.assertIn('fake: flags 2 runtimes 0 memory', r.stderr)
        for args in (['--all-kernel', '--all-user'], ['--wakers=yes'],
                     ['--no-runtime', 'cobol'], ['--max-frames', '15'], ['--environment', 'A=B'],
                     ['--memory-budget', '0'], ['--off-cpu-min', '-1']):
            r, path = self.record('b.html', *args)
            self.assertEqual(r.returncode, 2, args)
            self.assertFalse(os.path.exists(path))

    def test_the_library_looks_for_containers_and_pods(self):
        r, _ = self.record('a.html', '--container', 'f00d', '--pod', '5d2a', '--exclude', 'pod:77')
        self.assertIn('fake: rule 7 0 f00d\nfake: rule 8 0 5d2a\nfake: rule not 8 0 77\n', r.stderr)
        self.assertEqual(self.record('b.html', '--pod', '')[0].returncode, 2)

    def test_nobody_is_told_at_once(self):
        with open('/proc/sys/kernel/pid_max', encoding='ascii') as f:
            nobody = int(f.read()) + 1
        for args, sentence in ((['-p', str(nobody)], f'there is no process {nobody}'),
                               (['--tree', str(nobody)], f'there is no process {nobody}'),
                               (['--user', 'no-such-user'], 'there is no user "no-such-user"')):
            r, path = self.record('a.html', *args)
            self.assertEqual(r.returncode, 1)
            self.assertIn(sentence, r.stderr)
            self.assertFalse(os.path.exists(path))

    def test_summary(self):
        r, _ = self.record('a.html')
        self.assertRegex(r.stderr, r'(?m)^  40\.0% ±26\.0 app\.py:12 +work \[python\] \(4 samples\)$')
        self.assertLess(r.stderr.splitlines().index('YOUR CODE'), 10)
        self.assertRegex(r.stderr, r'(?m)^ +[0-9.]+%  of one CPU went to otelprof itself, and '
                                   r'[0-9.]+ s to its start and its end$')
        r, _ = self.record('a.html', '-q')
        self.assertNotIn('work', r.stderr)
        self.assertIn('10 samples', r.stderr)

    def test_summary_says_how_good_the_profile_is(self):
        """Stacks and why they are not whole, frames and whose have no name, samples."""
        r, _ = self.record('a.otlp', mode='poor')
        lines = r.stderr.splitlines()
        at = next(i for i, line in enumerate(lines) if 'stacks are whole' in line)
        self.assertEqual(lines[at:at + 10], [
            '  90.0%  of the stacks are whole; of the others:',
            '           4.1%  native_no_memory: It could not be read.',
            '           2.9%  native_twin: It is there twice.',
            "           2.0%  truncated: They were cut at --max-frames, or where the copy of a first "
            "sample's stack ends.",
            '  46.4%  of the frames have names; of the others, files without symbols:',
            '          32.1%  libone.so',
            '          10.7%  libtwo.so',
            '           7.1%  libthree.so',
            '         names come with a package of debug symbols, --symbols DIR, or DEBUGINFOD_URLS',
            '  23.1%  of the samples were lost'])
        r, _ = self.record('b.html')
        self.assertRegex(r.stderr, '(?m)^ 100.0%  of the frames have names$')
        self.assertRegex(r.stderr, '(?m)^   0.0%  of the samples were lost$')

        r, _ = self.record('c.html', mode='guessed')
        self.assertIn('\n  30.0%  of the stacks go by a guess: callers may be missing or wrong\n', r.stderr)
        r, _ = self.record('d.html')
        self.assertNotIn('guess', r.stderr)

    def test_limits_that_were_reached_are_told(self):
        """With -v, each with its number. Without, only what cuts stacks as long as a process runs."""
        left_out = ('         mappings of code were left out 5 times, past 16,384 of a process or its share;\n'
                    '         stacks that reach them end with native_no_mapping\n')
        said = 'mappings of code were past the limit of a process'
        r, _ = self.record('a.html', '-v', mode='poor')
        self.assertRegex(r.stderr, f'(?m)^ +5  mappings_unseen: {said}$')
        for args, mode in ((['-v'], ''), ([], 'poor')):
            r, _ = self.record('b.html', *args, mode=mode)
            self.assertNotIn(said, r.stderr)
            (self.assertIn if mode else self.assertNotIn)(left_out, r.stderr)

    @unittest.skipIf(os.geteuid() != 0, 'another user needs root')
    def test_under_sudo_the_command_is_its_callers(self):
        out = os.path.join(self.dir.name, 'a.html')
        command = [PROGRAM, 'record', '-o', out, '--', 'sh', '-c', 'id -u; id -g; echo $HOME']
        env = dict(os.environ, SUDO_UID='65534')
        r = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
        self.assertEqual(r.stdout.split()[:2], ['65534', '65534'], r.stderr)
        self.assertEqual(r.stdout.split()[2], '/nonexistent')
        for uid, sentence in (('x', 'is not a user id'), ('4000000000', 'who does not exist')):
            r = subprocess.run(command, env=dict(env, SUDO_UID=uid), capture_output=True,
                               text=True, timeout=60)
            self.assertEqual((r.returncode, r.stdout), (126, ''))
            self.assertIn(sentence, r.stderr)

    def test_command_is_run_and_its_status_returned(self):
        out = os.path.join(self.dir.name, 'a.html')
        for status in (0, 3):
            r = run('record', '-o', out, '--', 'sh', '-c', f'echo hello; exit {status}')
            self.assertEqual(r.returncode, status, r.stderr)
            self.assertEqual(r.stdout, 'hello\n')
            self.assertIn('fake: rule 2 0 -', r.stderr)
        r = run('record', '-o', out, '--', 'sh', '-c', 'kill -9 $$')
        self.assertEqual(r.returncode, 137)
        r = run('record', '-o', out, '--', '/nonexistent/command')
        self.assertEqual(r.returncode, 127)
        self.assertIn('cannot run /nonexistent/command', r.stderr)

    def test_command_is_ended_after_the_duration(self):
        out = os.path.join(self.dir.name, 'a.html')
        r = run('record', '-d', '0.3', '-o', out, '--', 'sleep', '1000')
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertTrue(os.path.exists(out))

    def test_command_does_not_run_where_profiling_fails(self):
        mark = os.path.join(self.dir.name, 'ran')
        r = run('record', '-o', os.path.join(self.dir.name, 'a.html'), '--', 'touch', mark,
                mode='init')
        self.assertEqual(r.returncode, 1)
        self.assertFalse(os.path.exists(mark))

    def test_interrupt_ends_it_cleanly(self):
        out = os.path.join(self.dir.name, 'a.folded')
        for number in (signal.SIGINT, signal.SIGTERM):
            p = subprocess.Popen([PROGRAM, 'record', '-v', '-d', '50', '-o', out],
                                 stderr=subprocess.PIPE, text=True, bufsize=1)
            while p.stderr.readline() != 'otelprof: sampling\n':
                pass
            p.send_signal(number)
            _, err = p.communicate(timeout=120)
            self.assertEqual(p.returncode, 0, err)
            self.assertIn('10 samples', err)


class Top(unittest.TestCase):
    def test_json_is_the_known_table(self):
        r = run('top', '-d', '0.1', '--json')
        self.assertEqual(r.returncode, 0, r.stderr)
        t = json.loads(r.stdout)
        self.assertEqual((t['version'], t['samples'], t['rate_hz']), (1, 10, 100))
        self.assertEqual((t['taken'], t['exported'], t['filtered'], t['dropped']),
                         (10, 10, 0, {}))
        rows = [(f['pid'], f['function'], f['self'], f['total']) for f in t['functions']]
        self.assertEqual(rows, [
            (200, 'work', 4, 4), (100, 'parse', 3, 3), (100, 'ksys_read', 2, 2),
            (300, 'a;b', 1, 1), (100, 'handle', 0, 5), (100, 'main', 0, 5),
            (200, '<module>', 0, 4), (200, 'main', 0, 4),
            (300, "</script><img src=x onerror=document.title='pwned'>", 0, 1)])
        parse = t['functions'][1]
        self.assertEqual({k: parse[k] for k in ('process', 'module', 'file', 'type',
                                                'self_percent', 'total_percent')},
                         {'process': 'web', 'module': 'web', 'file': 'parse.h',
                          'type': 'native', 'self_percent': 30.0, 'total_percent': 30.0})
        self.assertEqual(parse['container_id'], '0123456789abcdef' * 4)

    def test_limit(self):
        t = json.loads(run('top', '-d', '0.1', '--json', '-n', '2').stdout)
        self.assertEqual([f['function'] for f in t['functions']], ['work', 'parse'])
        self.assertEqual(t['functions_known'], 9)

    def test_text_has_no_escapes_when_piped(self):
        r = run('top', '-d', '0.1')
        self.assertEqual(r.returncode, 0)
        self.assertNotIn('\x1b', r.stdout)
        self.assertRegex(r.stdout, r' 40\.00%  40\.00%     200 python +app\.py +work\n')

    def test_no_samples(self):
        r = run('top', '-d', '0.1', '--json', mode='none')
        self.assertEqual(r.returncode, 1)
        self.assertEqual(json.loads(r.stdout)['functions'], [])


class Export(unittest.TestCase):
    def test_options_reach_the_library(self):
        r = run('export', '-d', '0.2', '--endpoint', 'http://a:1', '--endpoint', 'https://b',
                '--header', 'X-Token=a=b', '--compression', 'none')
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn('fake: endpoint http://a:1 compression 1\n', r.stderr)
        self.assertIn('fake: endpoint https://b compression 1\n', r.stderr)
        self.assertIn('fake: header x-token=a=b\n', r.stderr)

    def test_protocol(self):
        http = 'fake: http http://a:1 compression 0 spill -\n'
        r = run('export', '-d', '0.2', '--endpoint', 'http://a:1', '--protocol', 'http/protobuf')
        self.assertIn(http, r.stderr)

    def test_spill(self):
        r = run('export', '-d', '0.2', '--spill-dir', '/x', '--spill-size', '3',
                '--retry-for', '7')
        self.assertIn('fake: spill /x 3145728 retry 7000\n', r.stderr)
        r = run('export', '-d', '0.2', '--spill-dir', '/x', '--protocol', 'http/protobuf')
        self.assertIn('fake: http - compression 0 spill /x\n', r.stderr)

    def test_config_file(self):
        with tempfile.TemporaryDirectory() as d:
            path = os.path.join(d, 'a.conf')
            with open(path, 'w', encoding='utf-8') as f:
                f.write('sample_rate_hz = 49\nmax_frames = 64\nkinds = off_cpu\n'
                        'command_line = true\nservice_name = shop\nattributes = a=1,b=2\n'
                        'probes = kprobe:x\nrules = rate 199 cgroup:/a b\n'
                        'endpoint = http://a:1\ncompression = none\nheaders = k=v%20w\n')
            r = run('export', '-d', '0.2', '--config', path, mode='config')
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertIn('fake: config rate 49 kinds 516 frames 64 flags 16 service shop '
                          'attributes 2\n', r.stderr)
            self.assertIn('fake: probe kprobe:x\n', r.stderr)
            self.assertIn('fake: endpoint http://a:1 compression 1\n', r.stderr)
            self.assertIn('fake: header k=v w\n', r.stderr)
            self.assertIn('fake: add 2 199 /a b\n', r.stderr)
            # options win
            r = run('export', '-d', '0.2', '-F', '7', '--kinds', 'cpu', '--service-name', 'x',
                    '--endpoint', 'http://b:2', '--compression', 'gzip', '--header', 'c=d',
                    '--config', path, mode='config')
            self.assertIn('fake: config rate 7 kinds 1 frames 64 flags 16 service x '
                          'attributes 2\n', r.stderr)
            self.assertNotIn('fake: probe', r.stderr)
            self.assertIn('fake: endpoint http://b:2 compression 2\n', r.stderr)
            self.assertEqual(re.findall('fake: header (.*)', r.stderr), ['c=d'])
            # the environment wins over the file
            with unittest.mock.patch.dict(os.environ, OTELPROF_SAMPLE_RATE_HZ='11'):
                r = run('export', '-d', '0.2', '--config', path, mode='config')
            self.assertIn('fake: config rate 11 ', r.stderr)
            # a mistake ends it at once, in one sentence
            with open(path, 'a', encoding='utf-8') as f:
                f.write('sample_rate = 49\n')
            r = run('export', '-d', '0.2', '--config', path)
            self.assertEqual(r.returncode, 1)
            self.assertEqual(r.stderr, f'otelprof: {path}:12: there is no key "sample_rate"; '
                             'perhaps it is sample_rate_hz; otelprof_settings_new(3) lists '
                             'them\n')
            r = run('export', '-d', '0.2', '--config', '/nonexistent/x')
            self.assertEqual((r.returncode, r.stderr), (
                1, 'otelprof: /nonexistent/x: it cannot be read: No such file or directory\n'))

    def test_config_file_of_record_and_top(self):
        """The same file, the same variables; the command line wins."""
        with tempfile.TemporaryDirectory() as d:
            path, out = os.path.join(d, 'a.conf'), os.path.join(d, 'x.folded')
            with open(path, 'w', encoding='utf-8') as f:
                f.write('sample_rate_hz = 49\nmax_frames = 64\nkinds = off_cpu,locks\n'
                        'command_line = true\nservice_name = shop\nattributes = a=1,b=2\n'
                        'probes = kprobe:x\nrules = rate 199 cgroup:/a b\n'
                        'endpoint = http://a:1\n')
            for command in (['record', '-q', '-o', out], ['top', '--json']):
                args = [*command, '-d', '0.2', '--config', path]
                r = run(*args, mode='config')
                self.assertEqual(r.returncode, 0, r.stderr)
                self.assertRegex(r.stderr, 'fake: config rate 49 kinds [0-9]+ frames 64 flags 16 '
                                           'service shop attributes 2\n')
                self.assertIn('fake: probe kprobe:x\n', r.stderr)
                self.assertIn('fake: add 2 199 /a b\n', r.stderr)
                self.assertNotIn('fake: endpoint', r.stderr)
                # folded stacks have one kind, whoever asked for several
                if command[0] == 'record':
                    self.assertIn('will have one kind of samples', r.stderr)
                r = run(*args, '-F', '7', '--kinds', 'cpu', '--service-name', 'x', '-p',
                        str(os.getpid()), mode='config')
                self.assertIn('fake: config rate 7 kinds 1 frames 64 flags 16 service x '
                              'attributes 2\n', r.stderr)
                self.assertNotIn('fake: probe', r.stderr)
                # what to sample is said by one of them
                self.assertNotIn('fake: add', r.stderr)
                with unittest.mock.patch.dict(os.environ, OTELPROF_SAMPLE_RATE_HZ='11'):
                    self.assertIn('fake: config rate 11 ', run(*args, mode='config').stderr)
                    r = run(*command, '-d', '0.2', mode='config')
                    self.assertIn('fake: config rate 11 ', r.stderr)
                # without a rate it is the command's
                r = run(*command, '-d', '0.2', mode='config')
                self.assertIn('fake: config rate 99 ', r.stderr)
                r = run(*command, '-d', '0.2', '--config', '/nonexistent/x')
                self.assertEqual((r.returncode, r.stderr), (
                    1, 'otelprof: /nonexistent/x: it cannot be read: No such file or directory\n'))
                with unittest.mock.patch.dict(os.environ, OTELPROF_MAX_FRAMES='x'):
                    r = run(*command, '-d', '0.2')
                self.assertEqual(r.returncode, 1)
                self.assertIn('OTELPROF_MAX_FRAMES', r.stderr)
            # a mistake is told before the command begins
            mark = os.path.join(d, 'begun')
            r = run('record', '--config', '/nonexistent/x', '--', 'touch', mark)
            self.assertEqual(r.returncode, 1)
            self.assertFalse(os.path.exists(mark))
            r = run('record', '-q', '-o', out, '--config', path, '--', 'touch', mark, mode='config')
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertNotIn('fake: add', r.stderr)

    def test_hangup_reads_the_configuration_again(self):
        with tempfile.TemporaryDirectory() as d:
            path = os.path.join(d, 'a.conf')

            def write(text):
                with open(path, 'w', encoding='utf-8') as f:
                    f.write(text)

            def until(line):
                """The lines up to this one."""
                lines = []
                while not lines or line not in lines[-1]:
                    lines.append(daemon.stderr.readline())
                    self.assertTrue(lines[-1], f'{line}: {lines}')
                return ''.join(lines)

            def hangup(last='the configuration was read again'):
                daemon.send_signal(signal.SIGHUP)
                return until(last)

            write('sample_rate_hz = 49\nrules = include pid:1\nendpoint = http://a:1\n')
            with subprocess.Popen([PROGRAM, 'export', '-d', '60', '--config', path],
                                  env=dict(os.environ, FAKE_OTELPROF='config', NO_COLOR='1'),
                                  stderr=subprocess.PIPE, text=True) as daemon:
                until('profiling at')
                # nothing changed: nothing is done again
                self.assertEqual(hangup(), 'otelprof: the configuration was read again; '
                                 'changed: nothing\n')
                write('sample_rate_hz = 99\nkinds = off_cpu\nprobes = kprobe:y\n'
                      'rules = rate 5 cgroup:/b\nendpoint = http://b:2\nmax_frames = 64\n'
                      'threads = 1\n')
                said = hangup()
                self.assertIn('fake: rate 99\n', said)
                self.assertIn('fake: probe kprobe:y\nfake: kinds 516\n', said)
                self.assertIn('fake: add 2 5 /b\n', said)
                self.assertIn('fake: endpoint http://b:2 compression 0\nfake: remove exporter 1'
                              '\n', said)
                self.assertIn('otelprof: warning: these keys take effect at the next start: '
                              'max_frames, threads\n', said)
                self.assertIn('otelprof: the configuration was read again; changed: '
                              'sample_rate_hz, kinds, probes, rules, endpoint\n', said)
                # a mistake changes nothing
                write('sample_rate_hz = 0\n')
                said = hangup('the configuration stays as it was')
                self.assertIn(f'otelprof: {path}:1: sample_rate_hz is "0" and must be', said)
                self.assertNotIn('fake:', said)
                # a rule that cannot be: those before stay
                write('sample_rate_hz = 99\nrules = include cgroup:/deep\n')
                said = hangup()
                self.assertIn('otelprof: cannot set the rules: ', said)
                self.assertIn('fake: endpoint - compression 0\n', said)
                # back to what the program has without a file
                write('')
                said = hangup()
                self.assertIn('fake: rate 20\n', said)
                daemon.terminate()
                _, rest = daemon.communicate(timeout=120)
                self.assertEqual(daemon.returncode, 0, rest)

    def test_the_manager_hears_of_a_reload(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            name = '\0otelprof-reload-%d' % os.getpid()
            manager.bind(name)
            manager.settimeout(10)
            with subprocess.Popen([PROGRAM, 'export', '-d', '60'], stderr=subprocess.DEVNULL,
                                  stdin=subprocess.DEVNULL,
                                  env={**os.environ, 'NOTIFY_SOCKET': '@' + name[1:]}) as p:
                self.assertEqual(manager.recv(100), b'READY=1')
                p.send_signal(signal.SIGHUP)
                self.assertRegex(manager.recv(100), rb'^RELOADING=1\nMONOTONIC_USEC=\d+$')
                self.assertEqual(manager.recv(100), b'READY=1')
                p.terminate()
                self.assertEqual(p.wait(30), 0)

    def test_an_answer_without_an_end(self):
        with tempfile.TemporaryDirectory() as d, socket.socket(socket.AF_UNIX) as s:
            s.bind(os.path.join(d, 'control'))
            s.listen()
            with subprocess.Popen([PROGRAM, 'ctl', '--socket', os.path.join(d, 'control'), 'status'],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as p:
                client, _ = s.accept()
                sent = 0
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    while sent < 64 << 20:
                        sent += client.send(b'x' * 65536)
                client.close()
                self.assertIn("the daemon's answer: File too large", p.communicate(timeout=60)[1])
                self.assertEqual(p.returncode, 1)
                self.assertLess(sent, 32 << 20)

    def test_control_socket(self):
        with tempfile.TemporaryDirectory() as d:
            path = os.path.join(d, 'control')

            def ctl(*args):
                return run('ctl', '--socket', path, *args)

            r = ctl('status')
            self.assertEqual(r.returncode, 1)
            self.assertIn("is 'otelprof export --control' running?", r.stderr)
            with subprocess.Popen([PROGRAM, 'export', '-d', '60', '--control=' + path],
                                  stderr=subprocess.PIPE, text=True) as daemon:
                for _ in range(200):
                    if os.path.exists(path) and ctl('status').returncode == 0:
                        break
                    time.sleep(0.05)
                self.assertEqual(os.stat(path).st_mode & 0o777, 0o660)
                self.assertIn('\npaused no\n', ctl('status').stdout)
                self.assertEqual(ctl('pause').returncode, 0)
                self.assertIn('\npaused yes\n', ctl('status').stdout)
                self.assertEqual(ctl('resume').returncode, 0)
                self.assertEqual(ctl('rules').stdout, '')
                r = ctl('--for', '600', 'rate', '100', 'cgroup:/a b/c')
                self.assertEqual((r.stdout, r.stderr), ('number 1\n', ''))
                self.assertEqual(ctl('rules').stdout, '1 600 rate 100 cgroup:/a b/c\n')
                self.assertEqual(ctl('include', '5', 'pid:7').stdout, 'number 2\n')
                self.assertEqual(ctl('rules').stdout.splitlines()[-1], '2 0 include 5 pid:7')
                for target in ('exe:/usr/*/a b', 'env:A=b c', 'env:A'):
                    ctl('exclude', target)
                    last = ctl('rules').stdout.splitlines()[-1]
                    self.assertRegex(last, r'^\d+ 0 exclude %s$' % re.escape(target))
                    self.assertEqual(ctl('remove', last.split()[0]).returncode, 0)
                self.assertEqual(ctl('exclude', 'comm:x').stdout, 'number 6\n')
                self.assertEqual(ctl('remove', '6').returncode, 0)
                self.assertEqual(ctl('rate', '49').returncode, 0)
                for wrong in (['remove', '9'], ['rate', '0'], ['rate', '1x'],
                              ['exclude', 'cgroup:/none'], ['exclude', 'pid:x'],
                              ['exclude', 'frob:x'], ['rate', str(2**32 + 20)]):
                    r = ctl(*wrong)
                    self.assertEqual((r.returncode, r.stdout), (1, ''), wrong)
                    self.assertRegex(r.stderr, '^otelprof: (?!otelprof_).+\n$', wrong)
                # a number is read to its end
                self.assertEqual(ctl('rate', '50'.zfill(60)).returncode, 0)
                self.assertEqual(ctl('--for', '600'.zfill(60), 'exclude', 'comm:y').stdout, 'number 7\n')
                self.assertEqual(ctl('rules').stdout.splitlines()[-1], '7 600 exclude comm:y')
                for wrong in ([], ['frob'], ['rate'], ['status', 'x'], ['-F', '1', 'status'],
                              ['--for', 'x', 'exclude', 'pid:1'], ['--for', str(2**32), 'exclude', 'pid:1'],
                              ['rate', '1' * 4096],
                              ['exclude', 'pid:1\nrules']):
                    self.assertEqual(ctl(*wrong).returncode, 2, wrong)
                # what is no line ends at its bound, and the next client is served
                for sent in (b'x' * 5000, b'status\0\n', b'', b'frob\n',
                             b'rule 0 exclude comm:\x1b[2J\n'):
                    with socket.socket(socket.AF_UNIX) as s:
                        s.connect(path)
                        s.sendall(sent)
                        s.shutdown(socket.SHUT_WR)
                        self.assertTrue(s.recv(100).startswith(b'error '), sent)
                # a second one does not take it away
                r = run('export', '-d', '0.2', '--control=' + path)
                self.assertEqual(r.returncode, 1)
                self.assertIn('Address already in use', r.stderr)
                if os.getuid() == 0:
                    r = subprocess.run(['setpriv', '--reuid=65534', '--regid=65534',
                                        '--clear-groups', PROGRAM, 'ctl', '--socket', path,
                                        'status'], capture_output=True, text=True)
                    self.assertNotEqual(r.returncode, 0)
                    os.chmod(d, 0o755)
                    os.chmod(path, 0o666)
                    r = subprocess.run(['setpriv', '--reuid=65534', '--regid=65534',
                                        '--clear-groups', sys.executable, '-c', UNWELCOME,
                                        path], capture_output=True, text=True)
                    self.assertTrue(r.stdout.startswith('error this is for root'), r)
                # one that sends a byte now and then does not keep the daemon from ending
                with socket.socket(socket.AF_UNIX) as s:
                    s.connect(path)
                    daemon.terminate()
                    for _ in range(40):
                        try:
                            s.send(b'x')
                        except OSError:
                            break
                        time.sleep(0.5)
                    else:
                        self.fail('the client was not sent away')
                self.assertEqual(daemon.wait(30), 0)
                self.assertFalse(os.path.exists(path))

    def test_stacks_end_a_verbose_recording(self):
        for args, told in ([], False), (['-v'], True):
            r = run('record', '-d', '0.2', '-o', '/dev/null', '--format', 'folded', *args)
            lines = r.stderr.splitlines()
            at = [i for i, line in enumerate(lines) if line.startswith('stacks: complete')]
            self.assertEqual(len(at), told, r.stderr)
            self.assertEqual('otelprof: sampling' in lines, told, r.stderr)
            if not told:
                continue
            names = ['no file' if i == 1 else '/lib/%d\\x1b[31m' % i for i in range(10)]
            self.assertEqual(lines[at[0] + 1:], [
                '         3  native_no_rule: There is no rule.', 'where they ended early:',
                *('%10d  %s: truncated' % (100 - i, name) for i, name in enumerate(names)),
                '       183  elsewhere'])

    def test_accounting_is_the_last_line(self):
        r = run('export', '-d', '0.2', mode='drop')
        self.assertEqual(r.stderr.splitlines()[-1],
                         'samples: taken 10 = exported 0 + filtered 0 + pending 0 + '
                         'dropped 10 (ring 10)')
        self.assertIn('fake: endpoint - compression 0\n', r.stderr)

    def test_sigterm_ends_it_cleanly(self):
        p = subprocess.Popen([PROGRAM, 'export', '-v'], stderr=subprocess.PIPE, text=True)
        while p.stderr.readline() != 'otelprof: sampling\n':
            pass
        p.terminate()
        _, err = p.communicate(timeout=120)
        self.assertEqual(p.returncode, 0, err)
        self.assertTrue(err.splitlines()[-1].startswith('samples: taken 10 = exported 10'))

    def test_service_manager_hears_of_it(self):
        """READY once, signs of life at half the time that was asked for, STOPPING at the end."""
        for name in ('\0otelprof-%d' % os.getpid(), os.path.join(tempfile.mkdtemp(), 'notify')):
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
                manager.bind(name)
                manager.settimeout(10)
                p = subprocess.Popen([PROGRAM, 'export', '-d', '1.5'], stderr=subprocess.DEVNULL,
                                     env={**os.environ, 'WATCHDOG_USEC': '400000',
                                          'NOTIFY_SOCKET': name.replace('\0', '@')})
                heard = [manager.recv(100)]
                while heard[-1] != b'STOPPING=1':
                    heard.append(manager.recv(100))
                self.assertEqual(p.wait(20), 0)
            self.assertEqual(heard[0], b'READY=1')
            self.assertEqual(set(heard[1:-1]), {b'WATCHDOG=1'})
            self.assertIn(len(heard), range(4, 11))

    def test_other_processes_watchdog(self):
        """A watchdog that waits for somebody else gets nothing; no manager is no error."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            name = '\0otelprof-other-%d' % os.getpid()
            manager.bind(name)
            manager.settimeout(10)
            subprocess.run([PROGRAM, 'export', '-d', '0.5'], stderr=subprocess.DEVNULL, check=True,
                           env={**os.environ, 'WATCHDOG_USEC': '100000', 'WATCHDOG_PID': '1',
                                'NOTIFY_SOCKET': '@' + name[1:]})
            self.assertEqual([manager.recv(100), manager.recv(100)], [b'READY=1', b'STOPPING=1'])
        r = subprocess.run([PROGRAM, 'export', '-d', '0.2'], capture_output=True, check=True,
                           env={**os.environ, 'NOTIFY_SOCKET': '/nonexistent/notify'})
        self.assertNotIn(b'notify', r.stderr)


class Doctor(unittest.TestCase):
    def test_text(self):
        r = run('doctor')
        self.assertEqual(r.returncode, 0)
        self.assertIn('ok       CPU sampling', r.stdout)
        self.assertIn('reduced  kernel "names"', r.stdout)
        self.assertIn('without it: kernel frames have no names', r.stdout)
        r = run('doctor', mode='missing')
        self.assertEqual(r.returncode, 1)
        self.assertIn('MISSING  CPU sampling', r.stdout)

    def test_json(self):
        t = json.loads(run('doctor', '--json').stdout)
        self.assertEqual(t['missing'], 0)
        self.assertEqual([(x['state'], x['feature']) for x in t['rows']],
                         [('ok', 'CPU sampling'), ('less', 'kernel "names"')])
        r = run('doctor', '--json', mode='missing')
        self.assertEqual(r.returncode, 1)
        self.assertEqual(json.loads(r.stdout)['missing'], 1)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=1)
