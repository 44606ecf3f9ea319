# SPDX-License-Identifier: Apache-2.0
"""lib/api/settings/keys.def has each field and each bit of the structs that it is for, or says why
not; and the keys in the man page are those of the table.

    settings.py ROOT            is it so?
    settings.py --write ROOT    write them into the man page
"""
import pathlib
import re
import sys
import textwrap

PAGE = "docs/man/otelprof_settings_new.3.scd"
BEGIN, END = "; keys: by tests/abi/settings.py --write\n", "; end of keys\n"
# Bits of other fields than flags stand in lists of words.
WORDS = {"OTELPROF_LOG_": "lib/api/settings/keys.c",
         "OTELPROF_PROTOCOL_": "lib/api/settings/keys.c", "OTELPROF_COMPRESSION_": "lib/api/settings/keys.c"}
NO_WORD = {"OTELPROF_PROTOCOL_DEFAULT", "OTELPROF_COMPRESSION_DEFAULT"}


def keys(table):
    """(key, struct, field, type, least, text) of each line."""
    return re.findall(r'^OP_KEY\((\w+), (\w+), (\w+), (\w+), (\w+), \w+, [01],\n\s+"(.*)"\)$',
                      table, re.M)


def fields(header, struct):
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    body = re.search(r"^struct %s \{\n(.*?)^\};" % struct, text, re.M | re.S).group(1)
    return re.findall(r"(\w+)(?:\[\w+\])?;", body)


def escaped(text):
    return re.sub(r"([_*])", r"\\\1", text)


def page_of(table):
    return "".join("_%s_\n%s\n\n" % (key, textwrap.fill(
        escaped(text), 90, initial_indent="\t", subsequent_indent="\t",
        break_long_words=False, break_on_hyphens=False)) for key, *_, text in keys(table))


def uncovered(table, root):
    config = (root / "include/otelprof/config.h").read_text()
    structs = {"config": fields(config, "otelprof_config"),
               "otlp": fields((root / "include/otelprof/export.h").read_text(),
                              "otelprof_otlp_config")}
    there = {(of, field) for _, of, field, *_ in keys(table)}
    there |= set(re.findall(r'^OP_NO_KEY\((\w+), (\w+), "', table, re.M))
    for of, names in structs.items():
        for name in names:
            if (of, name) not in there:
                yield f"otelprof_{of}: {name} has no key and no OP_NO_KEY"
    for of, name in sorted(there):
        if of in structs and name not in structs[of]:
            yield f"keys.def: the struct for {of} has no {name}"
    flags = config.split("/* Bits of otelprof_config.flags. */")[1].split("\n\n")[0]
    bits = [least for *_, kind, least, _ in keys(table) if kind in ("ON", "OFF")]
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
    page = (root / PAGE).read_text()
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    right = before + BEGIN + "\n" + page_of(table) + END + after
    if write:
        (root / PAGE).write_text(right)
        return 0
    wrong = list(uncovered(table, root))
    if len(keys(table)) != table.count("\nOP_KEY("):
        wrong.append("keys.def: a line is not as its head says")
    if page != right:
        wrong.append(f"{PAGE}: its keys are not those of lib/api/settings/keys.def; settings.py --write")
    # a table without a field, and one without a flag, are found
    for less in ("OP_KEY(sample_rate_hz, config, sample_rate_hz", "OP_NO_KEY(otlp, reserved0",
                 "OP_KEY(idle_stacks, config, flags"):
        if not list(uncovered(table.replace(less, "OP_NONE(x"), root)):
            wrong.append("a table without %s is not found out" % less)
    print("\n".join(wrong) or f"{len(keys(table))} keys")
    return bool(wrong)


sys.exit(main(sys.argv[1:]))
