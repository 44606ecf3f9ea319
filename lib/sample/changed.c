/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/changed.h"

#include <errno.h>

#include "base/macros.h"
#include "code/unwind/host.h"
#include "process/generation.h"
#include "process/image/executable.h"
#include "process/mappings/changes.h"
#include "process/mappings/mappings.h"
#include "process/program.h"
#include "process/publish.h"
#include "process/registry.h"
#include "sample/parsed.h"
#include "sample/state.h"

/* The changes of a process's mappings to check for: */
struct changed {
	const struct op_proc_view *view;
	uint64_t time_ns;
	bool later;	/* after the sample, or earlier ones that the walk did not know */
	uint32_t marks; /* op_record.marks */
	/* Not 0: files that were opened after this time may be gone. */
	uint64_t start_ns;
	/* If not NULL: the mappings that came. A copy of a file is no change. */
	const struct op_mappings *equal;
};

/* Is @addr in a file that may not have been mapped at the time of the sample? True for
 * a file opened after start_ns, mapped later, or written later. */
static bool is_late(const struct changed *c, uint64_t addr)
{
	const struct op_mapping *v = op_mappings_find(c->view->mappings, addr);

	if (!v || !v->exe)
		return false;
	return (c->start_ns && v->claim.mapped_ns > c->start_ns) ||
	       (c->later && v->claim.told && v->claim.mapped_ns > c->time_ns) ||
	       op_claim_is_rewritten(v->exe, &v->claim, c->time_ns);
}

/* If the mark of the published mapping of @addr held, its file or a copy of it was there:
 * the base of that file. 0: not known. */
static uint64_t held_base(const struct changed *c, uint64_t addr)
{
	const struct op_mapping *v =
		c->marks ? op_mappings_find(c->view->mappings, addr) : NULL;

	return v && v->mark && c->marks & UINT32_C(1) << (v->mark - 1)
		       ? v->start - v->offset
		       : 0;
}

/* The address of the code of a native frame. */
static uint64_t address_of(uint64_t word)
{
	return (word & OP_FRAME_ADDRESS_MASK) -
	       (word >> OP_FRAME_KIND_SHIFT != OP_FRAME_NATIVE_EXACT);
}

/* Is @word a native frame at an address that changed? */
static bool is_changed(const struct changed *c, uint64_t word)
{
	unsigned int kind = (unsigned int)(word >> OP_FRAME_KIND_SHIFT);
	uint64_t addr = address_of(word);

	if (kind >= OP_FRAME_NATIVE_KINDS || kind == OP_FRAME_LEFT_OUT)
		return false;
	if (is_late(c, addr))
		return true;
	if (c->later)
		return op_changes_after(c->view->changes, c->time_ns, addr);
	return op_changes_before(c->view->changes, c->view->change_number, c->time_ns,
				 addr, held_base(c, addr)) &&
	       !(c->equal && op_mappings_are_copies(c->view->mappings, c->equal, addr));
}

/* The number of words before the first frame that changed. */
static size_t unchanged(const struct changed *c, const uint64_t *words, size_t len)
{
	size_t i;

	if (!c->start_ns && !c->later &&
	    (!c->view->changes || !c->view->changes->list.len))
		return len;
	for (i = 0; i < len && !is_changed(c, words[i]); i += op_frame_words(words[i]))
		continue;
	return OP_MIN(i, len);
}

/* From when on mapped files are in doubt, because the process has mappings that no
 * event reported. 0: none are. */
static uint64_t doubt_after(const struct op_record *h, const struct op_proc_view *view)
{
	return (h->resumed & OP_REMAPPED) && view->program->code.replaces
		       ? op_mappings_start_ns(view->mappings)
		       : 0;
}

void op_changed_cut_later(struct op_unwind_result *s, const struct op_proc *proc,
			  const struct op_proc *walked, const struct op_record *h)
{
	struct op_proc_view view = op_proc_view_now(walked);
	const struct op_mappings *before;
	const struct changed c = { .view = &view,
				   .time_ns = h->time_ns,
				   .later = true,
				   .start_ns = doubt_after(h, &view) };
	size_t words = OP_MIN(s->words, (uint32_t)OP_USER_WORDS_MAX);
	size_t kept;

	if (walked != proc)
		view.changes = op_proc_view_at(proc, h->time_ns, &before).changes;
	kept = unchanged(&c, s->word, words);
	if (kept == words)
		return;
	s->words = (uint32_t)kept;
	s->end = OP_ERROR_native_no_mapping;
}

int op_changed_cut(struct op_sampler *sampler, struct op_proc *proc, struct op_parsed *r,
		   struct op_frames_of *of, const struct op_proc_view *published,
		   uint32_t *ret_generation)
{
	static const uint32_t BY_NUMBER = UINT32_C(1) << 31;
	struct op_record *h = &r->header;
	const uint64_t *words = r->words + h->kernel_count;
	struct op_proc_view now = op_proc_view_now(proc);
	struct changed before = { .view = published,
				  .time_ns = h->time_ns,
				  .marks = h->marks,
				  .start_ns = doubt_after(h, published) };
	const struct changed after = { .view = &now,
				       .time_ns = h->time_ns,
				       .later = true,
				       .start_ns = before.start_ns };
	size_t kept = unchanged(&before, words, h->user_words);
	uint64_t addr, asked = 0;
	size_t equal, with;
	int known;

	if (kept == h->user_words)
		return 0;
	do {
		now = op_proc_view_now(proc);
		before.equal = now.program == published->program ? now.mappings : NULL;
		equal = unchanged(&before, words, h->user_words);
		addr = equal < h->user_words ? address_of(words[equal]) : 0;
		known = before.equal && addr != asked
				? op_publish_identify(sampler->processes, proc, addr)
				: 0;
		asked = addr;
	} while (known > 0);
	if (known < 0 && !op_sampler_hurries(sampler))
		return known;
	with = equal < h->user_words ? equal + op_frame_words(words[equal]) : equal;
	with = OP_MIN(with, (size_t)h->user_words);
	if (before.equal && unchanged(&after, words, with) == with) {
		of->mappings = now.mappings;
		/* the meaning of words, for the caches */
		*ret_generation = BY_NUMBER | now.change_number;
		kept = with;
		if (equal == h->user_words)
			return 0;
	}
	h->user_words = (uint16_t)kept;
	h->end = OP_ERROR_native_no_mapping;
	return 0;
}
