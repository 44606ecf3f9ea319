# SPDX-License-Identifier: Apache-2.0
"""Find the suites of tests/, build what they need and run those of a level: see run.sh.

Each section of a file suite.ini is a suite:

    title     what it is, in a few words
    run       the command, run in the folder of the file. It prints lines as report.py reads them
    meson     or: options of "meson test", in the build that the suite needs
    needs     release: the release build (the default is none); live: that too, and the rights to
              profile; sanitized: the build with sanitizers
    must      yes: with CI=true the run fails where the whole suite was skipped
    after     a suite that comes first where both run
    default   the arguments at each level. A level without its key takes those of the level
    full      below it; a suite runs from its lowest key on
    matrix

{out}, {build}, {otelprof} and {cache} are the folder for files of this run, that of the build,
the program, and the folder of what stays from run to run. {jobs} is twice the number of CPUs, for
tests that mostly wait.
"""

import argparse
import configparser
import contextlib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

import report

TOP = pathlib.Path(__file__).resolve().parent.parent
LEVELS = ["default", "full", "matrix"]
BUILDS = {"sanitized": ["--native-file", "tests/dev.ini"], "release": ["--buildtype=release"]}
OUT = pathlib.Path(os.environ.get("OTELPROF_BUILD") or TOP / "build-tests").absolute()


class Suite:
    def __init__(self, name, folder, keys):
        self.name, self.folder, self.keys = name, folder, keys
        self.title = keys["title"]
        self.needs = keys.get("needs", "")
        self.must = keys.get("must") == "yes"
        self.levels = [level for level in LEVELS if level in keys]

    def runs(self, level):
        return LEVELS.index(self.levels[0]) <= LEVELS.index(level)

    def arguments(self, level):
        """Those of @level, or of the next one that the suite has."""
        below = [x for x in self.levels if LEVELS.index(x) <= LEVELS.index(level)]
        return self.keys[(below or self.levels)[-1 if below else 0]]


def find(top):
    """The suites under @top, in the order in which they run."""
    found = {}
    for path in sorted(top.rglob("suite.ini"), key=lambda p: (len(p.parts) > len(top.parts) + 1, p)):
        parser = configparser.ConfigParser(interpolation=None, default_section="")
        parser.read(path, encoding="utf-8")
        for name in parser.sections():
            if name in found:
                raise ValueError("two suites are named " + name)
            found[name] = Suite(name, path.parent, parser[name])
    for suite in list(found.values()):  # what comes after another one goes to the end
        if "after" in suite.keys:
            found[suite.name] = found.pop(suite.name)
    return found


