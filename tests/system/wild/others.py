# SPDX-License-Identifier: Apache-2.0
"""Programs whose code is not that of a C compiler alone: wheels with vendor libraries, JIT compilers,
compilers of other languages, an instrumented build. Their stacks are held against the code (calls.py).
"""

from program import NO_UNWIND_DATA, Program

# Nothing but the code says where its frames are: such stacks have marks, or end early.
NO_FRAMES = 100.0


def wheel(name, packages, bound=NO_UNWIND_DATA, **more):
    return Program(name, needs="python3", bound=bound, warm=8,
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
    Program("php-pcre", needs="php", warm=2, bound=NO_UNWIND_DATA, load="exec php $LOADS/match.php"),
]
