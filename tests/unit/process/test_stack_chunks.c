/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks that are larger than a sample's copy, and records with the part above. */

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

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

/* More than the library takes for one stack. */
KEEP_FRAME static int huge_frame(void)
{
	volatile uint8_t big[9 << 20];
	int x;

	big[0] = 1;
	big[sizeof(big) - 1] = 1;
	x = sample_here();
	return x + big[0];
}

KEEP_FRAME static int above_huge(struct world *w)
{
	int x;

	sampled = w;
	x = huge_frame();
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

static void *on_large_stack(void *arg)
{
	struct world w;

	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = 4096;
	world_init(&w, NULL);
	CHECK(above_huge(NULL));
	CHECK(above_huge(&w));
	CHECK(find_frame(&w, "huge_frame") == 5);
	CHECK(find_frame(&w, "above_huge") == SIZE_MAX);
	CHECK_INT(world_frames(&w), 7);
	CHECK_STR(world_name(&w, 6), "[truncated]");
	CHECK_INT(w.sampler->guessed, 0);
	world_deinit(&w);
	return arg;
}

/* The thread is in the same call still, but its caller is too far above to be of its
 * stack. */
static void test_far_above_the_copy(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	CHECK(pthread_attr_init(&attr) == 0);
	CHECK(pthread_attr_setstacksize(&attr, 32 << 20) == 0);
	CHECK(pthread_create(&thread, &attr, on_large_stack, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(pthread_attr_destroy(&attr) == 0);
}

KEEP_FRAME static void on_signal(int number)
{
	int x = level_one(number);

	__asm__ volatile("" : "+r"(x));
}

KEEP_FRAME static int outer_signals(void)
{
	int x = raise(SIGUSR1);

	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

KEEP_FRAME static int outer_other(struct world *w)
{
	int x;

	sampled = w;
	x = sample_here();
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

/* A signal came on a stack of its own, all of which is copied. The stack that it
 * interrupted is not, and the thread has gone on there since: its callers of today are
 * not those of the signal. */
static void test_stack_below_a_signal(void)
{
	enum {
		BYTES = 64 << 10,
	};
	stack_t stack = { .ss_size = BYTES - OP_STACK_COPY_BYTES };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	struct world w;

	stack.ss_sp = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(stack.ss_sp != MAP_FAILED);
	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = OP_STACK_COPY_BYTES;
	CHECK(sigaltstack(&stack, NULL) == 0);
	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	CHECK(outer_signals());
	world_init(&w, NULL);
	CHECK(outer_other(&w));
	CHECK(find_frame(&w, "on_signal") == 4);
	CHECK(find_frame(&w, "outer_signals") == SIZE_MAX);
	CHECK(find_frame(&w, "outer_other") == SIZE_MAX);
	CHECK_STR(world_name(&w, world_frames(&w) - 1), "[truncated]");
	CHECK_INT(w.sampler->guessed, 0);
	/* the signal's frame tells what was interrupted: pc and, on aarch64, lr */
	CHECK(world_frames(&w) <= 9);
	world_deinit(&w);
	stack.ss_flags = SS_DISABLE;
	CHECK(sigaltstack(&stack, NULL) == 0);
	CHECK(munmap(stack.ss_sp, BYTES) == 0);
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
	  { "far-above-the-copy", test_far_above_the_copy },
	  { "stack-below-a-signal", test_stack_below_a_signal },
	  { "records-above", test_records_above_the_copy },
	  { "records-above-wait", test_records_above_wait },
	  { "gap-above-waits", test_gap_above_waits },
	  { "unread-page-of-sp", test_unread_page_of_sp },
	  { "root-of-the-stack", test_root_of_the_stack },
	  { "hole-in-the-copy", test_hole_in_the_copy })
