# SPDX-License-Identifier: Apache-2.0
"""report, diff and convert on recordings of several rates and of several kinds of samples.

usage: test_kinds.py PROGRAM
"""
import gzip
import json
import os
import re
import subprocess
import sys
import unittest

import test_report
from test_report import EVENTS, TOTAL, fields, run

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from hostile import Request, recording  # noqa: E402


def varints(data):
    """The numbers of a packed list."""
    values, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            values.append(value)
            value = shift = 0
    return values


class Kinds(test_report.Recordings):
    """Samples of several rates are of one kind; several kinds stay apart, the first by their
    names and not by their order."""
    SLOW = [(program, frames, n * (1 if program == 'evil' else 10) * 10_000_000)
            for program, frames, n in EVENTS]

    def record(self, name, mode):
        path = self.path(name)
        r = subprocess.run([test_report.PROGRAM, 'record', '-d', '0.1', '-o', path], capture_output=True,
                           env=dict(os.environ, FAKE_OTELPROF=mode), timeout=60)
        self.assertEqual(r.returncode, 0, r.stderr)
        return path

    def folded(self, *files):
        r = run('convert', '-o', '-', '--format=folded', *files)
        self.assertEqual(r.returncode, 0, r.stderr)
        lines = [line.rsplit(' ', 1) for line in r.stdout.decode().splitlines()]
        return {stack.rsplit(';', 1)[1]: int(value) for stack, value in lines}, r.stderr.decode()

    def columns(self, *files):
        """Of pprof: types and units of values, the sums of each, and the default type."""
        r = run('convert', '-o', self.path('x.pb.gz'), *files)
        self.assertEqual(r.returncode, 0, r.stderr)
        profile = list(fields(gzip.decompress(self.read('x.pb.gz'))))
        strings = [v.decode() for n, v in profile if n == 6]
        types = [tuple(strings[i] for _, i in fields(v)) for n, v in profile if n == 1]
        sums = [0] * len(types)
        for _, sample in (f for f in profile if f[0] == 2):
            sums = [a + b for a, b in zip(sums, varints(dict(fields(sample))[2]), strict=True)]
        return dict(zip(types, sums, strict=True)), strings[dict(profile)[14]]

    def test_two_rates_in_one_recording(self):
        slow = self.record('slow.otlp', 'slow')
        d = self.json(slow)
        self.assertEqual((d['total'], d['total_text']), (910_000_000, '910.0 ms'))
        self.assertEqual((d['kind']['type'], d['kind']['unit'], d['measures']),
                         ('cpu', 'nanoseconds', 'CPU time, sampled at several rates'))
        self.assertEqual({r['name']: r['self'] for r in d['rows'] if r['self']},
                         {frames[-1]: ns for _, frames, ns in self.SLOW})
        self.assertEqual(self.json('--kind=samples', slow)['total'], d['total'])
        self.assertEqual(self.json('--kind=cpu', slow)['total'], d['total'])
        self.assertEqual(self.folded(slow)[0],
                         {frames[-1].replace(';', ':'): ns for _, frames, ns in self.SLOW})
        self.assertEqual(self.columns(slow), ({('cpu', 'nanoseconds'): 910_000_000}, 'cpu'))

    def test_two_recordings_of_two_rates(self):
        slow = self.record('slow.otlp', 'slow')
        for files in ((self.a, slow), (slow, self.a)):
            self.assertEqual(self.json(*files)['total_text'], '1.01 s')
        d = json.loads(run('diff', '--format=json', '--min=0', '-n99', self.a, slow).stdout)
        change, = (c for c in d['changes'] if c['name'] == 'work')
        self.assertAlmostEqual(change['self_percent_before'], 40)
        self.assertAlmostEqual(change['self_percent_after'], 100 * 400 / 910, places=3)
        self.assertEqual(d['kind'], {'type': 'samples', 'unit': 'count'})
        self.assertEqual((d['before']['unit'], d['after']['unit']), ('count', 'nanoseconds'))
        page = self.path('x.html')
        self.assertEqual(run('diff', '-o', page, self.a, slow).returncode, 0)
        kinds = re.findall(r'"kinds":(\[.*?\]\])', self.read('x.html').decode())
        self.assertEqual([len(json.loads(k)) for k in kinds], [1, 1])

    def threads(self):
        """Twenty events of another kind."""
        data = self.read(os.path.basename(self.record('later.otlp', 'later')))
        return data.replace(b'samples', b'threads').replace(b'\x03cpu', b'\x03thr').replace(
            b'nanoseconds', b'nanoobjects')

    def test_the_main_kind_does_not_depend_on_the_order(self):
        samples, threads = self.read('a.otlp'), self.threads()
        first = self.write('first.otlp', samples + threads)
        last = self.write('last.otlp', threads + samples)
        for path in (first, last):
            d = self.json(path)
            self.assertEqual((d['kind']['type'], d['total']), ('samples', TOTAL))
            self.assertEqual(self.json('--kind=threads', path)['total'], TOTAL + 10)
            folded, told = self.folded(path)
            self.assertEqual(sum(folded.values()), TOTAL)
            self.assertIn('only samples', told)
            self.assertIn('threads', told)
            # A count that is no clock's has one column.
            self.assertEqual(self.columns(path), (
                {('samples', 'count'): TOTAL, ('cpu', 'nanoseconds'): TOTAL * 10_000_000,
                 ('threads', 'count'): TOTAL + 10}, 'cpu'))
            run('convert', '-o', self.path('x.html'), path)
            page = self.read('x.html').decode()
            kind = json.loads(re.search(r'"kinds":(\[.*?\]\])', page).group(1))[
                int(re.search(r'"main_kind":(\d+)', page).group(1))]
            strings = json.loads(re.search(r'"strings":(\[.*?\]),"functions"', page).group(1))
            self.assertEqual(strings[kind[0]], 'samples')
        for a, b in ((first, last), (last, first), (last, self.a)):
            d = json.loads(run('diff', '--format=json', a, b).stdout)
            self.assertEqual((d['kind']['type'], d['changes']), ('samples', []))
        self.assertIn(b'CPU time', run('diff', '--format=markdown', last, first).stdout)

    def test_folded_stacks_of_several_kinds_are_told_of(self):
        for kinds, told in (('cpu,threads', True), ('cpu', False), ('heap', False)):
            r = run('record', '-d', '0.1', '--kinds', kinds, '-o', self.path('x.folded'))
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertEqual(b'one kind of samples' in r.stderr, told)

    def test_kinds_that_cannot_be_compared(self):
        threads = self.write('threads.otlp', self.threads())
        r = run('diff', self.a, threads)
        self.assertEqual((r.returncode, r.stdout), (1, b''))
        self.assertIn(b'samples', r.stderr)
        self.assertIn(b'threads', r.stderr)


