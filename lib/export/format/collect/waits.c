/* SPDX-License-Identifier: Apache-2.0 */
#include "export/format/collect/waits.h"

#include <string.h>

#include "base/macros.h"
#include "export/format/collect/classes.h"

enum {
	FRAMES_MAX = 48, /* frames from the leaf that are searched */
	NEAR_MAX = 4,	 /* frames whose names alone decide */
};

/* What functions of the kernel and of C libraries wait for, by the beginning of their
 * names. The nearest to the leaf decides. Leading underscores are omitted, because they
 * differ from version to version. */
static const struct {
	const char *begins;
	enum op_wait wait;
} functions[] = {
	{ "hrtimer_nanosleep", WAIT_SLEEP },
	{ "do_nanosleep", WAIT_SLEEP },
	{ "common_nsleep", WAIT_SLEEP },
	{ "clock_nanosleep", WAIT_SLEEP },
	{ "nanosleep", WAIT_SLEEP },
	{ "futex_", WAIT_LOCK },
	{ "do_futex", WAIT_LOCK },
	{ "lll_lock_wait", WAIT_LOCK },
	{ "anon_pipe_", WAIT_PIPE },
	{ "pipe_", WAIT_PIPE },
	{ "fifo_open", WAIT_PIPE },
	{ "wait_for_partner", WAIT_PIPE },
	{ "n_tty_", WAIT_TERMINAL },
	{ "do_wait", WAIT_CHILD },
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
	{ "eventfd_", WAIT_EVENTS },
	{ "inotify_read", WAIT_EVENTS },
	{ "io_cqring_wait", WAIT_EVENTS },
	{ "read_events", WAIT_EVENTS },
	{ "poll_schedule_timeout", WAIT_EVENTS },
	{ "timerfd_", WAIT_TIMER },
	{ "do_sigtimedwait", WAIT_SIGNAL },
	{ "sigsuspend", WAIT_SIGNAL },
	{ "signalfd_", WAIT_SIGNAL },
	{ "do_sys_pause", WAIT_SIGNAL },
	{ "x64_sys_pause", WAIT_SIGNAL },
	{ "do_signal_stop", WAIT_STOP },
	{ "do_jobctl_trap", WAIT_STOP },
	{ "ptrace_", WAIT_DEBUGGER },
	{ "sk_wait_data", WAIT_NETWORK },
	{ "sk_stream_wait", WAIT_NETWORK },
	{ "skb_wait", WAIT_NETWORK },
	{ "wait_for_connect", WAIT_NETWORK },
	{ "inet_", WAIT_NETWORK },
	{ "tcp_", WAIT_NETWORK },
	{ "udp_", WAIT_NETWORK },
	{ "vsock_", WAIT_NETWORK },
	{ "sock_", WAIT_NETWORK },
	{ "unix_", WAIT_SOCKET },
	{ "netlink_", WAIT_SOCKET },
	{ "rpc_wait", WAIT_FILE_SYSTEM },
	{ "nfs_", WAIT_FILE_SYSTEM },
	{ "fuse_", WAIT_FILE_SYSTEM },
	{ "flock_lock", WAIT_FILE_LOCK },
	{ "locks_lock", WAIT_FILE_LOCK },
	{ "fcntl_setlk", WAIT_FILE_LOCK },
	{ "posix_lock", WAIT_FILE_LOCK },
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
	{ "do_semtimedop", WAIT_SEMAPHORE },
	{ "do_msg", WAIT_MESSAGE },
	{ "do_mq_timed", WAIT_MESSAGE },
	{ "mq_timed", WAIT_MESSAGE },
	{ "do_swap_page", WAIT_MEMORY },
	{ "shrink_", WAIT_MEMORY },
	{ "try_to_free", WAIT_MEMORY },
	{ "mem_cgroup_", WAIT_MEMORY },
	{ "handle_userfault", WAIT_PAGE_FAULT },
	{ "userfaultfd_", WAIT_PAGE_FAULT },
	{ "rwsem_", WAIT_KERNEL_LOCK },
	{ "mutex_lock", WAIT_KERNEL_LOCK },
	{ "rt_mutex_", WAIT_KERNEL_LOCK },
	{ "down_", WAIT_KERNEL_LOCK },
	{ "do_exit", WAIT_EXIT },
	{ "exit_to_user_mode", WAIT_CPU },
	{ "irqentry_exit", WAIT_CPU },
	{ "preempt_schedule", WAIT_CPU },
	{ "raw_irqentry_exit", WAIT_CPU },
	{ "do_sched_yield", WAIT_CPU },
	{ "cond_resched", WAIT_CPU },
	{ "asm_sysvec_", WAIT_CPU },
	{ "task_work_run", WAIT_CPU },
};

