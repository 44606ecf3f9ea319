# SPDX-License-Identifier: Apache-2.0
"""Checks that every link inside the documents leads to a file of the tree, and to an existing
heading. Every row of a table must belong to a table, which a blank line would end.

    links.py ROOT

Links to other hosts are not followed. tests/check/test_links.py shows what is found.
"""
import pathlib
import posixpath
import re
import sys

from source import line_of, tracked

_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.M | re.S)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6}\s+(.*)$", re.M)
_ROWS = re.compile(r"^\|.*\n?(?:\|.*\n?)*", re.M)
_HEAD = re.compile(r"\|.*\n\|[\s:|-]+\n")


def blanked(match):
    """Blanks for the text of @match. Lines stay."""
    return re.sub(r"[^\n]", " ", match.group())


def blank_code(text):
    """@text with code replaced by blanks. Lines stay."""
    return _CODE.sub(blanked, text)


def anchors(text):
    """The anchors of a page's headings, as forges make them."""
    found = {}
    fences_gone = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    for heading in _HEADING.findall(fences_gone):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        count = found.get(slug, 0)
        found[slug] = count + 1
        if count:
            found["%s-%d" % (slug, count)] = 1
    return set(found)


def check(pages, files):
    """Pairs of a place and what is wrong there. @pages: path to text; @files: all paths."""
    folders = {str(parent) for path in files for parent in pathlib.PurePosixPath(path).parents}
    for path, text in sorted(pages.items()):
        for match in _LINK.finditer(blank_code(text)):
            target, _, anchor = match.group(1).partition("#")
            if re.match(r"\w+:", target):
                continue
            to = posixpath.normpath(posixpath.join(posixpath.dirname(path), target)) \
                if target else path
            where = "%s:%d" % (path, line_of(text, match.start()))
            if to not in files and to not in folders:
                yield where, "no such file: " + target
            elif anchor and to in pages and anchor not in anchors(pages[to]):
                yield where, "%s has no heading #%s" % (to, anchor)


def rows(pages):
    """Pairs of a place and what is wrong there: rows without the head of a table."""
    for path, text in sorted(pages.items()):
        for match in _ROWS.finditer(blank_code(text)):
            if not _HEAD.match(match.group()):
                yield "%s:%d" % (path, line_of(text, match.start())), "a row outside of a table"


def outside(pages, site):
    """Pages of docs/ that the script @site puts into no list of the site's contents."""
    return [path for path in sorted(pages)
            if path.startswith("docs/") and "/man/" not in path and path not in site.split() and
            posixpath.join(posixpath.dirname(path), "*.md") not in site.split()]


def main(root):
    files = set(tracked(root))
    pages = {path: pathlib.Path(root, path).read_text() for path in files
             if path.endswith(".md")}
    wrong = ["%s: %s" % found for found in [*check(pages, files), *rows(pages)]]
    site = pathlib.Path(root, "docs/site.sh").read_text()
    wrong += [path + ": docs/site.sh does not list it" for path in outside(pages, site)]
    print("\n".join(wrong) or "the links of %d pages hold" % len(pages))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
