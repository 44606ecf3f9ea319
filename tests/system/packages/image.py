#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The container image that examples/image/build.sh makes of the project's Debian packages:
built by a user without rights, and started by runc with the rights of the DaemonSet's pod.

    image.py --otelprof PROGRAM --packages FOLDER --dir DIR [CELL...]

FOLDER has the packages, and FOLDER-arm64 those of arm64: the cells build and cross of
packages.py make them. Cells: rules, build, same, refused, doctor, profiles, arm64.
"""
import glob
import hashlib
import json
import os
import pwd
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
for folder in ("live/framework", "system/e2e", "system/k8s"):
    sys.path.insert(0, os.path.join(TOP, "tests", folder))
import cells
import check
import image_rules
import suite
from kubelet import MASKED, MOUNTS, READ_ONLY, capabilities, remove_groups
from receivers import Sink

CELL = cells.replace(cells.CELLS["c-gcc"], leaf_points=None, min_samples=100, exact=0.97)
SAMPLES_S = 60  # for so many samples, at the image's own rate
END_S = 30
USER = "nobody"
IDS = "%s:100000:65536\n" % USER
NAME = "org.opencontainers.image.ref.name"
WANTED = {"title", "description", "version", "created", "licenses"}
MOST_BYTES = 40 << 20  # of one architecture, packed
EMULATOR = "qemu-aarch64-static"


def run(*command, **more):
    """Its output. Raises RuntimeError with the last lines."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=600, check=False, **more)
    if done.returncode:
        raise RuntimeError("%s: exit %d: %s" % (
            " ".join(command[:3]), done.returncode, done.stdout.strip()[-600:]))
    return done.stdout


def read(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


class Layout:
    """An OCI image layout, read by the rules of its specification."""

    def __init__(self, folder):
        self.folder = folder
        self.seen = set()
        self.index = read(os.path.join(folder, "index.json"))
        self.tags = {d["annotations"][NAME]: d for d in self.index["manifests"]}

    def blob(self, descriptor):
        """Its path; its size and its digest are what the descriptor says."""
        kind, digest = descriptor["digest"].split(":")
        path = os.path.join(self.folder, "blobs", kind, digest)
        with open(path, "rb") as f:
            data = f.read()
        if (len(data), hashlib.sha256(data).hexdigest()) != (descriptor["size"], digest):
            raise RuntimeError("a blob is not what %s says" % descriptor)
        self.seen.add(digest)
        return path

    def images(self, version):
        """architecture → (descriptor, manifest, config) of what the index of that name has."""
        found = {}
        for one in read(self.blob(self.tags[version]))["manifests"]:
            manifest = read(self.blob(one))
            found[one["platform"]["architecture"]] = (
                one, manifest, read(self.blob(manifest["config"])))
            for layer in manifest["layers"]:
                self.blob(layer)
        return found


class Image(suite.Run):
    suite = "image"

    def debs(self):
        """Those of this machine's architecture and, where they were made, of arm64."""
        found = sorted(glob.glob(self.args.packages + "/*otelprof*.deb"))
        mine = next((path for path in found if "/otelprof_" in path), None)
        if not mine:
            raise suite.Skip("the packages were not built")
        # Those of arm64 stay in the folder when others are built: not older ones.
        more = glob.glob("%s-arm64/*otelprof*_%s_*.deb" % (
            self.args.packages, os.path.basename(mine).split("_")[1]))
        return found + sorted(path for path in more
                              if os.path.getmtime(path) >= os.path.getmtime(mine))

    def architectures(self):
        return {re.search(r"_([a-z0-9]+)\.deb", n)[1] for n in self.debs()} - {"all"}

    def version(self):
        deb = next(n for n in self.debs() if "/otelprof_" in n)
        return re.search(r"_([^_]+)-[^_-]+_", os.path.basename(deb))[1]

    def layout(self):
        if not os.path.isdir(self.path("layout")):
            raise suite.Skip("the image was not built")
        return Layout(self.path("layout"))

    def bundle(self, tag):
        """What umoci(1) makes of an image: its root, and config.json."""
        to = self.path(tag)
        if not os.path.isdir(to):
            self.layout()
            run("umoci", "unpack", "--image", "%s:%s" % (self.path("layout"), tag), to)
        return to


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise suite.Skip("no " + program)


def copy_for(one, folder):
    """What the build needs, where @USER may read it."""
    for name in ("examples/image", "debian"):
        shutil.copytree(os.path.join(TOP, name), os.path.join(folder, name))
    os.mkdir(os.path.join(folder, "debs"))
    for deb in one.debs():
        shutil.copy(deb, os.path.join(folder, "debs"))
    user = pwd.getpwnam(USER)
    for where, folders, names in os.walk(folder):
        for name in [".", *folders, *names]:
            os.chown(os.path.join(where, name), user.pw_uid, user.pw_gid)
    return user


def may_make_namespaces():
    return not subprocess.run(["setpriv", "--reuid", USER, "--clear-groups", "unshare", "--user",
                               "true"], capture_output=True, check=False).returncode


def build(one, name, rootless):
    """Build the image, into the folder @name."""
    need("mmdebstrap", "umoci", "dpkg-scanpackages")
    with tempfile.TemporaryDirectory() as folder:
        user = copy_for(one, folder)
        command = ["sh", folder + "/examples/image/build.sh", folder + "/layout", folder + "/debs",
                   *filter(None, [os.environ.get("DEBIAN_MIRROR")])]
        env = {**os.environ, "HOME": folder, "MODE": "root"}
        if rootless:
            need("newuidmap", "setpriv")
            env["MODE"] = "unshare"
            # As if the user had its range of ids on this machine.
            with open(folder + "/ids", "w", encoding="ascii") as f:
                f.write(IDS)
            command = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
                       "mount --bind {0}/ids /etc/subuid && mount --bind {0}/ids /etc/subgid && "
                       'exec setpriv --reuid {1} --regid {2} --clear-groups "$@"'.format(
                           folder, user.pw_uid, user.pw_gid), "sh", *command]
        run(*command, cwd=folder, env=env)
        shutil.rmtree(one.path(name), ignore_errors=True)
        shutil.copytree(folder + "/layout", one.path(name))


