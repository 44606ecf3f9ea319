/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the FDEs of a file in order; two sections are merged into one sequence. */
#include <errno.h>
#include <stdlib.h>

#include "base/macros.h"
#include "code/dwarf/eh_hdr.h"
#include "code/dwarf/order.h"

/* A section, and the first of its FDEs that was not given yet. */
struct stream {
	struct op_cfi *cfi;
	struct op_cfi_order order;
	struct op_cfi_stats *stats;
	bool pending; /* `next` must be found first */
	bool has;     /* `next` is set; if neither, the section has ended */
	struct op_cfi_parsed_fde next;
};

struct op_cfi_walk {
	struct stream first;
	struct stream second;
	struct op_cfi_stats stats;
	/* end of the addresses covered by the first section's FDEs so far */
	uint64_t covered;
};

static bool is_bad(int error)
{
	return error == -EBADMSG || error == -E2BIG;
}

/* Parse the FDE at @off. Returns 0; -EBADMSG or -E2BIG if it is bad; or -errno. */
static int parse(struct op_cfi *cfi, uint64_t off, struct op_cfi_parsed_fde *ret)
{
	struct op_cfi_entry entry;
	int r;

	r = op_cfi_read_entry(cfi, off, &entry);
	if (r < 0)
		return r;
	if (entry.empty || entry.is_cie)
		return -EBADMSG;
	return op_cfi_read_fde(cfi, &entry, ret);
}

/* Find the next FDE that can be read and has addresses, unless one is pending already.
 * Returns 0, -EINPROGRESS or -errno. */
static int find_next(struct stream *s, struct op_allowance *allowance)
{
	uint64_t off;
	int r;

	if (!s->pending)
		return 0;
	while ((r = op_cfi_order_next(&s->order, allowance, &off)) > 0) {
		s->stats->fdes++;
		r = parse(s->cfi, off, &s->next);
		if (is_bad(r)) {
			s->stats->bad_fdes++;
		} else if (r < 0) {
			break;
		} else if (s->next.fde.start != s->next.fde.end) {
			s->has = true;
			break;
		}
		if (op_allowance_step(allowance))
			return -EINPROGRESS;
	}
	if (r != -EINPROGRESS)
		s->pending = false;
	return r;
}

/* The current FDE is done. */
static void advance(struct stream *s)
{
	s->has = false;
	s->pending = true;
}

static void stream_init(struct stream *s, struct op_cfi *cfi, struct op_cfi_stats *stats)
{
	s->cfi = cfi;
	s->stats = stats;
	if (!cfi)
		return;
	cfi->bad_cies = 0;
	op_cfi_order_init(&s->order, cfi);
	s->pending = true;
}

static void add_stats(struct op_cfi_stats *stats, const struct stream *s)
{
	if (!s->cfi)
		return;
	stats->fdes += s->order.broken;
	stats->bad_fdes += s->order.broken;
	stats->bad_cies += s->cfi->bad_cies;
}

/* An error of the second section ends that section, except -ENOMEM. */
static int end_more(struct op_cfi_stats *stats, int r)
{
	if (r >= 0 || r == -ENOMEM || r == -EINPROGRESS)
		return r;
	stats->more_error = r;
	return 0;
}

/* Returns 0 or the sink's negative value. */
static int give(struct stream *s, struct op_cfi_parsed_fde *fde,
		const struct op_cfi_sink *sink)
{
	int r = sink->fde(sink->data, &fde->fde);

	if (r <= 0)
		return r;
	r = op_cfi_run_fde(s->cfi, fde, sink);
	if (!is_bad(r))
		return r;
	s->stats->bad_fdes++;
	return 0;
}

/* Give the part of the next FDE of @more that lies between @covered and the next FDE of
 * @s. */
static int give_more(struct stream *more, const struct stream *s, uint64_t covered,
		     const struct op_cfi_sink *sink)
{
	struct op_cfi_parsed_fde part = more->next;
	int r = 0;

	part.fde.start = OP_MAX(part.fde.start, covered);
	if (s->has)
		part.fde.end = OP_MIN(part.fde.end, s->next.fde.start);
	if (part.fde.start < part.fde.end)
		r = give(more, &part, sink);
	if (r < 0)
		return r;
	if (part.fde.end == more->next.fde.end)
		advance(more);
	else
		more->next.fde.start = part.fde.end; /* the rest after that one */
	return 0;
}

static int give_next(struct op_cfi_walk *w, const struct op_cfi_sink *sink)
{
	struct stream *s = &w->first;
	struct stream *more = &w->second;
	int r;

	if (more->has && (!s->has || more->next.fde.start < s->next.fde.start))
		return give_more(more, s, w->covered, sink);
	r = give(s, &s->next, sink);
	if (r < 0)
		return r;
	w->covered = OP_MAX(w->covered, s->next.fde.end);
	advance(s);
	return 0;
}

