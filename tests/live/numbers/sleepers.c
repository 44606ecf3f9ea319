/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See bursts.h. WHAT is one of
 *
 *     waits              a thread waits at a futex and at a pipe, until another one wakes it
 *     borders SECONDS    three threads wait at futexes, 300 ms at a time on average
 *     kernel             waits for the lock of a pipe inside the kernel
 */
#define _GNU_SOURCE
#include "bursts.h"

#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

enum {
	WAIT_BURSTS = 30,
	WAITS_MOST = 120, /* short ones, of a burst */
	WAITS_MAX = WAIT_BURSTS * (WAITS_MOST + 1),
	THREADS = 3,
	BORDER_MS = 300,
	BORDER_MOST = 6, /* times that */
	LOCK_WAITS = 400,
};

/* ---- waits ---- */

struct turn {
	int64_t ns;
	int place; /* of the waker */
	bool pipe;
};

static struct turn turn[WAITS_MAX];
static struct wait of_futex[WAITS_MAX], of_pipe[WAITS_MAX];
static int turns, futexes, pipes;
static uint32_t word, waited;
static int to_waiter[2];

static PLACE void waits_at_futex(const struct clocks *c, uint32_t i, struct wait *w)
{
	begin_wait(c, w);
	while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == i)
		(void)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, i, NULL, NULL, 0);
	end_wait(c, w);
}

static PLACE void waits_at_pipe(const struct clocks *c, struct wait *w)
{
	char byte;

	begin_wait(c, w);
	if (read(to_waiter[0], &byte, 1) != 1)
		fail("the pipe");
	end_wait(c, w);
}

static PLACE void waits_in_turn(bool counts)
{
	struct clocks c = open_clocks();
	int i;

	futexes = pipes = 0;
	for (i = 0; i < turns; i++) {
		struct wait *w = turn[i].pipe ? &of_pipe[pipes++] : &of_futex[futexes++];

		w->place = turn[i].place;
		if (turn[i].pipe)
			waits_at_pipe(&c, w);
		else
			waits_at_futex(&c, (uint32_t)i, w);
		__atomic_store_n(&waited, (uint32_t)i + 1, __ATOMIC_RELEASE);
	}
	STAYS(counts);
}

static PLACE void *counted_waits(void *arg)
{
	waits_in_turn(true);
	STAYS(arg);
	return arg;
}

static PLACE void *known_waits(void *arg)
{
	waits_in_turn(false);
	STAYS(arg);
	return arg;
}

