# SPDX-License-Identifier: Apache-2.0
"""A library's ABI against what was recorded of the last release, with libabigail.

    compare.py LIBRARY INCLUDE [RECORD]          is it still the same, or only more?
    compare.py --write LIBRARY INCLUDE RECORD    record it, at a release

More symbols and fields at the end of a struct are allowed, everything else is not. Before it
says yes, it shows that it can say no: to a record with one more symbol and to one whose
fields stand elsewhere. Without RECORD, which there is from the first release on, it shows that
alone.
"""
import itertools
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from xml.etree import ElementTree

SKIPPED = 77
# Fields may be appended, and a struct grows by that.
ALLOWED = """[suppress_type]
  type_kind = struct
  has_data_member_inserted_at = end
"""


def record(library, include):
    headers = pathlib.Path(include, "otelprof")
    return subprocess.run(["abidw", "--headers-dir", headers, "--drop-private-types",
                           "--no-corpus-path", "--no-comp-dir-path",
                           "--no-show-locs", "--exported-interfaces-only", library],
                          check=True, capture_output=True, text=True).stdout


def members(text):
    """The fields of each struct: name, and where it stands in bits."""
    return {s.get("name"): [(m.find("var-decl").get("name"), m.get("layout-offset-in-bits"))
                            for m in s.iter("data-member")]
            for s in ElementTree.fromstring(text).iter("class-decl")
            if s.get("is-declaration-only") != "yes"}


def moved(old, new):
    """abidiff 2.2 lets fields move where it lets them be appended; this does not."""
    now = members(new)
    wrong = ""
    for name, fields in members(old).items():
        for was, is_ in itertools.zip_longest(fields, now.get(name, [])[:len(fields)]):
            # what was reserved may get a name and a use
            if was != is_ and (not is_ or was[1] != is_[1] or not was[0].startswith("reserved")):
                wrong += f"struct {name}: {was[0]} at bit {was[1]} is now {is_ or 'not there'}\n"
    return wrong


def differences(old, new, folder):
    """What of the ABI @old is gone or another thing in @new; "" for nothing."""
    paths = []
    for name, text in (("old.abi", old), ("new.abi", new), ("allowed", ALLOWED)):
        paths.append(folder / name)
        paths[-1].write_text(text)
    run = subprocess.run(["abidiff", "--no-added-syms", "--suppr", paths[2], *paths[:2]],
                         check=False, capture_output=True, text=True)
    if run.returncode & 3:
        sys.exit("abidiff failed: " + run.stderr)
    return moved(old, new) + (run.stdout if run.returncode else "")


def broken(text):
    """Records of libraries that this one cannot stand in for."""
    symbol, name = re.search(r"    <elf-symbol name='(otelprof_\w+)' .*type='func.*\n",
                             text).group(0, 1)
    yield "a symbol is gone", text.replace(symbol, symbol + symbol.replace(name, name + "_more"))
    start = re.search(r"<class-decl name='otelprof_\w+' size-in-bits='\d{3,}'", text).start()
    first = text.index("layout-offset-in-bits='64'", start)
    yield "a field moved", (text[:first] + "layout-offset-in-bits='96'" +
                            text[first + len("layout-offset-in-bits='64'"):])


def main(args):
    write = args[0] == "--write"
    library, include, *path = args[write:]
    if not shutil.which("abidw") or not shutil.which("abidiff"):
        print("SKIP: no abidw and abidiff (Debian: abigail-tools)")
        return SKIPPED
    new = record(library, include)
    if not any(name.startswith("otelprof_") for name in members(new)):
        print("SKIP: this build of the library has no debug information")
        return SKIPPED
    if write:
        pathlib.Path(path[0]).write_text(new)
        return 0
    old = pathlib.Path(path[0]).read_text() if path else new
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for what, text in broken(old):
            if not differences(text, new, folder):
                print(f"abidiff does not see that {what}")
                return 1
        found = differences(old, new, folder)
    print(found or "nothing of the recorded ABI is gone or changed" if path else "what is gone is seen")
    return bool(found)


sys.exit(main(sys.argv[1:]))
