# SPDX-License-Identifier: Apache-2.0
"""Values of one moment (memory in use, threads, goroutines) in several recordings read as one: for
each host and kind the newest window counts. The test writes the recordings.

usage: test_moments.py PROGRAM
"""
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
TIME_NS = 1_700_000_000_000_000_000
MS = 1_000_000
STRINGS = ['', 'main', 'inuse_space', 'bytes', 'threads', 'count']


def varint(n):
    out = b''
    while n > 0x7f:
        out += bytes([n & 0x7f | 0x80])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    """An integer, or bytes, or a text."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def attribute(key, value):
    return field(1, field(1, key) + field(2, field(3 if isinstance(value, int) else 1, value)))


def request(host, *profiles):
    """Of the attributes @host. A profile is pid, type, unit, milliseconds, value."""
    zero = b''
    out = b''
    for pid, kind, unit, ms, value in profiles:
        attributes = {**host, 'process.pid': pid, 'process.executable.name': f'p{pid}'}
        kind = field(1, STRINGS.index(kind)) + field(2, STRINGS.index(unit))
        profile = (field(1, kind) + field(2, field(1, 1) + field(4, varint(value))) +
                   varint(3 << 3 | 1) + struct.pack('<Q', TIME_NS + ms * MS) + field(4, MS))
        out += field(1, field(1, b''.join(attribute(k, v) for k, v in attributes.items())) +
                     field(2, field(2, profile)))
    function = field(1, STRINGS.index('main'))
    location = field(3, field(1, 1))
    tables = [(1, zero), (2, zero), (2, location), (3, zero), (3, function), (4, zero),
              *((5, s) for s in STRINGS), (6, zero), (7, zero), (7, field(1, varint(1)))]
    out += field(2, b''.join(field(number, entry) for number, entry in tables))
    return struct.pack('>I', len(out)) + out


def in_use(pid, ms, value):
    return pid, 'inuse_space', 'bytes', ms, value


def threads(pid, ms, value):
    return pid, 'threads', 'count', ms, value


class Moments(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, recordings):
        paths = []
        for i, recording in enumerate(recordings):
            paths.append(os.path.join(self.folder, f'{i}.otlp'))
            with open(paths[-1], 'wb') as f:
                f.write(recording)
        return paths

    def run_it(self, *args):
        r = subprocess.run([PROGRAM, *args], capture_output=True, text=True, timeout=60)
        self.assertEqual(r.returncode, 0, r.stderr)
        return r.stdout

    def check(self, recordings, **wanted):
        """The sums of the kinds in the report, in that of what merge writes, and in the timeline."""
        paths = self.write(recordings)
        merged, page = (os.path.join(self.folder, name) for name in ('m.otlp', 'x.firefox.json'))
        self.run_it('merge', '-o', merged, *paths)
        for files in (paths, paths[::-1], [merged]):
            for kind, total in wanted.items():
                d = json.loads(self.run_it('report', '--format=json', '--kind', kind, *files))
                self.assertEqual(d['total'], total, (kind, files))
            self.run_it('convert', '-o', page, *files)
            with open(page, encoding='utf-8') as f:
                shown = {}
                all_threads = json.load(f)['threads']
                # the viewer tells them apart by tid, and shows a process by its main thread
                self.assertEqual(len({t['tid'] for t in all_threads}), len(all_threads))
                mains = [t['pid'] for t in all_threads if t['isMainThread']]
                self.assertEqual(sorted(mains), sorted({t['pid'] for t in all_threads}))
                for thread in all_threads:
                    kind = thread['name'].split('(')[1].rstrip(')')
                    shown[kind] = shown.get(kind, 0) + sum(thread['samples']['weight'])
            self.assertEqual(shown, wanted, files)

    def test_two_hosts(self):
        a, b = {'host.name': 'a'}, {'host.name': 'b'}
        self.check([request(a, in_use(1, 0, 1000), threads(1, 0, 3)),
                    request(b, in_use(1, 1, 20), threads(1, 1, 4))], inuse_space=1020, threads=7)

    def test_the_newest_window_of_each_host(self):
        a, b = {'host.name': 'a'}, {'host.name': 'b'}
        self.check([request(a, in_use(1, 0, 1000), in_use(2, 0, 500)) +
                    request(a, in_use(1, 5000, 1)),
                    request(b, in_use(1, 2000, 20)) + request(b, in_use(3, 7000, 40))],
                   inuse_space=41)

    def test_the_id_of_a_host_goes_before_its_name(self):
        def host(name, number):
            return {'host.name': name, 'host.id': number}
        self.check([request(host('a', '1'), in_use(1, 0, 1000)),
                    request(host('a', '2'), in_use(1, 1, 20))], inuse_space=1020)
        self.check([request(host('a', '1'), in_use(1, 0, 1000)),
                    request(host('b', '1'), in_use(1, 1, 20))], inuse_space=20)

    def test_hosts_without_a_name_are_one(self):
        self.check([request({}, in_use(1, 0, 1000)), request({}, in_use(1, 1, 20))],
                   inuse_space=20)

    def test_each_kind_has_a_newest_window(self):
        a = {'host.name': 'a'}
        self.check([request(a, in_use(1, 0, 1000)), request(a, threads(1, 1, 3))],
                   inuse_space=1000, threads=3)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
