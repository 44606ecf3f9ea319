/* SPDX-License-Identifier: Apache-2.0 */
/* Reads words with the values that the dynamic linker gives them by
 * relative relocations. */
#include <errno.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/reader.h"
#include "code/elf/private.h"
#include "code/elf/stream.h"

struct rela {
	uint64_t address;
	uint64_t size;
};

static int take_rela(void *data, int64_t tag, uint64_t value)
{
	struct rela *rela = data;

	if (tag == DT_RELA)
		rela->address = value;
	else if (tag == DT_RELASZ)
		rela->size = value;
	return 0;
}

/* Apply one relocation to the words at [@vaddr, @vaddr + 8 * @len). */
static void apply(const struct op_elf *elf, const uint8_t *entry, uint64_t vaddr,
		  uint64_t *words, size_t len)
{
	struct op_reader r = op_reader_init(entry, sizeof(Elf64_Rela));
	uint32_t relative =
		elf->machine == EM_X86_64 ? R_X86_64_RELATIVE : R_AARCH64_RELATIVE;
	uint64_t at = op_read_u64(&r) - vaddr;
	uint64_t info = op_read_u64(&r);
	uint64_t addend = op_read_u64(&r);

	if (ELF64_R_TYPE(info) == relative && at % 8 == 0 && at / 8 < len)
		words[at / 8] = addend;
}

int op_elf_read_words(struct op_elf *elf, uint64_t vaddr, uint64_t *ret, size_t len)
{
	_cleanup_(op_elf_stream_deinit) struct op_elf_stream s = { 0 };
	struct rela rela = { 0 };
	uint64_t off;
	uint64_t i;
	int r;

	r = op_elf_read_vaddr(elf, vaddr, ret, len * sizeof(*ret));
	if (!r)
		r = op_elf_dynamic_each(elf, take_rela, &rela);
	if (r || !rela.address || !rela.size)
		return r;
	if (op_elf_vaddr_offset(elf, rela.address, rela.size, &off))
		return 0;
	r = op_elf_stream_init(&s, elf, OP_ELF_PIECE_BYTES);
	if (r)
		return r;
	for (i = 0; i < rela.size / sizeof(Elf64_Rela); i++) {
		const uint8_t *entry;

		r = op_elf_stream_get(&s, off + i * sizeof(Elf64_Rela),
				      sizeof(Elf64_Rela), &entry);
		if (r)
			return r;
		apply(elf, entry, vaddr, ret, len);
	}
	return 0;
}
