# SPDX-License-Identifier: Apache-2.0
"""What examples/image/build.sh and finish.sh do with failures, signals, a closed umask, and
packages of several versions: tried with empty packages and, in place of mmdebstrap, a script."""
import json
import os
import shutil
import signal
import stat
import subprocess
import time

PACKAGES = ("otelprof", "libotelprof0", "libotelprof0-grpc", "libotelprof0-http",
            "libotelprof-common")
# Writes an image's only layer, or what $DO says. Its arguments before the last are options.
MMDEBSTRAP = """#!/bin/sh
for word; do
	case $word in
	--architectures=*) arch=${word#*=} ;;
	*.tar) tar=$word ;;
	esac
done
find "$(dirname "$tar")" ! -perm -004 >>"$CLOSED"
case $DO in
fail-$arch) exit 1 ;;
wait) touch "$CLOSED.waits"; sleep 1 ;;
esac
exec tar -C "$(dirname "$0")" -cf "$tar" mmdebstrap
"""
# In place of Debian's packages finish.sh gets one that is empty.
APT_GET = "#!/bin/sh\nexec cp \"$DEBS\"/libotelprof-common_*.deb .\n"
WAIT_S = 60


class Script:
    def __init__(self, source, folder):
        """@source: the folder of build.sh; all that is made is in @folder."""
        self.source, self.folder = source, folder
        self.packages, self.temporary = (os.path.join(folder, n) for n in ("debs", "tmp"))
        self.layout, self.closed = (os.path.join(folder, n) for n in ("layout", "closed"))
        os.mkdir(os.path.join(folder, "bin"))
        for name, text in (("mmdebstrap", MMDEBSTRAP), ("apt-get", APT_GET)):
            path = os.path.join(folder, "bin", name)
            with open(path, "w", encoding="ascii") as f:
                f.write(text)
            os.chmod(path, 0o755)
        self.env = {**os.environ, "TMPDIR": self.temporary, "CLOSED": self.closed,
                    "DEBS": self.packages,
                    "SOURCE_DATE_EPOCH": "1700000000",
                    "PATH": os.path.join(folder, "bin") + ":" + os.environ["PATH"]}
        self.clear()

    def clear(self):
        for path in (self.packages, self.temporary, self.layout):
            shutil.rmtree(path, ignore_errors=True)
        os.mkdir(self.packages)
        os.mkdir(self.temporary)

    def add(self, version, arch):
        """Packages of that version, with nothing in them."""
        for package in PACKAGES:
            of = "all" if package == "libotelprof-common" else arch
            tree = os.path.join(self.temporary, "tree")
            os.makedirs(tree + "/DEBIAN", mode=0o755)
            with open(tree + "/DEBIAN/control", "w", encoding="ascii") as f:
                f.write("Package: %s\nVersion: %s\nArchitecture: %s\nMaintainer: a <a@b.c>\n"
                        "Description: a\n" % (package, version, of))
            subprocess.run(["dpkg-deb", "--build", tree, self.packages], check=True,
                           capture_output=True)
            shutil.rmtree(tree)

    def start(self, do="", umask=0o022):
        # Who runs these tests in the background has SIGINT ignored, which a shell cannot undo.
        return subprocess.Popen(
            ["sh", os.path.join(self.source, "build.sh"), self.layout, self.packages],
            env={**self.env, "DO": do}, umask=umask, text=True, errors="replace",
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))

    def run(self, **more):
        """Exit status and what it said."""
        process = self.start(**more)
        said = process.communicate(timeout=WAIT_S)[1]
        return process.returncode, said

    def left(self):
        """What it made, but for the layout."""
        known = {"bin", "debs", "tmp", "layout", "closed", "closed.waits"}
        return sorted(set(os.listdir(self.folder)) - known) + os.listdir(self.temporary) + (
            ["layout"] if os.path.exists(self.layout) else [])

    def tags(self):
        with open(self.layout + "/index.json", encoding="utf-8") as f:
            return sorted(d["annotations"]["org.opencontainers.image.ref.name"]
                          for d in json.load(f)["manifests"])


