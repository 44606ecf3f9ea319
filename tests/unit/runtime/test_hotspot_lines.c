/* SPDX-License-Identifier: Apache-2.0 */
/* Line tables in HotSpot's format, and names in the format of class files. */
#include "runtime/hotspot/lines.h"
#include "runtime/hotspot/names.h"

#include "test.h"

static uint32_t line(const void *table, size_t len, bool no_zero, uint32_t bci)
{
	return op_runtime_hotspot_line(table, len, no_zero, bci).line;
}

static void test_short_entries(void)
{
	/* line 83 first: a signed number is doubled, 166; deltas of one byte follow */
	static const uint8_t table[] = { 0xff, 0, 166, 4 << 3 | 2, 1 << 3 | 7, 0 };
	struct op_hotspot_line at =
		op_runtime_hotspot_line(table, sizeof(table), false, 4);

	CHECK_INT(at.line, 85);
	CHECK_INT(at.first, 83);
	CHECK_INT(line(table, sizeof(table), false, 0), 83);
	CHECK_INT(line(table, sizeof(table), false, 3), 83);
	CHECK_INT(line(table, sizeof(table), false, 5), 92);
	CHECK_INT(line(table, sizeof(table), false, 60000), 92);
}

/* From JDK 20 on each byte of a number is one more, so that none is zero. */
static void test_without_zero(void)
{
	static const uint8_t table[] = { 0xff, 1, 167, 4 << 3 | 2, 0 };

	CHECK_INT(line(table, sizeof(table), true, 0), 83);
	CHECK_INT(line(table, sizeof(table), true, 4), 85);
	CHECK_INT(line(table, sizeof(table), false, 4),
		  0); /* negative: no table of old */
}

static void test_long_numbers(void)
{
	/* line 1000: 2000 = (192 + 16) + 28 << 6; then a line back */
	static const uint8_t table[] = {
		0xff, 0, 192 + 16, 28, 0xff, 2 * 9, 2 * 3 - 1, 0
	};
	static const uint8_t newer[] = { 0xff, 1,	  193 + 16,	 29,
					 0xff, 2 * 9 + 1, 2 * 3 - 1 + 1, 0 };

	CHECK_INT(line(table, sizeof(table), false, 8), 1000);
	CHECK_INT(line(table, sizeof(table), false, 9), 997);
	CHECK_INT(op_runtime_hotspot_line(table, sizeof(table), false, 0).first, 997);
	CHECK_INT(line(newer, sizeof(newer), true, 8), 1000);
	CHECK_INT(line(newer, sizeof(newer), true, 9), 997);
}

/* The least byte that is not a number's last is 192 in both forms. */
static void test_least_high_byte(void)
{
	/* line 1000, 96 lines back: 191 = (192 - 1) + 0 << 6; then one line on */
	static const uint8_t newer[] = { 0xff,	    1,	 193 + 16, 29,	       0xff,
					 2 * 9 + 1, 192, 1,	   1 << 3 | 1, 0 };
	static const uint8_t older[] = { 0xff,	0,   192 + 16, 28,	   0xff,
					 2 * 9, 192, 0,	       1 << 3 | 1, 0 };

	CHECK_INT(line(newer, sizeof(newer), true, 9), 904);
	CHECK_INT(line(newer, sizeof(newer), true, 10), 905);
	CHECK_INT(line(older, sizeof(older), false, 9), 1096);
	CHECK_INT(line(older, sizeof(older), false, 10), 1097);
}

/* Entries need not ascend: the nearest one at or before the bytecode counts. */
static void test_unsorted(void)
{
	static const uint8_t table[] = { 0xff, 2 * 8, 20, 0xff, 2 * 4 - 1, 2, 0 };

	CHECK_INT(line(table, sizeof(table), false, 5), 11);
	CHECK_INT(line(table, sizeof(table), false, 9), 10);
	CHECK_INT(line(table, sizeof(table), false, 3), 0);
}

static void test_broken_tables(void)
{
	static const uint8_t cut[] = { 0xff, 0, 166, 0xff, 2 };
	static const uint8_t endless[] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff
	};

	CHECK_INT(line("", 0, false, 0), 0);
	CHECK_INT(line(cut, sizeof(cut), false, 7), 83);
	CHECK_INT(line(endless, sizeof(endless), false, 7), 0);
	CHECK_INT(line("\xff\x00\x00", 3, true, 7), 0);
}

static void check_class(const char *name, const char *want)
{
	struct op_strbuf s = { 0 };

	op_runtime_hotspot_class(&s, name, strlen(name));
	CHECK_STR(s.data, want);
	op_strbuf_deinit(&s);
}

static void test_classes(void)
{
	check_class("Known", "Known");
	check_class("java/lang/String$1", "java.lang.String$1");
	check_class("a/B$$Lambda+0x00007f2a4c000a00", "a.B$$Lambda");
	check_class("a/B$$Lambda$14+0x00007f2a4c000a00", "a.B$$Lambda$14");
	check_class("a/B+0x", "a.B+0x");
	check_class("a/B+0xg1", "a.B+0xg1");
	check_class("+0x12", "+0x12");
	check_class("cafe0x1", "cafe0x1");
}

static void check_utf8(const char *bytes, size_t len, const char *want)
{
	struct op_strbuf s = { 0 };

	op_runtime_hotspot_utf8(&s, bytes, len);
	CHECK_STR(s.data, want);
	op_strbuf_deinit(&s);
}

static void test_modified_utf8(void)
{
	check_utf8("gr\xc3\xbc\xc3\x9f"
		   "e",
		   7,
		   "gr\xc3\xbc\xc3\x9f"
		   "e");
	check_utf8("\xe5\x87\xbd", 3, "\xe5\x87\xbd");
	/* a character beyond 16 bits is two surrogates of three bytes each */
	check_utf8("\xed\xa0\xbd\xed\xb0\x8d", 6, "\xf0\x9f\x90\x8d");
	check_utf8("x\xed\xa0\xbdy", 5, "x\xef\xbf\xbdy");
	check_utf8("a\xc0\x80"
		   "b",
		   4,
		   "a\xef\xbf\xbd"
		   "b"); /* the character 0 */
	check_utf8("a\xff\x80"
		   "b",
		   4,
		   "a\xef\xbf\xbd\xef\xbf\xbd"
		   "b");
	check_utf8("\xe5\x87", 2, "\xef\xbf\xbd\xef\xbf\xbd");
}

TEST_MAIN({ "short_entries", test_short_entries }, { "without_zero", test_without_zero },
	  { "long_numbers", test_long_numbers },
	  { "least_high_byte", test_least_high_byte }, { "unsorted", test_unsorted },
	  { "broken_tables", test_broken_tables }, { "classes", test_classes },
	  { "modified_utf8", test_modified_utf8 })
