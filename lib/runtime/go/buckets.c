/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/go/buckets.h"

#include <errno.h>

#include "base/reader.h"

enum {
	WORD = 8,
	HEAD_BYTES = 48,	/* next, allnext, typ, hash, size, nstk */
	CYCLE_BYTES = 32,	/* allocs, frees, alloc_bytes, free_bytes */
	SHORT_CYCLE_BYTES = 16, /* allocs, frees */
	SHORT_SINCE = 27,	/* Go 1.x */
	CYCLES = 3,		/* cycles that are not published */
	MEMORY_PROFILE = 1,	/* bucket.typ */
	FLUSHED = 1,		/* bit of mProfCycle: the current cycle was published */
	CYCLE_SHIFT = 1,
	/* bytes of a piece that is read ahead: lists grow at their front, so the next
	 * bucket is usually below */
	BELOW_BYTES = 3072,
};

/* No machine has as much memory; sums of a few such numbers do not overflow. */
static const uint64_t BYTES_MAX = UINT64_C(1) << 56;
/* Go's default is 512 KiB. */
static const uint64_t RATE_MAX = UINT64_C(1) << 40;

/* The runtime's own hash of a stack and a size, by which it finds the bucket. */
static uint64_t hash_of(const struct op_go_bucket *b)
{
	uint64_t h = 0;
	size_t i;

	for (i = 0; i < b->pcs_len; i++) {
		h += b->pcs[i];
		h += h << 10;
		h ^= h >> 6;
	}
	h += b->size;
	h += h << 10;
	h ^= h >> 6;
	h += h << 3;
	return h ^ h >> 11;
}

/* All allocations of a bucket have one size, so the bytes, if there are any, show whether
 * the numbers come from one moment. */
static int read_sums(struct op_reader *r, bool is_short, uint64_t size,
		     struct op_go_sums *add)
{
	uint64_t allocs = op_read_u64(r);
	uint64_t frees = op_read_u64(r);
	uint64_t alloc_bytes = is_short ? allocs * size : op_read_u64(r);
	uint64_t free_bytes = is_short ? frees * size : op_read_u64(r);

	if (allocs > BYTES_MAX / size || frees > BYTES_MAX / size)
		return -EBADMSG;
	add->allocs += allocs;
	add->frees += frees;
	return alloc_bytes == allocs * size && free_bytes == frees * size ? 0 : -EAGAIN;
}

static int read_record(const struct op_memory *memory, uint64_t address, uint32_t minor,
		       uint32_t cycle, struct op_go_bucket *b)
{
	bool is_short = minor >= SHORT_SINCE;
	size_t len = (1 + CYCLES) * (is_short ? SHORT_CYCLE_BYTES : CYCLE_BYTES);
	uint8_t bytes[(1 + CYCLES) * CYCLE_BYTES];
	struct op_reader r = op_reader_init(bytes, len);
	int e = op_memory_read(memory, address, bytes, len);
	uint32_t i;

	b->published = b->due = b->later = (struct op_go_sums){ 0 };
	if (e == 0)
		e = read_sums(&r, is_short, b->size, &b->published);
	for (i = 0; e == 0 && i < CYCLES; i++) {
		if (i == cycle % CYCLES) {
			e = read_sums(&r, is_short, b->size, &b->due);
			continue;
		}
		e = read_sums(&r, is_short, b->size, &b->later);
		/* these two are updated all the time */
		e = e == -EAGAIN ? 0 : e;
	}
	return e;
}

