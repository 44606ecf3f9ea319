# SPDX-License-Identifier: Apache-2.0
"""A server that makes its interpreter, and forks: Debian's uWSGI with two workers."""

import http.client
import os
import shutil
import signal
import socket
import subprocess
import time

import check
import suite

APPLICATION = """
def leaf(n):
    x = 0
    for i in range(n): x += i * i
    return x
def handle(n):
    return leaf(n)
def application(environ, start_response):
    handle(30000)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"ok"]
"""
CHAIN = ["leaf", "handle", "application"]
WORKERS = 2
LOOP = "_PyEval_EvalFrameDefault"
MIN_SAMPLES = 300
LEAF_LEAST = 0.5
LATE_MOST = 0.1  # the first samples of a worker are walked when it has gone on, and say so


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def ask(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", "/")
    body = connection.getresponse().read()
    connection.close()
    return body


def wait_for(port, process):
    for _ in range(100):
        if process.poll() is not None:
            raise suite.Skip("uwsgi ended: it has no plugin python3")
        try:
            return ask(port)
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("uwsgi does not answer")


def cell(run, name):
    program = shutil.which("uwsgi") or shutil.which("uwsgi-core")
    if not program:
        raise suite.Skip("no uwsgi: uwsgi-core and uwsgi-plugin-python3")
    source = run.path("application.py")
    with open(source, "w", encoding="utf-8") as f:
        f.write(APPLICATION)
    port = free_port()
    server = subprocess.Popen([program, "--plugin", "python3", "--http-socket",
                               "127.0.0.1:%d" % port, "--master", "--processes", str(WORKERS),
                               "--wsgi-file", source, "--disable-logging"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              start_new_session=True)
    out = run.fresh(name + ".otlp")
    try:
        wait_for(port, server)
        recorder = subprocess.Popen([run.args.otelprof, "record", "-v", "-o", out, "--format",
                                     "otlp", "-F", str(run.args.hz), "-d", "60", "--tree",
                                     str(server.pid)], stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True)
        end = time.monotonic() + 2 + run.args.seconds
        while time.monotonic() < end:
            ask(port)
        suite.end(recorder)
        text = recorder.stdout.read()
        recorder.stdout.close()
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
    judge(run, name, suite.otlp.read_file(out), text)


def judge(run, name, capture, text):
    total = right = leaf = late = 0
    workers = set()
    wrong = {}
    for sample in capture.samples:
        names = [f.name for f in sample.frames]
        python = [f.name for f in sample.frames if f.type == "cpython"]
        if not python and not any(n.startswith(LOOP) for n in names):
            continue  # the server's own work
        total += sample.count
        if not python and names[-1][:1] == "[":
            late += sample.count
            continue
        whole = python in [CHAIN[at:] for at in range(len(CHAIN))] and names[-1][:1] != "["
        right += sample.count * whole
        leaf += sample.count * (python == CHAIN)
        workers.add(sample.pid)
        if not whole:
            key = " ".join(names[:30])
            wrong[key] = wrong.get(key, 0) + sample.count
    result = check.Result()
    result.need(total >= MIN_SAMPLES, "%d samples in Python" % total)
    result.need(late <= LATE_MOST * total, "%d say that Python's frames are missing" % late)
    result.need(right >= 0.99 * (total - late), "%d of %d exact" % (right, total - late))
    result.need(leaf >= LEAF_LEAST * total, "%d in its leaf" % leaf)
    result.need(len(workers) <= WORKERS, "%d workers" % len(workers))
    if result.problems:
        result.problems += ["  %d times %s" % (n, what)
                            for what, n in sorted(wrong.items(), key=lambda x: -x[1])[:3]]
    result.notes[:] = ["; ".join(result.notes)]
    run.judge(name, result, check.check_rules(capture), check.check_accounting(text))


CELLS = {"uwsgi": cell}
