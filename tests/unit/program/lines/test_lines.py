# SPDX-License-Identifier: Apache-2.0
"""Lines and inlined functions of every instruction of known programs, against addr2line of LLVM
and that of elfutils, for compilers, levels, and ways to keep debug info. (Addr2line of binutils
2.40 takes wrong files from DWARF 5 of g++.)

usage: test_lines.py PRINT_LINES [OTELPROF]

With OTELPROF a live run too: what `otelprof report` says of a program that is profiled.
"""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
PRINT_LINES = os.path.abspath(sys.argv[1])
OTELPROF = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
ADDR2LINE = 'llvm-addr2line-14'
SECOND = 'eu-addr2line'
# The tool of elfutils 0.188 tells no inlined functions of Rust and of split files, and nothing of
# what has no .debug_aranges (clang): there the innermost line alone is compared, where it has one.
SECOND_WHOLE = r'(gcc|g\+\+)(?!.*(split|zstd))'
ADDRESSES = 3000  # of a program, at most

STRIP = ' && objcopy --only-keep-debug {out} {out}.debug && strip -g {out}'
SEPARATE = STRIP + ' && objcopy --add-gnu-debuglink={out}.debug {out}'
DWZ = ' && cp {out} other && dwz -m {out}.dwz {out} other'
CELLS = {
    'gcc-O0': ('gcc', 'known.c', 'gcc -g -O0 {src} -o {out}'),
    'gcc-O2': ('gcc', 'known.c', 'gcc -g -O2 {src} -o {out}'),
    'gcc-O2-dwarf4': ('gcc', 'known.c', 'gcc -gdwarf-4 -O2 {src} -o {out}'),
    'gcc-nopie': ('gcc', 'known.c', 'gcc -g -O2 -no-pie -fno-pie {src} -o {out}'),
    'gcc-compressed': ('gcc', 'known.c', 'gcc -g -gz -O2 {src} -o {out}'),
    'gcc-compressed-gnu': ('gcc', 'known.c', 'gcc -g -gz=zlib-gnu -O2 {src} -o {out}'),
    'gcc-compressed-zstd': ('gcc', 'known.c', 'gcc -g -Wl,--compress-debug-sections=zstd -O2 {src} -o {out}'),
    'g++-separate-zstd': ('g++', 'known.cpp',
                          'g++ -g -Wl,--compress-debug-sections=zstd -O2 {src} -o {out}' + SEPARATE),
    'g++-compressed': ('g++', 'known.cpp', 'g++ -g -gz -O2 {src} -o {out}'),
    'clang-compressed': ('clang-14', 'known.c', 'clang-14 -g -gz -O2 {src} -o {out}'),
    'gcc-separate': ('gcc', 'known.c', 'gcc -g -O2 {src} -o {out}' + SEPARATE),
    'gcc-build-id': ('gcc', 'known.c', 'gcc -g -O2 {src} -o {out}' + STRIP),
    'g++-dwz': ('g++', 'known.cpp', 'g++ -g -O2 {src} -o {out}' + DWZ),
    'g++-dwz-dwarf4': ('g++', 'known.cpp', 'g++ -gdwarf-4 -O2 {src} -o {out}' + DWZ),
    'gcc-dwz': ('gcc', 'known.c', 'gcc -g -O2 {src} -o {out}' + DWZ),
    'g++-O0': ('g++', 'known.cpp', 'g++ -g -O0 {src} -o {out}'),
    'g++-O2': ('g++', 'known.cpp', 'g++ -g -O2 {src} -o {out}'),
    'gcc-split': ('gcc', 'known.c', 'gcc -g -O2 -gsplit-dwarf {src} -o {out}'),
    'gcc-split-dwarf4': ('gcc', 'known.c', 'gcc -gdwarf-4 -O2 -gsplit-dwarf {src} -o {out}'),
    'g++-split': ('g++', 'known.cpp', 'g++ -g -O2 -gsplit-dwarf {src} -o {out}'),
    'clang-split': ('clang-14', 'known.c', 'clang-14 -g -O2 -gsplit-dwarf {src} -o {out}'),
    'clang-O0': ('clang-14', 'known.c', 'clang-14 -g -O0 {src} -o {out}'),
    'clang-O2': ('clang-14', 'known.c', 'clang-14 -g -O2 {src} -o {out}'),
    'rust-O0': ('rustc', 'known.rs', 'rustc -g {src} -o {out}'),
    'rust-O2': ('rustc', 'known.rs', 'rustc -g -C opt-level=2 {src} -o {out}'),
    'go-O0': ('go', 'known.go', "go build -gcflags='-N -l' -o {out} {src}"),
    'go-O2': ('go', 'known.go', 'go build -o {out} {src}'),
}


