/* SPDX-License-Identifier: Apache-2.0 */
/* Names that are shortened for narrow columns. Rules give the expected names. */
#include "recording/read/print.h"

#include "test.h"

enum {
	LONGEST = 4000
};

static void check(const char *name, int columns, const char *expect)
{
	char text[LONGEST + 1];

	(void)snprintf(text, sizeof(text), "%s", name);
	name_shorten(text, columns);
	CHECK_STR(text, expect);
}

#define TREE                                                                             \
	"std::_Rb_tree<std::pair<int, std::vector<long>>, std::less<int>>::find("        \
	"std::string const&)"

static void test_a_name_that_fits_stays(void)
{
	check(TREE, 200, TREE);
	check(TREE, (int)strlen(TREE), TREE);
	check("f(std::vector<unsigned long>)", 29, "f(std::vector<unsigned long>)");
}

/* Parameters first, then what is nested, then the arguments themselves. */
static void test_order(void)
{
	check(TREE, (int)strlen(TREE) - 1,
	      "std::_Rb_tree<std::pair<int, std::vector<long>>, std::less<int>>::find(…)");
	check(TREE, 60, "std::_Rb_tree<std::pair<…>, std::less<int>>::find(…)");
	check(TREE, 40, "std::_Rb_tree<…>::find(…)");
	check(TREE, 1, "std::_Rb_tree<…>::find(…)");
}

static void test_what_is_no_argument(void)
{
	check("(anonymous namespace)::parse(std::string)::{lambda(int, long)#1}::operator()("
	      "int, long) const",
	      1, "(anonymous namespace)::parse(…)::{lambda(…)#1}::operator()(…) const");
	check("<alloc::vec::Vec<T, A> as core::ops::drop::Drop>::drop", 1,
	      "<alloc::vec::Vec<…> as core::ops::drop::Drop>::drop");
	check("std::ostream& operator<< <std::char_traits<char>>(std::ostream&, int)", 1,
	      "std::ostream& operator<< <…>(…)");
	check("box::operator->() const", 1, "box::operator->() const");
	check("box::operator<=>(box const&) const", 1, "box::operator<=>(…) const");
	check("<fn(usize) -> bool as core::ops::FnOnce<(usize,)>>::call_once", 1,
	      "<fn(…) -> bool as core::ops::FnOnce<…>>::call_once");
	/* The mark would be no shorter than this. */
	check("f(int)", 1, "f(int)");
}

static void test_hash(void)
{
	check("core::fmt::write::h0123456789abcdef", 99, "core::fmt::write");
	check("core::fmt::write::h0123456789abcdeg", 99,
	      "core::fmt::write::h0123456789abcdeg");
	check("::h0123456789abcdef", 99, "::h0123456789abcdef");
}

/* Foreign names need not be of any language. */
static void test_unbalanced_names_stay(void)
{
	static const char *const names[] = {
		"",	    "a<b",	   "f(",	 ">>>))",    "<module>", "a(b>",
		"operator", "operator<<<", "x<(long)[>", "a<bcdef)", "-><->",
	};
	char deep[LONGEST + 1];
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		check(names[i], 1, names[i]);
	for (i = 0; i < LONGEST; i++)
		deep[i] = "a<"[i % 2];
	deep[LONGEST] = 0;
	check(deep, 1, deep);
	for (i = 0; i < LONGEST / 2; i += 2) {
		memcpy(deep + i, "a<", 2);
		memcpy(deep + LONGEST - i - 2, ">>", 2);
	}
	name_shorten(deep, 1);
	CHECK(strlen(deep) <= LONGEST);
}

TEST_MAIN({ "a_name_that_fits_stays", test_a_name_that_fits_stays },
	  { "order", test_order }, { "what_is_no_argument", test_what_is_no_argument },
	  { "hash", test_hash }, { "unbalanced_names_stay", test_unbalanced_names_stay })