class Run:
    def __init__(self, level):
        self.level = level
        self.began = time.monotonic()
        self.built = {}  # build → why it fails, or None
        self.why = None  # "" or why nothing can be profiled here
        self.times = {}  # of a suite or build: seconds, and seconds of CPU time
        self.rows = OUT / "results"
        OUT.mkdir(parents=True, exist_ok=True)
        self.rows.write_text("")

    def say(self, text):
        print("\n== %s (%d:%02d)" % (text, *divmod(int(time.monotonic() - self.began), 60)),
              flush=True)

    def result(self, *lines):
        with open(self.rows, "a", encoding="utf-8") as f:
            f.writelines(line + "\n" for line in lines)

    def one(self, line):
        print(line, flush=True)
        self.result(line)

    @contextlib.contextmanager
    def timed(self, what):
        began, cpu = time.monotonic(), sum(os.times()[2:4])
        yield
        self.times[what] = time.monotonic() - began, sum(os.times()[2:4]) - cpu

    def build(self, name):
        """Configure and build, once a run: an old build would be tested in place of the tree.
        Returns why it fails, or None."""
        if name not in self.built:
            self.say("%s build" % name)
            with self.timed(name + " build"):
                self.built[name] = self.make(name)
        return self.built[name]

    def make(self, name):
        folder, log = OUT / name, OUT / (name + ".log")
        # Meson builds what its tests need. The level full builds all, as a developer does.
        steps = [["ninja", "-C", folder, *(["product"] if self.level == "default" else [])]]
        if not (folder / "build.ninja").exists():
            steps.insert(0, ["meson", "setup", folder, *BUILDS[name]])
        for step in steps:
            with open(log, "w", encoding="utf-8") as f:
                status = subprocess.run(step, cwd=TOP, stdout=f, stderr=subprocess.STDOUT,
                                        check=False).returncode
            if status:
                print("".join(log.read_text(errors="replace").splitlines(True)[-40:]))
                return "the %s build fails" % name
        return None

    def otelprof(self):
        return OUT / "release/examples/otelprof/otelprof"

    def why_not_live(self):
        if os.geteuid():
            return "not root"
        done = subprocess.run([self.otelprof(), "doctor"], capture_output=True, text=True,
                              check=False)
        missing = re.search(r".*missing.*", done.stdout, re.IGNORECASE)
        return "otelprof doctor: " + (missing.group().strip() if missing else "failed") \
            if done.returncode else ""

    def suite(self, suite):
        build = {"live": "release"}.get(suite.needs, suite.needs)
        why = build and self.build(build)
        if why:
            self.one("FAIL %s all: %s" % (suite.name, why))
        else:
            self.say(suite.title)
            with self.timed(suite.name):
                self.run(suite, build)

    def run(self, suite, build):
        if suite.needs == "live":
            if self.why is None:
                self.why = self.why_not_live()
            if self.why:
                self.one("skip %s all: %s" % (suite.name, self.why))
                return
        log = OUT / (suite.name + ".log")
        words = {"out": OUT, "build": OUT / (build or "release"), "otelprof": self.otelprof(),
                 "cache": os.environ["OTELPROF_CACHE"], "jobs": 2 * len(os.sched_getaffinity(0))}
        kind = "meson" if "meson" in suite.keys else "run"
        command = [word.format(**words) for word in
                   shlex.split(suite.keys[kind] + " " + suite.arguments(self.level))]
        if kind == "meson":
            lines = self.meson(suite, OUT / build, command, log)
        else:
            lines = self.command(suite, command, log)
        self.result(*lines)

    def meson(self, suite, build, options, log):
        """A busy machine may need more time than the tests allow themselves."""
        told = build / "meson-logs/testlog.json"
        told.unlink(missing_ok=True)
        with open(log, "w", encoding="utf-8") as f:
            status = subprocess.run(["meson", "test", "-C", build, "--print-errorlogs",
                                     "--timeout-multiplier", "3", *options], cwd=TOP, stdout=f,
                                    stderr=subprocess.STDOUT, check=False).returncode
        if status:
            text = log.read_text(errors="replace").splitlines()
            print("\n".join([x for x in text
                             if not re.match(r" *\d+/\d+ .* (OK|SKIP) ", x)][-150:]))
        lines = list(report.meson(suite.name, told))
        print("\n".join(x for x in lines if not x.startswith("ok ")), flush=True)
        return lines

    def command(self, suite, command, log):
        with subprocess.Popen(command, cwd=suite.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace") as process, \
                open(log, "w", encoding="utf-8") as f:
            lines = []
            for line in process.stdout:
                f.write(line)
                if not line.startswith("figures "):
                    print(line, end="", flush=True)
                if re.match(r"(ok|FAIL|skip|figures) [a-z0-9-]+ ", line):
                    lines.append(line.rstrip("\n"))
        if process.returncode not in (0, 77) and not any(x.startswith("FAIL") for x in lines):
            lines.append("FAIL %s run: exit %d with no result" % (suite.name, process.returncode))
            print(lines[-1])
        return lines


def write_versions(results):
    tree = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=TOP, text=True,
                          capture_output=True, check=False).stdout.strip() or "no git"
    table = "docs/runtimes/versions.md"
    done = subprocess.run([sys.executable, "tests/live/languages/versions.py", results, tree, table],
                          cwd=TOP, stdout=subprocess.PIPE, text=True, check=True)
    (TOP / table).write_text(done.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", dest="level", action="store_const", const="full")
    parser.add_argument("--matrix", dest="level", action="store_const", const="matrix")
    parser.add_argument("--no-install", action="store_true")
    parser.add_argument("--write-versions", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("suites", nargs="*")
    args = parser.parse_args()
    level = args.level or "default"
    known = find(TOP / "tests")
    unknown = set(args.suites) - set(known)
    if unknown:
        parser.error("no suite %s: there are %s" % (", ".join(sorted(unknown)), " ".join(known)))
    suites = [s for s in known.values() if (s.name in args.suites if args.suites
                                            else s.runs(level))]
    if args.list:
        for suite in suites:
            print("%-12s %-8s %s" % (suite.name, suite.levels[0], suite.title))
        return 0
    os.environ.setdefault("OTELPROF_CACHE",
                          os.path.expanduser("~/.cache/otelprof-tests"))
    run = Run(level)
    for suite in suites:
        run.suite(suite)
    run.say("summary")
    if args.write_versions:
        write_versions(run.rows)
    rows = report.read(run.rows)
    report.summary(rows, run.times)
    missed = [s.name for s in suites if s.must and os.environ.get("CI") == "true" and
              not any(row[0] == "ok" and row[1] == s.name for row in rows)]
    if missed:
        print("must run here and did not: " + " ".join(missed))
    report.count(rows)
    return 1 if missed or any(row[0] == "FAIL" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
