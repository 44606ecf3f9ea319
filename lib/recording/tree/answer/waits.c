/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/tree/answer/waits.h"

#include <stdbool.h>
#include <string.h>

#include "base/macros.h"
#include "export/format/classes.h"

enum {
	FRAMES_MAX = 48, /* from the leaf: what waits is there */
	NEAR_MAX = 4,	 /* frames whose names alone tell */
};

/* What functions of the kernel and of C libraries wait for, by the beginning of their names. Those
 * nearest to the leaf decide. */
static const struct {
	const char *begins;
	enum wait wait;
} functions[] = {
	{ "hrtimer_nanosleep", WAIT_SLEEP },
	{ "do_nanosleep", WAIT_SLEEP },
	{ "common_nsleep", WAIT_SLEEP },
	{ "clock_nanosleep", WAIT_SLEEP },
	{ "nanosleep", WAIT_SLEEP },
	{ "futex_", WAIT_LOCK },
	{ "__futex_", WAIT_LOCK },
	{ "do_futex", WAIT_LOCK },
	{ "__lll_lock_wait", WAIT_LOCK },
	{ "anon_pipe_", WAIT_PIPE },
	{ "pipe_read", WAIT_PIPE },
	{ "pipe_write", WAIT_PIPE },
	{ "pipe_wait", WAIT_PIPE },
	{ "wait_for_partner", WAIT_PIPE },
	{ "n_tty_", WAIT_TERMINAL },
	{ "do_wait", WAIT_CHILD },
	{ "__do_wait", WAIT_CHILD },
	{ "kernel_wait", WAIT_CHILD },
	{ "wait4", WAIT_CHILD },
	{ "waitid", WAIT_CHILD },
	{ "ep_poll", WAIT_EVENTS },
	{ "do_epoll_wait", WAIT_EVENTS },
	{ "epoll_wait", WAIT_EVENTS },
	{ "do_poll", WAIT_EVENTS },
	{ "do_sys_poll", WAIT_EVENTS },
	{ "do_select", WAIT_EVENTS },
	{ "core_sys_select", WAIT_EVENTS },
	{ "eventfd_read", WAIT_EVENTS },
	{ "io_cqring_wait", WAIT_EVENTS },
	{ "poll_schedule_timeout", WAIT_EVENTS },
	{ "timerfd_read", WAIT_TIMER },
	{ "timerfd_", WAIT_TIMER },
	{ "do_sigtimedwait", WAIT_SIGNAL },
	{ "sigsuspend", WAIT_SIGNAL },
	{ "__x64_sys_pause", WAIT_SIGNAL },
	{ "do_signal_stop", WAIT_SIGNAL },
	{ "ptrace_stop", WAIT_SIGNAL },
	{ "sk_wait_data", WAIT_NETWORK },
	{ "sk_stream_wait", WAIT_NETWORK },
	{ "__skb_wait", WAIT_NETWORK },
	{ "skb_wait", WAIT_NETWORK },
	{ "wait_for_connect", WAIT_NETWORK },
	{ "inet_", WAIT_NETWORK },
	{ "__inet_", WAIT_NETWORK },
	{ "tcp_", WAIT_NETWORK },
	{ "udp_", WAIT_NETWORK },
	{ "unix_", WAIT_NETWORK },
	{ "netlink_", WAIT_NETWORK },
	{ "sock_", WAIT_NETWORK },
	{ "rpc_wait", WAIT_NETWORK },
	{ "nfs_", WAIT_NETWORK },
	{ "fuse_", WAIT_DISK },
	{ "io_schedule", WAIT_DISK },
	{ "folio_wait", WAIT_DISK },
	{ "wait_on_page", WAIT_DISK },
	{ "wait_on_buffer", WAIT_DISK },
	{ "submit_bio_wait", WAIT_DISK },
	{ "blk_", WAIT_DISK },
	{ "blkdev_", WAIT_DISK },
	{ "jbd2_", WAIT_DISK },
	{ "ext4_", WAIT_DISK },
	{ "xfs_", WAIT_DISK },
	{ "btrfs_", WAIT_DISK },
	{ "wbt_wait", WAIT_DISK },
	{ "rq_qos_wait", WAIT_DISK },
	{ "filemap_", WAIT_DISK },
	{ "balance_dirty_pages", WAIT_DISK },
	{ "do_swap_page", WAIT_MEMORY },
	{ "shrink_", WAIT_MEMORY },
	{ "try_to_free", WAIT_MEMORY },
	{ "mem_cgroup_", WAIT_MEMORY },
	{ "rwsem_", WAIT_KERNEL_LOCK },
	{ "__mutex_lock", WAIT_KERNEL_LOCK },
	{ "mutex_lock", WAIT_KERNEL_LOCK },
	{ "rt_mutex_", WAIT_KERNEL_LOCK },
	{ "down_", WAIT_KERNEL_LOCK },
	{ "exit_to_user_mode", WAIT_CPU },
	{ "irqentry_exit", WAIT_CPU },
	{ "preempt_schedule", WAIT_CPU },
	{ "raw_irqentry_exit", WAIT_CPU },
	{ "do_sched_yield", WAIT_CPU },
	{ "__cond_resched", WAIT_CPU },
	{ "cond_resched", WAIT_CPU },
	{ "asm_sysvec_", WAIT_CPU },
	{ "task_work_run", WAIT_CPU },
};