/*
 * What callers of such a function add: the purpose of a futex, or what is polled. The
 * first row that matches any of them counts, because a lock may be built on a
 * condition, but not the other way round. A star matches anywhere in the name.
 */
static const struct {
	enum op_wait of;
	const char *begins;
	enum op_wait wait;
} callers[] = {
	{ WAIT_LOCK, "take_gil", WAIT_GIL },
	{ WAIT_LOCK, "*Thread.join", WAIT_THREAD },	 /* Python's, Java's */
	{ WAIT_LOCK, "Condition.wait", WAIT_CONDITION }, /* Python's */
	{ WAIT_LOCK, "PyThread_acquire_lock", WAIT_LOCK },
	{ WAIT_LOCK, "PyMutex_Lock", WAIT_LOCK },
	{ WAIT_LOCK, "ObjectMonitor::enter", WAIT_LOCK },
	{ WAIT_LOCK, "ObjectMonitor::EnterI", WAIT_LOCK },
	{ WAIT_LOCK, "JavaThread::sleep", WAIT_SLEEP },
	{ WAIT_LOCK, "JVM_Sleep", WAIT_SLEEP },
	{ WAIT_LOCK, "java.lang.Thread.sleep", WAIT_SLEEP },
	{ WAIT_LOCK, "*ThreadPoolExecutor.getTask", WAIT_WORK },
	{ WAIT_LOCK, "*ForkJoinPool.awaitWork", WAIT_WORK },
	{ WAIT_LOCK, "java.lang.ref.ReferenceQueue.remove", WAIT_WORK },
	{ WAIT_LOCK, "java.lang.ref.Reference.waitFor", WAIT_WORK },
	{ WAIT_LOCK, "*CountDownLatch.await", WAIT_CONDITION },
	{ WAIT_LOCK, "*concurrent.Semaphore.", WAIT_SEMAPHORE },
	{ WAIT_LOCK, "*QueuedSynchronizer.acquire", WAIT_LOCK },
	{ WAIT_LOCK, "*locks.LockSupport.park", WAIT_CONDITION },
	{ WAIT_LOCK, "java.lang.Object.wait", WAIT_CONDITION },
	{ WAIT_LOCK, "JVM_MonitorWait", WAIT_CONDITION },
	{ WAIT_LOCK, "pthread_mutex_lock", WAIT_LOCK },
	{ WAIT_LOCK, "pthread_rwlock", WAIT_LOCK },
	{ WAIT_LOCK, "runtime.mPark", WAIT_WORK },
	{ WAIT_LOCK, "runtime.notesleep", WAIT_WORK },
	{ WAIT_LOCK, "runtime.notetsleep", WAIT_WORK },
	{ WAIT_LOCK, "ObjectMonitor::wait", WAIT_CONDITION },
	{ WAIT_LOCK, "*ConditionObject.await", WAIT_CONDITION },
	{ WAIT_LOCK, "*condition_variable", WAIT_CONDITION },
	{ WAIT_LOCK, "*Condvar::wait", WAIT_CONDITION }, /* Rust's */
	{ WAIT_LOCK, "*hread::park", WAIT_CONDITION },
	{ WAIT_LOCK, "*::CondVar::", WAIT_CONDITION }, /* abseil's */
	{ WAIT_LOCK, "SimpleQueue.get", WAIT_WORK }, /* multiprocessing's, with a lock */
	{ WAIT_LOCK, "g_cond_", WAIT_CONDITION },
	{ WAIT_LOCK, "pthread_cond_", WAIT_CONDITION },
	{ WAIT_LOCK, "cnd_", WAIT_CONDITION },
	{ WAIT_LOCK, "pthread_join", WAIT_THREAD },
	{ WAIT_LOCK, "pthread_clockjoin", WAIT_THREAD },
	{ WAIT_LOCK, "pthread_timedjoin", WAIT_THREAD },
	{ WAIT_LOCK, "clockwait_tid", WAIT_THREAD },
	{ WAIT_NETWORK, "unix_", WAIT_SOCKET },
	{ WAIT_NETWORK, "netlink_", WAIT_SOCKET },
	{ WAIT_EVENTS, "res_context_", WAIT_NAME },
	{ WAIT_EVENTS, "libc_res_n", WAIT_NAME },
	{ WAIT_EVENTS, "res_n", WAIT_NAME },
	{ WAIT_EVENTS, "getaddrinfo", WAIT_NAME },
	{ WAIT_EVENTS, "gethostby", WAIT_NAME },
	{ WAIT_EVENTS, "ares_", WAIT_NAME },
	{ WAIT_EVENTS, "pqSocket", WAIT_NETWORK },
	{ WAIT_EVENTS, "pqWait", WAIT_NETWORK },
	{ WAIT_EVENTS, "PQ", WAIT_NETWORK },
};

