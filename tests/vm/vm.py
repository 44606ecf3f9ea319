#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Boot Debian kernels under qemu and check a recording made in each.

    tests/vm/vm.py [--build DIR] [--truth DIR] [--trivial] [VERSION...]

Prints one line a kernel, "ok|FAIL|skip KERNEL: what", and exits 0 (all passed), 1 (one
failed) or 77 (nothing could run). --trivial boots with no payload. The guest is emulated
(tcg), so it runs on any machine; a load on the host makes it slow, never wrong: time-outs
are generous and of samples only a fraction is asked for.
"""

import argparse
import base64
import gzip
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "truth"))
CACHE = os.environ.get("OTELPROF_CACHE", os.path.expanduser("~/.cache/otelprof-tests"))
VERSIONS = ["5.10", "6.1", "6.12", "7.2"]
BOOT_SECONDS = 600
# qemu 7.2's emulation corrupts the flags register now and then while a kernel patches its
# own code in early boot. A guest that dies before its first process is started again.
BOOTS = 4


class Cpio:
    """A cpio archive in the "newc" format, as the kernel unpacks it."""

    def __init__(self):
        self.parts = []
        self.names = set()

    def add(self, name, mode, data=b"", device=(0, 0)):
        name = name.lstrip("/")
        if name in self.names:
            return
        parent = os.path.dirname(name)
        if parent:
            self.add(parent, stat.S_IFDIR | 0o755)
        self.names.add(name)
        fields = [len(self.names), mode, 0, 0, 1, 0, len(data), 0, 0, *device,
                  len(name) + 1, 0]
        head = b"070701" + b"".join(b"%08x" % f for f in fields) + name.encode() + b"\0"
        self.parts += [pad(head), pad(data)]

    def add_file(self, name, path, mode=0o755):
        with open(path, "rb") as f:
            self.add(name, stat.S_IFREG | mode, f.read())

    def finish(self):
        self.add("TRAILER!!!", 0)
        return gzip.compress(b"".join(self.parts), 1)


def pad(data):
    return data + b"\0" * (-len(data) % 4)


def libraries(path):
    """What the dynamic linker would load for @path, itself included."""
    out = subprocess.run(["ldd", path], capture_output=True, text=True).stdout
    return re.findall(r"(/\S+) \(0x", out)


def add_program(cpio, name, path):
    cpio.add_file(name, path)
    for library in libraries(path):
        cpio.add_file(library, os.path.realpath(library))


def make_initramfs(payload):
    cpio = Cpio()
    cpio.add("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
    for name in ("proc", "sys", "tmp", "sbin", "usr/bin", "usr/sbin"):
        cpio.add(name, stat.S_IFDIR | 0o755)
    add_program(cpio, "bin/busybox", shutil.which("busybox"))
    cpio.add_file("init", os.path.join(HERE, "init.sh"))
    if payload:
        cpio.add_file("payload.sh", os.path.join(HERE, "payload.sh"))
        for name, path in payload:
            add_program(cpio, name, path)
    return cpio.finish()


def payload_of(build, truth):
    """(name in the guest, file) of each program and of libraries opened at run time."""
    program = find_file(build, "otelprof")
    library = find_file(build, "libotelprof.so.0") or find_file(build, "libotelprof.so")
    if not program or not library:
        return None
    payload = [("bin/otelprof", program), ("truth/chain", os.path.join(truth, "c-gcc"))]
    payload.append(("lib/" + os.path.basename(library), library))
    return payload


def find_file(top, name):
    for folder, _, names in os.walk(top):
        path = os.path.join(folder, name)
        if name in names and os.path.isfile(path):
            return path
    return None


def boot(image, initramfs):
    """Run one guest, up to its first process more than once. Returns its console."""
    for _ in range(BOOTS):
        console = boot_once(image, initramfs)
        if "\nVM: kernel " in console:
            break
    return console


def boot_once(image, initramfs):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "initramfs")
        with open(path, "wb") as f:
            f.write(initramfs)
        command = ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max,la57=off",
                   "-m", "1024", "-smp", "1", "-nographic", "-no-reboot", "-nodefaults",
                   "-serial", "stdio", "-kernel", image, "-initrd", path, "-append",
                   "console=ttyS0 quiet loglevel=3 panic=-1 mitigations=off nokaslr"]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, timeout=BOOT_SECONDS,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            out = done.stdout
        except subprocess.TimeoutExpired as e:
            out = (e.stdout or b"") + b"\nVM: time out\n"
    return out.decode("utf-8", "replace").replace("\r", "")


def marked(console, name):
    """The bytes the guest sent between the marks of @name, or None."""
    match = re.search(r"^VM: begin %s\n(.*?)^VM: end %s$" % (re.escape(name), re.escape(name)),
                      console, re.S | re.M)
    return gzip.decompress(base64.b64decode(match.group(1))) if match else None


def check_trivial(console, version):
    if not re.search(r"^VM: kernel %s\b" % re.escape(version), console, re.M):
        return "the kernel did not boot"
    if "\nVM: end\n" not in console:
        return "did not reach the end"
    return None if "VM: btf yes" in console else "no BTF"


def check_recording(console, version):
    """What is wrong with the recording, or None."""
    import cells
    import check
    import otlp

    wrong = check_trivial(console, version)
    if wrong:
        return wrong
    if "VM: record 0" not in console:
        return "otelprof record failed"
    data = marked(console, "cpu.otlp")
    if not data:
        return "no recording came over the console"
    capture = otlp.read_framed(data)
    # A loaded guest gives 60 to 100 % of the samples; what there is has to be right.
    result = check.check_chain(capture, cells.VM_CELL, comm="chain")
    return None if result.ok else "; ".join(result.problems)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build")
    parser.add_argument("--truth", default="")
    parser.add_argument("--trivial", action="store_true")
    parser.add_argument("--logs", default="")
    parser.add_argument("versions", nargs="*", default=VERSIONS)
    args = parser.parse_args()

    for program in ("qemu-system-x86_64", "busybox"):
        if not shutil.which(program):
            print("skip vm: no %s" % program)
            return 77
    payload = None if args.trivial else payload_of(args.build, args.truth)
    if not args.trivial and not payload:
        print("skip vm: no otelprof in %s" % args.build)
        return 77
    fetched = subprocess.run(["sh", os.path.join(HERE, "fetch.sh"), *args.versions],
                             stdout=subprocess.PIPE, text=True)
    images = dict(line.split(" ", 1) for line in fetched.stdout.splitlines())
    initramfs = make_initramfs(payload)
    failed = 0
    for version in args.versions:
        if version not in images:
            print("FAIL vm %s: could not be fetched" % version, flush=True)
            failed += 1
            continue
        started = time.monotonic()
        console = boot(images[version], initramfs)
        if args.logs:
            os.makedirs(args.logs, exist_ok=True)
            with open(os.path.join(args.logs, "vm-%s.log" % version), "w") as f:
                f.write(console)
        check = check_trivial if args.trivial else check_recording
        wrong = check(console, version)
        release = re.search(r"^VM: kernel (\S+)", console, re.M)
        print("%s vm %s: %s (%s, %.0f s)" % (
            "FAIL" if wrong else "ok", version, wrong or "passed",
            release.group(1) if release else "no kernel", time.monotonic() - started),
            flush=True)
        if wrong:
            failed += 1
            print("    " + "\n    ".join(console.splitlines()[-40:]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
