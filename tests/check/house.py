# SPDX-License-Identifier: Apache-2.0
"""Measures the structure of lib/, one figure in each line. A room is a folder at the top of lib/,
an arrow a use of one by another, and a floor a level of the drawing of all.

    house.py TREE [BUILD] [--list] [--entry FUNCTION]

TREE is a checkout. BUILD is a build folder of it. Without BUILD there are no figures by calls.
--list names what each figure counts. --entry is the function with which the poll begins. lint.py
uses two rules of this file: a tag or prefix is defined in one folder, and folders form no circle.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

from source import code, functions, structs, tags, tracked

# The rooms in the order that data flows. A room calls only rooms below it.
ORDER = ["api", "recording", "session", "parts", "sample", "process", "runtime", "code", "kernel",
         "profile", "export", "preload", "base"]
# Folders of earlier trees, and their rooms here, so that all trees have one order.
EARLIER = {"config": "api", "control": "parts", "threads": "parts", "heap": "parts",
           "heap/sampler": "preload", "golang": "parts", "probe": "parts", "capture": "kernel",
           "kind": "kernel", "resource": "process", "image": "process", "target": "process",
           "context": "process", "context/writer": "preload", "elf": "code", "dwarf": "code",
           "decode": "code", "unwind": "code", "symbol": "code", "otlp": "profile",
           "delivery": "export", "transport": "export", "format": "export"}
PARTS = ["lib", "bpf", "include", "proto", "examples", "tests", "docs"]
SOURCES = (".c", ".h", ".cpp", ".go", ".rs", ".S", ".py", ".sh")
FILES_MAX = 20  # source files of a folder
FUNCTION_MAX = 80  # lines
STRUCT_MAX = 30  # members
# The poll's trip begins at the first of these that exists, and ends at the window.
ENTRIES = ["op_session_poll", "op_handle_poll"]
WINDOW = "op_window_add"


class Tree:
    """The text of a checkout's source files."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.paths = tracked(root)
        self.text = {path: code(self.read(path)) for path in self.paths
                     if path.endswith((".c", ".h")) and path.split("/")[0] in PARTS}

    def read(self, path):
        return (self.root / path).read_text(encoding="utf-8", errors="replace")

    def c_files(self, *parts):
        return [path for path in self.text if path.split("/")[0] in parts]


def folder_of(path):
    return str(pathlib.PurePath(path).parent)


def room_of(path):
    """The folder at the top of lib/ that holds @path. Files of lib/ itself have none."""
    parts = path.split("/")
    return parts[1] if parts[0] == "lib" and len(parts) > 2 else None


def place_of(path):
    """The place of @path in the order, or None."""
    parts = folder_of(path).split("/")[1:]
    for end in range(len(parts), 0, -1):
        room = EARLIER.get("/".join(parts[:end]), parts[0] if end == 1 else None)
        if room in ORDER:
            return ORDER.index(room)
    return None


# Graphs: {from: {to: why}}

def reach(graph, start):
    """All nodes that @start reaches. @start is among them only if it is in a circle."""
    seen, todo = set(), [start]
    while todo:
        new = set(graph.get(todo.pop(), ())) - seen
        seen |= new
        todo += new
    return seen


def circles(graph):
    """The groups in which each member reaches each other."""
    reached = {node: reach(graph, node) for node in graph}
    groups = {tuple(sorted(other for other in reached[node] if node in reached.get(other, ())))
              for node in graph if node in reached[node]}
    return sorted(group for group in groups if len(group) > 1)


def floors(graph):
    """The length of the longest chain of nodes. A circle is one node."""
    reached = {node: reach(graph, node) for node in graph}
    level = {}

    def of(node):
        if node not in level:
            level[node] = 1 + max((of(other) for other in reached.get(node, ())
                                   if node not in reached.get(other, ())), default=0)
        return level[node]
    return max(map(of, graph), default=0)


def grouped(graph, key):
    """The graph of @key(node), without arrows from a group to itself."""
    ret = {}
    for a, others in graph.items():
        for b, why in others.items():
            if key(a) and key(b) and key(a) != key(b):
                ret.setdefault(key(a), {}).setdefault(key(b), why)
    return ret


