/* SPDX-License-Identifier: Apache-2.0 */
/* V8's builtins in a file without symbols. */
#include "runtime/node/blob.h"

#include "blob_fake.h"
#include "test.h"

static int find(uint8_t *file, struct op_node_blob *ret)
{
	struct op_elf *elf;
	int r;

	CHECK_OK(op_elf_open_bytes(file, BLOB_BYTES, &elf));
	r = op_runtime_node_blob(elf, true, ret);
	op_elf_free(elf);
	return r;
}

static uint64_t offset_of(uint32_t count, uint32_t align)
{
	uint32_t offset = 0;
	uint32_t i;

	for (i = 0; i < count; i++)
		offset = (offset + blob_length(i) + align) & ~(align - 1);
	return offset;
}

/* As in V8 15, 9 and 10. */
static void test_tables(void)
{
	static const uint32_t forms[][2] = { { 3, 64 }, { 4, 32 }, { 5, 64 } };
	size_t i;

	for (i = 0; i < 3; i++) {
		uint32_t align = forms[i][1];
		struct op_node_blob blob;
		uint64_t base = BLOB_BASE + BLOB_CODE;

		CHECK_INT(find(blob_make(forms[i][0], align), &blob), 1);
		CHECK_INT(blob.builtins, base);
		CHECK_INT(blob.builtins_end, base + offset_of(BLOB_COUNT - 1, align) +
						     blob_length(BLOB_COUNT - 1));
		CHECK_INT(blob.prologue, base + offset_of(BLOB_PROLOGUE, align));
		CHECK_INT(blob.prologue_end - blob.prologue, blob_length(BLOB_PROLOGUE));
		CHECK_INT(blob.opcodes.count, BLOB_OPCODES);
		CHECK_STR(blob.version, "15.6");
	}
}

/* One gap that does not fit, and the place is not believed. */
static void test_a_gap_does_not_fit(void)
{
	uint8_t *file = blob_make(3, 64);
	struct op_node_blob blob;

	file[BLOB_CODE + offset_of(1400, 64) + blob_length(1400)] = 0x90;
	CHECK_INT(find(file, &blob), 0);
}

static void test_a_short_table(void)
{
	uint8_t *file = blob_make(3, 64);
	struct op_node_blob blob;

	blob_u32(file + BLOB_TABLE + (size_t)1000 * 12, 1);
	CHECK_INT(find(file, &blob), 0);
}

static void test_two_versions(void)
{
	uint8_t *file = blob_make(3, 64);
	struct op_node_blob blob;

	memcpy(file + BLOB_TEXTS + 0x100,
	       "\0"
	       "13.6.1.2",
	       10);
	CHECK_INT(find(file, &blob), 1);
	CHECK_STR(blob.version, "");
}

/* Names without a first one: the number of none is known. */
static void test_no_first_name(void)
{
	uint8_t *file = blob_make(3, 64);
	struct op_node_blob blob;

	file[BLOB_TEXTS + 1] = 'X';
	CHECK_INT(find(file, &blob), 1);
	CHECK_INT(blob.prologue, 0);
}

TEST_MAIN({ "tables", test_tables }, { "a_gap_does_not_fit", test_a_gap_does_not_fit },
	  { "a_short_table", test_a_short_table }, { "two_versions", test_two_versions },
	  { "no_first_name", test_no_first_name })
