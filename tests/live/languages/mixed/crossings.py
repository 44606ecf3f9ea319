# SPDX-License-Identifier: Apache-2.0
"""A language that calls C that calls the language: both kinds of frames in their true order, to
where the stack begins. The programs stand in sources/."""

import glob
import os
import re
import shutil
import subprocess
import sys

import check
import suite

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sources")
C = os.path.join(SOURCES, "cross.c")
FLAGS = ["gcc", "-O1", "-g", "-w", "-fno-optimize-sibling-calls"]
MIN_SAMPLES = 500
RECORDINGS_MOST = 3  # a busy machine needs some more
# What calls what, the innermost first; C's own function and its caller are in each.
CHAINS = {
    "java": ["Cross.inner/jvm", "Java_Cross_callBack/native", "Cross.callBack/jvm",
             "Cross.outer/jvm", "Cross.main/jvm"],
    "node": ["inner/v8js", "call_back/native", "outer/v8js"],
    "python": ["inner/cpython", "call_back/native", "outer/cpython", "<module>/cpython"],
    "ruby": ["inner/ruby", "call_back/native", "outer/ruby", "<main>/ruby"],
    "python-java": ["Cross.inner/jvm", "call_back/native", "outer/cpython", "<module>/cpython"],
    "go": ["main.inner/go", "main.goInner/go", "call_back/native", "main.outer/go",
           "main.main/go"],
}


def sh(*command, **options):
    try:
        done = subprocess.run(command, capture_output=True, text=True, **options)
    except OSError as e:
        raise suite.Skip(str(e)) from None
    if done.returncode:
        raise suite.Skip("%s: %s" % (command[0], (done.stdout + done.stderr).strip()[-200:]))


def library(path, language, *flags):
    sh(*FLAGS, "-D" + language, "-shared", "-fPIC", "-o", path, C, *flags)
    return path


def jdk():
    homes = [h for h in sorted(glob.glob("/usr/lib/jvm/*"))
             if os.path.exists(h + "/include/jni.h") and os.path.exists(h + "/bin/javac")]
    if not homes:
        raise suite.Skip("no JDK with jni.h")
    include = homes[0] + "/include"
    return homes[0], ["-I" + include, "-I" + include + "/linux"]


def java(folder):
    home, flags = jdk()
    made = library(folder + "/libcross.so", "JAVA", *flags)
    sh(home + "/bin/javac", "-d", folder, os.path.join(SOURCES, "Cross.java"))
    return [home + "/bin/java", "-XX:+UnlockDiagnosticVMOptions",
            "-XX:+DebugNonSafepoints", "-cp", folder, "Cross", made, suite.LONG]


def node(folder):
    if not shutil.which("node") or not os.path.exists("/usr/include/node/node_api.h"):
        raise suite.Skip("no node with node_api.h")
    made = library(folder + "/cross.node", "NODE", "-I/usr/include/node")
    return ["node", os.path.join(SOURCES, "cross.js"), made, suite.LONG]


def python_java(folder):
    """Python that has a JVM in its own process."""
    home, flags = jdk()
    vm = home + "/lib/server"
    sh(home + "/bin/javac", "-d", folder, os.path.join(SOURCES, "Cross.java"))
    command = python(folder, "-DJVM", *flags, "-L" + vm, "-ljvm", "-Wl,-rpath," + vm)
    return ["env", "CLASSES=-Djava.class.path=" + folder, *command]


def python(folder, *flags):
    done = subprocess.run([sys.executable, "-c", "import sysconfig; "
                           "print(sysconfig.get_path('include'))"],
                          capture_output=True, text=True, check=True)
    made = library(folder + "/cross.so", "PYTHON", "-I" + done.stdout.strip(), *flags)
    return [sys.executable, os.path.join(SOURCES, "cross.py"), made, suite.LONG]


def ruby(folder):
    sh("ruby", "-r", "fiddle", "-e", "1")
    made = library(folder + "/libcross.so", "RUBY")
    return ["ruby", os.path.join(SOURCES, "cross.rb"), made, suite.LONG]


def go(folder):
    version = subprocess.run(["go", "env", "GOVERSION"], capture_output=True, text=True,
                             check=True).stdout
    found = re.match(r"go1\.(\d+)", version)
    if found and int(found.group(1)) < 20:
        raise suite.Skip("%s: where it calls C it keeps no frame pointer" % version.strip())
    for name in ("cross.c", "cross.go"):
        shutil.copy(os.path.join(SOURCES, name), folder)
    with open(os.path.join(folder, "go.mod"), "w", encoding="utf-8") as f:
        f.write("module example.com/cross\n\ngo 1.20\n")
    # The compiler's own flags would let C inline.
    sh("go", "build", "-o", "cross", ".", cwd=folder,
       env=dict(os.environ, CGO_CFLAGS="-O1 -g -w -fno-optimize-sibling-calls"))
    return [folder + "/cross", suite.LONG]


def right_orders(chain):
    """From the innermost function of the language, or from C's, or from a caller that has not
    called yet or has gone on."""
    at = next(i for i, name in enumerate(chain) if name.endswith("/native"))
    return [chain[i:] for i in range(len(chain))] + [["burn/native"] + chain[at:]]


def cell(language, make):
    def run_cell(run, name):
        process = suite.start(*make(suite.fresh_folder(run.path("cross-" + language))),
                              stderr=subprocess.DEVNULL)
        samples, results = [], []
        try:
            for _ in range(RECORDINGS_MOST):
                capture, text = run.record_process(name, process.pid)
                samples += capture.samples
                results += [check.check_rules(capture), check.check_accounting(text)]
                if sum(s.count for s in samples) >= 2 * MIN_SAMPLES:
                    break
        finally:
            suite.stop([process])
        judge(run, name, CHAINS[language], samples, results)
    return run_cell


def judge(run, name, chain, samples, results):
    orders = right_orders(chain)
    known = set(chain) | {"burn/native"}
    total = right = inner = burn = ends = 0
    wrong = {}
    for sample in samples:
        names = ["%s/%s" % (f.name, f.type) for f in sample.frames]
        order = [n for n in names if n in known]
        if not order:
            continue  # a thread of the run time's own
        total += sample.count
        inner += sample.count * (order == chain)
        burn += sample.count * (order == orders[-1])
        right += sample.count * (order in orders)
        ends += sample.count * ("unwind error" not in names[-1] and names[-1][0] != "[")
        if order not in orders:
            key = " ".join(names[:40])
            wrong[key] = wrong.get(key, 0) + sample.count
    result = check.Result()
    result.need(total >= MIN_SAMPLES, "%d samples" % total)
    result.need(right >= 0.99 * total, "%d of %d in true order" % (right, total))
    result.need(min(inner, burn) >= 0.1 * total, "%d in the inner function, %d in C" %
                (inner, burn))
    result.need(ends >= 0.99 * total, "%d of %d whole" % (ends, total))
    if result.problems:
        result.problems += ["  %d times %s" % (n, text)
                            for text, n in sorted(wrong.items(), key=lambda x: -x[1])[:3]]
    result.notes[:] = ["; ".join(result.notes)]
    run.judge(name, result, *results)


CELLS = {"cross-" + f.__name__.replace("_", "-"): cell(f.__name__.replace("_", "-"), f)
         for f in (java, node, python, ruby, go, python_java)}
