# SPDX-License-Identifier: Apache-2.0
"""What repeats the rows of bpf/include/{op_kinds,op_runtimes,op_errors}.def.

    rows.py ROOT                are the parts below that repeat them right?
    rows.py --write ROOT        write these parts
"""
import pathlib
import re
import sys
from collections import namedtuple

Row = namedtuple("Row", "number upper word page tells samples")


def table(root, name):
    text = pathlib.Path(root, "bpf/include", name).read_text()
    return re.sub(r"/\*.*?\*/|^#.*?$", "", text, flags=re.S | re.M)


def rows(text, macro):
    """The rows of @macro, each with (type, unit) of the samples that stand behind it."""
    found = []
    for match in re.finditer(r'\b%s\((\d+), (\w+), (\w+),\s*"([^"]*)",\s*"([^"]*)"\)'
                             r'|\bOP_SAMPLES\(\w+, \w+, "(\w+)", "(\w+)"' % macro, text):
        number, upper, word, page, tells, kind, unit = match.groups()
        if kind:
            found[-1].samples.append((kind, unit))
        else:
            found.append(Row(int(number), upper, word, page, tells, []))
    return found


def kinds(root):
    return rows(table(root, "op_kinds.def"), "OP_KIND")


def runtimes(root):
    return rows(table(root, "op_runtimes.def"), "OP_RUNTIME")


def errors(root):
    return re.findall(r'^OP_ERROR\(\d+, (\w+), "(.*)"\)', table(root, "op_errors.def"), re.M)


def padded(word, end):
    """@word up to column @end, with tabs as clang-format sets them."""
    while len(word.expandtabs(8)) // 8 < end // 8 and end - len(word.expandtabs(8)) > 1:
        word += "\t"
    return word + " " * (end - len(word.expandtabs(8)))


def bits(root, name, of):
    names = ["#define OTELPROF_%s_%s" % (name, row.upper) for row in of]
    end = max(map(len, names)) + 1
    return "".join("%s(UINT64_C(1) << %d)\n" % (padded(word, end), row.number)
                   for word, row in zip(names, of))


def linked(row):
    return "`%s`" % row.word if row.page == "README.md" else "[%s](%s)" % (row.word, row.page)


def kind_table(root):
    return "| kind | measures | profiles |\n|---|---|---|\n" + "".join(
        "| %s | %s | %s |\n" % (linked(row), row.tells,
                                ", ".join("`%s`/`%s`" % both for both in row.samples))
        for row in kinds(root))


def runtime_table(root):
    return "| runtime | what it is |\n|---|---|\n" + "".join(
        "| %s | %s |\n" % (linked(row), row.tells) for row in runtimes(root))


def between(begin, end, make):
    """The part of a file from behind the line @begin to before the line @end."""
    def right(root, text):
        before, _, rest = text.partition(begin + "\n")
        after = rest[rest.index(end):]
        return before + begin + "\n" + make(root) + after
    return right


PARTS = [
    ("include/otelprof/config.h",
     between("/* Bits of otelprof_config.runtimes_off. */", "\n\n",
             lambda root: bits(root, "RUNTIME", runtimes(root)).rstrip("\n"))),
    ("include/otelprof/config.h",
     between("/* Bits of otelprof_config.kinds, see otelprof_set_kinds(3). */",
             "\n\n", lambda root: bits(root, "KIND", kinds(root)).rstrip("\n"))),
    ("docs/kinds/README.md",
     between("<!-- kinds: by docs/rows.py --write -->", "<!-- end of kinds -->", kind_table)),
    ("docs/runtimes/README.md",
     between("<!-- runtimes: by docs/rows.py --write -->", "<!-- end of runtimes -->",
             runtime_table)),
]


def wrong(root):
    """(path, right text) of each file that is not as the rows say."""
    texts = {}
    for path, right in PARTS:
        file = pathlib.Path(root, path)
        before = texts.get(path, file.read_text() if file.exists() else "")
        texts[path] = right(root, before)
    for path, text in texts.items():
        file = pathlib.Path(root, path)
        if not file.exists() or file.read_text() != text:
            yield file, text


def main(args):
    found = list(wrong(args[-1]))
    for file, text in found:
        if args[0] == "--write":
            file.write_text(text)
        else:
            print("%s is not as the rows say: docs/rows.py --write" % file)
    return args[0] != "--write" and bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
