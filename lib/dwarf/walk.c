/* SPDX-License-Identifier: Apache-2.0 */
/* The FDEs of a file, in order; of two sections as of one. */
#include <errno.h>

#include "base/macros.h"
#include "dwarf/order.h"

/* A section and the first of its FDEs that was not given. */
struct stream {
	struct op_cfi *cfi;
	struct op_cfi_order order;
	struct op_cfi_stats *stats;
	bool has; /* else it has ended */
	struct op_cfi_parsed_fde next;
};

static bool is_bad(int error)
{
	return error == -EBADMSG || error == -E2BIG;
}

/* Returns 0, -EBADMSG or -E2BIG for a bad one, or -errno. */
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

/* Go on to the next FDE that can be read and has addresses. Returns 0 or -errno. */
static int advance(struct stream *s)
{
	uint64_t off;
	int r;

	s->has = false;
	while ((r = op_cfi_order_next(&s->order, &off)) > 0) {
		s->stats->fdes++;
		r = parse(s->cfi, off, &s->next);
		if (is_bad(r)) {
			s->stats->bad_fdes++;
			continue;
		}
		if (r < 0)
			return r;
		if (s->next.fde.start == s->next.fde.end)
			continue;
		s->has = true;
		return 0;
	}
	return r;
}

static int stream_init(struct stream *s, struct op_cfi *cfi, struct op_cfi_stats *stats)
{
	int r;

	s->has = false;
	s->order = (struct op_cfi_order){ 0 };
	s->cfi = cfi;
	s->stats = stats;
	if (!cfi)
		return 0;
	cfi->bad_cies = 0;
	r = op_cfi_order_init(&s->order, cfi);
	return r < 0 ? r : advance(s);
}

static void stream_deinit(struct stream *s)
{
	if (!s->cfi)
		return;
	s->stats->fdes += s->order.broken;
	s->stats->bad_fdes += s->order.broken;
	s->stats->bad_cies += s->cfi->bad_cies;
	op_cfi_order_deinit(&s->order);
}

/* An error of the second section ends that section, unless there is no memory. */
static int end_more(struct op_cfi_stats *stats, int r)
{
	if (r >= 0 || r == -ENOMEM)
		return r;
	stats->more_error = r;
	return 0;
}

/* Returns 0 or what the sink ended it with. */
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

/* Give what the next FDE of @more has from @covered on and before the next of @s. */
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
		return end_more(more->stats, advance(more));
	more->next.fde.start = part.fde.end; /* the rest after that one */
	return 0;
}

static int walk(struct stream *s, struct stream *more, const struct op_cfi_sink *sink)
{
	uint64_t covered = 0;
	int r = 0;

	while (r >= 0 && (s->has || more->has)) {
		if (more->has && (!s->has || more->next.fde.start < s->next.fde.start)) {
			r = give_more(more, s, covered, sink);
			continue;
		}
		covered = OP_MAX(covered, s->next.fde.end);
		r = give(s, &s->next, sink);
		if (r >= 0)
			r = advance(s);
	}
	return r;
}

int op_cfi_walk_both(struct op_cfi *cfi, struct op_cfi *more,
		     const struct op_cfi_sink *sink, struct op_cfi_stats *ret_stats)
{
	struct op_cfi_stats stats = { 0 };
	struct stream second;
	struct stream first;
	int r;

	r = stream_init(&first, cfi, &stats);
	second.cfi = NULL;
	if (r == 0)
		r = end_more(&stats, stream_init(&second, more, &stats));
	if (r == 0)
		r = walk(&first, &second, sink);
	stream_deinit(&second);
	stream_deinit(&first);
	if (r < 0)
		return r;
	*ret_stats = stats;
	return 0;
}

int op_cfi_walk(struct op_cfi *cfi, const struct op_cfi_sink *sink,
		struct op_cfi_stats *ret_stats)
{
	return op_cfi_walk_both(cfi, NULL, sink, ret_stats);
}
