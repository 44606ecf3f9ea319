# SPDX-License-Identifier: Apache-2.0
"""A guest: its initramfs, its disk, and qemu. Two architectures differ in ARCHES alone."""

import gzip
import os
import platform
import re
import shutil
import stat
import subprocess
import tempfile
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
# qemu 7.2's emulation corrupts the flags register now and then while an x86-64 kernel patches
# its own code in early boot. A guest that dies before its first process is started again.
BOOTS = 4
# Features that a kernel of 5.10 reads.
EXT4 = "^has_journal,^orphan_file,^metadata_csum_seed"


@dataclass
class Arch:
    qemu: str
    machine: tuple  # of qemu, with the default CPU
    disk: str
    append: str
    triplet: str
    debian: str


ARCHES = {
    # cx16: where an interrupt comes in a cmpxchg16b, qemu 7.2 gives RFLAGS the bits of RAX
    "x86_64": Arch("qemu-system-x86_64", ("-cpu", "max,la57=off,cx16=off"), "virtio-blk-pci",
                   "console=ttyS0 mitigations=off nokaslr", "x86_64-linux-gnu", "amd64"),
    "aarch64": Arch("qemu-system-aarch64",
                    ("-M", "virt,gic-version=3", "-cpu", "max,pauth-impdef=on"),
                    "virtio-blk-device", "console=ttyAMA0", "aarch64-linux-gnu", "arm64"),
}


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

    def add_file(self, name, path):
        with open(path, "rb") as f:
            self.add(name, stat.S_IFREG | 0o755, f.read())

    def finish(self):
        self.add("TRAILER!!!", 0)
        return gzip.compress(b"".join(self.parts), 1)


def pad(data):
    return data + b"\0" * (-len(data) % 4)


def make_initramfs(sysroot, kernel):
    """Busybox, and the drivers of the disk and of the devices that tests make."""
    cpio = Cpio()
    cpio.add("dev/console", stat.S_IFCHR | 0o600, device=(5, 1))
    cpio.add("disk", stat.S_IFDIR | 0o755)
    cpio.add_file("bin/busybox", os.path.join(sysroot, "usr/bin/busybox"))
    cpio.add_file("init", os.path.join(HERE, "boot.sh"))
    folder = os.path.join(kernel, "modules")
    for name in sorted(os.listdir(folder)):
        cpio.add_file("modules/" + name, os.path.join(folder, name))
    return cpio.finish()


def needed(path):
    """Names of the libraries and of the dynamic linker that ELF file @path asks for."""
    out = subprocess.run(["readelf", "-d", "-l", path], capture_output=True, text=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", out) + re.findall(
        r"interpreter: .*/([^/\]]+)\]", out)


class Disk:
    """The folder that becomes the guest's root file system."""

    def __init__(self, arch, sysroots, folder):
        # A program built for this machine runs with this machine's libraries.
        self.tops = (["/"] if arch == platform.machine() else []) + sysroots
        self.arch = arch
        self.folder = folder
        self.roots = {}
        self.libraries = os.path.join("usr/lib", ARCHES[arch].triplet)
        shutil.rmtree(folder, ignore_errors=True)
        for name in ("dev", "etc", "proc", "sys", "tmp", "out", "usr/bin", self.libraries):
            os.makedirs(os.path.join(folder, name))
        for name, to in (("bin", "bin"), ("sbin", "bin"), ("lib", "lib"), ("lib64", "lib")):
            os.symlink("usr/" + to, os.path.join(folder, name))
        self.add(os.path.join(sysroots[0], "usr/bin/busybox"), "usr/bin/busybox")
        self.add(os.path.join(HERE, "guest.sh"), "usr/bin/guest")

    def root(self, name, top):
        """The folder @name of this disk: another root, whose libraries are those of @top."""
        if name not in self.roots:
            self.roots[name] = Disk(self.arch, [top], self.folder + name)
            self.roots[name].tops = [top]
        return self.roots[name]

    def add(self, path, name):
        """Copy file @path with the libraries it needs."""
        to = os.path.join(self.folder, name)
        if os.path.lexists(to):
            return
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copy(path, to)
        os.chmod(to, 0o755)
        for library in needed(path):
            self.add_library(library)

    def add_library(self, name):
        # The dynamic linker is looked for in /lib or /lib64, all else beside it too.
        places = ("usr/lib", self.libraries) if name.startswith("ld-") else (self.libraries,)
        for top in self.tops:
            for place in ("usr/lib", self.libraries):
                source = os.path.join(top, place, name)
                if os.path.exists(source):
                    for to in places:
                        self.add(os.path.realpath(source), os.path.join(to, name))
                    return

    def add_folder(self, path, name, skip=()):
        for folder, _, files in os.walk(path):
            for file in files:
                whole = os.path.join(folder, file)
                if not any(s in whole for s in skip):
                    self.add(whole, os.path.join(name, os.path.relpath(whole, path)))

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as f:
            f.write(text)

    def image(self, path):
        size = sum(os.lstat(os.path.join(f, n)).st_size + 4096
                   for f, _, names in os.walk(self.folder) for n in names)
        if os.path.exists(path):
            os.unlink(path)
        subprocess.run(["mke2fs", "-q", "-t", "ext4", "-O", EXT4, "-m", "0", "-d", self.folder,
                        path, "%dM" % (size * 1.3 / 1e6 + 128)], check=True)


def boot(arch, kernel, initramfs, image, cpu, log, seconds):
    """Run one guest, up to its first process more than once. Returns its console."""
    for _ in range(BOOTS):
        console = boot_once(arch, kernel, initramfs, image, cpu, log, seconds)
        if "\nVM: kernel " in console:
            break
    return console


def boot_once(arch, kernel, initramfs, image, cpu, log, seconds):
    how = ARCHES[arch]
    machine = list(how.machine)
    if cpu:
        machine[-1] = cpu
    with tempfile.NamedTemporaryFile() as file, open(log, "wb") as out:
        file.write(initramfs)
        file.flush()
        command = [how.qemu, *machine, "-accel", "tcg,thread=multi", "-m", "1024", "-smp", "2",
                   "-nographic", "-no-reboot", "-nodefaults", "-serial", "stdio",
                   "-kernel", os.path.join(kernel, "vmlinuz"), "-initrd", file.name,
                   "-drive", "file=%s,format=raw,if=none,id=d,cache=unsafe" % image,
                   "-device", how.disk + ",drive=d",
                   "-append", how.append + " quiet loglevel=3 panic=-1"]
        try:
            subprocess.run(command, stdin=subprocess.DEVNULL, timeout=seconds, stdout=out,
                           stderr=subprocess.STDOUT)
        except subprocess.TimeoutExpired:
            out.write(b"\nVM: time out\n")
    with open(log, encoding="utf-8", errors="replace") as f:
        return f.read().replace("\r", "")


def results(image, folder):
    """Copy /out of the disk into @folder."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    subprocess.run(["debugfs", "-R", "rdump /out %s" % folder, image], capture_output=True,
                   check=True)
    return os.path.join(folder, "out")
