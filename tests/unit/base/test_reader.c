/* SPDX-License-Identifier: Apache-2.0 */
#include "base/reader.h"

#include "test.h"

static void test_reads_in_order(void)
{
	static const uint8_t bytes[] = { 1, 2, 0, 3, 0, 0, 0, 'h', 'i', 0 };
	struct op_reader r = op_reader_init(bytes, sizeof(bytes));

	CHECK_INT(op_read_u8(&r), 1);
	CHECK_INT(op_read_u16(&r), 2);
	CHECK_INT(op_read_u32(&r), 3);
	CHECK_STR(op_read_cstr(&r), "hi");
	CHECK(!r.failed);
	CHECK_INT(op_reader_left(&r), 0);
}

static void test_past_the_end_fails_and_stays(void)
{
	static const uint8_t bytes[] = { 1, 2, 3 };
	struct op_reader r = op_reader_init(bytes, sizeof(bytes));

	CHECK_INT(op_read_u8(&r), 1);
	CHECK_INT(op_read_u32(&r), 0);
	CHECK(r.failed);
	CHECK_INT(op_reader_pos(&r), 1);
	CHECK_INT(op_read_u8(&r), 0);
	CHECK(!op_read_cstr(&r));
}

static void test_leb128(void)
{
	/* Examples of the DWARF 5 standard, section 7.6. */
	static const uint8_t u[] = { 0x02, 0x7f, 0x80, 0x01, 0x81, 0x01, 0xb9, 0x64 };
	static const uint8_t s[] = { 0x02, 0x7e, 0xff, 0x00, 0x81, 0x7f, 0x80, 0x7f };
	struct op_reader r = op_reader_init(u, sizeof(u));

	CHECK_INT(op_read_uleb(&r), 2);
	CHECK_INT(op_read_uleb(&r), 127);
	CHECK_INT(op_read_uleb(&r), 128);
	CHECK_INT(op_read_uleb(&r), 129);
	CHECK_INT(op_read_uleb(&r), 12857);
	r = op_reader_init(s, sizeof(s));
	CHECK_INT(op_read_sleb(&r), 2);
	CHECK_INT(op_read_sleb(&r), -2);
	CHECK_INT(op_read_sleb(&r), 127);
	CHECK_INT(op_read_sleb(&r), -127);
	CHECK_INT(op_read_sleb(&r), -128);
	CHECK(!r.failed);
}

static void test_leb128_without_end(void)
{
	uint8_t bytes[32];
	struct op_reader r;

	memset(bytes, 0xff, sizeof(bytes));
	r = op_reader_init(bytes, sizeof(bytes));
	CHECK_INT(op_read_uleb(&r), 0);
	CHECK(r.failed);
}

static void test_sub_reader(void)
{
	static const uint8_t bytes[] = { 1, 2, 3, 4 };
	struct op_reader r = op_reader_init(bytes, sizeof(bytes));
	struct op_reader sub = op_reader_sub(&r, 1, 2);

	CHECK_INT(op_read_u16(&sub), 0x0302);
	CHECK_INT(op_reader_left(&sub), 0);
	CHECK(op_reader_sub(&r, 3, 2).failed);
	CHECK(op_reader_sub(&r, UINT64_MAX, 2).failed);
}

TEST_MAIN({ "reads_in_order", test_reads_in_order },
	  { "past_the_end_fails_and_stays", test_past_the_end_fails_and_stays },
	  { "leb128", test_leb128 }, { "leb128_without_end", test_leb128_without_end },
	  { "sub_reader", test_sub_reader })
