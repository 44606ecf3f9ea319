# SPDX-License-Identifier: Apache-2.0
"""Programs built with the headers of which the record of the ABI was made, with this library:
that version's own tests of its public calls, some of them live.

    old.py BUILD_ROOT SOURCE_ROOT LIBRARY

Skips where the history has not that commit: a clone of few commits, or a tree without any.
later.py compares the sizes of the record there.
"""
import io
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

import later

# what tests/abi/otelprof-0.1.abi is a record of
COMMIT = "3e181f11d0cb8eab547f59cb8c5ff5a221cde578"
HAVE = ("include/otelprof", "tests/harness", "tests/abi/test_symbols.c", "tests/live/library",
        "examples/minimal.c")
# programs, and the function of each to run; all of them where there is none
PROGRAMS = (("tests/abi/test_symbols",),
            ("tests/live/library/test_calls", "a_callback_that_calls_back_gets_an_error"),
            ("tests/live/library/test_live", "every_sample_is_accounted_for"),
            ("tests/live/library/test_live", "each_kind_of_rule"))


def of_the_record(source):
    """Those files as they were, as a tar archive; None where they are not here."""
    git = ["git", "-c", f"safe.directory={source}", "-C", source]
    if not shutil.which("git") or subprocess.run(
            [*git, "cat-file", "-e", COMMIT + "^{commit}"], check=False,
            capture_output=True).returncode:
        return None
    return subprocess.run([*git, "archive", COMMIT, *HAVE], check=True,
                          capture_output=True).stdout


def build_old(build, folder, library, program):
    out = folder / pathlib.Path(program).name
    later.run(["cc", "-std=gnu11", "-D_GNU_SOURCE", "-g", "-O1", *later.sanitizers(build),
               "-Iinclude", "-Itests/harness", program + ".c", "-o", out,
               "-Wl,--allow-shlib-undefined", library, "-lpthread"], folder)
    return out


def main(args):
    root, source = (pathlib.Path(a).resolve() for a in args[:2])
    library = pathlib.Path(args[2]).absolute()
    archive = of_the_record(source)
    if not archive:
        print(f"SKIP: the history here has not {COMMIT}, of which the record is")
        return later.SKIPPED
    build = later.Build(root)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        tarfile.open(fileobj=io.BytesIO(archive)).extractall(folder)
        version = (folder / "include/otelprof/version.h.in").read_text()
        for word, number in (("MAJOR", "0"), ("MINOR", "1"), ("MICRO", "0"),
                             ("VERSION", "0.1.0")):
            version = version.replace(f"@{word}@", number)
        (folder / "include/otelprof/version.h").write_text(version)
        build_old(build, folder, library, "examples/minimal")
        codes = [later.result(" ".join(words),
                              [build_old(build, folder, library, words[0]), *words[1:]],
                              [library]) for words in PROGRAMS]
    if any(code not in (0, later.SKIPPED) for code in codes):
        return 1
    if later.SKIPPED in codes:
        print("SKIP: no rights for the live ones")
    return max(codes)


sys.exit(main(sys.argv[1:]))
