#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Debian's packages: built, checked by lintian, installed on a fresh Debian and purged.

    packages.py --dir DIR [CELL...]

Cells: licences, sbom, shell, yaml, chart, site, build, lintian, reproducible, cross, unit, install, service, purge. Prints
"ok|FAIL|skip packages CELL: what". Exits 0, 1 (one failed) or 77 (nothing could run). The service is
started as its unit says, by setpriv(1) in place of systemd, with the unit's capabilities,
directories and environment; systemd-analyze(1) checks the unit itself. Needs root, debootstrap and the packages
that debian/control names.
"""
import argparse
import contextlib
import glob
import hashlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
sys.path.insert(0, os.path.join(TOP, "tests", "check"))

import source

CACHE = os.environ.get("OTELPROF_CACHE", os.path.expanduser("~/.cache/otelprof-tests"))
CELLS = ["licences", "sbom", "shell", "yaml", "chart", "site", "build", "lintian", "reproducible", "cross", "unit", "install",
         "service", "purge"]
# What dpkg, apt and ldconfig keep of what was once there.
KEPT = re.compile(r"^/(var/(lib/(dpkg|apt|systemd)|cache|log)|etc/(ld\.so\.cache|\.pwd\.lock|resolv"
                  r"\.conf)|root|tmp|proc|sys|dev|src|debs|run)(/|$)")


class Skip(Exception):
    pass


class Failed(Exception):
    pass


def run(*args, **kwargs):
    """Output of a command. Raises Failed with its last lines."""
    r = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                       errors="replace", **kwargs)
    if r.returncode:
        raise Failed("%s: exit %d\n%s" % (" ".join(args[:3]), r.returncode,
                                          "\n".join(r.stdout.splitlines()[-25:])))
    return r.stdout


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skip("no " + program)


def version():
    first = open(os.path.join(TOP, "debian/changelog"), encoding="utf-8").readline()
    return re.match(r"libotelprof \(([^-]+)-", first).group(1)


def unpack(folder):
    """The tree as it is, in a folder as dpkg-source wants it; beside it the tarball without debian/."""
    shutil.rmtree(folder, ignore_errors=True)
    tree = os.path.join(folder, "libotelprof-" + version())
    for path in source.tracked(TOP):
        os.makedirs(os.path.dirname(os.path.join(tree, path)), exist_ok=True)
        shutil.copy2(os.path.join(TOP, path), os.path.join(tree, path))
    run("tar", "-C", folder, "--exclude", "libotelprof-%s/debian" % version(), "--sort=name",
        "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "-cJf",
        os.path.join(folder, "libotelprof_%s.orig.tar.xz" % version()), "libotelprof-" + version())
    return tree


def build(folder, **environment):
    need("dpkg-buildpackage", "dh")
    tree = unpack(folder)
    missing = subprocess.run(["dpkg-checkbuilddeps"], cwd=tree, capture_output=True, text=True)
    if missing.returncode:
        raise Skip(missing.stderr.strip().replace("dpkg-checkbuilddeps: error: ", ""))
    run("dpkg-buildpackage", "-us", "-uc", "-sa", cwd=tree, env={**os.environ, **environment})
    return packages(folder)


def packages(folder):
    names = sorted(name for name in os.listdir(folder) if name.endswith(".deb"))
    return [os.path.join(folder, name) for name in names if "-dbgsym_" not in name]


class Unit:
    """The unit's settings by name; the last one of a name."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            self.set = dict(line.rstrip("\n").split("=", 1) for line in f if re.match(r"[A-Za-z]+=", line))

    def __getitem__(self, name):
        if name not in self.set:
            raise Failed("the unit has no %s=" % name)
        return self.set[name]

    def setpriv(self):
        """Arguments that leave root these capabilities alone."""
        names = ",".join("+" + name[4:].lower() for name in self["CapabilityBoundingSet"].split())
        return "--bounding-set -all,%s --inh-caps -all,%s --no-new-privs" % (names, names)

    def directories(self):
        """Commands that make its directories, and let it write to these alone."""
        made = ["mkdir -p -m %s /%s/%s; mount --bind /%s/%s /%s/%s" % (
            self[kind + "DirectoryMode"], *(place, self[kind + "Directory"]) * 3)
                for kind, place in (("State", "var/lib"), ("Runtime", "run"))]
        if self["ProtectSystem"] != "strict":
            raise Failed("ProtectSystem= is not strict")
        return "; ".join([*made, "mount -o remount,bind,ro /", "umask " + self["UMask"]])


