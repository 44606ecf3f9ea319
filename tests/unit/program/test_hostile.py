# SPDX-License-Identifier: Apache-2.0
"""All commands with hostile names, files, recordings and signals.

usage: test_hostile.py PROGRAM [TEST...]    (the program linked with fake_otelprof.c)
"""
import concurrent.futures
import contextlib
import ctypes
import glob
import json
import os
import resource
import select
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from hostile import (NAMES, Request, complaint, markup, number, numbers, piece, recording,
                     varint)

PROGRAM = os.path.abspath(sys.argv[1])
REPORTS = [['--format', f, *more] for f in ('text', 'json', 'markdown')
           for more in ([], ['--tree'])] + [
    ['--by', by] for by in ('module', 'program', 'process', 'thread', 'container', 'service')]


def run(*args, mode=None, env=None, **kwargs):
    env = dict(os.environ, NO_COLOR='1', **(env or {}))
    env.pop('FAKE_OTELPROF', None)
    if mode:
        env['FAKE_OTELPROF'] = mode
    kwargs = {'stdin': subprocess.DEVNULL, 'stdout': subprocess.PIPE, **kwargs}
    if 'input' in kwargs:
        del kwargs['stdin']
    return subprocess.run([PROGRAM, *args], env=env, stderr=subprocess.PIPE, timeout=60, **kwargs)


def listen():
    """Before exec: what nohup and a shell's & ignore would stay ignored."""
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


