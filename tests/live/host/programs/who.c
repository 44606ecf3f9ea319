/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes with an identity, for identity.py.
 *
 *     who phase DIR K LAST MS   burn MS ms of CPU time in phase_K, then execute DIR/pK+1 with
 *                               the argument K+1 and OTEL_SERVICE_NAME=svc-K+1, up to LAST
 *     who context FIRST NEXT S  publish a process context (OTEP 4719) of service FIRST after a
 *                               fifth of S seconds, another one of service NEXT at half time;
 *                               burn CPU all the while
 *     who idle US               burn US microseconds in 2 s, for ever
 *     who fleet COUNT US FILE   for each I < COUNT run "who idle US" as OTEL_SERVICE_NAME=svc-I
 *                               in the cgroup whose folder is on line I of FILE (lines are
 *                               reused cyclically); print "PID I"
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define TRUTH_FN __attribute__((noinline, noclone))

static volatile uint64_t spins;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void spin_for(clockid_t clock, uint64_t ns)
{
	uint64_t end = clock_ns(clock) + ns;

	do {
		for (int i = 0; i < 5000; i++)
			spins++;
	} while (clock_ns(clock) < end);
}

/* Each phase has its own function, so that a stack tells which program it belongs to. */
#define PHASE(n)                                                                         \
	TRUTH_FN static void phase_##n(uint64_t ns)                                      \
	{                                                                                \
		spin_for(CLOCK_THREAD_CPUTIME_ID, ns);                                   \
		__asm__ volatile("" : : "i"(n) : "memory");                              \
	}
PHASE(0)
PHASE(1)
PHASE(2)
PHASE(3)

static int run_phase(char **argv)
{
	static void (*const phases[])(uint64_t) = { phase_0, phase_1, phase_2, phase_3 };
	int k = atoi(argv[3]);
	char path[512], number[16], service[32];

	phases[k & 3]((uint64_t)atoi(argv[5]) * 1000000u);
	if (k >= atoi(argv[4]))
		return 0;
	(void)snprintf(number, sizeof(number), "%d", k + 1);
	(void)snprintf(path, sizeof(path), "%s/p%d", argv[2], (k + 1) & 3);
	(void)snprintf(service, sizeof(service), "svc-%d", (k + 1) & 3);
	(void)setenv("OTEL_SERVICE_NAME", service, 1);
	(void)execl(path, path, "phase", argv[2], number, argv[4], argv[5], NULL);
	return 1;
}

/* The layout of OTEP 4719: a header, and a message with one attribute, service.name. */
struct context {
	char signature[8];
	uint32_t version;
	uint32_t payload_bytes;
	volatile uint64_t published_ns;
	uint64_t payload;
};

static uint32_t make_message(uint8_t *to, const char *service)
{
	uint8_t len = (uint8_t)strlen(service);
	uint8_t head[] = {
		0x0a, (uint8_t)(len + 20), 0x0a, (uint8_t)(len + 18), 0x0a, 12
	};
	size_t at = sizeof(head);

	memcpy(to, head, sizeof(head));
	memcpy(to + at, "service.name", 12);
	at += 12;
	to[at++] = 0x12;
	to[at++] = (uint8_t)(len + 2);
	to[at++] = 0x0a;
	to[at++] = len;
	memcpy(to + at, service, len);
	return (uint32_t)(at + len);
}

static int run_context(char **argv)
{
	static uint8_t messages[2][128];
	uint64_t tenth = (uint64_t)atoi(argv[4]) * 100000000u;
	struct context *c;
	int fd;

	(void)printf("ready %d\n", (int)getpid());
	(void)fflush(stdout);
	spin_for(CLOCK_MONOTONIC, 2 * tenth);
	fd = memfd_create("OTEL_CTX", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || ftruncate(fd, sizeof(*c)))
		return 1;
	c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (c == MAP_FAILED || close(fd) || madvise(c, sizeof(*c), MADV_DONTFORK))
		return 1;
	memcpy(c->signature, "OTEL_CTX", 8);
	c->version = 2;
	c->payload_bytes = make_message(messages[0], argv[2]);
	c->payload = (uintptr_t)messages[0];
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	c->published_ns = clock_ns(CLOCK_BOOTTIME);
	spin_for(CLOCK_MONOTONIC, 3 * tenth);
	c->published_ns = 0;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	c->payload_bytes = make_message(messages[1], argv[3]);
	c->payload = (uintptr_t)messages[1];
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	c->published_ns = clock_ns(CLOCK_BOOTTIME);
	spin_for(CLOCK_MONOTONIC, 6 * tenth);
	return 0;
}

static void run_idle(int us)
{
	struct timespec rest = { .tv_sec = 2 };

	/* spread the processes over time */
	rest.tv_nsec = (long)getpid() % 997 * 1000000;
	(void)nanosleep(&rest, NULL);
	for (;;) {
		rest.tv_sec = 1;
		rest.tv_nsec = 990000000;
		phase_0((uint64_t)us * 1000u);
		(void)nanosleep(&rest, NULL);
	}
}

static int join(const char *folder)
{
	char path[1024];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	f = fopen(path, "w");
	return !f || fputs("0", f) < 0 || fclose(f);
}

static int run_fleet(const char *self, char **argv)
{
	int count = atoi(argv[2]);
	char folder[900];
	FILE *list = fopen(argv[4], "r");

	for (int i = 0; list && i < count; i++) {
		pid_t pid;

		if (!fgets(folder, sizeof(folder), list)) {
			rewind(list);
			if (!fgets(folder, sizeof(folder), list))
				return 1;
		}
		folder[strcspn(folder, "\n")] = 0;
		(void)fflush(stdout);
		pid = fork();
		if (pid == 0) {
			char service[32];

			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			(void)snprintf(service, sizeof(service), "svc-%d", i);
			(void)setenv("OTEL_SERVICE_NAME", service, 1);
			if (join(folder))
				_exit(1);
			(void)execl(self, self, "idle", argv[3], NULL);
			_exit(127);
		}
		if (pid < 0)
			return 1;
		(void)printf("%d %d\n", (int)pid, i);
	}
	(void)printf("ready %d\n", (int)getpid());
	(void)fflush(stdout);
	pause();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 6 && !strcmp(argv[1], "phase"))
		return run_phase(argv);
	if (argc == 5 && !strcmp(argv[1], "context"))
		return run_context(argv);
	if (argc == 3 && !strcmp(argv[1], "idle"))
		run_idle(atoi(argv[2]));
	if (argc == 5 && !strcmp(argv[1], "fleet"))
		return run_fleet("/proc/self/exe", argv);
	return 2;
}
