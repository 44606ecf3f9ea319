# SPDX-License-Identifier: Apache-2.0
"""Measures the prose of the documents: words, semicolons, length of sentences. Refuses long
sentences and banned words, these also in strings and comments of C.

    words.py ROOT [--list]

--list has a line for each page. Ends with 1 if something is wrong or a figure is above its bound.
Lower a bound together with the text, and never raise it. test_words.py shows what is found.
"""
import pathlib
import re
import statistics
import sys

from links import blanked
from source import blank, line_of, tracked

# Bounds of all documents.
WORDS_MAX = 60000
SEMICOLONS_MAX = 0.5  # per 1,000 words
PAGE_SEMICOLONS_MAX = 2.5  # of one page, per 1,000 words
SENTENCE_MAX = 11  # median of words
LONG = 25  # words: a longer sentence is split
HEADER_LINES_MAX = 950  # of all public headers
# Words of this project alone, or of nobody: the field has others.
BANNED = re.compile(
    r"\b(?:need not be|is of|are of|be of|what is of|given way|gives? way|stands? in place|is meant"
    r"|are meant|meant by|at least so|room for|have no room|any more|told of|is told|are told"
    r"|tells? of|be it|and no other|but for|so far as|where it is so)\b", re.I)
PARTS = [("README", r"README\.md$"), ("changes", r"CHANGELOG\.md$"),
         ("man pages", r"docs/man/.*\.scd$"), ("kinds", r"docs/kinds/"),
         ("runtimes", r"docs/runtimes/"), ("back ends", r"docs/backends/"),
         ("other pages", r"docs/.*\.md$"), ("contributing", r"[A-Z]+\.md$")]


def prose(text):
    """@text without tables' rules, links' targets, comments (scdoc's too), headings and code. A `
    stays for a piece of code in a line."""
    text = re.sub(r"^---\n.*?\n---\n", blanked, text, flags=re.S)
    text = re.sub(r"<!--.*?-->", blanked, text, flags=re.S)
    text = re.sub(r"^```.*?^```", blanked, text, flags=re.M | re.S)
    text = re.sub(r"`[^`]+`", lambda m: "`" + blanked(m)[1:], text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return re.sub(r"^(#.*|[|\s:-]+|\t*; .*)$", blanked, text, flags=re.M)


def words_of(text):
    return re.findall(r"[A-Za-z][\w'’/.-]*", text)


def blocks_of(text):
    """(line, text) of paragraphs, points of lists and terms of man pages, without rows of tables and
    indented code."""
    block, begin, indent = [], 1, 0
    for number, line in enumerate(text.split("\n") + [""], 1):
        tabs = len(line) - len(line.lstrip("\t"))
        apart = not line.strip() or line.lstrip().startswith("|")
        if block and (apart or tabs != indent or block[-1].endswith("++") or
                      re.match(r"\s*(?:[-*]|\d+\.)\s", line)):
            yield begin, " ".join(block)
            block = []
        if apart or not block and line.startswith("    "):
            continue
        if not block:
            begin, indent = number, tabs
        block.append(line)


def sentences_of(text):
    """(line, number of words, text) of each sentence; the line is that of its block."""
    for line, block in blocks_of(text):
        for sentence in re.split(r"(?<=[.?!])[\s*)]+(?=[A-Z*_(\[`])", block):
            length = len(words_of(sentence))
            if length > 2:
                yield line, length, " ".join(sentence.split())


class Page:
    def __init__(self, path, text):
        self.path = path
        plain = prose(text)
        self.words = len(text.split())
        self.prose = len(words_of(plain))
        self.semicolons = plain.count(";")
        sentences = list(sentences_of(plain))
        self.sentences = [length for _, length, _ in sentences]
        self.wrong = ["%s:%d: a sentence of %d words: %s" % (path, *found) for found in sentences
                      if found[1] > LONG]
        self.wrong += ["%s:%d: %s" % (path, line_of(plain, m.start()), m.group())
                       for m in BANNED.finditer(plain)]
        if self.semicolons * 1000 > PAGE_SEMICOLONS_MAX * max(self.prose, 1000):
            self.wrong.append("%s: %d semicolons" % (path, self.semicolons))


def part_of(path):
    return next((name for name, pattern in PARTS if re.match(pattern, path)), None)


def row(name, pages):
    total = sum(page.prose for page in pages)
    sentences = [n for page in pages for n in page.sentences]
    semicolons = 1000 * sum(page.semicolons for page in pages) / max(total, 1)
    median = statistics.median(sentences or [0])
    words = sum(page.words for page in pages)
    print("%-14s %6d words %5.1f semicolons a 1,000 %5.1f words a sentence" %
          (name, words, semicolons, median))
    return {"words": (words, WORDS_MAX), "semicolons": (semicolons, SEMICOLONS_MAX),
            "median of a sentence": (median, SENTENCE_MAX)}


def banned_in(path, text, pieces):
    for piece in pieces:
        flat = re.sub(r"\s*\n\s*\**\s*", " ", re.sub(r'"\s*"', "", piece.group()))
        for match in BANNED.finditer(flat):
            yield "%s:%d: %s" % (path, line_of(text, piece.start()), match.group())


def code(path, text):
    """Places of banned words in strings and comments of C."""
    yield from banned_in(path, text, re.finditer(r'"(?:[^"\\\n]|\\.|"\s*\n\s*")*"',
                                                 blank(text, {"block", "line", "char"})))
    yield from banned_in(path, text, re.finditer(r"/\*.*?\*/", text, re.S))


def main(root, *options):
    pages = {}
    for path in sorted(tracked(root)):
        if part_of(path):
            pages.setdefault(part_of(path), []).append(
                Page(path, pathlib.Path(root, path).read_text()))
    for name, _ in PARTS:
        row(name, pages.get(name, []))
        for page in pages.get(name, []) if "--list" in options else []:
            row("  " + page.path, [page])
    every = [page for part in pages.values() for page in part]
    figures = row("all", every)
    lines = sum(pathlib.Path(root, path).read_text().count("\n")
                for path in tracked(root, "include/*.h"))
    figures["lines of public headers"] = lines, HEADER_LINES_MAX
    wrong = [message for page in every for message in page.wrong]
    for path in tracked(root, "lib/*", "bpf/*", "examples/*", "include/*"):
        if path.endswith((".c", ".h", ".def")):
            wrong += code(path, pathlib.Path(root, path).read_text())
    wrong += ["%s: %g is above the bound, %g" % (what, *found)
              for what, found in figures.items() if found[0] > found[1]]
    print("\n".join(wrong), end="\n" * bool(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
