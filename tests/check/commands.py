# SPDX-License-Identifier: Apache-2.0
"""Checks that command lines in the documents parse, that options in them exist, and that man pages
have all options.

    commands.py ROOT

Commands and options are those of tests/unit/program/golden/help-*.txt, which the program's own test
compares, and the switches of keys.def. An option of another program must occur in a file of code. A
man page has each option of its help, or refers to a page that has it.
"""
import pathlib
import re
import sys

from source import line_of, tracked

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "docs"))
import manpage  # noqa: E402

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+|(?<![\w-])-[A-Za-z0-9](?!\w)")
# A command line up to the end of the command: a pipe, a redirection, a comment, "--".
LINE = re.compile(r"(?:^|[|;&$(`])\s*(?:sudo +)?otelprof +([a-z]+)"
                  r"((?:(?! -- )[^\n|;&<>)#`])*)", re.M)
BLOCK = re.compile(r"^```\w*\n.*?^```|`(?:sudo )?otelprof [^`]*`|^\t(?:[^\n]* )?otelprof [^\n]*$",
                   re.M | re.S)
OTHERS = {"--cgroupns"}  # of Docker
WITH_KEYS = ("record", "top", "export")


def options(text):
    return set(OPTION.findall(text))


def helps(root):
    """command: the options of its help"""
    return {path.stem[len("help-"):]: options(" ".join(
        re.findall(r"^ +-[^ ,]+(?:, +-[^ ,]+)*", path.read_text(), re.M)))
        for path in (root / "tests/unit/program/golden").glob("help-*.txt")}


def switches(root):
    keys = manpage.keys((root / "lib/api/settings/keys.def").read_text())
    return options(" ".join("%s --%s" % (manpage.switches(key).replace("*", " "),
                                         key.key.replace("_", "-")) for key in keys))


def wrong_lines(text, commands):
    """(offset, what is wrong) of each command line in @text, a page."""
    for block in BLOCK.finditer(text):
        for line in LINE.finditer(re.sub(r"\\\n", "  ", block.group())):
            command = line.group(1)
            at = block.start() + line.start()
            if command not in commands and command != "help":
                yield at, "otelprof has no command " + command
            for option in sorted(options(re.sub(r"'[^']*'|\"[^\"]*\"", "", line.group(2))) -
                                 commands.get(command, set())):
                if command in commands:
                    yield at, "otelprof %s has no option %s" % (command, option)


def missing(root, there):
    """Options that the man page of a command lacks."""
    texts = {path.stem: manpage.filled(root, path.read_text())
             for path in (root / "docs/man/otelprof").glob("*.scd")}
    for command, wanted in sorted(there.items()):
        name = "otelprof-%s.1" % command
        led_to = re.findall(r"\*(otelprof-\w+)\*\(1\)", texts[name].partition("# SEE ALSO")[0])
        has = options(re.sub(r"[*_\\]", " ", "\n".join(texts[page] for page in [name] + [
            other + ".1" for other in led_to])))
        for option in sorted(wanted - has - {"-h", "--help"}):
            yield "docs/man/otelprof/%s.scd: lacks %s" % (name, option)


def unknown(root, pages, there):
    """Options in the prose of @pages that neither @there nor any file of code has."""
    named = {}
    for path, text in pages.items():
        for match in re.finditer(r"`(--[a-z][a-z0-9-]+)[^`]*`", text):
            if match.group(1) not in there:
                named.setdefault(match.group(1), "%s:%d" % (path, line_of(text, match.start())))
    for path in tracked(root) if named else []:
        if not path.endswith((".md", ".scd")):
            text = (root / path).read_bytes()
            named = {option: at for option, at in named.items() if option.encode() not in text}
    for option, at in named.items():
        yield "%s: there is no option %s" % (at, option)


def main(root):
    root = pathlib.Path(root)
    there = helps(root)
    wrong = list(missing(root, there))
    commands = {command: wanted | {"-h", "--help"} | (
        switches(root) if command in WITH_KEYS else set()) for command, wanted in there.items()}
    pages = {path: (root / path).read_text() for path in tracked(root, "*.md", "docs/man/*.scd")}
    wrong += unknown(root, pages, OTHERS.union(*commands.values()))
    for path, text in pages.items():
        wrong += ["%s:%d: %s" % (path, line_of(text, at), said)
                  for at, said in wrong_lines(text, commands)]
    # what is wrong is found
    for line in ("`otelprof recrod`", "```\nsudo otelprof top --rates 3\n```",
                 "\totelprof dump -Z 1"):
        if not list(wrong_lines(line, commands)):
            wrong.append("not found: " + line)
    print("\n".join(wrong) or "the options of %d commands hold" % len(commands))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