static const struct {
	const char *name;
	const char *word;
} words[WAITS] = {
	[WAIT_NONE] = { "nothing", NULL },
	[WAIT_OTHER] = { "something else", NULL },
	[WAIT_LOCK] = { "a lock", "lock" },
	[WAIT_GIL] = { "the interpreter lock (GIL)", "GIL" },
	[WAIT_CONDITION] = { "another thread", "condition" },
	[WAIT_THREAD] = { "the end of another thread", "thread" },
	[WAIT_WORK] = { "work", "work" },
	[WAIT_SLEEP] = { "sleep", "sleep" },
	[WAIT_DISK] = { "disk", "disk" },
	[WAIT_FILE_SYSTEM] = { "a file system (NFS, FUSE)", "file system" },
	[WAIT_FILE_LOCK] = { "a lock of a file", "file lock" },
	[WAIT_NETWORK] = { "network", "network" },
	[WAIT_SOCKET] = { "a socket of this host", "socket" },
	[WAIT_NAME] = { "the address of a name (DNS)", "name" },
	[WAIT_EVENTS] = { "events (poll)", "events" },
	[WAIT_PIPE] = { "a pipe", "pipe" },
	[WAIT_TERMINAL] = { "the terminal", "terminal" },
	[WAIT_CHILD] = { "a child process", "child" },
	[WAIT_TIMER] = { "a timer", "timer" },
	[WAIT_SIGNAL] = { "a signal", "signal" },
	[WAIT_STOP] = { "a signal to go on", "stop" },
	[WAIT_DEBUGGER] = { "a debugger", "debugger" },
	[WAIT_SEMAPHORE] = { "a semaphore", "semaphore" },
	[WAIT_MESSAGE] = { "a message", "message" },
	[WAIT_MEMORY] = { "memory", "memory" },
	[WAIT_PAGE_FAULT] = { "a page of memory", "page fault" },
	[WAIT_KERNEL_LOCK] = { "a lock in the kernel", "kernel lock" },
	[WAIT_EXIT] = { "its end", "exit" },
	[WAIT_CPU] = { "a CPU (run queue)", "CPU" },
};

const char *op_wait_name(enum op_wait w)
{
	return words[w].name;
}

const char *op_wait_word(enum op_wait w)
{
	return words[w].word;
}

struct name {
	const char *text; /* without leading underscores */
	size_t len;
	enum op_frame_class of;
};

