/* SPDX-License-Identifier: Apache-2.0 */
/* Well-formed and malformed sequences of RFC 3629 and the Unicode standard, table 3-7. */
#include "profile/utf8.h"

#include "test.h"

static const struct {
	const char *bytes;
	const char *mended; /* NULL: valid as it is */
} CASES[] = {
	{ "", NULL },
	{ "plain", NULL },
	{ "sixteen bytes...", NULL },
	{ "\xc2\x80 \xdf\xbf", NULL },
	{ "\xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf", NULL },
	{ "\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf", NULL },
	{ "\x80", "\xef\xbf\xbd" },
	{ "a\xff"
	  "b",
	  "a\xef\xbf\xbd"
	  "b" },
	{ "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd" }, /* overlong */
	{ "\xc1\xbf", "\xef\xbf\xbd\xef\xbf\xbd" },
	{ "\xe0\x9f\xbf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
	{ "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, /* a surrogate */
	{ "\xf0\x8f\xbf\xbf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
	{ "\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
	{ "\xf5", "\xef\xbf\xbd" },
	{ "tail\xe2\x82", "tail\xef\xbf\xbd\xef\xbf\xbd" }, /* cut */
	{ "\xe2\x82"
	  "A",
	  "\xef\xbf\xbd\xef\xbf\xbd"
	  "A" },
	{ "12345678\xe2\x82\xac", NULL },
	{ "1234567\xe2\x82\xac"
	  "8",
	  NULL },
};

static void test_valid_and_mended(void)
{
	char out[256];
	size_t i;

	for (i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		size_t len = strlen(CASES[i].bytes);
		const char *want = CASES[i].mended ? CASES[i].mended : CASES[i].bytes;
		size_t n = op_utf8_mend(CASES[i].bytes, len, out);

		CHECK_INT(op_utf8_valid(CASES[i].bytes, len), !CASES[i].mended);
		out[n] = '\0';
		CHECK_STR(out, want);
		CHECK(n <= len * OP_UTF8_MEND_FACTOR);
	}
}

static void test_cut_keeps_characters_whole(void)
{
	const char *s = "a\xe2\x82\xac\xf0\x9f\x98\x80z"; /* 1 + 3 + 4 + 1 bytes */
	static const size_t want[] = { 0, 1, 1, 1, 4, 4, 4, 4, 8, 9, 9 };
	size_t max;

	for (max = 0; max < sizeof(want) / sizeof(want[0]); max++)
		CHECK_INT(op_utf8_cut(s, 9, max), want[max]);
}

TEST_MAIN({ "valid_and_mended", test_valid_and_mended },
	  { "cut_keeps_characters_whole", test_cut_keeps_characters_whole })
