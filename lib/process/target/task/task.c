/* SPDX-License-Identifier: Apache-2.0 */
/* Makes, calls, kills and reaps the task. */
#include "process/target/task/task.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "process/target/task/region.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif
#ifndef CLONE_CLEAR_SIGHAND
#define CLONE_CLEAR_SIGHAND UINT64_C(0x100000000)
#endif

enum {
	GUARD_BYTES = 64 << 10,
	/*
	 * How often a task that only waits for a processor gets more time. On a machine
	 * with many more tasks than processors that wait is not the fault of the process
	 * that is read.
	 */
	RUNNABLE_TRIES = 3,
	KILL_WAIT_MS = 1,
	END_WAIT_MS = 100, /* for a task that was idle */
};

/*
 * clone3(2); the new task runs op_task_main() with @r. Its stack begins there, which its call
 * frame information says: the frame of this function is on the stack of the caller.
 */
static long clone_task(const struct clone_args *args, size_t len,
		       struct op_task_region *r)
{
#if defined(__x86_64__)
	register struct op_task_region *r12 __asm__("r12") = r;
	register void (*r13)(struct op_task_region *) __asm__("r13") = op_task_main;
	long ret;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 ".cfi_remember_state\n\t"
			 ".cfi_undefined rip\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "mov %%r12, %%rdi\n\t"
			 "call *%%r13\n\t"
			 "hlt\n\t"
			 ".cfi_restore_state\n"
			 "1:"
			 : "=a"(ret)
			 : "a"((long)SYS_clone3), "D"(args), "S"(len), "r"(r12), "r"(r13)
			 : "rcx", "r11", "memory");
	return ret;
#else
	register long x8 __asm__("x8") = SYS_clone3;
	register long x0 __asm__("x0") = (long)args;
	register long x1 __asm__("x1") = (long)len;
	register struct op_task_region *x19 __asm__("x19") = r;
	register void (*x20)(struct op_task_region *) __asm__("x20") = op_task_main;

	__asm__ volatile("svc 0\n\t"
			 "cbnz x0, 1f\n\t"
			 ".cfi_remember_state\n\t"
			 ".cfi_undefined x30\n\t"
			 "mov x29, xzr\n\t"
			 "mov x30, xzr\n\t"
			 "mov x0, x19\n\t"
			 "blr x20\n\t"
			 "brk #0\n\t"
			 ".cfi_restore_state\n"
			 "1:"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x19), "r"(x20)
			 : "memory", "x30");
	return x0;
#endif
}

/* Note what the kernel and the processor write to for this thread, apart from
 * its stack. */
static void note_thread(struct op_task_region *r)
{
	uintptr_t area = 0;
	uintptr_t shadow = 0;

#if defined(__x86_64__)
	__asm__("mov %%fs:0, %0" : "=r"(area));
	__asm__ volatile("rdsspq %0" : "+r"(shadow)); /* stays 0 without shadow stacks */
#else
	__asm__("mrs %0, tpidr_el0" : "=r"(area));
#endif
	r->thread = area;
	r->shadow = shadow;
}

/* ---- its life cycle ---- */

static void region_free(struct op_task_region *r)
{
	op_closep(&r->sock);
	op_closep(&r->pidfd);
	(void)munmap(r->base, r->bytes);
}

static struct op_task_region *region_new(void)
{
	size_t head = GUARD_BYTES + OP_TASK_STACK_BYTES;
	size_t bytes = head + sizeof(struct op_task_region) + OP_TASK_DATA_BYTES;
	struct op_task_region *r;
	uint8_t *base;

	base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		    0);
	if (base == MAP_FAILED)
		return NULL;
	(void)mprotect(base, GUARD_BYTES, PROT_NONE);
	r = (struct op_task_region *)(void *)(base + head);
	r->base = base;
	r->bytes = bytes;
	r->sock = r->far = r->pidfd = -1;
	return r;
}