def includes(tree, *parts):
    """Which file of @parts includes which."""
    ret, named = {}, {}
    for path in tree.text:
        named.setdefault((path.split("/")[0], path.rsplit("/", 1)[-1]), []).append(path)
    for path in tree.c_files(*parts):
        top = path.split("/")[0]
        for name in re.findall(r'^[ \t]*#[ \t]*include[ \t]+["<]([^">]+)[">]', tree.read(path),
                               re.M):
            near = [other for other in (folder_of(path) + "/" + name, top + "/" + name)
                    if other in tree.text]
            # by a folder of -I
            far = [other for other in named.get((top, name.rsplit("/", 1)[-1]), ())
                   if "/" in name and other.endswith("/" + name)]
            for other in near[:1] or far * (len(far) == 1):
                ret.setdefault(path, {})[other] = name
    return ret


def parse_nm(text, paths):
    """(source, name, class) of each line of nm -A -f posix. An object's name is its source's
    path below lib/ with underscores. What is generated belongs to the folder it names."""
    sources = {re.sub(r"[/.]", "_", path[len("lib/"):]): path for path in paths
               if path.startswith("lib/")}
    folders = sorted({folder_of(path)[len("lib/"):] for path in sources.values()}, key=len)
    for name, symbol, kind in re.findall(r"\[([^\]]+)\.o\]: (\S+) (\w)", text):
        name = re.sub(r"^(meson-generated_)?(\.\._)*(lib_)?", "", name.rsplit("/", 1)[-1])
        name = name.replace(".", "_")
        if name not in sources:
            made = [folder for folder in folders if folder and
                    name.startswith(folder.replace("/", "_") + "_")]
            sources[name] = "lib/%s/made.c" % made[-1] if made else name
        yield sources[name], symbol, kind


def calls(symbols):
    """Which file calls which. @symbols are those of parse_nm()."""
    symbols = list(symbols)
    home = {name: path for path, name, kind in symbols if kind in "TW"}
    ret = {}
    for path, name, kind in symbols:
        if kind == "U" and home.get(name, path) != path:
            ret.setdefault(path, {}).setdefault(home[name], name)
    return ret


def named_calls(tree, *parts):
    """Which function calls which, by names: {(path, name): [(path, name), ...]}, in the order of
    the text. A function that is passed as an argument counts as called by the caller. Functions in
    a table of operations count as called by nobody."""
    found = {}
    homes = {}
    for path in tree.c_files(*parts):
        for name, static, _, _, text in functions(tree.text[path]):
            found[path, name] = text
            if not static or path.endswith(".h"):
                homes.setdefault(name, []).append((path, name))
    ret = {}
    for (path, caller), text in found.items():
        ret[path, caller] = []
        for match in re.finditer(r"(?<![\w.>])(\w+)(?=\s*([(,;)]))", text):
            name = match.group(1)
            if (path, name) not in found and name not in homes or name == caller:
                continue
            if match.group(2) != "(" and (
                    not re.search(r"[(,=]\s*&?$", text[:match.start()]) or
                    re.search(r"[\w*]\s+\**%s\s*[;=,)\[]" % name, text)):
                continue
            ret[path, caller] += [(path, name)] if (path, name) in found else [
                other for other in homes[name] if other[0].split("/")[0] == path.split("/")[0] and
                (name.startswith("op_") or folder_of(other[0]) == folder_of(path))]
    return ret


def trip(graph, entry, window, key=folder_of):
    """Follow the poll: [(caller, callee)] for each call from a function on the way from @entry to
    @window into another folder (by @key), except base. Consecutive calls of one function into one
    folder are one entry."""
    back = {}
    for node, others in graph.items():
        for other in others:
            back.setdefault(other, []).append(node)
    way = (reach(graph, entry) | {entry}) & (reach(back, window) | {window})
    ret, done = [], set()

    def walk(node):
        done.add(node)
        last = None
        for other in graph[node]:
            if key(other[0]) != key(node[0]) and room_of(other[0]) != "base":
                if key(other[0]) != last:
                    ret.append((node, other))
                last = key(other[0])
            if other in way and other not in done:
                walk(other)
    walk(entry)
    return ret


