/* SPDX-License-Identifier: Apache-2.0 */
/* Reads encoded pointers (DW_EH_PE_*, Linux Standard Base). */
#include "code/dwarf/entry.h"

enum {
	ADDRESS_BYTES = 8,
};

uint64_t op_cfi_read_pointer(struct op_reader *r, uint8_t encoding, uint64_t addr)
{
	uint64_t value;

	if (encoding == OP_EH_PE_ALIGNED) {
		op_read_skip(r, (0 - addr) % ADDRESS_BYTES);
		return op_read_u64(r);
	}
	switch (encoding & OP_EH_PE_FORMAT) {
	case OP_EH_PE_ABSPTR:
	case OP_EH_PE_UDATA8:
	case OP_EH_PE_SDATA8:
		value = op_read_u64(r);
		break;
	case OP_EH_PE_ULEB128:
		value = op_read_uleb(r);
		break;
	case OP_EH_PE_SLEB128:
		value = (uint64_t)op_read_sleb(r);
		break;
	case OP_EH_PE_UDATA2:
		value = op_read_u16(r);
		break;
	case OP_EH_PE_SDATA2:
		value = (uint64_t)op_read_s16(r);
		break;
	case OP_EH_PE_UDATA4:
		value = op_read_u32(r);
		break;
	case OP_EH_PE_SDATA4:
		value = (uint64_t)op_read_s32(r);
		break;
	default:
		r->failed = true;
		return 0;
	}
	if ((encoding & OP_EH_PE_BASE) == OP_EH_PE_PCREL)
		value += addr;
	else if (encoding & OP_EH_PE_BASE)
		r->failed = true;
	if (encoding & OP_EH_PE_INDIRECT)
		r->failed = true;
	return r->failed ? 0 : value;
}