static int start(struct op_task_region *r, int far)
{
	uint8_t *stack = (uint8_t *)r->base + GUARD_BYTES;
	/* Like fork(2), but with a stack in the shared mapping, and no signal when it
	 * ends. */
	struct clone_args args = {
		.flags = CLONE_PIDFD | CLONE_CLEAR_SIGHAND,
		.pidfd = (uintptr_t)&r->pidfd,
		.stack = (uintptr_t)stack,
		.stack_size = OP_TASK_STACK_BYTES,
	};
	/* those of the process group are for the process to handle */
	_cleanup_signals_ sigset_t before = op_signals_block();
	long pid;

	r->far = far;
	r->code = (uintptr_t)op_task_main;
	note_thread(r);
	pid = clone_task(&args, sizeof(args), r);
	if (pid < 0)
		return (int)pid;
	r->pid = (int)pid;
	r->pidfd = op_fd_move_up(r->pidfd);
	return r->pidfd < 0 ? r->pidfd : 0;
}

static int task_new(struct op_task_region **ret)
{
	struct op_task_region *region;
	int pair[2];
	int r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	pair[0] = op_fd_move_up(pair[0]);
	pair[1] = op_fd_move_up(pair[1]);
	region = pair[0] < 0 || pair[1] < 0 ? NULL : region_new();
	if (!region) {
		op_closep(&pair[0]);
		op_closep(&pair[1]);
		return -ENOMEM;
	}
	region->sock = pair[0];
	r = start(region, pair[1]);
	op_closep(&pair[1]);
	if (r < 0) {
		region_free(region);
		return r;
	}
	*ret = region;
	return 0;
}

/* Has the task ended? If so, it is reaped. */
static bool ended(struct op_task_region *r, int wait_ms)
{
	struct pollfd p = { .fd = r->pidfd, .events = POLLIN };
	siginfo_t info;

	if (poll(&p, 1, wait_ms) <= 0)
		return false;
	(void)waitid((idtype_t)P_PIDFD, (id_t)r->pidfd, &info,
		     WEXITED | WNOHANG | __WALL);
	return true;
}

/* Afterwards the task is dead, or it waits in the kernel for ever: it runs no more
 * code. */
static bool kill_task(struct op_task_region *r, int wait_ms)
{
	(void)syscall(SYS_pidfd_send_signal, r->pidfd, SIGKILL, NULL, 0);
	return ended(r, wait_ms);
}

static void reap_stuck(struct op_tasks *t)
{
	struct op_task_region **at = &t->stuck;

	while (*at) {
		struct op_task_region *r = *at;

		if (!ended(r, 0)) {
			at = &r->next;
			continue;
		}
		*at = r->next;
		t->stuck_len--;
		region_free(r);
	}
}

static void abandon(struct op_tasks *t)
{
	struct op_task_region *r = t->current;

	t->current = NULL;
	t->killed++;
	if (kill_task(r, KILL_WAIT_MS)) {
		region_free(r);
		return;
	}
	r->next = t->stuck;
	t->stuck = r;
	t->stuck_len++;
}

void op_tasks_init(struct op_tasks *t)
{
	*t = (struct op_tasks){ 0 };
}

void op_tasks_deinit(struct op_tasks *t)
{
	bool ours = op_maker_is_here(&t->maker);
	struct op_task_region *r;

	if (t->current && ours)
		(void)kill_task(t->current, END_WAIT_MS);
	if (t->current)
		region_free(t->current);
	t->current = NULL;
	if (ours)
		reap_stuck(t);
	/* A task that has not ended by now is reaped when this process ends. It keeps its own
	 * mapping of the region. */
	while ((r = t->stuck)) {
		t->stuck = r->next;
		region_free(r);
	}
	t->stuck_len = 0;
	op_maker_end(&t->maker);
}

void op_tasks_rest(struct op_tasks *t, uint64_t now_ns)
{
	if ((!t->current && !t->stuck) || !op_maker_is_here(&t->maker))
		return;
	reap_stuck(t);
	if (!t->current || now_ns < t->used_ns + OP_TASK_IDLE_NS)
		return;
	if (!t->direct && !kill_task(t->current, END_WAIT_MS))
		return;
	region_free(t->current);
	t->current = NULL;
}

