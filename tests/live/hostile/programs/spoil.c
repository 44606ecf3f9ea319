/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library to preload into a language's interpreter. After two seconds the thread that worked most
 * forks in a signal's handler. Its child works there for ever, above the interpreter's frames, while a
 * thread changes what the stack leads to, two levels deep: cycles, counts of 2^31, other objects'
 * words, single bits. Each word is put back after a while, so that most of the rest is as it was.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

enum {
	WORDS_MAX = 1 << 15,
	STACK_WORDS = 1024,
	OBJECT_WORDS = 24,
	LEVELS = 3,
	CHANGED = 8, /* at a time */
};

static uint64_t place[WORDS_MAX];
static size_t places;
static char stack[1 << 16] __attribute__((aligned(16)));
static volatile uint64_t work;

static long move(int call, uint64_t at, uint64_t *word)
{
	struct iovec here = { word, sizeof(*word) };
	struct iovec there = { (void *)(uintptr_t)at, sizeof(*word) };

	return syscall(call, getpid(), &here, 1, &there, 1, 0);
}

static void add(uint64_t from, size_t count)
{
	uint64_t word;

	while (count-- && places < WORDS_MAX) {
		if (move(SYS_process_vm_readv, from, &word) == sizeof(word))
			place[places++] = from;
		from += 8;
	}
}

static uint64_t next(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	return *seed ^= *seed << 17;
}

static uint64_t bad_value(uint64_t *seed, uint64_t at, uint64_t old)
{
	uint64_t other = 0;

	switch (next(seed) % 7) {
	case 0:
		return at;
	case 1:
		return 1ULL << 31;
	case 2:
		return ~0ULL;
	case 3:
		return old ^ 1ULL << next(seed) % 64;
	case 4:
		return old + 8 * (next(seed) % 64);
	case 5:
		(void)move(SYS_process_vm_readv, place[next(seed) % places], &other);
		return other;
	default:
		return place[next(seed) % places];
	}
}

static int spoil(void *unused)
{
	uint64_t at[CHANGED] = { 0 };
	uint64_t old[CHANGED] = { 0 };
	uint64_t seed = 88172645463325252ULL;
	uint64_t value;
	size_t i;

	(void)unused;
	for (i = 0;; i = (i + 1) % CHANGED) {
		if (at[i])
			(void)move(SYS_process_vm_writev, at[i], &old[i]);
		at[i] = place[next(&seed) % places];
		if (move(SYS_process_vm_readv, at[i], &old[i]) != sizeof(old[i]))
			at[i] = 0;
		value = bad_value(&seed, at[i], old[i]);
		if (at[i])
			(void)move(SYS_process_vm_writev, at[i], &value);
	}
	return 0;
}

static void handle(int signal, siginfo_t *info, void *context)
{
	const ucontext_t *interrupted = context;
	size_t level;
	size_t begin = 0;

	(void)signal;
	(void)info;
	if (fork())
		return;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	add((uint64_t)interrupted->uc_mcontext.gregs[REG_RSP], STACK_WORDS);
	for (level = 1; level < LEVELS; level++) {
		size_t end = places;

		for (; begin < end; begin++) {
			uint64_t word = 0;

			(void)move(SYS_process_vm_readv, place[begin], &word);
			word &= (1ULL << 47) - 1; /* without marks */
			add(word & ~7ULL, OBJECT_WORDS);
		}
	}
	(void)clone(spoil, stack + sizeof(stack),
		    CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD,
		    NULL);
	for (;;)
		work++;
}

static unsigned long ticks_of(const char *thread)
{
	char path[64];
	unsigned long ticks = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%.20s/stat", thread);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu",
		   &ticks) != 1)
		ticks = 0;
	(void)fclose(f);
	return ticks;
}

static void *wait_for_work(void *unused)
{
	struct sigaction action = { .sa_sigaction = handle,
				    .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
	unsigned long most = 0;
	long busiest = getpid();
	struct dirent *entry;
	DIR *threads;

	sleep(2);
	threads = opendir("/proc/self/task");
	while (threads && (entry = readdir(threads)))
		if (entry->d_name[0] != '.' && ticks_of(entry->d_name) > most) {
			most = ticks_of(entry->d_name);
			busiest = atol(entry->d_name);
		}
	(void)closedir(threads);
	(void)sigaction(SIGRTMAX - 1, &action, NULL);
	(void)syscall(SYS_tgkill, getpid(), busiest, SIGRTMAX - 1);
	return unused;
}

__attribute__((constructor)) static void begin(void)
{
	const char *program = getenv("SPOIL");
	pthread_t thread;

	if (program && !strcmp(program, program_invocation_short_name))
		(void)pthread_create(&thread, NULL, wait_for_work, NULL);
}
