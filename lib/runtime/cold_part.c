/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the jumps of a function, and finds the place to which most of them lead. */
#include "runtime/cold_part.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/macros.h"
#include "base/reader.h"

enum {
	FUNCTION_BYTES_MAX = 1 << 20,
	/* limit of .eh_frame_hdr; enough for a million functions */
	TABLE_BYTES_MAX = 8 << 20,
	HEAD_BYTES = 12,
	ENTRY_BYTES = 8,
	/* Pointer encodings (DW_EH_PE_*) that GNU ld and lld write. */
	ENC_FRAME = 0x1b, /* pcrel | sdata4 */
	ENC_COUNT = 0x03, /* udata4 */
	ENC_TABLE = 0x3b, /* datarel | sdata4 */
	/*
	 * A place is taken for a part of the function only if the function jumps into its
	 * middle this often. A jump to the start of another function is a tail call and
	 * does not count.
	 */
	JUMPS_MIN = 2,
};

/* The search table of .eh_frame_hdr: start of each function, ascending. */
struct table {
	uint8_t *bytes;
	uint64_t addr; /* address of the section; its offsets count from here */
	uint32_t count;
};

static int table_read(struct op_elf *elf, struct table *ret)
{
	const struct op_elf_section *section = op_elf_section(elf, ".eh_frame_hdr");
	_cleanup_free_ void *bytes = NULL;
	struct op_reader r;
	uint64_t count;
	size_t len;
	int error;

	if (!section)
		return -ENOENT;
	error = op_elf_section_data(elf, section, TABLE_BYTES_MAX, &bytes, &len);
	if (error < 0)
		return error;
	r = op_reader_init(bytes, len);
	if (op_read_u8(&r) != 1 || op_read_u8(&r) != ENC_FRAME ||
	    op_read_u8(&r) != ENC_COUNT || op_read_u8(&r) != ENC_TABLE)
		return -ENOTSUP;
	op_read_skip(&r, 4);
	count = op_read_u32(&r);
	if (r.failed || !count || count > op_reader_left(&r) / ENTRY_BYTES)
		return -EBADMSG;
	*ret = (struct table){ OP_TAKE_PTR(bytes), section->addr, (uint32_t)count };
	return 0;
}

static void table_deinit(struct table *t)
{
	free(t->bytes);
}

static uint64_t table_word(const struct table *t, uint32_t i, uint32_t off)
{
	struct op_reader r = op_reader_init(
		t->bytes + HEAD_BYTES + (size_t)i * ENTRY_BYTES, ENTRY_BYTES);

	op_read_skip(&r, off);
	return t->addr + (uint64_t)(int64_t)op_read_s32(&r);
}

/* The number of the last function that starts at or below @addr; UINT32_MAX: there is
 * none. */
static uint32_t table_find(const struct table *t, uint64_t addr)
{
	size_t above = op_first_where(i, t->count, table_word(t, (uint32_t)i, 0) > addr);

	return above ? (uint32_t)above - 1 : UINT32_MAX;
}

/*
 * The address range of function number @i, from its FDE: length, CIE, start and size.
 * Each has 4 bytes if the CIE says pcrel | sdata4. The same start in the FDE confirms
 * that.
 */
static int fde_range(struct op_elf *elf, const struct table *t, uint32_t i,
		     uint64_t ret[2])
{
	uint64_t fde = table_word(t, i, 4);
	uint64_t start = table_word(t, i, 0);
	uint8_t bytes[16];
	struct op_reader r = op_reader_init(bytes, sizeof(bytes));
	int error = op_elf_read_vaddr(elf, fde, bytes, sizeof(bytes));
	uint32_t size;

	if (error < 0)
		return error;
	op_read_skip(&r, 8);
	if (fde + 8 + (uint64_t)(int64_t)op_read_s32(&r) != start)
		return -ENOTSUP;
	size = op_read_u32(&r);
	if (!size || size > FUNCTION_BYTES_MAX)
		return -EBADMSG;
	ret[0] = start;
	ret[1] = start + size;
	return 0;
}

/* The target of the jump at byte @at of @code; 0: there is no jump. The middle of an
 * instruction may look like a jump, so callers count the jumps and compare. */