static void made_here(struct op_tasks *t)
{
	op_maker_end(&t->maker);
	op_maker_begin(&t->maker);
}

void *op_task_data(struct op_tasks *t)
{
	int r;

	reap_stuck(t);
	/* The child of a fork has the memory of its parent's task, but not the task
	 * itself. */
	if (t->current && !op_maker_is_here(&t->maker)) {
		region_free(t->current);
		t->current = NULL;
		t->stuck = NULL;
		t->stuck_len = 0;
	}
	if (t->current)
		return t->current->data;
	if (t->stuck_len >= OP_TASKS_STUCK_MAX)
		return NULL;
	if (!t->direct) {
		made_here(t);
		r = task_new(&t->current);
		if (r == 0)
			return t->current->data;
		if (r != -ENOSYS && r != -EPERM && r != -EINVAL)
			return NULL;
		t->direct = true;
	}
	made_here(t);
	t->current = region_new();
	return t->current ? t->current->data : NULL;
}

/* Does the task wait only for a processor? */
static bool is_runnable(const struct op_task_region *r)
{
	_cleanup_close_ int fd = -1;
	char path[64];
	char text[128];
	const char *state;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", r->pid);
	fd = op_open(path, O_RDONLY);
	n = fd < 0 ? -1 : op_pread_full(fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return false;
	text[n] = 0;
	state = strrchr(text, ')');
	return state && state[1] == ' ' && state[2] == 'R';
}

static int take_answer(struct op_task_region *r, int *ret_fd)
{
	union {
		struct cmsghdr header;
		uint8_t bytes[CMSG_SPACE(sizeof(int))];
	} control;
	uint8_t byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	const struct cmsghdr *c;
	int fd = -1;

	if (recvmsg(r->sock, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != 1)
		return -ETIMEDOUT; /* the task has ended */
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	if (fd >= 0)
		fd = op_fd_move_up(fd);
	else if (msg.msg_flags & MSG_CTRUNC)
		fd = -EMFILE;
	if (fd < -1)
		return fd;
	if (ret_fd)
		*ret_fd = fd;
	else
		op_closep(&fd);
	return r->result;
}

static int wait_answer(struct op_task_region *r, uint64_t deadline_ns)
{
	struct pollfd p = { .fd = r->sock, .events = POLLIN };
	struct timespec ts = { .tv_sec = (time_t)(deadline_ns / OP_NS_PER_S),
			       .tv_nsec = (long)(deadline_ns % OP_NS_PER_S) };
	int tries;

	for (tries = 0; tries < RUNNABLE_TRIES; tries++) {
		int n = ppoll(&p, 1, &ts, NULL);

		if (n > 0)
			return 0;
		if (n == 0 && !is_runnable(r))
			break;
	}
	/* It may have got the processor and answered meanwhile. */
	return poll(&p, 1, 0) > 0 ? 0 : -ETIMEDOUT;
}

int op_task_run(struct op_tasks *t, op_task_fn fn, uint64_t deadline_ns, int *ret_fd)
{
	struct op_task_region *region = t->current;
	uint8_t byte = 0;
	int fd = -1;
	int r;

	if (ret_fd)
		*ret_fd = -1;
	t->spent_ns = deadline_ns;
	t->used_ns = op_clock_monotonic_ns();
	if (!region)
		return -EAGAIN;
	if (t->direct) {
		r = fn(region->data, &fd);
		t->spent_ns = 0;
		fd = op_fd_move_up(fd);
		if (ret_fd)
			*ret_fd = fd;
		else
			op_closep(&fd);
		return r;
	}
	region->fn = fn;
	if (send(region->sock, &byte, 1, MSG_NOSIGNAL) != 1) {
		/* Somebody killed it; the next call makes a new one. */
		abandon(t);
		return -EAGAIN;
	}
	r = wait_answer(region, deadline_ns);
	if (r == 0) {
		t->spent_ns = region->spent_ns;
		r = take_answer(region, ret_fd);
	}
	if (r == -ETIMEDOUT)
		abandon(t);
	return r;
}