def is_up(a, b):
    """Is an arrow from file @a to file @b one against the order?"""
    return None not in (place_of(a), place_of(b)) and place_of(b) < place_of(a)


# Rules of lint.py.

def homes(folders):
    """@folders without those below another one."""
    return sorted(folder for folder in folders
                  if not any(folder.startswith(other + "/") for other in folders))


def two_homes(texts):
    """A tag op_x is defined once. A prefix op_x_ of extern functions belongs to one folder and
    those below it. op_xs contains op_x, or is in its folder. @texts: {path: code}. Yields (path,
    line, message)."""
    found, words = {}, {}
    for path, text in texts.items():
        for tag, line, body in tags(text):
            if tag.startswith(("op_", "otelprof_")):
                found.setdefault(tag, []).append((path, line, body))
        if path.startswith("lib/"):
            for name, static, line, _, _ in functions(text):
                word = re.match(r"op_[a-z0-9]+_", name)
                if word and (not static or path.endswith(".h")):
                    words.setdefault(word.group(), {}).setdefault(folder_of(path),
                                                                  (path, line, name))
    for tag, places in sorted(found.items()):
        for path, line, _ in places[1:]:
            yield path, line, "%s is defined in %s, too" % (tag, places[0][0])
        path, line, body = places[0]
        one = found.get(tag[:-1]) if tag.endswith("s") else None
        if one and not re.search(r"\b%s\b" % tag[:-1], body) and \
                len(homes({folder_of(one[0][0]), folder_of(path)})) > 1:
            yield path, line, "%s holds no %s of %s" % (tag, tag[:-1], one[0][0])
    for word, folders in sorted(words.items()):
        for folder in homes(folders)[1:]:
            path, line, name = folders[folder]
            yield path, line, "%s: the prefix %s belongs to %s, too" % (name, word,
                                                                       homes(folders)[0])


def uncalled(texts):
    """Yields (path, line, message) of each function of lib/ that is not static and that only its
    definition and declaration name. Functions of libraries that programs load are called by those
    programs."""
    count = collections.Counter(word for text in texts.values() for word in re.findall(r"\w+", text))
    for path, text in sorted(texts.items()):
        if not path.startswith("lib/") or not path.endswith(".c") or "/preload/" in path:
            continue
        for name, static, line, _, _ in functions(text):
            if not static and name.islower() and count[name] < 3:
                yield path, line, "nothing calls %s()" % name


def folder_circles(graph):
    """No room and no folder calls itself through others. @graph is of files. Yields messages."""
    for what, key in ("rooms", room_of), ("folders", folder_of):
        between = grouped(graph, key)
        for group in circles(between):
            yield "%s in a circle: " % what + ", ".join(
                "%s -> %s (%s)" % (a, b, between[a][b]) for a in group for b in group
                if b in between.get(a, ()))


# The figures

def sizes(tree):
    for part in PARTS:
        paths = [path for path in tree.paths if path.startswith(part + "/")]
        yield part + ": files", len(paths), []
        yield part + ": lines", sum(tree.read(path).count("\n") for path in paths), []


def crowds(tree):
    count = {}
    for path in tree.paths:
        if path.endswith(SOURCES) and path.startswith(("lib/", "bpf/", "examples/", "tests/")) and \
                not path.startswith("tests/fuzz/corpus/") and "/golden/" not in path:
            count[folder_of(path)] = count.get(folder_of(path), 0) + 1
    over = ["%s %d" % (folder, n) for folder, n in sorted(count.items()) if n > FILES_MAX]
    yield "folders over %d files" % FILES_MAX, len(over), over
    children = {}
    for path in filter(room_of, tree.text):
        children.setdefault(room_of(path), set()).update(path.split("/")[2:-1][:1])
    yield "rooms at the top of lib", len(children), [
        "%s: %s" % (room, " ".join(sorted(names))) for room, names in sorted(children.items())]
    yield "most children of a room, runtime apart", max(
        len(names) for room, names in children.items() if room != "runtime"), []


