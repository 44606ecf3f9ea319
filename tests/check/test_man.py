# SPDX-License-Identifier: Apache-2.0
"""man.py finds what is missing in a page, what is wrong in it, and nothing else."""
import pathlib
import tempfile
import unittest

import man

HEADERS = """
#ifndef OTELPROF_A_H
#define OTELPROF_A_H
#define OTELPROF_LIMIT 3 /* OTELPROF_NOT_ME 4 */
/* a call: otelprof_none(int a); */
struct otelprof_a {
	size_t size;
	uint64_t values[OTELPROF_LIMIT]; /* "b;" */
	const char *text;
	uint32_t reserved0;
};
static inline void otelprof_a_init(struct otelprof_a *a)
{
	otelprof_never(a);
}
/** Use. */
OTELPROF_API OTELPROF_MUST_CHECK int
otelprof_use(struct otelprof_a *a,
	     int n);
#endif
"""
ERRORS = 'OP_ERROR(32, native_a, "The pc is a_b.")\n'
PAGE = """otelprof_use(3)

# NAME

otelprof_use, otelprof_a_init - use it

# SYNOPSIS

```
static inline void otelprof_a_init(struct otelprof_a *a);
int otelprof_use(struct otelprof_a *a, int n);
```

# DESCRIPTION

At most *OTELPROF_LIMIT* (3).

_size_
	S.

_values_, _text_
	V.

# RETURN VALUE

# ERRORS

# EXAMPLES

```
int main(void) { return '\\\\n'; }
```

# SEE ALSO
"""
STATS = "# SYNOPSIS\n*native_a*\n\tThe pc is a\\_b.\n"


def check(page, stats=STATS):
    return list(man.check_contents(HEADERS, ERRORS,
                                   {"otelprof_use.3": page, "otelprof_get_stats.3": stats}))


class Man(unittest.TestCase):
    def test_a_right_page_holds(self):
        self.assertEqual([], check(PAGE))
        self.assertEqual([], list(man.check_page("otelprof_use.3", PAGE)))

    def test_what_is_missing_or_wrong_is_found(self):
        for old, new, said in [
                ("otelprof_use, ", "", "otelprof_use: in the NAME"),
                ("*a, int n", "*a, long n", "otelprof_use: not in the SYNOPSIS"),
                ("static inline void otelprof_a", "void otelprof_a", "otelprof_a_init: not in"),
                ("_size_", "*size*", "otelprof_a.size"),
                ("_values_", "_values2_", "otelprof_a.values"),
                ("_text_", "the text", "otelprof_a.text"),
                ("OTELPROF_LIMIT*", "OTELPROF_LIMITS*", "OTELPROF_LIMIT:")]:
            with self.subTest(old=old):
                wrong = check(PAGE.replace(old, new))
                self.assertTrue(wrong and wrong[0].startswith(said), wrong)

    def test_unwind_errors_are_told_with_their_sentence(self):
        self.assertTrue(check(PAGE, STATS.replace("native_a", "native_b")))
        self.assertTrue(check(PAGE, STATS.replace("The pc", "A pc")))

    def test_the_form_of_a_page(self):
        for old, new in [("# ERRORS\n", ""), ("```\nint main", "int main"),
                         ("\tS.", "\t" + "S " * 60)]:
            with self.subTest(old=old):
                wrong = list(man.check_page("otelprof_use.3", PAGE.replace(old, new)))
                self.assertTrue(wrong)

    def test_examples_are_compiled(self):
        (example,) = man.examples(PAGE)
        self.assertIn("'\\n'", example)
        self.assertEqual("", man.compiles(example, []))
        self.assertIn("error", man.compiles("int main(void) { return x; }", []))
        self.assertIn("error", man.compiles("static int unused(void) { return 0; }", []))

    def test_fields_and_their_comments(self):
        self.assertEqual("_a_\n\tSamples of b\\_c, at most 3.\n\n"
                         "Of both:\n\n"
                         "_d_, _e_\n\tThe name, two lines.", man.manpage.struct("""
struct otelprof_a {
	size_t size;
	uint64_t a; /* samples of b_c, at most 3 */
	/* of both */
	const char *d; /* the name,
			* two lines */
	uint32_t e[4];
	uint32_t reserved0;
};
""", "otelprof_a"))

    def test_a_line_that_begins_with_a_number(self):
        self.assertEqual("a" * 88 + "\n\\-EPERM", man.manpage.filled_text("a" * 88 + " -EPERM", ""))

    def test_made_pages(self):
        with tempfile.TemporaryDirectory() as where:
            page = pathlib.Path(where, "otelprof_use.3")
            alias = pathlib.Path(where, "otelprof_a_init.3")
            page.write_text(".SH NAME\notelprof_use, otelprof_a_init\n.SH SYNOPSIS\n")
            self.assertEqual(1, len(list(man.check_built(HEADERS, where))))
            alias.write_text(".so man3/otelprof_use.3\n")
            self.assertEqual([], list(man.check_built(HEADERS, where)))
            alias.write_text(".so man3/otelprof_other.3\n")
            self.assertEqual(1, len(list(man.check_built(HEADERS, where))))


if __name__ == "__main__":
    unittest.main()
