# SPDX-License-Identifier: Apache-2.0
"""Checks that the man pages have all that the headers have: calls, fields, constants, errors.
Examples must compile.

    man.py ROOT INCLUDE... [--built DIR]

INCLUDE are folders with the public headers, for the examples. DIR has the built pages, one for each
call.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from source import blank

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "docs"))
import manpage  # noqa: E402

SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "RETURN VALUE", "ERRORS", "EXAMPLES", "SEE ALSO"]
NO_PAGE = {"OTELPROF_API", "OTELPROF_MUST_CHECK", "OTELPROF_BEGIN_DECLS",
           "OTELPROF_END_DECLS"}


def plain(page):
    """scdoc text without its markup."""
    return re.sub(r"[*\\]|(?<!\w)_|_(?!\w)", "", page)


def words(text):
    return re.sub(r"\s*([(),;*])\s*", r"\1", " ".join(text.split()))


def calls(headers):
    """name: prototype, of each function of the headers, inline ones too."""
    text = blank(headers, {"block"})
    found = {}
    for match in re.finditer(r"^(?:OTELPROF_API|static inline)\b[^;{#]*?\b(otelprof_\w+)\([^;{]*",
                             text, re.M):
        prototype = re.sub(r"\bOTELPROF_(API|MUST_CHECK)\b", "", match.group())
        found[match.group(1)] = words(prototype + ";")
    return found


def fields(headers):
    """(struct, field) of each struct of the headers."""
    for name, body in re.findall(r"^struct (otelprof_\w+) \{\n(.*?)^\};",
                                 blank(headers, {"block"}), re.M | re.S):
        for field in re.findall(r"(\w+)(?:\[\w+\])?;", body):
            if not re.fullmatch(r"reserved\d", field):
                yield name, field


def constants(headers):
    names = re.findall(r"^#define (OTELPROF_\w+)(?=\s+\S)", blank(headers, {"block"}), re.M)
    return [name for name in names if name not in NO_PAGE and not name.endswith("_H")]


def name_section(page):
    return page.partition("# NAME")[2].partition("# SYNOPSIS")[0]


def synopsis(page):
    return words("\n".join(re.findall(r"# SYNOPSIS\n\n```\n(.*?)```", page, re.S)))


def examples(page):
    """The C of the page, as scdoc shows it."""
    part = page.split("# EXAMPLES", 1)[-1].split("# SEE ALSO")[0]
    for block in re.findall(r"^```\n(.*?)^```", part, re.M | re.S):
        yield re.sub(r"\\(.)", r"\1", block)


def check_page(name, page):
    if name.endswith(".3"):
        there = [name for name in re.findall(r"^# (.*)$", page, re.M) if name != "ENVIRONMENT"]
        if there != SECTIONS:
            yield "%s: its sections are %s" % (name, ", ".join(there))
    for number, line in enumerate(page.split("\n"), 1):
        if len(line.expandtabs(8)) > 100 and page.split("\n")[number - 3] != "# NAME":
            yield "%s:%d: a long line" % (name, number)
    if name.endswith(".1"):
        there = re.findall(r"^\t.*\botelprof\b", page.partition("# EXAMPLES")[2], re.M)
    else:
        there = list(examples(page))
    if not there:
        yield name + ": no example"


def check_commands(pages):
    """Each command of the program has a page, to which otelprof(1) refers."""
    page = pages["otelprof.1"]
    named = set(re.findall(r"^\*otelprof (\w+)\*", page, re.M))
    there = {name[len("otelprof-"):-len(".1")] for name in pages if name.startswith("otelprof-")}
    led_to = set(re.findall(r"\*otelprof-(\w+)\*\(1\)", page.partition("# SEE ALSO")[2]))
    for command in sorted(named ^ there | named ^ led_to):
        yield "otelprof-%s.1: not in each of SYNOPSIS and SEE ALSO of otelprof.1, and the pages" % \
            command


def check_contents(headers, errors, pages):
    """@pages: name to text, of section 3."""
    everything = "\n".join(plain(page) for page in pages.values())
    for call, prototype in calls(headers).items():
        homes = [name for name, page in pages.items()
                 if re.search(r"\b%s\b" % call, name_section(page))]
        if len(homes) != 1:
            yield "%s: in the NAME of %s pages" % (call, len(homes))
        elif prototype not in synopsis(pages[homes[0]]):
            yield "%s: not in the SYNOPSIS as in the header: %s" % (call, prototype)
    for struct, field in fields(headers):
        # as one of the terms "_a_, _b_" that begin a paragraph, or within a sentence
        if not re.search(r"(?<!\w)_%s_(?!\w)" % field, "\n".join(pages.values())):
            yield "%s.%s: in no page" % (struct, field)
    for constant in constants(headers):
        if not re.search(r"\b%s\b" % constant, everything):
            yield constant + ": in no page"
    for name, sentence in re.findall(r'^OP_ERROR\(\d+, (\w+), "(.*)"\)', errors, re.M):
        if "*%s*\n\t%s" % (name, sentence.replace("_", "\\_")) not in \
                pages.get("otelprof_get_stats.3", ""):
            yield "unwind error %s: not in otelprof_get_stats.3 with its sentence" % name


def compiles(text, includes):
    """The compiler's output for an example. Empty if it compiles."""
    with tempfile.TemporaryDirectory() as where:
        path = pathlib.Path(where, "example.c")
        path.write_text(text)
        out = subprocess.run(["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror",
                              *["-I" + name for name in includes], "-c", str(path),
                              "-o", "/dev/null"],
                             capture_output=True, text=True)
    return out.stderr.replace(str(path), "example") if out.returncode else ""


def check_built(headers, built):
    for call in calls(headers):
        path = pathlib.Path(built, call + ".3")
        text = path.read_text() if path.exists() else ""
        target = re.match(r"\.so man3/(\S+)", text)
        if target:
            path = pathlib.Path(built, target.group(1))
            text = path.read_text() if path.exists() else ""
        if not re.search(r"^\.SH NAME$.*?\b%s\b.*?^\.SH SYNOPSIS$" % call,
                         text.replace("\\", ""), re.M | re.S | re.I):
            yield "%s.3 was not made, or leads to another page" % call


def main(root, *args):
    root = pathlib.Path(root)
    built = args[args.index("--built") + 1] if "--built" in args else None
    includes = args[:args.index("--built")] if built else args
    headers = "\n".join(p.read_text() for p in sorted((root / "include/otelprof").glob("*.h*")))
    errors = (root / "bpf/include/op_errors.def").read_text()
    pages = {p.stem: manpage.filled(root, p.read_text())
             for p in sorted((root / "docs/man").rglob("*.scd"))}
    wrong = list(check_contents(headers, errors,
                                {n: p for n, p in pages.items() if n.endswith(".3")}))
    wrong += check_commands(pages)
    for name, page in pages.items():
        wrong += check_page(name, page)
        for example in [] if name.endswith(".1") else examples(page):
            said = compiles(example, includes)
            if said:
                wrong.append("%s: an example is no right C:\n%s" % (name, said))
    if built and shutil.which("scdoc") and os.path.isdir(built):
        wrong += check_built(headers, built)
    print("\n".join(wrong) or "%d pages hold" % len(pages))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
