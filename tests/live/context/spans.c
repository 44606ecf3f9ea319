/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans that take known shares of the CPU time, 50, 30 and 20 %, by the thread's own clock: each
 * works up to a fixed point of that clock, so errors cancel. A span's work is a function of its
 * own, which is on the stack only while the span is attached: it tells which one is true.
 *
 *	spans threads|signals|coroutines|fork|plain|custom [SECONDS]
 *
 * signals: the third span is that of a signal handler, which interrupts the two others. plain:
 * the same work, and no word of it. custom: said by custom-labels, where it is built with them.
 * Prints "ready PID".
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <otelprof/context.h>

enum {
	SPANS = 3,
	THREADS = 2,
	STACK_BYTES = 256 * 1024,
	TURN_NS = 10000000, /* 5, 3 and 2 ms in the mean */
	SLICES = 10,	    /* a coroutine's turn of 500, 300 and 200 us */
	SIGNAL_US = 7300,
	KEY_ROUTE = 0,
	KEY_UNUSED = 1,
	KEY_NUMBER = 2,
};

static const uint64_t share[SPANS] = { 5, 3, 2 };
static uint64_t seconds = 600;
static int quiet; /* says nothing */

static uint64_t cpu_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

/*
 * The length of the next turn: half of @mean to one and a half. Turns of one length stay in step
 * with the profiler's clock for seconds where the ratio of both is near a whole number, and then
 * it meets one span more often than the others.
 */
static uint64_t turn_ns(uint64_t mean)
{
	static __thread uint64_t random = 1;

	random = random * 6364136223846793005U + 1442695040888963407U;
	return mean / 2 + (random >> 33) % mean;
}

/* What all spans call. */
__attribute__((noinline)) static void spin(uint64_t until)
{
	volatile uint64_t x = 0;

	while (cpu_ns() < until) {
		int i;

		for (i = 0; i < 2000; i++)
			x = x * 3 + 1;
	}
}

/* One function a span. The store keeps them from being one, and their calls from being jumps. */
static volatile int last;
#define SPAN_WORK(name, number)                                                          \
	__attribute__((noinline)) static void name(uint64_t until)                       \
	{                                                                                \
		spin(until);                                                             \
		last = (number);                                                         \
	}
SPAN_WORK(work_0, 0)
SPAN_WORK(work_1, 1)
SPAN_WORK(work_2, 2)
static void (*const work[SPANS])(uint64_t until) = { work_0, work_1, work_2 };

static void make_span(struct otelprof_context *span, unsigned int thread, unsigned int i)
{
	static const char *const route[SPANS] = { "/half", "/third", "/fifth" };
	uint8_t trace[16] = { 0xab };
	uint8_t id[8] = { 0xcd };
	char number[16];

	trace[15] = (uint8_t)(thread + 1);
	id[7] = (uint8_t)(i + 1);
	otelprof_context_init(span, trace, id);
	(void)otelprof_context_add(span, KEY_ROUTE, route[i], strlen(route[i]));
	(void)snprintf(number, sizeof(number), "%u", i);
	(void)otelprof_context_add(span, KEY_NUMBER, "overwritten", 11);
	(void)otelprof_context_add(span, KEY_NUMBER, number, strlen(number));
}

static void attach(struct otelprof_context *span)
{
	if (!quiet)
		(void)otelprof_context_attach(span);
}

static void *run_thread(void *arg)
{
	struct otelprof_context span[SPANS];
	uint64_t at = cpu_ns();
	uint64_t end = at + seconds * 1000000000U;
	unsigned int i;

	for (i = 0; i < SPANS; i++)
		make_span(&span[i], (unsigned int)(uintptr_t)arg, i);
	while (at < end) {
		uint64_t turn = turn_ns(TURN_NS);

		for (i = 0; i < SPANS; i++) {
			at += share[i] * (turn / 10);
			attach(&span[i]);
			work[i](at);
			attach(NULL);
		}
	}
	return NULL;
}

/* ---- custom-labels v1, as its text has it ---- */

#ifdef CUSTOM_LABELS
struct text {
	size_t len;
	const char *buf;
};

struct label {
	struct text key;
	struct text value;
};

struct label_set {
	struct label *storage;
	size_t count;
	size_t capacity;
};

enum {
	LABELS = 6,
};

extern const uint32_t custom_labels_abi_version;
extern __thread struct label_set *volatile custom_labels_current_set;
const uint32_t custom_labels_abi_version = 1;
__thread struct label_set *volatile custom_labels_current_set;

static struct text text(const char *s)
{
	return (struct text){ s ? strlen(s) : 0, s };
}

static void *run_custom(void *arg)
{
	static const char *const of[SPANS][3] = {
		{ "/half", "0", "cd00000000000001" },
		{ "/third", "1", "cd00000000000002" },
		{ "/fifth", "2", "cd00000000000003" },
	};
	struct label label[SPANS][LABELS];
	struct label_set set[SPANS];
	uint64_t at = cpu_ns();
	uint64_t end = at + seconds * 1000000000U;
	unsigned int i;

	for (i = 0; i < SPANS; i++) {
		const struct label made[LABELS] = {
			{ text("http.route"), text(of[i][0]) },
			{ text(NULL), text("a label without a key is none") },
			{ text("span.number"), text(of[i][1]) },
			{ text("span.number"), text("the first one stands") },
			{ text("trace_id"), text("ab000000000000000000000000000001") },
			{ text("span_id"), text(of[i][2]) },
		};

		memcpy(label[i], made, sizeof(made));
		set[i] = (struct label_set){ label[i], LABELS, LABELS };
	}
	while (at < end) {
		uint64_t turn = turn_ns(TURN_NS);

		for (i = 0; i < SPANS; i++) {
			at += share[i] * (turn / 10);
			custom_labels_current_set = &set[i];
			work[i](at);
			custom_labels_current_set = NULL;
		}
	}
	return NULL;
}
#else
static void *run_custom(void *arg)
{
	return arg;
}
#endif

