/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations end to end: programs that allocate known amounts in known places, with the sampler
 * before their allocator. Sizes are five times the sampling interval: of those the estimate of
 * n is off by 0.082 / sqrt(n), so that 3 per cent are six standard deviations for the fewest.
 */
#include <limits.h>
#include <math.h>

#include <otelprof/otelprof.h>

#include "forged.h"
#include "kind_profile.h"
#include "places.h"
#include "test.h"

enum {
	INTERVAL = 16384,
	SIZE = 5 * INTERVAL,
	MADE = 3000, /* a CPU takes at most 10,000 samples a second */
	KEPT = 3000,
	SMALL = 1000,
	SMALLS = 120000,
	PER_CENT = 3,
};

/* What the profile says of one place. */
struct place {
	const char *function;
	double alloc_space;
	double alloc_objects;
	double inuse_space;
	double inuse_objects;
};

struct got {
	struct place place[16];
	double others; /* bytes of alloc_space of no place */
	uint32_t resource_pids;
};

static const char *program_path;
static const char *preload;
static char interval[32];

static void add_to(struct place *place, const struct otlp_sample_view *s)
{
	if (kind_is(s, "alloc_space", "bytes"))
		place->alloc_space += (double)s->value;
	else if (kind_is(s, "alloc_objects", "count"))
		place->alloc_objects += (double)s->value;
	else if (kind_is(s, "inuse_space", "bytes"))
		place->inuse_space += (double)s->value;
	else if (kind_is(s, "inuse_objects", "count"))
		place->inuse_objects += (double)s->value;
	else
		TEST_FAIL("a sample of another type");
}

static void add_sample(struct kind_profile *profile, const struct otlp_sample_view *s)
{
	struct got *got = profile->data;
	struct place *p;

	for (p = got->place; p->function; p++)
		if (kind_frame(s, p->function) >= 0) {
			add_to(p, s);
			return;
		}
	if (kind_is(s, "alloc_space", "bytes"))
		got->others += (double)s->value;
}

static void serve(int from, int to)
{
	(void)dup2(from, 0);
	(void)dup2(to, 1);
	(void)setenv("OTELPROF_HEAP_INTERVAL", interval, 1);
	(void)setenv("LD_PRELOAD", preload, 1);
	(void)execl(program_path, program_path, NULL);
	_exit(9);
}

static void ask_plain(const struct kind_child *c, uint32_t what, uint32_t n,
		      uint64_t size)
{
	struct request q = { what, n, size };

	CHECK_INT(write(c->to, &q, sizeof(q)), sizeof(q));
	CHECK_INT(read(c->from, &q, sizeof(q)), sizeof(q));
}

/* @libraries: what LD_PRELOAD has. */
static struct kind_child start_with(const char *program, const char *libraries,
				    uint32_t mean)
{
	struct kind_child c;

	program_path = program;
	preload = libraries;
	(void)snprintf(interval, sizeof(interval), "%u", mean);
	c = kind_child_start(serve);
	ask_plain(&c, 'x', 0, 0);
	return c;
}

static struct kind_child start_program(const char *program, uint32_t mean)
{
	return start_with(program, HEAP_SAMPLER, mean);
}

/* What @c does when asked, and what the profile of just that says. */
static void ask(struct otelprof *p, const struct kind_child *c,
		struct kind_profile *profile, uint32_t what, uint32_t n, uint64_t size)
{
	struct request q = { what, n, size };
	struct got *got = profile->data;
	struct place *place;

	for (place = got->place; place->function; place++)
		*place = (struct place){ .function = place->function };
	got->others = 0;
	kind_child_ask(p, c, &q, sizeof(q), &q, sizeof(q));
	for (place = got->place; place->function; place++)
		printf("  %c %-18s alloc %.0f in %.0f, in use %.0f in %.0f\n", (int)what,
		       place->function, place->alloc_space, place->alloc_objects,
		       place->inuse_space, place->inuse_objects);
	printf("  %c %-18s alloc %.0f\n", (int)what, "(others)", got->others);
}

static void check_near(double got, double want, double per_cent, const char *what)
{
	if (fabs(got - want) > want * per_cent / 100)
		TEST_FAIL("%s: %.0f, not %.0f: %.2f per cent off", what, got, want,
			  100 * (got - want) / want);
}

static struct otelprof *start(const struct kind_child *c, struct kind_profile *profile)
{
	struct otelprof_config config;

