# SPDX-License-Identifier: Apache-2.0
"""links.py finds a link that leads nowhere and a row without a table, and nothing else."""
import unittest

import links

FILES = {"README.md", "docs/a.md", "docs/b/c.md", "lib/x.c"}
PAGE = "# One thing\n\n## `code`, and *more*\n\n```\n# no heading\n```\n## One thing\n"


def check(path, text):
    return [said for _, said in links.check({"docs/a.md": PAGE, path: text}, FILES)]


class Links(unittest.TestCase):
    def test_what_leads_somewhere(self):
        for path, text in [
                ("README.md", "[a](docs/a.md) [d](docs) [c](lib/x.c)"),
                ("README.md", "[a](docs/a.md#one-thing) [a](docs/a.md#one-thing-1)"),
                ("README.md", "[a](docs/a.md#code-and-more)"),
                ("docs/b/c.md", "[up](../a.md) [root](../../README.md)"),
                ("docs/b/c.md", "# Here\n[here](#here)"),
                ("README.md", "[far](https://example.com/none) [mail](mailto:a@example.com)"),
                ("README.md", "`[code](none.md)`\n```\n[code](none.md)\n```\n")]:
            with self.subTest(text=text):
                self.assertEqual([], check(path, text))

    def test_what_leads_nowhere(self):
        for path, text, said in [
                ("README.md", "[a](docs/none.md)", "no such file: docs/none.md"),
                ("README.md", "![a](docs/none.png)", "no such file: docs/none.png"),
                ("docs/b/c.md", "[a](a.md)", "no such file: a.md"),
                ("README.md", "[a](docs/a.md#no-heading)",
                 "docs/a.md has no heading #no-heading"),
                ("docs/b/c.md", "[a](#none)", "docs/b/c.md has no heading #none")]:
            with self.subTest(text=text):
                self.assertEqual([said], check(path, text))

    def test_the_line_is_told(self):
        self.assertEqual(["README.md:3"], [where for where, _ in links.check(
            {"README.md": "a\n\n[a](none)\n"}, FILES)])

    def test_a_row_outside_of_a_table(self):
        table = "| a |\n|---|\n| 1 |\n"
        pages = {"a.md": table, "b.md": "b\n\n" + table + "\n| 2 |\n", "c.md": "```\n| c |\n```\n"}
        self.assertEqual(["b.md:7"], [where for where, _ in links.rows(pages)])

    def test_a_page_that_the_site_does_not_list(self):
        pages = dict.fromkeys(["docs/a.md", "docs/b.md", "docs/b/c.md", "docs/man/x.md", "README.md"], "")
        self.assertEqual(["docs/b.md"], links.outside(pages, "list Users docs/a.md docs/b/*.md"))


if __name__ == "__main__":
    unittest.main()
