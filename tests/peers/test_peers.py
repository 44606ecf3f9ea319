# SPDX-License-Identifier: Apache-2.0
"""One load, profiled at the same time by otelprof and by perf, py-spy or Go's own profiler: what
`otelprof convert` makes of our recording has the shares that their files have, within the noise of
sampling. Their files are read by their own tools: perf script, go tool pprof.

usage: test_peers.py OTELPROF
"""
import collections
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

OTELPROF = os.path.abspath(sys.argv[1])
CACHE = os.environ.get('OTELPROF_CACHE', os.path.expanduser('~/.cache/otelprof-tests'))
HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = '6'
HZ = '249'
SAMPLES_MIN = 50  # on a busy machine, too; fewer have more noise
LEAVES = ('half', 'third', 'fifth')
SIGMAS = 4


def output(*args, **kwargs):
    return subprocess.run(args, check=True, capture_output=True, text=True, timeout=120,
                          **kwargs).stdout


def leaf_of(name):
    """half, third or fifth, however a language writes the function; or None."""
    m = re.search(r'leaf_?(half|third|fifth)$', name.lower())
    return m and m.group(1)


def counted(pairs):
    """Samples by the innermost frame that is a leaf of ours, of (frames from the root, count)."""
    sums = collections.Counter()
    for frames, count in pairs:
        found = [leaf_of(frame) for frame in frames if leaf_of(frame)]
        if found:
            sums[found[-1]] += count
    return sums


def folded(text):
    for line in text.splitlines():
        stack, _, count = line.rpartition(' ')
        # "name (file:line)", as py-spy writes it
        yield [re.sub(r' \([^)]*\)$', '', frame) for frame in stack.split(';')], int(count)


def perf_script(text):
    """Stacks of `perf script`: a line of the event, then frames from the leaf, then none."""
    for event in text.strip().split('\n\n'):
        frames = re.findall(r'(?m)^\s+[0-9a-f]+ (.*?)(?:\+0x[0-9a-f]+)? \([^)]*\)$', event)
        yield frames[::-1], 1


def pprof_top(path):
    """Self times by `go tool pprof`, in milliseconds."""
    text = output('go', 'tool', 'pprof', '-top', '-nodecount=500', '-nodefraction=0', '-unit=ms', path,
                  env=dict(os.environ, PPROF_TMPDIR=tempfile.gettempdir()))
    for line in text.splitlines():
        m = re.match(r'\s*([\d.]+)(?:ms)?\s+[\d.]+%\s+[\d.]+%\s+[\d.]+(?:ms)?\s+[\d.]+%\s+(.*)$', line)
        if m:
            yield [re.sub(r' \(inline\)$', '', m.group(2))], float(m.group(1))