int op_cfi_walk_new(struct op_cfi *cfi, struct op_cfi *more, struct op_cfi_walk **ret)
{
	struct op_cfi_walk *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	stream_init(&w->first, cfi, &w->stats);
	stream_init(&w->second, more, &w->stats);
	*ret = w;
	return 0;
}

struct op_cfi_walk *op_cfi_walk_free(struct op_cfi_walk *w)
{
	if (!w)
		return NULL;
	op_cfi_order_deinit(&w->second.order);
	op_cfi_order_deinit(&w->first.order);
	free(w);
	return NULL;
}

int op_cfi_walk_on(struct op_cfi_walk *w, const struct op_cfi_sink *sink,
		   struct op_allowance *allowance, struct op_cfi_stats *ret_stats)
{
	int r;

	for (;;) {
		r = find_next(&w->first, allowance);
		if (r >= 0)
			r = end_more(&w->stats, find_next(&w->second, allowance));
		if (r < 0)
			return r;
		if (!w->first.has && !w->second.has)
			break;
		r = give_next(w, sink);
		if (r < 0)
			return r;
		if (op_allowance_step(allowance))
			return -EINPROGRESS;
	}
	*ret_stats = w->stats;
	add_stats(ret_stats, &w->second);
	add_stats(ret_stats, &w->first);
	return 0;
}

int op_cfi_rows_at(struct op_cfi *cfi, uint64_t vaddr, size_t program_max,
		   const struct op_cfi_sink *sink)
{
	struct op_cfi_parsed_fde fde;
	struct op_eh_hdr hdr;
	uint64_t start;
	uint64_t at;
	int r;

	if (!cfi->elf || cfi->kind != OP_CFI_EH_FRAME ||
	    !op_eh_hdr_read(cfi->elf, &hdr) || hdr.frame != cfi->section.addr)
		return 0;
	r = op_eh_hdr_find(cfi->elf, &hdr, vaddr, &start, &at);
	if (r > 0)
		r = at < hdr.frame ? -EBADMSG : parse(cfi, at - hdr.frame, &fde);
	else
		return r;
	if (is_bad(r) || (r == 0 && (vaddr < fde.fde.start || vaddr >= fde.fde.end ||
				     op_reader_left(&fde.program) > program_max)))
		return 0;
	if (r == 0)
		r = sink->fde(sink->data, &fde.fde);
	if (r == 1)
		r = op_cfi_run_fde(cfi, &fde, sink);
	return r < 0 && !is_bad(r) ? r : 1;
}

/* A range whose FDEs are wanted. */
struct range {
	struct op_cfi *cfi;
	const struct op_cfi_sink *sink;
	uint64_t frame; /* ELF address of .eh_frame */
	uint64_t start;
	uint64_t end;
	uint64_t last; /* where the last FDE began */
	size_t fdes;   /* FDEs that the walk may still give */
	size_t program;
};

static int give_entry(void *data, uint64_t start, uint64_t at)
{
	struct op_cfi_parsed_fde fde;
	struct range *range = data;
	size_t program;
	int r;

	if (start < range->last || at < range->frame)
		return -EBADMSG;
	range->last = start;
	r = parse(range->cfi, at - range->frame, &fde);
	if (r < 0 || fde.fde.start != start)
		return r < 0 ? r : -EBADMSG;
	fde.fde.start = OP_MAX(start, range->start);
	fde.fde.end = OP_MIN(fde.fde.end, range->end);
	program = op_reader_left(&fde.program);
	if (fde.fde.start >= fde.fde.end)
		return 0;
	if (!range->fdes || program > range->program)
		return -E2BIG;
	range->fdes--;
	range->program -= program;
	r = range->sink->fde(range->sink->data, &fde.fde);
	return r > 0 ? op_cfi_run_fde(range->cfi, &fde, range->sink) : r;
}

int op_cfi_rows_between(struct op_cfi *cfi, uint64_t start, uint64_t end, size_t fdes_max,
			size_t program_max, const struct op_cfi_sink *sink)
{
	struct range range = { .cfi = cfi,
			       .sink = sink,
			       .start = start,
			       .end = end,
			       .fdes = fdes_max,
			       .program = program_max };
	struct op_eh_hdr hdr;
	int r;

	if (!cfi->elf || cfi->kind != OP_CFI_EH_FRAME ||
	    !op_eh_hdr_read(cfi->elf, &hdr) || hdr.frame != cfi->section.addr ||
	    !hdr.count)
		return 0;
	range.frame = hdr.frame;
	r = op_eh_hdr_each(cfi->elf, &hdr, start, end, give_entry, &range);
	return r < 0 ? r : 1;
}

static size_t stream_bytes(const struct stream *s)
{
	return s->cfi ? sizeof(*s->cfi) + op_dwarf_section_bytes(&s->cfi->section) +
				op_cfi_order_bytes(&s->order)
		      : 0;
}

size_t op_cfi_walk_bytes(const struct op_cfi_walk *w)
{
	return sizeof(*w) + stream_bytes(&w->first) + stream_bytes(&w->second);
}
