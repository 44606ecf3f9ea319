# SPDX-License-Identifier: Apache-2.0
"""Everything compiles for aarch64: the library with the cross compiler, up to its syntax and its
types, and the kernel programs with -D__TARGET_ARCH_arm64. Headers of other libraries are the host's, which are the same.

    compile.py SOURCE_ROOT BUILD_ROOT CLANG

Skips (77) without aarch64-linux-gnu-gcc.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

CROSS = "aarch64-linux-gnu-gcc"


def run(command):
    return subprocess.run(command, capture_output=True, text=True)


def main(source, build, clang):
    source, build = pathlib.Path(source), pathlib.Path(build)
    if not shutil.which(CROSS):
        print(f"SKIP: no {CROSS}")
        return 77
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder)
        # what the host keeps in its own architecture's folder is found by link
        objects = build / "bpf"
        for file in sorted((source / "lib").rglob("*.c")):
            done = run([CROSS, "-std=gnu11", "-D_GNU_SOURCE", "-fsyntax-only", "-Wall", "-Wextra",
                        "-Werror", "-Wno-unused-parameter",
                        "-Wno-missing-field-initializers", "-fno-strict-aliasing",
                        *("-I%s" % d for d in (source / "lib", build / "lib",
                                               build / "lib/export/format", source, source / "bpf/include",
                                               source / "lib/code/unwind/host",
                                               source / "include", build / "include",
                                               source / "proto", build / "proto",
                                               source / "proto/otlp", build / "proto/otlp",
                                               objects)),
                        "-isystem", "/usr/include/bsd", "-DLIBBSD_OVERLAY",
                        "-idirafter", "/usr/include",
                        "-idirafter", "/usr/include/x86_64-linux-gnu",
                        str(file)])
            if done.returncode:
                wrong.append(done.stderr[:2000])
        programs = sorted((source / "bpf").rglob("*.bpf.c"))
        for file in programs:
            done = run([clang, "-g", "-O2", "-Wall", "-Werror", "-target", "bpf", "-mcpu=v3",
                        "-D__TARGET_ARCH_arm64", "-I", str(source),
                        "-I", str(source / "bpf/include"),
                        "-I", str(source / "bpf/platform"),
                        "-c", str(file), "-o", str(out / "x.o")])
            if done.returncode:
                wrong.append(done.stderr[:2000])
    print("\n".join(wrong) or "all compile for aarch64")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
