/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry has the line of the instructions from its position on, up to the next entry's. Ruby
 * replaces the positions by a succinct index (struct succ_index_table of iseq.c), a bit an
 * instruction: the number of bits that are set up to an instruction is the number of its entry.
 * To find it fast there are sums: of the first 54 instructions in words of nine with 7 bits each,
 * of the others for each block of 512, and in it for each word of 64.
 */
#include "runtime/ruby/lines.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/reader.h"

enum {
	FIRST_WORDS = 6,
	FIRST_PER_WORD = 9,
	FIRST_BITS = 7,
	FIRST = FIRST_WORDS * FIRST_PER_WORD,
	BLOCK = 512,
	BLOCK_BYTES = 80, /* u32 sum, padding; sums of words, 9 bits each; 8 words */
	SUM_BITS = 9,
	WORD_BITS = 64,
};

static uint64_t u64_at(const uint8_t *bytes, size_t len, size_t at)
{
	struct op_reader r = op_reader_init(bytes, len);

	op_reader_seek(&r, at);
	return op_read_u64(&r);
}

/* The number of entries that begin at or before instruction @i. */
static uint32_t entry_of(const uint8_t *index, size_t len, uint32_t i)
{
	size_t at = FIRST_WORDS * 8;
	uint64_t rank;
	uint64_t sums;
	uint64_t bits;
	uint32_t word;

	if (i < FIRST)
		return u64_at(index, len, (size_t)(i / FIRST_PER_WORD) * 8) >>
			       i % FIRST_PER_WORD * FIRST_BITS &
		       ((1u << FIRST_BITS) - 1);
	i -= FIRST;
	at += (size_t)(i / BLOCK) * BLOCK_BYTES;
	word = i % BLOCK / WORD_BITS;
	rank = (uint32_t)u64_at(index, len, at);
	sums = u64_at(index, len, at + 8);
	bits = u64_at(index, len, at + 16 + (size_t)word * 8);
	if (word)
		rank += sums >> (word - 1) * SUM_BITS & ((1u << SUM_BITS) - 1);
	bits <<= WORD_BITS - 1 - i % WORD_BITS;
	return (uint32_t)rank + (uint32_t)__builtin_popcountll(bits);
}

static uint32_t line_of(const uint8_t *entries, const struct op_ruby_insns *insns,
			uint32_t entry)
{
	struct op_reader r =
		op_reader_init(entries, (size_t)insns->len * insns->entry_bytes);
	uint32_t line;

	if (entry >= insns->len)
		return 0;
	op_reader_seek(&r, (size_t)entry * insns->entry_bytes);
	line = op_read_u32(&r);
	return line <= INT32_MAX ? line : 0;
}

static void by_positions(const uint8_t *positions, const uint8_t *entries,
			 const struct op_ruby_insns *insns, uint32_t count, uint32_t *ret)
{
	struct op_reader r = op_reader_init(positions, (size_t)insns->len * 4);
	uint32_t next = op_read_u32(&r);
	uint32_t entry = 0;
	uint32_t i;

	for (i = 0; i < count; i++) {
		while (entry < insns->len && i >= next) {
			entry++;
			next = entry < insns->len ? op_read_u32(&r) : UINT32_MAX;
		}
		ret[i] = entry ? line_of(entries, insns, entry - 1) : 0;
	}
}

static int read_all(const struct op_memory *memory, uint64_t addr, size_t len,
		    uint8_t **ret)
{
	_cleanup_free_ uint8_t *bytes = malloc(len);
	int r;

	if (!bytes)
		return -ENOMEM;
	r = op_memory_read(memory, addr, bytes, len);
	if (r == 0)
		*ret = OP_TAKE_PTR(bytes);
	return r;
}

int op_runtime_ruby_lines(const struct op_memory *memory,
			  const struct op_ruby_insns *insns, uint32_t count,
			  uint32_t *ret)
{
	_cleanup_free_ uint8_t *entries = NULL;
	_cleanup_free_ uint8_t *index = NULL;
	size_t len = FIRST_WORDS * 8;
	uint32_t i;
	int r;

	if (!insns->len || insns->len > count)
		return -EBADMSG;
	r = read_all(memory, insns->entries, (size_t)insns->len * insns->entry_bytes,
		     &entries);
	if (r < 0)
		return r;
	if (insns->len == 1) {
		for (i = 0; i < count; i++)
			ret[i] = line_of(entries, insns, 0);
		return 0;
	}
	if (insns->positions)
		len = (size_t)insns->len * 4;
	else if (count > FIRST)
		len += (size_t)((count - FIRST + BLOCK - 1) / BLOCK) * BLOCK_BYTES;
	r = read_all(memory, insns->positions ? insns->positions : insns->index, len,
		     &index);
	if (r < 0)
		return r;
	if (insns->positions) {
		by_positions(index, entries, insns, count, ret);
		return 0;
	}
	for (i = 0; i < count; i++) {
		uint32_t entry = entry_of(index, len, i);

		ret[i] = entry ? line_of(entries, insns, entry - 1) : 0;
	}
	return 0;
}
