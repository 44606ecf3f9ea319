/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPU samples of a program that others probe. The kernel runs the probed instruction in a copy
 * elsewhere, lets a function with a return probe return to a trampoline, and calls one where the
 * instruction is a long nop (x86-64, Linux 6.18). Each stack must be the one without the probe.
 */
#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>

#include <otelprof/otelprof.h>

#include "kind_profile.h"
#include "test.h"

enum {
	RATE_HZ = 999,
	CPU_NS = 700000000,
	CALLS = 1000,
	SAMPLES_MIN = 100,
	/* in the child's clock, at the ends of its work, in the pushes of a trampoline */
	OTHERS_PERMILLE = 50,
};

#if defined(__x86_64__)
#define STEPPED	 "lea 3(%0), %0"
#define LONG_NOP ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00"
#else
#define STEPPED	 "add %0, %0, #3"
#define LONG_NOP "nop"
#endif

/* ---- the child ---- */

extern const char op_stepped_at[];
extern const char op_nop_at[];

static PLACE __attribute__((used)) void op_stepped(unsigned long i)
{
	__asm__ volatile("op_stepped_at: " STEPPED : "+r"(i));
}

static PLACE __attribute__((used)) void op_returned(unsigned long i)
{
	__asm__ volatile("" : "+r"(i));
}

static PLACE __attribute__((used)) void op_nop(unsigned long i)
{
	__asm__ volatile("op_nop_at: " LONG_NOP : "+r"(i));
}

#if defined(__x86_64__)
/* Its first instruction is as short as a breakpoint, and moves sp. */
void op_pushed(unsigned long i);
__asm__(".text; .balign 16; .globl op_pushed; .type op_pushed, @function; op_pushed:"
	".cfi_startproc; push %rbp; .cfi_def_cfa_offset 16; .cfi_offset %rbp, -16;"
	"mov %rsp, %rbp; .cfi_def_cfa_register %rbp; pop %rbp; .cfi_def_cfa %rsp, 8; ret;"
	".cfi_endproc; .size op_pushed, . - op_pushed");

static PLACE void calls_pushed(void)
{
	unsigned long i;

	for (i = 0; i < CALLS; i++)
		op_pushed(i);
	STAYS("pushed");
}
#endif

static PLACE void calls_stepped(void)
{
	unsigned long i;

	for (i = 0; i < CALLS; i++)
		op_stepped(i);
	STAYS("stepped");
}

static PLACE void calls_returned(void)
{
	unsigned long i;

	for (i = 0; i < CALLS; i++)
		op_returned(i);
	STAYS("returned");
}

static PLACE void calls_nop(void)
{
	unsigned long i;

	for (i = 0; i < CALLS; i++)
		op_nop(i);
	STAYS("nop");
}

static const struct what {
	const char *caller;
	void (*calls)(void);
	const void *at; /* the probed instruction */
	bool returns;	/* a return probe */
} all[] = {
	{ "calls_stepped", calls_stepped, op_stepped_at, false },
	{ "calls_returned", calls_returned, (const void *)op_returned, true },
	{ "calls_nop", calls_nop, op_nop_at, false },
#if defined(__x86_64__)
	{ "calls_pushed", calls_pushed, (const void *)op_pushed, false },
#endif
};

static PLACE void works(const struct what *what)
{
	int64_t end = kind_clock_ns(CLOCK_THREAD_CPUTIME_ID) + CPU_NS;

	while (kind_clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		what->calls();
	STAYS("works");
}

static void serve(int from, int to)
{
	int i;

	while (read(from, &i, sizeof(i)) == sizeof(i)) {
		works(&all[i]);
		(void)!write(to, &i, sizeof(i));
	}
}

/* ---- the probe of another ---- */

/* The offset of @at in this program's file. */
static uint64_t offset_of(const void *at)
{
	unsigned long start, end, offset;
	uint64_t ret = 0;
	char line[PATH_MAX + 128];
	FILE *maps = fopen("/proc/self/maps", "re");

	CHECK(maps);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 &&
		    (uintptr_t)at >= start && (uintptr_t)at < end)
			ret = (uintptr_t)at - start + offset;
	CHECK_OK(fclose(maps));
	CHECK(ret);
	return ret;
}

/* Probe @what of process @pid, as perf does. Returns a descriptor. */
static int probe(const struct what *what, pid_t pid)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	FILE *type = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	int fd;

	if (!type)
		SKIP("no uprobes here");
	CHECK_INT(fscanf(type, "%u", &attr.type), 1);
	CHECK_OK(fclose(type));
	attr.config = what->returns; /* format/retprobe: config:0 */
	attr.uprobe_path = (uintptr_t) "/proc/self/exe";
	attr.probe_offset = offset_of(what->at);
	fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	CHECK(fd >= 0);
	return fd;
}

/* ---- the profile ---- */

struct got {
	const char *caller;
	int64_t works;
	int64_t others;
};

static void add_sample(struct kind_profile *profile, const struct otlp_sample_view *s)
{
	struct got *got = profile->data;
	int at = kind_frame(s, "works");
	char name[256];
	int i;

	if (!kind_is(s, "samples", "count"))
		return;
	got->works += s->value;
	/* the function that is probed, and frames of the kernel */
	for (i = 0; i < at; i++)
		if (otlp_frame_name(&s->frames[i], name, sizeof(name))[0] == '[')
			break;
	if (at > 0 && i == at && kind_frame(s, got->caller) == at - 1)
		return;
	kind_print(s);
	got->others += s->value;
}

static void check_stacks(int number)
{
	struct kind_child c = kind_child_start(serve);
	struct got got = { .caller = all[number].caller };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct otelprof_config config;
	struct otelprof *p;
	int fd = probe(&all[number], c.pid);
	int answer;

	otelprof_config_init(&config, sizeof(config));
	config.sample_rate_hz = RATE_HZ;
	p = kind_start(&config, c.pid, &profile);
	kind_child_ask(p, &c, &number, sizeof(number), &answer, sizeof(answer));
	CHECK_INT(kind_close(p), 0);
	CHECK_OK(close(fd));
	kind_child_end(&c);
	printf("  %s: %lld samples, %lld with other stacks\n", got.caller,
	       (long long)got.works, (long long)got.others);
	CHECK(got.works >= SAMPLES_MIN);
	CHECK(got.others * 1000 <= got.works * OTHERS_PERMILLE);
}

static void test_stepped(void)
{
	check_stacks(0);
}

static void test_returned(void)
{
	check_stacks(1);
}

static void test_nop(void)
{
	check_stacks(2);
}

static void test_pushed(void)
{
#if defined(__x86_64__)
	check_stacks(3);
#else
	SKIP("a breakpoint is as long as an instruction here");
#endif
}

TEST_MAIN({ "stepped", test_stepped }, { "returned", test_returned }, { "nop", test_nop },
	  { "pushed", test_pushed })
