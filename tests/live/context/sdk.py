# SPDX-License-Identifier: Apache-2.0
"""A Python with an SDK that publishes OTEP 4947's thread context."""
import fcntl
import os
import shutil
import subprocess
import sys

import suite

PACKAGE = "ddtrace==4.16.0"
# Nothing listens there: the SDK has nobody to send spans to, and asks nobody.
ENVIRONMENT = {"DD_TRACE_AGENT_URL": "http://127.0.0.1:9", "DD_REMOTE_CONFIGURATION_ENABLED": "0",
               "DD_INSTRUMENTATION_TELEMETRY_ENABLED": "0", "DD_TRACE_STARTUP_LOGS": "0"}
LOCAL_ROOT = "datadog.local_root_span_id"  # the attribute's key


def run(*command):
    """None, or why it failed."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=120, check=False)
    except (OSError, subprocess.TimeoutExpired) as e:
        return str(e)
    if done.returncode == 0:
        return None
    errors = [line for line in done.stdout.splitlines() if "rror" in line]
    return (errors or done.stdout.splitlines() or ["exit %d" % done.returncode])[-1].strip()


def python():
    """Its path; made once, in the cache. Raises suite.Skip."""
    cache = os.environ.get("OTELPROF_CACHE", os.path.expanduser("~/.cache/otelprof-tests"))
    folder = os.path.join(cache, "venv-context")
    path = os.path.join(folder, "bin", "python")
    os.makedirs(cache, exist_ok=True)
    with open(folder + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if run(path, "-c", "import ddtrace; assert 'ddtrace==' + ddtrace.__version__ == '%s'"
               % PACKAGE):
            shutil.rmtree(folder, ignore_errors=True)
            failed = run(sys.executable, "-m", "venv", folder) or run(
                path, "-m", "pip", "install", "-q", "--only-binary", ":all:", PACKAGE)
            if failed:
                shutil.rmtree(folder, ignore_errors=True)
                raise suite.Skip("no %s for this Python: %s" % (PACKAGE, failed))
    return path