static uint64_t jump_target(uint16_t machine, const uint8_t *code, size_t len, size_t at,
			    uint64_t addr)
{
	struct op_reader r = op_reader_init(code, len);
	uint32_t op;

	op_reader_seek(&r, at);
	if (machine == EM_AARCH64) {
		op = op_read_u32(&r);
		if ((at & 3) || r.failed)
			return 0;
		if ((op & 0xfc000000) == 0x14000000) /* b */
			return addr + at +
			       (uint64_t)((int64_t)((int32_t)(op << 6) >> 6) * 4);
		if ((op & 0xff000010) == 0x54000000 || (op & 0x7e000000) == 0x34000000)
			return addr + at +
			       (uint64_t)((int64_t)((int32_t)(op << 8) >> 13) * 4);
		return 0;
	}
	op = op_read_u8(&r);
	if (op == 0x0f && (op_read_u8(&r) & 0xf0) != 0x80)
		return 0;
	if (op != 0x0f && op != 0xe9)
		return 0;
	op = op_read_u32(&r);
	return r.failed ? 0 : addr + op_reader_pos(&r) + (uint64_t)(int64_t)(int32_t)op;
}

static int read_code(struct op_elf *elf, uint64_t start, uint64_t end, uint8_t **ret)
{
	_cleanup_free_ uint8_t *code = NULL;
	int error;

	if (end <= start || end - start > FUNCTION_BYTES_MAX)
		return -EFBIG;
	code = malloc(end - start);
	if (!code)
		return -ENOMEM;
	error = op_elf_read_vaddr(elf, start, code, end - start);
	if (error < 0)
		return error;
	*ret = OP_TAKE_PTR(code);
	return 0;
}

/* Find the function whose middle the code at [@start, @end) jumps into most often.
 * Returns 1, 0 or -errno. */
static int most_jumped_into(uint16_t machine, const struct table *t, const uint8_t *code,
			    uint64_t start, uint64_t end, uint32_t *ret)
{
	struct op_map64 votes = { 0 };
	uint64_t most = JUMPS_MIN - 1;
	uint32_t best = UINT32_MAX;
	uint64_t at;
	int error = 0;

	for (at = 0; at < end - start && !error; at++) {
		uint64_t to = jump_target(machine, code, end - start, at, start);
		uint32_t i = to ? table_find(t, to) : UINT32_MAX;
		uint64_t n = 0;

		if (i == UINT32_MAX || (to >= start && to < end) ||
		    table_word(t, i, 0) == to)
			continue;
		(void)op_map64_get(&votes, i, &n);
		error = op_map64_put(&votes, i, ++n);
		if (n > most) {
			most = n;
			best = i;
		}
	}
	op_map64_clear(&votes);
	*ret = best;
	return error < 0 ? error : best != UINT32_MAX;
}

/* Does the code in @range jump into the middle of [@start, @end)? */
static int jumps_back(struct op_elf *elf, const uint64_t range[2], uint64_t start,
		      uint64_t end)
{
	_cleanup_free_ uint8_t *code = NULL;
	uint64_t at;
	int error = read_code(elf, range[0], range[1], &code);

	if (error < 0)
		return error;
	for (at = 0; at < range[1] - range[0]; at++) {
		uint64_t to = jump_target(op_elf_machine(elf), code, range[1] - range[0],
					  at, range[0]);

		if (to > start && to < end)
			return 1;
	}
	return 0;
}

int op_runtime_cold_part(struct op_elf *elf, uint64_t start, uint64_t end,
			 uint64_t ret[2])
{
	_cleanup_(table_deinit) struct table table = { 0 };
	_cleanup_free_ uint8_t *code = NULL;
	uint64_t range[2];
	uint32_t i;
	int r = table_read(elf, &table);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = read_code(elf, start, end, &code);
	if (r < 0)
		return r;
	r = most_jumped_into(op_elf_machine(elf), &table, code, start, end, &i);
	if (r <= 0)
		return r;
	r = fde_range(elf, &table, i, range);
	if (r < 0)
		return r;
	r = jumps_back(elf, range, start, end);
	if (r <= 0)
		return r;
	ret[0] = range[0];
	ret[1] = range[1];
	return 1;
}
