# SPDX-License-Identifier: Apache-2.0
"""Draws the folders of lib/ and which folder uses which, by includes: docs/images/rooms.svg. The
code calls a folder a room, and a row of the picture a floor.

    drawing.py TREE [--write]

Without --write it ends with 1 if the picture in the tree differs.
"""
import pathlib
import sys
from xml.sax.saxutils import escape

import house

PICTURE = "docs/images/rooms.svg"
WIDTH, HEIGHT, GAP, FLOOR, LINE = 200, 74, 24, 124, 14  # sizes of a room, of gaps, of a floor
CHARS = 27  # characters of a line in a room
# nearly all others use it, and its arrows would hide the rest
BASE = "base"
STYLE = """\
text { font: 12px sans-serif; fill: #222 }
.room { font-weight: bold; font-size: 14px }
rect { fill: #eef3f8; stroke: #456; rx: 6 }
path { fill: none; stroke: #789; marker-end: url(#tip) }
"""


def rooms(tree):
    """{room: its folders}"""
    ret = {}
    for path in tree.c_files("lib"):
        parts = path.split("/")
        if len(parts) > 2:
            ret.setdefault(parts[1], set()).update(parts[2:3] if len(parts) > 3 else ())
    return ret


def reduced(graph):
    """@graph without arrows that are implied by others."""
    return {a: [b for b in others
                if not any(b in house.reach(graph, c) for c in others if c != b)]
            for a, others in graph.items()}


def levels(graph, names):
    """{room: its floor}. The lowest floor is 0."""
    ret = {}

    def of(name):
        if name not in ret:
            ret[name] = 1 + max((of(other) for other in graph.get(name, ())), default=-1)
        return ret[name]
    for name in names:
        of(name)
    return ret


def wrapped(words):
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + len(word) + 1 > CHARS:
            lines.append("")
        lines[-1] = (lines[-1] + " " + word).strip()
    return lines


def places(level):
    """{room: (x, y)}. Rooms of a floor are in the order of the data's flow."""
    top = max(level.values())
    widest = max(list(level.values()).count(floor) for floor in level.values())
    ret = {}
    for floor in range(top + 1):
        row = sorted((name for name in level if level[name] == floor), key=house.ORDER.index)
        left = (widest - len(row)) * (WIDTH + GAP) // 2
        for i, name in enumerate(row):
            ret[name] = GAP + left + i * (WIDTH + GAP), GAP + (top - floor) * FLOOR
    return ret, 2 * GAP + widest * (WIDTH + GAP) - GAP, 2 * GAP + top * FLOOR + HEIGHT


def arrow(a, b):
    """From the bottom of a room to the top of another. A long arrow passes beside rooms between
    them."""
    (ax, ay), (bx, by) = a, b
    x, y, to_x, to_y = ax + WIDTH // 2, ay + HEIGHT, bx + WIDTH // 2, by - 4
    side = 0 if by - ay <= FLOOR else WIDTH if bx > ax else -WIDTH
    step = max(40, (to_y - y) // 3)
    return '<path d="M %d %d C %d %d %d %d %d %d"/>' % (
        x, y, x + side, y + step, to_x + side, to_y - step, to_x, to_y)


def box(name, folders, x, y):
    yield '<rect x="%d" y="%d" width="%d" height="%d"/>' % (x, y, WIDTH, HEIGHT)
    yield '<text class="room" x="%d" y="%d">%s</text>' % (x + 8, y + 19, escape(name))
    for i, line in enumerate(wrapped(sorted(folders))):
        yield '<text x="%d" y="%d">%s</text>' % (x + 8, y + 37 + i * LINE, escape(line))


def drawing(tree):
    folders = rooms(tree)
    graph = {a: set(others) - {BASE} for a, others in
             house.grouped(house.includes(tree, "lib"), house.room_of).items()}
    level = levels(graph, [name for name in folders if name != BASE])
    level = {name: floor + 1 for name, floor in level.items()}
    level[BASE] = 0
    at, width, height = places(level)
    yield ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" '
           'aria-label="The folders of lib/ and which uses which">' % (width, height))
    yield '<style>\n%s</style>' % STYLE
    yield ('<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
           'markerHeight="7" orient="auto"><path d="M 0 0 L 8 4 L 0 8 z" '
           'style="fill:#789;marker-end:none"/></marker></defs>')
    yield '<rect width="100%" height="100%" style="fill:#fff;stroke:none;rx:0"/>'
    for a, others in sorted(reduced(graph).items()):
        for b in sorted(others):
            yield arrow(at[a], at[b])
    for name in sorted(folders):
        yield from box(name, folders[name], *at[name])
    yield '</svg>'


def main():
    root = pathlib.Path(sys.argv[1])
    text = "\n".join(drawing(house.Tree(root))) + "\n"
    picture = root / PICTURE
    if sys.argv[2:] == ["--write"]:
        picture.write_text(text, encoding="utf-8")
        return 0
    if picture.is_file() and picture.read_text(encoding="utf-8") == text:
        return 0
    print("%s is not of this tree: python3 tests/check/drawing.py . --write" % PICTURE)
    return 1


if __name__ == "__main__":
    sys.exit(main())
