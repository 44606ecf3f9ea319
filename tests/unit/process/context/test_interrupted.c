/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer, interrupted. A profiler sees a thread between any two of its instructions: so a
 * signal comes after each one, and its handler looks at what the thread has published, as a reader
 * of OTEP 4947 does. Then it writes itself, as handlers may.
 */
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include <otelprof/context.h>

#include "test.h"

enum {
	CONTEXTS = 3,
	LEAST_STEPS = 500,
	TIMER_US = 30,
	TIMER_SIGNALS = 2000,
	TIMER_SECONDS = 60, /* on a machine with no time to spare */
	KEY = 7,
};

extern __thread struct otelprof_context *otel_thread_ctx_v1;

static struct otelprof_context context[CONTEXTS]; /* the interrupted code's */
static struct otelprof_context handlers;	  /* the handler's own */

/* What was seen; only handlers write it. */
static volatile uint64_t signals;
static volatile uint64_t seen[CONTEXTS];
static volatile uint64_t seen_none;
static volatile uint64_t mixtures;
static volatile uint64_t wrong_returns;

/* All ids and values of context @i consist of this byte, in generation @generation. */
static uint8_t byte_of(unsigned int i, unsigned int generation)
{
	return (uint8_t)(0x11 * (i + 1) + generation % 2 * 0x80);
}

static int all(const uint8_t *at, size_t len, uint8_t byte)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (at[i] != byte)
			return 0;
	return 1;
}

/*
 * Is @c one of those that were written, whole? The trace id tells which. The span is the trace's,
 * or its complement after set_span(). An attribute's value is as long as it says, of its byte.
 */
static int is_whole(const struct otelprof_context *c)
{
	uint8_t byte = c->trace_id[0];
	size_t at = 0;

	if (!all(c->trace_id, sizeof(c->trace_id), byte) || !byte)
		return 0;
	if (!all(c->span_id, sizeof(c->span_id), byte) &&
	    !all(c->span_id, sizeof(c->span_id), (uint8_t)~byte))
		return 0;
	while (at < c->attributes_bytes) {
		size_t len = c->attributes[at + 1];

		if (c->attributes[at] != KEY || at + 2 + len > c->attributes_bytes ||
		    !all(c->attributes + at + 2, len, byte))
			return 0;
		at += 2 + len;
	}
	return 1;
}

/* As a profiler's program: the pointer first, then what is valid. */
static void look(void)
{
	const struct otelprof_context *c =
		*(struct otelprof_context *volatile *)&otel_thread_ctx_v1;
	size_t i;

	if (!c || c->valid != 1) {
		seen_none++;
		return;
	}
	if (!is_whole(c))
		mixtures++;
	for (i = 0; i < CONTEXTS; i++)
		if (c == &context[i])
			seen[i]++;
}

/* The handler has a span of its own, and puts back what it found. */
static void write_own(void)
{
	uint8_t trace[16];
	uint8_t span[8];
	struct otelprof_context *before;

	memset(trace, 0x7e, sizeof(trace));
	memset(span, 0x7e, sizeof(span));
	otelprof_context_init(&handlers, trace, span);
	before = otelprof_context_attach(&handlers);
	(void)otelprof_context_add(&handlers, KEY, "~~~~", 4);
	if (otelprof_context_current() != &handlers || !is_whole(&handlers))
		wrong_returns++;
	if (otelprof_context_attach(before) != &handlers)
		wrong_returns++;
}

static void on_signal(int number)
{
	signals++;
	look();
	write_own();
	look();
}

/* All calls of the writer, on contexts that are attached and that are not. */
static void write_all(unsigned int generation)
{
	uint8_t ids[16];
	char value[40];
	unsigned int i;

	for (i = 0; i < CONTEXTS; i++) {
		struct otelprof_context *before = otelprof_context_current();

		memset(ids, byte_of(i, generation), sizeof(ids));
		memset(value, byte_of(i, generation), sizeof(value));
		otelprof_context_init(&context[i], ids, ids);
		(void)otelprof_context_add(&context[i], KEY, value, 9);
		if (otelprof_context_attach(&context[i]) != before)
			wrong_returns++;
		(void)otelprof_context_add(&context[i], KEY, value, sizeof(value));
		memset(ids, (uint8_t)~byte_of(i, generation), sizeof(ids));
		otelprof_context_set_span(&context[i], ids);
		/* the same memory again, while it is attached */
		memset(ids, byte_of(i, generation + 1), sizeof(ids));
		otelprof_context_init(&context[i], ids, ids);
		if (otelprof_context_current() != &context[i])
			wrong_returns++;
	}
	if (otelprof_context_attach(NULL) != &context[CONTEXTS - 1])
		wrong_returns++;
}

static void begin(int number)
{
	struct sigaction action;

	signals = seen_none = mixtures = wrong_returns = 0;
	memset((void *)seen, 0, sizeof(seen));
	memset(&action, 0, sizeof(action));
	action.sa_handler = on_signal;
	CHECK_OK(sigaction(number, &action, NULL));
}

static void check_seen(void)
{
	size_t i;

	CHECK_INT(mixtures, 0);
	CHECK_INT(wrong_returns, 0);
	CHECK(seen_none > 0);
	for (i = 0; i < CONTEXTS; i++)
		CHECK(seen[i] > 0);
	CHECK(!otelprof_context_current());
}

/* The processor's trap flag: a SIGTRAP after each instruction, the writer's among them. */
static void test_each_instruction(void)
{
#ifdef __x86_64__
	begin(SIGTRAP);
	/* below the red zone of the code around */
	__asm__ volatile(
		"lea -128(%%rsp), %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\t"
		"lea 128(%%rsp), %%rsp" ::
			: "memory", "cc");
	write_all(0);
	write_all(1);
	__asm__ volatile(
		"lea -128(%%rsp), %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\t"
		"lea 128(%%rsp), %%rsp" ::
			: "memory", "cc");
	(void)signal(SIGTRAP, SIG_DFL);
	printf("  a signal after each of %llu instructions\n",
	       (unsigned long long)signals);
	CHECK(signals > LEAST_STEPS);
	check_seen();
#else
	SKIP("a trap after each instruction is made for x86-64 alone");
#endif
}

/* And by a clock, anywhere. */
static void test_timer(void)
{
	const struct itimerval every = { { 0, TIMER_US }, { 0, TIMER_US } };
	const struct itimerval never = { { 0, 0 }, { 0, 0 } };
	time_t end = time(NULL) + TIMER_SECONDS;
	unsigned int turn;

	begin(SIGALRM);
	CHECK_OK(setitimer(ITIMER_REAL, &every, NULL));
	for (turn = 0; signals < TIMER_SIGNALS && time(NULL) < end; turn++)
		write_all(turn);
	CHECK_OK(setitimer(ITIMER_REAL, &never, NULL));
	printf("  %llu signals in %u turns\n", (unsigned long long)signals, turn);
	CHECK(signals >= TIMER_SIGNALS);
	check_seen();
}

TEST_MAIN({ "each_instruction", test_each_instruction }, { "timer", test_timer })