def functions_of(path):
    """Ranges of code of the sources here, by nm. Binutils 2.40 has no lines of Go's DWARF 5."""
    out = subprocess.run(['nm', '-S', '-C', '-l', '--defined-only', path], check=True,
                         capture_output=True, text=True).stdout
    for line in out.splitlines():
        m = re.match(r'([0-9a-f]+) ([0-9a-f]+) [tTwW] (.*\t.*/known\.\w+:\d+|main\.)', line)
        if m:
            yield int(m.group(1), 16), int(m.group(2), 16)


def addresses_of(path):
    ranges = list(functions_of(path + '.debug' if os.path.exists(path + '.debug') else path))
    out = subprocess.run(['objdump', '-d', '--no-show-raw-insn', path], check=True,
                         capture_output=True, text=True).stdout
    all_of = [int(m, 16) for m in re.findall(r'(?m)^ +([0-9a-f]+):\t', out)]
    return [a for a in all_of if any(s <= a < s + n for s, n in ranges)][:ADDRESSES]


def by_addr2line(path, addresses):
    """address -> [(function, file name, line)], innermost first."""
    text = '\n'.join('%x' % a for a in addresses)
    out = subprocess.run([ADDR2LINE, '-a', '-i', '-f', '-e', path], input=text, check=True,
                         capture_output=True, text=True).stdout
    found, name = {}, None
    for line in out.splitlines():
        if re.match(r'0x[0-9a-f]+$', line):
            frames = found.setdefault(int(line, 16), [])
            name = None
        elif name is None:
            name = line
        else:
            place, _, number = line.removesuffix(')').partition(' (discriminator')[0].rpartition(':')
            frames.append((name, os.path.basename(place), int(number) if number.isdigit() else 0))
            name = None
    return found


def by_elfutils(path, addresses):
    """The same by elfutils, whose library ours uses; its text has columns and more words."""
    text = '\n'.join('%x' % a for a in addresses)
    out = subprocess.run([SECOND, '-a', '-i', '-f', '-e', path], input=text,
                         capture_output=True, text=True).stdout  # 1: it knows some of them not
    found, name = {}, None
    for line in out.splitlines():
        if re.match(r'0x[0-9a-f]{16}$', line):
            frames = found.setdefault(int(line, 16), [])
            name = None
        elif name is None:
            name = line.split(' inlined at ')[0]
        else:
            place, number = re.match(r'(.*?):(\d+)(?::\d+)?$', line).groups()
            frames.append((name, os.path.basename(place), int(number)))
            name = None
    return found


def by_go(path, addresses):
    """Go's own reader of its table: the innermost place and the name of the outermost function."""
    text = '\n'.join('%x' % a for a in addresses)
    out = subprocess.run(['go', 'tool', 'addr2line', path], input=text, check=True,
                         capture_output=True, text=True).stdout.splitlines()
    places = [line.rpartition(':') for line in out[1::2]]
    return {a: [(name, os.path.basename(place), int(number))]
            for a, name, (place, _, number) in zip(addresses, out[::2], places)}


def by_us(path, addresses, *options):
    text = '\n'.join('%x' % a for a in addresses)
    out = subprocess.run([PRINT_LINES, *options, path], input=text, check=True, capture_output=True,
                         text=True).stdout
    found = {}
    for line in out.splitlines():
        if not line.startswith(' '):
            frames = found.setdefault(int(line, 16), [])
        else:
            name, place, number = re.match(r' (.*) (\S+):(\d+)$', line).groups()
            frames.append((name, place, int(number)))
    return found


def with_base_names(found):
    return {a: [(name, os.path.basename(place), number) for name, place, number in frames]
            for a, frames in found.items()}