/* What the callers of a futex say of it, nearest to the leaf first. */
static const struct {
	const char *part;
	enum wait wait;
} futex_callers[] = {
	{ "take_gil", WAIT_GIL },
	{ "PyThread_acquire_lock", WAIT_LOCK },
	{ "PyMutex_Lock", WAIT_LOCK },
	{ "pthread_mutex_lock", WAIT_LOCK },
	{ "pthread_rwlock", WAIT_LOCK },
	{ "ObjectMonitor::enter", WAIT_LOCK },
	{ "ObjectMonitor::wait", WAIT_CONDITION },
	{ "ConditionObject.await", WAIT_CONDITION },
	{ "pthread_cond_", WAIT_CONDITION },
	{ "condition_variable", WAIT_CONDITION },
	{ "pthread_join", WAIT_CONDITION },
	{ "clockwait_tid", WAIT_CONDITION },
	{ "runtime.notesleep", WAIT_CONDITION },
};

/* What the callers of a poll say of it. What else is polled has a number and no name. */
static const struct {
	const char *begins;
	enum wait wait;
} poll_callers[] = {
	{ "__res_context_", WAIT_NAME }, { "__libc_res_n", WAIT_NAME },
	{ "res_nsearch", WAIT_NAME },	 { "res_nquery", WAIT_NAME },
	{ "res_nsend", WAIT_NAME },	 { "getaddrinfo", WAIT_NAME },
	{ "gethostby", WAIT_NAME },	 { "ares_", WAIT_NAME },
	{ "pqSocket", WAIT_NETWORK },	 { "pqWait", WAIT_NETWORK },
	{ "PQ", WAIT_NETWORK },
};

const char *wait_name(enum wait w)
{
	static const char *const names[WAITS] = {
		[WAIT_NONE] = "nothing",
		[WAIT_OTHER] = "something else",
		[WAIT_LOCK] = "a lock",
		[WAIT_GIL] = "the interpreter lock (GIL)",
		[WAIT_CONDITION] = "another thread",
		[WAIT_SLEEP] = "sleep",
		[WAIT_DISK] = "disk",
		[WAIT_NETWORK] = "network",
		[WAIT_NAME] = "the address of a name (DNS)",
		[WAIT_EVENTS] = "events (poll)",
		[WAIT_PIPE] = "a pipe",
		[WAIT_TERMINAL] = "the terminal",
		[WAIT_CHILD] = "a child process",
		[WAIT_TIMER] = "a timer",
		[WAIT_SIGNAL] = "a signal",
		[WAIT_MEMORY] = "memory",
		[WAIT_KERNEL_LOCK] = "a lock in the kernel",
		[WAIT_CPU] = "a CPU (run queue)",
	};

	return names[w];
}

struct name {
	const char *text;
	size_t len;
	enum op_frame_class of;
};

static bool begins(struct name n, const char *with)
{
	size_t len = strlen(with);

	return n.len >= len && memcmp(n.text, with, len) == 0;
}

static bool has(struct name n, const char *part)
{
	return memmem(n.text, n.len, part, strlen(part)) != NULL;
}

