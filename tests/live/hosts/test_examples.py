# SPDX-License-Identifier: Apache-2.0
"""The examples and the quickstart's steps, live on this kernel.

usage: test_examples.py OTELPROF MINIMAL EPOLL EXECUTABLES MODULE_DIR    77 where profiling cannot start
"""
import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
import unittest

OTELPROF, MINIMAL, EPOLL, EXECUTABLES, MODULES = (os.path.abspath(a) for a in sys.argv[1:6])
ENV = dict(os.environ, OTELPROF_MODULE_DIR=MODULES, NO_COLOR='1')


def run(*args, **env):
    return subprocess.run(args, env=dict(ENV, **env), capture_output=True, text=True,
                          timeout=120)


class Examples(unittest.TestCase):
    def setUp(self):
        # Something to see, also on an idle machine.
        self.busy = subprocess.Popen([sys.executable, '-c', 'while True: pass'])
        self.addCleanup(self.busy.wait)
        self.addCleanup(self.busy.kill)

    def sink(self):
        p = subprocess.Popen([OTELPROF, 'sink', '--listen', '127.0.0.1:0'], env=ENV,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: p.poll() is None and p.kill())
        return p, re.search(r':(\d+)$', p.stderr.readline()).group(1)

    def end(self, p):
        p.terminate()
        out, err = p.communicate(timeout=30)
        self.assertEqual(p.returncode, 0, out + err)
        events = sum(int(n) for n in re.findall(r': (\d+) events', out))
        self.assertRegex(out, r'requests, 0 broke a rule\n$')
        return events

    def test_minimal_delivers_what_it_says(self):
        p, port = self.sink()
        r = run(MINIMAL, OTEL_EXPORTER_OTLP_ENDPOINT=f'http://127.0.0.1:{port}')
        self.assertEqual(r.returncode, 0, r.stderr)
        said = int(re.match(r'(\d+) samples\n$', r.stdout).group(1))
        self.assertGreater(said, 0)
        self.assertEqual(self.end(p), said)

    def test_epoll(self):
        r = run(EPOLL, '2')
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertRegex(r.stdout, r'^request of \d+ bytes with \d+ samples\n')

    def test_executables_and_processes_are_told(self):
        """A program made here: its build id, its bytes, and its life are known."""
        with tempfile.TemporaryDirectory() as d:
            program = os.path.join(d, 'spinner')
            build_id = 'c0ffee' + '%034x' % os.getpid()
            made = subprocess.run(['cc', '-x', 'c', '-', '-O1', '-o', program,
                                   '-Wl,--build-id=0x' + build_id], text=True, check=False,
                                  input='int main(void) { for (;;) __asm__ volatile(""); }')
            if made.returncode:
                self.skipTest('no compiler')
            copies = os.path.join(d, 'copies')
            os.mkdir(copies)
            # It lives until it was seen, since a busy machine looks at samples late.
            spinner = subprocess.Popen([program])
            self.addCleanup(spinner.kill)
            p = subprocess.Popen([EXECUTABLES, '20', copies], env=ENV, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
            out = ''
            for line in p.stdout:
                out += line
                if line.startswith(f'process {spinner.pid} came '):
                    spinner.kill()
                    spinner.wait()
            _, err = p.communicate(timeout=60)
            self.assertEqual(p.returncode, 0, err)
            size = os.stat(program).st_size
            self.assertEqual(out.count(f'executable {build_id} {size} {program}\n'), 1, out)
            with open(program, 'rb') as a, \
                    open(os.path.join(copies, build_id + '.elf'), 'rb') as b:
                self.assertEqual(a.read(), b.read())
            lives = re.findall(rf'(?m)^process {spinner.pid} (.*)$', out)
            self.assertEqual(len(lives), 2, out)
            self.assertTrue(lives[0].startswith('came '), lives)
            self.assertIn(' process.executable.name=spinner ', lives[0])
            self.assertIn(f' process.executable.path={program} ', lives[0])
            self.assertIn(' service.name=spinner', lives[0])
            self.assertEqual(lives[1], 'went')
            self.assertRegex(out, r'(?m)^window of \d+\.\d s with [1-9]\d* samples$')

    def test_export_accounts_for_what_arrived(self):
        p, port = self.sink()
        r = run(OTELPROF, 'export', '-d', '2', '--interval', '0.5', '--endpoint',
                f'http://127.0.0.1:{port}')
        self.assertEqual(r.returncode, 0, r.stderr)
        taken, exported, filtered, pending, dropped = map(int, re.search(
            r'taken (\d+) = exported (\d+) \+ filtered (\d+) \+ pending (\d+) \+ dropped (\d+)',
            r.stderr).groups())
        self.assertEqual(taken, exported + filtered + pending + dropped)
        self.assertEqual(pending, 0)
        self.assertEqual(self.end(p), exported)

    def test_record_sees_the_chosen_process_alone(self):
        with tempfile.TemporaryDirectory() as d:
            path = os.path.join(d, 'a.folded')
            r = run(OTELPROF, 'record', '-d', '1', '-p', str(self.busy.pid), '-o', path)
            self.assertEqual(r.returncode, 0, r.stderr)
            with open(path) as f:
                names = {line.split(';')[0] for line in f}
        self.assertEqual(names, {os.path.basename(os.readlink(f'/proc/{self.busy.pid}/exe'))})

    def test_container_by_the_first_digits_of_its_id(self):
        with open('/proc/self/mounts', encoding='utf-8') as f:
            mounts = [line.split()[1] for line in f if line.split()[2] == 'cgroup2']
        if not mounts:
            self.skipTest('no cgroup v2')
        digits = secrets.token_hex(32)
        group = os.path.join(mounts[0], f'docker-{digits}.scope')
        try:
            os.mkdir(group)
        except OSError as e:
            self.skipTest(f'cgroup v2: {e}')
        # After the process in it has ended.
        self.addCleanup(os.rmdir, group)
        inside = subprocess.Popen([sys.executable, '-c', 'while True: pass'])
        self.addCleanup(inside.wait)
        self.addCleanup(inside.kill)
        with open(os.path.join(group, 'cgroup.procs'), 'w', encoding='ascii') as f:
            f.write(str(inside.pid))
        with tempfile.TemporaryDirectory() as d:
            for args, seen in ((['--container', digits[:12]], {inside.pid}),
                               (['--exclude', f'container:{digits[:12]}'], {self.busy.pid})):
                path = os.path.join(d, 'a.otlp')
                r = run(OTELPROF, 'record', '-d', '1', *args, '-o', path)
                self.assertEqual(r.returncode, 0, r.stderr)
                r = run(OTELPROF, 'report', '--format=json', '--by=process', '--min=0', '-n', '999',
                        path)
                pids = {int(row['name'].rsplit('(', 1)[1][:-1]) for row in json.loads(r.stdout)['rows']}
                self.assertEqual(pids & {inside.pid, self.busy.pid}, seen)
                if args[0] == '--container':
                    self.assertEqual(pids, seen)

    def test_recordings_are_joined_and_have_times(self):
        def folded(*paths):
            r = run(OTELPROF, 'convert', '--format=folded', '-o', '-', *paths)
            self.assertEqual(r.returncode, 0, r.stderr)
            return sorted(r.stdout.splitlines())

        with tempfile.TemporaryDirectory() as d:
            paths = [os.path.join(d, name) for name in ('a.otlp', 'b.otlp')]
            for path in paths:
                r = run(OTELPROF, 'record', '-d', '1', '--kinds', 'cpu,off_cpu', '-o', path)
                self.assertEqual(r.returncode, 0, r.stderr)
            both, page = os.path.join(d, 'both.otlp'), os.path.join(d, 'both.firefox.json')
            for args in (['merge', '-o', both, *paths], ['convert', '-o', page, both]):
                r = run(OTELPROF, *args)
                self.assertEqual(r.returncode, 0, r.stderr)
            self.assertEqual(folded(both), folded(*paths))
            self.assertLess(os.path.getsize(both), sum(map(os.path.getsize, paths)))
            with open(page, encoding='utf-8') as f:
                profile = json.load(f)
        end = profile['meta']['profilingEndTime']
        times = [t for thread in profile['threads'] for t in thread['samples']['time']]
        self.assertTrue(all(0 <= t <= end for t in times))
        own = [t for t in profile['threads'] if t['pid'] == str(self.busy.pid) and
               t['samples']['weightType'] == 'samples']
        self.assertEqual([t['isMainThread'] for t in own], [True])
        # Two seconds of samples, at 99 Hz or what was left of the CPU.
        self.assertGreater(own[0]['samples']['length'], 20)
        self.assertGreater(own[0]['samples']['time'][-1] - own[0]['samples']['time'][0], 1000)

    def test_frames_of_the_kernel_or_of_programs_alone(self):
        reader = subprocess.Popen(['sh', '-c', 'while :; do read x </proc/self/stat; done'])
        self.addCleanup(reader.wait)
        self.addCleanup(reader.kill)
        with tempfile.TemporaryDirectory() as d:
            for option, kernel in (('--all-kernel', True), ('--all-user', False)):
                path = os.path.join(d, 'a.otlp')
                r = run(OTELPROF, 'record', '-d', '1', option, '-p', str(reader.pid), '-o', path)
                self.assertEqual(r.returncode, 0, r.stderr)
                r = run(OTELPROF, 'report', '--format=json', '--min=0', '-n', '999', path)
                self.assertEqual((r.returncode, r.stderr), (0, ''))
                types = {row['type'] == 'kernel' for row in json.loads(r.stdout)['rows']}
                self.assertEqual(types, {kernel})

    def test_a_file_that_cannot_be_made_is_named_once(self):
        with tempfile.TemporaryDirectory() as d:
            path = os.path.join(d, 'no-folder', 'a.otlp')
            r = run(OTELPROF, 'record', '-d', '0.5', '-o', path)
            self.assertEqual(r.returncode, 1)
            self.assertEqual(r.stderr.count(path), 1, r.stderr)
            self.assertIn('No such file or directory', r.stderr)

    def test_nothing_to_sample_is_1_with_the_reason(self):
        with tempfile.TemporaryDirectory() as d:
            r = run(OTELPROF, 'record', '-d', '0.5', '--comm', 'nobody-has-this', '-o',
                    os.path.join(d, 'a.folded'))
        self.assertEqual(r.returncode, 1)
        self.assertIn('no samples: none of the chosen processes ran on a CPU', r.stderr)


if __name__ == '__main__':
    if run(OTELPROF, 'doctor').returncode:
        print('SKIP: profiling cannot start here: see otelprof doctor')
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=1)
