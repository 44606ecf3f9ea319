# SPDX-License-Identifier: Apache-2.0
"""Builds and starts the programs with a planted fault.

Each is a context manager that yields what the test needs: see Target.
"""
import contextlib
import glob
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "framework"))
import ports  # noqa: E402
import suite  # noqa: E402

CACHE = os.environ.get("OTELPROF_CACHE") or os.path.expanduser("~/.cache/otelprof-tests")
PACKAGES = ["gunicorn==23.0.0", "psycopg2-binary==2.9.10", "py-spy==0.4.1"]
HANGS_AFTER = 0.5  # of when it says that it begins
RESOLVER = "127.0.0.77"


class Target:
    """@argv: the program. @before: words before the whole command, of another environment.
    @pid: of one that runs already, and is looked at with -p."""

    def __init__(self, argv, before=(), pid=None):
        self.argv, self.before, self.pid = list(argv), list(before), pid


def source(name):
    found = glob.glob(os.path.join(HERE, "*", name))
    return found[0] if found else os.path.join(HERE, name)


def need(name):
    found = shutil.which(name)
    if not found:
        raise suite.Skip("no " + name)
    return found


def python():
    """The interpreter itself: what starts it for a user may be a program of its own."""
    return subprocess.run([need("python3"), "-c", "import sys; print(sys.executable)"], check=True,
                          capture_output=True, text=True).stdout.strip()


def packages():
    """A folder of programs of Python, with the packages that the cells need."""
    kit = os.path.join(CACHE, "planted")
    if not os.path.exists(os.path.join(kit, "done")):
        shutil.rmtree(kit, ignore_errors=True)
        for command in ([python(), "-m", "venv", kit],
                        [os.path.join(kit, "bin", "pip"), "-q", "install", *PACKAGES]):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                shutil.rmtree(kit, ignore_errors=True)
                raise suite.Skip("no gunicorn or psycopg2: " + done.stderr.strip()[-200:])
        with open(os.path.join(kit, "done"), "w", encoding="ascii"):
            pass
    return os.path.join(kit, "bin")


def build(name, folder):
    """What runs the program @name, built as people build it who profile."""
    path = source(name)
    base, ending = os.path.splitext(name)
    program = os.path.join(folder, base)
    if ending == ".py":
        return [python(), path]
    if ending == ".js":
        return [need("node"), path]
    if ending == ".java":
        command, run = [need("javac"), "-g", "-d", folder, path], [need("java"), "-Xmx512m", "-cp",
                                                                  folder, base]
    elif ending == ".go":
        command, run = [need("go"), "build", "-o", program, path], [program]
    elif ending == ".cpp":
        command, run = [need("g++"), "-std=c++17"], [program]
    else:
        command, run = [need("gcc")], [program]
    if ending in (".c", ".cpp"):
        command += ["-O2", "-g", "-pthread", "-o", program, path]
    subprocess.run(command, check=True)
    return run


@contextlib.contextmanager
def plain(name, folder):
    yield Target(build(name, folder))


@contextlib.contextmanager
def hung(name, folder):
    """One that hangs already, as people find it."""
    with subprocess.Popen(build(name, folder), stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        time.sleep(HANGS_AFTER)
        try:
            yield Target([], pid=process.pid)
        finally:
            process.kill()


@contextlib.contextmanager
def preloaded(name, folder):
    """With the sampler of the heap that lies in the build, as its page says."""
    otelprof = os.environ["PLANTED_OTELPROF"]
    found = glob.glob(os.path.join(os.path.dirname(otelprof), "..", "..", "lib", "preload", "heap",
                                   "libotelprof-heap.so.0"))
    if not found:
        raise suite.Skip("no libotelprof-heap.so.0 beside the program")
    yield Target(["env", "LD_PRELOAD=" + os.path.abspath(found[0]), *build(name, folder)])


@contextlib.contextmanager
def silent_resolver(name, folder):
    """Where the resolver takes questions and answers none."""
    conf = os.path.join(folder, "resolv.conf")
    with open(conf, "w", encoding="ascii") as f:
        f.write("nameserver %s\noptions timeout:1 attempts:1\n" % RESOLVER)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.bind((RESOLVER, 53))
        except OSError as e:
            raise suite.Skip("%s port 53: %s" % (RESOLVER, e.strerror)) from e
        yield Target(build(name, folder),
                     [need("unshare"), "-m", "sh", "-c",
                      'mount --bind "$0" /etc/resolv.conf && exec "$@"', conf])


@contextlib.contextmanager
def served(name, folder):
    """By gunicorn, with a client that asks all the time."""
    gunicorn = os.path.join(packages(), "gunicorn")
    port, log = ports.free_port(), os.path.join(folder, "gunicorn.log")
    module = os.path.splitext(name)[0]
    ended = threading.Event()

    def ask():
        while not ended.is_set():
            with contextlib.suppress(OSError):
                urllib.request.urlopen("http://127.0.0.1:%d/" % port, timeout=5).read()
    with open(log, "w", encoding="ascii") as f, subprocess.Popen(
            [gunicorn, "-w", "2", "-b", "127.0.0.1:%d" % port, "--chdir",
             os.path.dirname(source(name)), module + ":application"], stdout=f, stderr=f) as process:
        clients = [threading.Thread(target=ask) for _ in range(2)]
        try:
            ports.wait_for_port(port, process, log)
            for client in clients:
                client.start()
            yield Target([], pid=process.pid)
        finally:
            ended.set()
            for client in clients:
                client.join()
            process.terminate()


@contextlib.contextmanager
def with_postgres(name, _folder):
    """A cluster of its own; PostgreSQL does not run as root."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    if not found:
        raise suite.Skip("no PostgreSQL")
    client = os.path.join(packages(), "python")
    data = tempfile.mkdtemp(prefix="otelprof-planted-", dir="/var/tmp")
    shutil.chown(data, "postgres")

    def command(program, *args):
        return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups",
                os.path.join(os.path.dirname(found[-1]), program), *args]
    try:
        subprocess.run(command("initdb", "-A", "trust", "-D", data), check=True, cwd=data,
                       stdout=subprocess.DEVNULL)
        port = ports.free_port()
        subprocess.run(command("pg_ctl", "-w", "-D", data, "-l", data + "/log", "-o",
                               "-c listen_addresses= -k %s -p %d" % (data, port), "start"),
                       check=True, cwd=data, stdout=subprocess.DEVNULL)
        try:
            yield Target([client, source(name), "host=%s port=%d user=postgres" % (data, port)])
        finally:
            subprocess.run(command("pg_ctl", "-m", "immediate", "-D", data, "stop"), cwd=data,
                           stdout=subprocess.DEVNULL, check=False)
    finally:
        shutil.rmtree(data, ignore_errors=True)
