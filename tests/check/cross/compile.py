# SPDX-License-Identifier: Apache-2.0
"""The sources compile for aarch64, up to their syntax and types: the library with the cross
compiler, and the kernel programs with -D__TARGET_ARCH_arm64. Headers of other libraries are the
host's, which are the same.

    compile.py SOURCE_ROOT BUILD_ROOT CLANG [--all]

Of the library the files that name an architecture compile, with --all every file, and the kernel
programs into objects. Skips (77) without aarch64-linux-gnu-gcc.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CROSS = "aarch64-linux-gnu-gcc"
NAMES_ONE = re.compile(r"__aarch64__|__x86_64__|TARGET_ARCH|asm volatile")


def run(command):
    return subprocess.run(command, capture_output=True, text=True)


def main(source, build, clang, option=""):
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
            if not option and not NAMES_ONE.search(file.read_text()):
                continue
            done = run([CROSS, "-std=gnu11", "-D_GNU_SOURCE", "-fsyntax-only", "-Wall", "-Wextra",
                        "-Werror", "-Wno-unused-parameter",
                        "-Wno-missing-field-initializers", "-fno-strict-aliasing",
                        *("-I%s" % d for d in (source / "lib", build / "lib",
                                               build / "lib/export/format", source,
                                               source / "bpf/include", source / "bpf/include/runtime",
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
                        "-I", str(source / "bpf/include/runtime"),
                        "-I", str(source / "bpf/platform"),
                        *(["-c", "-o", str(out / "x.o")] if option else ["-fsyntax-only"]),
                        str(file)])
            if done.returncode:
                wrong.append(done.stderr[:2000])
    print("\n".join(wrong) or "compiles for aarch64")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