class Peers(unittest.TestCase):
    def setUp(self):
        if os.geteuid():
            self.skipTest('profiling needs root')
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def need(self, program):
        found = shutil.which(program)
        if not found:
            self.skipTest('there is no ' + program)
        return found

    def record(self, command, *peer):
        """Run @command under otelprof; beside it @peer, where PID is that of the command."""
        load = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        ours = subprocess.Popen([OTELPROF, 'record', '-q', '-F', HZ, '-d', SECONDS, '-p', str(load.pid),
                                 '-o', self.path('ours.otlp')], stderr=subprocess.PIPE, text=True)
        theirs = None
        if peer:
            theirs = subprocess.Popen([str(load.pid) if arg == 'PID' else arg for arg in peer],
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = ours.communicate(timeout=120)[1]
        if theirs:
            told = theirs.communicate(timeout=120)[1]
        load.wait(120)
        if ours.returncode == 1 and 'CAP_' in said:
            self.skipTest('profiling does not work here')
        self.assertEqual(ours.returncode, 0, said)
        if theirs and theirs.returncode:
            self.skipTest('%s: %s' % (os.path.basename(peer[0]), told.strip()[-200:]))

    def convert(self, name):
        subprocess.run([OTELPROF, 'convert', '-o', self.path(name), self.path('ours.otlp')],
                       check=True, timeout=120)
        return self.path(name)

    def folded(self):
        with open(self.convert('ours.folded'), encoding='utf-8') as f:
            return counted(folded(f.read()))

    def compare(self, what, ours, theirs, samples=None):
        """Shares of the leaves. @samples: how many stand behind theirs, where they are times."""
        n = sum(ours.values()), samples or sum(theirs.values())
        print('%s: %s' % (what, ', '.join(
            '%s %.1f %% and %.1f %%' % (leaf, 100 * ours[leaf] / n[0],
                                        100 * theirs[leaf] / sum(theirs.values()))
            for leaf in LEAVES)), 'of %d and %d samples' % n)
        self.assertGreater(min(n), SAMPLES_MIN, what)
        for leaf in LEAVES:
            a, b = ours[leaf] / n[0], theirs[leaf] / sum(theirs.values())
            p = (ours[leaf] + b * n[1]) / sum(n)
            noise = SIGMAS * math.sqrt(p * (1 - p) * (1 / n[0] + 1 / n[1]))
            self.assertLess(abs(a - b), noise, (what, leaf, a, b))

    def test_perf(self):
        program = self.path('load')
        subprocess.run([self.need('gcc'), '-O2', '-g', '-fno-omit-frame-pointer',
                        os.path.join(HERE, 'load.c'), '-o', program], check=True)
        data = self.path('perf.data')
        self.record([program, SECONDS], self.need('perf'), 'record', '-q', '-F', HZ, '-g', '-p', 'PID',
                    '-o', data, '--', 'sleep', SECONDS)
        text = output('perf', 'script', '-i', data, '-F', 'comm,pid,ip,sym,symoff,dso')
        self.compare('perf script', self.folded(), counted(perf_script(text)))

    def test_py_spy(self):
        program = os.path.join(CACHE, 'py-spy/bin/py-spy')
        if not os.access(program, os.X_OK):
            r = subprocess.run(f'python3 -m venv {CACHE}/py-spy && '
                               f'{CACHE}/py-spy/bin/pip -q install py-spy==0.4.1', shell=True,
                               capture_output=True, text=True)
            if r.returncode:
                shutil.rmtree(os.path.join(CACHE, 'py-spy'), ignore_errors=True)
                self.skipTest('py-spy cannot be installed: ' + r.stderr.strip()[-200:])
        out = self.path('spy.txt')
        self.record([sys.executable, os.path.join(HERE, 'load.py'), str(float(SECONDS) + 1)], program, 'record',
                    '-f', 'raw', '-r', '100', '-d', SECONDS, '-o', out, '-p', 'PID')
        with open(out, encoding='utf-8') as f:
            theirs = counted(folded(f.read()))
        self.compare('py-spy', self.folded(), theirs)

    def test_go(self):
        """Go's profiler of itself, and ours as pprof: both read by go tool pprof."""
        program = self.path('load')
        subprocess.run([self.need('go'), 'build', '-o', program, os.path.join(HERE, 'load.go')],
                       check=True, cwd=self.folder)
        self.record([program, SECONDS, self.path('own.pb.gz')])
        theirs = counted(pprof_top(self.path('own.pb.gz')))
        ours = counted(pprof_top(self.convert('ours.pb.gz')))
        # Go samples at 100 Hz: a sample is 10 ms.
        self.compare('Go pprof', collections.Counter(
            {leaf: round(ms * int(HZ) / 1000) for leaf, ms in ours.items()}), theirs,
                     round(sum(theirs.values()) / 10))
        # What go tool pprof reads of ours is what the folded form says of innermost frames.
        with open(self.convert('ours.folded'), encoding='utf-8') as f:
            inner = counted((frames[-1:], n) for frames, n in folded(f.read()))
        for leaf in LEAVES:
            self.assertAlmostEqual(ours[leaf] * int(HZ) / 1000, inner[leaf], delta=2)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
