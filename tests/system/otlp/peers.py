# SPDX-License-Identifier: Apache-2.0
"""What the OTLP tests need from elsewhere: published descriptors and a checker."""

import fcntl
import os
import shutil
import subprocess
import sys

PACKAGES = ["opentelemetry-proto>=1.43", "googleapis-common-protos"]
PROFCHECK = "github.com/open-telemetry/sig-profiling/profcheck/cmd/profcheck@latest"
DOWNLOAD_SECONDS = 300


def skip(reason):
    print("SKIP: " + reason)
    sys.exit(77)


def cache():
    path = os.environ.get("OTELPROF_CACHE") or os.path.expanduser("~/.cache/otelprof-tests")
    os.makedirs(path, exist_ok=True)
    return path


def run(*command, **options):
    """The last line of what it says where it fails, or None."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=DOWNLOAD_SECONDS, check=False, **options)
    except (OSError, subprocess.TimeoutExpired) as e:
        return str(e)
    if done.returncode == 0:
        return None
    return (done.stdout.strip().splitlines() or ["exit %d" % done.returncode])[-1]


def venv_python():
    """A Python that has PACKAGES."""
    venv = os.path.join(cache(), "venv-otlp")
    python = os.path.join(venv, "bin", "python")
    with open(venv + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if run(python, "-c", "import opentelemetry.proto, google.rpc.status_pb2"):
            shutil.rmtree(venv, ignore_errors=True)
            failed = run(sys.executable, "-m", "venv", venv) or run(
                python, "-m", "pip", "install", "-q", *PACKAGES)
            if failed:
                shutil.rmtree(venv, ignore_errors=True)
                skip("no Python packages (%s): %s" % (" ".join(PACKAGES), failed))
    return python


def enter_venv():
    """Go on in a Python that has PACKAGES."""
    python = venv_python()
    if os.path.dirname(sys.executable) != os.path.dirname(python):
        os.execv(python, [python] + sys.argv)


def profcheck():
    """The path of profcheck: $PROFCHECK, or built by go."""
    if os.environ.get("PROFCHECK"):
        return os.environ["PROFCHECK"]
    path = os.path.join(cache(), "bin", "profcheck")
    with open(os.path.join(cache(), "profcheck.lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(path):
            go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
            if not go:
                skip("no go, and PROFCHECK names no program")
            failed = run(go, "install", PROFCHECK,
                         env=dict(os.environ, GOBIN=os.path.dirname(path)))
            if failed:
                skip("go install profcheck: " + failed)
    return path
