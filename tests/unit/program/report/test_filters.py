# SPDX-License-Identifier: Apache-2.0
"""Each filter in each command that reads recordings. What passes is worked out here, from the list of
events, and a recording that a command writes is read by the tests' own reader.

usage: test_filters.py PROGRAM
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve()
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1]), str(HERE.parents[3] / 'live/framework')]
import otlp  # noqa: E402
from hostile import Table, number, numbers, piece, varint  # noqa: E402
from test_mcp import Session  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
START = 1_700_000_000
WINDOW = 10
ID = 'ab12' * 16
OTHER = 'ab99' * 16
CPU = ('samples', 'count', 'cpu', 'nanoseconds', 10_000_000)
OFF = ('off_cpu', 'nanoseconds', '', '', 0)
LOCKS = ('delay', 'nanoseconds', '', '', 0)

# Leaf first: function, module, source file, line; the outermost function of a program last.
MAIN = ('main', '/usr/bin/web', '/src/web/main.c', 10)
PARSE = ('parse<int, (x)>', '/usr/bin/web', '/src/web/parse.c', 7)
READ = ('ksys_read', 'vmlinux', '', 0)
WORK = ('doit', '', '/app/job.py', 12)
EVAL = ('_PyEval_Frame', '/lib/libpython3.11.so', '', 0)


def event(kind, pid, program, thread, frames, times, **more):
    return dict(dict(kind=kind, pid=pid, program=program, thread=thread, frames=frames, times=times,
                     value=1, container=('', ''), labels={}, link=None, resource={}), **more)


JOE = {'process.owner': 'joe', 'process.real_user.id': 1000, 'process.linux.cgroup': '0::/user.slice/joe.scope'}
SHOP = {'process.real_user.id': 0, 'process.linux.cgroup': '0::/shop.slice/web', 'k8s.pod.uid': 'aa-bb'}

EVENTS = [
    event(CPU, 100, 'web', ('worker', 101), [PARSE, MAIN], [0.5, 1.5, 6.5], container=(ID, ''),
          labels={'route': '/a'}, link=('ab' * 16, '01' * 8)),
    event(CPU, 100, 'web', ('worker', 102), [READ, MAIN], [2.5, 7.5], container=(ID, ''),
          labels={'route': '/b', 'shard': 7}, link=('abcd' + '00' * 14, '02' * 8)),
    event(CPU, 200, 'job', ('main', 200), [WORK, EVAL, MAIN], [1.0, 2.0, 3.0, 9.0],
          container=('', 'nspawn-1'), resource=JOE),
    event(CPU, 300, 'web', ('main', 300), [MAIN], [4.0], container=(OTHER, 'shop'), resource=SHOP),
    event(OFF, 100, 'web', ('worker', 101), [READ, PARSE, MAIN], [1.0, 8.0], value=30, container=(ID, ''),
          labels={'off_cpu.reason': 'futex'}),
    event(OFF, 200, 'job', ('main', 200), [READ, WORK, EVAL], [2.0], value=500,
          container=('', 'nspawn-1'), labels={'off_cpu.reason': 'io'}, resource=JOE),
    # A sum has no times of its own: it is of the middle of its window.
    event(LOCKS, 300, 'web', ('main', 300), [PARSE, MAIN], None, value=4000, container=(OTHER, 'shop')),
]


class Writer:
    """The events as one request, written from the published field numbers."""

    def __init__(self):
        self.tables = {n: Table() for n in range(1, 8)}
        self.resources = []

    def string(self, text):
        return self.tables[5].add(text.encode())

    def any(self, value):
        return number(3, value) if isinstance(value, int) else piece(1, value)

    def attribute(self, key, value):
        return self.tables[6].add(number(1, self.string(key)) + piece(2, self.any(value)))

    def location(self, frame):
        name, module, file, line = frame
        mapping = self.tables[1].add(number(2, 0x1000) + number(4, self.string(module))) if module else 0
        function = self.tables[3].add(number(1, self.string(name)) + number(3, self.string(file)))
        return self.tables[2].add(number(1, mapping) + number(2, 64 * self.string(name)) + piece(
            3, number(1, function) + number(2, line)))

    def sample(self, e):
        attributes = {'thread.name': e['thread'][0], 'thread.id': e['thread'][1], **e['labels']}
        link = e['link']
        out = number(1, self.tables[7].add(numbers(1, [self.location(f) for f in e['frames']])))
        out += numbers(2, [self.attribute(k, v) for k, v in attributes.items()])
        if link:
            out += number(3, self.tables[4].add(piece(1, bytes.fromhex(link[0])) +
                                                piece(2, bytes.fromhex(link[1]))))
        if e['kind'] != CPU:
            out += piece(4, varint(e['value']) * len(e['times'] or [0]))
        if e['times']:
            out += piece(5, b''.join(nanoseconds(t).to_bytes(8, 'little') for t in e['times']))
        return out

    def add(self, events):
        """One resource and profile, of what the events have in common."""
        e = events[0]
        about = {'process.pid': e['pid'], 'process.executable.name': e['program'], **e['resource']}
        about.update({k: v for k, v in zip(('container.id', 'container.name'), e['container']) if v})
        kind, unit, period_type, period_unit, period = e['kind']
        profile = piece(1, number(1, self.string(kind)) + number(2, self.string(unit)))
        profile += b''.join(piece(2, self.sample(x)) for x in events)
        profile += varint(3 << 3 | 1) + nanoseconds(0).to_bytes(8, 'little') + number(4, nanoseconds(
            WINDOW) - nanoseconds(0))
        if period:
            profile += piece(5, number(1, self.string(period_type)) + number(2, self.string(period_unit)))
            profile += number(6, period)
        resource = b''.join(piece(1, piece(1, k) + piece(2, self.any(v))) for k, v in about.items())
        self.resources.append(piece(1, resource) + piece(2, piece(2, profile)))

    def request(self):
        tables = b''.join(piece(n, e) for n, entries in self.tables.items() for e in entries)
        return b''.join(piece(1, r) for r in self.resources) + piece(2, tables)


class Quick(list):
    """A table that says each entry again."""

    def add(self, entry):
        self.append(entry)
        return len(self) - 1


def nanoseconds(seconds):
    return int((START + seconds) * 1000) * 1_000_000


def recording(events):
    w = Writer()
    for e in events:
        w.add([e])
    data = w.request()
    return len(data).to_bytes(4, 'big') + data


def frames_match(e, text):
    return any(re.search(text, part.rsplit('/', 1)[-1]) for frame in e['frames'] for part in frame[:3] if part)


def in_time(low, high):
    """Of an event the times that are inside; of one without times all or nothing."""
    def cut(e):
        if not e['times']:
            return e if low <= WINDOW / 2 < high else None
        times = [t for t in e['times'] if low <= t < high]
        return dict(e, times=times) if times else None
    return cut


def keep(test):
    return lambda e: e if test(e) else None


def clock(seconds):
    return time.strftime('%H:%M:%S', time.localtime(START + seconds))


# The options, and what is left of an event.
FILTERS = {
    ('--kind', 'cpu'): keep(lambda e: e['kind'] == CPU),
    ('--kind', 'off_cpu'): keep(lambda e: e['kind'] == OFF),
    ('--kind', 'locks'): keep(lambda e: e['kind'] == LOCKS),
    ('-p', '100'): keep(lambda e: e['pid'] == 100),
    ('--pid', '200'): keep(lambda e: e['pid'] == 200),
    ('--program', 'job'): keep(lambda e: e['program'] == 'job'),
    ('--thread', 'worker'): keep(lambda e: e['thread'][0] == 'worker'),
    ('--thread', '102'): keep(lambda e: e['thread'][1] == 102),
    ('--container', 'ab12'): keep(lambda e: e['container'][0] == ID),
    ('--container', 'nspawn-1'): keep(lambda e: e['container'][1] == 'nspawn-1'),
    ('--container', 'shop'): keep(lambda e: e['container'][1] == 'shop'),
    ('--comm', 'worker'): keep(lambda e: e['thread'][0] == 'worker'),
    ('--user', '1000'): keep(lambda e: e['resource'] == JOE),
    ('--user', 'root'): keep(lambda e: e['resource'] == SHOP),
    ('--pod', 'aa-bb'): keep(lambda e: e['resource'] == SHOP),
    ('--cgroup', '/user.slice'): keep(lambda e: e['resource'] == JOE),
    ('--cgroup', '/shop.slice/web/'): keep(lambda e: e['resource'] == SHOP),
    ('--cgroup', '/sys/fs/cgroup/shop.slice'): keep(lambda e: e['resource'] == SHOP),
    ('--cgroup', '/'): keep(lambda e: e['resource']),
    ('--focus', 'parse'): keep(lambda e: frames_match(e, 'parse')),
    ('--focus', '^doit$'): keep(lambda e: frames_match(e, '^doit$')),
    ('--focus', 'parse<int, (x)>'): keep(lambda e: PARSE in e['frames']),
    ('--focus', 'libpython'): keep(lambda e: EVAL in e['frames']),
    ('--focus', 'doit', '--focus', 'ksys'): keep(lambda e: WORK in e['frames'] or READ in e['frames']),
    ('--ignore', 'ksys|Eval'): keep(lambda e: not frames_match(e, 'ksys|Eval')),
    ('--ignore', r'^job\.py$'): keep(lambda e: WORK not in e['frames']),
    ('--focus', 'main', '--ignore', 'read'): keep(lambda e: MAIN in e['frames'] and
                                                  READ not in e['frames']),
    ('--label', 'route=/a'): keep(lambda e: e['labels'].get('route') == '/a'),
    ('--label', 'shard=7'): keep(lambda e: e['labels'].get('shard') == 7),
    ('--label', 'off_cpu.reason=futex'): keep(lambda e: e['labels'].get('off_cpu.reason') == 'futex'),
    ('--label', 'process.owner=joe'): keep(lambda e: 'process.owner' in e['resource']),
    ('--label', 'route=/b', '--label', 'shard=7'): keep(lambda e: 'shard' in e['labels']),
    ('--trace', 'ab' * 16): keep(lambda e: e['link'] and e['link'][0] == 'ab' * 16),
    ('--trace', 'abc'): keep(lambda e: e['link'] and e['link'][0].startswith('abc')),
    ('--span', '02'): keep(lambda e: e['link'] and e['link'][1].startswith('02')),
    ('--from', '2'): in_time(2, 99),
    ('--to', '2.5s'): in_time(-1, 2.5),
    ('--from', '1', '--to', '8'): in_time(1, 8),
    ('--from', clock(3)): in_time(3, 99),
    ('--from', clock(1), '--to', clock(4)): in_time(1, 4),
    ('-p', '100', '--label', 'route=/b', '--to', '5'): lambda e: e['labels'].get('route') == '/b' and
    in_time(-1, 5)(e),
}


def passing(left):
    return [e for e in map(left, EVENTS) if e]


def totals(events):
    """Type: the sum of the values."""
    sums = {}
    for e in events:
        name = e['kind'][0]
        sums[name] = sums.get(name, 0) + e['value'] * len(e['times'] or [0])
    return sums


class Filters(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.file = str(cls.folder / 'all.otlp')
        (cls.folder / 'all.otlp').write_bytes(recording(EVENTS))

    def run_it(self, *args, status=0, **kwargs):
        r = subprocess.run([PROGRAM, *args], capture_output=True, text=True, timeout=60, cwd=self.folder,
                           **kwargs)
        self.assertEqual(r.returncode, status, (args, r.stderr))
        return r

    def json(self, *args):
        return json.loads(self.run_it(*args).stdout)

    def totals_of(self, path):
        """Type: the sum of the values, by another reader."""
        sums = {}
        for s in otlp.read_file(path).samples:
            value = sum(s.values) if s.values else len(s.timestamps)
            name = s.sample_type[0]
            sums[name] = sums.get(name, 0) + value
        return sums

    def test_report(self):
        for options, left in FILTERS.items():
            events = passing(left)
            with self.subTest(options):
                for name, total in totals(events).items():
                    kind = [] if '--kind' in options else ['--kind', name]
                    d = self.json('report', '--format=json', *kind, *options, self.file)
                    self.assertEqual((d['kind']['type'], d['total']), (name, total))

    def test_merge_and_convert_write_what_passes(self):
        for options, left in FILTERS.items():
            events = passing(left)
            with self.subTest(options):
                for command in ('merge', 'convert'):
                    path = self.folder / 'out.otlp'
                    self.run_it(command, '-o', str(path), *options, self.file)
                    self.assertEqual(self.totals_of(path), totals(events), command)
                    # Of others nothing is left, not even a name.
                    data = path.read_bytes()
                    names = {f[0] for e in events for f in e['frames']}
                    for frame in (MAIN, PARSE, READ, WORK, EVAL):
                        self.assertEqual(frame[0].encode() in data, frame[0] in names, frame)
                    self.assertEqual(b'joe' in data, any(e['resource'] == JOE for e in events))

    def test_convert(self):
        for options, left in FILTERS.items():
            for name in totals(passing(left)):
                kind = [] if '--kind' in options else ['--kind', name]
                wanted = {}
                for e in passing(left):
                    if e['kind'][0] == name:
                        stack = ';'.join([e['program'], *(f[0] for f in reversed(e['frames']))])
                        wanted[stack] = wanted.get(stack, 0) + e['value'] * len(e['times'] or [0])
                with self.subTest(options + (name,)):
                    r = self.run_it('convert', '-o', '-', '--format=folded', *kind, *options, self.file)
                    lines = dict(line.rsplit(' ', 1) for line in r.stdout.splitlines())
                    self.assertEqual({k: int(v) for k, v in lines.items()}, wanted)
                    page = self.folder / 'out.html'
                    self.run_it('convert', '-o', str(page), *kind, *options, self.file)
                    data = re.search(r'"strings":(\[.*?\]),"functions":(\[\[.*?\]\])', page.read_text())
                    strings, functions = map(json.loads, data.groups())
                    self.assertEqual({f[0] for f in (MAIN, PARSE, READ, WORK, EVAL)} & {
                        strings[f[0]] for f in functions}, {
                            n for s in wanted for n in s.split(';')} - {'web', 'job'})

    def test_diff(self):
        for options, left in FILTERS.items():
            with self.subTest(options):
                for name, total in totals(passing(left)).items():
                    kind = [] if '--kind' in options else ['--kind', name]
                    d = self.json('diff', '--format=json', *kind, *options, self.file, self.file)
                    self.assertEqual((d['before']['total'], d['after']['total'], d['kind']['type']),
                                     (total, total, name))

    def test_mcp(self):
        s = Session()
        self.addCleanup(s.close)
        for options, left in FILTERS.items():
            arguments = {}
            for option, value in zip(options[::2], options[1::2]):
                name = {'-p': 'pid', '--comm': 'thread'}.get(option, option.strip('-'))
                if name in ('focus', 'ignore', 'label'):
                    arguments.setdefault(name, []).append(value)
                else:
                    arguments[name] = int(value) if name == 'pid' else value
            for name, total in totals(passing(left)).items():
                with self.subTest(arguments, kind=name):
                    answer = s.ask('tools/call', {'name': 'report', 'arguments': {
                        'kind': name, **arguments, 'file': self.file}})
                    if not answer.get('result'):
                        self.skipTest('built without mcp')
                    data = answer['result'].get('structuredContent')
                    self.assertEqual(data and data['total'], total, answer)

    def test_a_group_is_not_the_beginning_of_its_name(self):
        r = self.run_it('report', '--cgroup', '/shop.sl', self.file, status=1)
        self.assertIn('no samples with control group /shop.sl', r.stderr)
        self.assertIn('takes a path', self.run_it('report', '--cgroup', 'shop', self.file, status=2).stderr)
        self.assertIn('there is no user "nobody-has-this"',
                      self.run_it('report', '--user', 'nobody-has-this', self.file, status=1).stderr)

    def test_hide(self):
        rows = self.json('report', '--format=json', '--hide', '_PyEval|^vmlinux$', self.file)
        self.assertEqual(rows['total'], totals(EVENTS)['samples'])
        self_of = {r['name']: r['self'] for r in rows['rows']}
        self.assertEqual(self_of, {PARSE[0]: 3, 'main': 3, 'doit': 4})
        r = self.run_it('convert', '-o', '-', '--format=folded', '--hide', '.', self.file)
        self.assertEqual(r.stdout, 'job 4\nweb 6\n')
        for command in ('merge', 'convert'):
            self.run_it(command, '-o', 'x.otlp', '--hide', 'x', self.file, status=2)

    def test_by(self):
        def rows(by, *args):
            d = self.json('report', '--format=json', '--by', by, *args, self.file)
            self.assertEqual(d['by'], by.split(':')[0])
            return {r['name']: r['total'] for r in d['rows']}
        self.assertEqual(rows('label:route'), {'/a': 3, '/b': 2, '[none]': 5})
        self.assertEqual(rows('label:shard'), {'7': 2, '[none]': 8})
        self.assertEqual(rows('label:process.owner'), {'joe': 4, '[none]': 6})
        self.assertEqual(rows('label:off_cpu.reason', '--kind=off_cpu'), {'io': 500, 'futex': 60})
        self.assertEqual(rows('line'), {'/src/web/main.c:10': 10, '/src/web/parse.c:7': 3, '/app/job.py:12': 4,
                                        '/lib/libpython3.11.so [no line]': 4, 'vmlinux [no line]': 2})
        self.assertEqual(rows('file'), {'/src/web/main.c': 10, '/src/web/parse.c': 3, '/app/job.py': 4,
                                        '/lib/libpython3.11.so': 4, 'vmlinux': 2})
        self.assertEqual(rows('container'), {ID[:12]: 5, 'nspawn-1': 4, OTHER[:12]: 1})
        self.assertEqual(rows('trace'), {'ab' * 16: 3, 'abcd' + '00' * 14: 2, '[no trace]': 5})
        d = self.json('report', '--format=json', '--by=line', self.file)
        self.assertEqual({r['name']: r['self'] for r in d['rows'] if r['self']},
                         {'/src/web/parse.c:7': 3, '/app/job.py:12': 4, 'vmlinux [no line]': 2,
                          '/src/web/main.c:10': 1})
        for by in ('label:', 'lines', 'label', ''):
            r = self.run_it('report', '--by', by, self.file, status=2)
            self.assertIn('label:KEY', r.stderr)

    def test_a_kind_is_named_by_word_type_or_unit(self):
        for name, kind in (('cpu', 'samples'), ('samples/count', 'samples'), ('locks', 'delay'),
                           ('delay', 'delay'), ('delay/nanoseconds', 'delay'), ('no,locks', 'delay'),
                           ('off_cpu', 'off_cpu')):
            d = self.json('report', '--format=json', '--kind', name, self.file)
            self.assertEqual(d['kind']['type'], kind, name)
        for name in ('delay/count', 'lock', '', ',', 'cpu/', 'off_cpu/'):
            self.run_it('report', '--kind', name, self.file, status=1)

    def test_what_is_missing_is_said(self):
        for command, options, says in (
                ('report', ['--container', 'zz'], 'container "zz"'),
                ('convert', ['--container', 'zz'], 'container "zz"'),
                ('merge', ['--program', 'wep'], 'did you mean "web"'),
                ('merge', ['--kind', 'heap'], 'kind "heap"'),
                ('convert', ['--label', 'route=/x'], 'with route=/x'),
                ('report', ['--trace', '99'], 'with trace 99'),
                ('diff', ['--from', '60'], 'in the time that is asked for'),
                ('convert', ['--focus', 'nosuch'], 'no stacks that --focus and --ignore let pass'),
                ('report', ['--focus', 'nosuch'], 'no stacks that --focus and --ignore let pass'),
                ('merge', ['--focus', 'nosuch'], 'no stacks that --focus and --ignore let pass'),
                ('merge', ['-p', '100', '--program', 'job'], 'process 100 is "web", not "job"')):
            files = [self.file] * (2 if command == 'diff' else 1)
            out = ['-o', 'missing.html' if command == 'convert' else 'missing.otlp'] \
                if command in ('convert', 'merge') else []
            r = self.run_it(command, *options, *out, *files, status=1)
            self.assertIn(says, r.stderr)
            self.assertEqual((r.stdout, list(self.folder.glob('missing*'))), ('', []))
            with open(self.file, 'rb') as f:
                if command != 'diff':
                    r = self.run_it(command, *options, *out, '-', status=1, stdin=f)
            self.assertTrue(r.stderr)

    def test_mistakes(self):
        for options, says in ((['--focus', '('], 'regular expression'), (['--hide', r'(a)\1'], 'refers back'),
                              (['--ignore', '((a{9}){9}){9}'], 'too often'),
                              (['--focus', 'a)(b'], ') without a ('),
                              *((['--focus', repeated * 16 + 'b'], 'too often') for repeated in (
                                  '(a*)*', 'a**', 'a*+', 'a?*', '(a*){1,}', '(a*){,}', 'a*{0,}')),
                              (['--focus', ''], 'empty'), (['--focus', 'x' * 2000], 'too long'),
                              (['--label', 'x'], 'KEY=VALUE'), (['--label', '=x'], 'KEY=VALUE'),
                              (['--trace', 'xyz'], 'hexadecimal'), (['--span', '1' * 17], 'hexadecimal'),
                              (['--from', 'noon'], 'seconds since the start'), (['--to', '25:00'], '14:30:05'),
                              (['--to', '-1'], '14:30:05'), (['--thread', ''], 'a name'),
                              (['-p', 'x'], 'x')):
            for command in ('report', 'convert', 'merge', 'diff'):
                if command == 'merge' and '--hide' in options:
                    continue
                files = [self.file] * (2 if command == 'diff' else 1)
                out = ['-o', 'x.otlp'] if command in ('convert', 'merge') else []
                r = self.run_it(command, *options, *out, *files, status=2)
                self.assertIn(says, r.stderr, (command, options))

    def test_names_of_others_take_no_time(self):
        """Long names and many of them, and expressions that take long elsewhere."""
        names = ['a' * 60000 + str(i) for i in range(200)] + [f'x{i}' for i in range(20000)]
        w = Writer()
        w.tables = {n: Quick([b'']) for n in w.tables}
        w.add([event(CPU, 1, 'p', ('t', 1), [(n, '', '', 0)], [1.0]) for n in names])
        path = self.folder / 'long.otlp'
        data = w.request()
        path.write_bytes(len(data).to_bytes(4, 'big') + data)
        for text in ('a.*b', '(a*)*b', '(a|aa)+$', '(.*)(.*)(.*)(.*)b', 'x1.*9'):
            began = os.times().children_user
            self.run_it('report', '--focus', text, '--ignore', '.*nothing', '--no-lines', str(path),
                        status=0 if re.search('^x|\\$', text) else 1)
            self.assertLess(os.times().children_user - began, 5, text)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
