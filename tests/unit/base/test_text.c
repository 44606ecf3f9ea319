/* SPDX-License-Identifier: Apache-2.0 */
#include "base/foreign/text.h"

#include <string.h>

#include "base/log.h"
#include "test.h"

static void check(const char *text, const char *shown)
{
	char buf[256];

	CHECK_INT(op_text_show(text, strlen(text), buf, sizeof(buf)), strlen(shown));
	CHECK_STR(buf, shown);
}

static void test_plain_text_stays(void)
{
	check("", "");
	check("std::map<int, foo>::~map() const", "std::map<int, foo>::~map() const");
	check("Gr\xc3\xbc\xc3\x9f\x65 \xe4\xbd\xa0 \xf0\x9f\x98\x80",
	      "Gr\xc3\xbc\xc3\x9f\x65 \xe4\xbd\xa0 \xf0\x9f\x98\x80");
	check("App\\Model\\xml", "App\\Model\\xml");
}

static void test_terminal_controls_are_escaped(void)
{
	check("a\x1b[2J\n\t\x7f", "a\\x1b[2J\\x0a\\x09\\x7f");
	check("\xc2\x9b\x33\x31m", "\\u009b31m");
	check("\x9b\x33\x31m", "\\x9b31m");
}

static void test_invisible_characters_are_escaped(void)
{
	check("\xe2\x80\xae"
	      "evil\xe2\x81\xa6",
	      "\\u202eevil\\u2066");
	check("a\xe2\x80\x8b"
	      "b\xe2\x80\xa8"
	      "c\xef\xbb\xbf",
	      "a\\u200bb\\u2028c\\ufeff");
	check("a\xf3\xa0\x81\x81", "a\\U000e0041");
	check("\xc2\xad\xef\xb8\x8f\xe3\x85\xa4", "\\u00ad\\ufe0f\\u3164");
}

static void test_invalid_utf8_is_escaped(void)
{
	check("\xff\xc0\x80\xed\xa0\x80\xf4\x90\x80\x80",
	      "\\xff\\xc0\\x80\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80");
	check("\xe2\x82", "\\xe2\\x82");
}

static void test_two_names_stay_two(void)
{
	char a[64], b[64];

	(void)op_text_show("x\x01", 2, a, sizeof(a));
	(void)op_text_show("x\x02", 2, b, sizeof(b));
	CHECK(strcmp(a, b) != 0);
	(void)op_text_show("\xc2\x9b", 2, a, sizeof(a));
	(void)op_text_show("\x9b", 1, b, sizeof(b));
	CHECK(strcmp(a, b) != 0);
}

static void test_no_character_is_cut(void)
{
	char buf[6];

	CHECK_INT(op_text_show("abcd\xc3\xbc", 6, buf, sizeof(buf)), 4);
	CHECK_STR(buf, "abcd");
	CHECK_INT(op_text_show("ab\x1b", 3, buf, sizeof(buf)), 2);
	CHECK_STR(buf, "ab");
	CHECK_INT(op_text_show("abc", 3, buf, 1), 0);
	CHECK_STR(buf, "");
}

static void keep(void *userdata, int level, const char *line)
{
	(void)level;
	(void)snprintf(userdata, OP_TEXT_LINE_BYTES, "%s", line);
}

static void test_a_line_of_the_log(void)
{
	char line[OP_TEXT_LINE_BYTES] = "";
	struct op_log log = { .fn = keep, .userdata = line, .level = OP_LOG_DEBUG };
	char name[2000];

	op_log(&log, OP_LOG_WARNING, "%s: runs code",
	       "x\x1b]0;PWNED\x07\xc2\x9b\x33\x31m");
	CHECK_STR(line, "x\\x1b]0;PWNED\\x07\\u009b31m: runs code");
	(void)op_fail(&log, -1, "HTTP 400: %s", "bad \x1b[2J");
	CHECK_STR(log.message, "HTTP 400: bad \\x1b[2J");
	CHECK_STR(line, "HTTP 400: bad \\x1b[2J");
	memset(name, '\x1b', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	op_log(&log, OP_LOG_WARNING, "%s", name);
	CHECK_INT(strlen(line), (OP_TEXT_LINE_BYTES - 1) / 4 * 4);
	op_log_deinit(&log);
}

TEST_MAIN({ "plain_text_stays", test_plain_text_stays },
	  { "terminal_controls_are_escaped", test_terminal_controls_are_escaped },
	  { "invisible_characters_are_escaped", test_invisible_characters_are_escaped },
	  { "invalid_utf8_is_escaped", test_invalid_utf8_is_escaped },
	  { "two_names_stay_two", test_two_names_stay_two },
	  { "no_character_is_cut", test_no_character_is_cut },
	  { "a_line_of_the_log", test_a_line_of_the_log })
