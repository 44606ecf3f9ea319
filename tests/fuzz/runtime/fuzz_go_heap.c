/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory profile of a Go process of any content. Input: the addresses of its three
 * variables, and pieces of its memory, each with its address. The input "recorded" is of a real
 * process (tests/live/kinds/goroutines/recorded_heap.py).
 */
#include "runtime/go/buckets.h"
#include "runtime/go/scale.h"
#include "runtime/readahead.h"

#include "pieces.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	/* Go 1.x, of each form */
	MINOR = 26,
	MINOR_SHORT = 27,
	/* three for a bucket, each twice where a piece is not there as a whole; and each bucket
	 * a second time */
	READS_MAX = 12 * OP_GO_PROFILE_BUCKETS_MAX + 16,
};

static void check(const struct op_memory *memory, uint32_t minor, struct op_go_profile *p)
{
	const struct op_go_entry *e;

	if (p->entries.len > OP_GO_PROFILE_BUCKETS_MAX || !p->rate)
		abort();
	op_vec_foreach(e, &p->entries) {
		struct op_go_estimate all = op_go_scale(e->sums.allocs, e->size, p->rate);

		if (!e->size || (e->sums.allocs && (!all.bytes || !all.objects)))
			abort();
		if (op_go_bucket_read(memory, e->address, minor, 0, &p->bucket) ==
		    -EBADMSG)
			abort();
		if (p->bucket.pcs_len > OP_GO_PCS_MAX || p->bucket.size != e->size)
			abort();
	}
}

static void read_as(const uint8_t *data, size_t size, uint32_t minor)
{
	static struct op_go_profile profile;
	static struct op_readahead ahead;
	struct op_reader r = op_reader_init(data, size);
	struct op_go_buckets_at at = { .list = op_read_u64(&r), .minor = minor };
	struct pieces in;

	at.rate = op_read_u64(&r);
	at.cycle = op_read_u64(&r);
	pieces_init(&in, &r, READS_MAX);
	op_go_buckets_readahead(&ahead, &in.memory);
	if (op_go_profile_read(&ahead.memory, &at, &profile) == 0)
		check(&ahead.memory, minor, &profile);
	else if (profile.entries.len)
		abort();
	op_go_profile_deinit(&profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_as(data, size, MINOR);
	read_as(data, size, MINOR_SHORT);
	return 0;
}
