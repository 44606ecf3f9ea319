/* SPDX-License-Identifier: Apache-2.0 */
/* Checks who may use a handle, and lets one thread at a time use it. */
#include "api/handle.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/io.h"

int op_handle_check(struct otelprof *p)
{
	if (!p)
		return -EINVAL;
	if (op_maker_is_here(&p->maker))
		return 0;
	/* logged once. The log callback runs without a lock that would refuse its
	 * calls */
	if (p->log.error == -OTELPROF_E_FORKED)
		return -OTELPROF_E_FORKED;
	return op_fail(&p->log, -OTELPROF_E_FORKED,
		       "this handle was made before fork() and can only be freed here");
}

int op_handle_enter(struct otelprof *p, struct otelprof **ret_held)
{
	int r = op_handle_check(p);

	if (r < 0)
		return r;
	r = pthread_mutex_lock(&p->waits.lock);
	if (r)
		return -r;
	if (p->config.cpu_budget_permille)
		p->budget.entered_ns = op_clock_thread_ns();
	*ret_held = p;
	return 0;
}

void op_handle_leavep(struct otelprof **held)
{
	struct otelprof *p = *held;

	if (!p)
		return;
	if (p->config.cpu_budget_permille)
		p->budget.own_ns += op_clock_thread_ns() - p->budget.entered_ns;
	(void)pthread_mutex_unlock(&p->waits.lock);
}

static void leave(void *owner)
{
	struct otelprof *p = owner;

	op_handle_leavep(&p);
}

static void enter(void *owner)
{
	struct otelprof *held;

	/* checked before, and this thread does not hold the lock */
	(void)op_handle_enter(owner, &held);
}

void op_handle_lend_lock(struct otelprof *p)
{
	op_exporters_set_lock(p->exporters, &(struct op_exporters_lock){ .leave = leave,
									 .enter = enter,
									 .owner = p });
}

static int init_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;
	int r = pthread_mutexattr_init(&attr);

	if (r)
		return -r;
	/* A callback that calls the library on the same handle gets an error instead of a
	 * deadlock. */
	(void)pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	r = pthread_mutex_init(lock, &attr);
	(void)pthread_mutexattr_destroy(&attr);
	return -r;
}

/* Returns a descriptor above 2, or -errno. */
static int make_event(void)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	return fd < 0 ? -errno : op_fd_move_up(fd);
}

int op_handle_init_waits(struct otelprof *p)
{
	int r;

	p->waits.wake_fd = p->waits.quit_fd = -1;
	r = init_lock(&p->waits.lock);
	if (r < 0)
		return r;
	p->waits.wake_fd = make_event();
	p->waits.quit_fd = make_event();
	return p->waits.wake_fd < 0   ? p->waits.wake_fd
	       : p->waits.quit_fd < 0 ? p->waits.quit_fd
				      : 0;
}

void op_handle_deinit_waits(struct otelprof *p, bool forked)
{
	op_closep(&p->waits.wake_fd);
	op_closep(&p->waits.quit_fd);
	if (forked)
		return;
	(void)pthread_mutex_unlock(&p->waits.lock);
	(void)pthread_mutex_destroy(&p->waits.lock);
}
