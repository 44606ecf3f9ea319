# SPDX-License-Identifier: Apache-2.0
"""The house rules that a script can check, see docs/coding-style.md.

    lint.py text ROOT                   the files of the project
    lint.py objects FILE SYMBOL [NM]    objects as nm(1) sees them; SYMBOL must be there

A rule takes a path and a text, and yields (line, message) pairs. tests/check/test_lint.py has a
text that breaks each rule.
"""
import pathlib
import re
import subprocess
import sys

import house
from source import C_SUFFIXES, arguments, blank, code, line_of, tracked

LINES_MAX = 600
STATS = "otelprof_stats"  # the one struct of many members
FILES_MAX = 20  # .c and .h files of a folder of lib/, bpf/ or examples/
ERROR_RANGE = range(32, 160)

# The folders at the top of lib in the order of the data's flow. Each uses only later ones, and
# base.
ROOMS = ["api", "recording", "session", "parts", "sample", "process", "runtime", "code", "kernel",
         "profile", "export"]

# (path, header) that may break the order, and why
FOLDERS_ALLOWED = {}

# headers of the library that the program includes, besides lib/recording: plain C, no profiles
PROGRAM_ALLOWED = {"base/cleanup.h", "base/macros.h", "base/strbuf.h",
                   # the tables of options, kinds and runtimes: its switches are their rows
                   "api/settings/each.h", "base/rows/rows.h"}

# Writable symbols: why each is there.
DATA_ALLOWED = {
    "completed": "of every shared object: crtstuff.c of gcc",
    "__dso_handle": "the same",
    "__TMC_END__": "the same",
    "log_was_set": "gRPC's log function is of the process, and set once in it",
}

def suffix(path):
    return pathlib.PurePath(path).suffix


def folder_of(path):
    parts = pathlib.PurePath(path).parts
    return parts[1] if len(parts) > 2 and parts[0] == "lib" else None


def is_c(path):
    return suffix(path) in C_SUFFIXES


def find(pattern, text, message):
    for match in re.finditer(pattern, text, re.M):
        yield line_of(text, match.start()), message % match.group().strip()


def spdx(path, text):
    """Line 1 (in a script the line after #!) names the licence of its folder."""
    if suffix(path) not in C_SUFFIXES | {".py", ".sh", ".cpp", ".go", ".rs", ".S"}:
        return
    lines = text.split("\n")
    first = 1 if lines[0].startswith("#!") else 0
    want = "GPL-2.0-only OR BSD-2-Clause" if path.startswith("bpf/") else "Apache-2.0"
    if not re.search(r"SPDX-License-Identifier: %s( \*/)?$" % re.escape(want),
                     lines[first] if first < len(lines) else ""):
        yield first + 1, "no SPDX-License-Identifier: " + want


def comments(path, text):
    """Comments in C are of the old form."""
    if is_c(path):
        yield from find(r"//", blank(text, {"block", "string", "char"}), "a %s comment")


def output(path, text):
    """The library does not print and does not end the process."""
    if is_c(path) and folder_of(path):
        yield from find(r"(?<![\w.>])(v?printf|puts|putchar|perror|v?warnx?|v?errx?|psignal|"
                        r"exit|_exit|_Exit|quick_exit|abort)\s*\(|\bstd(err|out)\b",
                        code(text), "%s in the library")


def close_on_exec(path, text):
    """Descriptors are opened close-on-exec."""
    if not is_c(path) or not folder_of(path):
        return
    plain = code(text)
    yield from find(r"(?<![\w.>])(creat|pipe|dup2?|accept|epoll_create|inotify_init|popen|"
                    r"mkstemp)\s*\(", plain, "%s has no close-on-exec")
    for match in re.finditer(r"(?<![\w.>])(open|open64|openat|openat64|epoll_create1|eventfd|"
                             r"timerfd_create|signalfd|inotify_init1|memfd_create|pipe2|dup3|"
                             r"socket|socketpair|accept4|mkostemp)\s*\(", plain):
        if "CLOEXEC" not in arguments(plain, match.end() - 1):
            yield line_of(text, match.start()), match.group(1) + "() without CLOEXEC"
    for match in re.finditer(r"(?<![\w.>])(fopen|fdopen|freopen)\s*\(", plain):
        end = match.end() + len(arguments(plain, match.end() - 1))
        if match.group(1) != "fdopen" and not re.search(r'"[^"]*e[^"]*"\s*$',
                                                        text[match.end():end]):
            yield line_of(text, match.start()), match.group(1) + '() without "e"'


