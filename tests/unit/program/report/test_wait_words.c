/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread waits for: stacks as the kernels, C libraries and runtimes have them. */
#include "export/format/collect/waits.h"

#include <string.h>

#include "base/macros.h"
#include "request.h"
#include "test.h"

struct frame {
	const char *type; /* "kernel", or of which module a native one is */
	const char *name;
};
#define K(name)                                                                          \
	{                                                                                \
		"kernel", name                                                           \
	}
#define LIBC(name)                                                                       \
	{                                                                                \
		"libc.so.6", name                                                        \
	}
#define SLEEP K("__schedule"), K("schedule")
#define FUTEX SLEEP, K("futex_do_wait"), K("__futex_wait"), K("do_futex")
#define JAVA                                                                             \
	FUTEX, LIBC("pthread_cond_wait"),                                                \
	{                                                                                \
		"libjvm.so", ""                                                          \
	}
#define PARK                                                                             \
	JAVA, { "j", "jdk.internal.misc.Unsafe.park" },                                  \
	{                                                                                \
		"j", "java.util.concurrent.locks.LockSupport.park"                       \
	}

static const struct known {
	const char *state;
	const char *word;
	struct frame frames[12];
} known[] = {
	{ "sleeping", "lock", { FUTEX, LIBC("pthread_mutex_lock"), { "a", "work" } } },
	{ "sleeping", "condition", { FUTEX, LIBC("__pthread_cond_wait"), { "a", "f" } } },
	{ "sleeping", "thread", { FUTEX, LIBC("__pthread_clockjoin_ex"), { "a", "f" } } },
	/* Runtimes make locks of conditions. */
	{ "sleeping",
	  "GIL",
	  { FUTEX, LIBC("pthread_cond_timedwait"), { "libpython3.11.so", "take_gil" } } },
	{ "sleeping",
	  "lock",
	  { FUTEX,
	    LIBC("pthread_cond_wait"),
	    { "libjvm.so", "ObjectMonitor::enter(JavaThread*)" } } },
	{ "sleeping",
	  "sleep",
	  { FUTEX, LIBC("pthread_cond_timedwait"), { "libjvm.so", "JVM_Sleep" } } },
	{ "sleeping",
	  "thread",
	  { JAVA, { "j", "java.lang.Object.wait" }, { "j", "java.lang.Thread.join" } } },
	{ "sleeping", "condition", { JAVA, { "j", "java.lang.Object.wait0" } } },
	{ "sleeping",
	  "thread",
	  { FUTEX,
	    { "libpython3.11.so", "PyThread_acquire_lock_timed" },
	    { "p", "Thread.join" } } },
	{ "sleeping",
	  "condition",
	  { FUTEX,
	    { "libpython3.11.so", "PyThread_acquire_lock_timed" },
	    { "p", "Condition.wait" },
	    { "p", "Queue.get" } } },
	{ "sleeping", "condition", { PARK, { "j", "a.Queue.take" } } },
	/* Pools without a task: of GLib, abseil, Rust, multiprocessing. */
	{ "sleeping", "condition", { FUTEX, { "libglib-2.0.so.0", "g_cond_wait" } } },
	{ "sleeping", "condition", { FUTEX, { "a", "absl::CondVar::WaitCommon(…)" } } },
	{ "sleeping",
	  "condition",
	  { FUTEX, { "a", "std::sys::sync::condvar::futex::Condvar::wait" } } },
	{ "sleeping", "condition", { FUTEX, { "a", "std::thread::park" } } },
	{ "sleeping",
	  "work",
	  { FUTEX,
	    LIBC("__new_sem_wait_slow64.constprop.0"),
	    { "p", "SimpleQueue.get" },
	    { "p", "worker" } } },
	{ "sleeping",
	  "lock",
	  { FUTEX, { "a", "std::sys::sync::mutex::futex::Mutex::lock_contended" } } },
	{ "sleeping",
	  "condition",
	  { PARK,
	    { "j", "java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire" },
	    { "j", "java.util.concurrent.CountDownLatch.await" } } },
	{ "sleeping",
	  "lock",
	  { PARK,
	    { "j", "java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire" },
	    { "j", "java.util.concurrent.locks.ReentrantLock.lock" } } },
	{ "sleeping",
	  "work",
	  { PARK, { "j", "java.util.concurrent.ThreadPoolExecutor.getTask" } } },
	{ "sleeping",
	  "work",
	  { FUTEX, { "go", "runtime.futex" }, { "go", "runtime.mPark" } } },
	/* The innermost function decides, and none of a program's own. */
	{ "sleeping",
	  "events",
	  { SLEEP, K("do_epoll_wait"), LIBC("epoll_wait"), { "a", "tcp_serve" } } },
	{ "sleeping", "kernel lock", { SLEEP, K("__mutex_lock"), K("pipe_write") } },
	{ "sleeping", "pipe", { SLEEP, K("anon_pipe_read"), K("vfs_read") } },
	{ "sleeping",
	  "network",
	  { SLEEP, K("__skb_wait_for_more_packets"), K("udp_recvmsg") } },
	{ "sleeping",
	  "socket",
	  { SLEEP, K("__skb_wait_for_more_packets"), K("unix_dgram_recvmsg") } },
	{ "sleeping",
	  "socket",
	  { SLEEP, K("unix_stream_read_generic"), K("sock_recvmsg") } },
	{ "sleeping", "name", { SLEEP, K("do_poll"), LIBC("__res_context_send") } },
	{ "uninterruptible", "disk", { K("io_schedule"), K("folio_wait_bit_common") } },
	{ "uninterruptible",
	  "file system",
	  { SLEEP, K("request_wait_answer"), K("fuse_get_req") } },
	{ "sleeping", "file lock", { SLEEP, K("locks_lock_inode_wait") } },
	{ "sleeping", "semaphore", { SLEEP, K("__do_semtimedop") } },
	{ "sleeping", "signal", { SLEEP, K("sigsuspend") } },
	{ "stopped", "stop", { SLEEP, K("do_signal_stop") } },
	{ "stopped", "stop", { { "a", "f" } } },
	{ "stopped", "debugger", { SLEEP, K("ptrace_stop") } },
	{ "runnable", "CPU", { K("futex_do_wait") } },
	/* nothing that is not known */
	{ "sleeping", NULL, { SLEEP, K("new_in_linux_9"), { "a", "pipe_read" } } },
	{ "uninterruptible", NULL, { SLEEP, K("new_in_linux_9") } },
	{ "sleeping", NULL, { SLEEP, K("new_in_linux_9"), K("task_work_run") } },
	{ "running", NULL, { { "a", "pipe_read" } } },
};