	otelprof_config_init(&config, sizeof(config));
	config.kinds = OTELPROF_KIND_HEAP;
	config.ring_bytes = 16 << 20;
	return kind_start(&config, c->pid, profile);
}

static void check_allocated(const struct place *place, double n, double size)
{
	check_near(place->alloc_space, n * size, PER_CENT, place->function);
	check_near(place->alloc_objects, n, PER_CENT, place->function);
}

static void check_in_use(const struct place *place, double n, double size)
{
	check_near(place->inuse_space, n * size, PER_CENT, place->function);
	check_near(place->inuse_objects, n, PER_CENT, place->function);
}

static void test_three_places(void)
{
	struct got got = { .place = { { "place_a" }, { "place_b" }, { "place_c" } } };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct kind_child c = start_program(PLACES, INTERVAL);
	struct otelprof *p = start(&c, &profile);

	ask(p, &c, &profile, 'm', 10, SIZE);
	ask(p, &c, &profile, 'm', MADE, SIZE);
	check_allocated(&got.place[0], MADE * .6, SIZE);
	check_allocated(&got.place[1], MADE * .3, SIZE);
	check_allocated(&got.place[2], MADE * .1, SIZE);
	CHECK(got.others < SIZE);
	CHECK(got.place[0].inuse_space == 0 && got.place[1].inuse_space == 0);

	ask(p, &c, &profile, 'k', KEPT, SIZE);
	check_allocated(&got.place[0], KEPT * .6, SIZE);
	check_in_use(&got.place[0], KEPT * .6, SIZE);
	check_in_use(&got.place[1], KEPT * .3, SIZE);
	check_in_use(&got.place[2], KEPT * .1, SIZE);
	/* what was allocated in an earlier window is in use still */
	ask(p, &c, &profile, 'x', 0, 0);
	CHECK(got.place[0].alloc_space == 0);
	check_in_use(&got.place[0], KEPT * .6, SIZE);
	check_in_use(&got.place[2], KEPT * .1, SIZE);
	/* and what is freed is not, at once */
	ask(p, &c, &profile, 'a', 0, 0);
	CHECK(got.place[0].inuse_space == 0 && got.place[0].inuse_objects == 0);
	check_in_use(&got.place[1], KEPT * .3, SIZE);
	ask(p, &c, &profile, 'f', 0, 0);
	CHECK(got.place[1].inuse_space == 0 && got.place[2].inuse_space == 0);
	(void)kind_close(p);
	kind_child_end(&c);
}

/* Far below the interval: one in some is sampled and stands for the rest. */
static void test_small_ones(void)
{
	struct got got = { .place = { { "place_a" }, { "place_b" }, { "place_c" } } };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct kind_child c = start_program(PLACES, INTERVAL);
	struct otelprof *p = start(&c, &profile);
	/* of a sample of size S: sqrt((1 - q) / q) of it, q = 1 - exp(-S/R) */
	double q = 1 - exp(-(double)SMALL / INTERVAL);
	double deviation = 100 * sqrt((1 - q) / q / (SMALLS * .6));

	ask(p, &c, &profile, 'm', 10, SIZE);
	ask(p, &c, &profile, 'm', SMALLS, SMALL);
	check_near(got.place[0].alloc_space, SMALLS * .6 * SMALL, 5 * deviation, "bytes");
	check_near(got.place[0].alloc_objects, SMALLS * .6, 5 * deviation, "objects");
	check_near(got.place[1].alloc_objects, SMALLS * .3, 8 * deviation, "objects");
	(void)kind_close(p);
	kind_child_end(&c);
}

static void test_other_calls(void)
{
	struct got got = { .place = { { "place_calloc" },
				      { "place_reallocarray" },
				      { "place_aligned" },
				      { "place_realloc" },
				      { "place_c" } } };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct kind_child c = start_program(PLACES, INTERVAL);
	struct otelprof *p = start(&c, &profile);

	ask(p, &c, &profile, 'm', 10, SIZE);
	ask(p, &c, &profile, 'o', 600, SIZE);
	check_allocated(&got.place[0], 600, SIZE);
	check_allocated(&got.place[1], 600, SIZE);
	check_allocated(&got.place[2], 600, SIZE);
	check_in_use(&got.place[2], 600, SIZE);
	/* a block that grows is another one's place from then on */
	ask(p, &c, &profile, 'k', KEPT, SIZE);
	check_in_use(&got.place[4], KEPT * .1, SIZE);
	ask(p, &c, &profile, 'r', 0, 2 * SIZE);
	CHECK(got.place[4].inuse_space == 0);
	check_in_use(&got.place[3], KEPT * .1, 2 * SIZE);
	ask(p, &c, &profile, 'f', 0, 0);
	CHECK(got.place[0].inuse_space + got.place[1].inuse_space +
		      got.place[2].inuse_space + got.place[3].inuse_space ==
	      0);
	(void)kind_close(p);
	kind_child_end(&c);
}

