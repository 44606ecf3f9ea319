/* SPDX-License-Identifier: Apache-2.0 */
/* The memory profile of a Go process, in a memory that is built by hand, and what it must not
 * be. */
#include <errno.h>
#include <string.h>

#include "runtime/go/buckets.h"
#include "runtime/go/scale.h"
#include "runtime/readahead.h"
#include "test.h"

enum {
	BASE = 0x200000,
	STEP = 0x200, /* from one bucket to the next */
	BYTES = 16 << 20,
	LIST = BASE + 0x10, /* the variables */
	RATE = BASE + 0x18,
	CYCLE = BASE + 0x20,
	BUCKETS = BASE + 0x1000,
	NEXT = 8, /* members of a bucket */
	TYPE = 16,
	HASH = 24,
	SIZE = 32,
	DEPTH = 40,
	STACK = 48,
	PCS = 3,
	RECORD = STACK + PCS * 8,
	CYCLE_BYTES = 32,
	SHORT_CYCLE_BYTES = 16,
	THIS_CYCLE = 7, /* 7 % 3 is 1 */
	DUE = 1,
};

static struct {
	struct op_memory memory;
	uint8_t bytes[BYTES];
	unsigned int reads;
	uint64_t wake_at; /* a read of this address changes the cycle */
} fake;

static struct op_go_buckets_at where = { LIST, RATE, CYCLE, 26 };
static struct op_go_profile profile;

static void put(uint64_t at, uint64_t word)
{
	memcpy(fake.bytes + (at - BASE), &word, sizeof(word));
}

static uint64_t get(uint64_t at)
{
	uint64_t word;

	memcpy(&word, fake.bytes + (at - BASE), sizeof(word));
	return word;
}

static int fake_read(const struct op_memory *m, uint64_t addr, void *buf, size_t len)
{
	fake.reads++;
	if (addr < BASE || len > BYTES || addr - BASE > BYTES - len)
		return -EFAULT;
	memcpy(buf, fake.bytes + (addr - BASE), len);
	if (addr == fake.wake_at)
		put(CYCLE, get(CYCLE) + 2);
	return 0;
}

/* The runtime's hash, written out. */
static uint64_t hash_of(const uint64_t *words, size_t len)
{
	uint64_t h = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		h += words[i];
		h += h * 1024;
		h ^= h / 64;
	}
	h += h * 8;
	return h ^ h / 2048;
}

static uint64_t bucket_at(int i)
{
	return BUCKETS + (uint64_t)i * STEP;
}

/* What the bucket has in @part: 0 is published, 1 to 3 are cycles. */
static void put_sums(int i, int part, uint64_t allocs, uint64_t frees)
{
	bool is_short = where.minor >= 27;
	uint64_t at = bucket_at(i) + RECORD +
		      (uint64_t)part * (is_short ? SHORT_CYCLE_BYTES : CYCLE_BYTES);
	uint64_t size = get(bucket_at(i) + SIZE);

	put(at, allocs);
	put(at + 8, frees);
	if (is_short)
		return;
	put(at + 16, allocs * size);
	put(at + 24, frees * size);
}

/* Bucket @i of allocations of @size bytes. The list goes from the last one down. */
static void put_bucket(int i, uint64_t size)
{
	uint64_t key[PCS + 1] = { 0x401000 + (uint64_t)i, 0x402000, 0x403000, size };
	uint64_t at = bucket_at(i);

	put(at + NEXT, i ? bucket_at(i - 1) : 0);
	put(at + TYPE, 1);
	put(at + HASH, hash_of(key, PCS + 1));
	put(at + SIZE, size);
	put(at + DEPTH, PCS);
	memcpy(fake.bytes + (at + STACK - BASE), key, PCS * sizeof(key[0]));
}

/* @count buckets; the second one has been freed in part. */
static void build(int count)
{
	int i;

	memset(&fake, 0, sizeof(fake));
	fake.memory.read = fake_read;
	for (i = 0; i < count; i++) {
		put_bucket(i, 64);
		put_sums(i, 0, 10, i == 1 ? 4 : 0);
	}
	put(LIST, count ? bucket_at(count - 1) : 0);
	put(RATE, 524288);
	put(CYCLE, THIS_CYCLE << 1 | 1);
}

static int read_all(void)
{
	return op_go_profile_read(&fake.memory, &where, &profile);
}

static const struct op_go_entry *entry_of(int i)
{
	return &profile.entries.data[profile.entries.len - 1 - (size_t)i];
}