class Cells:
    def __init__(self, directory, may_build):
        self.may_build = may_build
        self.dir = directory
        self.folder = os.path.join(directory, "build")
        self.root = os.path.join(directory, "root")

    def built(self):
        found = packages(self.folder) if os.path.isdir(self.folder) else []
        if not found:
            raise Skip("the packages were not built")
        return found

    def build(self):
        return "%d packages" % len(build(self.folder))

    def lintian(self):
        need("lintian")
        self.built()
        changes = [name for name in os.listdir(self.folder) if name.endswith(".changes")]
        # It is no part of Debian yet, so no bug asks for it.
        out = run("lintian", "--fail-on", "error,warning", "--suppress-tags",
                  "initial-upload-closes-no-bugs", "--allow-root", *changes, cwd=self.folder)
        if out.strip():
            raise Failed(out)
        return "clean"

    def reproducible(self):
        """A second time, in another folder, at another place of the world: the same bytes."""
        first = self.built()
        second = build(os.path.join(self.dir, "build-of-a-longer-name"), TZ="Pacific/Kiritimati",
                       LC_ALL="C", HOME="/nonexistent", DEB_BUILD_OPTIONS="parallel=1")
        for a, b in zip(first, second, strict=True):
            if digest(a) != digest(b):
                raise Failed("%s differs" % os.path.basename(a))
        return "%d packages have the same bytes" % len(first)

    def cross(self):
        """Those of arm64, built on another architecture: image.py takes them, too."""
        need("mmdebstrap")
        folder = self.folder + "-arm64"
        run("sh", os.path.join(HERE, "cross.sh"), unpack(folder), "arm64", folder)
        found = [path for path in packages(folder) if path.endswith("_arm64.deb")]
        for path in found:
            if run("dpkg-deb", "-f", path, "Architecture").strip() != "arm64":
                raise Failed("%s is not of arm64" % path)
        mine = [path for path in self.built() if not path.endswith("_all.deb")]
        if len(found) != len(mine):
            raise Failed("%d packages, and %d of this machine's" % (len(found), len(mine)))
        return "%d packages" % len(found)

    def unit(self):
        need("systemd-analyze")
        unit = os.path.join(TOP, "examples/systemd/otelprof.service")
        # The control socket: its default place can be written to, by root alone, and entered by
        # all; and the socket can be given to a group.
        with open(os.path.join(TOP, "examples/otelprof/control/control.h"), encoding="utf-8") as f:
            place = re.search(r'CONTROL_DIRECTORY "(.*)"', f.read()).group(1)
        wanted = Unit(unit)
        if ("/run/" + wanted["RuntimeDirectory"], wanted["RuntimeDirectoryMode"]) != (place, "0755"):
            raise Failed("RuntimeDirectory= is not %s with mode 0755" % place)
        if "CAP_CHOWN" not in wanted["CapabilityBoundingSet"].split():
            raise Failed("--control-group needs CAP_CHOWN")
        copy = os.path.join(self.dir, "otelprof.service")
        with open(unit, encoding="utf-8") as f, open(copy, "w", encoding="utf-8") as to:
            to.write(f.read().replace("/usr/bin/otelprof ", "/bin/true "))
        out = run("systemd-analyze", "verify", "--man=no", copy)
        if "otelprof.service" in out:
            raise Failed(out)
        out = run("systemd-analyze", "security", "--offline=yes", "--threshold=40", "--no-pager",
                  copy)
        return out.strip().splitlines()[-1].split(": ", 1)[-1]

    def install(self):
        need("debootstrap")
        if not os.path.isdir(os.path.join(self.root, "usr")):
            os.makedirs(self.dir, exist_ok=True)
            run("debootstrap", "--variant=minbase", "--include=util-linux", "bookworm", self.root,
                *filter(None, [os.environ.get("DEBIAN_MIRROR")]))
        shutil.copy("/etc/resolv.conf", os.path.join(self.root, "etc/resolv.conf"))
        folder = os.path.join(self.root, "debs")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        self.inside("apt-get -qq update")
        # What the packages need stays when they go: it is none of ours.
        for deb in self.built():
            shutil.copy(deb, folder)
        self.inside("apt-get -qq install -y --no-install-recommends "
                    "$(apt-get -s install -y --no-install-recommends /debs/*.deb | "
                    "sed -n 's/^Inst \\([^ ]*\\) .*/\\1/p' | grep -v otelprof)")
        self.before = self.files()
        self.inside("apt-get -qq install -y --no-install-recommends /debs/*.deb")
        out = self.inside("otelprof --version && man -w otelprof 2>/dev/null; otelprof doctor")
        return out.splitlines()[0]

    def service(self):
        """The unit's command with its rights: a profile arrives at a sink, and a group controls it."""
        if not hasattr(self, "before"):
            raise Skip("cell install did not pass")
        with open(os.path.join(self.root, "etc/otelprof/otelprof.env"), "a", encoding="utf-8") as f:
            f.write("OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:14317\n"
                    "OTELPROF_OPTIONS='--interval 1 --control --control-group adm'\n")
        unit = Unit(os.path.join(self.root, "lib/systemd/system/otelprof.service"))
        start = ("set -a; . /etc/otelprof/otelprof.env; STATE_DIRECTORY=/var/lib/%s; set +a; %s; "
                 "exec setpriv %s %s" % (unit["StateDirectory"], unit.directories(),
                                         unit.setpriv(), unit["ExecStart"]))
        with self.daemon("otelprof sink --listen 127.0.0.1:14317 --dir /tmp/got --count 3") as sink, \
                self.daemon(start) as service, self.daemon("while :; do :; done"):
            try:
                sink.wait(30)
            except subprocess.TimeoutExpired:
                raise Failed("nothing arrived in 30 s: " + self.told(service)) from None
            status = self.inside("setpriv --reuid nobody --regid adm --clear-groups otelprof ctl status")
            if "rate_hz" not in status:
                raise Failed(status)
        out = self.told(service)
        sums = re.search(r"taken (\d+) = exported (\d+)", out)
        if not sums or int(sums.group(2)) == 0:
            raise Failed(out)
        first = sorted(os.listdir(os.path.join(self.root, "tmp/got")))[0]
        report = self.inside("otelprof report /tmp/got/" + shlex.quote(first))
        if "sh" not in report:
            raise Failed(report)
        return "profiles arrived, %s samples" % sums.group(2)

    def purge(self):
        if not hasattr(self, "before"):
            raise Skip("cell install did not pass")
        self.inside("apt-get -qq purge -y 'libotelprof*' otelprof")
        left = sorted(self.files() - self.before)
        if left:
            raise Failed("left: " + " ".join(left[:20]))
        return "nothing is left"

    @contextlib.contextmanager
    def reuse(self):
        """REUSE's tool and a copy of the tree: it knows what is built apart from what is written
        by git alone."""
        program = os.path.join(CACHE, "reuse/bin/reuse")
        if not os.path.exists(program):
            need("python3")
            try:
                run(sys.executable, "-m", "venv", os.path.join(CACHE, "reuse"))
                run(os.path.join(CACHE, "reuse/bin/pip"), "-q", "install", "reuse==6.2.0")
            except Failed as why:
                shutil.rmtree(os.path.join(CACHE, "reuse"), ignore_errors=True)
                raise Skip("reuse cannot be installed: " + str(why).splitlines()[-1]) from None
        with tempfile.TemporaryDirectory() as copy:
            for name in source.tracked(TOP):
                to = os.path.join(copy, name)
                os.makedirs(os.path.dirname(to), exist_ok=True)
                shutil.copy(os.path.join(TOP, name), to)
            yield program, copy

    def licences(self):
        """Every file has its licence, and the texts of all licences are there (REUSE 3.3)."""
        with self.reuse() as (program, copy):
            return run(program, "--root", copy, "lint", "--lines") or "clean"

    def sbom(self):
        """The bill of materials of a release, as SPDX: each file with its licence."""
        to = os.path.join(self.dir, "libotelprof-%s.spdx" % version())
        with self.reuse() as (program, copy):
            run(program, "--root", copy, "spdx", "--creator-organization",
                "the libotelprof authors", "-o", to)
        with open(to, encoding="utf-8") as f:
            text = f.read()
        files = set(re.findall(r"^FileName: \./(.*)$", text, re.M))
        concluded = re.findall(r"^LicenseInfoInFile: (\S+)$", text, re.M)
        # Texts of licences, REUSE.toml and empty files have none themselves.
        missing = {name for name in source.tracked(TOP)
                   if not name.startswith("LICENSES/") and os.path.getsize(
                       os.path.join(TOP, name)) and
                   os.path.basename(name) not in ("REUSE.toml", "COPYING")} - files
        if not text.startswith("SPDXVersion: SPDX-2.") or missing:
            raise Failed("%d files are not in it: %s" % (len(missing), sorted(missing)[:5]))
        return "%d files, licences %s" % (len(files), " ".join(sorted(set(concluded))))

    def shell(self):
        need("shellcheck")
        scripts = source.tracked(TOP, "*.sh")
        # "name= other=" empties a variable here; every shell in use has test's -nt.
        run("shellcheck", "--severity=warning", "--exclude", "SC1007,SC3013", *scripts, cwd=TOP)
        return "%d scripts" % len(scripts)

    def yaml(self):
        """Every YAML file, as .yamllint says; a chart's templates are none before helm."""
        need("yamllint")
        files = [name for pattern in ("*.yaml", "*.yml") for name in source.tracked(TOP, pattern)
                 if "/templates/" not in name]
        run("yamllint", "--strict", "-f", "parsable", *files, cwd=TOP)
        return "%d files" % len(files)

    def site(self):
        """docs/site.sh makes one site; every document and man page is in it, with its text."""
        need("scdoc", "man", "python3")
        to = os.path.join(self.dir, "site")
        try:
            run("sh", os.path.join(TOP, "docs/site.sh"), to)
        except Failed as why:
            if "No matching distribution" in str(why) or "ConnectionError" in str(why):
                raise Skip("Sphinx cannot be installed: " + str(why).splitlines()[-1]) from None
            raise
        pages = 0
        for name in source.tracked(TOP, "*.md", "docs/man/*.scd"):
            if not re.match(r"[A-Z]+\.md$|docs/", name):
                continue
            page = os.path.join(to, "html", re.sub(r"\.(md|scd)$", "", name) + ".html")
            with open(page, encoding="utf-8") as f:
                text = f.read()
            title = name.endswith(".scd") and os.path.basename(name).split(".")[0] or "<h1>"
            if title not in text or len(text) < 2000:
                raise Failed("%s is not in the site" % name)
            pages += 1
        return "%d pages" % pages

    def chart(self):
        """helm lint, and what helm makes of several sets of values."""
        try:
            import chart
            import chart_words
        except ImportError as why:
            raise Skip(str(why)) from None
        if not self.may_build and not glob.glob(os.path.join(CACHE, "helm/*/helm")):
            raise Skip("helm is not built (OTELPROF_E2E=1 or CI=true builds it)")
        try:
            helm = run("sh", os.path.join(HERE, "helm.sh")).splitlines()[-1]
        except Failed as why:
            raise Skip("helm cannot be built: " + str(why).splitlines()[-1]) from None
        try:
            said = chart.check(helm)
            chart_words.check(helm, chart.values()["default"])
            collector = os.path.join(CACHE, "collector/0.159.0/otelcol-test")
            parts = subprocess.run([collector, "components"], capture_output=True, text=True,
                                   check=False).stdout if os.path.exists(collector) else ""
            # One of an older builder.yaml lacks a part; the suites collector and k8s build it anew.
            if re.search("name: filter$", parts, re.M):
                said += ", %d configurations taken by a Collector" % chart.validate(helm, collector)
            return said
        except chart.Wrong as why:
            raise Failed(str(why)) from None

    # The fresh Debian.

    def chroot(self, command):
        return ["unshare", "-m", "--propagation", "private", "sh", "-c",
                "mount --bind {0} {0} && mount --rbind /dev {0}/dev && mount -t proc proc {0}/proc && "
                "mount --rbind /sys {0}/sys && exec chroot {0} env -i HOME=/root LANG=C.UTF-8 "
                "DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin sh -c {1}"
                .format(shlex.quote(self.root), shlex.quote(command))]

    def inside(self, command):
        return run(*self.chroot(command))

    @contextlib.contextmanager
    def daemon(self, command):
        log = open(os.path.join(self.dir, "daemon-%d.log" % time.monotonic_ns()), "w+",
                   encoding="utf-8")
        p = subprocess.Popen(self.chroot(command), stdout=log, stderr=log, start_new_session=True)
        p.log = log
        try:
            yield p
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(p.pid, signal.SIGTERM)
            try:
                p.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(p.pid, signal.SIGKILL)
                p.wait()

    @staticmethod
    def told(daemon):
        daemon.log.seek(0)
        return daemon.log.read()

    def files(self):
        found = set()
        for folder, folders, names in os.walk(self.root):
            inside = folder[len(self.root):] or "/"
            folders[:] = [name for name in folders
                          if not KEPT.match(os.path.join(inside, name))]
            found.update(os.path.join(inside, name) for name in folders + names
                         if not KEPT.match(os.path.join(inside, name)))
        return found


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir", required=True)
    parser.add_argument("cells", nargs="*", metavar="CELL", default=CELLS)
    args = parser.parse_args()
    if os.geteuid():
        print("skip packages all: not root")
        return 77
    os.makedirs(args.dir, exist_ok=True)
    may_build = os.environ.get("CI") or os.environ.get("OTELPROF_E2E") or args.cells == CELLS
    cells = Cells(os.path.abspath(args.dir), may_build)
    status, ran = 0, False
    for name in args.cells:
        try:
            what = getattr(cells, name)()
            print("ok packages %s: %s" % (name, what.strip().replace("\n", " ")), flush=True)
            ran = True
        except Skip as why:
            print("skip packages %s: %s" % (name, why), flush=True)
        except Failed as why:
            print("FAIL packages %s: %s" % (name, why), flush=True)
            status, ran = 1, True
    return status if ran else 77


if __name__ == "__main__":
    sys.exit(main())