/* ---- coroutines ---- */

static ucontext_t scheduler;
static ucontext_t coroutine[SPANS];
static uint64_t deadline;

__attribute__((noinline)) static void yield_from(unsigned int i)
{
	(void)swapcontext(&coroutine[i], &scheduler);
	last = (int)i;
}

/* It yields from inside its work, which stays on its stack. */
#define SPAN_COROUTINE(name, number)                                                     \
	__attribute__((noinline)) static void name(void)                                 \
	{                                                                                \
		for (;;) {                                                               \
			spin(deadline);                                                  \
			yield_from(number);                                              \
		}                                                                        \
	}
SPAN_COROUTINE(work_co_0, 0)
SPAN_COROUTINE(work_co_1, 1)
SPAN_COROUTINE(work_co_2, 2)

static void run_coroutines(void)
{
	static void (*const start[SPANS])(void) = { work_co_0, work_co_1, work_co_2 };
	static struct otelprof_context span[SPANS];
	uint64_t at = cpu_ns();
	uint64_t end = at + seconds * 1000000000U;
	unsigned int i;

	for (i = 0; i < SPANS; i++) {
		make_span(&span[i], 0, i);
		(void)getcontext(&coroutine[i]);
		coroutine[i].uc_stack.ss_sp = malloc(STACK_BYTES);
		coroutine[i].uc_stack.ss_size = STACK_BYTES;
		makecontext(&coroutine[i], start[i], 0);
	}
	while (at < end) {
		uint64_t turn = turn_ns(TURN_NS / SLICES);

		for (i = 0; i < SPANS; i++) {
			at += share[i] * (turn / 10);
			deadline = at;
			attach(&span[i]);
			(void)swapcontext(&scheduler, &coroutine[i]);
			attach(NULL);
		}
	}
}

/* ---- signals ---- */

static struct otelprof_context handlers_span;
static uint64_t handlers_start;
static uint64_t handlers_ns; /* what the handler has worked */

/* Work up to the handler's share of what the thread has had until now. It is 1/5 of the sum once
 * it is 1/4 of what the others have. */
static void on_alarm(int number)
{
	uint64_t now = cpu_ns();
	uint64_t others = now - handlers_start - handlers_ns;
	struct otelprof_context *before;

	if (others / 4 <= handlers_ns)
		return;
	before = otelprof_context_attach(&handlers_span);
	work_2(now + (others / 4 - handlers_ns));
	(void)otelprof_context_attach(before);
	handlers_ns += cpu_ns() - now;
}

/* It comes by the clock, and the turns of the two others have random lengths. */
static void run_signals(void)
{
	const struct itimerval every = { { 0, SIGNAL_US }, { 0, SIGNAL_US } };
	struct otelprof_context span[2];
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	uint64_t end;
	uint64_t at;
	unsigned int i;

	make_span(&span[0], 0, 0);
	make_span(&span[1], 0, 1);
	make_span(&handlers_span, 0, 2);
	handlers_start = at = cpu_ns();
	end = at + seconds * 1000000000U;
	(void)sigaction(SIGALRM, &action, NULL);
	(void)setitimer(ITIMER_REAL, &every, NULL);
	while (at < end) {
		uint64_t turn = turn_ns(TURN_NS);

		for (i = 0; i < 2; i++) {
			at += share[i] * (turn / 10);
			attach(&span[i]);
			work[i](at);
			attach(NULL);
		}
	}
	(void)signal(SIGALRM, SIG_IGN);
}

/* ---- fork ---- */

/* The child has what the parent's thread points to, and none of what it published. */
static int run_child(void)
{
	struct otelprof_context span;
	pid_t pid;
	int status;

	make_span(&span, 0, 0);
	(void)otelprof_context_attach(&span);
	pid = fork();
	if (pid == 0) {
		work_1(cpu_ns() + seconds * 1000000000U);
		_exit(0);
	}
	work_0(cpu_ns() + seconds * 1000000000U);
	return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1;
}

static int publish(void)
{
	static const char *const keys[] = { "http.route", "unused", "span.number" };
	static const struct otelprof_context_attribute attributes[] = {
		{ "service.name", "spans" },
	};
	struct otelprof_process_context process = OTELPROF_PROCESS_CONTEXT_INIT;

	process.attributes = attributes;
	process.attributes_len = 1;
	process.keys = keys;
	process.keys_len = sizeof(keys) / sizeof(keys[0]);
	return otelprof_context_publish(&process);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "threads";
	void *(*run)(void *) = run_thread;
	pthread_t thread[THREADS];
	uintptr_t i;
	int r;

	if (argc > 2)
		seconds = strtoull(argv[2], NULL, 10);
	if (strcmp(mode, "custom") == 0)
		run = run_custom;
	quiet = run == run_custom || strcmp(mode, "plain") == 0;
	r = quiet ? 0 : publish();
	if (r < 0) {
		(void)fprintf(stderr, "publish: %s\n", strerror(-r));
		return 1;
	}
	(void)printf("ready %d\n", (int)getpid());
	(void)fflush(stdout);
	if (strcmp(mode, "coroutines") == 0) {
		run_coroutines();
		return 0;
	}
	if (strcmp(mode, "signals") == 0) {
		run_signals();
		return 0;
	}
	if (strcmp(mode, "fork") == 0)
		return run_child();
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, run, (void *)i))
			return 1;
	for (i = 0; i < THREADS; i++)
		(void)pthread_join(thread[i], NULL);
	return 0;
}