static struct rq_buf request_of(const struct known *k)
{
	uint32_t at[OP_ARRAY_SIZE(k->frames)], state, type;
	struct rq q;
	size_t n;

	rq_begin(&q);
	for (n = 0; n < OP_ARRAY_SIZE(k->frames) && k->frames[n].name; n++) {
		const struct frame *f = &k->frames[n];
		bool kernel = strcmp(f->type, "kernel") == 0;

		type = rq_string_attribute(&q, "profile.frame.type",
					   kernel ? "kernel" : "native");
		at[n] = rq_location(&q, type, kernel ? 0 : rq_mapping(&q, f->type, "aa"),
				    n + 1, rq_function(&q, f->name, "", 0), 0, 0, 0);
	}
	state = rq_string_attribute(&q, "thread.state", k->state);
	rq_sample(&q, rq_stack(&q, at, n), &state, 1, 1);
	rq_process(&q, 42, "app", NULL);
	return rq_end(&q);
}

static void test_words(void)
{
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(known); i++) {
		struct rq_buf b = request_of(&known[i]);
		struct op_collect *c;
		const char *word;

		CHECK_OK(op_collect_new(OP_COLLECT_LOCATIONS, &c));
		CHECK_OK(op_collect_add(c, b.data, b.len));
		word = op_wait_word(op_wait_of(c, NULL, &c->stacks.data[0]));
		if (!word != !known[i].word || (word && strcmp(word, known[i].word) != 0))
			printf("%s in %s: %s\n", known[i].word, known[i].frames[0].name,
			       word);
		CHECK_STR(word ? word : "", known[i].word ? known[i].word : "");
		c = op_collect_free(c);
		free(b.data);
	}
}

static void test_each_has_a_name(void)
{
	enum op_wait w;

	for (w = WAIT_NONE; w < WAITS; w++)
		CHECK(op_wait_name(w) && (w <= WAIT_OTHER || op_wait_word(w)));
}

TEST_MAIN({ "words", test_words }, { "each_has_a_name", test_each_has_a_name })
