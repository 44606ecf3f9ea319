/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strbuf.h"

#include "test.h"

static void test_utf8(void)
{
	static const struct {
		uint32_t c;
		const char *text;
	} pairs[] = {
		{ 'a', "a" },
		{ 0x7f, "\x7f" },
		{ 0x80, "\xc2\x80" },
		{ 0x7ff, "\xdf\xbf" },
		{ 0x800, "\xe0\xa0\x80" },
		{ 0xd7ff, "\xed\x9f\xbf" },
		{ 0xd800, "\xef\xbf\xbd" },
		{ 0xdfff, "\xef\xbf\xbd" },
		{ 0xe000, "\xee\x80\x80" },
		{ 0xffff, "\xef\xbf\xbf" },
		{ 0x10000, "\xf0\x90\x80\x80" },
		{ 0x10ffff, "\xf4\x8f\xbf\xbf" },
		{ 0x110000, "\xef\xbf\xbd" },
		{ UINT32_MAX, "\xef\xbf\xbd" },
		{ 0, "\xef\xbf\xbd" },
	};
	struct op_strbuf s = { 0 };
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(pairs); i++) {
		op_strbuf_reset(&s);
		op_strbuf_utf8(&s, pairs[i].c);
		CHECK_STR(s.data, pairs[i].text);
	}
	op_strbuf_deinit(&s);
}

TEST_MAIN({ "utf8", test_utf8 })
