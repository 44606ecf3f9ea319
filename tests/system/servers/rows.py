# SPDX-License-Identifier: Apache-2.0
"""The servers and jobs: a row is all that a new one takes."""

from dataclasses import dataclass

import judges


@dataclass
class Row:
    name: str
    kit: str  # of fetch.sh
    command: str  # of the shell, in a folder of its own, with $KIT, $SRC, $PORT, $SECONDS
    judge: str  # how the runtime's own profiler is asked: a function of run.py
    ours: object  # judges.ours_*
    paths: tuple = ()  # what wrk asks for; none: it works by itself
    child: bool = False  # the worker is a child of what was started
    warm: float = 5  # seconds until all is compiled
    points: float = 2.0  # that the shares may differ by


# What V8's own profiler is off by in optimized code (docs/servers.md), beside the 2 points.
V8_POINTS = 4.0

ROWS = [
    Row("flask-gunicorn", "python",
        'PYTHONPATH="$SRC" exec "$KIT/bin/gunicorn" -w 1 -b 127.0.0.1:$PORT web:app',
        "py_spy", judges.ours_python, ("/", "/api"), child=True, warm=2),
    Row("express", "node",
        'cp "$SRC/server.js" "$KIT/"; exec node "$KIT/server.js" judge.cpuprofile $SECONDS',
        "inspector", judges.ours_node, ("/", "/api"), points=V8_POINTS),
    Row("express-small", "node",
        'cp "$SRC/server.js" "$KIT/"; exec node "$KIT/server.js" judge.cpuprofile $SECONDS',
        "inspector", judges.ours_node, ("/small",), points=V8_POINTS),
    Row("express-jitless", "node",
        'cp "$SRC/server.js" "$KIT/"; '
        'exec node --jitless "$KIT/server.js" judge.cpuprofile $SECONDS',
        "inspector", judges.ours_interpreted, ("/small",)),
    Row("typescript", "node",
        'cp "$SRC/compiler.js" "$KIT/"; exec node "$KIT/compiler.js" judge.cpuprofile $SECONDS',
        "inspector", judges.ours_node, warm=20),
    Row("jetty", "java",
        'exec java -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints '
        '-cp "$KIT/classes:$KIT/jars/*" Web',
        "async_profiler", judges.ours_java, ("/",), warm=15),
    Row("h2", "java",
        'exec java -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints '
        '-cp "$KIT/classes:$KIT/jars/*" Job',
        "jfr", judges.ours_java, warm=15),
    Row("go-http", "go", 'exec "$KIT/service"', "runtime_pprof", judges.ours_go, ("/", "/api"),
        warm=2),
]
