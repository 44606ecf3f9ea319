# SPDX-License-Identifier: Apache-2.0
"""A rate per target, set by `otelprof ctl` while `otelprof export` runs: 20 processes at 19 Hz, one
control group of four at 199 Hz, and back by itself. What samples stand for, at the other end of
OTLP, is held against the CPU clocks of the processes.

usage: test_rates.py OTELPROF MODULE_DIR [SECONDS]
       of CPU time that each part measures, of all processes together; 77 where it cannot be done
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'framework'))
import otlp  # noqa: E402
import suite  # noqa: E402

OTELPROF, MODULES = (os.path.abspath(a) for a in sys.argv[1:3])
MEASURE_S = float(sys.argv[3]) if len(sys.argv) > 3 else 8
ENV = dict(os.environ, OTELPROF_MODULE_DIR=MODULES, NO_COLOR='1')
FLEET_HZ, FAST_HZ = 19, 199
PROCESSES, FAST = 20, 4
FOR_S = max(20, round(MEASURE_S))  # the rule's life
TABLES_S = 3  # until tables are made that first samples wait for
LATE_S = 3  # a busy machine
SIGMAS = 4  # of what chance does


def period(hz):
    return 1000000000 // hz


def cpu_ns(pid):
    return time.clock_gettime_ns((~pid << 3) | 2)  # CPUCLOCK_SCHED of <linux/posix-timers.h>


def begun(pid):
    with open(f'/proc/{pid}/stat', encoding='ascii') as f:
        return f.read().rsplit(')', 1)[1].split()[19]


class Part:
    """From when until when, and the CPU time of each process between."""

    def __init__(self, pids):
        self.pids = pids
        self.stolen_ns = -suite.stolen_ns()
        self.cpu_ns = {pid: -cpu_ns(pid) for pid in pids}
        self.begin = time.time_ns()

    def used_s(self):
        return sum(cpu_ns(pid) + self.cpu_ns[pid] for pid in self.pids) / 1e9

    def end(self):
        self.until = time.time_ns()
        for pid in self.pids:
            self.cpu_ns[pid] += cpu_ns(pid)
        self.stolen_ns += suite.stolen_ns()
        return self


class Rates(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def start(self, *command, **options):
        p = subprocess.Popen(command, env=ENV, text=True, **options)
        self.addCleanup(p.wait)
        self.addCleanup(p.kill)
        return p

    def fleet(self):
        """The processes, and the path of the group that the first ones are in."""
        with open('/proc/self/mounts', encoding='utf-8') as f:
            mounts = [line.split()[1] for line in f if line.split()[2] == 'cgroup2']
        if not mounts:
            self.skipTest('cgroup v2 is not mounted')
        name = f'otelprof-rates-{os.getpid()}'
        try:
            os.mkdir(os.path.join(mounts[0], name))
        except OSError as e:
            self.skipTest(f'no cgroup can be made here: {e}')
        # after the processes in it have ended
        self.addCleanup(os.rmdir, os.path.join(mounts[0], name))
        # so that the daemon and ctl get the CPU when they want it
        pids = [self.start('nice', '-n', '10', '/bin/sh', '-c', 'while :; do :; done').pid
                for _ in range(PROCESSES)]
        for pid in pids[:FAST]:
            with open(os.path.join(mounts[0], name, 'cgroup.procs'), 'w', encoding='ascii') as f:
                f.write(str(pid))
        return pids, f'cgroup:/{name}'

    def daemon(self):
        self.sink = self.start(OTELPROF, 'sink', '--listen', '127.0.0.1:0', '--dir',
                               os.path.join(self.folder, 'got'), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
        self.addCleanup(self.sink.stdout.close)
        self.addCleanup(self.sink.stderr.close)
        port = re.search(r':(\d+)$', self.sink.stderr.readline()).group(1)
        daemon = self.start(OTELPROF, 'export', '-F', str(FLEET_HZ), '--interval', '1',
                            '--control=' + os.path.join(self.folder, 'control'), '--endpoint',
                            f'http://127.0.0.1:{port}', stderr=subprocess.PIPE)
        self.addCleanup(daemon.stderr.close)
        said = daemon.stderr.readline()
        self.assertIn(f'profiling at {FLEET_HZ} Hz', said)
        return daemon

    def ctl(self, *args):
        r = subprocess.run([OTELPROF, 'ctl', '--socket', os.path.join(self.folder, 'control'),
                            *args], env=ENV, capture_output=True, text=True, timeout=60)
        self.assertEqual(r.returncode, 0, r.stderr)
        return r.stdout

    def measure(self, until=float('inf')):
        part = Part(self.pids)
        while part.used_s() < MEASURE_S and time.time() < until:
            time.sleep(0.05)
        return part.end()

    def end(self, daemon):
        """Stop both. Returns all samples; none is lost between the kernel and the files."""
        daemon.send_signal(signal.SIGTERM)
        _, said = daemon.communicate(timeout=60)
        self.assertEqual(daemon.returncode, 0, said)
        taken, exported, filtered, pending, dropped = map(int, re.search(
            r'taken (\d+) = exported (\d+) \+ filtered (\d+) \+ pending (\d+) \+ dropped (\d+)',
            said).groups())
        print('  ' + said.splitlines()[-1])
        self.assertEqual(taken, exported + filtered)
        self.assertEqual((pending, dropped), (0, 0))
        self.sink.send_signal(signal.SIGTERM)
        out, err = self.sink.communicate(timeout=60)
        self.assertRegex(out, r'requests, 0 broke a rule\n$', err)
        samples = []
        for name in sorted(os.listdir(os.path.join(self.folder, 'got'))):
            with open(os.path.join(self.folder, 'got', name), 'rb') as f:
                capture = otlp.read_request(f.read())
            self.assertEqual(capture.violations, [])
            samples += capture.samples
        self.assertEqual(sum(s.count for s in samples), exported)
        return samples

    def check(self, title, part, pids, hz):
        """In @part the samples of @pids stand for their CPU time. @hz: the one rate they have, or
        None where they change."""
        got = [(s.period, sum(part.begin <= t < part.until for t in s.timestamps))
               for s in self.samples if s.pid in pids]
        got = [(p, n) for p, n in got if n]
        if hz:
            self.assertEqual({p for p, _ in got}, {period(hz)}, title)
        cpu = sum(part.cpu_ns[pid] for pid in pids)
        count = sum(n for _, n in got)
        ratio = sum(n * p for p, n in got) / cpu
        noise = sum(n * p * p for p, n in got) ** 0.5 / cpu
        print(f'  {title}: {len(pids)} processes, {cpu / 1e9:.2f} s of CPU time, {count} samples '
              f'at {count * 1e9 / cpu:.2f} Hz, which stand for {ratio:.3f} of it; noise {noise:.3f}')
        self.assertGreater(count, 30)
        self.assertGreater(ratio, 1 - SIGMAS * noise, title)
        # The timer of the samples counts what the host takes, the clocks do not.
        most = 1 + part.stolen_ns / cpu
        self.assertLess(ratio, most * (1 + SIGMAS * noise), title)

    def test_a_group_at_a_rate_of_its_own_while_it_runs(self):
        self.pids, group = self.fleet()
        fast, others = self.pids[:FAST], self.pids[FAST:]
        daemon = self.daemon()
        life = begun(daemon.pid)
        time.sleep(TABLES_S)
        whole = Part(self.pids)
        before = self.measure()
        self.ctl('--for', str(FOR_S), 'rate', str(FAST_HZ), group)
        added = time.time()
        self.assertIn(f' rate {FAST_HZ} ', self.ctl('rules'))
        # A machine that is too busy gives less time than is asked for, and more noise.
        during = self.measure(added + FOR_S - LATE_S)
        while self.ctl('rules').strip():
            self.assertLess(time.time(), added + FOR_S + 2 * LATE_S)
            time.sleep(0.1)
        self.assertGreater(time.time(), added + FOR_S - 1)
        after = self.measure()
        whole.end()
        status = self.ctl('status')
        self.assertIn(f'rate_hz {FLEET_HZ}.00\n', status)
        self.assertIn('rules 0\n', status)
        self.assertEqual(begun(daemon.pid), life)
        self.samples = self.end(daemon)
        self.check('before', before, self.pids, FLEET_HZ)
        self.check('the group', during, fast, FAST_HZ)
        self.check('the others', during, others, FLEET_HZ)
        self.check('after', after, self.pids, FLEET_HZ)
        # No gap: the switches themselves are in this.
        self.check('all the time, the group', whole, fast, None)
        self.check('all the time, the others', whole, others, FLEET_HZ)
        last = max(t for s in self.samples if s.pid in fast and s.period == period(FAST_HZ)
                   for t in s.timestamps) / 1e9 - added
        print(f'  the last sample at {FAST_HZ} Hz came {last:.2f} s after a rule for {FOR_S} s')
        self.assertLess(abs(last - FOR_S), LATE_S)


if __name__ == '__main__':
    if subprocess.run([OTELPROF, 'doctor'], env=ENV, capture_output=True, check=False).returncode:
        print('SKIP: profiling cannot start here: see otelprof doctor')
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=1)