int op_go_bucket_read(const struct op_memory *memory, uint64_t address, uint32_t minor,
		      uint32_t cycle, struct op_go_bucket *ret)
{
	uint64_t head[HEAD_BYTES / WORD];
	int r;

	if (!address || address % WORD || address > UINT64_MAX / 2)
		return -EBADMSG;
	r = op_memory_read(memory, address, head, sizeof(head));
	if (r < 0)
		return r;
	if (head[2] != MEMORY_PROFILE || !head[4] || head[4] > BYTES_MAX ||
	    head[5] > OP_GO_PCS_MAX)
		return -EBADMSG;
	ret->next = head[1];
	ret->size = head[4];
	ret->pcs_len = (size_t)head[5];
	if (ret->pcs_len)
		r = op_memory_read(memory, address + HEAD_BYTES, ret->pcs,
				   ret->pcs_len * sizeof(ret->pcs[0]));
	if (r < 0)
		return r;
	if (head[3] != hash_of(ret))
		return -EBADMSG;
	return read_record(memory, address + HEAD_BYTES + ret->pcs_len * WORD, minor,
			   cycle, ret);
}

/* Add the bucket that was read. */
static int add(struct op_go_profile *p, uint64_t address)
{
	const struct op_go_bucket *b = &p->bucket;
	struct op_go_entry *e = op_vec_push(&p->entries);

	if (!e)
		return -ENOMEM;
	*e = (struct op_go_entry){
		.address = address,
		.size = b->size,
		.sums = { b->published.allocs + b->due.allocs,
			  b->published.frees + b->due.frees },
		.later = b->later,
	};
	return 0;
}

/* A list with a cycle comes to the bucket at @seen again, which is renewed at each
 * power of two. */
static int walk(const struct op_memory *memory, uint64_t head, uint32_t minor,
		uint32_t cycle, struct op_go_profile *p)
{
	const struct op_go_bucket *b = &p->bucket;
	uint64_t seen = 0;
	uint64_t at;
	int r;

	p->entries.len = 0;
	p->cut = false;
	for (at = head; at; at = b->next) {
		if (at == seen)
			return -EBADMSG;
		if (p->entries.len >= OP_GO_PROFILE_BUCKETS_MAX) {
			p->cut = true;
			return 0;
		}
		if (!(p->entries.len & (p->entries.len - 1)))
			seen = at;
		r = op_go_bucket_read(memory, at, minor, cycle >> CYCLE_SHIFT,
				      &p->bucket);
		if (r == 0 && cycle & FLUSHED && (b->due.allocs || b->due.frees))
			r = -EAGAIN; /* it is being published */
		if (r == 0)
			r = add(p, at);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Before anything is published, as in a program that has not collected garbage yet,
 * runtime.MemProfile() reports all allocations. */
static void take_unpublished(struct op_go_profile *p)
{
	struct op_go_entry *e;

	op_vec_foreach(e, &p->entries)
		if (e->sums.allocs || e->sums.frees)
			return;
	op_vec_foreach(e, &p->entries)
		e->sums = e->later;
}

int op_go_profile_read(const struct op_memory *memory, const struct op_go_buckets_at *at,
		       struct op_go_profile *p)
{
	uint32_t cycle;
	uint32_t after;
	uint64_t head;
	int r;

	p->entries.len = 0;
	if (!at->list || !at->rate || !at->cycle)
		return -ENOENT;
	r = op_memory_read(memory, at->rate, &p->rate, sizeof(p->rate));
	if (r == 0)
		r = op_memory_read(memory, at->cycle, &cycle, sizeof(cycle));
	if (r == 0)
		r = op_memory_read(memory, at->list, &head, sizeof(head));
	if (r < 0)
		return r;
	if (!head || !p->rate || p->rate > RATE_MAX)
		return -ENOENT;
	r = walk(memory, head, at->minor, cycle, p);
	if (r == 0)
		r = op_memory_read(memory, at->cycle, &after, sizeof(after));
	if (r == 0 && after != cycle)
		r = -EAGAIN;
	if (r < 0)
		p->entries.len = 0;
	else
		take_unpublished(p);
	return r;
}

void op_go_profile_deinit(struct op_go_profile *p)
{
	op_vec_clear(&p->entries);
}

void op_go_buckets_readahead(struct op_readahead *a, const struct op_memory *of)
{
	op_readahead_init(a, of);
	a->below = BELOW_BYTES;
	/* -EAGAIN is for numbers that change. */
	a->again = -ETIMEDOUT;
}
