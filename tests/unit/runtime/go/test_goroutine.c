/* SPDX-License-Identifier: Apache-2.0 */
/* Goroutines in a memory that is built by hand, and what they must not be. */
#include <errno.h>
#include <string.h>

#include "op_user_types.h"
#include "runtime/go/goroutine.h"
#include "runtime/go/variables.h"
#include "test.h"

enum {
	BASE = 0x200000,
	BYTES = 1 << 20,
	ALLGS = BASE + 0x1010,	 /* the variable */
	COPY = BASE + 0x1100,	 /* another slice of the same */
	REASONS = BASE + 0x1400, /* runtime.waitReasonStrings */
	TEXTS = BASE + 0x2000,
	LIST = BASE + 0x3000,
	GS = BASE + 0x4000,
	STACKS = BASE + 0x80000,
	G_STEP = 0x200,
	STACK_STEP = 0x8000,
	COUNT = 6,
	MINOR = 26,
	RUNNABLE = 1,
	RUNNING = 2,
	SYSCALL = 3,
	WAITING = 4,
	DEAD = 6,
	COPYING = 8,
	SCAN = 0x1000,
	SLEEP = 3, /* numbers of reasons here */
};

static struct {
	struct op_memory memory;
	uint8_t bytes[BYTES];
} fake;

static int fake_read(const struct op_memory *m, uint64_t addr, void *buf, size_t len)
{
	if (addr < BASE || len > BYTES || addr - BASE > BYTES - len)
		return -EFAULT;
	memcpy(buf, fake.bytes + (addr - BASE), len);
	return 0;
}

static void put(uint64_t at, uint64_t word)
{
	memcpy(fake.bytes + (at - BASE), &word, sizeof(word));
}

static uint64_t g_at(int i)
{
	return GS + (uint64_t)i * G_STEP;
}

static void put_status(int i, uint32_t status)
{
	memcpy(fake.bytes + (g_at(i) - BASE) + op_go_layout(MINOR)->status, &status,
	       sizeof(status));
}

/* Goroutine @i, which waits with 1 KiB of its stack in use. */
static void put_g(int i)
{
	const struct op_go_layout *l = op_go_layout(MINOR);
	uint64_t lo = STACKS + (uint64_t)i * STACK_STEP;

	put(g_at(i), lo);
	put(g_at(i) + 8, lo + STACK_STEP);
	put(g_at(i) + OP_GO_SCHED_SP, lo + STACK_STEP - 1024);
	put(g_at(i) + OP_GO_SCHED_PC, 0x401000 + (uint64_t)i);
	put(g_at(i) + OP_GO_SCHED_G, g_at(i));
	put(g_at(i) + l->goid, (uint64_t)i + 1);
	put(g_at(i) + l->wait_reason, SLEEP);
	put(g_at(i) + l->start_pc, 0x402000);
	put_status(i, WAITING);
	put(LIST + (uint64_t)i * 8, g_at(i));
}

static void put_text(int i, const char *text)
{
	uint64_t at = TEXTS + (uint64_t)i * 64;

	memcpy(fake.bytes + (at - BASE), text, strlen(text));
	put(REASONS + (uint64_t)i * 16, at);
	put(REASONS + (uint64_t)i * 16 + 8, strlen(text));
}

static void build(void)
{
	int i;

	memset(fake.bytes, 0, sizeof(fake.bytes));
	fake.memory.read = fake_read;
	for (i = 0; i < COUNT; i++)
		put_g(i);
	put(ALLGS, LIST);
	put(ALLGS + 8, COUNT);
	put(ALLGS + 16, 2 * COUNT);
	/* as the collector has it */
	put(COPY, LIST);
	put(COPY + 8, COUNT);
	put(COPY + 16, COUNT);
	put_text(1, "GC assist marking");
	put_text(2, "IO wait");
	put_text(SLEEP, "sleep");
}

static int read_g(int i, struct op_goroutine *ret)
{
	return op_goroutine_read(&fake.memory, op_go_layout(MINOR), g_at(i), ret);
}

static void test_layouts(void)
{
	CHECK(!op_go_layout(0));
	CHECK(!op_go_layout(17));
	CHECK(op_go_layout(18));
	CHECK(op_go_layout(20) == op_go_layout(18));
	CHECK(op_go_layout(27));
	CHECK(!op_go_layout(28));
}

static void test_goroutine(void)
{
	struct op_goroutine g;
	struct op_goroutine again;

	build();
	CHECK_INT(read_g(2, &g), 1);
	CHECK_INT(g.id, 3);
	CHECK_INT(g.state, OP_GOROUTINE_WAITING);
	CHECK_INT(g.reason, SLEEP);
	CHECK_INT(g.pc, 0x401002);
	CHECK(op_goroutine_is_parked(&g));
	/* the collector looks at it: it waits all the same */
	put_status(2, SCAN | WAITING);
	CHECK_INT(read_g(2, &again), 1);
	CHECK(op_goroutine_same(&g, &again));
	put(g_at(2) + OP_GO_SCHED_SP, g.sp - 8);
	CHECK_INT(read_g(2, &again), 1);
	CHECK(!op_goroutine_same(&g, &again));
	put_status(2, RUNNING);
	CHECK_INT(read_g(2, &again), 1);
	CHECK(!op_goroutine_is_parked(&again));
	CHECK_INT(again.reason, 0);
	put_status(2, COPYING);
	CHECK_INT(read_g(2, &again), 1);
	CHECK(!op_goroutine_is_parked(&again));
	put_status(2, DEAD);
	CHECK_INT(read_g(2, &again), 0);
}

