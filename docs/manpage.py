# SPDX-License-Identifier: Apache-2.0
"""Fill a man page with what headers and tables say, so that each fact has one place.

    manpage.py ROOT PAGE    PAGE, with text in place of each line "; rows: WHAT", where WHAT is
                            calls             SYNOPSIS of the calls in NAME
                            struct NAME       fields of a struct and their comments
                            values FIELD      constants of a field and their comments
                            settings, record, export    keys of lib/api/settings/keys.def
                            rules of use      the first comment of otelprof/otelprof.h
                            example FILE      the code of examples/FILE
                            kinds, kind bits, runtimes, runtime bits, unwind errors, drop reasons
                                              rows of bpf/include and lib/base/rows/drops.def
A full stop at the end of the line is kept.
"""
import pathlib
import re
import sys
import textwrap
import typing

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import rows  # noqa: E402

# Keys whose text has a list of words, and the list.
LISTS = {"kinds": "kinds", "runtimes_off": "runtimes"}
SKIPPED = re.compile(r"size|reserved\d")  # fields that each struct has


class Key(typing.NamedTuple):
    group: str
    key: str
    struct: str
    field: str
    kind: str
    least: str
    where: str
    word: str
    default: str
    text: str
    aliases: list  # (name, letter, as, word) of each


def keys(table):
    group, found = "", []
    aliases = re.findall(r"^OP_ALIAS\((\w+), (0|'.'), (\w+), \"(.*)\", \"(.*)\"\)$", table, re.M)
    for heading, *row in re.findall(
            r'^OP_GROUP\("(.*)"\)$|'
            r'^OP_KEY\((\w+), (\w+), (\w+), (\w+), (\w+), \w+, [01], \w+, (\w+), "(.*)", "(.*)",\n'
            r'\s+"(.*)"\)$', table, re.M):
        group = heading or group
        if not heading:
            found.append(Key(group, *row, [(name, letter.strip("'"), like, word) for
                                           name, letter, key, like, word in aliases
                                           if key == row[0]]))
    return found


def escaped(text):
    return re.sub(r"([_*])", r"\\\1", text)


def filled_text(text, indent="\t"):
    filled = textwrap.fill(text, 90, initial_indent=indent, subsequent_indent=indent,
                           break_long_words=False, break_on_hyphens=False)
    return re.sub(r"^(\s*)-(?=\S)", r"\1\\-", filled, flags=re.M)  # it would begin a list


def key_entry(title, text, words=None):
    parts = [filled_text(escaped(part)) for part in re.split(r"\{words\}\. ?", text)]
    return "%s\n%s\n\n" % (title, ("\n\t; rows: %s.\n" % words).join(parts).rstrip("\n"))


def settings_page(table):
    says = {"": "", "not": ", its opposite", "one": ", an entry with its commas"}
    return "".join(key_entry(f"_{k.key}_", f"{k.text} Default: {k.default}." + "".join(
        f" Also {name}{says.get(like, ', in ' + like)}." for name, _, like, _ in k.aliases),
        LISTS.get(k.key)) for k in keys(table))


def switches(k):
    names = [(name, letter, word) for name, letter, like, word in k.aliases
             if like not in ("not", "one")]
    names += [("no_" * (k.kind == "OFF") + k.key, "0", k.word)]
    names += [(name, letter, word) for name, letter, like, word in k.aliases
              if like in ("not", "one")]
    return ", ".join(f"*-{letter}*, " * (letter != "0") + f"*--{name.replace('_', '-')}*" +
                     f" _{word}_" * bool(word) for name, letter, word in names)


def program_page(table, where):
    text, group = "", ""
    for k in keys(table):
        if k.where not in where:
            continue
        if k.group != group:
            group = k.group
            text += f"## {group}\n\n"
        says = k.text
        if k.kind == "OFF":
            says = says[len("false: ")].upper() + says[len("false: ") + 1:]
        default = "99" if k.key == "sample_rate_hz" else k.default
        text += key_entry(switches(k), says + f" Default: {default}." * (
            default not in ("true", "false", "none")), LISTS.get(k.key))
    return text


def sentence(comment):
    text = " ".join(re.sub(r"\n\s*\*", "\n", comment[2:-2].lstrip("*")).split())
    if re.match(r"[a-z][a-z-]*(?=[ ,;:(]|\.?$)", text):
        text = text[0].upper() + text[1:]
    text += "." * (not text.endswith((".", ":")))
    return re.sub(r"\b(otelprof_\w+)\(\)", lambda m: "*%s*()" % escaped(m.group(1)),
                  re.sub(r"(?<!otelprof)_(?!\w*\(\))", r"\\_", text.replace("*", r"\*")))


def entries(text, pattern, form):
    """Names that match @pattern and their comments. A comment on lines of its own before a name
    that has one too is a heading. A name without a comment joins the one before."""
    found, lead = [], ""
    for comment, name, tail in re.findall(
            r"^[ \t]*(/\*.*?\*/)$|^%s[ \t]*(/\*.*?\*/)?$" % pattern, text, re.M | re.S):
        if comment:
            found += [("", sentence(lead))] if lead else []
            lead = comment
        elif SKIPPED.fullmatch(name) and not tail:
            lead = ""
        else:
            found += [("", sentence(lead)[:-1] + ":")] if lead and tail else []
            says = tail or lead
            if says or not found or not found[-1][0]:
                found.append((form % name, sentence(says) if says else ""))
            else:
                found[-1] = (found[-1][0] + ", " + form % name, found[-1][1])
            lead = ""
    return "\n\n".join("%s\n%s" % (title, filled_text(says)) if title else filled_text(says, "")
                       for title, says in found)


