/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether the child or this process makes a call. Keeps the processes that are
 * skipped after a stall, and the budget of time. */
#include "process/target/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/macros.h"
#include "process/target/task/stat.h"

enum {
	ASIDE_SHIFT_MAX = 6,
	ASIDE_STALLS_MAX = 255,
	ASIDE_STALLS_BITS = 8,
	/* resident pages of a large process: 128 MiB of 4 KiB pages, whose page tables
	 * fork(2) copies in a millisecond */
	LARGE_PAGES = 32768,
};

/* a call that ends within this time is not charged to the budget */
static const uint64_t FREE_NS = UINT64_C(1000000);
/* no call is made while the budget allows less than this wait */
static const uint64_t WAIT_MIN_NS = UINT64_C(2000000);
/* A direct read takes microseconds. If one takes this long, the next ones are not direct for a minute. */
static const uint64_t SLOW_NS = UINT64_C(5000000);
static const uint64_t SLOW_MEMORY_MS = UINT64_C(60000);
static const uint64_t SIZE_NS = UINT64_C(10000000);
/* a process's stalls are forgotten this long after its last pause ended */
static const uint64_t ASIDE_MEMORY_MS = UINT64_C(64000);

int op_target_new(const char *procfs_root, struct op_target **ret)
{
	struct op_target *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->procfs_root = strdup(procfs_root);
	if (!t->procfs_root) {
		free(t);
		return -ENOMEM;
	}
	op_tasks_init(&t->tasks);
	op_views_init(&t->views);
	t->deadline_ns = OP_TARGET_DEADLINE_NS;
	t->wait_max_ns = t->may_wait_ns = OP_TARGET_WAIT_MAX_NS;
	*ret = t;
	return 0;
}

struct op_target *op_target_free(struct op_target *t)
{
	if (!t)
		return NULL;
	op_tasks_deinit(&t->tasks);
	op_views_deinit(&t->views);
	free(t->own);
	op_map64_clear(&t->aside);
	op_map64_clear(&t->slow);
	free(t->procfs_root);
	free(t);
	return NULL;
}

void op_target_rest(struct op_target *t, uint64_t now_ns)
{
	op_tasks_rest(&t->tasks, now_ns);
}

bool op_target_is_served(struct op_target *t)
{
	return op_stall_risk_seen(&t->servers, t->procfs_root, op_clock_monotonic_ns());
}

bool op_target_is_aside(struct op_target *t, uint32_t pid)
{
	uint64_t known;
	uint64_t until_ms;
	uint64_t now_ms;

	if (!t->aside.len || !op_map64_get(&t->aside, pid, &known))
		return false;
	now_ms = op_clock_monotonic_ns() / OP_NS_PER_MS;
	until_ms = known >> ASIDE_STALLS_BITS;
	if (now_ms < until_ms)
		return true;
	if (now_ms > until_ms + ASIDE_MEMORY_MS)
		(void)op_map64_remove(&t->aside, pid);
	return false;
}

static void mark_slow(struct op_target *t, uint32_t pid, uint64_t now_ns)
{
	if (t->slow.len >= OP_TARGET_ASIDE_MAX)
		op_map64_clear(&t->slow);
	(void)op_map64_put(&t->slow, pid, now_ns / OP_NS_PER_MS + SLOW_MEMORY_MS);
}

static void set_aside(struct op_target *t, uint32_t pid)
{
	uint64_t now_ns = op_clock_monotonic_ns();
	uint64_t known = 0;
	uint64_t stalls;
	uint64_t until_ns;

	t->stats.stalled++;
	(void)op_map64_get(&t->aside, pid, &known);
	stalls = known & ASIDE_STALLS_MAX;
	until_ns = now_ns +
		   (OP_TARGET_ASIDE_NS << OP_MIN(stalls, (uint64_t)ASIDE_SHIFT_MAX));
	stalls = OP_MIN(stalls + 1, (uint64_t)ASIDE_STALLS_MAX);
	if (t->aside.len >= OP_TARGET_ASIDE_MAX)
		op_map64_clear(&t->aside);
	(void)op_map64_put(&t->aside, pid,
			   until_ns / OP_NS_PER_MS << ASIDE_STALLS_BITS | stalls);
	mark_slow(t, pid, now_ns);
}

void op_target_note_read(struct op_target *t, uint32_t pid, uint64_t begin_ns)
{
	uint64_t now_ns = op_clock_monotonic_ns();

	if (now_ns - begin_ns >= SLOW_NS)
		mark_slow(t, pid, now_ns);
}