static void test_threads(void)
{
	struct got got = { .place = { { "place_a" }, { "place_b" }, { "place_c" } } };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct kind_child c = start_program(PLACES, INTERVAL);
	struct otelprof *p = start(&c, &profile);

	ask(p, &c, &profile, 'm', 10, SIZE);
	ask(p, &c, &profile, 't', MADE / PLACES_THREADS, SIZE);
	check_allocated(&got.place[0], MADE * .6, SIZE);
	check_allocated(&got.place[1], MADE * .3, SIZE);
	check_allocated(&got.place[2], MADE * .1, SIZE);
	CHECK(got.place[0].inuse_space == 0);
	(void)kind_close(p);
	kind_child_end(&c);
}

/* The child of a fork has its own heap: what it frees of the parent's stays in use there. */
static void test_fork(void)
{
	struct got got = { .place = { { "place_child" }, { "place_a" } } };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct kind_child c = start_program(PLACES, INTERVAL);
	struct otelprof_rule rule = { .size = sizeof(rule),
				      .kind = OTELPROF_MATCH_TREE,
				      .number = (uint64_t)c.pid };
	struct otelprof *p = start(&c, &profile);

	CHECK_OK(otelprof_set_rules(p, &rule, 1));
	ask(p, &c, &profile, 'k', 1000, SIZE);
	check_in_use(&got.place[1], 600, SIZE);
	ask(p, &c, &profile, 'c', 600, SIZE);
	check_allocated(&got.place[0], 600, SIZE);
	CHECK(got.place[0].inuse_space == 0);
	check_in_use(&got.place[1], 600, SIZE);
	(void)kind_close(p);
	kind_child_end(&c);
}

static void test_operators(void)
{
	struct got got = { .place = { { "place_new" },
				      { "place_array" },
				      { "place_wide" },
				      { "place_nothrow" } } };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct kind_child c = start_program(OPERATORS, INTERVAL);
	struct otelprof *p = start(&c, &profile);
	int i;

	ask(p, &c, &profile, 'k', 10, SIZE);
	ask(p, &c, &profile, 'f', 0, 0);
	ask(p, &c, &profile, 'k', 600, SIZE);
	for (i = 0; i < 4; i++)
		check_allocated(&got.place[i], 600, SIZE);
	check_in_use(&got.place[1], 600, SIZE);
	CHECK(got.place[0].inuse_space + got.place[2].inuse_space +
		      got.place[3].inuse_space ==
	      0);
	ask(p, &c, &profile, 'f', 0, 0);
	CHECK(got.place[1].inuse_space == 0);
	(void)kind_close(p);
	kind_child_end(&c);
}

/* Does process @pid map a file whose path has @name? */
static bool maps(pid_t pid, const char *name)
{
	char path[64];
	char line[PATH_MAX + 128];
	bool found = false;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	CHECK(f);
	while (!found && fgets(line, sizeof(line), f))
		found = strstr(line, name) != NULL;
	CHECK_OK(fclose(f));
	return found;
}

/* The allocator @name behind the sampler, under a program in C or C++. */
static void check_allocator(const char *program, const char *libraries, const char *name)
{
	struct got got = { .place = { { "place_a" }, { "place_array" } } };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct kind_child c = start_with(program, libraries, INTERVAL);
	struct place *place = &got.place[strcmp(program, OPERATORS) == 0];
	struct otelprof *p;

	if (!maps(c.pid, name)) {
		printf("  %s: not here\n", name);
		kind_child_end(&c);
		return;
	}
	printf("  %s\n", name);
	p = start(&c, &profile);
	ask(p, &c, &profile, 'k', 10, SIZE);
	ask(p, &c, &profile, 'f', 0, 0);
	ask(p, &c, &profile, 'k', 1000, SIZE);
	check_in_use(place, program == (const char *)OPERATORS ? 1000 : 600, SIZE);
	ask(p, &c, &profile, 'f', 0, 0);
	CHECK(place->inuse_space == 0);
	(void)kind_close(p);
	kind_child_end(&c);
}