def cell_build(one, name):
    """Where that can be, by a user without rights: a layout as the specification wants it, and its files."""
    for old in os.listdir(one.args.dir):
        if old.startswith(one.version()):
            shutil.rmtree(one.path(old))
    rootless = may_make_namespaces()
    build(one, "layout", rootless)
    version, layout, result = one.version(), one.layout(), check.Result()
    result.notes.append("built by " + (USER if rootless else "root: no user namespaces"))
    images = layout.images(version)
    result.need(set(images) == one.architectures(), "images of %s" % ", ".join(sorted(images)))
    with open(one.path("layout/oci-layout"), encoding="utf-8") as f:
        result.need(json.load(f) == {"imageLayoutVersion": "1.0.0"}, "version of the layout")
    for arch, (descriptor, manifest, config) in images.items():
        prefix = "org.opencontainers.image."
        noted = {k[len(prefix):]: v for k, v in manifest["annotations"].items()}
        result.need(set(noted) >= WANTED and noted["version"] == version, "annotations")
        result.need(config["architecture"] == arch and config["os"] == "linux", "platform")
        result.need(config["config"]["Entrypoint"] == ["/usr/bin/otelprof"] and
                    config["config"]["Cmd"] == ["export"], "entry point")
        tag = "%s-%s" % (version, arch)
        result.need(layout.tags[tag]["digest"] == descriptor["digest"], "tag " + tag)
        packed = sum(layer["size"] for layer in manifest["layers"])
        result.need(packed < MOST_BYTES, "%s: %.1f MB" % (arch, packed / 1e6))
        run("umoci", "stat", "--image", "%s:%s" % (layout.folder, tag))
        check_files(os.path.join(one.bundle(tag), "rootfs"), result)
    blobs = {n for _, _, names in os.walk(layout.folder + "/blobs") for n in names}
    result.need(blobs == layout.seen, "no blob too many")
    result.notes.sort(key=lambda note: "MB" not in note and "built by" not in note)
    one.judge(name, result)