def folders(path, text, exists=lambda path: True):
    """A file includes headers of its own folder at the top of lib, of later ones and of base. It
    never includes private headers of another folder (state.h, private.h, NAME_private.h)."""
    room = folder_of(path)
    if not is_c(path) or room not in {*ROOMS, "base"}:
        return
    for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]+["<]((\w+)/[^">]+)[">]', text, re.M):
        header, other = match.group(1), match.group(2)
        if other not in ROOMS or not exists("lib/" + header):
            continue
        where = str(pathlib.PurePath("lib", header).parent)
        if other != room and (room == "base" or ROOMS.index(other) < ROOMS.index(room)):
            if (path, header) not in FOLDERS_ALLOWED:
                yield (line_of(text, match.start()),
                       "%s stands before %s: %s" % (other, room, header))
        elif re.search(r"/(state|(\w+_)?private)\.h$", header) and \
                not path.startswith(where + "/"):
            yield line_of(text, match.start()), "the insides of another folder: " + header


def examples(path, text, exists=lambda path: True):
    """Examples use only the public headers. The program uses lib/recording, too."""
    if not is_c(path) or not path.startswith("examples/"):
        return
    program = path.startswith("examples/otelprof/")
    for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]+["<]([^">]+)[">]', text, re.M):
        header = match.group(1)
        allowed = header.startswith("otelprof/") or program and (
            header.startswith("recording/") or header in PROGRAM_ALLOWED)
        if not allowed and any(exists(home + header)
                               for home in ("lib/", "proto/", "bpf/", "bpf/include/",
                                            "bpf/include/runtime/")):
            yield line_of(text, match.start()), "an inside of the library: " + header


def marks(path, text):
    """No comment says what is left to do."""
    yield from find(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b", text, "%s")


def bpf_tests(path, text):
    """BPF programs contain nothing for tests."""
    if path.startswith("bpf/") and is_c(path):
        yield from find(r"^[ \t]*#[ \t]*(include\b.*\btests?\b.*|(if|ifdef|ifndef|elif)\b.*TEST.*"
                        r"|define\s+\w*TEST.*)", blank(text, {"block"}), "a test in bpf/: %s")


def error_numbers(path, text):
    """Each unwind error has a number and a name of its own, in order."""
    if not path.endswith("op_errors.def"):
        return
    names, last = set(), -1
    for match in re.finditer(r"^OP_ERROR\((\d+), (\w+),", text, re.M):
        number, name, line = int(match.group(1)), match.group(2), line_of(text, match.start())
        if number == last:
            yield line, "the number %d is taken" % number
        elif number < last:
            yield line, "%d stands after %d" % (number, last)
        if number not in ERROR_RANGE:
            yield line, "%d is not %d to %d" % (number, ERROR_RANGE[0], ERROR_RANGE[-1])
        if name in names:
            yield line, "the name %s is taken" % name
        names.add(name)
        last = max(last, number)
    if len(names) != text.count("\nOP_ERROR("):
        yield 1, "a line that is not OP_ERROR(number, name, \"sentence\")"


def machine(path, text):
    """No path of one machine, no private host, no registry."""
    yield from find(r"""(?<![\w})\]"'%*./<>-])/(work|root|home/\w+|build)/\w\S*""", text,
                    "a path of one machine: %s")
    yield from find(r"/tmp/li" r"ve\b", text, "a path of one machine: %s")
    yield from find(r"(?<![\w.-])[\w.-]+\.(internal|corp|intranet|lan|svc|cluster\.local)\b"
                    r"(?=[:/\s\"'])", text, "a private host: %s")
    for match in re.finditer(r"https?://(?:[^/@\s]*@)?([\w.-]+)", text):
        host = match.group(1)
        if re.search(r"artifactory|nexus|registry|mirror|proxy\.|pypi|npm|crates|"
                     r"deb\.|snapshot\.|maven", host):
            yield line_of(text, match.start()), "a registry; its client knows it: " + host


def foreign(path, text):
    """Every line is the project's own: no other copyright notice, no other licence."""
    if pathlib.PurePath(path).name == "COPYING" or path.startswith("LICENSES/") or \
            path in ("REUSE.toml", "debian/copyright"):
        return
    yield from find(r"(?i)\bcopyr" r"ight\s*(\(c\)|\u00a9|[12]\d{3})|\ball rights res" r"erved\b|"
                    r"\bpermission is her" r"eby granted\b|\blicen[sc]ed under the\b|"
                    r"SPDX-FileCopyr" r"ightText", text, "another's notice: %s")
    yield from find(r"^[^\w\n]*SPDX-License-Identifier: (?!Apache-2\.0|GPL-2\.0-only OR BSD-2-Clause)"
                    r"\S+", text, "another licence: %s")


def tools(path, text):
    """No file names the tool that wrote it."""
    yield from find(r"(?i)\b(cla" r"ude|anth" r"ropic|chat" r"gpt|open" r"ai|copi" r"lot|"
                    r"language mo" r"del|ai assis" r"tant)\b", text, "%s")


# files that print the program's own texts by length
OWN_TEXTS = {"examples/otelprof/options.c", "examples/otelprof/common.c"}


def shown(path, text):
    """Foreign text goes to a stream only by print_*(), put_*() or fail(), which clean it, never by
    printf(3) or fputs(3) directly."""
    if not is_c(path) or not path.startswith(("examples/otelprof/", "lib/recording/", "lib/export/format/")) or \
            path in OWN_TEXTS:
        return
    plain = blank(text, {"block", "line"})
    calls = code(text)  # the same without strings, in which a parenthesis is none
    for match in re.finditer(r"(?<![\w.>])(v?f?printf|dprintf|fputs|puts|fwrite)\s*\(", calls):
        args = plain[match.end():match.end() + len(arguments(calls, match.end() - 1))]
        raw = re.search(r"\b(op_collect_text|otlp_string|op_strings_get|op_vec_text)\s*\(|%\.\*s", args)
        if raw:
            yield line_of(text, match.start()), "%s() of text that is not cleaned: %s" % (match.group(1), raw.group())


RULES = [shown, spdx, comments, output, close_on_exec, folders, examples, marks, bpf_tests, error_numbers, machine,
         foreign, tools]


def check_text(root):
    """Messages for all files, and notes that are no failure."""
    wrong, notes = [], []
    for path in tracked(root):
        try:
            text = pathlib.Path(root, path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if path.startswith("tests/fuzz/corpus/"):
            continue
        for rule in RULES:
            more = {"exists": lambda name: pathlib.Path(root, name).exists()} \
                if rule in (folders, examples) else {}
            wrong += ["%s:%d: %s [%s]" % (path, line, message, rule.__name__)
                      for line, message in rule(path, text, **more)]
        lines = text.count("\n")
        if lines > LINES_MAX and suffix(path) in C_SUFFIXES | {".py", ".sh"}:
            notes.append("note: %s has %d lines" % (path, lines))
    wrong += list(crowded(tracked(root))) + list(unneeded(root)) + list(drawing(root))
    return wrong, notes


def drawing(root):
    """A tag or prefix is defined in one folder, every function is called, includes form no circle of
    folders, and nothing is too long. A test may define a struct of the kernel's side."""
    tree = house.Tree(root)
    texts = {path: text for path, text in tree.text.items() if not path.startswith("tests/")}
    for path, line, message in [*house.two_homes(texts), *house.uncalled(tree.text)]:
        yield "%s:%d: %s" % (path, line, message)
    yield from house.folder_circles(house.includes(tree, "lib"))
    for rule, _, found in house.shapes(tree):
        yield from ("%s: %s" % (one, rule) for one in found if STATS not in one.split())


def crowded(paths):
    """No folder has more than FILES_MAX source files. In tests/ all files but inputs count."""
    folders = {}
    for path in paths:
        folder, name = path.rpartition("/")[::2]
        inputs = "/corpus/" in path or folder.endswith("/golden") or name == "meson.build"
        if is_c(path) and path.startswith(("lib/", "bpf/", "examples/")) or \
                path.startswith("tests/") and not inputs:
            folders[folder] = folders.get(folder, 0) + 1
    for folder, count in sorted(folders.items()):
        if count > FILES_MAX:
            yield "%s has %d source files, more than %d" % (folder, count, FILES_MAX)


def unneeded(root):
    """Entries of FOLDERS_ALLOWED that nothing uses."""
    for path, header in FOLDERS_ALLOWED:
        file = pathlib.Path(root, path)
        if not file.exists() or '"%s"' % header not in file.read_text():
            yield "tests/check/lint.py: %s includes %s no more: forbid it" % (path, header)


def parse_nm(text):
    """(object, name, class, section) of each line of nm -A -f sysv."""
    for line in text.split("\n"):
        fields = [field.strip() for field in line.split("|")]
        if len(fields) == 7:
            where, name = fields[0].rsplit(":", 1)
            yield where.rsplit("/", 1)[-1], name, fields[2], fields[6]


def check_symbols(symbols):
    """Nothing is writable at file scope, and every extern name has the project's prefix."""
    for where, name, kind, section in symbols:
        if name.startswith(("__odr_asan", ".L", "__gcov", "__llvm", "__sanitizer", "__sancov")):
            continue # the compiler's
        plain = re.sub(r"\.\d+$", "", name)
        if re.match(r"\.(data|bss|tdata|tbss)\b(?!\.rel\.ro)", section) or section == "*COM*":
            if plain not in DATA_ALLOWED:
                yield "%s: %s is writable data at file scope (%s)" % (where, name, section)
        if kind in "TWVDBRC" and not name.startswith(("op_", "otelprof_")):
            yield "%s: %s is not static and begins with neither op_ nor otelprof_" % (where, name)


def circles(symbols, wanted):
    """Groups of objects that call each other in a circle. @symbols are (object, name) of
    definitions, @wanted of calls."""
    home = {name: where for where, name in symbols}
    calls = {}
    for where, name in wanted:
        if home.get(name, where) != where:
            calls.setdefault(where, {})[home[name]] = name
    reach = {}
    for start in calls:
        seen, todo = set(), [start]
        while todo:
            new = set(calls.get(todo.pop(), ())) - seen
            seen |= new
            todo += new
        reach[start] = seen
    for a in sorted(calls):
        for b in sorted(calls[a]):
            if a < b and a in reach.get(b, ()):
                yield "%s and %s call each other in a circle (%s)" % (a, b, calls[a][b])


def check_circles(file, nm):
    out = subprocess.run([nm, "-A", "-f", "posix", file], check=True, capture_output=True,
                         text=True).stdout
    pairs = re.findall(r"\[([^\]]+)\]: (\S+) (\w)", out)
    wrong = list(circles([(where, name) for where, name, kind in pairs if kind in "TDRBVW"],
                         [(where, name) for where, name, kind in pairs if kind == "U"]))
    graph = house.calls(house.parse_nm(out, tracked(pathlib.Path(__file__).parents[2])))
    return wrong + list(house.folder_circles(graph))


def check_objects(file, wanted, nm="nm"):
    out = subprocess.run([nm, "-A", "-f", "sysv", "--defined-only", file], check=True,
                         capture_output=True, text=True).stdout
    symbols = list(parse_nm(out))
    if not any(name == wanted for _, name, _, _ in symbols):
        return ["nm finds no %s in %s" % (wanted, file)], []
    wrong = sorted(check_symbols(symbols))
    if file.endswith(".a"):
        wrong += check_circles(file, nm)
    return wrong, []


def main(what, *args):
    wrong, notes = {"text": check_text, "objects": check_objects}[what](*args)
    print("\n".join(wrong + notes) or "the rules hold")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