static void test_published(void)
{
	build(3);
	put_sums(0, 1 + (DUE + 1) % 3, 5, 1); /* later */
	CHECK_INT(read_all(), 0);
	CHECK_INT(profile.rate, 524288);
	CHECK_INT(profile.entries.len, 3);
	CHECK_INT(entry_of(0)->sums.allocs, 10);
	CHECK_INT(entry_of(0)->sums.frees, 0);
	CHECK_INT(entry_of(0)->later.allocs, 5);
	CHECK_INT(entry_of(1)->sums.frees, 4);
	CHECK_INT(entry_of(1)->size, 64);
	CHECK_INT(entry_of(2)->address, bucket_at(2));
	CHECK(!profile.cut);
	CHECK_INT(op_go_bucket_read(&fake.memory, bucket_at(2), where.minor, 0,
				    &profile.bucket),
		  0);
	CHECK_INT(profile.bucket.pcs_len, PCS);
	CHECK_INT(profile.bucket.pcs[0], 0x401002);
	op_go_profile_deinit(&profile);
}

/* The current cycle counts before it is published, and must be empty after. */
static void test_due(void)
{
	build(3);
	put_sums(2, 1 + DUE, 6, 2);
	CHECK_INT(read_all(), -EAGAIN);
	put(CYCLE, THIS_CYCLE << 1);
	CHECK_INT(read_all(), 0);
	CHECK_INT(entry_of(2)->sums.allocs, 16);
	CHECK_INT(entry_of(2)->sums.frees, 2);
	CHECK_INT(entry_of(0)->sums.allocs, 10);
	op_go_profile_deinit(&profile);
}

/* Before the first collection of garbage all there is counts. */
static void test_unpublished(void)
{
	int i;

	build(3);
	for (i = 0; i < 3; i++) {
		put_sums(i, 0, 0, 0);
		put_sums(i, 1 + (DUE + 1) % 3, 2, 1);
		put_sums(i, 1 + (DUE + 2) % 3, 3, 0);
	}
	CHECK_INT(read_all(), 0);
	CHECK_INT(entry_of(1)->sums.allocs, 5);
	CHECK_INT(entry_of(1)->sums.frees, 1);
	put_sums(2, 0, 1, 0); /* one that was published is enough */
	CHECK_INT(read_all(), 0);
	CHECK_INT(entry_of(1)->sums.allocs, 0);
	op_go_profile_deinit(&profile);
}

/* Go 1.27 has no sums of bytes. */
static void test_short(void)
{
	static const uint64_t too_many = 1ULL << 60;

	where.minor = 27;
	test_published();
	test_due();
	test_unpublished();
	build(3);
	put(bucket_at(1) + RECORD + 8, too_many);
	CHECK_INT(read_all(), -EBADMSG);
	where.minor = 26;
	op_go_profile_deinit(&profile);
}

static void test_changing(void)
{
	build(3);
	fake.wake_at = bucket_at(1);
	CHECK_INT(read_all(), -EAGAIN);
	CHECK_INT(profile.entries.len, 0);
	build(3);
	put(bucket_at(0) + RECORD + 16, 9 * 64); /* counted, and its bytes not yet */
	CHECK_INT(read_all(), -EAGAIN);
	/* in a later cycle that is of all days */
	build(3);
	put(bucket_at(0) + RECORD + CYCLE_BYTES * (1 + (DUE + 1) % 3), 1);
	CHECK_INT(read_all(), 0);
	op_go_profile_deinit(&profile);
}

static void test_none(void)
{
	struct op_go_buckets_at nowhere = { LIST, RATE, 0, 26 };

	build(0);
	CHECK_INT(read_all(), -ENOENT);
	build(2);
	put(RATE, 0);
	CHECK_INT(read_all(), -ENOENT);
	put(RATE, UINT64_MAX);
	CHECK_INT(read_all(), -ENOENT);
	build(2);
	CHECK_INT(op_go_profile_read(&fake.memory, &nowhere, &profile), -ENOENT);
	nowhere.cycle = 8;
	CHECK_INT(op_go_profile_read(&fake.memory, &nowhere, &profile), -EFAULT);
}

static void test_forged(void)
{
	static const struct {
		uint64_t member;
		uint64_t value;
	} wrong[] = {
		{ TYPE, 2 },
		{ HASH, 1 },
		{ SIZE, 0 },
		{ SIZE, 65 },
		{ SIZE, UINT64_MAX },
		{ DEPTH, 2 },
		{ DEPTH, 1025 },
		{ DEPTH, UINT64_MAX },
		{ STACK, 0x401003 },
		{ RECORD, 1ULL << 60 },
		{ RECORD + 8, UINT64_MAX },
		{ NEXT, 4 },
		{ NEXT, UINT64_MAX - 7 },
	};
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		build(3);
		put(bucket_at(1) + wrong[i].member, wrong[i].value);
		CHECK_INT(read_all(), -EBADMSG);
		CHECK_INT(profile.entries.len, 0);
	}
	build(3);
	put(bucket_at(1) + NEXT, 0x10000);
	CHECK_INT(read_all(), -EFAULT);
	op_go_profile_deinit(&profile);
}

