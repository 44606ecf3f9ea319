#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A scripted OTLP receiver for profiles: gRPC and HTTP at one port, with only Python's standard
library.

    receiver.py [--record FILE] [--keep DIR] [--stdin] PORT CERT KEY CLIENT_CA STEP...

"-" is a file that is not given. Each request is answered by the next step. The last step answers
all further requests:

    ok
    status:CODE:TEXT        a refusal: a status of gRPC, or of HTTP with a google.rpc.Status
    retry:CODE:DELAY        the same, to be tried again: in milliseconds (gRPC), seconds (HTTP)
    partial:COUNT:TEXT      partial success: COUNT profiles are rejected
    half:0:TEXT             the same: all profiles of every other request, by chance
    delay:MS:TEXT           ok, after so many milliseconds
    redirect:CODE:URL       HTTP alone, as are the next two
    page:CODE:TEXT          an answer of some other server
    big                     an answer of 5 MiB
    packed:COUNT:TEXT       gRPC alone: partial success in gzip
    bomb                    gRPC alone: 8 KB in gzip that are 8 MiB
    junk                    an answer that is no message
    hang                    none
    reset                   none; the connection is closed

Prints "port N", then a line for each request: its step, the length and begin of what it holds,
whether it was compressed, the headers of interest, the path and the peer's port.

    --record FILE   before it answers, append a line for each profile: "ID SAMPLES" where it was
                    taken, "rejected ID SAMPLES" where partial success refused it
    --keep DIR      write request number N, uncompressed, to DIR/N.bin
    --stdin         lines of standard input are steps: one counts from now on, and "mode STEP" is
                    printed; the end of input ends the program
"""
import argparse
import base64
import ctypes
import gzip
import os
import random
import signal
import socket
import ssl
import struct
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "live", "framework"))

import otlp  # noqa: E402
from ports import listen_anywhere  # noqa: E402

METHOD = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
SHOWN = ("user-agent", "authorization", "x-test", "content-type", "content-encoding",
         "dd-api-key")
NEVER_S = 86400
UNPACKED_MAX = 8 << 20


def unzstd(data):
    """Decompress with the system's libzstd, which our library needs anyway. Python has zstd since
    3.14."""
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    zstd.ZSTD_decompress.argtypes = (ctypes.c_char_p, ctypes.c_size_t) * 2
    out = ctypes.create_string_buffer(UNPACKED_MAX)
    length = zstd.ZSTD_decompress(out, len(out), data, len(data))
    if length > len(out):  # an error, as a negative number
        raise ValueError("no zstd")
    return out.raw[:length]


# --- messages, written by hand so that they share nothing with what is tested

def varint(value):
    out = b""
    while value > 0x7f:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    """A field with bytes, text or a number."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def status(code, text):
    """google.rpc.Status"""
    return field(1, code) + field(2, text)


