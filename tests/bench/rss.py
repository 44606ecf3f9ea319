# SPDX-License-Identifier: Apache-2.0
"""The resident memory of a host after each step, with each transport, as the table of
docs/embedding.md; and the size of each object.

    rss.py BUILD [SECONDS]    a release build; as root
"""
import http.server
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

SOURCE = pathlib.Path(__file__).resolve().parents[2]
OBJECTS = ("libotelprof.so.0.1.0", "libotelprof-grpc.so", "libotelprof-http.so",
           "context/libotelprof-context.so.0.1.0", "heap/libotelprof-heap.so.0.1.0",
           "libotelprof.a")


def sizes(lib):
    with tempfile.NamedTemporaryFile() as stripped:
        for name in OBJECTS:
            subprocess.run(["strip", "--strip-unneeded", "-o", stripped.name, lib / name],
                           check=True)
            print(f"{(lib / name).stat().st_size:>9,} {os.stat(stripped.name).st_size:>9,} {name}")


def host(build, folder):
    out = folder / "rss"
    subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", f"-I{SOURCE}/include", f"-I{build}/include",
                    pathlib.Path(__file__).with_suffix(".c"), "-o", out, f"-L{build}/lib",
                    "-lotelprof", "-Wl,--allow-shlib-undefined"], check=True)
    return out


class Taker(http.server.BaseHTTPRequestHandler):
    """Takes each request."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def main(build, seconds="10"):
    build = pathlib.Path(build).resolve()
    env = dict(os.environ, LD_LIBRARY_PATH=str(build / "lib"),
               OTELPROF_MODULE_DIR=str(build / "lib"))
    sizes(build / "lib")
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        program = host(build, folder)
        sink = subprocess.Popen([build / "examples/otelprof/otelprof", "sink", "--listen",
                                 "127.0.0.1:0", "--dir", folder / "sink"], env=env,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        taker = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Taker)
        threading.Thread(target=taker.serve_forever, daemon=True).start()
        try:
            port = None
            while not port:
                port = re.search(r"listening on 127.0.0.1:(\d+)", sink.stderr.readline())
            for kind, at in (("none", 0), ("grpc", port[1]), ("http", taker.server_port)):
                r = subprocess.run([program, kind, f"http://127.0.0.1:{at}", seconds],
                                   env=env, capture_output=True, text=True, check=False)
                print(kind, r.stderr.strip())
                for line in r.stdout.splitlines():
                    step, *kib = line.split("\t")
                    rows.setdefault(step, []).append(
                        "{:.1f} ({:.1f} + {:.1f})".format(*(int(k) / 1024 for k in kib)))
        finally:
            sink.terminate()
            sink.wait()
    print("| step | callback | gRPC | HTTP |\n|---|---|---|---|")
    for step, columns in rows.items():
        print(f"| {step} | {' | '.join(columns)} |")
    print(f"load {os.getloadavg()[0]:.1f}")


main(*sys.argv[1:])
