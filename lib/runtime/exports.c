/* SPDX-License-Identifier: Apache-2.0 */
/* Tests a name against the Bloom filter of .gnu.hash. */
#include "runtime/exports.h"

#include "base/reader.h"

enum {
	/* header of .gnu.hash: bucket count, first symbol, filter words, shift */
	HEAD_BYTES = 16,
	WORD_BITS = 64,
	HASH_START = 5381,
};

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = HASH_START;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

bool op_runtime_may_export(struct op_elf *elf, const char *name)
{
	const struct op_elf_section *section = op_elf_section(elf, ".gnu.hash");
	uint32_t h = gnu_hash(name);
	uint8_t head[HEAD_BYTES];
	struct op_reader r = op_reader_init(head, sizeof(head));
	uint32_t words;
	uint32_t shift;
	uint64_t word;

	if (!section || op_elf_read(elf, section->offset, head, sizeof(head)) < 0)
		return false;
	op_read_skip(&r, 8);
	words = op_read_u32(&r);
	shift = op_read_u32(&r);
	if (!words || shift >= 32)
		return false;
	if (op_elf_read(elf, section->offset + HEAD_BYTES + (h / WORD_BITS % words) * 8,
			&word, sizeof(word)) < 0)
		return false;
	return (word >> (h % WORD_BITS)) & (word >> ((h >> shift) % WORD_BITS)) & 1;
}