def judge_failure(script, need):
    """The second architecture fails: nothing is left, and the next run makes it."""
    script.add("0.1.0-1", "amd64")
    script.add("0.1.0-1", "arm64")
    status, _ = script.run(do="fail-arm64")
    need(status != 0 and not script.left(), "a failure leaves %s" % (script.left() or "nothing"))
    status, said = script.run()
    need(status == 0 and script.tags() == ["0.1.0", "0.1.0-amd64", "0.1.0-arm64"] and
         script.left() == ["layout"], "the next run: exit %d %s" % (status, said[-200:]))
    status, said = script.run()
    need(status != 0 and "exists" in said, "a layout that is there stays")


def judge_signal(script, need):
    script.add("0.1.0-1", "amd64")
    for sign in (signal.SIGINT, signal.SIGTERM):
        process = script.start(do="wait")
        end = time.monotonic() + WAIT_S
        while not os.path.exists(script.closed + ".waits") and time.monotonic() < end:
            time.sleep(0.01)
        os.killpg(process.pid, sign)
        process.communicate(timeout=WAIT_S)
        os.unlink(script.closed + ".waits")
        need(process.returncode != 0 and not script.left(), "%s leaves %s" % (
            sign.name, script.left() or "nothing"))


def judge_versions(script, need):
    script.add("0.1.0-1", "amd64")
    script.add("0.2.0-1", "amd64")
    status, said = script.run()
    need(status != 0 and "0.1.0-1" in said and "0.2.0-1" in said and not script.left(),
         "two versions: exit %d %s" % (status, said[-200:]))
    script.clear()
    script.add("0.2.0~rc1+b2-1", "amd64")
    status, said = script.run()
    need(status == 0 and script.tags() == ["0.2.0-rc1-b2", "0.2.0-rc1-b2-amd64"],
         "a version that is no tag: exit %d %s" % (status, said[-200:]))


def judge_umask(script, need):
    """mmdebstrap's user, who is another one, can read all that it is given."""
    script.add("0.1.0-1", "amd64")
    if os.path.exists(script.closed):
        os.unlink(script.closed)
    status, said = script.run(umask=0o077)
    with open(script.closed, encoding="utf-8") as f:
        closed = f.read().split()
    need(status == 0 and not closed, "umask 077: exit %d %s, closed: %s" % (
        status, said[-200:], closed or "nothing"))


def judge_finish(script, need):
    """finish.sh takes rights off programs, and does not take the host for its root."""
    script.add("0.1.0-1", "amd64")
    root = os.path.join(script.temporary, "root")
    for name in ("usr/bin", "usr/share/doc", "usr/share/ca-certificates/mozilla", "var/lib/dpkg",
                 "etc"):
        os.makedirs(os.path.join(root, name))
    for path in ("/usr/bin/su", "/usr/share/ca-certificates/mozilla/a.crt"):
        with open(root + path, "w", encoding="ascii"):
            pass
    os.chmod(root + "/usr/bin/su", 0o6755)
    command = ["sh", os.path.join(script.source, "finish.sh")]
    env = {**script.env, "MMDEBSTRAP_APT_CONFIG": os.path.join(root, "apt.conf")}
    # Its first lines alone: those after them would remove files of the host.
    probe = subprocess.run(["sh", "-c", 'sed -n 1,/^more=/p "$1" | sh -s -- ""', "sh", command[1]],
                           env=env, capture_output=True, text=True, check=False)
    need(probe.returncode != 0, "the root \"\" is refused: exit %d" % probe.returncode)
    done = subprocess.run(command + [root], env=env, capture_output=True, text=True, check=False)
    mode = stat.S_IMODE(os.stat(root + "/usr/bin/su").st_mode)
    need(done.returncode == 0 and mode == 0o755, "a set-id program: exit %d, mode %o %s" % (
        done.returncode, mode, done.stderr[-200:]))


def judge(source, folder, need):
    script = Script(source, folder)
    for each in (judge_failure, judge_signal, judge_versions, judge_umask, judge_finish):
        script.clear()
        each(script, need)
