/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/source.h"

#include <elf.h>
#include <errno.h>

#include "dwarf/cfi.h"
#include "unwind/arch.h"

struct source {
	struct op_builder *b;
	op_arch_rule_fn rule;
	struct op_source_go *go; /* NULL: there is no Go code, or it was read */
	uint64_t go_start;
	uint64_t go_end;
};

/* All Go code stands together: read it where its turn is. */
static int read_go(struct source *s)
{
	int r;

	if (!s->go)
		return 0;
	r = op_source_go_read(s->go, s->b);
	s->go = op_source_go_free(s->go);
	return r;
}

static int on_fde(void *data, const struct op_cfi_fde *fde)
{
	struct source *s = data;
	int r;

	if (fde->start >= s->go_start) {
		r = read_go(s);
		if (r < 0)
			return r;
		if (fde->start < s->go_end)
			return 0;
	}
	if (!fde->signal)
		return op_builder_function(s->b, fde->start, fde->end);
	r = op_builder_signal(s->b, fde->start, fde->end);
	return r < 0 ? r : 0; /* its rows say the same in a language we need not read */
}

static int on_row(void *data, const struct op_cfi_fde *fde, uint64_t pc,
		  const struct op_cfi_state *state)
{
	struct source *s = data;
	struct op_rule rule = { .cfa = OP_CFA_INVALID };

	if (state && !s->rule(state, &rule))
		s->b->table->inexpressible++;
	return op_builder_row(s->b, pc, rule);
}

/* Returns 1 where the file has call frame information of that kind, 0, or -errno. */
static int read_cfi(struct source *s, struct op_elf *elf, enum op_cfi_kind kind)
{
	_cleanup_(op_cfi_freep) struct op_cfi *cfi = NULL;
	const struct op_cfi_sink sink = { .data = s, .fde = on_fde, .row = on_row };
	struct op_cfi_stats stats;
	int r;

	r = op_cfi_new(elf, kind, &cfi);
	if (r <= 0)
		return r;
	r = op_cfi_walk(cfi, &sink, &stats);
	if (r < 0)
		return r;
	s->b->table->fdes += stats.fdes;
	s->b->table->bad_fdes += stats.bad_fdes;
	return stats.fdes > 0;
}

int op_source_all(struct op_elf *elf, struct op_builder *b, struct op_log *log)
{
	struct source s = { .b = b, .go_start = UINT64_MAX };
	bool has_go;
	int r;

	s.rule = op_elf_machine(elf) == EM_AARCH64 ? op_arch_aarch64_rule
						   : op_arch_x86_64_rule;
	r = op_source_go_new(elf, log, &s.go);
	if (r < 0)
		return r;
	has_go = r > 0;
	if (has_go)
		op_source_go_range(s.go, &s.go_start, &s.go_end);
	r = read_cfi(&s, elf, OP_CFI_EH_FRAME);
	/* Go writes .debug_frame, for debuggers only, of the same as its table. */
	if (r == 0 && !has_go)
		r = read_cfi(&s, elf, OP_CFI_DEBUG_FRAME);
	if (r >= 0)
		r = read_go(&s);
	op_source_go_free(s.go);
	return r < 0 ? r : 0;
}