/* The names of the frames of @s, leaf first. Returns how many. */
static size_t names_of(const struct op_collect *c, const uint8_t *classes,
		       const struct op_collect_stack *s, struct name ret[FRAMES_MAX])
{
	const struct op_collect_location *l;
	uint32_t function, i, j;
	size_t n = 0;

	for (i = 0; i < s->locations_len; i++) {
		l = &c->locations.data[c->location_numbers.data[s->locations + i]];
		for (j = 0; j < l->lines_len && n < FRAMES_MAX; j++, n++) {
			function = c->lines.data[l->lines + j].function;
			ret[n].of = (enum op_frame_class)classes[function];
			ret[n].text = op_collect_text(c, c->functions.data[function].name,
						      &ret[n].len);
		}
	}
	return n;
}

/* What the recorded reason says, where no frame does. */
static enum wait wait_of_reason(const struct op_collect *c, uint32_t reason)
{
	static const struct {
		const char *reason;
		enum wait wait;
	} reasons[] = {
		{ "futex", WAIT_LOCK },
		{ "io", WAIT_DISK },
		{ "preempted", WAIT_CPU },
		{ "sleep", WAIT_OTHER },
		/* states of threads */
		{ "running", WAIT_NONE },
		{ "runnable", WAIT_CPU },
		{ "sleeping", WAIT_OTHER },
		{ "uninterruptible", WAIT_DISK },
		{ "stopped", WAIT_SIGNAL },
	};
	struct name n;
	size_t i;

	n.text = op_collect_text(c, reason, &n.len);
	if (!n.len)
		return WAIT_NONE;
	for (i = 0; i < OP_ARRAY_SIZE(reasons); i++)
		if (n.len == strlen(reasons[i].reason) && begins(n, reasons[i].reason))
			return reasons[i].wait;
	/* the types of locks: of the kernel's */
	return WAIT_KERNEL_LOCK;
}

/* Whose futex it is, or WAIT_NONE. */
static enum wait wait_of_futex(const struct name *names, size_t len)
{
	size_t i, j;

	for (i = 0; i < len; i++)
		for (j = 0; j < OP_ARRAY_SIZE(futex_callers); j++)
			if (has(names[i], futex_callers[j].part))
				return futex_callers[j].wait;
	return WAIT_NONE;
}

static enum wait wait_of_poll(const struct name *names, size_t len)
{
	size_t i, j;

	for (i = 0; i < len; i++)
		for (j = 0; j < OP_ARRAY_SIZE(poll_callers); j++)
			if (names[i].of != OP_CLASS_OWN &&
			    begins(names[i], poll_callers[j].begins))
				return poll_callers[j].wait;
	return WAIT_EVENTS;
}

/* The callers of @names[0], which waits for @wait, may say more of it. */
static enum wait wait_of_callers(enum wait wait, const struct name *names, size_t len)
{
	enum wait futex = wait == WAIT_LOCK ? wait_of_futex(names, len) : WAIT_NONE;

	if (futex)
		return futex;
	return wait == WAIT_EVENTS ? wait_of_poll(names, len) : wait;
}

enum wait wait_of(const struct op_collect *c, const uint8_t *classes,
		  const struct op_collect_stack *s)
{
	enum wait reason = wait_of_reason(c, s->reason), futex;
	struct name names[FRAMES_MAX];
	size_t len, i, j;
	bool waits = reason != WAIT_NONE;

	if (reason == WAIT_CPU || reason == WAIT_KERNEL_LOCK)
		return reason;
	len = names_of(c, classes, s, names);
	for (i = 0; i < len; i++) {
		/* Names of others' functions mean nothing here. */
		if (names[i].of != OP_CLASS_KERNEL && names[i].of != OP_CLASS_LIBC)
			continue;
		waits |= begins(names[i], "schedule") || begins(names[i], "__schedule");
		if (!waits)
			continue;
		for (j = 0; j < OP_ARRAY_SIZE(functions); j++) {
			if (begins(names[i], functions[j].begins))
				return wait_of_callers(functions[j].wait, names + i,
						       len - i);
		}
	}
	/* Without the kernel's part a lock's own function tells. */
	futex = reason == WAIT_LOCK ? wait_of_futex(names, len)
		: reason == WAIT_OTHER
			? wait_of_futex(names, OP_MIN(len, (size_t)NEAR_MAX))
			: WAIT_NONE;
	if (futex)
		return futex;
	return reason != WAIT_NONE ? reason : waits ? WAIT_OTHER : WAIT_NONE;
}