def retry_info(code, ms):
    """google.rpc.Status with one RetryInfo."""
    delay = field(1, ms // 1000) + field(2, ms % 1000 * 1000000)
    url = "type.googleapis.com/google.rpc.RetryInfo"
    return field(1, code) + field(3, field(1, url) + field(2, field(1, delay)))


def partial(rejected, text):
    return field(1, field(1, rejected) + field(2, text))


def packed_sum(data):
    total = at = 0
    while at < len(data):
        value, at = otlp.varint(data, at)
        total += value
    return total


def parts(message, number):
    return [value for n, wire, value in otlp.fields(message) if n == number and wire == 2]


def profiles(request):
    """(id, samples) of each profile: the sum of its values, or else the number of timestamps."""
    for resource in parts(request, 1):
        for scope in parts(resource, 2):
            for profile in parts(scope, 2):
                samples = parts(profile, 2)
                values = sum(packed_sum(v) for s in samples for v in parts(s, 4))
                stamps = sum(len(v) // 8 for s in samples for v in parts(s, 5))
                yield "".join(v.hex() for v in parts(profile, 7)[-1:]), values or stamps


# --- the script

class Request:
    def __init__(self, grpc, path, headers, body, zipped, port):
        self.grpc, self.path, self.headers = grpc, path, headers
        self.body, self.zipped, self.port = body, zipped, port


class Answer:
    """The answer to send. @close: only close the connection."""

    def __init__(self, code=None, body=b"", text="", details=b"", kind="application/x-protobuf",
                 headers=(), hang=False, close=False, packed=False):
        self.packed = packed
        self.code, self.body, self.text, self.details = code, body, text, details
        self.kind, self.headers, self.hang, self.close = kind, headers, hang, close


class Script:
    """The steps, and the log of requests. All connections share it."""

    def __init__(self, steps, record=None, keep=None, out=None):
        self.lock = threading.Lock()
        self.steps, self.keep, self.out, self.count = list(steps) or ["ok"], keep, out, 0
        self.connections = 0  # made so far, also those without a request
        self.record = open(record, "a", buffering=1, encoding="ascii") if record else None

    def set(self, step):
        with self.lock:
            self.steps = [step]

    def say(self, line):
        if self.out:
            print(line, file=self.out, flush=True)

    def note(self, request, word=""):
        if self.record:
            for name, samples in profiles(request.body):
                self.record.write("%s%s %d\n" % (word, name, samples))
            self.record.flush()

    def answer(self, request):
        """Take the next step for @request."""
        with self.lock:
            step = self.steps[0]
            if len(self.steps) > 1:
                del self.steps[0]
            self.count += 1
            if self.keep:
                with open(os.path.join(self.keep, "%d.bin" % self.count), "wb") as f:
                    f.write(request.body)
            shown = "".join(chr(b) if 32 <= b < 127 else "." for b in request.body[:16])
            line = "call %s len=%d body=%s gzip=%d" % (step, len(request.body), shown,
                                                       request.zipped)
            for key in SHOWN:
                if key in request.headers:
                    line += ' %s="%s"' % (key, request.headers[key])
            self.say("%s connections=%d path=%s from=%d" % (line, self.connections, request.path,
                                                            request.port))
            if request.grpc and request.path != METHOD:
                return Answer(12, text="unknown method")
            name, _, rest = step.partition(":")
            number, _, text = rest.partition(":")
            return getattr(self, "step_" + name)(request, int(number or 0), text)

    def taken(self, request, body=b""):
        self.note(request)
        return Answer(0 if request.grpc else 200, body)

    def step_ok(self, request, number, text):
        return self.taken(request)

    def step_delay(self, request, number, text):
        self.lock.release()  # other requests are answered meanwhile
        try:
            time.sleep(number / 1000)
        finally:
            self.lock.acquire()
        return self.taken(request)

    def step_status(self, request, number, text):
        return Answer(number, b"" if request.grpc else status(3, text), text)

    def step_retry(self, request, number, text):
        if request.grpc:
            return Answer(number, text="later", details=retry_info(number, int(text)))
        return Answer(number, status(14, "later"), headers=[("Retry-After", text)])

    def step_partial(self, request, number, text):
        return self.taken(request, partial(number, text))

    def step_half(self, request, number, text):
        if random.random() < 0.5:
            return self.taken(request, partial(0, text))
        self.note(request, "rejected ")
        return Answer(0 if request.grpc else 200,
                      partial(len(list(profiles(request.body))), text))

    def step_junk(self, request, number, text):
        return self.taken(request, b"\xff" * 8)

    def step_big(self, request, number, text):
        return Answer(200, bytes(5 << 20))

    def step_packed(self, request, number, text):
        self.note(request)
        return Answer(0, gzip.compress(partial(number, text)), packed=True)

    def step_bomb(self, request, number, text):
        return Answer(0, gzip.compress(bytes(8 << 20)), packed=True)

    def step_redirect(self, request, number, text):
        return Answer(number, headers=[("Location", text)])

    def step_page(self, request, number, text):
        return Answer(number, text.encode(), kind="text/html")

    def step_hang(self, request, number, text):
        return Answer(hang=True)

    def step_reset(self, request, number, text):
        return Answer(close=True)


# --- connections

class Ended(Exception):
    """The peer closed the connection, or uses another protocol."""


class Connection:
    def __init__(self, sock, port, script):
        self.sock, self.port, self.script, self.buffer = sock, port, script, b""

    def read(self, n):
        while len(self.buffer) < n:
            more = self.sock.recv(65536)
            if not more:
                raise Ended
            self.buffer += more
        data, self.buffer = self.buffer[:n], self.buffer[n:]
        return data

    def line(self):
        while b"\r\n" not in self.buffer:
            more = self.sock.recv(65536)
            if not more:
                raise Ended
            self.buffer += more
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line.decode("latin-1")

    def serve(self):
        first = self.read(4)
        if first == b"PRI ":
            self.read(20)
            Http2(self).serve()
        if not first.isalpha():  # such as TLS
            self.sock.sendall(b"HTTP/1.1 400 x\r\nContent-Length: 0\r\n\r\n")
            raise Ended
        self.buffer = first + self.buffer
        while True:
            self.serve_http()

    def close(self):
        """Close at once, with a reset if some input was not read."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()
        raise Ended

    def serve_http(self):
        """One request of HTTP/1.1."""
        path = self.line().split(" ")[1]
        headers = {}
        while line := self.line():
            key, _, value = line.partition(":")
            headers[key.strip().lower()] = value.strip()
        if headers.get("expect", "").lower() == "100-continue":
            self.sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = self.read(int(headers.get("content-length", "0")))
        encoding = headers.get("content-encoding")
        zipped = encoding == "gzip"
        body = (gzip.decompress(body) if zipped else unzstd(body) if encoding == "zstd"
                else body)
        a = self.script.answer(Request(False, path, headers, body, zipped, self.port))
        if a.close:
            self.close()
        if a.hang:
            time.sleep(NEVER_S)
        lines = ["HTTP/1.1 %d x" % a.code, "Content-Type: " + a.kind,
                 "Content-Length: %d" % len(a.body)]
        lines += ["%s: %s" % header for header in a.headers]
        self.sock.sendall("\r\n".join(lines + ["", ""]).encode("latin-1") + a.body)


# The static table of RFC 7541, appendix A.
STATIC = [tuple(entry.split(" ", 1)) if " " in entry else (entry, "") for entry in (
    ":authority|:method GET|:method POST|:path /|:path /index.html|:scheme http|:scheme https|"
    ":status 200|:status 204|:status 206|:status 304|:status 400|:status 404|:status 500|"
    "accept-charset|accept-encoding gzip, deflate|accept-language|accept-ranges|accept|"
    "access-control-allow-origin|age|allow|authorization|cache-control|content-disposition|"
    "content-encoding|content-language|content-length|content-location|content-range|"
    "content-type|cookie|date|etag|expect|expires|from|host|if-match|if-modified-since|"
    "if-none-match|if-range|if-unmodified-since|last-modified|link|location|max-forwards|"
    "proxy-authenticate|proxy-authorization|range|referer|refresh|retry-after|server|set-cookie|"
    "strict-transport-security|transfer-encoding|user-agent|vary|via|www-authenticate"
).split("|")]
assert len(STATIC) == 61


class Hpack:
    """The headers of a connection, without Huffman's code, which gRPC's C core does not use for
    text."""

    def __init__(self):
        self.dynamic, self.limit = [], 4096

    def number(self, data, at, bits):
        value = data[at] & (1 << bits) - 1
        at += 1
        if value < (1 << bits) - 1:
            return value, at
        shift = 0
        while True:
            value += (data[at] & 0x7f) << shift
            shift += 7
            at += 1
            if not data[at - 1] & 0x80:
                return value, at

    def text(self, data, at):
        huffman = data[at] & 0x80
        length, at = self.number(data, at, 7)
        if huffman:
            raise ValueError("a header in Huffman's code")
        return data[at:at + length].decode("latin-1"), at + length

    def entry(self, index):
        return STATIC[index - 1] if index <= 61 else self.dynamic[index - 62]

    def add(self, entry):
        self.dynamic.insert(0, entry)
        while sum(len(k) + len(v) + 32 for k, v in self.dynamic) > self.limit:
            self.dynamic.pop()

    def headers(self, data):
        out, at = {}, 0
        while at < len(data):
            first = data[at]
            if first & 0x80:
                index, at = self.number(data, at, 7)
                key, value = self.entry(index)
            elif first & 0xe0 == 0x20:
                self.limit, at = self.number(data, at, 5)
                continue
            else:
                index, at = self.number(data, at, 6 if first & 0x40 else 4)
                key, at = (self.entry(index)[0], at) if index else self.text(data, at)
                value, at = self.text(data, at)
                if first & 0x40:
                    self.add((key, value))
            out[key] = value
        return out


def literal(key, value):
    """A header that is added to no table."""
    out = b"\0"
    for text in (key.encode(), value.encode()):
        assert len(text) < 16384
        out += (bytes([len(text)]) if len(text) < 127 else b"\x7f" + varint(len(text) - 127)) + text
    return out


class Http2:
    DATA, HEADERS, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 8, 9
    ACK = END_STREAM = 1
    END_HEADERS, PADDED, PRIORITY = 4, 8, 32
    WINDOW = (1 << 31) - 1

    def __init__(self, connection):
        self.c, self.hpack, self.streams = connection, Hpack(), {}
        self.lock = threading.Lock()  # guards the sending

    def send(self, kind, flags, stream, data=b""):
        with self.lock:
            self.c.sock.sendall(struct.pack(">IBI", len(data) << 8 | kind, flags, stream) + data)

    def serve(self):
        # SETTINGS_INITIAL_WINDOW_SIZE
        self.send(self.SETTINGS, 0, 0, struct.pack(">HI", 4, self.WINDOW))
        self.send(self.WINDOW_UPDATE, 0, 0, struct.pack(">I", self.WINDOW - 65535))
        while True:
            head, flags, stream = struct.unpack(">IBI", self.c.read(9))
            self.frame(head & 0xff, flags, stream & self.WINDOW, self.c.read(head >> 8))

    def frame(self, kind, flags, stream, data):
        if kind == self.SETTINGS and not flags & self.ACK:
            self.send(self.SETTINGS, self.ACK, 0)
        elif kind == self.PING and not flags & self.ACK:
            self.send(self.PING, self.ACK, 0, data)
        elif kind == self.RST_STREAM:
            self.streams.pop(stream, None)
        elif kind in (self.HEADERS, self.DATA, self.CONTINUATION):
            if kind == self.DATA and data:
                self.send(self.WINDOW_UPDATE, 0, 0, struct.pack(">I", len(data)))
            if flags & self.PADDED and kind != self.CONTINUATION:
                data = data[1:len(data) - data[0]]
            if kind == self.HEADERS:
                data = data[5:] if flags & self.PRIORITY else data
                self.streams[stream] = [b"", {}, b"", False]
            self.take(kind, flags, stream, data)

    def take(self, kind, flags, stream, data):
        """Take a frame of a request: [block of headers, headers, body, is at its end]."""
        request = self.streams.get(stream)
        if not request:
            return
        if kind == self.DATA:
            request[2] += data
        else:
            request[0] += data
            if flags & self.END_HEADERS:
                request[1] = self.hpack.headers(request[0])
        request[3] |= kind != self.CONTINUATION and bool(flags & self.END_STREAM)
        if request[3] and request[1]:
            threading.Thread(target=self.answer, args=(stream, *request[1:3]),
                             daemon=True).start()

    def answer(self, stream, headers, body):
        zipped = bool(body[:1] == b"\1")
        body = body[5:]
        a = self.c.script.answer(Request(True, headers[":path"], headers,
                                         gzip.decompress(body) if zipped else body, zipped,
                                         self.c.port))
        try:
            if a.close:
                self.c.sock.shutdown(socket.SHUT_RDWR)
            elif not a.hang and stream in self.streams:
                self.send_answer(stream, a)
        except OSError:
            pass  # the peer has gone

    def send_answer(self, stream, a):
        trailers = literal("grpc-status", str(a.code))
        if a.text:
            escaped = "".join(c if " " <= c < "\x7f" and c != "%" else "%%%02X" % ord(c)
                              for c in a.text)
            trailers += literal("grpc-message", escaped)
        if a.details:
            trailers += literal("grpc-status-details-bin",
                                base64.b64encode(a.details).decode().rstrip("="))
        self.send(self.HEADERS, self.END_HEADERS, stream,
                  literal(":status", "200") + literal("content-type", "application/grpc") +
                  (literal("grpc-encoding", "gzip") if a.packed else b""))
        if a.code == 0:
            self.send(self.DATA, 0, stream, struct.pack(">BI", a.packed, len(a.body)) + a.body)
        self.send(self.HEADERS, self.END_HEADERS | self.END_STREAM, stream, trailers)


# --- the server

def tls_context(cert, key, client_ca):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    # A client that offers both protocols speaks HTTP/1.1.
    context.set_alpn_protocols(["http/1.1", "h2"])
    if client_ca:
        context.load_verify_locations(client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


class Receiver:
    """Serves in threads of its own. @tls: (certificate, key, authority of clients or None)."""

    def __init__(self, script, port=0, tls=None):
        self.script = script
        self.context = tls_context(*tls) if tls else None
        self.sock = socket.create_server(("127.0.0.1", port)) if port else listen_anywhere()
        self.port = self.sock.getsockname()[1]
        # before the first request, which a client that waits for the port sends at once
        script.say("port %d" % self.port)
        threading.Thread(target=self.accept, daemon=True).start()

    def url(self):
        return "http://127.0.0.1:%d" % self.port

    def accept(self):
        while True:
            try:
                sock, address = self.sock.accept()
            except OSError:
                return  # the socket was closed
            self.script.connections += 1
            threading.Thread(target=self.serve, args=(sock, address[1]), daemon=True).start()

    def serve(self, sock, port):
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.context:
                sock = self.context.wrap_socket(sock, server_side=True)
            Connection(sock, port, self.script).serve()
        except (Ended, OSError):
            pass  # clients may go away
        finally:
            sock.close()

    def close(self):
        self.sock.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--record")
    parser.add_argument("--keep")
    parser.add_argument("--stdin", action="store_true")
    parser.add_argument("port", type=int)
    parser.add_argument("cert")
    parser.add_argument("key")
    parser.add_argument("client_ca")
    parser.add_argument("steps", nargs="+")
    args = parser.parse_args()
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    tls = None
    if args.cert != "-":
        tls = (args.cert, args.key, None if args.client_ca == "-" else args.client_ca)
    script = Script(args.steps, args.record, args.keep, sys.stdout)
    Receiver(script, args.port, tls)
    while not args.stdin:
        time.sleep(NEVER_S)
    for line in sys.stdin:
        script.set(line.strip() or "ok")
        script.say("mode " + line.strip())
    os._exit(0)  # even if calls hang


if __name__ == "__main__":
    main()
