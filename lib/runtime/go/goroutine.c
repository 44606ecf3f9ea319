/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/go/goroutine.h"

#include <errno.h>
#include <string.h>

#include "base/checked.h"
#include "base/macros.h"
#include "base/reader.h"
#include "op_user_types.h"

enum {
	WORD = 8,
	STRING_BYTES = 16, /* a pointer and a length */

	/* runtime2.go: the states of a g. Numbers have kept their meaning. */
	G_IDLE = 0,
	G_RUNNABLE = 1,
	G_RUNNING = 2,
	G_SYSCALL = 3,
	G_WAITING = 4,
	G_UNUSED = 5,
	G_DEAD = 6,
	G_COPYING = 8, /* its stack is being moved */
	G_PREEMPTED = 9,
	G_LEAKED = 10,	   /* since 1.26 */
	G_DEAD_EXTRA = 11, /* since 1.26 */
	G_SCAN = 0x1000,   /* a flag: the collector scans its stack */
};

/* A stack has at most 1 GB (runtime.maxstacksize); its size is rounded up. */
static const uint64_t STACK_MAX = UINT64_C(1) << 31;

int op_go_read_allgs(const struct op_memory *memory, uint64_t allgs,
		     struct op_go_slice *ret)
{
	uint64_t word[3]; /* pointer, length, capacity */
	uint64_t end;
	int r = op_memory_read(memory, allgs, word, sizeof(word));

	if (r < 0)
		return r;
	if (!word[0] || word[0] % WORD || !word[1] || word[1] > word[2] ||
	    word[2] > OP_GO_SLICE_MAX || op_add_overflow(word[0], word[2] * WORD, &end))
		return -EBADMSG;
	*ret = (struct op_go_slice){ .at = word[0], .len = word[1] };
	return 0;
}

static uint64_t word_at(const struct op_reader *r, size_t at)
{
	struct op_reader part = op_reader_sub(r, at, WORD);

	return op_read_u64(&part);
}

/* Returns 0 for a state without a goroutine. */
static int state_of(uint32_t status, uint32_t *ret)
{
	switch (status & ~(uint32_t)G_SCAN) {
	case G_IDLE:
	case G_UNUSED:
	case G_DEAD:
	case G_DEAD_EXTRA:
		return 0;
	case G_RUNNABLE:
		*ret = OP_GOROUTINE_RUNNABLE;
		return 1;
	case G_RUNNING:
		*ret = OP_GOROUTINE_RUNNING;
		return 1;
	case G_SYSCALL:
		*ret = OP_GOROUTINE_SYSCALL;
		return 1;
	case G_WAITING:
		*ret = OP_GOROUTINE_WAITING;
		return 1;
	case G_PREEMPTED:
		*ret = OP_GOROUTINE_PREEMPTED;
		return 1;
	case G_LEAKED:
		*ret = OP_GOROUTINE_LEAKED;
		return 1;
	case G_COPYING:
		*ret = OP_GOROUTINE_STATES;
		return 1;
	default:
		return -EBADMSG;
	}
}

/* Where it continues. In a system call: where it entered it. */
static void read_place(const struct op_reader *r, const struct op_go_layout *layout,
		       struct op_goroutine *g)
{
	uint64_t syscall_sp = word_at(r, layout->syscall_sp);

	g->pc = word_at(r, OP_GO_SCHED_PC);
	g->sp = word_at(r, OP_GO_SCHED_SP);
	g->fp = word_at(r, layout->sched_bp);
	g->lr = word_at(r, layout->sched_lr);
	if (g->state != OP_GOROUTINE_SYSCALL || !syscall_sp)
		return;
	g->sp = syscall_sp;
	g->pc = word_at(r, (size_t)layout->syscall_sp + WORD);
	if (layout->syscall_bp)
		g->fp = word_at(r, layout->syscall_bp);
}

int op_goroutine_read(const struct op_memory *memory, const struct op_go_layout *layout,
		      uint64_t address, struct op_goroutine *ret)
{
	uint8_t bytes[OP_GO_G_BYTES];
	size_t len =
		OP_MAX((size_t)layout->start_pc + WORD, (size_t)layout->wait_reason + 1);
	struct op_reader r = op_reader_init(bytes, len);
	struct op_goroutine g = { .address = address };
	int there;

	if (!address || address % WORD)
		return -EBADMSG;
	there = op_memory_read(memory, address, bytes, len);
	if (there < 0)
		return there;
	there = state_of((uint32_t)word_at(&r, layout->status), &g.state);
	if (there <= 0)
		return there;
	g.id = word_at(&r, layout->goid);
	g.lo = word_at(&r, OP_GO_STACK);
	g.hi = word_at(&r, OP_GO_STACK + WORD);
	g.start_pc = word_at(&r, layout->start_pc);
	if (g.state == OP_GOROUTINE_WAITING || g.state == OP_GOROUTINE_LEAKED)
		g.reason = bytes[layout->wait_reason];
	read_place(&r, layout, &g);
	if (word_at(&r, OP_GO_SCHED_G) != address || !g.id || g.lo >= g.hi ||
	    g.hi - g.lo > STACK_MAX)
		return -EBADMSG;
	*ret = g;
	return 1;
}

bool op_goroutine_is_parked(const struct op_goroutine *g)
{
	return g->state != OP_GOROUTINE_RUNNING && g->state < OP_GOROUTINE_STATES &&
	       g->sp >= g->lo && g->sp < g->hi && g->sp % WORD == 0;
}

bool op_goroutine_same(const struct op_goroutine *a, const struct op_goroutine *b)
{
	return a->id == b->id && a->state == b->state && a->pc == b->pc &&
	       a->sp == b->sp && a->lo == b->lo && a->hi == b->hi;
}

int op_goroutine_stack(const struct op_memory *memory, const struct op_goroutine *g,
		       void *buf, size_t *ret_len, size_t *ret_below)
{
	size_t below = (size_t)OP_MIN(g->sp - g->lo, (uint64_t)OP_GO_STACK_BELOW);
	size_t len = (size_t)OP_MIN(g->hi - g->sp + below, (uint64_t)OP_GO_STACK_BYTES);
	int r = op_memory_read(memory, g->sp - below, buf, len);

	if (r < 0)
		return r;
	*ret_len = len;
	*ret_below = below;
	return 0;
}

/* Is it text of printable ASCII? */
static bool is_text(const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (text[i] < ' ' || text[i] > '~')
			return false;
	return len > 0;
}

void op_go_read_reasons(const struct op_memory *memory, uint64_t at,
			struct op_go_reasons *ret)
{
	size_t i;

	memset(ret, 0, sizeof(*ret));
	/* the first one is ""; the text behind the last one is never needed */
	for (i = 1; i < OP_GO_REASONS_MAX; i++) {
		char text[OP_GO_REASON_BYTES] = { 0 };
		uint64_t string[2];

		if (op_memory_read(memory, at + i * STRING_BYTES, string,
				   sizeof(string)) < 0)
			return;
		if (string[1] && string[1] < sizeof(text) &&
		    op_memory_read(memory, string[0], text, string[1]) == 0 &&
		    is_text(text, string[1]))
			memcpy(ret->text[i], text, sizeof(text));
	}
}
