# SPDX-License-Identifier: Apache-2.0
"""report, diff, convert and merge on recordings whose ten events are known (request.h), and on
files that are none. Sums are worked out here from the list below, not from other outputs.

usage: test_report.py PROGRAM
"""
import fcntl
import gzip
import json
import os
import re
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from hostile import Request, recording  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])

# Program, frames from the outermost in, events; as request.h has them.
EVENTS = [('web', ['main', 'handle', 'parse'], 3),
          ('web', ['main', 'handle', 'ksys_read'], 2),
          ('python', ['main', '<module>', 'work'], 4),
          ('evil', ['EVIL', 'a;b'], 1)]
TOTAL = sum(n for _, _, n in EVENTS)


def run(*args, **kwargs):
    return subprocess.run([PROGRAM, *args], env=dict(os.environ, NO_COLOR='1'),
                          capture_output=True, timeout=60, **kwargs)


def self_of(name):
    return sum(n for _, frames, n in EVENTS if frames[-1] == name)


def total_of(name):
    return sum(n for _, frames, n in EVENTS if name in frames)


# Columns of the tables of a thread, and what their numbers are indices of.
COLUMNS = {
    'stackTable': {'frame': 'frameTable', 'prefix': 'stackTable'},
    'frameTable': {'address': None, 'inlineDepth': None, 'category': 'categories',
                   'subcategory': None, 'func': 'funcTable', 'nativeSymbol': 'nativeSymbols',
                   'innerWindowID': None, 'line': None, 'column': None},
    'funcTable': {'name': 'strings', 'isJS': None, 'relevantForJS': None,
                  'resource': 'resourceTable', 'fileName': 'strings', 'lineNumber': None,
                  'columnNumber': None},
    'resourceTable': {'lib': 'libs', 'name': 'strings', 'host': 'strings', 'type': None},
    'nativeSymbols': {'libIndex': 'libs', 'address': None, 'name': 'strings',
                      'functionSize': None},
    'samples': {'stack': 'stackTable', 'time': None, 'weight': None},
    'markers': {'data': None, 'name': 'strings', 'startTime': None, 'endTime': None,
                'phase': None, 'category': 'categories'},
}
THREAD_KEYS = {'processType', 'processStartupTime', 'processShutdownTime', 'registerTime',
               'unregisterTime', 'pausedRanges', 'name', 'isMainThread', 'pid', 'tid'}


def check_thread(test, profile, thread):
    """Every table has its columns, of one length, with indices of what there is."""
    sizes = {name: thread[name]['length'] for name in COLUMNS}
    sizes.update(strings=len(profile['shared']['stringArray']), libs=len(profile['libs']),
                 categories=len(profile['meta']['categories']))
    test.assertLessEqual(THREAD_KEYS, set(thread))
    test.assertIsInstance(thread['pid'], str)
    for name, columns in COLUMNS.items():
        table = thread[name]
        test.assertEqual(set(table) - {'length', 'weightType'}, set(columns), name)
        for column, of in columns.items():
            values = table[column]
            test.assertEqual(len(values), table['length'], (name, column))
            for value in values if of else []:
                if value is not None and (column != 'resource' or value != -1):
                    test.assertTrue(0 <= value < sizes[of], (name, column, value))
    for i, prefix in enumerate(thread['stackTable']['prefix']):
        test.assertTrue(prefix is None or prefix < i)