class Lines(unittest.TestCase):
    def one_file_each(self, path, ours):
        """Instructions of no line are their function's all the same: a function without file
        would be another one in a report."""
        for start, size in functions_of(path + '.debug' if os.path.exists(path + '.debug') else path):
            files = {ours[a][-1][1] if ours[a] else None
                     for a in ours if start <= a < start + size}
            self.assertLessEqual(len(files), 1, hex(start))

    def twin(self, folder, source, command):
        """The same code with all of its debug info in one file, for tools that read no other."""
        out = os.path.join(folder, 'twin')
        subprocess.run(re.sub(' -gsplit-dwarf| -gz=zlib-gnu| -Wl,--compress-debug-sections=zstd', '', command.split(' && ')[0]).format(
            src=os.path.join(HERE, source), out=out), shell=True, check=True, cwd=folder)
        code = [subprocess.run(['objdump', '-d', os.path.join(folder, name)], check=True,
                               capture_output=True).stdout.splitlines()[4:]
                for name in ('known', 'twin')]
        self.assertEqual(code[0], code[1])
        return out

    def put_in_usr_lib_debug(self, out):
        """As a package with debug symbols has it; nothing else tells where the file is."""
        notes = subprocess.run(['readelf', '-n', out], check=True, capture_output=True, text=True)
        build_id = re.search(r'Build ID: ([0-9a-f]+)', notes.stdout).group(1)
        path = f'/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug'
        made = [d for d in ('/usr/lib/debug', '/usr/lib/debug/.build-id', os.path.dirname(path))
                if not os.path.isdir(d)]
        os.makedirs(os.path.dirname(path), exist_ok=True)
        for folder in made:
            self.addCleanup(os.rmdir, folder)
        shutil.move(out + '.debug', path)
        self.addCleanup(os.unlink, path)

    def build(self, folder, cell, source, command):
        """The program, and the file of the same code that the judge reads."""
        out = os.path.join(folder, 'known')
        subprocess.run(command.format(src=os.path.join(HERE, source), out=out), shell=True,
                       check=True, cwd=folder)
        alone = out
        if re.search('split|dwz|build-id|-gnu|zstd', cell):
            alone = self.twin(folder, source, command)
        if 'build-id' in cell:
            self.put_in_usr_lib_debug(out)
        return out, alone

    def compare(self, cell, tool, source, command):
        for needed in (tool, ADDR2LINE):
            if not shutil.which(needed):
                self.skipTest('there is no ' + needed)
        if 'build-id' in cell and os.geteuid() != 0:
            self.skipTest("/usr/lib/debug is root's")
        second = None
        with tempfile.TemporaryDirectory() as folder:
            out, alone = self.build(folder, cell, source, command)
            addresses = addresses_of(alone)
            first = by_addr2line(alone, addresses)
            if tool == 'go':
                second = by_go(out, addresses)
            elif shutil.which(SECOND):
                second = by_elfutils(out, addresses)
            ours = by_us(out, addresses, *(['--go'] if tool == 'go' else []))
            self.one_file_each(alone, ours)
            ours = with_base_names(ours)
        self.judge(cell, 'LLVM', ours, first)
        if second and re.match(SECOND_WHOLE, cell):
            self.judge(cell, SECOND, ours, second)
        elif second:
            self.judge_innermost(cell, 'go' if tool == 'go' else SECOND, ours, second)

    def judge(self, cell, judge, ours, theirs):
        known = [a for a in theirs if theirs[a][0][2]]
        self.assertGreater(len(known), 30, judge + ' knows too little of it')
        lines = [a for a in known if [f[1:] for f in ours[a]] == [f[1:] for f in theirs[a]]]
        # The outermost function is the symbol table's; the others are told apart by their own
        # name, which addr2line gives mangled.
        names = [a for a in known
                 if len(ours[a]) == len(theirs[a]) and
                 all(o[0] in t[0] or not t[0].startswith('_')
                     for o, t in zip(ours[a][:-1], theirs[a][:-1]) if o[0].isidentifier())]
        wrong = [(hex(a), theirs[a], ours[a]) for a in known if a not in lines][:3]
        print('%s: %d of %d places as %s tells, %d with inlined functions' %
              (cell, len(lines), len(known), judge, sum(len(theirs[a]) > 1 for a in known)))
        self.assertGreaterEqual(len(lines), 0.99 * len(known), wrong)
        self.assertGreaterEqual(len(names), 0.99 * len(known))

    def judge_innermost(self, cell, judge, ours, theirs):
        known = [a for a in theirs if theirs[a][0][2]]
        same = [a for a in known if ours[a][0][1:] == theirs[a][0][1:]]
        wrong = [(hex(a), theirs[a], ours[a]) for a in known if a not in same][:3]
        if not known:
            return
        print('%s: %d of %d innermost lines as %s tells' % (cell, len(same), len(known), judge))
        self.assertGreaterEqual(len(same), 0.99 * len(known), wrong)

    def test_split_files_that_are_gone(self):
        """What is inlined cannot be known then, so no line is told."""
        for source, command in (('known.c', 'gcc -g'), ('known.c', 'gcc -gdwarf-4'),
                                ('known.cpp', 'g++ -g')):
            with tempfile.TemporaryDirectory() as folder:
                command += ' -O2 -gsplit-dwarf {src} -o {out}'
                out = os.path.join(folder, 'known')
                subprocess.run(command.format(src=os.path.join(HERE, source), out=out),
                               shell=True, check=True, cwd=folder)
                addresses = addresses_of(self.twin(folder, source, command))
                self.assertGreater(len(addresses), 30)
                for name in os.listdir(folder):
                    if name.endswith('.dwo'):
                        os.unlink(os.path.join(folder, name))
                self.assertFalse([hex(a) for a, lines in by_us(out, addresses).items() if lines])


