/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks that are larger than a sample's copy, and records with the part above. */

#include "sample/state.h"
#include "snapshot.h"
#include "test.h"
#include "world.h"

/* The sample comes while the thread is in sample_here(). NULL: the snapshot is taken there. No
 * frame has it, so that the frames of two calls may be equal. */
static struct world *sampled;

KEEP_FRAME static int sample_here(void)
{
	int x = 1;

	if (sampled)
		CHECK_OK(world_first_sample(sampled, world_self(), &snapshot.registers,
					    snapshot.stack, snapshot.len));
	else
		x = level_one(0);
	return x + !x;
}

/* A frame of 24 KiB, in which the copy of the stack ends. */
KEEP_FRAME static int deep_frame(uint8_t number)
{
	volatile uint8_t big[24 << 10];
	int x;

	big[0] = number;
	big[sizeof(big) - 1] = number;
	x = sample_here();
	return x + big[0];
}

KEEP_FRAME static int outer_frame(void)
{
	int x;

	sampled = NULL;
	x = deep_frame(1);
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

KEEP_FRAME static int later_frame(struct world *w, uint8_t number)
{
	int x;

	sampled = w;
	x = deep_frame(number);
	__asm__ volatile("" : "+r"(x));
	return x + 2;
}

/* Overwrite what frames that have returned left behind: they are no longer there to be read. */
KEEP_FRAME static void wipe_stack(void)
{
	volatile uint8_t big[96 << 10];
	size_t i;

	for (i = 0; i < sizeof(big); i++)
		big[i] = 0xa5;
}

static size_t find_frame(const struct world *w, const char *name)
{
	size_t i;

	for (i = 0; i < world_frames(w); i++)
		if (strcmp(world_name(w, i), name) == 0)
			return i;
	return SIZE_MAX;
}

/* The thread has run on, to a call of the same function at the same depth. */
static void test_stack_above_the_copy(void)
{
	struct world w;

	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = 4096;
	world_init(&w, NULL);
	CHECK(outer_frame());
	/* The variables are not what they were. */
	CHECK(later_frame(&w, 2));
	CHECK(find_frame(&w, "deep_frame") == 5);
	CHECK(find_frame(&w, "later_frame") == SIZE_MAX);
	CHECK_STR(world_name(&w, world_frames(&w) - 1), "[truncated]");
	CHECK_INT(w.sampler->guessed, 0);
	/* Nothing tells the two calls apart: the callers are marked. */
	CHECK(later_frame(&w, 1));
	CHECK(find_frame(&w, "deep_frame") == 5);
	CHECK(find_frame(&w, "later_frame") == 6);
	CHECK_INT(w.sampler->guessed, world_frames(&w) - 6);
	world_deinit(&w);
}

/* How far the end of its page is from @at. */
static size_t page_end(uint64_t at)
{
	return 4096 - (size_t)(at & 4095);
}

/* Records before the sample have the rest of the snapshot, in pieces of 4,096 bytes from
 * @gap bytes above the copy on, of thread @tid. */
static void add_in_pieces(struct world *w, uint32_t tid, size_t gap)
{
	const size_t copy = 4096;
	size_t at = copy + gap;

	for (; at < snapshot.len; at += copy)
		CHECK_OK(world_above(w, tid, snapshot.registers.sp + at,
				     snapshot.stack + at,
				     OP_MIN(copy, snapshot.len - at)));
	CHECK_OK(world_first_sample(w, world_self(), &snapshot.registers, snapshot.stack,
				    copy));
}

static void test_records_above_the_copy(void)
{
	struct world w;

	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = sizeof(snapshot.stack);
	CHECK(outer_frame());
	world_init(&w, NULL);
	/* The thread has left all of it, and it is whole. */
	add_in_pieces(&w, world_self(), 0);
	CHECK(find_frame(&w, "deep_frame") == 5);
	CHECK(find_frame(&w, "outer_frame") == 6);
	CHECK(find_frame(&w, "main") != SIZE_MAX);
	CHECK(!strstr(world_name(&w, world_frames(&w) - 1), "error"));
	/* What does not fit is not taken. */
	add_in_pieces(&w, world_self() + 1, 0);
	CHECK(find_frame(&w, "outer_frame") == SIZE_MAX);
	add_in_pieces(&w, world_self(), 8);
	CHECK(find_frame(&w, "outer_frame") == SIZE_MAX);
	/* It was for that sample alone. */
	CHECK_OK(world_above(&w, world_self(), snapshot.registers.sp + 4096,
			     snapshot.stack + 4096, OP_STACK_COPY_BYTES));
	w.now_ns++;
	CHECK_OK(world_first_sample(&w, world_self(), &snapshot.registers, snapshot.stack,
				    4096));
	CHECK(find_frame(&w, "outer_frame") == SIZE_MAX);
	CHECK_INT(
		world_above(&w, world_self(), 0, snapshot.stack, OP_STACK_COPY_BYTES + 1),
		-EBADMSG);
	world_deinit(&w);
}

/* Send where the stack begins, from the page on that @at is in. */
static void add_root(struct world *w, uint64_t at)
{
	const uint64_t sp = snapshot.registers.sp;
	uint64_t page = at & ~UINT64_C(4095);
	int i;

	for (i = 0; i < OP_ROOT_PAGES && page < sp + snapshot.len; i++, page += 4096)
		CHECK_OK(world_root(w, world_self(), page, snapshot.stack + (page - sp),
				    OP_MIN(4096, sp + snapshot.len - page)));
}

/* The copy ends in the large frame, and what stands above that comes apart. @waits: the sample
 * is taken later. */
static void check_root(bool waits)
{
	struct world w;
	uint64_t sp;
	uint64_t fp;

	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = sizeof(snapshot.stack);
	CHECK(outer_frame());
	wipe_stack();
	sp = snapshot.registers.sp;
	fp = sp + 24 * 1024; /* in the large frame, or little above it */
	world_init(&w, NULL);
	w.waits = waits;
	add_root(&w, fp - 4096);
	CHECK_OK(world_first_sample(&w, world_self(), &snapshot.registers, snapshot.stack,
				    4096));
	CHECK(find_frame(&w, "deep_frame") == 5);
	CHECK(find_frame(&w, "outer_frame") == 6);
	CHECK(find_frame(&w, "main") != SIZE_MAX);
	/* It was for that sample alone. */
	CHECK_OK(world_first_sample(&w, world_self(), &snapshot.registers, snapshot.stack,
				    4096));
	CHECK(find_frame(&w, "outer_frame") == SIZE_MAX);
	CHECK_INT(
		world_root(&w, world_self(), 0, snapshot.stack, OP_STACK_COPY_BYTES + 1),
		-EBADMSG);
	world_deinit(&w);
}

static void test_root_of_the_stack(void)
{
	check_root(false);
	check_root(true);
}

/* A page that is all zero was not copied: no return address is read from it. */
static void test_hole_in_the_copy(void)
{
	struct world w;
	uint64_t page;

	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = sizeof(snapshot.stack);
	CHECK(outer_frame());
	wipe_stack();
	page = page_end(snapshot.registers.sp);
	memset(snapshot.stack + page, 0, snapshot.len - page);
	world_init(&w, NULL);
	CHECK_OK(world_first_sample(&w, world_self(), &snapshot.registers, snapshot.stack,
				    OP_STACK_COPY_BYTES));
	CHECK(find_frame(&w, "main") == SIZE_MAX);
	CHECK_STR(world_name(&w, world_frames(&w) - 1), "[truncated]");
	world_deinit(&w);
}

/* Nothing of sp's own page could be read: there is no return address of zero in it. */
static void check_unread(bool waits)
{
	struct world w;

	world_init(&w, NULL);
	w.waits = waits;
	w.stack_below = OP_STACK_UNREAD;
	CHECK_OK(world_first_sample(&w, world_self(), &snapshot.registers, snapshot.stack,
				    snapshot.len));
	CHECK_STR(world_name(&w, 0), "take_snapshot");
	CHECK_STR(world_name(&w, world_frames(&w) - 1), "[truncated]");
	world_deinit(&w);
}

static void test_unread_page_of_sp(void)
{
	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = OP_STACK_COPY_BYTES;
	CHECK(outer_frame());
	wipe_stack();
	memset(snapshot.stack, 0, page_end(snapshot.registers.sp));
	check_unread(false);
	check_unread(true);
}

/* There was no time for the tables of the sample: what stands above waits with it. */
static void test_records_above_wait(void)
{
	const size_t copy = 4096;
	struct world w;
	size_t at;

	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = sizeof(snapshot.stack);
	CHECK(outer_frame());
	world_init(&w, NULL);
	for (at = copy; at < snapshot.len; at += copy)
		CHECK_OK(world_above(&w, world_self(), snapshot.registers.sp + at,
				     snapshot.stack + at,
				     OP_MIN(copy, snapshot.len - at)));
	op_allowance_until(&w.allowance, 1);
	CHECK_INT(world_first_sample(&w, world_self(), &snapshot.registers,
				     snapshot.stack, copy),
		  -EINPROGRESS);
	op_allowance_until(&w.allowance, 0);
	w.now_ns--; /* the same sample */
	CHECK_OK(world_first_sample(&w, world_self(), &snapshot.registers, snapshot.stack,
				    copy));
	CHECK(find_frame(&w, "outer_frame") == 6);
	world_deinit(&w);
}

/* The same where the last page of the copy is missing, so that what stands above it begins
 * further up; and as many bytes came of that as may come. */
static void test_gap_above_waits(void)
{
	struct world w;
	size_t copy;
	size_t at;

	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = sizeof(snapshot.stack);
	CHECK(outer_frame());
	wipe_stack();
	copy = page_end(snapshot.registers.sp) + 4096;
	at = copy + 4096;
	world_init(&w, NULL);
	for (int i = 0; i < OP_CHUNK_RECORDS; i++, at += OP_STACK_COPY_BYTES)
		CHECK_OK(world_above(&w, world_self(), snapshot.registers.sp + at,
				     snapshot.stack + at, OP_STACK_COPY_BYTES));
	op_allowance_until(&w.allowance, 1);
	CHECK_INT(world_first_sample(&w, world_self(), &snapshot.registers,
				     snapshot.stack, copy),
		  -EINPROGRESS);
	op_allowance_until(&w.allowance, 0);
	w.now_ns--; /* the same sample */
	CHECK_OK(world_first_sample(&w, world_self(), &snapshot.registers, snapshot.stack,
				    copy));
	CHECK(find_frame(&w, "outer_frame") == 6);
	CHECK(find_frame(&w, "main") != SIZE_MAX);
	world_deinit(&w);
}

TEST_MAIN({ "above-the-copy", test_stack_above_the_copy },
	  { "records-above", test_records_above_the_copy },
	  { "records-above-wait", test_records_above_wait },
	  { "gap-above-waits", test_gap_above_waits },
	  { "unread-page-of-sp", test_unread_page_of_sp },
	  { "root-of-the-stack", test_root_of_the_stack },
	  { "hole-in-the-copy", test_hole_in_the_copy })