def struct(headers, name):
    body = re.search(r"^struct %s \{\n(.*?)^\};" % name, headers, re.M | re.S)
    return entries(body.group(1), r"\t[^;/\n]*?(\w+)(?:\[\w+\])?;", "_%s_")


def values(headers, field):
    body = re.search(r"^/\* (?:Values|Bits) of %s\b[^/]*\*/\n(.*?)\n\n" % re.escape(field), headers,
                     re.M | re.S)
    return entries(body.group(1) + "\n", r"#define (\w+)[ \t\\]+\n?[ \t]*(?:\d+|\(.*?\)\)?)",
                   "*%s*")


def example(path):
    code = re.sub(r"\A(/\*.*?\*/\n)*", "", path.read_text(), flags=re.S)
    return "```\n%s```" % code.lstrip("\n").replace("\\", "\\\\")


def rules_of_use(root):
    """The paragraphs on threads and so on. A short first sentence is the title."""
    head = (root / "include/otelprof/otelprof.h").read_text().split("/*\n")[1].split("*/")[0]
    paragraphs = re.split(r"\n \*\n", head)[2:]
    return "\n\n".join(filled_text(re.sub(r"^([\w ()]{1,15}\.)", r"*\1*", sentence(
        "/*\n%s*/" % part)), "") for part in paragraphs)


def prototypes(headers, names):
    """The SYNOPSIS: prototypes of @names, in the order of the headers, each after its callback."""
    text = re.sub(r"/\*.*?\*/|^#.*?$", "", headers, flags=re.S | re.M)
    found = []
    for whole, name in re.findall(
            r"^((?:OTELPROF_API|static inline|typedef)\b[^;{]*?\b(otelprof_\w+)\)?\([^;{]*)[;{]",
            text, re.M):
        if not whole.startswith("typedef") and name not in names:
            continue
        line = re.sub(r"(?<=\*) ", "", " ".join(
            re.sub(r"\bOTELPROF_(API|MUST_CHECK)\b", "", whole).split())) + ";"
        if whole.startswith("typedef"):
            found.append((name, line))
            continue
        found = [(known, said) for known, said in found
                 if known in names or known == "" or re.search(r"\b%s\b" % known, line)]
        found = [("" if re.search(r"\b%s\b" % known, line) else known, said)
                 for known, said in found]
        found.append((name, line))
    lines = [said for known, said in found if known in names or known == ""]
    header = "context" if "otelprof_context_publish" in names else "otelprof"
    # lines break behind a comma only
    text = "\n".join(textwrap.fill(re.sub(r"(?<!,) ", "\0", line), 86, subsequent_indent=" " * 8,
                                   break_long_words=False, break_on_hyphens=False)
                     for line in lines)
    return "```\n#include <otelprof/%s.h>\n\n%s\n```" % (header, text.replace("\0", " "))


def terms(pairs):
    return "\n\n".join("*%s*\n%s" % (name, filled_text(escaped(said))) for name, said in pairs)


def lists(root, page):
    def words(names):
        return textwrap.fill(", ".join("*%s*" % name for name in names), 80,
                             break_on_hyphens=False)

    def table():
        return (root / "lib/api/settings/keys.def").read_text()

    headers = "\n\n".join(path.read_text() for path in
                          sorted((root / "include/otelprof").glob("*.h")))
    called = re.findall(r"otelprof_\w+", page.partition("# NAME")[2].partition("# SYNOPSIS")[0])
    return {
        "kinds": lambda: words(row.word for row in rows.kinds(root)),
        "runtimes": lambda: words(row.word for row in rows.runtimes(root)),
        "runtime bits": lambda: words("OTELPROF_RUNTIME_" + row.upper
                                      for row in rows.runtimes(root)),
        "kind bits": lambda: "\n\n".join(
            "*OTELPROF_KIND_%s*\n%s" % (row.upper, filled_text("%s: %s." % (
                row.tells[0].upper() + row.tells[1:],
                ", ".join("_%s_/_%s_" % both for both in row.samples))))
            for row in rows.kinds(root)),
        "unwind errors": lambda: terms(rows.errors(root)),
        "drop reasons": lambda: terms(re.findall(
            r'^OP_DROP\(\w+, "(\w+)", "(.*)"\)', (root / "lib/base/rows/drops.def").read_text(),
            re.M)),
        "settings": lambda: settings_page(table()).rstrip("\n"),
        "record": lambda: program_page(table(), ("ALL", "PROGRAM")).rstrip("\n"),
        "export": lambda: program_page(table(), ("EXPORT",)).rstrip("\n"),
        "calls": lambda: prototypes(headers, called),
        "rules of use": lambda: rules_of_use(root),
        "example": lambda name: example(root / "examples" / name),
        "struct": lambda name: struct(headers, name),
        "values": lambda name: values(headers, name),
    }


def filled(root, page):
    """The text of a man page, with its lists."""
    root = pathlib.Path(root)
    known = lists(root, page)

    def right(match):
        indent, what, stop = match.groups()
        name, _, argument = what.partition(" ")
        text = known[what]() if what in known else known[name](argument)
        return textwrap.indent(text + stop, indent)

    for _ in range(2):  # texts of keys have lists of their own
        page = re.sub(r"^(\t*); rows: ([\w .]*\w)(\.?)$", right, page, flags=re.M)
    return page


if __name__ == "__main__":
    sys.stdout.write(filled(sys.argv[1], pathlib.Path(sys.argv[2]).read_text()))