def check_files(root, result):
    """Licences of every package, no shell, nothing with the rights of others."""
    packages = os.listdir(root + "/var/lib/dpkg/status.d")
    result.need({"otelprof", "libotelprof0", "libc6", "ca-certificates"} <= set(packages),
                "%d packages" % len(packages))
    missing = [p for p in packages if not os.path.exists("%s/usr/share/doc/%s/copyright" % (root, p))]
    result.need(not missing, "without licence: %s" % (missing or "none"))
    programs = [os.path.join(at, n) for at, _, names in os.walk(root) for n in names
                if re.search(r"/s?bin$", at)]
    result.need([os.path.relpath(p, root) for p in programs] == ["usr/bin/otelprof"],
                "programs: %s" % [os.path.relpath(p, root) for p in programs])
    odd = [os.path.join(at, n) for at, _, names in os.walk(root) for n in names
           if os.lstat(os.path.join(at, n)).st_mode & 0o6000 or
           os.lstat(os.path.join(at, n)).st_uid]
    result.need(not odd, "set-id, or not root's: %s" % (odd or "none"))
    with open(root + "/etc/ssl/certs/ca-certificates.crt", encoding="ascii") as f:
        result.need(f.read().count("BEGIN CERTIFICATE") > 50, "certificates of authorities")
    left = [n for n in ("tmp", "run", "etc/apt", "var/cache") if os.path.exists(
        os.path.join(root, n)) and os.listdir(os.path.join(root, n))]
    result.need(not left, "left of the build: %s" % (left or "nothing"))


def cell_same(one, name):
    """Root, at another place, makes the same bytes."""
    first = one.layout()
    build(one, "layout-of-root", rootless=False)
    second = Layout(one.path("layout-of-root"))
    result = check.Result()
    result.need(first.index == second.index, "the same digests: %s" % (
        "all" if first.index == second.index else [first.tags, second.tags]))
    one.judge(name, result)


def agent_context():
    """The DaemonSet's securityContext."""
    try:
        import yaml
    except ImportError:
        raise suite.Skip("no python3-yaml") from None
    with open(os.path.join(TOP, "examples/kubernetes/agent.yaml"), encoding="utf-8") as f:
        pod = next(d for d in yaml.safe_load_all(f) if d["kind"] == "DaemonSet")["spec"]["template"]
    if not pod["spec"]["hostPID"]:
        raise RuntimeError("the DaemonSet does not share the host's processes")
    return pod["spec"]["containers"][0]["securityContext"]


class Container:
    """The image, started by runc: its own command and environment or @args and more of @env,
    with the capabilities @caps."""

    def __init__(self, one, caps, args=None, env=()):
        need("runc", "umoci")
        arch = run("dpkg", "--print-architecture").strip()
        self.folder = one.bundle("%s-%s" % (one.version(), arch))
        self.id = "otelprof-image-" + secrets.token_hex(8)
        self.group = "/" + self.id
        self.runc = ["runc", "--root", one.path("runc")]
        self.log = one.path(self.id + ".log")
        self.process = None
        path = os.path.join(self.folder, "config.json")
        made = read(path + ".image") if os.path.exists(path + ".image") else read(path)
        if not os.path.exists(path + ".image"):
            shutil.copy(path, path + ".image")
        command = made["process"]["args"]
        with open(path, "w", encoding="utf-8") as f:
            json.dump({
                "ociVersion": "1.0.2", "hostname": "image",
                "root": {"path": "rootfs", "readonly": True},
                "process": {
                    "user": made["process"]["user"], "cwd": made["process"]["cwd"],
                    "args": command if args is None else command[:1] + args,
                    "env": made["process"]["env"] + list(env),
                    "capabilities": {kind: caps for kind in
                                     ("bounding", "effective", "permitted")},
                    "noNewPrivileges": True},
                "mounts": [{"destination": where, "type": kind, "source": source,
                            "options": options.split(",")}
                           for where, kind, source, options in MOUNTS],
                "linux": {
                    # The host's processes and network; the rest is its own.
                    "namespaces": [{"type": n} for n in ("mount", "ipc", "uts", "cgroup")],
                    "cgroupsPath": self.group,
                    "resources": {"devices": [{"allow": False, "access": "rwm"}]},
                    "maskedPaths": MASKED, "readonlyPaths": READ_ONLY}}, f, indent=1)

    def __enter__(self):
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [*self.runc, "run", "--bundle", self.folder, self.id], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log)
        return self

    def __exit__(self, *error):
        self.end()
        subprocess.run([*self.runc, "delete", "--force", self.id], capture_output=True, check=False)
        remove_groups(self.group)

    def end(self):
        """As containers are ended: SIGTERM, then SIGKILL."""
        for sign in (signal.SIGTERM, signal.SIGKILL):
            if self.process.poll() is not None:
                break
            subprocess.run([*self.runc, "kill", self.id, str(int(sign))], capture_output=True,
                           check=False)
            try:
                self.process.wait(END_S)
            except subprocess.TimeoutExpired:
                pass
        return self.process.wait(END_S)

    def wait(self, seconds):
        """(exit status, what it said) of one that ends by itself."""
        return self.process.wait(seconds), self.text()

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()


