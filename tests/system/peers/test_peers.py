# SPDX-License-Identifier: Apache-2.0
"""One load, profiled at the same time by otelprof and by perf, py-spy or Go's own profiler: in what
`otelprof convert` makes of our recording each function has the share that it has in their files, by
itself and with what it calls, within the noise of sampling. Their files are read by their own
tools: perf script, go tool pprof.

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
SPY_HZ = 100
SAMPLES_MIN = 50  # on a busy machine, too; fewer have more noise
LEAVES = ('half', 'third', 'fifth')
TRUTH = {'half': 0.5, 'third': 0.3, 'fifth': 0.2}  # of load.c, which looks at its clock
LEAST = 0.02  # functions with less on one of the sides are not compared
FUNCTIONS_MIN = 6  # the load's leaves, their two callers, and main
SIGMAS = 4
# perf walks frame pointers, and libc's code that calls main() has none.
ONLY_OURS = {'perf script': {'__libc_start_main', '_start'}}
# Go's own profiler leaves out the function that all goroutines begin with. Its signal may find a
# goroutine where the scheduler's signal has just sent it: pprof gives that time to the caller.
HIDDEN = r'^runtime\.(goexit|asyncPreempt)$'


def output(*args, **kwargs):
    return subprocess.run(args, check=True, capture_output=True, text=True, timeout=120,
                          **kwargs).stdout


def leaf_of(name):
    """half, third or fifth, however a language writes the function; or None."""
    m = re.search(r'leaf_?(half|third|fifth)$', name.lower())
    return m and m.group(1)


class Shares:
    """Samples of functions by name: in them alone, and with what they call."""
    def __init__(self, samples=0):
        self.samples = samples
        self.self = collections.Counter()
        self.total = collections.Counter()

    def add(self, frames, count):
        """A stack, from the root."""
        self.samples += count
        self.self[frames[-1]] += count
        for name in set(frames):
            self.total[name] += count


def shares(pairs, known=None):
    """Shares of (frames from the root, count). With @known only frames of these names count, and
    stacks that have any: a profiler of a language sees no native frames between."""
    of = Shares()
    for frames, count in pairs:
        frames = [frame for frame in frames if known is None or frame in known]
        if frames:
            of.add(frames, count)
    return of


def folded(text):
    for line in text.splitlines():
        stack, _, count = line.rpartition(' ')
        # "name (file:line)", as py-spy writes it
        yield [re.sub(r' \([^)]*\)$', '', frame) for frame in stack.split(';')], int(count)


def perf_script(text):
    """Stacks of `perf script`: a line of the event, then frames from the leaf, then none."""
    for event in text.strip().split('\n\n'):
        frames = re.findall(r'(?m)^\s+[0-9a-f]+ (.*?)(?:\+0x[0-9a-f]+)? \([^)]*\)$', event)
        # Symbols with versions, and of the vDSO's two names for a function the other one.
        yield [re.sub('^__vdso_|@.*', '', frame) for frame in frames[::-1]], 1


def pprof_top(path, ms_a_sample):
    """Self times and totals by `go tool pprof`, as samples."""
    text = output('go', 'tool', 'pprof', '-top', '-nodecount=500', '-nodefraction=0', '-unit=ms',
                  '-hide=' + HIDDEN, path, env=dict(os.environ, PPROF_TMPDIR=tempfile.gettempdir()))
    whole = re.search(r'of ([\d.]+)ms total', text)
    of = Shares(float(whole.group(1)) / ms_a_sample)
    for line in text.splitlines():
        m = re.match(r'\s*([\d.]+)(?:ms)?\s+[\d.]+%\s+[\d.]+%\s+([\d.]+)(?:ms)?\s+[\d.]+%\s+(.*)$',
                     line)
        if m:
            name = re.sub(r' \(inline\)$', '', m.group(3))
            of.self[name] += float(m.group(1)) / ms_a_sample
            of.total[name] += float(m.group(2)) / ms_a_sample
    return of


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
        ours = subprocess.Popen([OTELPROF, 'record', '-q', '-F', HZ, '-d', SECONDS, '-p',
                                 str(load.pid), '-o', self.path('ours.otlp')],
                                stderr=subprocess.PIPE, text=True)
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

    def folded(self, known=None):
        with open(self.convert('ours.folded'), encoding='utf-8') as f:
            # The first name is the process's.
            return shares(((frames[1:], n) for frames, n in folded(f.read())), known)

    def noise(self, p, *samples):
        return SIGMAS * math.sqrt(p * (1 - p) * sum(1 / n for n in samples))

    def compare(self, what, ours, theirs, by_the_clock=None):
        """Each function that has its share on both sides; and who has one on one side must be known
        to the other. @by_the_clock: their samples a second, if a thread that waits for a CPU is
        seen in the same place again: those that differ are as many as its CPU time allows."""
        n = ours.samples, theirs.samples
        differ = n
        if by_the_clock:
            differ = n[0], min(n[1], n[0] * by_the_clock / int(HZ))
        self.assertGreater(min(differ), SAMPLES_MIN, what)
        compared, wrong = set(), []
        for of in ('self', 'total'):
            a, b = getattr(ours, of), getattr(theirs, of)
            for name in set(a) | set(b):
                x, y = a[name] / n[0], b[name] / n[1]
                if not y and name in ONLY_OURS.get(what, ()):
                    continue
                if min(x, y) < LEAST:
                    # Is it a small one of the other side by chance?
                    if abs(x - y) > LEAST + self.noise(max(x, y), *differ):
                        wrong.append((of, name, x, y))
                    continue
                compared.add(name)
                print('%s: %-5s %6.1f %% and %6.1f %% %s' % (what, of, 100 * x, 100 * y, name))
                p = (a[name] + b[name]) / sum(n)
                # Where all samples are in a function, one that is not is no contradiction.
                if abs(x - y) >= max(self.noise(p, *differ), SIGMAS / min(differ)):
                    wrong.append((of, name, x, y))
        print('%s: %d functions, of %d and %d samples' % (what, len(compared), *n))
        self.assertFalse(wrong, what)
        self.assertGreaterEqual(len(compared), FUNCTIONS_MIN)
        self.assertEqual({leaf_of(name) for name in compared} - {None}, set(LEAVES))

    def test_perf(self):
        program = self.path('load')
        subprocess.run([self.need('gcc'), '-O2', '-g', '-fno-omit-frame-pointer',
                        os.path.join(HERE, 'load.c'), '-o', program], check=True)
        data = self.path('perf.data')
        # perf fails where the load ends before it.
        self.record([program, str(float(SECONDS) + 2)], self.need('perf'), 'record', '-q', '-F', HZ,
                    '-g', '-p', 'PID', '-o', data, '--', 'sleep', SECONDS)
        text = output('perf', 'script', '--no-inline', '-i', data, '-F',
                      'comm,pid,ip,sym,symoff,dso')
        ours = self.folded()
        self.compare('perf script', ours, shares(perf_script(text)))
        for name, count in ours.total.items():
            if leaf_of(name):
                share, truth = count / ours.samples, TRUTH[leaf_of(name)]
                self.assertLess(abs(share - truth), self.noise(truth, ours.samples), name)

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
        load = os.path.join(HERE, 'load.py')
        self.record([sys.executable, load, str(float(SECONDS) + 1)], program, 'record',
                    '-f', 'raw', '-r', str(SPY_HZ), '-d', SECONDS, '-o', out, '-p', 'PID')
        with open(out, encoding='utf-8') as f:
            theirs = shares(folded(f.read()))
        self.compare('py-spy', self.folded(theirs.total), theirs, SPY_HZ)

    def test_go(self):
        """Go's profiler of itself, and ours as pprof: both read by go tool pprof."""
        program = self.path('load')
        subprocess.run([self.need('go'), 'build', '-o', program, os.path.join(HERE, 'load.go')],
                       check=True, cwd=self.folder)
        self.record([program, SECONDS, self.path('own.pb.gz')])
        # Go samples at 100 Hz: a sample is 10 ms.
        theirs = pprof_top(self.path('own.pb.gz'), 10)
        ours = pprof_top(self.convert('ours.pb.gz'), 1000 / int(HZ))
        self.compare('Go pprof', ours, theirs)
        # What go tool pprof reads of ours is what the folded form says.
        also = self.folded()
        for name, count in ours.total.items():
            if leaf_of(name):
                self.assertAlmostEqual(count, also.total[name], delta=2)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