class Events(test_report.Recordings):
    """Of one event with two periods: values are events, whatever the period is."""
    EACH, ONE_IN_TEN = 1002, 10010

    def request(self, period, value, event='page_faults', unit='count', each='count'):
        q = Request()
        q.type = (event, unit, event, each, period)
        q.sample([q.frame('touch'), q.frame('main')], value)
        return recording(q.encode())

    def convert(self, form, path):
        r = run('convert', '-o', '-', '--format', form, path)
        self.assertEqual(r.returncode, 0, r.stderr)
        return r.stdout

    def check(self, path, total):
        d = self.json(path)
        self.assertEqual((d['kind']['type'], d['kind']['unit'], d['total']),
                         ('page_faults', 'count', total))
        self.assertEqual({row['name']: row['self'] for row in d['rows'] if row['self']},
                         {'touch': total})
        self.assertEqual(self.convert('folded', path), b'prog;main;touch %d\n' % total)
        weights = [p['weights'] for p in json.loads(self.convert('speedscope', path))['profiles']]
        self.assertEqual(len(weights), 1)
        self.assertEqual(sum(weights[0]), total)
        shown = json.loads(self.convert('firefox', path))['threads']
        self.assertEqual([sum(t['samples']['weight']) for t in shown], [total])
        run('convert', '-o', self.path('x.pb.gz'), path)
        # of a type without a clock there is one column
        profile = list(fields(gzip.decompress(self.read('x.pb.gz'))))
        self.assertEqual(len([v for n, v in profile if n == 1]), 1)
        self.assertEqual([varints(dict(fields(v))[2]) for n, v in profile if n == 2], [[total]])

    def test_two_periods(self):
        each = self.request(1, self.EACH)
        one_in_ten = self.request(10, self.ONE_IN_TEN)
        total = self.EACH + self.ONE_IN_TEN
        for i, both in enumerate((each + one_in_ten, one_in_ten + each)):
            self.check(self.write(f'{i}.otlp', both), total)
        files = [self.write(f'{i}.one.otlp', data) for i, data in enumerate((each, one_in_ten))]
        for order in (files, files[::-1]):
            self.assertEqual(self.json(*order)['total'], total)
            self.assertEqual(run('merge', '-o', self.path('m.otlp'), *order).returncode, 0)
            self.check(self.path('m.otlp'), total)

    def test_a_count_of_something_else(self):
        """Of samples with a period in bytes: there each stands for another number."""
        both = (self.request(1, self.EACH, 'page_faults', 'count', 'bytes') +
                self.request(10, self.ONE_IN_TEN, 'page_faults', 'count', 'bytes'))
        self.assertEqual(self.json(self.write('x.otlp', both))['total'], self.EACH)