for cell, row in CELLS.items():
    setattr(Lines, 'test_' + cell, lambda self, cell=cell, row=row: self.compare(cell, *row))


PADDING = 64 << 20


def pad(path, size, section='.debug_macro'):
    """Add a section of zeros that no look-up needs, and libdw loads."""
    with tempfile.NamedTemporaryFile() as zeros:
        zeros.truncate(size)
        subprocess.run(['objcopy', '--add-section', f'{section}={zeros.name}', path], check=True)


class Memory(unittest.TestCase):
    """Debug info that would take too much is measured before it is loaded."""
    WAYS = {
        'as it is': 'gcc -g -O2 {src} -o {out}',
        'compressed': 'gcc -g -O2 {src} -o {out}',
        'compressed-gnu': 'gcc -g -O2 {src} -o {out}',
        'separate': 'gcc -g -O2 {src} -o {out}',
        'split': 'gcc -g -O2 -gsplit-dwarf {src} -o {out}',
        'split-dwarf4': 'gcc -gdwarf-4 -O2 -gsplit-dwarf {src} -o {out}',
    }

    def build(self, folder, way):
        out = os.path.join(folder, 'known')
        subprocess.run(self.WAYS[way].format(src=os.path.join(HERE, 'known.c'), out=out), shell=True,
                       check=True, cwd=folder)
        if 'split' in way:
            pad(*(os.path.join(folder, n) for n in os.listdir(folder) if n.endswith('.dwo')),
                PADDING, '.debug_macro.dwo')
            return out
        pad(out, PADDING)
        if 'compressed' in way:
            subprocess.run(['objcopy', '--compress-debug-sections=' +
                            ('zlib-gnu' if 'gnu' in way else 'zlib'), out], check=True)
            self.assertLess(os.path.getsize(out), PADDING / 10)
        if way == 'separate':
            subprocess.run(SEPARATE.removeprefix(' && ').format(out=out), shell=True, check=True,
                           cwd=folder)
            self.assertLess(os.path.getsize(out), PADDING / 10)
        return out

    def run_us(self, out, addresses, memory):
        """What was left out, the lines, and the resident memory at its peak."""
        text = ''.join('%x\n' % a for a in addresses)
        *lines, left, peak = subprocess.run([PRINT_LINES, '--memory', str(memory), out], input=text,
                                            capture_output=True, text=True,
                                            check=True).stdout.splitlines()
        return int(left.removeprefix('left out ')), lines, int(peak.removeprefix('peak '))

    def test_what_is_too_large_is_left_out(self):
        with tempfile.TemporaryDirectory() as folder:
            # The code is the same in all ways.
            addresses = addresses_of(self.build(folder, 'as it is'))
        for way in self.WAYS:
            with self.subTest(way), tempfile.TemporaryDirectory() as folder:
                out = self.build(folder, way)
                left, lines, peak = self.run_us(out, addresses, 1 << 30)
                self.assertEqual(left, 0)
                self.assertGreater(sum(line.startswith(' ') for line in lines), 30)
                left, lines, low = self.run_us(out, addresses, PADDING // 2)
                self.assertGreaterEqual(left, PADDING)
                self.assertLess(left, PADDING + (1 << 20))
                self.assertFalse([line for line in lines if line.startswith(' ')])
                if 'compressed' in way:
                    self.assertGreater(peak - low, PADDING * 3 // 4)


@unittest.skipIf(not OTELPROF or os.geteuid() != 0, 'the live run needs the program and root')
class Live(unittest.TestCase):
    def report(self, recording, *args):
        r = subprocess.run([OTELPROF, 'report', '--format=json', '--no-lines-cache', '-n', '200', *args,
                            recording],
                           check=True, capture_output=True, text=True)
        return {row['name']: row for row in json.loads(r.stdout)['rows']}

    def memory_is_bounded(self, out, recording):
        def report(*args):
            r = subprocess.run([OTELPROF, 'report', '--format=json', '--no-lines-cache', '-n', '200',
                                *args, recording], check=True, capture_output=True, text=True)
            return 'inner' in {row['name'] for row in json.loads(r.stdout)['rows']}, r.stderr

        # The build id is that of before.
        pad(out, PADDING)
        self.assertEqual(report()[0], True)
        found, said = report('--lines-memory', '32')
        self.assertFalse(found)
        self.assertRegex(said, r'source lines: \d+ of \d+ places of native code have none, because debug '
                               r'info of 1 file takes more than 32 MiB \(--lines-memory\); that of known '
                               r'6[45] MiB or more')
        convert = subprocess.run([OTELPROF, 'convert', '-o', out + '.pb.gz', '--lines', '--no-lines-cache',
                                  '--lines-memory', '32', recording], check=True, capture_output=True,
                                 text=True)
        self.assertIn('takes more than 32 MiB', convert.stderr)
        # It may be opened, and then grows: look-ups make tables. Sanitizers hide the heap's size.
        with open(OTELPROF, 'rb') as f:
            if b'__asan_init' in f.read():
                return
        loaded = sum(int(size, 16) for name, size in re.findall(
            r'\] (\.debug_\S+) +PROGBITS +\S+ \S+ (\S+)', subprocess.run(
                ['readelf', '-SW', out], check=True, capture_output=True, text=True).stdout))
        pad(out, (65 << 20) - loaded - 64, '.debug_pubnames')
        found, said = report('--lines-memory', '65')
        self.assertFalse(found)
        self.assertRegex(said, r'takes more than 65 MiB .* known 65 MiB or more')
        self.assertTrue(report('--lines-memory', '80')[0])

    def test_report(self):
        with tempfile.TemporaryDirectory() as folder:
            out, recording = os.path.join(folder, 'known'), os.path.join(folder, 'a.otlp')
            subprocess.run(['gcc', '-g', '-O2', os.path.join(HERE, 'known.c'), '-o', out],
                           check=True)
            r = subprocess.run([OTELPROF, 'record', '-q', '-F', '499', '-o', recording, '--', out,
                                '60000000'], capture_output=True, text=True, timeout=300)
            if r.returncode == 1 and 'CAP_' in r.stderr:
                self.skipTest('profiling does not work here')
            self.assertEqual(r.returncode, 0, r.stderr)
            rows, plain = self.report(recording), self.report(recording, '--no-lines')
            self.assertGreater(rows['inner']['self'], 10)
            self.assertEqual(os.path.basename(rows['inner']['file']), 'known.c')
            self.assertIn(rows['inner']['line'], range(8, 14))
            self.assertEqual(rows['main']['line'], 34)
            self.assertEqual((plain['outer']['line'], 'inner' in plain), (0, False))
            # The code that inner's samples are of is outer's.
            self.assertEqual(rows['outer']['total'], plain['outer']['total'])
            self.memory_is_bounded(out, recording)
            # Another program stands there now: nothing is known of the old one's lines.
            subprocess.run(['gcc', '-g', '-O1', os.path.join(HERE, 'known.c'), '-o', out],
                           check=True)
            self.assertNotIn('inner', self.report(recording))


@unittest.skipIf(not OTELPROF or os.geteuid() != 0, 'the live run needs the program and root')
class Debuginfod(unittest.TestCase):
    """A stripped program: its names and lines come from Debian's server, started here."""
    OURS = {'inner', 'middle', 'outer', 'main', '_start'}

    @classmethod
    def setUpClass(cls):
        if not shutil.which('debuginfod'):
            raise unittest.SkipTest('there is no debuginfod')
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        os.mkdir(cls.path('store'))
        whole, out = cls.path('store/known'), cls.path('known')
        subprocess.run(['gcc', '-g', '-O2', os.path.join(HERE, 'known.c'), '-o', whole], check=True)
        subprocess.run(['strip', '-s', '-o', out, whole], check=True)
        r = subprocess.run([OTELPROF, 'record', '-q', '-F', '499', '-o', cls.path('a.otlp'), '--',
                            out, '60000000'], capture_output=True, text=True, timeout=300)
        if r.returncode == 1 and 'CAP_' in r.stderr:
            raise unittest.SkipTest('profiling does not work here')
        assert r.returncode == 0, r.stderr

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    def report(self, url=None, **more):
        """The rows of known, what was said, and the seconds that it took."""
        env = {k: v for k, v in os.environ.items() if not k.startswith('DEBUGINFOD')}
        env.update(more, DEBUGINFOD_CACHE_PATH=self.path('cache'))
        if url:
            env['DEBUGINFOD_URLS'] = url
        start = time.monotonic()
        r = subprocess.run([OTELPROF, 'report', '--format=json', '--no-lines-cache', '-n', '900',
                            self.path('a.otlp')],
                           check=True, capture_output=True, text=True, env=env, timeout=120)
        rows = {row['name']: row for row in json.loads(r.stdout)['rows']
                if row['module'] == 'known'}
        return rows, r.stderr, time.monotonic() - start

    def server(self):
        with socket.socket() as s:
            s.bind(('127.0.0.1', 0))
            port = s.getsockname()[1]
        p = subprocess.Popen(['debuginfod', '-F', self.path('store'), '-p', str(port), '-d',
                              self.path('db'), '-t', '0'], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
        self.addCleanup(p.wait)
        self.addCleanup(p.kill)
        for _ in range(300):
            try:
                with urllib.request.urlopen(f'http://127.0.0.1:{port}/metrics', timeout=5) as f:
                    if re.search(r'scanned_files_total.* [1-9]', f.read().decode()):
                        return f'http://127.0.0.1:{port}'
            except OSError:
                pass
            time.sleep(0.1)
        self.fail('debuginfod did not scan its folder in 30 s')

    def test_names_and_lines(self):
        plain, said, _ = self.report()
        self.assertTrue(plain)
        self.assertFalse((self.OURS - {'_start'}) & set(plain))
        self.assertEqual(said, '')
        rows, said, _ = self.report(self.server())
        self.assertEqual(said, '')
        # Code of the C library's at the start and the end, whose symbols have no size.
        named = {name for name in rows if not name.startswith('known+')}
        self.assertLessEqual(sum(rows[name]['self'] for name in set(rows) - named), 2)
        self.assertLessEqual(named, self.OURS)
        self.assertLessEqual({'inner', 'outer', 'main'}, named)
        for name in named - {'_start'}:
            self.assertEqual(os.path.basename(rows[name]['file']), 'known.c', name)
        self.assertIn(rows['inner']['line'], range(8, 14))
        self.assertEqual(rows['main']['line'], 34)
        # No sample has changed its owner.
        self.assertEqual(sum(r['self'] for r in rows.values()),
                         sum(r['self'] for r in plain.values()))

    def test_the_time_is_bounded(self):
        r = subprocess.run([OTELPROF, 'report', '--lines-time=0.0001', '--no-lines-cache', '--symbols',
                            self.path('store'), self.path('a.otlp')], capture_output=True,
                           text=True, timeout=60)
        self.assertEqual(r.returncode, 0)
        over, places = re.search(r'the time was over; (\d+) of (\d+) places', r.stderr).groups()
        self.assertGreater(int(over), 0)
        self.assertLessEqual(int(over), int(places))

    def test_a_dead_server_costs_a_note(self):
        plain, _, usual = self.report()
        rows, said, seconds = self.report('http://127.0.0.1:1')
        self.assertEqual(rows, plain)
        self.assertRegex(said, r'^otelprof: no debug info from http://127.0.0.1:1: .*\n$')
        self.assertLess(seconds, usual + 10)  # libdw would wait so long for each file

    def test_a_server_that_does_not_answer_is_waited_for_once(self):
        plain, _, usual = self.report()
        with socket.create_server(('127.0.0.1', 0)) as s:
            url = 'http://127.0.0.1:%d' % s.getsockname()[1]
            rows, said, seconds = self.report(url, DEBUGINFOD_TIMEOUT='2')
        self.assertEqual(rows, plain)
        self.assertRegex(said, r'^otelprof: no debug info from .*\n$')
        self.assertLess(seconds, usual + 20)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