def cell_refused(one, name):
    """Without capabilities doctor says what is missing, and export ends with that."""
    result = check.Result()
    for args in (["doctor"], None):
        with Container(one, [], args) as container:
            status, text = container.wait(END_S)
        result.need(status == 1 and "CAP_BPF" in text, "%s: exit %d, %s" % (
            (args or ["export"])[0], status, "CAP_BPF is named" if "CAP_BPF" in text else text[-300:]))
    one.judge(name, result)


def cell_doctor(one, name):
    """With those of the DaemonSet it finds all that it needs."""
    result = check.Result()
    with Container(one, capabilities(agent_context()), ["doctor"]) as container:
        status, text = container.wait(END_S)
    lines = text.strip().splitlines()
    result.need(status == 0 and lines[-1].startswith("Profiling works"),
                "exit %d, %s" % (status, lines[-1] if lines else "no word"))
    for wanted in ("kernel programs", "all processes of the host", "kernel names",
                   "files of other processes"):
        result.need(re.search(r"^ok +%s" % wanted, text, re.M), "%s: %s" % (
            wanted, (re.findall(r".*%s.*" % wanted, text) or ["not named"])[0]))
    one.judge(name, result)


def cell_profiles(one, name):
    """A program of the host, outside of the container: all its stacks arrive at a sink."""
    path = one.program("c-gcc")
    target = suite.start(path, suite.LONG)
    started = time.monotonic()
    try:
        with Sink(one, "sink") as sink:
            endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:%d" % sink.port
            with Container(one, capabilities(agent_context()), env=[endpoint]) as container:
                while time.monotonic() < started + SAMPLES_S and container.process.poll() is None:
                    if sum(s.count for s in check.select(sink.capture(), target.pid)) >= \
                            CELL.min_samples:
                        break
                    time.sleep(0.5)
                status = container.end()
                text = container.text()
    finally:
        suite.stop([target])
    capture, result = sink.capture(), check.Result()
    result.need(status == 0, "otelprof export: exit %d %s" % (status, text[-300:] if status else ""))
    result.need(sink.status == 0, "the sink found all requests right (exit %d)" % sink.status)
    samples = check.select(capture, target.pid)
    result.need(all("container.id" not in s.resource for s in samples), "in no container")
    result.need(any(re.match("entry_SYSCALL|do_syscall|asm_|el0", f.name or "") for s in
                    capture.samples for f in s.frames if check.is_kernel(f)), "kernel names")
    one.judge(name, check.check_chain(capture, CELL, target.pid), result,
              check.check_accounting(text, capture), check.check_rules(capture))


def cell_arm64(one, name):
    """The other architecture's program runs, emulated, with what is in its image."""
    if "arm64" not in one.architectures():
        raise suite.Skip("no packages of arm64 (the cell cross of packages.py makes them)")
    need(EMULATOR)
    root = os.path.join(one.bundle(one.version() + "-arm64"), "rootfs")
    to = os.path.join(root, EMULATOR)
    shutil.copy(shutil.which(EMULATOR), to)
    try:
        text = run("chroot", root, "/" + EMULATOR, "/usr/bin/otelprof", "--version")
        # The emulator has no BPF; what counts is that doctor says so.
        done = subprocess.run(["chroot", root, "/" + EMULATOR, "/usr/bin/otelprof", "doctor"],
                              capture_output=True, text=True, timeout=60, check=False)
    finally:
        os.unlink(to)
    result = check.Result()
    result.need(text.startswith("otelprof %s " % one.version()), text)
    result.need(done.returncode in (0, 1) and "BPF" in done.stdout, "doctor: exit %d %s" % (
        done.returncode, done.stderr[-200:]))
    one.judge(name, result)


def cell_rules(one, name):
    """What the script makes of odd packages and failures, without Debian's archive."""
    need("umoci", "dpkg-scanpackages", "dpkg-deb")
    result = check.Result()
    with tempfile.TemporaryDirectory() as folder:
        image_rules.judge(os.path.join(TOP, "examples", "image"), folder, result.need)
    one.judge(name, result)


CELLS = {"rules": cell_rules, "build": cell_build, "same": cell_same, "refused": cell_refused, "doctor": cell_doctor,
         "profiles": cell_profiles, "arm64": cell_arm64}


if __name__ == "__main__":
    if os.geteuid():
        print("skip image all: not root")
        sys.exit(77)
    sys.exit(Image(suite.parser("otelprof", "packages").parse_args()).cells(CELLS))
