# SPDX-License-Identifier: Apache-2.0
"""What the checks share: the files of the project, and C without its comments and strings."""
import fnmatch
import os
import pathlib
import re
import subprocess

SKIP = 77
C_SUFFIXES = {".c", ".h", ".def"}

_C_TOKEN = re.compile(r"""
      (?P<block> /\* .*? (?: \*/ | \Z ) )
    | (?P<line> // [^\n]* )
    | (?P<string> " (?: \\. | [^"\\\n] )* " )
    | (?P<char> ' (?: \\. | [^'\\\n] )* ' )
    """, re.S | re.X)


def tracked(root, *patterns):
    """Paths of the project's files below @root, sorted; of a tarball, all that are there."""
    names = indexed(root, *patterns)
    if names is None:
        names = [name for name in walk(root)
                 if not patterns or any(fnmatch.fnmatch(name, p) for p in patterns)]
    return sorted(name for name in names if pathlib.Path(root, name).is_file())


def indexed(root, *patterns):
    """Paths of those that git knows; None: there is no git, or no repository."""
    try:
        out = subprocess.run(["git", "-c", "safe.directory=*", "-C", str(root), "ls-files",
                              "-z", "--", *patterns], capture_output=True, text=True)
    except FileNotFoundError:
        return None
    if out.returncode != 0:
        return None
    return [name for name in out.stdout.split("\0") if name]


# What examples/quickstart.sh leaves, as .gitignore says.
MADE = {"profile.html"}


def walk(root):
    """All files but those of builds."""
    for folder, folders, files in os.walk(root):
        top = os.path.relpath(folder, root)
        folders[:] = [name for name in folders if name != "__pycache__" and
                      not (top == "." and name.startswith(("build", ".")))]
        for name in files:
            path = os.path.normpath(os.path.join(top, name))
            if path not in MADE:
                yield path


def blank(text, kinds):
    """@text with each token of @kinds made blanks; lines and columns stay."""
    def replace(match):
        if match.lastgroup not in kinds:
            return match.group()
        return re.sub(r"[^\n]", " ", match.group())
    return _C_TOKEN.sub(replace, text)


def code(text):
    """C without comments and without what stands in strings."""
    return blank(text, {"block", "line", "string", "char"})


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def arguments(text, position):
    """The text between the parenthesis at @position and its partner."""
    depth = 0
    for i in range(position, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if not depth:
            return text[position + 1:i]
    return text[position + 1:]


# C in the kernel's form: the braces of a function and the last one of a struct stand at column 0.

def without_directives(text):
    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: re.sub(r"[^\n]", " ", m.group()), text,
                  flags=re.M)


def functions(text):
    """(name, is static, first line, last line, text from its head on) of each function."""
    plain = without_directives(text)
    for match in re.finditer(r"^\{\n.*?^\}", plain, re.M | re.S):
        start = max(plain.rfind(end, 0, match.start()) for end in ";}") + 1
        head = re.sub(r"__attribute__\s*\(\(.*?\)\)|SEC\s*\(.*?\)", "",
                      plain[start:match.start()], flags=re.S)
        name = re.search(r"(\w+)\s*\(", head)
        start += len(plain[start:]) - len(plain[start:].lstrip())
        if name:
            yield (name.group(1), "static" in head[:name.start()], line_of(plain, start),
                   line_of(plain, match.end()), plain[start:match.end()])


def members(body):
    """How many members a struct's @body declares. A nested struct's count as its own."""
    last = None
    while body != last:
        last = body
        body = re.sub(r"\benum\b[^{};]*\{[^{}]*\}|\([^()]*\)|\[[^][]*\]", " x ", body)
    body = re.sub(r"\}[^;]*;", "", re.sub(r"\b(struct|union)\b[^{};]*\{", "", body))
    return sum(1 + declared.count(",") for declared in body.split(";") if declared.strip())


def structs(text):
    """(tag, line, members) of each struct and union that begins at column 0."""
    plain = without_directives(text)
    for match in re.finditer(r"^(?:typedef )?(?:struct|union)\s+(\w+)\s*\{\n(.*?)^\}", plain,
                             re.M | re.S):
        yield match.group(1), line_of(plain, match.start()), members(match.group(2))


def tags(text):
    """(tag, line, body) of each struct, union and enum that is defined here."""
    for match in re.finditer(r"\b(?:struct|union|enum)\s+(\w+)\s*\{", text):
        end = re.compile(r"^\}", re.M).search(text, match.end())
        yield match.group(1), line_of(text, match.start()), text[match.end():end and end.start()]
