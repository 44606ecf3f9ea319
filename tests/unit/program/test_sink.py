# SPDX-License-Identifier: Apache-2.0
"""The sink, tested by a gRPC client that the test writes as a few HTTP/2 frames.

usage: test_sink.py PROGRAM    (the one linked with fake_otelprof.c)
"""
import gzip
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

PROGRAM = os.path.abspath(sys.argv[1])
METHOD = '/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export'
DATA, HEADERS, SETTINGS, GOAWAY, WINDOW_UPDATE = 0, 1, 4, 7, 8
FRAME_MAX, WINDOW_SIZE = 16384, b'\0\4'
END_STREAM, END_HEADERS, ACK = 1, 4, 1


def frame(kind, flags, stream, payload=b''):
    return struct.pack('>I', len(payload))[1:] + bytes([kind, flags]) + \
        struct.pack('>I', stream) + payload


def literal(name, value):
    """A header without compression: RFC 7541, 6.2.2."""
    out = b'\x00'
    for text in (name.encode(), value.encode()):
        assert len(text) < 127
        out += bytes([len(text)]) + text
    return out


def read_exactly(s, n):
    data = b''
    while len(data) < n:
        more = s.recv(n - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def bomb(n):
    """@n times 16 MiB of zeros as gzip: blocks that end at a byte can be repeated."""
    z = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = z.compress(bytes(16 << 20)) + z.flush(zlib.Z_FULL_FLUSH)
    return gzip.compress(b'')[:10] + block * n + z.flush() + bytes(8)


def call(port, message, compressed=False, method=METHOD):
    """One unary call; waits until the server has ended the stream. Returns its DATA.
    @compressed: gzip the message; None: it is."""
    headers = [(':method', 'POST'), (':scheme', 'http'), (':path', method),
               (':authority', 'localhost'), ('content-type', 'application/grpc'),
               ('te', 'trailers')]
    if compressed is not False:
        headers.append(('grpc-encoding', 'gzip'))
        message = gzip.compress(message) if compressed else message
    body = bytes([compressed is not False]) + struct.pack('>I', len(message)) + message
    got = b''
    window = {0: 65535, 1: 65535}  # of the connection and of the stream: RFC 9113, 6.9
    with socket.create_connection(('127.0.0.1', port), timeout=120) as s:
        s.sendall(b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + frame(SETTINGS, 0, 0) +
                  frame(HEADERS, END_HEADERS, 1, b''.join(literal(*h) for h in headers)))
        while True:
            n = min(len(body), window[0], window[1], FRAME_MAX)
            if n > 0:
                s.sendall(frame(DATA, END_STREAM * (n == len(body)), 1, body[:n]))
                body = body[n:]
                window = {stream: left - n for stream, left in window.items()}
                continue
            head = read_exactly(s, 9)
            length = int.from_bytes(head[:3], 'big')
            kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], 'big')
            payload = read_exactly(s, length)
            if kind == SETTINGS and not flags & ACK:
                s.sendall(frame(SETTINGS, ACK, 0))
                for at in range(0, length, 6):
                    if payload[at:at + 2] == WINDOW_SIZE:
                        window[1] += int.from_bytes(payload[at + 2:at + 6], 'big') - 65535
            elif kind == WINDOW_UPDATE:
                window[stream] += int.from_bytes(payload, 'big')
            elif kind == GOAWAY:
                raise EOFError('GOAWAY')
            elif kind == DATA:
                got += payload
            if kind in (DATA, HEADERS) and flags & END_STREAM:
                return got


