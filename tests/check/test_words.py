# SPDX-License-Identifier: Apache-2.0
"""words.py finds long sentences, semicolons and banned words, and nothing else."""
import contextlib
import io
import pathlib
import tempfile
import unittest

import words

WORD = "word " * 25


def wrong(text, path="docs/a.md"):
    return words.Page(path, text).wrong


class Words(unittest.TestCase):
    def test_a_long_sentence(self):
        self.assertEqual([], wrong("The " + WORD[5:] + ". And one more.\n"))
        (message,) = wrong("# A\n\nShort it is.\nThe %s\n%s.\n" % (WORD, "word"))
        self.assertIn("docs/a.md:3: a sentence of 27 words: The word", message)

    def test_where_a_sentence_ends(self):
        for text in ["%s.\n- %s.\n- %s.\n", "%s.\n\n1. %s.\n2. %s\n",
                     "%s: `a`. `b %s`. `c` %s\n", "| %s | %s | %s |\n",
                     "*-a*\n\t%s.\n*-b*\n\t%s.\n\n%s\n", "%s++\n%s++\n%s\n"]:
            with self.subTest(text=text):
                self.assertEqual([], wrong(text % (WORD, WORD, WORD)))

    def test_code_does_not_count(self):
        self.assertEqual([], wrong("See\n\n```\n%s;;;\n```\nor `%s`.\n\n    %s\n" % (
            WORD * 2, "is of", WORD * 2)))
        self.assertEqual(2, words.Page("docs/a.md", "Two `code words` words.\n").prose)

    def test_a_banned_word(self):
        self.assertEqual(["docs/a.md:2: is told"], wrong("One line.\nIt is told `is told`.\n"))

    def test_semicolons_of_a_page(self):
        self.assertEqual([], wrong("One; two; three.\n"))
        self.assertEqual(["docs/a.md: 3 semicolons"], wrong("One; two; three; four.\n"))

    def test_strings_and_comments_of_c(self):
        text = ('f("what is of " /* x */\n\t"use");\n/*\n * It has no room\n * for it.\n */\n'
                'int is_of; // is of\n')
        self.assertEqual(["lib/a.c:1: what is of", "lib/a.c:3: room for"],
                         list(words.code("lib/a.c", text)))

    def test_a_tree(self):
        out = io.StringIO()
        with tempfile.TemporaryDirectory() as where, contextlib.redirect_stdout(out):
            for name, text in [("README.md", "It be of use.\n"), ("docs/a.md", "Word. " * 60001),
                               ("include/a.h", "\n" * 951),
                               ("lib/a.c", 'char *s = "is meant";\n')]:
                path = pathlib.Path(where, name)
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
            self.assertTrue(words.main(where))
            said = out.getvalue()
            for name in ["docs/a.md", "include/a.h", "README.md", "lib/a.c"]:
                pathlib.Path(where, name).write_text("")
            self.assertFalse(words.main(where))
        self.assertEqual(["README.md:1: be of", "lib/a.c:1: is meant",
                          "words: 60005 is above the bound, 60000",
                          "lines of public headers: 951 is above the bound, 950"],
                         said.splitlines()[-4:])


if __name__ == "__main__":
    unittest.main()
