# SPDX-License-Identifier: Apache-2.0
"""Programs whose code is not that of a C compiler alone: wheels with vendor libraries, JIT compilers,
compilers of other languages, instrumented builds, servers that load and drop plugins. Their stacks are
held against the code (calls.py).
"""

from installed import PG
from program import NO_UNWIND_DATA, TEXT, Program, forever

# Nothing but the code says where its frames are: such stacks have marks, or end early.
NO_FRAMES = 100.0


def wheel(name, packages, bound=NO_UNWIND_DATA, **more):
    return Program(name, needs=more.get("needs", "python3"), bound=bound, warm=8,
                   make="python3 -m venv venv; venv/bin/pip install -q --only-binary :all: " + packages,
                   load="OPENBLAS_NUM_THREADS=1 exec %s venv/bin/python $LOADS/busy.py %s" % (
                       more.get("environment", "env"), more.get("work", name)))


PROGRAMS = [
    wheel("numpy", "numpy"),
    wheel("numpy-haswell", "numpy", environment="env OPENBLAS_CORETYPE=Haswell", work="numpy"),
    wheel("scipy", "numpy scipy"),
    wheel("mkl", "numpy mkl"),
    wheel("numba", "numpy numba"),
    wheel("duckdb", "duckdb"),
    wheel("polars", "polars"),
    wheel("lightgbm", "numpy lightgbm scipy"),
    wheel("onnxruntime", "numpy onnx onnxruntime"),
    wheel("tokenizers", "tokenizers"),
    wheel("pyarrow", "pyarrow"),
    wheel("opencv", "opencv-python-headless"),
    wheel("sklearn", "scikit-learn"),
    wheel("xgboost", "xgboost"),
    wheel("faiss", "faiss-cpu"),
    wheel("wasmtime", "wasmtime"),
    wheel("mini-racer", "mini-racer", work="mini_racer"),
    wheel("pillow", "pillow"),
    wheel("cryptography", "cryptography"),
    wheel("jax", "jax"),
    wheel("numexpr", "numexpr"),
    wheel("rapidfuzz", "rapidfuzz numpy"),
    wheel("openvino", "numpy openvino"),
    wheel("hyperscan", "hyperscan"),
    wheel("z3", "z3-solver"),
    wheel("drjit", "numpy drjit", needs="/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1"),
    wheel("quickjs", "quickjs"),
    Program("luajit", needs="luajit", bound=NO_UNWIND_DATA, load="exec luajit $LOADS/work.lua"),
    Program("luajit-off", needs="luajit", bound=NO_UNWIND_DATA,
            load="exec luajit -joff $LOADS/work.lua"),
    Program("pypy", needs="pypy3", bound=NO_FRAMES, warm=3, load="exec pypy3 $LOADS/plain.py"),
    Program("go-race", needs="go gcc", bound=NO_UNWIND_DATA,
            make="GOTOOLCHAIN=local GOFLAGS=-mod=mod go build -race -o work $LOADS/race.go",
            load="exec ./work", never=r"(^|;)(runtime\.morestack;main\.|racecall;main\.inner;)"),
    Program("haskell", needs="ghc", bound=NO_FRAMES,
            make="cp $LOADS/Work.hs .; ghc -v0 -O1 -o work Work.hs", load="exec ./work"),
    Program("ocaml", needs="ocamlopt",
            make="cp $LOADS/work.ml .; ocamlopt -o work work.ml", load="exec ./work"),
    Program("sbcl", needs="sbcl", bound=NO_UNWIND_DATA, warm=2,
            load="exec sbcl --script $LOADS/work.lisp"),
    Program("guile", needs="guile", warm=3, bound=NO_UNWIND_DATA,
            load="exec guile $LOADS/work.scm"),
    Program("erlang", needs="erlc erl", bound=25.0, warm=2, make="erlc $LOADS/work.erl",
            load="exec erl -noshell -s work main"),
    Program("gprolog", needs="gplc", make="cp $LOADS/work.prolog work.pl; gplc -o work work.pl",
            load="exec ./work"),
    Program("r", needs="R", warm=2, bound=3.0, load="exec R --no-save -q -f $LOADS/work.R >/dev/null"),
    Program("qemu-user", needs="qemu-aarch64-static aarch64-linux-gnu-gcc", bound=NO_FRAMES,
            make="aarch64-linux-gnu-gcc -O2 -static -o work $LOADS/foreign.c -lm",
            load="exec qemu-aarch64-static ./work"),
    Program("nim", needs="nim gcc", make="nim c -d:release --hints:off --nimcache:cache -o:$DIR/work "
            "$LANGUAGES/work.nim", load="exec ./work"),
    Program("crystal", needs="crystal", begin=r"\*Fiber#run.*", load="exec ./work",
            make="crystal build --release -o work $LANGUAGES/work.cr"),
    Program("ldc", needs="ldc2", begin=r"fiber_entryPoint .*", load="exec ./work",
            make="ldc2 -O2 -of=work $LANGUAGES/work.d"),
    Program("ada", needs="gnatmake", make="cp $LANGUAGES/work.adb .; gnatmake -q -O2 work.adb",
            load="exec ./work"),
    Program("pascal", needs="fpc", bound=NO_FRAMES, load="exec ./work",
            make="cp $LANGUAGES/work.pas .; fpc -O2 work.pas >fpc.log"),
    # It calls on and on, and cleans its stack up when that is full.
    Program("chicken", needs="csc", bound=NO_FRAMES, make="csc -O2 -o work $LANGUAGES/chicken.scm", load="exec ./work"),
    Program("zig", needs="python3", bound=NO_UNWIND_DATA, load="exec ./work",
            make="python3 -m venv venv; venv/bin/pip install -q ziglang; cp $LANGUAGES/work.zig .; "
                 "venv/bin/python -m ziglang build-exe -O ReleaseFast work.zig"),
    Program("racket", needs="racket", warm=3, bound=NO_UNWIND_DATA,
            load="exec racket $LANGUAGES/work.rkt"),
    Program("polyml", needs="poly", warm=2, bound=NO_FRAMES,
            load="exec poly -q --use $LANGUAGES/work.sml"),
    Program("gforth", needs="gforth", bound=NO_UNWIND_DATA, load="exec gforth $LANGUAGES/work.fs"),
    Program("mono", needs="mcs mono", warm=2, bound=NO_UNWIND_DATA, load="exec mono work.exe",
            make="mcs -out:work.exe $LANGUAGES/work.cs"),
    Program("lli", needs="clang-14 llvm-link-14 lli-14", warm=2, bound=NO_UNWIND_DATA,
            make="clang-14 -O2 -emit-llvm -c $SRC/calls.c $SRC/evaluate.c; "
                 "llvm-link-14 -o work.bc calls.bc evaluate.bc", load="exec lli-14 work.bc"),
    Program("tcc", needs="tcc", warm=1, bound=NO_UNWIND_DATA,
            load="exec tcc -run $LOADS/foreign.c -lm"),
    Program("tsan", needs="gcc", make="gcc -O2 -g -fsanitize=thread -pthread -o work "
            "$SRC/altstack.c -lrt", load="exec ./work"),
    # A program of the Go distribution. Its race detector's C code is called on another stack.
    Program("gofmt-race", needs="go gcc", bound=40.0,
            make="GOTOOLCHAIN=local go build -race -o gofmt cmd/gofmt",
            load=forever("./gofmt -l $(go env GOROOT)/src/net >/dev/null")),
    Program("postgres-jit", needs="%s/postgres %s/../lib/llvmjit.so" % (PG, PG), warm=4,
            bound=NO_UNWIND_DATA, make="rm -rf data; unshare -U --map-user=1000 %s/initdb -D data "
            "-U root --no-sync >/dev/null" % PG,
            load="echo 'select sum(i * 3 + length(i::text)), max(i %% 7 * 2.5) from "
                 "generate_series(1, 30000) i where i %% 3 <> 1 and sqrt(i) > 2' >q.sql; "
                 "unshare -U --map-user=1000 %s/postgres -D data -k $DIR -c fsync=off -c jit=on "
                 "-c jit_above_cost=0 -c jit_optimize_above_cost=0 -c jit_inline_above_cost=0 "
                 "-c listen_addresses= & until pgbench -h $DIR -n -t 1 -f q.sql postgres; do "
                 "sleep 0.5; done; %s" % (
                     PG, forever("pgbench -h $DIR -U root -n -C -c 2 -T 60 -f q.sql postgres"))),
    # Plugins come and go while it serves.
    Program("mariadb-plugins", needs="mariadbd mariadb-slap mariadb-install-db", warm=3,
            make="rm -rf data; mariadb-install-db --no-defaults --user=root --datadir=$DIR/data "
                 "--auth-root-authentication-method=normal >/dev/null",
            load="mariadbd --no-defaults --user=root --datadir=$DIR/data --skip-networking "
                 "--socket=$DIR/socket --pid-file=$DIR/pid & sleep 2; { %s; } & %s" % (
                     forever("for p in ha_blackhole ha_federatedx simple_password_check "
                             "query_response_time; do mariadb --no-defaults -u root -S $DIR/socket "
                             "-e \"install soname '$p'; do sleep(0.1); uninstall soname '$p'\"; done"),
                     forever("mariadb-slap --no-defaults -u root -S $DIR/socket -a "
                             "--auto-generate-sql-load-type=mixed -c 2 "
                             "--number-of-queries=20000"))),
    # Each graceful restart drops and loads all of its modules.
    Program("apache-graceful", needs="apache2 wrk", warm=1, make=TEXT + "head -c 20000 text >small",
            load="M=/usr/lib/apache2/modules; { for m in mpm_event authz_core deflate filter rewrite "
                 "autoindex headers; do echo LoadModule ${m}_module $M/mod_$m.so; done; "
                 "echo \"ServerName x\nListen 127.0.0.1:$PORT\nDocumentRoot $DIR\nPidFile $DIR/pid\n"
                 "ErrorLog $DIR/error.log\nSetOutputFilter DEFLATE\nRewriteEngine on\n"
                 "RewriteRule ^/s([0-9]+)$ /small\nHeader set X y\"; } >conf; "
                 "apache2 -f $DIR/conf -DFOREGROUND & sleep 1; "
                 "while sleep 0.5; do apache2 -f $DIR/conf -k graceful; done & "
                 + forever("wrk -t 1 -c 20 -d 60 -H 'Accept-Encoding: gzip' "
                           "http://127.0.0.1:$PORT/s7 >/dev/null")),
    # Its Lua is LuaJIT, in a dynamic module.
    Program("nginx-lua", needs="nginx wrk /usr/lib/nginx/modules/ngx_http_lua_module.so", warm=1,
            bound=NO_UNWIND_DATA,
            load="M=/usr/lib/nginx/modules; echo \"load_module $M/ndk_http_module.so; load_module "
                 "$M/ngx_http_lua_module.so; daemon off; error_log $DIR/error.log; pid $DIR/pid; "
                 "worker_processes 2; events {} http { access_log off; server { listen "
                 "127.0.0.1:$PORT; location / { content_by_lua_block { local t = {} for i = 1, 3000 "
                 "do t[i] = (i * 7919) % 1009 end table.sort(t) ngx.say(#table.concat(t, ',')) } } } }"
                 "\" >conf; nginx -c $DIR/conf -g 'user root;' & sleep 1; "
                 "while sleep 0.5; do nginx -c $DIR/conf -s reload; done & "
                 + forever("wrk -t 1 -c 20 -d 60 http://127.0.0.1:$PORT/ >/dev/null")),
    # Its pipelines load plugins, and orc compiles what they do to pixels.
    Program("gstreamer", needs="gst-launch-1.0", bound=NO_UNWIND_DATA,
            load=forever("gst-launch-1.0 -q videotestsrc num-buffers=150 ! video/x-raw,width=640,"
                         "height=480 ! videoconvert ! videoscale ! video/x-raw,width=400,height=300 "
                         "! videobalance hue=0.3 ! jpegenc ! fakesink")),
    Program("php-pcre", needs="php", warm=2, bound=NO_UNWIND_DATA, load="exec php $LOADS/match.php"),
]