class Locks(test_report.Recordings):
    """Waits for work or for another thread come last, because no thread holds a lock there."""
    WORKERS = (('serve', 'pthread_cond_wait', 40, 9_000_000_000),
               ('main', 'pthread_clockjoin', 60, 2_000_000_000))

    def report(self, contended, *args, kind=('delay', 'nanoseconds')):
        q = Request()
        q.type = (*kind, '', '', 0)
        waits = list(self.WORKERS)
        if contended:
            waits += [('book', 'pthread_mutex_lock', 20, contended)]
        for f, libc, line, value in waits:
            own = q.frame(f, '/srv/app.c', 1, line, module='/srv/app')
            q.sample([q.frame(libc, module='/lib/x86_64-linux-gnu/libc.so.6'), own], value,
                     [('lock.type', 'futex')])
        r = run('report', *args, q.write(self.path('locks.otlp')))
        self.assertEqual(r.returncode, 0, r.stderr)
        return r.stdout.decode()

    def test_a_lock_comes_first(self):
        lines = self.report(1_500_000_000).splitlines()
        self.assertIn('Threads waited 1.50 s for locks, and 11.00 s for work or other threads.',
                      lines)
        at = next(i for i, line in enumerate(lines) if line.startswith('YOUR CODE WAITS IN'))
        rows = (r'12\.0%    1\.50 s /srv/app\.c:20 +book, for a lock',
                r'72\.0%    9\.00 s /srv/app\.c:40 +serve, for another thread',
                r'16\.0%    2\.00 s /srv/app\.c:60 +main, for the end of another thread')
        for i, row in enumerate(rows):
            self.assertRegex(lines[at + 1 + i], '^  ' + row)
        path = lines[lines.index('HOTTEST PATH, callers first'):][:4]
        self.assertRegex('\n'.join(path), r' 12\.0% /srv/app\.c:20 +book')
        text = self.report(1_500_000_000, '--format=markdown')
        self.assertIn('book', text.split('serve', 1)[0])

    def test_no_thread_waited_for_a_lock(self):
        lines = self.report(0).splitlines()
        self.assertIn('No thread waited for a lock. They waited 11.00 s: 82% for another thread, '
                      '18% for the end of another thread.', lines)
        self.assertNotIn('HOTTEST PATH, callers first', lines)
        self.assertRegex('\n'.join(lines), r'9\.00 s /srv/app\.c:40 +serve, for another thread')

    def test_counts_have_the_same_order(self):
        text = self.report(5, kind=('contentions', 'count'))
        self.assertLess(text.index('book, for a lock'), text.index('serve, for another thread'))

    def test_all_waits_are_for_locks(self):
        self.addCleanup(setattr, Locks, 'WORKERS', self.WORKERS)
        Locks.WORKERS = ()
        self.assertIn('\n1.50 s: 100% for a lock.\n', self.report(1_500_000_000))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