static void test_syscall(void)
{
	const struct op_go_layout *l = op_go_layout(MINOR);
	struct op_goroutine g;

	build();
	put_status(0, SYSCALL);
	CHECK_INT(read_g(0, &g), 1);
	CHECK_INT(g.pc, 0x401000);
	put(g_at(0) + l->syscall_sp, STACKS + STACK_STEP - 512);
	put(g_at(0) + l->syscall_sp + 8, 0x403000);
	put(g_at(0) + l->syscall_bp, STACKS + STACK_STEP - 256);
	CHECK_INT(read_g(0, &g), 1);
	CHECK_INT(g.pc, 0x403000);
	CHECK_INT(g.sp, STACKS + STACK_STEP - 512);
	CHECK_INT(g.fp, STACKS + STACK_STEP - 256);
}

static void test_no_goroutine(void)
{
	struct op_goroutine g;

	build();
	CHECK_INT(op_goroutine_read(&fake.memory, op_go_layout(MINOR), 0, &g), -EBADMSG);
	CHECK_INT(op_goroutine_read(&fake.memory, op_go_layout(MINOR), GS + 4, &g),
		  -EBADMSG);
	CHECK_INT(op_goroutine_read(&fake.memory, op_go_layout(MINOR), 8, &g), -EFAULT);
	put(g_at(0) + OP_GO_SCHED_G, g_at(1));
	CHECK_INT(read_g(0, &g), -EBADMSG);
	put(g_at(1) + 8, 0); /* the stack ends before it begins */
	CHECK_INT(read_g(1, &g), -EBADMSG);
	put(g_at(2) + 8, UINT64_MAX);
	CHECK_INT(read_g(2, &g), -EBADMSG);
	put_status(3, 77);
	CHECK_INT(read_g(3, &g), -EBADMSG);
	put(g_at(4) + OP_GO_SCHED_SP, STACKS - 8);
	CHECK_INT(read_g(4, &g), 1);
	CHECK(!op_goroutine_is_parked(&g));
	put(g_at(5) + OP_GO_SCHED_SP, STACKS + 5 * STACK_STEP + 1);
	CHECK_INT(read_g(5, &g), 1);
	CHECK(!op_goroutine_is_parked(&g));
}

static void test_stack(void)
{
	static uint8_t stack[OP_GO_STACK_BYTES];
	struct op_goroutine g;
	size_t below;
	size_t len;

	build();
	CHECK_INT(read_g(1, &g), 1);
	CHECK_INT(op_goroutine_stack(&fake.memory, &g, stack, &len, &below), 0);
	CHECK_INT(below, OP_GO_STACK_BELOW);
	CHECK_INT(len, 1024 + OP_GO_STACK_BELOW);
	g.sp = g.lo + 8; /* nearly full */
	CHECK_INT(op_goroutine_stack(&fake.memory, &g, stack, &len, &below), 0);
	CHECK_INT(below, 8);
	CHECK_INT(len, OP_GO_STACK_BYTES);
}

static void test_list(void)
{
	struct op_go_slice slice;

	build();
	CHECK_INT(op_go_read_allgs(&fake.memory, ALLGS, &slice), 0);
	CHECK_INT(slice.at, LIST);
	CHECK_INT(slice.len, COUNT);
	put(ALLGS + 8, 2 * COUNT + 1); /* longer than its room */
	CHECK_INT(op_go_read_allgs(&fake.memory, ALLGS, &slice), -EBADMSG);
	put(ALLGS + 8, COUNT);
	put(ALLGS + 16, OP_GO_SLICE_MAX + 1); /* more than a program has */
	CHECK_INT(op_go_read_allgs(&fake.memory, ALLGS, &slice), -EBADMSG);
	put(ALLGS + 16, UINT64_MAX / 4);
	CHECK_INT(op_go_read_allgs(&fake.memory, ALLGS, &slice), -EBADMSG);
	CHECK_INT(op_go_read_allgs(&fake.memory, 8, &slice), -EFAULT);
}

static void test_find_by_content(void)
{
	struct op_go_places places = { 0 };
	struct op_go_reasons reasons;

	build();
	CHECK_INT(op_go_scan(&fake.memory, op_go_layout(MINOR), BASE, BASE + 0x2000,
			     &places),
		  0);
	CHECK_INT(places.allgs, ALLGS); /* not the copy */
	CHECK_INT(places.reasons, REASONS);
	op_go_read_reasons(&fake.memory, places.reasons, &reasons);
	CHECK_STR(reasons.text[SLEEP], "sleep");
	CHECK_STR(reasons.text[0], "");
	CHECK_STR(reasons.text[4], "");

	put(GS + OP_GO_SCHED_G, 0); /* the first one is no goroutine */
	places = (struct op_go_places){ 0 };
	CHECK_INT(op_go_scan(&fake.memory, op_go_layout(MINOR), BASE, BASE + 0x2000,
			     &places),
		  0);
	CHECK_INT(places.allgs, 0);
}

static void test_forged_reasons(void)
{
	struct op_go_reasons reasons;

	build();
	put(REASONS + 2 * 16 + 8, UINT64_MAX);
	put_text(SLEEP, "line\nfeed");
	op_go_read_reasons(&fake.memory, REASONS, &reasons);
	CHECK_STR(reasons.text[1], "GC assist marking");
	CHECK_STR(reasons.text[2], "");
	CHECK_STR(reasons.text[SLEEP], "");
	op_go_read_reasons(&fake.memory, UINT64_MAX - 8, &reasons);
	CHECK_STR(reasons.text[1], "");
}

TEST_MAIN({ "layouts", test_layouts }, { "goroutine", test_goroutine },
	  { "syscall", test_syscall }, { "no_goroutine", test_no_goroutine },
	  { "stack", test_stack }, { "list", test_list },
	  { "find_by_content", test_find_by_content },
	  { "forged_reasons", test_forged_reasons })