static void test_allocators(void)
{
	check_allocator(PLACES, HEAP_SAMPLER " libjemalloc.so.2", "libjemalloc");
	check_allocator(OPERATORS, HEAP_SAMPLER " libjemalloc.so.2", "libjemalloc");
	check_allocator(PLACES, HEAP_SAMPLER " libtcmalloc_minimal.so.4", "libtcmalloc");
	check_allocator(OPERATORS, HEAP_SAMPLER " libtcmalloc_minimal.so.4",
			"libtcmalloc");
#ifdef PLACES_MUSL
	check_allocator(PLACES_MUSL, HEAP_SAMPLER_MUSL, "linux-musl");
#endif
}

/* A process that ends has nothing in use. */
static void test_exit(void)
{
	struct got got = { .place = { { "place_a" } } };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct kind_child c = start_program(PLACES, INTERVAL);
	struct otelprof *p = start(&c, &profile);
	struct otelprof_stats s;

	ask(p, &c, &profile, 'k', 1000, SIZE);
	check_in_use(&got.place[0], 600, SIZE);
	otelprof_stats_init(&s, sizeof(s));
	CHECK_OK(otelprof_get_stats(p, &s));
	CHECK(s.heap_in_use > 900);
	CHECK_INT(s.heap_untracked, 0);
	kind_child_end(&c);
	got.place[0] = (struct place){ .function = "place_a" };
	kind_drain(p);
	CHECK(got.place[0].inuse_space == 0);
	CHECK_OK(otelprof_get_stats(p, &s));
	CHECK_INT(s.heap_in_use, 0);
	(void)kind_close(p);
}

/* Nothing is loaded while the kind is off, and nobody is listened to. */
static void test_off(void)
{
	struct got got = { .place = { { "place_a" } } };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct kind_child c = start_program(PLACES, INTERVAL);
	struct otelprof *p = start(&c, &profile);

	CHECK(kind_programs("op_heap") > 0);
	ask(p, &c, &profile, 'k', 1000, SIZE);
	check_in_use(&got.place[0], 600, SIZE);
	CHECK_OK(otelprof_set_kinds(p, OTELPROF_KIND_PAGE_FAULTS));
	CHECK_INT(kind_programs("op_heap"), 0);
	CHECK_INT(kind_programs("op_heap_free"), 0);
	ask_plain(&c, 'f', 0, 0); /* nobody hears of that */
	CHECK_OK(otelprof_set_kinds(p, OTELPROF_KIND_HEAP));
	kind_drain(p);
	ask(p, &c, &profile, 'x', 0, 0);
	CHECK(got.place[0].inuse_space == 0);
	ask(p, &c, &profile, 'k', 1000, SIZE);
	check_in_use(&got.place[0], 600, SIZE);
	(void)kind_close(p);
	kind_child_end(&c);
}

/* During a pause nothing is said to be in use, for frees are not seen. */
static void test_pause(void)
{
	struct got got = { .place = { { "place_a" } } };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct kind_child c = start_program(PLACES, INTERVAL);
	struct otelprof *p = start(&c, &profile);

	ask(p, &c, &profile, 'k', 1000, SIZE);
	check_in_use(&got.place[0], 600, SIZE);
	CHECK_OK(otelprof_pause(p));
	ask(p, &c, &profile, 'f', 0, 0);
	CHECK(got.place[0].inuse_space == 0);
	CHECK_OK(otelprof_resume(p));
	kind_drain(p);
	ask(p, &c, &profile, 'x', 0, 0);
	CHECK(got.place[0].inuse_space == 0);
	ask(p, &c, &profile, 'k', 1000, SIZE);
	check_in_use(&got.place[0], 600, SIZE);
	(void)kind_close(p);
	kind_child_end(&c);
}

TEST_MAIN({ "three_places", test_three_places }, { "small_ones", test_small_ones },
	  { "other_calls", test_other_calls }, { "threads", test_threads },
	  { "fork", test_fork }, { "operators", test_operators }, { "exit", test_exit },
	  { "allocators", test_allocators }, { "off", test_off }, { "pause", test_pause },
	  { "forged", test_forged })
