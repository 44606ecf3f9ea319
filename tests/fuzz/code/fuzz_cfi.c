/* SPDX-License-Identifier: Apache-2.0 */
/* Call frame information from bytes. The first byte chooses section kind and machine. */
#include <elf.h>
#include <stdlib.h>

#include "code/dwarf/cfi.h"
#include "code/unwind/arch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct last {
	uint64_t start;
	uint64_t pc;
	op_arch_rule_fn rule;
	struct op_unwind_rule row;
};

/* What lib/unwind relies on: FDEs ascend, and rows within them. */
static int on_fde(void *data, const struct op_cfi_fde *fde)
{
	struct last *last = data;

	if (fde->start < last->start || fde->end <= fde->start)
		abort();
	last->start = last->pc = fde->start;
	return 1;
}

static int on_row(void *data, const struct op_cfi_fde *fde, uint64_t pc,
		  const struct op_cfi_state *state, bool moved)
{
	struct last *last = data;
	struct op_unwind_rule rule = { .cfa = OP_CFA_INVALID };
	struct op_unwind_rule expected = last->row;

	if (pc < last->pc || pc >= fde->end)
		abort();
	last->pc = pc;
	if (state && last->rule(state, &rule) && rule.cfa >= OP_CFA_MAX)
		abort();
	/* What a reader may do with a row that only moved gives what the row says. */
	expected.cfa_off = rule.cfa_off;
	if (moved && rule.cfa == OP_CFA_SP && memcmp(&rule, &expected, sizeof(rule)) != 0)
		abort();
	last->row = rule;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool is_arm = size && data[0] & 1;
	struct last last = { .rule = is_arm ? op_arch_aarch64_rule
					    : op_arch_x86_64_rule };
	const struct op_cfi_sink sink = { .data = &last, .fde = on_fde, .row = on_row };
	_cleanup_(op_cfi_freep) struct op_cfi *cfi = NULL;
	_cleanup_(op_cfi_walk_freep) struct op_cfi_walk *walk = NULL;
	struct op_cfi_stats stats;

	if (!size)
		return 0;
	if (op_cfi_new_bytes(data + 1, size - 1, 0x400000,
			     data[0] & 2 ? OP_CFI_DEBUG_FRAME : OP_CFI_EH_FRAME,
			     is_arm ? EM_AARCH64 : EM_X86_64, &cfi) < 0)
		return 0;
	if (op_cfi_walk_new(cfi, NULL, &walk) == 0)
		(void)op_cfi_walk_on(walk, &sink, NULL, &stats);
	return 0;
}