/* A list that has no end. */
static void test_loop(void)
{
	int length;

	for (length = 1; length < 20; length++) {
		build(20);
		put(bucket_at(3) + NEXT, bucket_at(2 + length));
		CHECK_INT(read_all(), -EBADMSG);
		CHECK(fake.reads < 20 * 3 * 4);
	}
	op_go_profile_deinit(&profile);
}

/* Many: the newest are read. Each is a step above the one before, so they overlap. */
static void test_many(void)
{
	static const int many = (BYTES - 0x2000) / STEP;

	build(many);
	CHECK_INT(read_all(), 0);
	CHECK_INT(profile.entries.len, many);
	CHECK(!profile.cut);
	op_go_profile_deinit(&profile);
}

/* A list as long as one likes: every address from BUCKETS on in steps of 512 is a bucket. */
static int endless_read(const struct op_memory *m, uint64_t addr, void *buf, size_t len)
{
	uint64_t i = addr / STEP * STEP;
	uint64_t key[2] = { i, 64 };
	uint64_t bucket[STEP / 8] = {
		[1] = i + STEP, [2] = 1, [3] = hash_of(key, 2),
		[4] = 64,	[5] = 1, [6] = i,
	};

	if (addr < BUCKETS)
		return fake_read(m, addr, buf, len);
	memcpy(buf, (uint8_t *)bucket + (addr - i), len);
	return 0;
}

static void test_cut(void)
{
	build(1);
	put(LIST, BUCKETS);
	fake.memory.read = endless_read;
	CHECK_INT(read_all(), 0);
	CHECK_INT(profile.entries.len, OP_GO_PROFILE_BUCKETS_MAX);
	CHECK(profile.cut);
	op_go_profile_deinit(&profile);
}

static void test_ahead(void)
{
	static struct op_readahead ahead;
	static const int many = 1000;
	int i;

	build(many);
	op_go_buckets_readahead(&ahead, &fake.memory);
	op_readahead_limit(&ahead, 8 << 20, NULL, UINT64_MAX);
	CHECK_INT(op_go_profile_read(&ahead.memory, &where, &profile), 0);
	CHECK_INT(profile.entries.len, many);
	for (i = 0; i < many; i++)
		CHECK_INT(entry_of(i)->sums.allocs, 10);
	CHECK(fake.reads < 2 * many * STEP / OP_READAHEAD_BYTES + 100);
	/* the more there is to read, the more it costs */
	op_go_buckets_readahead(&ahead, &fake.memory);
	op_readahead_limit(&ahead, 200 << 10, NULL, UINT64_MAX);
	CHECK_INT(op_go_profile_read(&ahead.memory, &where, &profile), -ETIME);
	CHECK_INT(profile.entries.len, 0);
	CHECK(fake.reads < 300);
	/* and it takes no longer than it may */
	op_go_buckets_readahead(&ahead, &fake.memory);
	op_readahead_limit(&ahead, 8 << 20, NULL, 1);
	CHECK_INT(op_go_profile_read(&ahead.memory, &where, &profile), -ETIME);
	op_go_profile_deinit(&profile);
}

/* The numbers are those of runtime/pprof's formula in Python's arithmetic. */
static void test_scale(void)
{
	static const struct {
		uint64_t objects;
		uint64_t size;
		uint64_t rate;
		struct op_go_estimate want;
	} known[] = {
		{ 1, 16, 524288, { 32768, 524296 } },
		{ 1, 524288, 524288, { 1, 829411 } },
		{ 3, 6144, 524288, { 257, 1582097 } },
		{ 1000, 24, 524288, { 21845833, 524300000 } },
		{ 7, 1048576, 524288, { 8, 8488876 } },
		{ 1, 1 << 30, 524288, { 1, 1 << 30 } },
		{ 12345, 100, 4096, { 511848, 51184881 } },
		{ 5, 64, 1, { 5, 320 } },
		{ 0, 64, 4096, { 0, 0 } },
	};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct op_go_estimate got =
			op_go_scale(known[i].objects, known[i].size, known[i].rate);

		CHECK_INT(got.objects, known[i].want.objects);
		CHECK_INT(got.bytes, known[i].want.bytes);
	}
}

TEST_MAIN({ "published", test_published }, { "due", test_due },
	  { "unpublished", test_unpublished }, { "short", test_short },
	  { "changing", test_changing }, { "none", test_none }, { "forged", test_forged },
	  { "loop", test_loop }, { "many", test_many }, { "cut", test_cut },
	  { "ahead", test_ahead }, { "scale", test_scale })