class Case(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.dir = directory.name

    def path(self, name):
        return os.path.join(self.dir, name)

    def clean(self, args, r):
        """Nothing that a terminal obeys, and nothing of a sanitizer."""
        for out in (r.stdout or b'', r.stderr):
            self.assertIsNone(complaint(out), args)
        self.assertIn(r.returncode, (0, 1, 2), (args, r.stderr))
        self.assertNotIn(b'Sanitizer', r.stderr, args)
        return r


class Names(Case):
    def recording(self):
        """Each name stands wherever a name may."""
        q = Request(**{'process.executable.name': NAMES[0], 'service.name': NAMES[7],
                       'process.executable.path': '/x/' + NAMES[1], 'container.id': NAMES[9]})
        for i, name in enumerate(NAMES):
            q.sample([q.frame(name, '/f/' + NAMES[-1 - i], 3, 4, '/m/' + name, 'cpython'),
                      q.frame(NAMES[(i + 1) % len(NAMES)])], 10 + i, [('thread.name', name)])
            q.sample([q.frame(module=name), q.frame(name, kind='abort')], 2)
        return q.write(self.path('names.otlp'))

    def test_reports(self):
        path = self.recording()
        for args in [['report', *more, '-n', '1000', path] for more in REPORTS] + [
                ['diff', '--format', f, path, path] for f in ('text', 'json', 'markdown')] + [
                ['convert', '-o', '-', '--format', f, path] for f in ('folded', 'speedscope', 'firefox')]:
            r = self.clean(args, run(*args))
            self.assertEqual(r.returncode, 0, (args, r.stderr))
            if 'markdown' in args:
                self.assertIsNone(markup(r.stdout.decode()))
            if 'json' in args or 'speedscope' in args or 'firefox' in args:
                json.loads(r.stdout)

    def test_pages(self):
        path = self.recording()
        for args in (['convert', '-o', self.path('a.html'), path],
                     ['diff', '-o', self.path('a.html'), path, path]):
            self.assertEqual(run(*args).returncode, 0, args)
            with open(self.path('a.html'), 'rb') as f:
                page = f.read()
            self.assertIsNone(complaint(page, '\n\t'))
            for name in ('</script><script>alert', '<img src=x'):
                self.assertNotIn(name.encode(), page)

    def test_names_that_differ_by_what_is_hidden_stay_two(self):
        q = Request()
        names = ['f\x01', 'f\x02', 'f\u200b', 'f\u200c', 'f\udc9b', 'f\x9b', 'f']
        for name in names:
            q.sample([q.frame(name)])
        path = q.write(self.path('a.otlp'))
        rows = json.loads(run('report', '--format', 'json', path).stdout)['rows']
        self.assertEqual(len({row['name'] for row in rows}), len(names))
        folded = run('convert', '-o', '-', '--format', 'folded', path).stdout.decode()
        self.assertEqual(len(set(folded.splitlines())), len(names))
        # What is shown names the function.
        for row in rows:
            r = run('report', '--callers', row['name'], path)
            self.assertEqual(r.returncode, 0, r.stderr)

    def test_live_commands(self):
        for name in ('x'.join(NAMES[:5]), 'x'.join(NAMES[6:13])):
            mode = 'name=' + name
            for args in (['top', '--once', '-d', '0.1'], ['top', '--once', '--json', '-d', '0.1'],
                         ['record', '-d', '0.1', '-o', self.path('a.html')]):
                self.assertEqual(self.clean(args, run(*args, mode=mode)).returncode, 0)

    def test_names_of_files_and_arguments(self):
        good = self.recording()
        for name in ('x'.join(NAMES[:13]), NAMES[13], 'A' * 4096):
            there = self.path(name.replace('/', '') + '.otlp')
            if len(name) < 200:
                with open(good, 'rb') as a, open(os.fsencode(there), 'wb') as b:
                    b.write(a.read())
            for args in (['report', there], ['diff', there, good], ['diff', '--format', 'markdown', there, there],
                         ['report', '--format', 'markdown', there], ['merge', '-o', self.path('m.otlp'), there],
                         ['report', there + 'x'], ['merge', '-o', '/none/' + name, good],
                         ['convert', '-o', name, good], ['convert', '--format', name, '-o', 'x', good],
                         ['report', '--callers', name, good], ['report', '--kind', name, good],
                         ['report', '--by', name, good], ['report', '--symbols', name, good],
                         ['sink', '--listen', name], ['ctl', '--socket', name, 'status'], ['ctl', name],
                         ['record', '--config', name], ['record', '--rule', name],
                         ['record', '-o', '/none/' + name, '--format', 'otlp', '-d', '0.1'],
                         ['record', '--pid', name], ['record', '-d', '0.1', '-o', self.path('y.html'), '--kinds', name], ['--' + name], [name]):
                with self.subTest(args=args):
                    self.clean(args, run(*[os.fsencode(a) for a in args]))
            r = run('record', '-d', '0.1', '-o', self.path('x.html'), '--', os.fsencode('/none/' + name))
            self.assertIsNone(complaint(r.stderr))


def writers(out, recording):
    """Every command that writes a file by itself; that of record is the library's."""
    return (['merge', '-o', out, recording],
            ['convert', '--format', 'folded', '-o', out, recording],
            ['diff', '-o', out, recording, recording])


NOBODY = 65534
# close() and fsync() of regular files that are full only then, as those of NFS and FUSE.
FULL = r'''
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/stat.h>
static int full(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size && !(st.st_mode & 077);
}
int WHICH(int fd)
{
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, NAME);
	int bad = full(fd), r = real(fd);
	if (bad)
		errno = EDQUOT;
	return bad ? -1 : r;
}
'''


class Files(Case):
    def setUp(self):
        super().setUp()
        q = Request()
        q.sample([q.frame('f')])
        self.good = q.write(self.path('good.otlp'))

    def there(self, name, text='precious'):
        with open(self.path(name), 'w', encoding='ascii') as f:
            f.write(text)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), 'rb') as f:
            return f.read()

    def test_what_was_there_is_kept(self):
        for args in writers(self.path('out'), self.good):
            self.there('out')
            r = self.clean(args, run(*args))
            self.assertEqual(r.returncode, 0, (args, r.stderr))
            self.assertEqual(self.read('out.old'), b'precious', args)
            self.assertNotEqual(self.read('out'), b'precious', args)
            self.assertEqual(os.stat(self.path('out')).st_mode & 0o777, 0o600, args)

    def test_an_input_is_no_output(self):
        before = self.read('good.otlp')
        os.link(self.good, self.path('linked'))
        for args in writers(self.path('linked'), self.good):
            r = run(*args)
            self.assertEqual((r.returncode, self.read('linked')), (1, before), args)

    @unittest.skipIf(os.geteuid(), 'makes files of others')
    def test_what_others_put_there(self):
        os.mkdir(self.path('d'))
        os.chmod(self.path('d'), 0o777)
        out = self.path('d/out')
        for make in ('link', 'dangling', 'fifo'):
            for args in writers(out, self.good):
                self.there('victim')
                if make == 'fifo':
                    os.mkfifo(out)
                else:
                    os.symlink(self.path('victim' if make == 'link' else 'none'), out)
                os.chown(out, NOBODY, NOBODY, follow_symlinks=False)
                r = self.clean(args, run(*args))
                self.assertEqual(r.returncode, 1, (make, args))
                self.assertEqual(self.read('victim'), b'precious')
                self.assertFalse(os.path.exists(self.path('none')))
                self.assertEqual(os.listdir(self.path('d')), ['out'])
                os.unlink(out)

    @unittest.skipIf(os.geteuid(), 'is root for another user')
    def test_the_user_behind_sudo_owns_it(self):
        for args in writers(self.path('out'), self.good):
            r = run(*args, env={'SUDO_UID': '4711', 'SUDO_GID': '4712'})
            self.assertEqual(r.returncode, 0, r.stderr)
            st = os.stat(self.path('out'))
            self.assertEqual((st.st_uid, st.st_gid, st.st_mode & 0o777), (4711, 4712, 0o600), args)

    def test_a_disk_that_is_full_at_the_end(self):
        library = self.path('full.so')
        for call in ('fsync', 'close'):
            source = FULL.replace('WHICH', call).replace('NAME', f'"{call}"')
            subprocess.run(['cc', '-shared', '-fPIC', '-x', 'c', '-', '-o', library], check=True,
                           input=source, text=True)
            for args in writers(self.path('out'), self.good):
                self.there('out')
                r = run(*args, env={'LD_PRELOAD': library, 'ASAN_OPTIONS': 'verify_asan_link_order=0'})
                self.assertEqual(r.returncode, 1, (call, args, r.stderr))
                self.assertIn(b'quota', r.stderr, (call, args))
                self.assertEqual(self.read('out'), b'precious', (call, args))
                self.assertEqual(sorted(os.listdir(self.dir)), ['full.so', 'good.otlp', 'out'])

    def test_standard_output_is_full(self):
        for args in (['--version'], ['--help'], ['help', 'record'], ['doctor'], ['doctor', '--json'],
                     ['top', '--once', '-d', '0.1'], ['top', '--once', '--json', '-d', '0.1'],
                     ['report', self.good], ['report', '--format', 'json', self.good],
                     ['diff', self.good, self.good], ['merge', '-o', '-', self.good],
                     ['convert', '-o', '-', '--format', 'folded', self.good]):
            with open('/dev/full', 'wb') as full:
                r = run(*args, stdout=full)
            self.assertEqual(r.returncode, 1, (args, r.stderr))
            self.assertIn(b'cannot write', r.stderr, args)


