/* SPDX-License-Identifier: Apache-2.0 */
#include "code/unwind/source.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "code/dwarf/cfi.h"
#include "code/unwind/heights/heights.h"

/* State of an FDE of augmentation 'S': */
enum signal {
	SIGNAL_NONE,  /* it is none */
	SIGNAL_BEGUN, /* its first row is still to come */
	SIGNAL_DONE,  /* the rest of its rows is not needed */
};

enum {
	/* limits for a page that is made before the others: FDEs, and bytes of their
	 * instructions */
	BETWEEN_FDES_MAX = 8192,
	BETWEEN_PROGRAM_MAX = 1 << 18,
};

struct op_source {
	struct op_builder *b;
	struct op_elf *elf;
	struct op_log *log;
	struct op_allowance *allowance; /* of the running call */
	op_arch_rule_fn rule;
	struct op_unwind_rule last; /* rule of the previous row */
	struct op_source_go *go; /* NULL: there is no Go code, or it was read already */
	uint64_t go_start;
	uint64_t go_end;
	struct op_source_plt plt; /* end 0: there is none, or it was read already */
	struct op_source_code code;
	struct op_cfi *eh;
	struct op_cfi *debug;
	struct op_cfi_walk *walk; /* NULL: all FDEs were read */
	enum signal signal;
	bool vdso_read;
};

/* All Go code is in one range: read it when its address is reached. */
static int read_go(struct op_source *s)
{
	int r;

	if (!s->go)
		return 0;
	r = op_source_go_read(s->go, s->b, s->allowance);
	if (r == -EINPROGRESS)
		return r;
	s->go = op_source_go_free(s->go);
	return r;
}

static int read_plt(struct op_source *s)
{
	int r = op_source_plt_read(&s->plt, s->b);

	s->plt.end = 0;
	return r;
}

/* Read sources other than frame information that begin before @pc, in ascending order. */
static int read_others(struct op_source *s, uint64_t pc)
{
	int r = 0;

	if (s->plt.end && s->plt.start < pc && s->plt.start < s->go_start)
		r = read_plt(s);
	if (r >= 0 && s->go_start <= pc)
		r = read_go(s);
	if (r >= 0 && s->plt.end && s->plt.start < pc)
		r = read_plt(s);
	return r;
}

static int on_fde(void *data, const struct op_cfi_fde *fde)
{
	struct op_source *s = data;
	int r;

	r = read_others(s, fde->start);
	if (r < 0)
		return r;
	if (fde->start >= s->go_start && fde->start < s->go_end)
		return 0;
	s->signal = fde->signal ? SIGNAL_BEGUN : SIGNAL_NONE;
	return fde->signal ? 1 : op_builder_function(s->b, fde->start, fde->end);
}

/* The first row of an FDE of augmentation 'S' says which kind of signal frame it
 * describes. Returns 0 or -errno. */
static int begin_signal(struct op_source *s, const struct op_cfi_fde *fde,
			const struct op_cfi_state *state)
{
	int r;

	if (state && op_arch_is_signal_frame(op_elf_machine(s->elf), state)) {
		/* all its rows describe what OP_CFA_SIGNAL stands for */
		s->signal = SIGNAL_DONE;
		return op_builder_signal(s->b, fde->start, fde->end);
	}
	r = op_builder_function(s->b, fde->start, fde->end);
	s->signal = r > 0 ? SIGNAL_NONE : SIGNAL_DONE;
	return r < 0 ? r : 0;
}

/* Returns @rule with another offset from sp. It is changed as one word, since it is read
 * as one right after. */
static struct op_unwind_rule moved_to(struct op_unwind_rule rule, int32_t cfa_off)
{
	uint64_t word;

	memcpy(&word, &rule, sizeof(word));
	word = (word & UINT32_MAX) | (uint64_t)(uint32_t)cfa_off << 32;
	memcpy(&rule, &word, sizeof(rule));
	return rule;
}

static int on_row(void *data, const struct op_cfi_fde *fde, uint64_t pc,
		  const struct op_cfi_state *state, bool moved)
{
	struct op_source *s = data;
	struct op_unwind_rule rule = { .cfa = OP_CFA_INVALID };
	int r;

	if (s->signal) {
		r = s->signal == SIGNAL_BEGUN ? begin_signal(s, fde, state) : 0;
		if (r < 0 || s->signal)
			return r;
	}
	/* The most common row, that of a push or a pop. */
	if (moved && s->last.cfa == OP_CFA_SP &&
	    state->cfa.off == (int32_t)state->cfa.off)
		rule = moved_to(s->last, (int32_t)state->cfa.off);
	else if (state && !s->rule(state, &rule))
		s->b->table->inexpressible++;
	if (rule.cfa == OP_CFA_REG && (rule.cfa_off & 255) == OP_ARCH_X86_64_KEPT)
		s->b->table->wants_kept = true;
	s->last = rule;
	return op_builder_row(s->b, pc, rule);
}