def fields(data):
    """(number, value) of each field of an encoded message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        elif tag & 7 == 1:
            at += 8
            yield tag >> 3, data[at - 8:at]
        else:
            size = varint()
            at += size
            yield tag >> 3, data[at - size:at]


def requests(data):
    """The requests of a recording."""
    while data:
        size, = struct.unpack('>I', data[:4])
        yield data[4:4 + size]
        data = data[4 + size:]


def dictionary(request):
    """Table number: its entries."""
    tables = {}
    for number, value in fields(dict(fields(request))[2]):
        tables.setdefault(number, []).append(value)
    return tables


class Recordings(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.a = self.path('a.otlp')
        r = run('record', '-d', '0.1', '-o', self.a)
        self.assertEqual(r.returncode, 0, r.stderr)

    def path(self, name):
        return os.path.join(self.dir.name, name)

    def write(self, name, data):
        with open(self.path(name), 'wb') as f:
            f.write(data)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), 'rb') as f:
            return f.read()

    def report(self, *args, status=0, **kwargs):
        r = run('report', *args, **kwargs)
        self.assertEqual(r.returncode, status, r.stderr)
        return r.stdout.decode()

    def json(self, *args):
        return json.loads(self.report('--format=json', *args))


class Report(Recordings):
    def test_functions(self):
        d = self.json(self.a)
        self.assertEqual((d['schema'], d['version'], d['total'], d['processes']),
                         ('otelprof.report', 2, TOTAL, 3))
        rows = {row['name']: row for row in d['rows']}
        for name in ('main', 'handle', 'parse', 'ksys_read', '<module>', 'work', 'a;b'):
            self.assertEqual((rows[name]['self'], rows[name]['total']),
                             (self_of(name), total_of(name)), name)
        self.assertEqual(rows['work']['file'], 'app.py')
        self.assertEqual(rows['work']['line'], 12)
        self.assertEqual(rows['handle']['line'], 25) # 3 events there, 2 at line 30
        self.assertEqual(d['rows_known'], len(d['rows']))

    def test_several_files_add_up(self):
        d = self.json(self.a, self.a)
        self.assertEqual(d['total'], 2 * TOTAL)

    def test_standard_input(self):
        with open(self.a, 'rb') as f:
            d = json.loads(self.report('--format=json', '-', stdin=f))
        self.assertEqual(d['total'], TOTAL)
        for args, want in ((['report', '-'], b'standard input: 100.0 ms'),
                           (['report', '--format=markdown', '-'], b'# Profile `standard input`'),
                           (['diff', '-', self.a], b' before (standard input), ')):
            with open(self.a, 'rb') as f:
                self.assertIn(want, run(*args, stdin=f).stdout)
        self.assertIn(b'standard input is empty', run('report', '-', input=b'').stderr)

    def test_a_request_of_the_sink_has_no_length(self):
        d = self.json(self.write('profiles-000001.otlp', self.read('a.otlp')[4:]))
        self.assertEqual(d['total'], TOTAL)

    def test_by(self):
        for by, want in (('program', {'web': 5, 'python': 4, 'evil': 1}),
                         ('process', {'web (100)': 5, 'python (200)': 4, 'evil (300)': 1}),
                         ('thread', {'worker': 5, 'MainThread': 4, '?': 1})):
            rows = {row['name']: row['total'] for row in self.json('--by', by, self.a)['rows']}
            self.assertEqual(rows, want)
        # What is interpreted is of no module, but of a file.
        rows = {row['name']: row for row in self.json('--by=module', self.a)['rows']}
        self.assertEqual((rows['app.py']['self'], rows['app.py']['total']), (4, 4))

    def test_one_more_is_there(self):
        files = []
        for name in 'abcdef':
            files.append(self.path(name + '.otlp'))
            subprocess.run([PROGRAM, 'record', '-q', '-d', '0.1', '-o', files[-1]], check=True,
                           env=dict(os.environ, FAKE_OTELPROF='name=function_' + name), timeout=60,
                           capture_output=True)
        r = run('report', '--callers=zzzzzzzz', *files)
        self.assertTrue(r.stderr.endswith(b', and there is 1 more\n'), r.stderr)

    def test_by_container_service_and_trace(self):
        """A trace has samples of two services; what has none of it is a row too."""
        path = self.path('traced.otlp')
        r = subprocess.run([PROGRAM, 'record', '-d', '0.1', '-o', path], capture_output=True,
                           env=dict(os.environ, FAKE_OTELPROF='traced'), timeout=60)
        self.assertEqual(r.returncode, 0, r.stderr)
        for by, want in (('container', {'0123456789ab': 3, '[no container]': 7}),
                         ('service', {'shop': 3, 'cart': 3, '[no service name]': 4}),
                         ('trace', {'ab' * 16: 4, 'cd' * 16: 2, '[no trace]': 4})):
            rows = {row['name']: row['total'] for row in self.json('--by', by, path)['rows']}
            self.assertEqual(rows, want)
        self.assertEqual(run('diff', '--by=trace', path, path).returncode, 2)
        # A link is nothing that tells stacks apart otherwise.
        self.assertEqual(len(self.json('--tree', path)['tree']), 2)

    def test_least_share(self):
        """What has it in total is shown, however little of that is its own."""
        rows = [r['name'] for r in self.json('--min=45', self.a)['rows']]
        self.assertEqual(rows, ['main', 'handle'])
        self.assertIn('and 6 below 45% (--min 0 shows them)', self.report('--min=45', self.a))
        self.assertIn('and 1 more (-n 2 shows all), 6 below 45%',
                      self.report('--min=45', '-n', '1', self.a))

    def test_filters(self):
        self.assertEqual(self.json('--program=web', self.a)['total'], 5)
        self.assertEqual(self.json('-p', '200', self.a)['total'], 4)
        self.assertEqual(self.json('--thread=worker', self.a)['total'], 5)
        # Container tools show the beginning of an id.
        for part in ('0123456789ab', '0123456789abcdef' * 4):
            self.assertEqual(self.json('--container', part, self.a)['total'], 5)

    def nothing(self, *args):
        """What is said where a request finds nothing; it is said in lines of a readable length."""
        r = run('report', *args)
        self.assertEqual((r.returncode, r.stdout), (1, b''), args)
        said = r.stderr.decode()
        self.assertNotIn('\x1b', said)
        self.assertLess(max(map(len, said.splitlines())), 700)
        return said

    def test_what_is_not_there_is_named(self):
        """And what comes near; where nothing does, what has the most samples."""
        for args, name, near in (
                (['-p', '4'], 'process 4', ['100 (web), 200 (python), 300 (evil)']),
                (['--program=wbe'], '"wbe"', ['"web"?']),
                (['--program=/usr/bin/PYTHON'], '"/usr/bin/PYTHON"', ['"python"?']),
                (['--program=zzzzzz'], '"zzzzzz"', ['"web", "python", "evil"']),
                (['--thread=workers'], '"workers"', ['"worker"?']),
                (['--thread=zzzzzz'], '"zzzzzz"', ['"worker", "MainThread"']),
                (['--container=feed'], '"feed"', ['"0123456789ab"']),
                (['--kind=cpuu'], '"cpuu"', ['"cpu"']),
                (['--callers=prase'], '"prase"', ['"parse"?']),
                (['--callees=WORK'], '"WORK"', ['"work"?']),
                (['--callers=qqqqqqqq'], '"qqqqqqqq"', ['"main", "handle", "work"'])):
            said = self.nothing(*args, self.a)
            self.assertIn(name, said.splitlines()[0], said)
            for text in near:
                self.assertIn(text, said)

    def test_filters_that_exclude_each_other(self):
        self.assertIn('process 200 is "python", not "web"',
                      self.nothing('-p', '200', '--program=web', self.a))
        # What is asked for is there, but not in what the filter leaves.
        said = self.nothing('--callers=parse', '--program=python', self.a)
        self.assertRegex(said, r'"parse" .*without --program')
        said = self.nothing('--callers=parse', '-p', '200', self.a)
        self.assertRegex(said, r'"parse" .*without -p')
        said = self.nothing('--thread=worker', '--program=python', self.a)
        self.assertRegex(said, r'"worker" .*without --program')

    def test_hostile_names_are_not_suggested_as_they_are(self):
        path = self.path('hostile.otlp')
        r = subprocess.run([PROGRAM, 'record', '-d', '0.1', '-o', path], capture_output=True,
                           env=dict(os.environ, FAKE_OTELPROF='name=\x1b[31m' + 'x' * 5000),
                           timeout=60)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn('\\x1b[31mxxxx', self.nothing('--callers=\x1b]0;title', path))

    def test_tree(self):
        nodes = self.json('--tree', self.a)['tree']
        self.assertEqual([(n['name'], n['total']) for n in nodes if n['depth'] == 0],
                         [('web', 5), ('python', 4), ('evil', 1)])
        names = [n['name'] for n in nodes]
        at = names.index('handle')
        self.assertEqual([(n['name'], n['total'], n['depth']) for n in nodes[at:at + 3]],
                         [('handle', 5, 2), ('parse', 3, 3), ('ksys_read', 2, 3)])

    def test_callers_and_callees(self):
        nodes = self.json('--callers=ksys', self.a)['tree']
        self.assertEqual([(n['name'], n['total']) for n in nodes],
                         [('ksys_read', 2), ('handle', 2), ('main', 2), ('web', 2)])
        nodes = self.json('--callees=handle', self.a)['tree']
        self.assertEqual([(n['name'], n['total']) for n in nodes],
                         [('handle', 5), ('parse', 3), ('ksys_read', 2)])

    def test_text(self):
        text = self.report(self.a)
        self.assertIn('100.0 ms of CPU time, 100 Hz per CPU, in 3 processes',
                      text)
        self.assertRegex(text, r'(?m)^ 40\.00%  40\.00%  app\.py +app\.py:12 +work$')
        self.assertIn('Whole stacks: 100.00%. Frames with names: 100.00%.', text)
        self.assertIn('and 6 more', self.report('-n', '2', self.a))

    def convert(self, form, path):
        """What is written, and what is said."""
        r = subprocess.run([PROGRAM, 'convert', '--format', form, '-o', '-', path],
                           capture_output=True, check=True, timeout=60)
        return r.stdout, r.stderr.decode()

    def test_quality(self):
        """request.h counts the frames of "poor": 28, of which 15 have no name; the summary
        of record says the same."""
        path = self.path('poor.otlp')
        r = subprocess.run([PROGRAM, 'record', '-d', '0.1', '-o', path], capture_output=True,
                           env=dict(os.environ, FAKE_OTELPROF='poor'), timeout=60)
        self.assertIn(b'46.4%  of the frames have names', r.stderr)
        d = self.json(path)['quality']
        self.assertEqual((d['named_frames_percent'], d['whole_stacks_percent']), (46.43, 50))
        self.assertEqual(d['lost_samples_percent'], 23.0769)
        words = '23.1% of the samples were lost. All values are too small by that share.'
        self.assertIn(words, self.report(path))
        self.assertIn('- ' + words, self.report('--format=markdown', path))
        words = 'samples: ' + words
        said = {form: self.convert(form, path) for form in ('folded', 'speedscope', 'firefox', 'pprof')}
        self.assertIn(words.partition(': ')[2], said['folded'][1])
        self.assertTrue(all(profile['name'].endswith(' samples [23% of the samples were lost]')
                            for profile in json.loads(said['speedscope'][0])['profiles']))
        self.assertEqual([': '.join((entry['label'], entry['value'])) for section in json.loads(
            said['firefox'][0])['meta']['extra'] for entry in section['entries']], [words])
        self.assertIn(words.encode(), gzip.decompress(said['pprof'][0]))
        for form in said:
            self.assertNotIn('lost', ''.join(map(str, self.convert(form, self.a))))
        both = self.path('both.otlp')
        subprocess.run([PROGRAM, 'merge', '-o', both, path, self.a], check=True, timeout=60)
        # 3 lost, 20 kept: the share of one recording does not extend to another
        self.assertEqual(self.json(both)['quality']['lost_samples_percent'], 13.0435)
        self.assertEqual({s['name']: s['value'] for s in d['without_symbols']},
                         {'/lib/libone.so': 9, 'libtwo.so': 3, '/opt/libthree.so': 2, '': 1})

    def test_markdown_is_small_and_names_the_place(self):
        text = self.report('--format=markdown', self.a, self.a)
        self.assertLess(len(text), 8192)
        self.assertIn('`work` | `app.py:12` |', text)
        self.assertNotIn('\x1b', text)

    def test_markdown_is_small_whatever_the_names(self):
        path = self.path('long.otlp')
        r = subprocess.run([PROGRAM, 'record', '-d', '0.1', '-o', path], capture_output=True,
                           env=dict(os.environ, FAKE_OTELPROF='long'), timeout=60)
        self.assertEqual(r.returncode, 0, r.stderr)
        for args in ([], ['-n', '1000'], ['--callers=1'], ['--callees=1'], ['--by=module'],
                     ['--tree']):
            text = self.report('--format=markdown', *args, path)
            self.assertLess(len(text.encode()), 8192, args)
            self.assertIn('What is missing', text)

    def test_hottest_path_begins_with_the_program(self):
        """Not with what is before main() on every stack."""
        for name, shown in (('handle', True), ('__libc_start_main', False), ('_start', False)):
            path = self.path('name.otlp')
            subprocess.run([PROGRAM, 'record', '-d', '0.1', '-o', path], capture_output=True,
                           check=True, env=dict(os.environ, FAKE_OTELPROF='name=' + name), timeout=60)
            self.assertEqual(f'- 100.0% `{name}`\n' in self.report('--format=markdown', path),
                             shown, name)
            os.unlink(path)

    def test_own_programs_of_the_kernel_are_marked(self):
        for name, own in (('bpf_prog_0123456789abcdef_op_walk_step', True),
                          ('bpf_prog_0123456789abcdef_walk', False)):
            path = self.path('name.otlp')
            subprocess.run([PROGRAM, 'record', '-d', '0.1', '-o', path], capture_output=True,
                           check=True, env=dict(os.environ, FAKE_OTELPROF='name=' + name), timeout=60)
            for form in ('text', 'markdown'):
                self.assertEqual('(otelprof itself)' in self.report('--format=' + form, path), own, form)
            os.unlink(path)

    def test_calls_of_markdown_show_where_the_time_splits(self):
        """A chain of calls is one line, so that there is room for its branches; web has two
        callees of handle, and main, of all programs, three."""
        text = self.report('--format=markdown', self.a)
        calls = text[text.index('## Calls'):text.index('## What is missing')]
        self.assertIn('- 50.0% `web` > `main` > `handle`\n'
                      '  - 30.0% `parse`, itself 30.0%\n'
                      '  - 20.0% `ksys_read`, itself 20.0%\n'
                      '- 40.0% `python` > `main` > `<module>` > `work`, itself 40.0%\n', calls)
        self.assertIn('`parse` is called by `handle` 30.0%', calls)
        # Callers of a function, too.
        text = self.report('--format=markdown', '--callers=main', self.a)
        calls = text[text.index('## Callers'):text.index('## What is missing')]
        self.assertIn('- 90.0% `main`\n  - 50.0% `web`\n  - 40.0% `python`\n', calls)

    def test_long_chains_of_markdown_keep_what_was_asked_for(self):
        """A chain without branches is shortened far from the function: its callers are told."""
        path = self.path('deep.otlp')
        subprocess.run([PROGRAM, 'record', '-d', '0.1', '-o', path], capture_output=True, check=True,
                       env=dict(os.environ, FAKE_OTELPROF='deep'), timeout=60)
        for args, chain in (([], '`web` > 8 more > `f1` > `f0`'),
                            (['--callers=f0'], '`f0` > `f1` > `f2` > `f3` > 6 more > `web`'),
                            (['--callees=f9'], '`f9` > `f8` > 6 more > `f1` > `f0`')):
            self.assertIn('- 100.0%% %s' % chain,
                          self.report('--format=markdown', *args, path))

    def test_calls_of_markdown_say_what_is_not_shown(self):
        path = self.path('long.otlp')
        subprocess.run([PROGRAM, 'record', '-d', '0.1', '-o', path], capture_output=True, check=True,
                       env=dict(os.environ, FAKE_OTELPROF='long'), timeout=60)
        text = self.report('--format=markdown', path)
        self.assertIn('What is not shown has at most 2.5% each.', text)
        self.assertNotIn('What is not shown', self.report('--format=markdown', self.a))

    def test_guesses_are_said(self):
        """The share of stacks with a guessed frame, in each form; none where there is none."""
        path = self.path('guessed.otlp')
        subprocess.run([PROGRAM, 'record', '-q', '-d', '0.1', '-o', path], check=True, timeout=60,
                       env=dict(os.environ, FAKE_OTELPROF='guessed'))
        self.assertIn('Stacks that go by a guess: 30.00%; callers may be missing or wrong', self.report(path))
        self.assertIn('- 30.00% of the stacks go by a guess; callers may be missing or wrong',
                      self.report('--format=markdown', path))
        self.assertEqual(self.json(path)['quality']['guessed_stacks_percent'], 30)
        self.assertNotIn('guess', self.report(self.path('a.otlp')))
        page = re.search(rb'id="profile">(.*?)</script>', self.convert('html', path)[0], re.S).group(1)
        self.assertEqual(json.loads(page)['guessed'], [30])

    def test_codes_have_words(self):
        """Those of op_errors.def, and a frame that is no function."""
        path = self.path('poor.otlp')
        subprocess.run([PROGRAM, 'record', '-d', '0.1', '-o', path], capture_output=True, check=True,
                       env=dict(os.environ, FAKE_OTELPROF='poor'), timeout=60)
        words = 'The memory that holds the CFA could not be read.'
        self.assertIn(f'- 50.00% of the stacks end early: `[unwind error: native_read_cfa]`. {words}\n',
                      self.report('--format=markdown', path))
        self.assertRegex(self.report(path), f'50.00% end early: .*native_read_cfa.*{words}')
        self.assertEqual(self.json(path)['quality']['end_early'][0]['why'], words)
        for name, words in (('[running]', 'a CPU'), ('[V8 code]', 'V8'), ('[kernel]', 'kernel'),
                            ('[truncated]', '--max-frames'), ('[no unwind table yet]', 'table'),
                            ('[unwind error: php_late]', 'PHP'), ('[unwind error: of_later]', '')):
            path = self.path('named.otlp')
            subprocess.run([PROGRAM, 'record', '-d', '0.1', '-o', path], capture_output=True,
                           check=True, env=dict(os.environ, FAKE_OTELPROF='name=' + name),
                           timeout=60)
            text = self.report('--format=markdown', path)
            line = re.search('(?m)^- .*' + re.escape(f'`{name}`') + '(.*)$',
                             text[text.index('## What is missing'):])
            self.assertIsNotNone(line, text)
            self.assertIn(words, line.group(1))

    def test_the_proposed_command_works(self):
        """With names that are long, or have characters of the shell and of Markdown."""
        for name in ('std::vector<' + 'é' * 100 + '>::operator||(int)', 'operator||', "it's `x`|y",
                     'std::_Rb_tree<std::pair<int, std::vector<long>>, std::less<int>>::find('
                     'std::string const&, std::basic_string<char, std::char_traits<char>>)',
                     "a'; false; '"):
            path = self.path('my recording.otlp')
            r = subprocess.run([PROGRAM, 'record', '-d', '0.1', '-o', path], capture_output=True,
                               env=dict(os.environ, FAKE_OTELPROF='name=' + name), timeout=60)
            self.assertEqual(r.returncode, 0, r.stderr)
            text = self.report('--format=markdown', path)
            command = re.search(r'hottest function: `otelprof (.*)`$', text, re.M).group(1)
            r = subprocess.run(['sh', '-c', f'exec "$0" {command}', PROGRAM], capture_output=True,
                               timeout=60)
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertRegex(r.stdout.decode(), '(?m)^- 100.0% `.*` > `web`$')
            # A name as a row shows it will do too.
            shown = re.search(r'^\| 100.0% \| 100.0% \| `(.*)` \|  \|', text, re.M).group(1)
            nodes = self.json('--callers', shown, path)['tree']
            self.assertEqual(nodes[0]['name'], name)

    def test_of_names_with_a_part_the_one_with_most_samples(self):
        # Where in a name the part is does not count, but of equal ones it is the beginning.
        for part, name, also in (('ma', 'main', {}), ('le', 'handle', {'<module>': 4}), ('main', 'main', {}),
                                 ('o', 'work', {'<module>': 4}), ('a;b', 'a;b', {}),
                                 ('a', 'main', {'handle': 5, 'parse': 3, 'ksys_read': 2, 'a;b': 1})):
            d = self.json('--callees', part, self.a)
            self.assertEqual(d['tree'][0]['name'], name)
            self.assertEqual({a['name']: a['value'] for a in d.get('also_fit', [])
                              if 'script' not in a['name']}, also, part)
        text = self.report('--callers', 'hand', '--program=web', self.a)
        self.assertNotIn('also', text)
        text = self.report('--callers', 'a', '--program=web', self.a)
        self.assertIn('\nThe name also fits main (100.00%), parse (60.00%), ksys_read (40.00%).\n', text)
        text = self.report('--format=markdown', '--callers', 'a', '--program=web', self.a)
        self.assertIn('\nThe name also fits `main` (100.0%), `parse` (60.0%), `ksys_read` (40.0%).\n', text)

    def test_the_limit_of_a_tree_holds(self):
        self.assertEqual(len(self.json('--tree', '-n', '3', self.a)['tree']), 3)
        # Also where all of a chain have the same time: the first ones are shown.
        nodes = self.json('--callers=ksys', '-n', '2', self.a)['tree']
        self.assertEqual([n['name'] for n in nodes], ['ksys_read', 'handle'])

    def test_a_name_is_needed(self):
        for option in ('--callers=', '--callees='):
            r = run('report', option, self.a)
            self.assertEqual((r.returncode, r.stdout), (2, b''))
            self.assertIn(b'takes the name of a function', r.stderr)

    def test_an_unknown_option_is_said_by_this_program(self):
        r = run('report', '--nothing', self.a)
        self.assertEqual(r.returncode, 2)
        self.assertTrue(r.stderr.startswith(b"otelprof report: unrecognized option '--nothing'"))


class Damaged(Recordings):
    def fails(self, path, sentence):
        for command in (['report', path], ['convert', '-o', self.path('out.html'), path],
                        ['convert', '-o', self.path('out.firefox.json'), path],
                        ['merge', '-o', self.path('out.otlp'), path]):
            r = run(*command)
            self.assertEqual((r.returncode, r.stdout), (1, b''), command)
            self.assertIn(sentence, r.stderr.decode())
            self.assertEqual(r.stderr.count(b'\n'), 1, r.stderr)
        for name in ('out.html', 'out.firefox.json', 'out.otlp'):
            self.assertFalse(os.path.exists(self.path(name)))

    def test_a_folder(self):
        # as sink --dir leaves it: all of it
        os.mkdir(self.path('sink'))
        self.fails(self.path('sink'), 'has no files')
        for name in ('1.bin', '2.bin'):
            shutil.copy(self.a, os.path.join(self.path('sink'), name))
        self.assertEqual(self.json(self.path('sink'))['total'], 2 * TOTAL)

    def test_files_that_are_no_recording(self):
        self.fails(self.path('nothing'), 'No such file')
        self.fails(self.write('empty', b''), 'is empty')
        self.fails(self.write('x.html', b'<!DOCTYPE html>'), 'but a page')
        self.fails(self.write('x.pb.gz', gzip.compress(b'x')), 'gzip')
        self.fails(self.write('short', b'\0\0'), 'no recording')
        self.fails(self.write('noise', bytes(range(7, 200))), 'no recording')
        self.fails(self.write('zeros', struct.pack('>I', 8) + b'\xff' * 8), 'no recording')

    def test_what_came_before_the_damage_counts(self):
        whole = self.read('a.otlp')
        for tail in (whole[:-7], whole[:50], b'\0\0', b'\xff' * 9, struct.pack('>I', 3) + b'\xff' * 3):
            r = run('report', '--format=json', self.write('cut.otlp', whole + tail))
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertEqual(json.loads(r.stdout)['total'], TOTAL)
            self.assertIn(f'at byte {len(whole)}; the 1 requests before it are used',
                          r.stderr.decode())
        self.fails(self.write('cut.otlp', whole[:-7]), 'a request is cut off')

    def test_a_request_with_too_many_entries(self):
        strings = b'\x32\0' * ((1 << 22) + 1)
        size = len(strings)
        request = bytes([0x12, size & 0x7f | 0x80, size >> 7 & 0x7f | 0x80,
                         size >> 14 & 0x7f | 0x80, size >> 21]) + strings
        request = struct.pack('>I', len(request)) + request
        whole = self.read('a.otlp')
        r = run('report', '--format=json', self.write('much.otlp', whole + request))
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(json.loads(r.stdout)['total'], TOTAL)
        self.assertIn(f'a request exceeds the limits at byte {len(whole)}', r.stderr.decode())
        self.fails(self.write('much.otlp', request), 'a request exceeds the limits')


class Diff(Recordings):
    def test_nothing_changed(self):
        r = run('diff', self.a, self.a)
        self.assertEqual(r.returncode, 0)
        self.assertIn(b'Nothing has changed', r.stdout)

    def test_shares(self):
        twice = self.path('twice.otlp')
        self.assertEqual(run('convert', '-o', twice, self.a, self.a).returncode, 0)
        d = json.loads(run('diff', '--format=json', self.a, twice).stdout)
        self.assertEqual((d['before']['total'], d['after']['total'], d['changes']),
                         (TOTAL, 2 * TOTAL, []))

    def test_a_function_that_is_on_one_side(self):
        d = json.loads(run('diff', '--format=json', '--min=0', '-n', '99', self.a, self.a).stdout)
        changes = {c['name']: c for c in d['changes']}
        self.assertEqual(changes['work']['self_percent_before'], 40)
        self.assertEqual(changes['work']['self_percent_after'], 40)
        self.assertEqual(changes['handle']['total_percent_after'], 50)

    def test_a_page_has_the_ending_of_one(self):
        for name in ('x.svg', 'x.folded', 'x.otlp'):
            r = run('diff', '-o', self.path(name), self.a, self.a)
            self.assertEqual((r.returncode, os.path.exists(self.path(name))), (2, False))
            self.assertIn(b'writes a page', r.stderr)
        for name in ('x.html', 'x.HTM', 'page'):
            self.assertEqual(run('diff', '-o', self.path(name), self.a, self.a).returncode, 0)

    def test_usage(self):
        for args in (['diff', self.a], ['diff', '--by=thread', self.a, self.a],
                     ['report', '--by=x', self.a], ['report', '--min=200', self.a],
                     ['report', '--by=module', '--callers=x', self.a],
                     ['report', '--by=process', '--tree', self.a],
                     ['report', '--callers=work', '--callees=work', self.a],
                     ['convert', self.a], ['convert', '-o', 'x.svg', self.a],
                     ['convert', '--lines', '-o', 'x.otlp', self.a],
                     ['merge', self.a], ['merge', '-o', 'x.otlp'],
                     ['merge', '-o', 'x.html', self.a]):
            r = run(*args)
            self.assertEqual((r.returncode, r.stdout), (2, b''), args)


class Last(Recordings):
    """report without FILE shows the last recording of its user."""
    def run(self, result=None):
        with tempfile.TemporaryDirectory() as state:
            self.state = os.path.join(state, 'otelprof')
            self.env = dict(os.environ, NO_COLOR='1', XDG_STATE_HOME=state)
            return super().run(result)

    def otelprof(self, *args, mode='', **env):
        return subprocess.run([PROGRAM, *args], env=dict(self.env, FAKE_OTELPROF=mode, **env),
                              capture_output=True, timeout=60, cwd=self.dir.name)

    def kept(self):
        return sorted(os.listdir(self.state)) if os.path.isdir(self.state) else []

    def test_the_last_is_shown(self):
        r = self.otelprof('report')
        self.assertEqual((r.returncode, r.stdout), (1, b''))
        self.assertIn(b'none is kept yet', r.stderr)
        for mode, function in (('', b'work'), ('deep', b'f0')):
            self.assertEqual(self.otelprof('record', '-d', '0.1', mode=mode).returncode, 0)
            self.assertIn(function, self.otelprof('report').stdout)

    def test_they_are_private_and_ten(self):
        for _ in range(12):
            self.assertEqual(self.otelprof('record', '-q', '-d', '0.1', '-o', 'x.folded').returncode, 0)
        names = self.kept()
        self.assertEqual(len(names), 10, names)
        self.assertEqual(stat.S_IMODE(os.stat(self.state).st_mode), 0o700)
        for name in names:
            self.assertEqual(stat.S_IMODE(os.stat(os.path.join(self.state, name)).st_mode), 0o600)

    def test_nothing_is_kept_in_a_folder_of_others(self):
        os.mkdir(self.state)
        os.chmod(self.state, 0o777)
        self.assertEqual(self.otelprof('record', '-q', '-d', '0.1').returncode, 0)
        self.assertEqual(self.kept(), [])

    def test_none_is_kept_where_it_is_not_wanted(self):
        self.assertEqual(self.otelprof('record', '-q', '-d', '0.1', '--no-keep').returncode, 0)
        self.assertEqual(self.kept(), [])


class Convert(Recordings):
    def convert(self, name, *args):
        r = run('convert', '-o', self.path(name), *args, self.a)
        self.assertEqual(r.returncode, 0, r.stderr)
        return self.read(name)

    def test_the_same_as_recorded(self):
        """What record writes by itself, and what convert makes of OTLP, are one: but OTLP does not say that
        no sample was lost."""
        for name in ('b.folded', 'b.html'):
            self.assertEqual(run('record', '-d', '0.1', '-o', self.path(name)).returncode, 0)
            direct = self.read(name).replace(b'"none_lost":true', b'"none_lost":false')
            self.assertEqual(self.convert(name, '--lines'), direct)
        self.assertIn(b'ksys_read', gzip.decompress(self.convert('b.pb.gz')))

    def test_a_name_without_a_format(self):
        for args, want in ((['-o', '-'], b'standard output needs --format'),
                           (['-o', 'x.pdf'], b'.html, .pb.gz, .folded, .speedscope.json, '
                                             b'.firefox.json or .otlp, or use --format'),
                           (['-o', 'x'], b'"x" names no format: use')):
            r = run('convert', *args, self.a)
            self.assertEqual((r.returncode, r.stdout), (2, b''))
            self.assertIn(want, r.stderr)
        r = run('convert', '-o', self.path('x.json'), self.a)
        self.assertIn(b'x.json is speedscope', r.stderr)
        r = run('convert', '-o', self.path('x.speedscope.json'), self.a)
        self.assertEqual(r.stderr, b'')
        r = run('record', '-o', 'x.pdf')
        self.assertIn(b'.firefox.json or .otlp, or use --format', r.stderr)

    def test_merge(self):
        self.assertEqual(self.convert('m.otlp', self.a), 2 * self.read('a.otlp'))

    def test_onto_its_own_input(self):
        before = self.read('a.otlp')
        r = run('convert', '-o', self.a, self.a, self.a)
        self.assertEqual(r.returncode, 1)
        self.assertIn(b'would be read and replaced', r.stderr)
        self.assertEqual(self.read('a.otlp'), before)
        self.assertEqual(sorted(os.listdir(self.dir.name)), ['a.otlp'])

    def test_speedscope(self):
        d = json.loads(self.convert('b.speedscope.json'))
        frames = [f['name'] for f in d['shared']['frames']]
        got = {}
        for p in d['profiles']:
            self.assertEqual((p['type'], p['unit']), ('sampled', 'nanoseconds'))
            self.assertEqual(p['endValue'], sum(p['weights']))
            for stack, weight in zip(p['samples'], p['weights'], strict=True):
                got[(p['name'].split(' (')[0], frames[stack[-1]])] = weight // 10_000_000
        self.assertEqual(got, {(process, frames[-1]): n for process, frames, n in EVENTS})

    def test_firefox(self):
        """As src/types/profile.ts of the Firefox profiler describes version 57."""
        d = json.loads(self.convert('b.firefox.json'))
        self.assertEqual((d['meta']['preprocessedProfileVersion'], d['meta']['interval']), (57, 10))
        strings = d['shared']['stringArray']
        self.assertEqual(len(set(strings)), len(strings))
        self.assertIn('grey', [c['color'] for c in d['meta']['categories']])
        got = {}
        for thread in d['threads']:
            check_thread(self, d, thread)
            samples, stacks = thread['samples'], thread['stackTable']
            names = [strings[n] for n in thread['funcTable']['name']]
            self.assertEqual(samples['weightType'], 'samples')
            self.assertEqual(samples['time'], sorted(samples['time']))
            self.assertLessEqual(samples['time'][-1], d['meta']['profilingEndTime'])
            for stack, weight in zip(samples['stack'], samples['weight'], strict=True):
                frames = []
                while stack is not None:
                    func = thread['frameTable']['func'][stacks['frame'][stack]]
                    frames.append(names[func])
                    stack = stacks['prefix'][stack]
                key = (thread['processName'], frames[0], len(frames))
                got[key] = got.get(key, 0) + weight
        self.assertEqual(got, {(p, frames[-1], len(frames)): n for p, frames, n in EVENTS})
        self.assertEqual({t['pid'] for t in d['threads']}, {'100', '200', '300'})

    def threads(self, *samples):
        """Of a recording of such samples, what Firefox's threads are: process, name, number, and
        samples. A sample is program, pid, tid, name, events."""
        data = b''
        for program, pid, tid, name, events in samples:
            q = Request(**{'process.pid': pid, 'process.executable.name': program})
            q.sample([q.frame('work')], events, [('thread.id', tid), ('thread.name', name)])
            data += recording(q.encode())
        r = run('convert', '-o', '-', '--format=firefox', self.write('threads.otlp', data))
        d = json.loads(r.stdout)
        shown = d['threads']
        for thread in shown:
            check_thread(self, d, thread)
        # the viewer tells threads apart by tid, and shows a process by its main thread
        self.assertEqual(len({str(t['tid']) for t in shown}), len(shown))
        self.assertEqual(sorted(t['pid'] for t in shown if t['isMainThread']),
                         sorted({str(pid) for _, pid, *_ in samples}))
        return {(t['processName'], t['name'], str(t['tid'])): sum(t['samples']['weight'])
                for t in shown}

    def test_firefox_thread_with_two_names(self):
        got = self.threads(('web', 42, 42, 'main', 3), ('web', 42, 43, 'idle', 5),
                           ('web', 42, 43, 'serves', 7), ('web', 42, 43, 'idle', 11))
        self.assertEqual(got, {('web', 'main', '42'): 3, ('web', 'idle', '43'): 16,
                               ('web', 'serves', '43.1'): 7})

    def test_firefox_process_with_two_programs(self):
        got = self.threads(('sh', 42, 42, 'sh', 3), ('web', 42, 42, 'web', 5),
                           ('web', 42, 43, 'pool', 7), ('cron', 50, 51, 'pool', 9))
        self.assertEqual(got, {('sh', 'sh', '42'): 3, ('web', 'web', '42.1'): 5,
                               ('web', 'pool', '43'): 7, ('cron', 'pool', '51'): 9})

    def test_standard_output(self):
        r = run('convert', '-o', '-', '--format=folded', self.a)
        self.assertIn(b'web;main;handle;parse 3\n', r.stdout)


    def test_a_full_disk(self):
        with open('/dev/full', 'wb') as full:
            r = subprocess.run([PROGRAM, 'convert', '--format=otlp', '-o', '-', self.a],
                               stdout=full, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual((r.returncode, r.stderr.count(b'\n')), (1, 1), r.stderr)
        self.assertIn(b'cannot write -: No space left', r.stderr)


class Merge(Recordings):
    def merge(self, *files, status=0):
        out = self.path('merged.otlp')
        r = run('merge', '-o', out, *files)
        self.assertEqual((r.returncode, r.stdout), (status, b''), r.stderr)
        return out

    def folded(self, *files):
        r = run('convert', '-o', '-', '--format=folded', *files)
        self.assertEqual(r.returncode, 0, r.stderr)
        return sorted(r.stdout.splitlines())

    def other(self):
        """A recording of more events, some of the same stacks."""
        path = self.path('b.otlp')
        r = subprocess.run([PROGRAM, 'record', '-d', '0.1', '-o', path], capture_output=True,
                           env=dict(os.environ, FAKE_OTELPROF='later'), timeout=60)
        self.assertEqual(r.returncode, 0, r.stderr)
        return path

    def test_sums_of_both(self):
        b = self.other()
        total = self.json(b)['total']
        self.assertEqual(total, TOTAL + 10)
        merged = self.merge(self.a, b)
        self.assertEqual(self.json(merged)['total'], TOTAL + total)
        self.assertEqual(self.folded(merged), self.folded(self.a, b))

    def test_one_dictionary(self):
        """Nothing is there twice, and nothing grows but the samples."""
        whole = list(requests(self.read(os.path.basename(self.merge(self.a, self.a, self.a)))))
        self.assertEqual(len(whole), 1)
        once = dictionary(self.read('a.otlp')[4:])
        tables = dictionary(whole[0])
        for number, entries in tables.items():
            self.assertEqual(len(set(entries)), len(entries), number)
            self.assertEqual(entries[0], b'')
            self.assertLessEqual(set(entries) if number == 5 else set(),
                                 set(once[number]))
            self.assertLessEqual(len(entries), len(once[number]))
        # Each process is a resource once, with three profiles.
        resources = [value for number, value in fields(whole[0]) if number == 1]
        self.assertEqual(len(resources), 3)
        for resource in resources:
            scopes = [value for number, value in fields(resource) if number == 2]
            self.assertEqual([sum(n == 2 for n, _ in fields(s)) for s in scopes], [3])

    def test_merging_again_changes_nothing(self):
        first = self.merge(self.a, self.other())
        os.rename(first, self.path('first.otlp'))
        second = self.merge(self.path('first.otlp'))
        self.assertEqual(self.read('first.otlp'), self.read(os.path.basename(second)))

    def test_fields_that_are_not_known_stay(self):
        profile_field = b'\xfa\x3e\x05hello'  # field 1007, five bytes
        request = self.read('a.otlp')[4:]
        resources = [v for n, v in fields(request) if n == 1]
        more = resources[0] + profile_field
        size = len(more)
        head = bytes([0x0a, size & 0x7f | 0x80, size >> 7]) if size > 127 else bytes([0x0a, size])
        path = self.write('more.otlp', struct.pack('>I', len(request) + len(head) + size) +
                          request + head + more)
        merged = self.read(os.path.basename(self.merge(path)))
        self.assertEqual(merged.count(profile_field), 1)
        self.assertEqual(self.json(self.path('merged.otlp'))['total'], TOTAL + 5)

    def test_a_large_one_is_cut_into_requests_that_can_be_sent(self):
        b = self.path('big.otlp')
        with open(b, 'wb') as f:
            f.write(self.read('a.otlp') * 20000)
        sizes = [len(r) for r in requests(self.read(os.path.basename(self.merge(b))))]
        self.assertGreater(len(sizes), 1)
        self.assertLess(max(sizes), 4_000_001)
        self.assertLess(sum(sizes), os.path.getsize(b) / 3)
        self.assertEqual(self.json(self.path('merged.otlp'))['total'], 20000 * TOTAL)

    def test_onto_its_own_input(self):
        self.assertEqual(run('merge', '-o', self.a, self.a, self.a).returncode, 1)
        self.assertEqual(self.json(self.a)['total'], TOTAL)
        self.assertEqual(sorted(os.listdir(self.dir.name)), ['a.otlp'])

    def test_a_full_disk(self):
        with open('/dev/full', 'wb') as full:
            r = subprocess.run([PROGRAM, 'merge', '-o', '-', self.a], stdout=full,
                               stderr=subprocess.PIPE, timeout=60)
        self.assertEqual((r.returncode, r.stderr.count(b'\n')), (1, 1), r.stderr)
        self.assertIn(b'cannot write -: No space left', r.stderr)


class Output(Recordings):
    """What is no regular file is written into, and a link is followed."""
    def commands(self, path):
        return (['merge', '-o', path, self.a],
                ['convert', '--format=html', '-o', path, self.a],
                ['diff', '-o', path, self.a, self.a])

    def test_a_pipe(self):
        pipe = self.path('pipe')
        os.mkfifo(pipe)
        for command in self.commands(pipe):
            with self.subTest(command=command[0]):
                # Opened for both, so that nothing waits for the other side.
                fd = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
                self.addCleanup(os.close, fd)
                fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, 1 << 20)
                self.assertEqual(run(*command).returncode, 0)
                self.assertTrue(stat.S_ISFIFO(os.lstat(pipe).st_mode))
                self.assertGreater(len(os.read(fd, 1 << 20)), 1000)
        self.assertEqual(sorted(os.listdir(self.dir.name)), ['a.otlp', 'pipe'])

    def test_a_link(self):
        link = self.path('link')
        os.mkdir(self.path('there'))
        os.symlink('there/target', link)
        for command in self.commands(link):
            with self.subTest(command=command[0]):
                self.write('there/target', b'old')
                self.assertEqual(run(*command).returncode, 0)
                self.assertEqual(os.readlink(link), 'there/target')
                self.assertGreater(len(self.read('there/target')), 1000)
        self.assertEqual(sorted(os.listdir(self.path('there'))), ['target', 'target.old'])

    def test_a_name_of_standard_output(self):
        r = run('convert', '--format=folded', '-o', '/proc/self/fd/1', self.a)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn(b'web;main;handle;parse 3\n', r.stdout)

    def test_a_failure_leaves_what_was_there(self):
        out = self.write('out.otlp', b'old')
        self.assertEqual(run('merge', '-o', out, self.path('nothing')).returncode, 1)
        self.assertEqual(self.read('out.otlp'), b'old')
        self.assertEqual(run('merge', '-o', self.dir.name, self.a).returncode, 1)
        self.assertEqual(sorted(os.listdir(self.dir.name)), ['a.otlp', 'out.otlp'])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