class Odd(Case):
    """Recordings whose samples cannot be right are not shown as if they were."""

    def test_values_where_they_were_before_1_10(self):
        q = Request()
        stack = q.stacks.add(numbers(1, [q.frame('main')]))
        q.samples = [number(1, stack) + numbers(2, [v]) for v in (1, 1, 265, 95)]
        path = q.write(self.path('a.otlp'))
        for args in (['report', path], ['convert', '-o', self.path('c.html'), path], ['diff', path, path]):
            r = self.clean(args, run(*args))
            self.assertEqual(r.returncode, 1, args)
            self.assertIn(b'before 1.10', r.stderr, args)
        # with attributes where links are
        q.samples = [s + numbers(3, [0]) for s in q.samples]
        r = run('report', q.write(path))
        self.assertEqual((r.returncode, b'before 1.10' in r.stderr), (1, True))

    def test_references_to_nothing(self):
        q = Request()
        q.sample([q.frame('main')], 5)
        q.samples += [number(1, 77) + numbers(4, [3]), number(1, 1)]
        r = run('report', q.write(self.path('a.otlp')))
        self.assertEqual(r.returncode, 0)
        self.assertIn(b'1 of 3 samples have neither a value nor a time', r.stderr)
        self.assertIn(b'1 of 3 samples refer to', r.stderr)

    def test_the_limit_of_a_request_is_named(self):
        for begin in (struct.pack('>I', 70 << 20) + b'\x0a', b'\x0a'):
            with open(self.path('a.otlp'), 'wb') as f:
                f.write(begin)
                f.truncate(70 << 20)
            r = self.clean([], run('report', self.path('a.otlp')))
            self.assertEqual((r.returncode, b'more than 64 MiB' in r.stderr), (1, True), r.stderr)

    def test_a_number_at_the_end_of_a_name_is_no_column(self):
        q = Request()
        q.sample([q.frame('name with spaces 12')], 56)
        path = q.write(self.path('a.otlp'))
        r = run('convert', '--format', 'folded', '-o', '-', path)
        self.assertEqual(r.stdout.decode(), 'prog;name with spaces\u00a012 56\n')


def compressed(elf, name, kind, size, content):
    """The ELF file with a section that has @content, compressed by @kind, and states @size."""
    elf = bytearray(elf)
    at, count, names = struct.unpack_from('<Q', elf, 40) + struct.unpack_from('<HH', elf, 60)
    texts = struct.unpack_from('<Q', elf, at + 64 * names + 24)[0]
    for header in range(at, at + 64 * count, 64):
        text = texts + struct.unpack_from('<I', elf, header)[0]
        if elf[text:elf.index(0, text)] == name.encode():
            struct.pack_into('<Q', elf, header + 8, struct.unpack_from('<Q', elf, header + 8)[0] | 0x800)
            struct.pack_into('<QQ', elf, header + 24, len(elf), 24 + len(content))
    return bytes(elf) + struct.pack('<IIQQ', kind, 0, size, 1) + content