static PLACE void wakes(int place, int i)
{
	STAYS(place);
	if (turn[i].pipe) {
		__atomic_store_n(&word, (uint32_t)i + 1, __ATOMIC_RELEASE);
		if (write(to_waiter[1], "w", 1) != 1)
			fail("the pipe");
		return;
	}
	__atomic_store_n(&word, (uint32_t)i + 1, __ATOMIC_RELEASE);
	(void)syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void plan(int bursts)
{
	turns = 0;
	while (bursts--) {
		int n = (int)below(WAITS_MOST);

		for (; n >= 0; n--)
			turn[turns++] = (struct turn){
				n ? mixed(20 * US, 4) : mixed(MS, 6),
				(int)below(PLACES),
				below(2),
			};
	}
}

static PLACE void waits(int bursts)
{
	pthread_t thread;
	int i;

	word = waited = 0;
	plan(bursts);
	if (pthread_create(&thread, NULL, bursts > KNOWN ? counted_waits : known_waits,
			   NULL))
		fail("a thread");
	for (i = 0; i < turns; i++) {
		spend(turn[i].ns);
		if (turn[i].place)
			second(wakes, i);
		else
			first(wakes, i);
		while (__atomic_load_n(&waited, __ATOMIC_ACQUIRE) <= (uint32_t)i)
			(void)sched_yield();
	}
	(void)pthread_join(thread, NULL);
}

/* ---- over the borders of windows ---- */

static int64_t border_ns;
static struct wait of_thread[THREADS];

static PLACE void waits_at_times(struct wait *sum, uint64_t seed)
{
	struct clocks c = open_clocks();
	int64_t end = clock_ns(CLOCK_MONOTONIC) + border_ns;
	uint32_t zero = 0;

	begin_wait(&c, sum);
	while (clock_ns(CLOCK_MONOTONIC) < end) {
		double part = (double)(rand_r((unsigned int *)&seed) + 1.0) /
			      ((double)RAND_MAX + 2.0);
		double times = -log(part);
		int64_t ns = (int64_t)(times < BORDER_MOST ? times * BORDER_MS * MS
							   : BORDER_MS * (double)MS);
		struct timespec t = { ns / NS_PER_S, ns % NS_PER_S };

		(void)syscall(SYS_futex, &zero, FUTEX_WAIT_PRIVATE, 0, &t, NULL, 0);
	}
	end_wait(&c, sum);
}

static PLACE void *counted_borders(void *arg)
{
	struct wait *w = arg;

	waits_at_times(w, (uint64_t)w->place);
	STAYS(arg);
	return NULL;
}

static PLACE void *known_borders(void *arg)
{
	waits_at_times(arg, 1);
	STAYS(arg);
	return NULL;
}

static PLACE void borders(int bursts)
{
	pthread_t thread[THREADS];
	int64_t all = border_ns;
	int i;

	border_ns = bursts > KNOWN ? all : MS;
	for (i = 0; i < THREADS; i++) {
		of_thread[i] = (struct wait){ .place = (int)below(1 << 30) };
		if (pthread_create(&thread[i], NULL,
				   bursts > KNOWN ? counted_borders : known_borders,
				   &of_thread[i]))
			fail("a thread");
	}
	for (i = 0; i < THREADS; i++)
		(void)pthread_join(thread[i], NULL);
	border_ns = all;
}

/* ---- locks of the kernel ---- */

static char *absent; /* a page that comes late */
static int late;     /* descriptor of userfaultfd */
static int full[2], held[2], go[2];
static int64_t hold_ns;

/* Write the page, and hold the lock of the pipe until it is there. */
static void *holds(void *arg)
{
	char byte;

	while (read(go[0], &byte, 1) == 1) {
		(void)!write(full[1], absent, PAGE);
		(void)madvise(absent, PAGE, MADV_DONTNEED);
		(void)!write(held[1], "f", 1);
	}
	return arg;
}

static void *gives(void *arg)
{
	struct uffd_msg m;

	while (read(late, &m, sizeof(m)) == sizeof(m)) {
		struct uffdio_zeropage zero = { .range = { (uintptr_t)absent, PAGE } };

		(void)!write(held[1], "h", 1);
		spend(hold_ns);
		(void)ioctl(late, UFFDIO_ZEROPAGE, &zero);
	}
	return arg;
}

static PLACE void writes(int place, int i)
{
	static struct clocks c = { -1, -1 };
	struct wait *w = &of_pipe[i];

	if (c.task < 0)
		c = open_clocks();
	w->place = place;
	begin_wait(&c, w);
	(void)!write(full[1], "p", 1);
	end_wait(&c, w);
}

static void prepare_kernel(char **arguments)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	pthread_t thread;

	(void)arguments;
	absent = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	range.range = (struct uffdio_range){ (uintptr_t)absent, PAGE };
	late = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (late < 0 || ioctl(late, UFFDIO_API, &api) ||
	    ioctl(late, UFFDIO_REGISTER, &range)) {
		puts("no userfaultfd(2)");
		exit(0);
	}
	if (pipe2(full, O_CLOEXEC) || pipe2(held, O_CLOEXEC) || pipe2(go, O_CLOEXEC) ||
	    pthread_create(&thread, NULL, holds, NULL) ||
	    pthread_create(&thread, NULL, gives, NULL))
		fail("kernel");
}

static PLACE void kernel(int bursts)
{
	int n = bursts > KNOWN ? LOCK_WAITS : KNOWN;
	char text[PAGE + 1];
	int i;

	for (i = 0; i < n; i++) {
		/* bursts of short ones among a few long ones */
		hold_ns = i / 20 % 4 ? mixed(50 * US, 4) : mixed(MS, 4);
		(void)!write(go[1], "g", 1);
		(void)!read(held[0], text, 1);
		anywhere(writes, i);
		(void)!read(held[0], text, 1);
		if (read(full[0], text, sizeof(text)) != sizeof(text))
			fail("the full pipe");
	}
	pipes = n;
}

static void prepare_waits(char **arguments)
{
	(void)arguments;
	if (pipe2(to_waiter, O_CLOEXEC))
		fail("a pipe");
}

static void print_both(void)
{
	print_waits("futex", of_futex, futexes);
	printf(", ");
	print_waits("pipe", of_pipe, pipes);
}

static void prepare_borders(char **arguments)
{
	border_ns = atoll(arguments[0]) * NS_PER_S;
}

static void print_borders(void)
{
	print_waits("futex", of_thread, THREADS);
}

static void print_kernel(void)
{
	print_waits("pipe", of_pipe, pipes);
}

int main(int argc, char **argv)
{
	static const struct what WHAT[] = {
		{ "waits", waits, WAIT_BURSTS, 0, prepare_waits, print_both },
		{ "borders", borders, KNOWN + 1, 1, prepare_borders, print_borders },
		{ "kernel", kernel, KNOWN + 1, 0, prepare_kernel, print_kernel },
	};

	return run(WHAT, sizeof(WHAT) / sizeof(WHAT[0]), argc, argv);
}
