# SPDX-License-Identifier: Apache-2.0
"""lib/api/settings/keys.def has each field and each bit of the structs that it is for, or says why
not. The pages below have what it says of each key (docs/manpage.py puts it into man pages).

    settings.py ROOT            check this
    settings.py --write ROOT    write the pages
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "docs"))
from manpage import LISTS, keys  # noqa: E402

BEGIN, END = "keys: by tests/abi/settings.py --write", "end of keys"
# Bits of other fields than flags stand in lists of words.
WORDS = {"OTELPROF_LOG_": "lib/api/settings/keys.c",
         "OTELPROF_PROTOCOL_": "lib/api/settings/keys.c", "OTELPROF_COMPRESSION_": "lib/api/settings/keys.c"}
NO_WORD = {"OTELPROF_PROTOCOL_DEFAULT", "OTELPROF_COMPRESSION_DEFAULT"}


def fields(header, struct):
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    body = re.search(r"^struct %s \{\n(.*?)^\};" % struct, text, re.M | re.S).group(1)
    return re.findall(r"(\w+)(?:\[\w+\])?;", body)


def receiver_page(table):
    def quoted(k):
        first = k.text.partition(". ")[0].rstrip(".")  # the man page has the rest
        text = re.sub(r"\b([a-z]+_[a-z_]+)\b", r"`\1`", first).replace("|", "\\|")
        words = LISTS.get(k.key)
        return text.replace("{words}", f"the [{words}]({words}/README.md)")
    return "\n| key | default | what it does |\n|---|---|---|\n" + "".join(
        f"| `{k.key}` | {k.default} | {quoted(k)} |\n" for k in keys(table)
        if k.where == "ALL") + "\n"


PAGES = {"docs/collector.md": receiver_page}


def right(root, path, table):
    """(the page, the page as it should be)"""
    page = (root / path).read_text()
    begin, end = (f"<!-- {mark} -->\n" for mark in (BEGIN, END))
    before, rest = page.split(begin)
    return page, before + begin + PAGES[path](table) + end + rest.split(end)[1]


def uncovered(table, root):
    config = (root / "include/otelprof/config.h").read_text()
    structs = {"config": fields(config, "otelprof_config"),
               "otlp": fields((root / "include/otelprof/export.h").read_text(),
                              "otelprof_otlp_config")}
    there = {(k.struct, k.field) for k in keys(table)}
    there |= set(re.findall(r'^OP_NO_KEY\((\w+), (\w+), "', table, re.M))
    for of, names in structs.items():
        for name in names:
            if (of, name) not in there:
                yield f"otelprof_{of}: {name} has no key and no OP_NO_KEY"
    for of, name in sorted(there):
        if of in structs and name not in structs[of]:
            yield f"keys.def: the struct for {of} has no {name}"
    flags = config.split("/* Bits of otelprof_config.flags. */")[1].split("\n\n")[0]
    bits = [k.least for k in keys(table) if k.kind in ("ON", "OFF")]
    for flag in re.findall(r"#define (OTELPROF_\w+)", flags):
        if bits.count(flag) != 1:
            yield f"{flag}: {bits.count(flag)} keys"
    headers = config + (root / "include/otelprof/export.h").read_text()
    for prefix, path in WORDS.items():
        for name in re.findall(r"#define (%s\w+)" % prefix, headers):
            if name not in NO_WORD and not re.search(r"\b%s\b" % name, (root / path).read_text()):
                yield f"{name}: no word in {path}"


def main(args):
    write = args[0] == "--write"
    root = pathlib.Path(args[write])
    table = (root / "lib/api/settings/keys.def").read_text()
    pages = {path: right(root, path, table) for path in PAGES}
    if write:
        for path, (_, page) in pages.items():
            (root / path).write_text(page)
        return 0
    wrong = list(uncovered(table, root))
    if len(keys(table)) != table.count("\nOP_KEY("):
        wrong.append("keys.def: a line is not as its head says")
    wrong += [f"{path}: its keys are not those of lib/api/settings/keys.def; settings.py --write"
              for path, (page, should) in pages.items() if page != should]
    # a table without a field, and one without a flag, are found
    for less in ("OP_KEY(sample_rate_hz, config, sample_rate_hz", "OP_NO_KEY(otlp, reserved0",
                 "OP_KEY(idle_stacks, config, flags"):
        if not list(uncovered(table.replace(less, "OP_NONE(x"), root)):
            wrong.append("a table without %s is not found out" % less)
    print("\n".join(wrong) or f"{len(keys(table))} keys")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