def shapes(tree):
    for part in ("lib", "bpf", "examples", "tests"):
        found = [(path, *function) for path in tree.c_files(part)
                 for function in functions(tree.text[path])]
        long = ["%s:%d %s %d" % (path, first, name, last - first + 1)
                for path, name, _, first, last, _ in found if last - first >= FUNCTION_MAX]
        yield "%s: functions over %d lines" % (part, FUNCTION_MAX), len(long), long
    for part in ("lib", "bpf", "include", "examples"):
        big = ["%s:%d %s %d" % (path, line, tag, n) for path in tree.c_files(part)
               for tag, line, n in structs(tree.text[path]) if n > STRUCT_MAX]
        yield "%s: structs over %d members" % (part, STRUCT_MAX), len(big), big


def arrows(graph):
    return ["%s -> %s (%s)" % (a, b, why) for a, others in sorted(graph.items())
            for b, why in sorted(others.items())]


def drawing(named, parts):
    """Floors, arrows up and circles. @named are graphs of files, by what makes their arrows;
    those of @parts are drawn as one."""
    both = {}
    for kind in parts:
        for a, others in named[kind].items():
            both.setdefault(a, {}).update(others)
    kind = " and ".join(parts)
    yield "floors of rooms, by " + kind, floors(grouped(both, room_of)), []
    yield "floors of folders, by " + kind, floors(grouped(both, folder_of)), []
    up = {a: {b: why for b, why in others.items() if is_up(a, b)} for a, others in both.items()}
    pairs = grouped(up, room_of)
    yield "arrows up of rooms, by " + kind, len(arrows(pairs)), arrows(pairs)
    yield "arrows up of files, by " + kind, len(arrows(up)), arrows(up)
    for kind, graph in named.items():
        # a source and its header are one
        stem = str if kind == "includes" else lambda path: path.rsplit(".", 1)[0]
        for what, key in ("rooms", room_of), ("folders", folder_of), ("files", stem):
            groups = circles(grouped(graph, key))
            yield "circles of %s, by %s" % (what, kind), len(groups), map(", ".join, groups)


def poll(graph, entry):
    """How far the poll goes until a sample is in the window."""
    start = [node for name in [entry] * bool(entry) + ENTRIES for node in graph
             if node[1] == name]
    window = [node for node in graph if node[1] == WINDOW]
    if not start or not window:
        raise SystemExit("the poll is followed from none of %s to %s" % (ENTRIES, WINDOW))
    for what, key in ("rooms", room_of), ("folders", folder_of):
        steps = trip(graph, start[0], window[0], key)
        lines = ["%s %s -> %s %s%s" % (folder_of(a[0]), a[1], folder_of(b[0]), b[1],
                                       " UP" * is_up(a[0], b[0])) for a, b in steps]
        up = [line for line in lines if line.endswith(" UP")]
        yield "the poll from %s to %s: %s entered" % (start[0][1], WINDOW, what), len(lines), lines
        yield "the poll: %s entered that stand above" % what, len(up), up
    files = {path for path, _ in reach(graph, start[0])}
    yield "the poll: files that it comes to in all", len(files), sorted(files)


def figures(tree, archive=None, entry=None, nm="nm"):
    """(name, value, what is counted) of each figure."""
    yield from sizes(tree)
    yield from crowds(tree)
    named = named_calls(tree, "lib", "bpf")
    graphs = {"includes": includes(tree, "lib", "bpf", "include")}
    by_name = {}
    for (path, _), others in named.items():
        by_name.setdefault(path, {}).update((other, name) for other, name in others)
    graphs["names"] = by_name
    if archive:
        out = subprocess.run([nm, "-A", "-f", "posix", archive], check=True, capture_output=True,
                             text=True).stdout
        graphs["calls"] = calls(parse_nm(out, tree.paths))
    yield from drawing(graphs, ["includes"] + ["calls"] * bool(archive))
    yield from shapes(tree)
    yield from poll(named, entry)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tree")
    parser.add_argument("build", nargs="?")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--entry")
    options = parser.parse_args()
    archive = options.build and str(pathlib.Path(options.build, "lib/libotelprof-private.a"))
    for name, value, counted in figures(Tree(options.tree), archive, options.entry):
        print("%-70s %7d" % (name, value))
        if options.list:
            print("".join("    %s\n" % line for line in counted), end="")


if __name__ == "__main__":
    sys.exit(main())
