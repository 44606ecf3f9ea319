#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An HTTP server with a script, like server.c for gRPC, with the same arguments and lines.

Each request is answered by the next step, the last one again and again:
  ok | status:CODE:TEXT | retry:CODE:SECONDS | partial:COUNT:TEXT | redirect:CODE:URL |
  page:CODE:TEXT | hang | junk | reset | big
"""
import gzip
import http.server
import signal
import ssl
import sys
import threading
import time

PATH = "/v1development/profiles"


def field(number, data):
    return bytes([number << 3 | 2, len(data)]) + data


def status(code, text):
    return b"\x08" + bytes([code]) + field(2, text.encode())


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    steps = []
    lock = threading.Lock()

    def answer(self, code, body=b"", kind="application/x-protobuf", **headers):
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        zipped = self.headers.get("Content-Encoding") == "gzip"
        if zipped:
            body = gzip.decompress(body)
        with self.lock:
            step = self.steps[0]
            if len(self.steps) > 1:
                del self.steps[0]
            shown = "".join(chr(b) if 32 <= b < 127 else "." for b in body[:16])
            line = f"call {step} len={len(body)} body={shown} gzip={int(zipped)}"
            for key in ("user-agent", "authorization", "x-test", "content-type"):
                if key in self.headers:
                    line += f' {key}="{self.headers[key]}"'
            print(line, f"path={self.path} from={self.client_address[1]}", flush=True)
        name, _, rest = step.partition(":")
        code, _, text = rest.partition(":")
        getattr(self, "step_" + name)(int(code or 0), text)

    def step_ok(self, code, text):
        self.answer(200)

    def step_status(self, code, text):
        self.answer(code, status(3, text))

    def step_retry(self, code, text):
        self.answer(code, status(14, "later"), Retry_After=text)

    def step_partial(self, code, text):
        self.answer(200, field(1, b"\x08" + bytes([code]) + field(2, text.encode())))

    def step_redirect(self, code, text):
        self.answer(code, Location=text)

    def step_page(self, code, text):
        self.answer(code, text.encode(), "text/html")

    def step_junk(self, code, text):
        self.answer(200, b"\xff" * 8)

    def step_big(self, code, text):
        self.answer(200, b"\0" * (5 << 20))

    def step_hang(self, code, text):
        time.sleep(3600)

    def step_reset(self, code, text):
        self.connection.close()

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        pass  # a client that goes away is no news


def main(port, cert, key, client_ca, *steps):
    Handler.steps = list(steps)
    server = Server(("127.0.0.1", int(port)), Handler)
    if cert != "-":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        if client_ca != "-":
            context.load_verify_locations(client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
        server.socket = context.wrap_socket(server.socket, server_side=True,
                                            do_handshake_on_connect=False)
    print("port", server.server_address[1], flush=True)
    server.serve_forever()


signal.signal(signal.SIGPIPE, signal.SIG_IGN)
main(*sys.argv[1:])
