/* SPDX-License-Identifier: Apache-2.0 */
#include "parts/probes/indirect.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "base/reader.h"
#include "code/dwarf/eh_hdr.h"
#include "parts/probes/usdt.h"

enum {
	CODE_BYTES = 1024, /* bytes of a resolver to read */
	/* x86-64: LEA r, [rip + n] with 8 bytes */
	LEA = 0x8d,
	REX_MASK = 0xfb,
	REX_W = 0x48,
	MODRM_MASK = 0xc7,
	MODRM_RIP = 0x05,
	LEA_BYTES = 7,
	/* aarch64 */
	REGISTERS = 32,
	PAGE_SHIFT = 12,
	ADRP_BITS = 21,
};

/* Instructions of aarch64 (Arm ARM, C4.1) without their registers and numbers. */
static const uint32_t ADRP_MASK = 0x9f000000;
static const uint32_t ADRP = 0x90000000;
static const uint32_t ADD_MASK = 0xffc00000;
static const uint32_t ADD = 0x91000000;

static bool is_code(struct op_elf *elf, uint64_t vaddr)
{
	size_t len;
	const struct op_elf_segment *segment = op_elf_segments(elf, &len);
	size_t i;

	for (i = 0; i < len; i++)
		if (segment[i].type == PT_LOAD && segment[i].flags & PF_X &&
		    vaddr >= segment[i].vaddr &&
		    vaddr - segment[i].vaddr < segment[i].filesz)
			return true;
	return false;
}

/* Add @vaddr if a function begins there: a breakpoint elsewhere would break the program. */
static int add(struct op_elf *elf, uint64_t vaddr, struct op_probe_place *ret)
{
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint32_t i;
	int r = is_code(elf, vaddr) ? op_eh_hdr_function(elf, vaddr, &start, &end) : 0;

	if (r <= 0 || start != vaddr)
		return OP_MIN(r, 0);
	r = op_probe_offset(elf, vaddr, &offset);
	if (r < 0)
		return r;
	for (i = 0; i < ret->sites_len; i++)
		if (ret->site[i] == offset)
			return 0;
	if (ret->sites_len == OP_PROBE_SITES_MAX)
		return -E2BIG;
	ret->site[ret->sites_len++] = offset;
	return 0;
}

/* The boundaries of instructions are not known, so each byte is tried. */
static int add_x86_64(struct op_elf *elf, const uint8_t *code, size_t len, uint64_t pc,
		      struct op_probe_place *ret)
{
	struct op_reader r = op_reader_init(code, len);
	int error = 0;
	size_t i;

	for (i = 0; error == 0 && i + LEA_BYTES <= len; i++) {
		if ((code[i] & REX_MASK) != REX_W || code[i + 1] != LEA ||
		    (code[i + 2] & MODRM_MASK) != MODRM_RIP)
			continue;
		op_reader_seek(&r, i + 3);
		error = add(elf,
			    pc + i + LEA_BYTES +
				    (uint64_t)(int64_t)(int32_t)op_read_u32(&r),
			    ret);
	}
	return error;
}

static uint64_t page_of(uint32_t op, uint64_t pc)
{
	uint64_t n = (op >> 29 & 3) | (uint64_t)(op >> 5 & 0x7ffff) << 2;
	int64_t pages = (int64_t)(n << (64 - ADRP_BITS)) >> (64 - ADRP_BITS);

	return (pc >> PAGE_SHIFT << PAGE_SHIFT) + ((uint64_t)pages << PAGE_SHIFT);
}

static int add_aarch64(struct op_elf *elf, const uint8_t *code, size_t len, uint64_t pc,
		       struct op_probe_place *ret)
{
	struct op_reader r = op_reader_init(code, len);
	uint64_t page[REGISTERS] = { 0 };
	bool known[REGISTERS] = { false };
	int error = 0;

	for (; error == 0 && op_reader_left(&r) >= sizeof(uint32_t);
	     pc += sizeof(uint32_t)) {
		uint32_t op = op_read_u32(&r);
		uint32_t to = op & (REGISTERS - 1);
		uint32_t from = op >> 5 & (REGISTERS - 1);

		if ((op & ADRP_MASK) == ADRP) {
			page[to] = page_of(op, pc);
			known[to] = true;
		} else if ((op & ADD_MASK) == ADD && known[from]) {
			error = add(elf, page[from] + (op >> 10 & 0xfff), ret);
		}
	}
	return error;
}

int op_probe_indirect(struct op_elf *elf, const struct op_elf_symbol *symbol,
		      struct op_probe_place *ret)
{
	uint8_t code[CODE_BYTES];
	size_t len = OP_MIN(symbol->size, (uint64_t)sizeof(code));
	int r = op_elf_read_vaddr(elf, symbol->value, code, len);

	memset(ret, 0, sizeof(*ret));
	if (r == 0 && op_elf_machine(elf) == EM_X86_64)
		r = add_x86_64(elf, code, len, symbol->value, ret);
	else if (r == 0)
		r = add_aarch64(elf, code, len, symbol->value, ret);
	return r < 0 ? r : ret->sites_len ? 0 : -EADDRNOTAVAIL;
}