/* Open the file's .debug_frame; it is left out if it cannot be read. Returns 0 or
 * -ENOMEM. */
static int open_debug_frame(struct op_elf *elf, struct op_log *log, struct op_cfi **ret)
{
	int r = op_cfi_new(elf, OP_CFI_DEBUG_FRAME, ret);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		op_log(log, OP_LOG_DEBUG,
		       "unwind: .debug_frame is left out, it cannot be read: %s",
		       strerror(-r));
	return 0;
}

/* Open .eh_frame, and .debug_frame for addresses that .eh_frame lacks. A program compiled
 * without unwind tables still has an .eh_frame, from the C library's start files. */
static int open_cfi(struct op_source *s, struct op_elf *elf, bool keep)
{
	int r = op_cfi_new(elf, OP_CFI_EH_FRAME, &s->eh);

	/* Go writes a .debug_frame for debuggers, which has the same contents as its
	 * own table. */
	if (r >= 0 && !s->go)
		r = open_debug_frame(elf, s->log, &s->debug);
	if (r < 0)
		return r;
	if (keep && s->eh)
		op_cfi_keep(s->eh, OP_ARCH_X86_64_KEPT);
	if (keep && s->debug)
		op_cfi_keep(s->debug, OP_ARCH_X86_64_KEPT);
	return op_cfi_walk_new(s->eh, s->debug, &s->walk);
}

op_arch_rule_fn op_source_rule_fn(const struct op_elf *elf, bool keep)
{
	if (keep)
		return op_arch_x86_64_rule_keeping;
	return op_elf_machine(elf) == EM_AARCH64 ? op_arch_aarch64_rule
						 : op_arch_x86_64_rule;
}

int op_source_new(struct op_elf *elf, struct op_builder *b, bool keep, struct op_log *log,
		  struct op_source **ret)
{
	struct op_source *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	*s = (struct op_source){ .b = b, .elf = elf, .log = log, .go_start = UINT64_MAX };
	s->rule = op_source_rule_fn(elf, keep);
	r = op_source_go_new(elf, log, &s->go);
	if (r > 0)
		op_source_go_range(s->go, &s->go_start, &s->go_end);
	(void)op_source_plt_find(elf, &s->plt);
	op_source_code_use(&s->code, elf, b, keep);
	if (r >= 0)
		r = open_cfi(s, elf, keep);
	if (r < 0) {
		op_source_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

struct op_source *op_source_free(struct op_source *s)
{
	if (!s)
		return NULL;
	op_cfi_walk_free(s->walk);
	op_cfi_free(s->debug);
	op_cfi_free(s->eh);
	op_source_go_free(s->go);
	op_source_code_deinit(&s->code);
	free(s);
	return NULL;
}

size_t op_source_bytes(const struct op_source *s)
{
	size_t gap = s->code.heights ? op_heights_bytes(s->code.heights) : 0;

	return sizeof(*s) + gap + (s->walk ? op_cfi_walk_bytes(s->walk) : 0);
}

/* Read all FDEs, and the other sources between them. */
static int read_cfi(struct op_source *s)
{
	const struct op_cfi_sink sink = { .data = s, .fde = on_fde, .row = on_row };
	struct op_cfi_stats stats;
	int r = op_cfi_walk_on(s->walk, &sink, s->allowance, &stats);

	if (r < 0)
		return r;
	if (stats.more_error)
		op_log(s->log, OP_LOG_DEBUG,
		       "unwind: .debug_frame is left out, it cannot be read: %s",
		       strerror(-stats.more_error));
	s->b->table->fdes += stats.fdes;
	s->b->table->bad_fdes += stats.bad_fdes;
	s->walk = op_cfi_walk_free(s->walk);
	return 0;
}

int op_source_read(struct op_source *s, struct op_allowance *allowance)
{
	int r = 0;

	s->allowance = s->code.allowance = allowance;
	if (s->walk)
		r = read_cfi(s);
	if (r >= 0)
		r = read_others(s, UINT64_MAX);
	if (r >= 0 && !s->vdso_read)
		r = op_source_vdso_read(s->elf, s->b);
	if (r < 0)
		return r;
	s->vdso_read = true;
	return op_builder_finish(s->b);
}

int op_source_between(struct op_elf *elf, struct op_cfi *cfi, struct op_builder *b,
		      uint64_t start, uint64_t end)
{
	struct op_source s = { .b = b, .elf = elf, .go_start = UINT64_MAX };
	const struct op_cfi_sink sink = { .data = &s, .fde = on_fde, .row = on_row };

	s.rule = op_source_rule_fn(elf, false);
	return op_cfi_rows_between(cfi, start, end, BETWEEN_FDES_MAX, BETWEEN_PROGRAM_MAX,
				   &sink);
}