class Sink(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.dir.cleanup)
        path = os.path.join(cls.dir.name, 'x.otlp')
        subprocess.run([PROGRAM, 'record', '-d', '0.1', '-o', path], check=True,
                       stderr=subprocess.DEVNULL)
        with open(path, 'rb') as f:
            cls.request = f.read()[4:]

    def sink(self, *args):
        p = subprocess.Popen([PROGRAM, 'sink', '--listen', '127.0.0.1:0', *args],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: p.poll() is None and p.kill())
        port = int(re.search(r'listening on 127\.0\.0\.1:(\d+)$', p.stderr.readline()).group(1))
        return p, port

    def test_where_to_listen(self):
        for where in ('127.0.0.1:65536', '127.0.0.1:x', '127.0.0.1:', '127.0.0.1', ''):
            r = subprocess.run([PROGRAM, 'sink', '--listen', where], capture_output=True, text=True,
                               timeout=120)
            self.assertEqual(r.returncode, 2, where)
            self.assertIn('--listen takes ADDRESS:PORT', r.stderr)
        with socket.create_server(('127.0.0.1', 0)) as s:
            where = '127.0.0.1:%d' % s.getsockname()[1]
            r = subprocess.run([PROGRAM, 'sink', '--listen', where], capture_output=True, text=True,
                               timeout=120)
        self.assertEqual((r.returncode, r.stderr),
                         (1, f'otelprof: cannot listen on {where}: Address already in use\n'))

    def test_good_requests(self):
        directory = os.path.join(self.dir.name, 'out')
        p, port = self.sink('--count', '2', '--dir', directory)
        # An ExportProfilesServiceResponse without a field: full success.
        self.assertEqual(call(port, self.request), b'\0\0\0\0\0')
        self.assertEqual(call(port, self.request, compressed=True), b'\0\0\0\0\0')
        out, err = p.communicate(timeout=120)
        self.assertEqual(p.returncode, 0, out + err)
        lines = out.splitlines()
        self.assertTrue(lines[0].startswith('request 1: 10 events in 4 samples of 3 processes'))
        self.assertTrue(lines[1].startswith('request 2: 10 events in 4 samples of 3 processes'))
        self.assertEqual(lines[2:], ['2 requests, 0 broke a rule'])
        for name in ('profiles-000001.otlp', 'profiles-000002.otlp'):
            with open(os.path.join(directory, name), 'rb') as f:
                self.assertEqual(f.read(), self.request)

    def test_files_of_an_earlier_run_stay(self):
        directory = os.path.join(self.dir.name, 'kept')
        for request in (self.request, self.request + self.request, b''):
            p, port = self.sink('--once', '--dir', directory)
            call(port, request)
            p.communicate(timeout=120)
        names = ['profiles-%06d.otlp' % i for i in (1, 2, 3)]
        self.assertEqual(sorted(os.listdir(directory)), names)
        self.assertEqual([os.path.getsize(os.path.join(directory, n)) for n in names],
                         [len(self.request), 2 * len(self.request), 0])
        # After a gap it goes on behind the highest, and a name taken meanwhile stays too.
        os.rename(os.path.join(directory, names[2]), os.path.join(directory, 'profiles-000041.otlp'))
        p, port = self.sink('--count', '2', '--dir', directory)
        with open(os.path.join(directory, 'profiles-000042.otlp'), 'w', encoding='ascii') as f:
            f.write('of another sink')
        call(port, self.request)
        call(port, self.request)
        p.communicate(timeout=120)
        self.assertEqual(sorted(os.listdir(directory)), names[:2] + [
            'profiles-%06d.otlp' % i for i in (41, 42, 43, 44)])
        self.assertEqual(os.path.getsize(os.path.join(directory, 'profiles-000042.otlp')), 15)

    def test_broken_rule_is_told_and_is_status_1(self):
        p, port = self.sink('--once')
        # Nothing at all is readable, and has none of the tables.
        self.assertEqual(call(port, b''), b'\0\0\0\0\0')
        out, _ = p.communicate(timeout=120)
        self.assertEqual(p.returncode, 1)
        self.assertIn('broken: mapping_table: entry 0 must be there', out)

    def test_not_readable_is_refused(self):
        p, port = self.sink('--once')
        self.assertEqual(call(port, self.request[:-1]), b'')
        out, _ = p.communicate(timeout=120)
        self.assertEqual(p.returncode, 1)
        self.assertIn('not readable', out)

    def test_what_unpacks_to_gigabytes_is_refused(self):
        p, port = self.sink('--once')
        whole = gzip.compress(self.request)
        for message in (bomb(64), whole[:-9], whole[:100] + b'x' + whole[101:], whole + b'x'):
            self.assertEqual(call(port, message, compressed=None), b'', len(message))
        with open(f'/proc/{p.pid}/status', encoding='ascii') as f:
            self.assertLess(int(re.search(r'VmHWM:\s*(\d+) kB', f.read()).group(1)), 768 << 10)
        self.assertEqual(call(port, self.request, compressed=True), b'\0\0\0\0\0')
        _, err = p.communicate(timeout=120)
        self.assertEqual(p.returncode, 0, err)
        self.assertEqual(err.count('a request was refused'), 4, err)
        self.assertIn('a request has more than 64 MiB', err)

    def test_other_methods_are_refused_and_not_counted(self):
        p, port = self.sink()
        self.assertEqual(call(port, b'', method='/x.Y/Z'), b'')
        p.terminate()
        out, err = p.communicate(timeout=120)
        self.assertEqual((p.returncode, out), (0, '0 requests, 0 broke a rule\n'), err)

    def test_address_in_use(self):
        p, port = self.sink()
        r = subprocess.run([PROGRAM, 'sink', '--listen', f'127.0.0.1:{port}'],
                           capture_output=True, text=True, timeout=120)
        self.assertEqual(r.returncode, 1)
        self.assertIn(f'cannot listen on 127.0.0.1:{port}', r.stderr)
        p.terminate()
        p.communicate(timeout=120)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=1)