static bool begins(struct name n, const char *with)
{
	size_t len = strlen(with);

	return n.len >= len && memcmp(n.text, with, len) == 0;
}

static bool fits(struct name n, const char *pattern)
{
	return *pattern == '*'
		       ? memmem(n.text, n.len, pattern + 1, strlen(pattern + 1)) != NULL
		       : begins(n, pattern);
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
			ret[n].of = classes ? (enum op_frame_class)classes[function]
					    : op_frame_class_of(c, function);
			ret[n].text = op_collect_text(c, c->functions.data[function].name,
						      &ret[n].len);
			for (; ret[n].len && *ret[n].text == '_'; ret[n].len--)
				ret[n].text++;
		}
	}
	return n;
}

/* The meaning of the recorded reason, if no frame decides. */
static enum op_wait wait_of_reason(const struct op_collect *c, uint32_t reason)
{
	static const struct {
		const char *reason;
		enum op_wait wait;
	} reasons[] = {
		{ "futex", WAIT_LOCK },
		{ "io", WAIT_DISK },
		{ "page_fault", WAIT_PAGE_FAULT },
		{ "preempted", WAIT_CPU },
		{ "sleep", WAIT_OTHER },
		{ "on_cpu", WAIT_NONE }, /* of wall */
		/* states of threads */
		{ "running", WAIT_NONE },
		{ "runnable", WAIT_CPU },
		{ "sleeping", WAIT_OTHER },
		{ "uninterruptible", WAIT_OTHER },
		{ "stopped", WAIT_STOP },
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

/* The callers of @names[0], which waits for @wait, may be more specific. Otherwise
 * @unless. */
static enum op_wait wait_of_callers(enum op_wait wait, const struct name *names,
				    size_t len, enum op_wait unless)
{
	size_t i, j;

	for (j = 0; j < OP_ARRAY_SIZE(callers); j++) {
		if (callers[j].of != wait)
			continue;
		for (i = 0; i < len; i++) {
			/* A function of the program may be called PQ_sort() */
			if (wait == WAIT_EVENTS && names[i].of == OP_CLASS_OWN)
				continue;
			if (fits(names[i], callers[j].begins))
				return callers[j].wait;
		}
	}
	return unless;
}

static enum op_wait wait_of_function(struct name name)
{
	size_t i;

	/* Names of other code mean nothing here. */
	if (name.of != OP_CLASS_KERNEL && name.of != OP_CLASS_LIBC)
		return WAIT_NONE;
	for (i = 0; i < OP_ARRAY_SIZE(functions); i++)
		if (begins(name, functions[i].begins))
			return functions[i].wait;
	return WAIT_NONE;
}

enum op_wait op_wait_of(const struct op_collect *c, const uint8_t *classes,
			const struct op_collect_stack *s)
{
	enum op_wait reason = wait_of_reason(c, s->reason), wait = WAIT_NONE;
	struct name names[FRAMES_MAX];
	size_t len, i;
	bool waits = reason != WAIT_NONE;

	if (reason == WAIT_CPU || reason == WAIT_KERNEL_LOCK)
		return reason;
	len = names_of(c, classes, s, names);
	for (i = 0; i < len; i++) {
		waits |= names[i].of == OP_CLASS_KERNEL && begins(names[i], "schedule");
		wait = waits ? wait_of_function(names[i]) : WAIT_NONE;
		/* A thread that sleeps was not run instead of another one. */
		if (wait != WAIT_NONE && (wait != WAIT_CPU || reason == WAIT_NONE))
			return wait_of_callers(wait, names + i, len - i, wait);
	}
	/* Without kernel frames the function of a lock decides. */
	if (reason == WAIT_LOCK || reason == WAIT_OTHER)
		return wait_of_callers(
			WAIT_LOCK, names,
			reason == WAIT_LOCK ? len : OP_MIN(len, (size_t)NEAR_MAX),
			reason);
	return reason != WAIT_NONE ? reason : waits ? WAIT_OTHER : WAIT_NONE;
}
