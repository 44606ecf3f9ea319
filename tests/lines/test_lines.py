# SPDX-License-Identifier: Apache-2.0
"""Lines and inlined functions of every instruction of known programs, against addr2line of
LLVM (that of binutils 2.40 takes wrong files from DWARF 5 of g++), for compilers, levels, and ways to keep debug info.

usage: test_lines.py PRINT_LINES [OTELPROF]

With OTELPROF a live run too: what `otelprof report` says of a program that is profiled.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PRINT_LINES = os.path.abspath(sys.argv[1])
OTELPROF = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
ADDR2LINE = 'llvm-addr2line-14'
ADDRESSES = 3000  # of a program, at most

SPLIT = ' && objcopy --only-keep-debug {out} {out}.debug && strip -g {out} && ' \
        'objcopy --add-gnu-debuglink={out}.debug {out}'
CELLS = {
    'gcc-O0': ('gcc', 'known.c', 'gcc -g -O0 {src} -o {out}'),
    'gcc-O2': ('gcc', 'known.c', 'gcc -g -O2 {src} -o {out}'),
    'gcc-O2-dwarf4': ('gcc', 'known.c', 'gcc -gdwarf-4 -O2 {src} -o {out}'),
    'gcc-nopie': ('gcc', 'known.c', 'gcc -g -O2 -no-pie -fno-pie {src} -o {out}'),
    'gcc-compressed': ('gcc', 'known.c', 'gcc -g -gz -O2 {src} -o {out}'),
    'gcc-separate': ('gcc', 'known.c', 'gcc -g -O2 {src} -o {out}' + SPLIT),
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
}


def functions_of(path):
    """Ranges of code of the sources here, by nm."""
    out = subprocess.run(['nm', '-S', '-C', '-l', '--defined-only', path], check=True,
                         capture_output=True, text=True).stdout
    for line in out.splitlines():
        m = re.match(r'([0-9a-f]+) ([0-9a-f]+) [tTwW] (.*)\t(.*/known\.\w+):\d+', line)
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
            place, _, number = line.rpartition(':')
            frames.append((name, os.path.basename(place), int(number) if number.isdigit() else 0))
            name = None
    return found


def by_us(path, addresses):
    text = '\n'.join('%x' % a for a in addresses)
    out = subprocess.run([PRINT_LINES, path], input=text, check=True, capture_output=True,
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
        subprocess.run(command.replace('-gsplit-dwarf', '').format(
            src=os.path.join(HERE, source), out=out), shell=True, check=True, cwd=folder)
        code = [subprocess.run(['objdump', '-d', os.path.join(folder, name)], check=True,
                               capture_output=True).stdout.splitlines()[4:]
                for name in ('known', 'twin')]
        self.assertEqual(code[0], code[1])
        return out

    def compare(self, name, tool, source, command):
        for needed in (tool, ADDR2LINE):
            if not shutil.which(needed):
                self.skipTest('there is no ' + needed)
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, 'known')
            subprocess.run(command.format(src=os.path.join(HERE, source), out=out), shell=True,
                           check=True, cwd=folder)
            twin = self.twin(folder, source, command) if 'split' in command else out
            addresses = addresses_of(twin)
            theirs, ours = by_addr2line(twin, addresses), by_us(out, addresses)
            self.one_file_each(twin, ours)
            ours = with_base_names(ours)
        known = [a for a in addresses if theirs[a][0][2]]
        self.assertGreater(len(known), 30, 'addr2line knows too little of it')
        lines = [a for a in known if [f[1:] for f in ours[a]] == [f[1:] for f in theirs[a]]]
        # The outermost function is the symbol table's; the others are told apart by their own
        # name, which addr2line gives mangled.
        names = [a for a in known
                 if len(ours[a]) == len(theirs[a]) and
                 all(o[0] in t[0] or not t[0].startswith('_')
                     for o, t in zip(ours[a][:-1], theirs[a][:-1]) if o[0].isidentifier())]
        wrong = [(hex(a), theirs[a], ours[a]) for a in known if a not in lines][:3]
        self.assertGreaterEqual(len(lines), 0.99 * len(known), wrong)
        self.assertGreaterEqual(len(names), 0.99 * len(known))
        print('%s: %d of %d places as addr2line tells, %d with inlined functions' %
              (name, len(lines), len(known), sum(len(theirs[a]) > 1 for a in known)))


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


@unittest.skipIf(not OTELPROF or os.geteuid() != 0, 'the live run needs the program and root')
class Live(unittest.TestCase):
    def report(self, recording, *args):
        r = subprocess.run([OTELPROF, 'report', '--format=json', '-n', '200', *args, recording],
                           check=True, capture_output=True, text=True)
        return {row['name']: row for row in json.loads(r.stdout)['rows']}

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
            # Another program stands there now: nothing is known of the old one's lines.
            subprocess.run(['gcc', '-g', '-O1', os.path.join(HERE, 'known.c'), '-o', out],
                           check=True)
            self.assertNotIn('inner', self.report(recording))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
