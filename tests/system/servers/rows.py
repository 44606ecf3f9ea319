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
# LuaJIT's profiler charges functions in C to what runs after them.
LUA_POINTS = 4.0
# Perl calls a signal's handler where a loop turns or a condition branches.
PERL_POINTS = 6.0
# A thread that is to stop runs on to a safe point, which may be in its caller.
DOTNET_POINTS = 5.0

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
    Row("kestrel", "dotnet",
        'DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1 exec "$KIT/root/dotnet" exec --roll-forward Major '
        '"$KIT/web.dll" $PORT',
        "dotnet_trace", judges.ours_dotnet, ("/", "/api"), warm=15, points=DOTNET_POINTS),
    Row("cowboy", "erlang",
        'export ERL_LIBS="$KIT/usr/lib/erlang/lib:$(echo "$KIT"/usr/lib/rabbitmq/lib/*/plugins)"; '
        'exec erl +JPperf map -noshell -pa "$KIT" -s web start',
        "perf_map", judges.ours_erlang, ("/", "/api")),
    Row("nginx-lua", "lua",
        'sed "s|PORT|$PORT|; s|SRC|$SRC|; s|KIT|$KIT|" "$SRC/nginx.conf" >nginx.conf; '
        'LD_LIBRARY_PATH="$KIT" exec nginx -p . -c nginx.conf',
        "page", judges.ours_lua, ("/", "/api"), child=True, warm=2, points=LUA_POINTS),
    Row("sinatra-puma", "ruby",
        'cp "$SRC/web.rb" web.ru; exec puma -q -t 1:1 -b tcp://127.0.0.1:$PORT web.ru',
        "page", judges.ours_ruby, ("/", "/api")),
    Row("mojolicious", "perl",
        'exec perl "$SRC/web.pl" daemon -m production -l http://127.0.0.1:$PORT',
        "page", judges.ours_perl, ("/", "/api"), points=PERL_POINTS),
]
