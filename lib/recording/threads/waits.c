/* SPDX-License-Identifier: Apache-2.0 */
/* Names are those of Linux 5.10 to 7.2, of glibc, CPython, HotSpot, and of Go, whose idle threads
 * wait for work. */
#include "recording/threads/waits.h"

#include <stdbool.h>
#include <string.h>

#include "base/macros.h"

/* Names that begin so are of a wait. The first row that fits any frame, in the order of the rows,
 * says what it is: a read of a pipe is also one of a file. */
static const struct wait {
	const char *begins;
	const char *word;
} waits[] = {
	/* of programs: what a futex is for */
	{ "take_gil", "GIL" },
	{ "ObjectMonitor::enter", "lock" },
	{ "ObjectMonitor::EnterI", "lock" },
	{ "JavaThread::sleep", "sleep" },
	{ "JVM_Sleep", "sleep" },
	{ "runtime.mPark", "work" },
	{ "runtime.notesleep", "work" },
	{ "runtime.notetsleep", "work" },
	{ "pthread_cond_", "condition" },
	{ "__pthread_cond_", "condition" },
	{ "___pthread_cond_", "condition" },
	{ "cnd_", "condition" },
	{ "pthread_join", "thread" },
	{ "__pthread_clockjoin", "thread" },
	{ "__pthread_timedjoin", "thread" },
	/* of the kernel */
	{ "futex_", "lock" },
	{ "__futex_", "lock" },
	{ "do_futex", "lock" },
	{ "userfaultfd_", "page fault" },
	{ "handle_userfault", "page fault" },
	{ "anon_pipe_", "pipe" },
	{ "pipe_", "pipe" },
	{ "fifo_open", "pipe" },
	{ "wait_for_partner", "pipe" },
	{ "do_wait", "child" },
	{ "kernel_wait4", "child" },
	{ "tcp_", "network" },
	{ "inet_", "network" },
	{ "udp_", "network" },
	{ "unix_", "socket" },
	{ "sk_wait_data", "network" },
	{ "__skb_wait_for_more_packets", "network" },
	{ "vsock_", "network" },
	{ "netlink_", "socket" },
	{ "do_epoll_wait", "events" },
	{ "ep_poll", "events" },
	{ "do_sys_poll", "events" },
	{ "do_poll", "events" },
	{ "do_select", "events" },
	{ "io_cqring_wait", "events" },
	{ "read_events", "events" },
	{ "inotify_read", "events" },
	{ "eventfd_", "events" },
	{ "signalfd_", "signal" },
	{ "timerfd_", "timer" },
	{ "hrtimer_nanosleep", "sleep" },
	{ "do_nanosleep", "sleep" },
	{ "common_nsleep", "sleep" },
	{ "sigsuspend", "signal" },
	{ "do_sigtimedwait", "signal" },
	{ "__do_sys_pause", "signal" },
	{ "__x64_sys_pause", "signal" },
	{ "n_tty_", "terminal" },
	{ "io_schedule", "disk" },
	{ "folio_wait_", "disk" },
	{ "wait_on_page_", "disk" },
	{ "jbd2_", "disk" },
	{ "submit_bio_wait", "disk" },
	{ "blk_", "disk" },
	{ "blkdev_", "disk" },
	{ "flock_lock", "file lock" },
	{ "locks_lock", "file lock" },
	{ "fcntl_setlk", "file lock" },
	{ "posix_lock", "file lock" },
	{ "do_semtimedop", "semaphore" },
	{ "do_msgrcv", "message" },
	{ "mq_timedreceive", "message" },
	{ "fuse_", "file system" },
	{ "nfs_", "file system" },
	{ "rpc_wait", "file system" },
	{ "ptrace_", "debugger" },
	{ "do_signal_stop", "stop" },
	{ "do_jobctl_trap", "stop" },
	{ "rwsem_down_", "kernel lock" },
	{ "__mutex_lock", "kernel lock" },
	{ "do_exit", "exit" },
};

static bool begins(struct otlp_text name, const char *with)
{
	size_t len = strlen(with);

	return name.len >= len && memcmp(name.data, with, len) == 0;
}

const char *wait_of_frames(const struct otlp_text *frames, size_t len)
{
	size_t i, j;

	for (i = 0; i < OP_ARRAY_SIZE(waits); i++)
		for (j = 0; j < len; j++)
			if (begins(frames[j], waits[i].begins))
				return waits[i].word;
	return NULL;
}