class Bombs(Case):
    """Few bytes that ask for much. Each command ends soon, in little memory, with a sentence."""
    SECONDS = 20 # of CPU time; sanitizers are slow
    BYTES = 1 << 30

    def ask(self, path):
        commands = [['report', '--format', 'json', '--tree', path], ['merge', '-o', self.path('m'), path],
                    ['diff', path, path], *(['convert', '--format', f, '-o', self.path('c'), path]
                                            for f in ('html', 'firefox', 'pprof'))]
        # Where each takes ten times as long, what all read with and what writes by itself.
        for args in commands[:2] if self.sanitized() else commands:
            def limit():
                resource.setrlimit(resource.RLIMIT_CPU, (self.SECONDS, self.SECONDS))
                resource.setrlimit(resource.RLIMIT_FSIZE, (self.BYTES, self.BYTES))
                if not self.sanitized():
                    resource.setrlimit(resource.RLIMIT_AS, (self.BYTES, self.BYTES))
            r = self.clean(args, run(*args, preexec_fn=limit))
            if r.returncode:
                self.assertEqual(r.stderr.count(b'\n'), 1, (args, r.stderr))
                self.assertNotIn(b'memory', r.stderr, args)
            if os.path.exists(self.path('m')):
                self.assertLess(os.path.getsize(self.path('m')), 200 << 20)

    @staticmethod
    def sanitized():
        with open(PROGRAM, 'rb') as f:
            return b'__asan_init' in f.read()

    def bomb(self, q, repeat=b'', times=0):
        with open(self.path('bomb.otlp'), 'wb') as f:
            f.write(recording(q.encode() + repeat * times))
        self.ask(self.path('bomb.otlp'))

    def test_lines_of_a_location_in_a_stack(self):
        q = Request()
        q.frame('f')
        q.locations.append(piece(3, number(1, 1)) * 500000)
        q.sample([len(q.locations) - 1] * 2000)
        self.bomb(q)

    def test_a_stack_of_many_samples(self):
        q = Request()
        f = q.frame('f' * 5000)
        for depth in (30000, 40000):
            q.samples = []
            q.sample([f] * depth)
            q.samples *= 50000
            self.bomb(q)

    def test_a_long_name_of_many_samples(self):
        q = Request()
        q.sample([q.frame('f' * (4 << 20))])
        q.samples *= 100000
        self.bomb(q)

    def test_kinds(self):
        q = Request()
        q.sample([q.frame('f')])
        names = [q.strings.__len__() + i for i in range(30000)]
        q.strings += [b'%d' % i for i in range(30000)]
        one = b''.join(piece(2, piece(1, number(1, n) + number(2, n)) + piece(2, q.samples[0]))
                       for n in names)
        self.bomb(q, piece(1, piece(2, one)), 1)

    def test_windows_of_many_moments(self):
        q = Request()
        q.type = ('threads', 'count', '', '', 0)
        frames = [q.frame('f%d' % i) for i in range(100)]
        q.stacks += [numbers(1, [frames[i % 100], frames[i // 100]]) for i in range(10000)]
        kind = number(1, q.string('threads')) + number(2, q.string('count'))
        all_stacks = b''.join(piece(2, number(1, i + 1) + numbers(4, [1])) for i in range(10000))
        q.samples = []
        window = b''.join(piece(2, piece(1, kind) + piece(2, number(1, 1) + numbers(4, [1])) +
                                varint(3 << 3 | 1) + struct.pack('<Q', 10**18 + i)) for i in range(20000))
        self.bomb(q, piece(1, piece(2, piece(2, piece(1, kind) + all_stacks) + window)), 1)

    def test_attributes_of_a_resource_and_of_a_mapping(self):
        q = Request(**{'a%d' % i: 'x' for i in range(20000)})
        q.type = ('threads', 'count', '', '', 0)
        q.sample([q.frame('f')])
        q.samples *= 100000
        self.bomb(q)
        q = Request()
        q.mappings.append(numbers(5, [q.attribute('k', 'v')] * 200000))
        q.locations += [number(1, 1)] * 200000
        q.sample([1])
        self.bomb(q)

    def test_a_string_of_many_profiles(self):
        q = Request()
        q.sample([q.frame('f' * 3900000)])
        profile = piece(2, piece(2, q.samples[0]))
        self.bomb(q, piece(1, piece(2, profile)), 20000)

    def test_values_in_values(self):
        value = piece(1, 'x')
        for _ in range(3000):
            value = piece(5, piece(1, value))
        q = Request()
        q.attributes.append(number(1, q.string('k')) + piece(2, value))
        q.sample([q.frame('f')], 1)
        q.samples = [s + numbers(2, [len(q.attributes) - 1]) for s in q.samples]
        self.bomb(q)

    def test_recordings_that_were_cut(self):
        q = Request()
        for i in range(20):
            q.sample([q.frame('f%d' % i, '/f', 1, i, '/m')])
        whole = recording(q.encode())
        for cut in range(1, len(whole), len(whole) // 12):
            for data in (whole[:cut], whole + whole[:cut], whole[:cut] + b'\xff' + whole[cut + 1:]):
                path = self.path('cut.otlp')
                with open(path, 'wb') as f:
                    f.write(data)
                for args in (['report', path], ['merge', '-o', self.path('m'), path]):
                    self.clean(args, run(*args))


    def test_sections_that_state_a_size(self):
        """Debug info of anybody's program: what a section states is not what is allocated."""
        def tool(*args):
            return subprocess.run(args, cwd=self.dir, check=True, capture_output=True).stdout
        with open(self.path('a.c'), 'w', encoding='ascii') as f:
            f.write('int main(void) { return 0; }\n')
        tool('cc', '-g', '-nostdlib', '-static', '-Wl,-e,main,--build-id', '-o', 'plain', 'a.c')
        with open(self.path('plain'), 'rb') as f:
            plain = f.read()
        build_id = tool('readelf', '-n', 'plain').decode().split('Build ID: ')[1].split()[0]
        # A frame of zstd: one block, 128 KiB of one byte.
        frame = b'\x28\xb5\x2f\xfd\xa0' + struct.pack('<I', 1 << 17) + struct.pack('<I', 1 << 20 | 3)[:3] + b'A'
        for name in ('.comment', '.symtab', '.debug_str'):
            for kind, size in ((2, 2**64 - 1), (2, 2**64 - 2**16), (2, 1 << 17), (1, 1 << 40)):
                with open(self.path('a'), 'wb') as f:
                    f.write(compressed(plain, name, kind, size, frame))
                os.chmod(self.path('a'), 0o755)
                q = Request(**{'process.executable.path': self.path('a')})
                q.sample([q.frame(module='a', build_id=build_id)])
                args = ['report', '--no-lines-cache', '--lines-memory', '64', q.write(self.path('a.otlp'))]
                with self.subTest(name=name, kind=kind, size=size):
                    r = self.clean(args, run(*args))
                    self.assertEqual(r.returncode, 0, r.stderr)
                    self.assertEqual(b'more than 64 MiB' in r.stderr, size > 1 << 20, r.stderr)


class Table(Case):
    """Every command that reads a file, on every kind of file: one clean sentence, soon."""

    def setUp(self):
        super().setUp()
        q = Request()
        q.sample([q.frame('f', '/f', 1, 2, '/m'), q.frame('main')], 7)
        self.good = q.write(self.path('good.otlp'))

    def inputs(self):
        with open(self.good, 'rb') as f:
            good = f.read()
        files = {'empty': b'', 'text': b'hello\n' * 99, 'zeros': b'\0' * 4096, 'gzip': b'\x1f\x8b' + good, 'html': b'<html>',
                 'json': b'{"a":1}', 'perf': b'PERFILE2' + b'\0' * 99, 'long': b'\3\xff\xff\xff' + good,
                 'noise': bytes((i * 7919 >> 3) & 255 for i in range(5000)), 'cut': good[:-5], 'after': good + b'\0\0'}
        for name, data in files.items():
            with open(self.path(name), 'wb') as f:
                f.write(data)
        os.symlink('loop', self.path('loop'))
        os.symlink('none', self.path('dangling'))
        os.symlink('good.otlp', self.path('link'))
        os.mkdir(self.path('folder'))
        os.symlink('..', self.path('folder/up'))
        return [*map(self.path, files), *map(self.path, ('loop', 'dangling', 'link', 'folder', 'none')), '/dev/null', '/dev/zero',
                '/proc/self/mem', '/proc/self/environ', '/', '']

    def readers(self, path):
        out = self.path('out')
        return [['report', path], ['diff', self.good, path], ['merge', '-o', out, path, self.good],
                ['convert', '-o', out, '--format', 'firefox', path],
                ['record', '-d', '0.1', '-o', self.path('o.html'), '--config', path],
                ['top', '--once', '-d', '0.1', '--config', path], ['export', '-d', '0.1', '--config', path],
                ['ctl', '--socket', path, 'status'], ['sink', '--dir', path, '--listen', 'nowhere:x'],
                ['report', '--symbols', path, self.good], ['mcp'], ['dump', path], ['doctor', path]]

    def ask(self, row):
        """Runs a command of the table. The file of mcp is in a call."""
        path, args = row
        if args != ['mcp']:
            return run(*args)
        call = {'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call',
                'params': {'name': 'report', 'arguments': {'file': path}}}
        return run(*args, input=json.dumps(call).encode() + b'\n')

    def test_every_command_is_in_the_table(self):
        listed = run('--help').stdout.decode().split('Commands:\n')[1].split('\n\n')[0]
        self.assertEqual({line.split()[0] for line in listed.splitlines()}, {args[0] for args in self.readers('x')})

    def test_files(self):
        table = [(path, args) for path in self.inputs() for args in self.readers(path)]
        none = ('loop', 'dangling', 'none', '/dev/null', '/dev/zero', 'text')
        # Most of the time is that of starting them.
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for (path, args), r in zip(table, pool.map(self.ask, table)):
                with self.subTest(args=args):
                    self.clean(args, r)
                    if r.returncode:
                        self.assertIn(r.stderr.count(b'otelprof: '), (1, 2), r.stderr)
                    if path.endswith(none) and args[0] in ('report', 'merge', 'convert', 'diff') and '--symbols' not in args:
                        self.assertEqual(r.returncode, 1, r.stderr)
        with open(self.good, 'rb') as f:
            self.assertGreater(len(f.read()), 100)

    @unittest.skipIf(os.geteuid(), 'is root for another user')
    def test_files_that_may_not_be_read_or_written(self):
        os.chmod(self.dir, 0o755)
        os.chmod(self.good, 0o600)
        os.mkdir(self.path('d'), 0o755)
        for args in (*self.readers(self.good)[:5], ['report', '--symbols', self.path('d'), '/dev/null'],
                     ['merge', '-o', self.path('d/x'), self.good], ['record', '-d', '0.1', '-o', self.path('d/x.html')]):
            r = self.clean(args, run(*args, user=NOBODY, group=NOBODY, extra_groups=[]))
            self.assertEqual(r.returncode, 1, args)
            self.assertRegex(r.stderr, b'denied|not a file', args)
        self.assertEqual(os.listdir(self.path('d')), [])

    def unnamed(self):
        """Has this file system files without a name, which go with their last descriptor?"""
        try:
            os.close(os.open(self.dir, os.O_TMPFILE | os.O_RDWR))
        except OSError:
            return False
        return True

    def end_at_ten_moments(self, args, out):
        """What the file holds after a run to the end, and after a signal at each moment."""
        began = time.monotonic()
        self.assertEqual(run(*args).returncode, 0, args)
        usual, left = time.monotonic() - began, []
        for moment in range(11):
            with open(out, 'rb') as f:
                left.append(f.read())
            if moment == 10:
                return left
            with open(out, 'wb') as f:
                f.write(b'old')
            p = subprocess.Popen([PROGRAM, *args], stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                                 preexec_fn=listen)
            number = (signal.SIGTERM, signal.SIGKILL, signal.SIGHUP, signal.SIGINT)[moment % 4]
            time.sleep(usual * moment / 9)
            p.send_signal(number)
            p.wait(120)
            left += self.named_but_not_renamed(out, number) if self.unnamed() else []

    def named_but_not_renamed(self, out, number):
        """What files of @out hold that have a temporary name, which they get when they are whole. Only
        a kill between linkat(2) and rename(2) leaves one."""
        names = glob.glob(glob.escape(out) + '.*.tmp')
        if number != signal.SIGKILL:
            self.assertEqual(names, [], number)
        held = []
        for name in names:
            with open(name, 'rb') as f:
                held.append(f.read())
            self.assertNotEqual(held[-1], b'old')
            os.unlink(name)
        return held

    def test_a_file_is_old_or_new_whatever_ends_the_writer(self):
        q = Request()
        for i in range(3000):
            q.sample([q.frame('f%d' % i), q.frame('g%d' % (i % 7))], i)
        big = q.write(self.path('big.otlp'))
        outs = [self.path('out' + end) for end in ('.otlp', '.folded', '.html', '.json', '2.html')]
        table = [writers(out, big)[i] for i, out in enumerate(outs[:3])]
        table += [['convert', '--format', 'speedscope', '-o', outs[3], big], ['record', '-q', '-d', '0.3', '-o', outs[4]]]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for args, (whole, *left) in zip(table, pool.map(self.end_at_ten_moments, table, outs)):
                for moment, got in enumerate(left):
                    # the page of a recording has the time that it took
                    whole = got if args[0] == 'record' and got.endswith(b'</html>\n') else whole
                    self.assertIn(got, (b'old', whole), (args, moment))
        if self.unnamed():
            self.assertEqual([f for f in os.listdir(self.dir) if f.endswith('.tmp')], [])

    def test_nothing_is_left_of_what_was_not_finished(self):
        """Those that wait for the end of their input are killed while they do."""
        if not self.unnamed():
            self.skipTest('no files without a name here')
        os.mkfifo(self.path('fifo'))
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL):
            for args in writers(self.path('out'), self.path('fifo')):
                p = subprocess.Popen([PROGRAM, *args], stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                                     preexec_fn=listen)
                with open(self.path('fifo'), 'wb'):  # it reads by now
                    p.send_signal(number)
                    p.wait(120)
                self.assertEqual(sorted(os.listdir(self.dir)), ['fifo', 'good.otlp'], (number, args))


class Signals(Case):
    def start(self, *args, **kwargs):
        kwargs.setdefault('preexec_fn', listen)
        p = subprocess.Popen([PROGRAM, *args], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                             env=dict(os.environ, NO_COLOR='1'), start_new_session=True, **kwargs)
        self.addCleanup(self.end, p)
        return p

    def end(self, p):
        """And what it left behind, which would hold the output of the test."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(p.pid, signal.SIGKILL)
        p.wait()
        p.stderr.close()

    def wait_for(self, name):
        """Until a command has made the file of that name."""
        end = time.monotonic() + 120
        while not os.path.exists(self.path(name)) and time.monotonic() < end:
            time.sleep(0.02)

    def test_each_signal_at_some_moment_leaves_a_recording(self):
        names = ['HUP', 'INT', 'TERM', 'USR1', 'USR2', 'ALRM', 'XCPU', 'PROF', 'VTALRM', 'IO']
        started = [(i, name, self.start('record', '-q', '-o', self.path(name + '.html'), '-d', '30'))
                   for i, name in enumerate(names)]
        # The handlers stand when the fake has told that it is one.
        for i, name, p in started:
            p.stderr.readline()
        for i, name, p in started:
            time.sleep(0.02 * i)
            p.send_signal(getattr(signal, 'SIG' + name))
        for i, name, p in started:
            self.assertEqual(p.wait(120), 0, name)
            self.assertGreater(os.path.getsize(self.path(name + '.html')), 1000, name)
        self.assertEqual(sorted(os.listdir(self.dir)), sorted(n + '.html' for n in names))

    def test_what_is_ignored_stays_ignored(self):
        def ignore():
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        p = self.start('record', '-q', '-o', self.path('a.html'), '-d', '4', preexec_fn=ignore)
        p.stderr.readline()
        began = time.monotonic()
        p.send_signal(signal.SIGHUP)
        p.send_signal(signal.SIGINT)
        self.assertEqual(p.wait(120), 0)
        self.assertGreater(time.monotonic() - began, 0.8)

    def test_interrupts_are_the_command_s(self):
        script = ('import time\ntry:\n open("begun", "w").close()\n time.sleep(100)\n'
                  'except KeyboardInterrupt:\n'
                  ' time.sleep(0.5)\n open("state", "w").write("saved")\n')
        p = self.start('record', '-o', 'a.html', '--', sys.executable, '-c', script, cwd=self.dir)
        self.wait_for('begun')
        os.killpg(p.pid, signal.SIGINT)
        told = p.communicate(timeout=120)[1]
        self.assertIn(b'until the command ends', told)
        self.assertEqual(p.returncode, 0, told)
        with open(self.path('state'), encoding='ascii') as f:
            self.assertEqual(f.read(), 'saved')
        # One that does not care ends at the second.
        p = self.start('record', '-q', '-o', 'a.html', '--', 'sh', '-c', "trap '' INT; >again; sleep 100", cwd=self.dir)
        self.wait_for('again')
        os.killpg(p.pid, signal.SIGINT)
        time.sleep(1)
        self.assertIsNone(p.poll())
        os.killpg(p.pid, signal.SIGINT)
        self.assertEqual(p.wait(120), 0)

    def test_a_limit_of_the_size_of_files(self):
        q = Request()
        for i in range(2000):
            q.sample([q.frame('f%d' % i)])
        path = q.write(self.path('a.otlp'))
        for args in (['merge', '-o', self.path('m.otlp'), path], ['convert', '-o', self.path('m.html'), path]):
            r = run(*args, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
            self.assertEqual(r.returncode, 1, (args, r.stderr))
            self.assertIn(b'File too large', r.stderr)
        self.assertEqual(os.listdir(self.dir), ['a.otlp'])


class Paths(Case):
    """Paths that a recording, an assistant or the environment names."""
    ID = 'abcdef0123456789abcdef0123456789abcdef01'

    def watch(self, path):
        """Returns a function that tells whether the file was opened."""
        libc = ctypes.CDLL(None)
        fd = libc.inotify_init1(os.O_NONBLOCK)
        self.assertGreaterEqual(fd, 0)
        self.addCleanup(os.close, fd)
        self.assertGreaterEqual(libc.inotify_add_watch(fd, os.fsencode(path), 0x20), 0)

        def opened():
            try:
                return bool(os.read(fd, 4096))
            except BlockingIOError:
                return False
        return opened

    def test_a_recording_names_no_device(self):
        for name, kind in (('fifo', stat.S_IFIFO), ('device', stat.S_IFCHR)):
            if kind == stat.S_IFCHR and os.geteuid():
                continue
            os.mknod(self.path(name), kind | 0o600, os.makedev(1, 3))
            opened = self.watch(self.path(name))
            for path in (self.path(name), self.path('other')):
                q = Request(**{'process.executable.path': path})
                q.sample([q.frame(module=name, build_id=self.ID)])
                recorded = q.write(self.path('a.otlp'))
                for args in (['report', recorded], ['report', '--symbols', self.dir, recorded],
                             ['convert', '--symbols', self.dir, '-o', self.path('c.folded'), recorded]):
                    self.assertEqual(run(*args).returncode, 0, args)
                    self.assertFalse(opened(), (name, args))

    def program(self, split):
        """A folder with the program 'a', and a recording of it. @split: its debug info is in a.dwo;
        otherwise in a.debug."""
        folder = self.path('split' if split else 'beside')
        os.mkdir(folder)
        with open(os.path.join(folder, 'a.c'), 'w', encoding='ascii') as f:
            f.write('int main(void) { return 0; }\n')

        def tool(*args):
            return subprocess.run(args, cwd=folder, check=True, stdout=subprocess.PIPE).stdout.decode()
        tool('cc', '-g', *(['-gsplit-dwarf'] if split else []), '-c', 'a.c')
        tool('cc', '-nostdlib', '-static', '-Wl,-Ttext=0x1000,-e,main,--build-id', '-o', 'a', 'a.o')
        if not split:
            tool('objcopy', '--only-keep-debug', 'a', 'a.debug')
            tool('strip', 'a')
        build_id = tool('readelf', '-n', 'a').split('Build ID: ')[1].split()[0]
        q = Request(**{'process.executable.path': os.path.join(folder, 'a')})
        q.sample([q.frame(module='a', build_id=build_id)])
        return folder, q.write(self.path('a.otlp'))

    def lines_of(self, folder, recorded):
        """Has the report the program's line? Does it say that a package is not read?"""
        r = run('report', '--format', 'json', '--symbols', folder, '--no-lines-cache', recorded)
        self.assertEqual(r.returncode, 0, r.stderr)
        return '"line": 1' in str(r.stdout), b'1 file are in a package (.dwp), which is not read' in r.stderr

    def test_a_program_s_debug_info_is_no_pipe(self):
        """Who reads it opens the file beside the program, and the .dwo file that it names."""
        for split in (False, True):
            folder, recorded = self.program(split)
            pipe = os.path.join(folder, 'a.dwo' if split else 'a.debug')
            os.unlink(pipe)
            os.mkfifo(pipe)
            opened = self.watch(pipe)
            self.lines_of(folder, recorded)
            self.assertFalse(opened(), pipe)

    def test_a_package_of_debug_info_is_told(self):
        """From a .dwo file that is missing."""
        folder, recorded = self.program(True)
        dwo, dwp = os.path.join(folder, 'a.dwo'), os.path.join(folder, 'a.dwp')
        self.assertEqual(self.lines_of(folder, recorded), (True, False))
        os.rename(dwo, dwp)
        self.assertEqual(self.lines_of(folder, recorded), (False, True))
        os.unlink(dwp)
        self.assertEqual(self.lines_of(folder, recorded), (False, False))
        os.mkfifo(dwp)
        self.assertEqual(self.lines_of(folder, recorded), (False, False))

    @unittest.skipIf(os.geteuid(), 'makes files of others')
    def test_debug_info_is_opened_with_the_rights_of_the_program_s_owner(self):
        os.chmod(self.dir, 0o755)
        for split in (False, True):
            folder, recorded = self.program(split)
            os.chmod(os.path.join(folder, 'a.dwo' if split else 'a.debug'), 0o600)
            for owner, there in ((NOBODY, False), (0, True)):
                os.chown(os.path.join(folder, 'a'), owner, owner)
                self.assertEqual(self.lines_of(folder, recorded), (there, False), (split, owner))

    def test_an_argument_is_no_device(self):
        os.mkfifo(self.path('fifo'))
        for path in ('/dev/null', '/dev/zero'):
            for args in (['report', path], ['diff', path, path], ['merge', '-o', self.path('m'), path]):
                r = run(*args)
                self.assertEqual((r.returncode, b'it is not a file' in r.stderr), (1, True), r.stderr)
        # What a shell makes is read: a pipe, and what it is given.
        q = Request()
        q.sample([q.frame('f')])
        path = q.write(self.path('a.otlp'))
        with open(path, 'rb') as f:
            self.assertEqual(run('report', '/dev/stdin', stdin=f).returncode, 0)
        r = subprocess.run(['bash', '-c', f'"{PROGRAM}" report <(cat "{path}")'], check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.assertEqual(r.returncode, 0, r.stderr)

    def test_a_configuration_from_a_pipe(self):
        for size in (0, 100000):
            r = subprocess.run(['bash', '-c', f'"{PROGRAM}" record -q -d 0.1 -o "{self.path("c.html")}" '
                                f'--config <(echo sample_rate_hz = 50; head -c {size} /dev/zero | tr "\\0" "\\n")'],
                               check=False, stderr=subprocess.PIPE)
            self.assertEqual(r.returncode, 0, r.stderr)

    def ask(self, *requests):
        r = run('mcp', input='\n'.join(json.dumps(q) for q in requests).encode() + b'\n', stdin=None)
        if b'built without' in r.stderr:
            self.skipTest('there is no mcp')
        return [json.loads(line) for line in r.stdout.splitlines()]

    def test_an_assistant_names_no_device_and_no_probe(self):
        os.mkfifo(self.path('fifo'))
        calls = [('report', {'file': self.path('fifo')}), ('report', {'file': '/dev/zero'}),
                 ('report', {'file': '/dev/fd/1'}), ('report', {'file': '-'}), ('report', {'file': self.dir}),
                 ('diff', {'before': '/dev/zero', 'after': '/dev/zero'}),
                 ('record', {'kinds': 'probe:uprobe:/lib/libc.so.6:malloc'}), ('record', {'kinds': 'cpu,perf:cycles'})]
        for (tool, _), answer in zip(calls, self.ask(*(
                {'jsonrpc': '2.0', 'id': i, 'method': 'tools/call', 'params': {'name': n, 'arguments': a}}
                for i, (n, a) in enumerate(calls)))):
            self.assertTrue(answer['result']['isError'], answer)
            self.assertRegex(answer['result']['content'][0]['text'], 'must be a file|no probe', tool)

    def test_what_is_no_message(self):
        lines = [b'{"jsonrpc":"1.0","id":1,"method":"ping"}', b'{"jsonrpc":"2.0","id":{"a":[1]},"method":"ping"}',
                 b'{"jsonrpc":"2.0","id":2,"method":"ping"} trailing', b'\xff\xfe', b'[' * 100, b'[]', b'7',
                 b'{"jsonrpc":"2.0","id":3,"method":"ping","x":"' + b'y' * (2 << 20) + b'"}',
                 b'{"jsonrpc":"2.0","id":4,"method":"ping"}']
        r = run('mcp', input=b'\n'.join(lines) + b'\n', stdin=None)
        if b'built without' in r.stderr:
            self.skipTest('there is no mcp')
        answers = [json.loads(line) for line in r.stdout.splitlines()]
        self.assertEqual([a.get('error', {}).get('code') for a in answers],
                         [-32600, -32600, -32700, -32700, -32700, -32600, -32600, -32600, None])
        self.assertEqual(answers[-1]['id'], 4)

    def test_cancel_ping_and_batch_while_a_tool_runs(self):
        slow = {'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {'name': 'record', 'arguments': {'seconds': 60}}}
        p = subprocess.Popen([PROGRAM, 'mcp'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             env=dict(os.environ, FAKE_OTELPROF=''))
        self.addCleanup(p.communicate)
        self.addCleanup(p.kill)

        def send(message):
            p.stdin.write(json.dumps(message).encode() + b'\n')
            p.stdin.flush()
        send({'jsonrpc': '2.0', 'id': 0, 'method': 'ping'})
        if not p.stdout.readline():
            self.skipTest('there is no mcp')
        send(slow)
        send({'jsonrpc': '2.0', 'id': 2, 'method': 'ping'})
        self.assertEqual(json.loads(p.stdout.readline())['id'], 2)
        send([{'jsonrpc': '2.0', 'id': i, 'method': 'ping'} for i in (3, 4)])
        send({'jsonrpc': '2.0', 'method': 'notifications/cancelled', 'params': {'requestId': 1}})
        self.assertEqual([a['id'] for a in json.loads(p.stdout.readline())], [3, 4])

    def test_a_command_that_closes_its_outputs_and_hangs_is_cancelled(self):
        """As one does that waits for a file system while it exits."""
        program = self.path('program')
        shutil.copy(PROGRAM, program)
        p = subprocess.Popen([program, 'mcp'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             env=dict(os.environ, FAKE_OTELPROF=''))
        self.addCleanup(p.communicate)
        self.addCleanup(p.kill)

        def send(message):
            p.stdin.write(json.dumps(dict(message, jsonrpc='2.0')).encode() + b'\n')
            p.stdin.flush()
        send({'id': 0, 'method': 'ping'})
        if not p.stdout.readline():
            self.skipTest('there is no mcp')
        os.unlink(program)
        with open(program, 'w', encoding='ascii') as f:
            f.write(f'#!/bin/sh\nexec >{self.path("closed")} 2>&1\nexec sleep 1000\n')
        os.chmod(program, 0o755)
        send({'id': 1, 'method': 'tools/call', 'params': {'name': 'doctor', 'arguments': {}}})
        while not os.path.exists(self.path('closed')):
            time.sleep(0.01)
        send({'id': 2, 'method': 'ping'})
        self.assertTrue(select.select([p.stdout], [], [], 30)[0])
        self.assertEqual(json.loads(p.stdout.readline())['id'], 2)
        send({'method': 'notifications/cancelled', 'params': {'requestId': 1}})
        send({'id': 3, 'method': 'ping'})
        self.assertTrue(select.select([p.stdout], [], [], 30)[0])
        self.assertEqual(json.loads(p.stdout.readline())['id'], 3)

    @unittest.skipIf(os.geteuid(), 'is root in another home')
    def test_nothing_is_made_in_another_s_home(self):
        q = Request()
        q.sample([q.frame(module='m', build_id=self.ID)])
        recorded = q.write(self.path('a.otlp'))
        home = self.path('home')
        os.mkdir(home)
        os.chown(home, NOBODY, NOBODY)
        for env in ({'HOME': home}, {'XDG_CACHE_HOME': home + '/.cache'}, {'XDG_CACHE_HOME': home},
                    {'XDG_STATE_HOME': home}, {'XDG_STATE_HOME': home + '/state'}):
            for args in (['report', recorded], ['record', '-d', '0.1']):
                self.assertEqual(run(*args, env=env, cwd=self.dir).returncode, 0)
                self.assertEqual(os.listdir(home), [], (args, env))


# The trees of a page by their function's names and places, as its script pairs them.
ADOPT = r'''
const h = require('fs').readFileSync(process.argv[2], 'utf8');
const D = JSON.parse(h.match(/id="profile">([\s\S]*?)<\/script>/)[1]);
const B = JSON.parse(h.match(/id="before">([\s\S]*?)<\/script>/)[1]);
const S = D.strings, F = D.functions;
const part = name => h.match(new RegExp(`function ${name}\\([\\s\\S]*?\\n\\}\\n`))[0];
eval(h.match(/const NAME = .*/)[0] + part('unpack') + part('adopt') +
	';[D, B].forEach(x => x.trees.forEach(unpack)); adopt();');
const trees = D.trees.map(t => [t.side === 0 ? 0 : 1, t.k, t.p, [...t.f].map((f, i) =>
	[t.d[i], S[F[f][0]], S[F[f][1]], F[f][2], t.s[i]])]);
console.log(JSON.stringify(trees));
'''


class Namesakes(Case):
    """Two functions of one name are two."""
    def recording(self, name, lines=((10, 60), (20, 40)), file='/app/a.py'):
        q = Request()
        main = q.frame('main', '/app/m.py', 1, 2, kind='cpython')
        frames = [q.frame('run', file, line, line + 1, kind='cpython') for line, _ in lines]
        other = q.frame('run', '/app/b.py', 10, 11, kind='cpython')
        for frame, (_, value) in zip(frames, lines):
            q.sample([frame, main], value)
        q.sample([*frames, other, main], 100)
        return q.write(self.path(name))

    def changes(self, *args):
        r = run('diff', '--format', 'json', '--min', '0', '-n', '1000', *args)
        self.assertEqual(r.returncode, 0, r.stderr)
        return {(c['name'], c['file'], c['line']): (c['total_percent_before'], c['total_percent_after'])
                for c in json.loads(r.stdout)['changes']}

    def test_a_recording_against_itself(self):
        a = self.recording('a.otlp')
        got = self.changes('--total', a, a)
        self.assertEqual(len(got), 4)
        for key, (before, after) in got.items():
            self.assertEqual(before, after, key)
            self.assertLessEqual(before, 100, key)
        self.assertEqual(got['run', '/app/a.py', 10], (80, 80))
        self.assertEqual(got['run', '/app/a.py', 20], (70, 70))

    def test_lines_that_moved_are_paired_in_their_order(self):
        a = self.recording('a.otlp')
        b = self.recording('b.otlp', ((12, 60), (25, 40)))
        got = self.changes('--total', a, b)
        self.assertEqual(got['run', '/app/a.py', 10], (80, 80))
        self.assertEqual(got['run', '/app/a.py', 20], (70, 70))
        # One that is new is not another's.
        c = self.recording('c.otlp', ((10, 50), (15, 10), (20, 40)))
        got = self.changes('--total', a, c)
        self.assertEqual(got['run', '/app/a.py', 20], (70, 70))
        self.assertEqual(got['run', '/app/a.py', 15][0], 0)

    def test_the_page(self):
        if not shutil.which('node'):
            self.skipTest('no node')
        a = self.recording('a.otlp')
        page, script = self.path('a.html'), self.path('adopt.js')
        self.assertEqual(run('diff', '-o', page, a, a).returncode, 0)
        with open(script, 'w', encoding='ascii') as f:
            f.write(ADOPT)
        r = subprocess.run(['node', script, page], check=True, capture_output=True, timeout=60)
        trees = json.loads(r.stdout)
        self.assertEqual([t[1:] for t in trees if t[0] == 0], [t[1:] for t in trees if t[0] == 1])


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=1)
