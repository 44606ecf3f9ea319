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
