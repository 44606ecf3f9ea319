#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An OTLP receiver for profiles whose behaviour is set while it runs, gRPC or HTTP. Used by
outage.py: as a module for what it says of requests, as a program for the server itself.

    otlp_server.py grpc|http PORT RECORD [CERT KEY [CLIENT_CA]]

Reads lines from standard input: the behaviour from now on, one of
    ok | unavailable | retry MS | partial | oversize | garbage | hang | reset
Appends a line to RECORD for each profile that was taken ("ID SAMPLES") or refused by partial
success ("rejected ID SAMPLES") before it answers.
"""
import gzip
import http.server
import os
import random
import socket
import ssl
import sys
import threading
import time

SERVICE = "opentelemetry.proto.collector.profiles.v1development.ProfilesService"


def fields(data):
    """(number, value) of each field of a message; a value is bytes or int."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if not byte & 0x80:
                return value
    while at < len(data):
        tag = varint()
        kind = tag & 7
        if kind == 0:
            yield tag >> 3, varint()
            continue
        size = {1: 8, 5: 4}.get(kind)
        if size is None:
            if kind != 2:
                raise ValueError("not protobuf")
            size = varint()
        yield tag >> 3, data[at:at + size]
        at += size


def packed(data):
    value = shift = total = 0
    for byte in data:
        value |= (byte & 0x7f) << shift
        shift += 7
        if not byte & 0x80:
            total += value
            value = shift = 0
    return total


def profiles(request):
    """(id, samples) of each profile: values where it has them, else one a time stamp."""
    for n1, resource in fields(request):
        if n1 != 1:
            continue
        for n2, scope in fields(resource):
            if n2 != 2:
                continue
            for n3, profile in fields(scope):
                if n3 != 2:
                    continue
                name, samples = "", 0
                for n4, value in fields(profile):
                    if n4 == 7:
                        name = value.hex()
                    elif n4 == 2:
                        sample = list(fields(value))
                        values = [packed(v) for n, v in sample if n == 4]
                        stamps = [len(v) // 8 for n, v in sample if n == 5]
                        samples += sum(values) or sum(stamps)
                yield name, samples


def message(number, data):
    size, out = len(data), b""
    while size > 0x7f:
        out += bytes([size & 0x7f | 0x80])
        size >>= 7
    return bytes([number << 3 | 2]) + out + bytes([size]) + data


class Receiver:
    def __init__(self, record):
        self.record = open(record, "a", buffering=1)
        self.lock = threading.Lock()
        self.mode = ["ok"]

    def note(self, request, word=""):
        with self.lock:
            for name, samples in profiles(request):
                self.record.write(f"{word}{name} {samples}\n")
            self.record.flush()

    def partial(self, request):
        """Every other profile is refused: the body of such an answer."""
        some = list(profiles(request))
        rejected = len(some) if random.random() < 0.5 else 0
        self.note(request, "rejected " if rejected else "")
        return message(1, b"\x08" + bytes([rejected & 0x7f]) + message(2, b"half of it"))

    def listen_to_script(self):
        for line in sys.stdin:
            self.mode = line.split() or ["ok"]
            print("mode", *self.mode, flush=True)


def run_grpc(receiver, port, tls):
    import grpc
    from concurrent import futures

    def export(request, context):
        mode = receiver.mode
        if mode[0] == "unavailable":
            context.abort(grpc.StatusCode.UNAVAILABLE, "away for now")
        if mode[0] == "retry":
            ms = int(mode[1])
            delay = b"\x08" + bytes([ms // 1000]) if ms >= 1000 else b""
            nanos, n = ms % 1000 * 1000000, b""
            while nanos > 0x7f:
                n += bytes([nanos & 0x7f | 0x80])
                nanos >>= 7
            delay += b"\x10" + n + bytes([nanos])
            info = message(1, b"type.googleapis.com/google.rpc.RetryInfo") + \
                message(2, message(1, delay))
            context.set_trailing_metadata((
                ("grpc-status-details-bin", b"\x08\x0e" + message(3, info)),))
            context.abort(grpc.StatusCode.UNAVAILABLE, "come later")
        if mode[0] == "oversize":
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED,
                          "grpc: received message larger than max (5050059 vs. 4194304)")
        if mode[0] == "hang":
            time.sleep(3600)
        if mode[0] == "partial":
            return receiver.partial(request)
        receiver.note(request)
        return b"\xff" * 20 if mode[0] == "garbage" else b""

    class Handler(grpc.GenericRpcHandler):
        def service(self, details):
            if details.method == f"/{SERVICE}/Export":
                return grpc.unary_unary_rpc_method_handler(export)
            return None

    server = grpc.server(futures.ThreadPoolExecutor(64), handlers=(Handler(),),
                         options=(("grpc.so_reuseport", 0),))
    address = f"127.0.0.1:{port}"
    if tls:
        read = [open(path, "rb").read() for path in tls]
        ca = read[2] if len(read) > 2 else None
        port = server.add_secure_port(address, grpc.ssl_server_credentials(
            [(read[1], read[0])], ca, ca is not None))
    else:
        port = server.add_insecure_port(address)
    server.start()
    receiver.server = server  # or it ends with this function
    print("port", port, flush=True)


def run_http(receiver, port, tls):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self, code, body=b"", **headers):
            self.send_response(code)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(body)))
            for key, value in headers.items():
                self.send_header(key.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self):
            request = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                request = gzip.decompress(request)
            mode = receiver.mode
            if mode[0] == "unavailable":
                self.answer(503, message(2, b"away for now"))
            elif mode[0] == "retry":
                self.answer(429, message(2, b"come later"),
                            Retry_After=str(max(1, int(mode[1]) // 1000)))
            elif mode[0] == "oversize":
                self.answer(413, message(2, b"http: request body too large"))
            elif mode[0] == "hang":
                time.sleep(3600)
            elif mode[0] == "reset":
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                           b"\1\0\0\0\0\0\0\0")
                self.connection.close()
            elif mode[0] == "partial":
                self.answer(200, receiver.partial(request))
            else:
                receiver.note(request)
                self.answer(200, b"\xff" * 20 if mode[0] == "garbage" else b"")

        def log_message(self, *args):
            pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request, client_address):
            pass  # a client that goes away is no news

    server = Server(("127.0.0.1", port), Handler)
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls[0], tls[1])
        if len(tls) > 2:
            context.load_verify_locations(tls[2])
            context.verify_mode = ssl.CERT_REQUIRED
        server.socket = context.wrap_socket(server.socket, server_side=True,
                                            do_handshake_on_connect=False)
    print("port", server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def main(protocol, port, record, *tls):
    receiver = Receiver(record)
    (run_grpc if protocol == "grpc" else run_http)(receiver, int(port), tls)
    receiver.listen_to_script()
    os._exit(0)  # also with calls that hang


if __name__ == "__main__":
    main(*sys.argv[1:])
