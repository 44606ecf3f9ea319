# SPDX-License-Identifier: Apache-2.0
"""Storm.java: what is said of code that is unloaded, deoptimised and whose memory is used again.
A method that is gone before it was read has no name (hotspot@0x...), and no other's."""

import os
import shutil
import subprocess

import check
import suite

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Storm.java")
CHAIN = ["Storm.main", "Storm.round", "Storm$Work.run", "Storm$Work.a", "Storm$Work.b",
         "Storm$Work.c"]
# What run() calls beside that.
OTHERS = {"Storm.calls", "Storm$Work.value", "Storm$Base.value", "Storm$Work.<init>",
          "Storm$Base.<init>"}
OPTIONS = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"]
WHOLE = 0.97
# Between these two stands a method of a hidden class, whose memory is used again (18 and later).
HIDDEN = ("java.lang.invoke.DirectMethodHandle$Holder.invokeStatic",
          "java.lang.invoke.Invokers$Holder.invokeExact_MT")
HIDDEN_NAMED = 0.9
MIN_SAMPLES = 500


class Program:
    def __init__(self, run, jdk, javac, *more):
        folder = suite.fresh_folder(run.path("storm-classes"))
        for options in (["--release", "8", "-Xlint:-options"], []):
            done = subprocess.run([javac, *options, "-d", folder, SOURCE], capture_output=True)
            if done.returncode == 0:
                break
        else:
            raise suite.Skip("no javac that makes classes for JDK 8")
        self.copy = os.path.join(jdk.root, "tmp", "otelprof-storm-%d" % os.getpid())
        shutil.copytree(folder, self.copy, dirs_exist_ok=True)
        self.process = suite.start(*jdk.command(*OPTIONS, *more, "-cp", self.copy[len(jdk.root):],
                                                "Storm", suite.LONG))

    def stop(self):
        suite.stop([self.process])
        shutil.rmtree(self.copy, ignore_errors=True)


def is_right(names):
    """@names: of the program's own, the outermost first."""
    names = names[:next((i for i, n in enumerate(names) if n.startswith("Storm$Loader")), None)]
    at = next((i for i, n in enumerate(names) if n in OTHERS), len(names))
    return names[:at] == CHAIN[:at] and (at == len(names) or at == 3) and \
        all(n in OTHERS for n in names[at:])


def cell(run, name, jdk, why, compilers):
    if not jdk:
        raise suite.Skip(why)
    if not compilers:
        raise suite.Skip("no javac")
    program = Program(run, jdk, compilers[0])
    try:
        capture, text = run.record_process(name, program.process.pid)
    finally:
        program.stop()
    judge(run, name, capture, text)


def judge(run, name, capture, text, *others):
    total = whole = main = unnamed = right = hidden = hidden_named = 0
    wrong = {}
    for sample in capture.samples:
        java = [f.name for f in sample.frames if f.type == "jvm"][::-1]
        total += sample.count
        whole += sample.count * ("unwind error" not in sample.frames[-1].name)
        for callee, method, caller in zip(java[2:], java[1:], java):
            if (callee, caller) == HIDDEN:
                hidden += sample.count
                hidden_named += sample.count * ("LambdaForm" in method)
        if "Storm.main" not in java:
            continue
        main += sample.count
        if any("@0x" in n for n in java):
            unnamed += sample.count
            continue
        own = [n for n in java if n.startswith("Storm")]
        right += sample.count * is_right(own)
        if not is_right(own):
            shown = " ".join(java[java.index("Storm.main"):])
            wrong[shown] = wrong.get(shown, 0) + sample.count
    result = check.Result()
    result.need(main >= MIN_SAMPLES, "%d samples, %d in main()" % (total, main))
    result.need(whole >= WHOLE * total, "%.2f %% whole" % (100 * whole / max(total, 1)))
    result.need(right >= 0.99 * (main - unnamed), "%d of %d with all their names in true order" %
                (right, main - unnamed))
    result.need(hidden_named >= HIDDEN_NAMED * hidden, "%d of %d frames of hidden classes named" %
                (hidden_named, hidden))
    result.notes.append("%.0f %% with a method that was gone" % (100 * unnamed / max(main, 1)))
    if result.problems:
        result.problems += ["  %d times %s" % (n, names)
                            for names, n in sorted(wrong.items(), key=lambda x: -x[1])[:4]]
    result.notes[:] = ["; ".join(result.notes)]
    run.judge(name, result, *others, check.check_rules(capture), check.check_accounting(text))