static bool is_slow(struct op_target *t, uint32_t pid)
{
	uint64_t until_ms;

	if (!t->slow.len || !op_map64_get(&t->slow, pid, &until_ms))
		return false;
	if (op_clock_monotonic_ns() / OP_NS_PER_MS < until_ms)
		return true;
	(void)op_map64_remove(&t->slow, pid);
	return false;
}

bool op_target_may_stall(struct op_target *t, uint32_t pid)
{
	return op_target_is_served(t) || is_slow(t, pid);
}

static bool note_size(struct op_target *t, uint32_t pid, bool large)
{
	t->sizes[pid % OP_TARGET_SIZES] =
		(struct op_target_size){ pid, large, op_clock_monotonic_ns() + SIZE_NS };
	return large;
}

void op_target_on_exec(struct op_target *t, uint32_t pid)
{
	(void)note_size(t, pid, false);
}

static bool is_large(struct op_target *t, uint32_t pid)
{
	const struct op_target_size *known = &t->sizes[pid % OP_TARGET_SIZES];
	char path[OP_TARGET_PATH_MAX];
	uint64_t pages;

	if (known->pid == pid && op_clock_monotonic_ns() < known->until_ns)
		return known->large;
	if (snprintf(path, sizeof(path), "%s/%u/stat", t->procfs_root, pid) >=
	    (int)sizeof(path))
		return true;
	op_task_stat_numbers(path, OP_STAT_RESIDENT_FIELD, &pages, 1);
	return note_size(t, pid, pages > LARGE_PAGES);
}

enum op_target_by op_target_who_locks(struct op_target *t, uint32_t pid)
{
	return op_target_may_stall(t, pid) || is_large(t, pid) ? OP_TARGET_CHILD
							       : OP_TARGET_SELF;
}

static void fill(struct op_target *t, uint64_t now_ns)
{
	uint64_t more = (now_ns - t->filled_ns) / OP_TARGET_WAIT_SHARE;

	t->may_wait_ns = OP_MIN(t->may_wait_ns + more, t->wait_max_ns);
	t->filled_ns = now_ns;
}

static int begin_own(struct op_target *t, void **ret)
{
	if (!t->own)
		t->own = calloc(1, OP_TASK_DATA_BYTES);
	if (!t->own)
		return -ENOMEM;
	*ret = t->own;
	return 0;
}

int op_target_begin(struct op_target *t, uint32_t pid, enum op_target_by by, void **ret)
{
	void *data;

	if (op_target_is_aside(t, pid)) {
		t->stats.refused++;
		return -ETIMEDOUT;
	}
	t->by_self = by == OP_TARGET_SELF;
	if (t->by_self)
		return begin_own(t, ret);
	fill(t, op_clock_monotonic_ns());
	data = t->may_wait_ns >= WAIT_MIN_NS ? op_task_data(&t->tasks) : NULL;
	if (!data) {
		t->stats.refused++;
		return -EAGAIN;
	}
	*ret = data;
	return 0;
}

static int run_own(struct op_target *t, uint32_t pid, op_task_fn fn, int *ret_fd)
{
	uint64_t begin_ns = op_clock_monotonic_ns();
	int fd = -1;
	int r = fn(t->own, &fd);

	op_target_note_read(t, pid, begin_ns);
	fd = op_fd_move_up(fd);
	if (ret_fd)
		*ret_fd = fd;
	else
		op_closep(&fd);
	return r;
}

int op_target_run(struct op_target *t, uint32_t pid, op_task_fn fn, int *ret_fd)
{
	uint64_t deadline = OP_MIN(t->may_wait_ns, t->deadline_ns);
	uint64_t begin_ns;
	uint64_t charge_ns;
	int r;

	if (t->by_self)
		return run_own(t, pid, fn, ret_fd);
	t->stats.asked++;
	begin_ns = op_clock_monotonic_ns();
	r = op_task_run(&t->tasks, fn, deadline, ret_fd);
	charge_ns = t->tasks.spent_ns;
	/* A wait for a processor is not the process's fault, but a poll has to end. */
	if (op_clock_monotonic_ns() - begin_ns > deadline)
		charge_ns = OP_MAX(charge_ns, deadline);
	if (charge_ns > FREE_NS)
		t->may_wait_ns -= OP_MIN(charge_ns, t->may_wait_ns);
	if (r == -ETIMEDOUT)
		set_aside(t, pid);
	return r;
}
