/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where memory grows: a child touches known amounts of memory in known places, by pages, by
 * huge pages and by a file that is in the page cache. The bytes of each place must be these,
 * though a fault may bring any number of pages. Small blocks that come and go make no memory
 * grow.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>

#include <otelprof/otelprof.h>

#include "kind_profile.h"
#include "test.h"

enum {
	PAGE = 4096,
	PLACES = 4,
	PAGES_BYTES = 48 << 20,
	HUGE_BYTES = 32 << 20,
	HUGE_PAGE = 2 << 20,
	FILE_BYTES = 16 << 20,
	BLOCK_BYTES = 16 * PAGE,
	BLOCKS = 300,
	BLOCKS_MOST = 2 << 20, /* of BLOCKS * BLOCK_BYTES, 19.7 MB */
	PER_CENT = 2, /* the kernel adds some tens of pages of a CPU or thread at once */
	ROUNDS = 2,   /* the second grows into what the first one has given back */
};

static const char *const PLACE_NAME[PLACES] = { "grows_by_pages", "grows_by_huge_pages",
						"maps_a_file", "comes_and_goes" };

/* ---- the child ---- */

static int cached = -1;

static char *map(size_t bytes, int advice)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	if (p == MAP_FAILED)
		_exit(1);
	(void)madvise(p, bytes, advice);
	return p;
}

static PLACE void grows_by_pages(volatile char *p)
{
	size_t i;

	for (i = 0; i < PAGES_BYTES; i += PAGE)
		p[i] = 1;
	STAYS("pages");
}

/* Where there are none, by pages. */
static PLACE void grows_by_huge_pages(volatile char *p)
{
	size_t i;

	for (i = 0; i < HUGE_BYTES; i += PAGE)
		p[i] = 1;
	STAYS("huge");
}

static PLACE int maps_a_file(const volatile char *p)
{
	int sum = 0;
	size_t i;

	for (i = 0; i < FILE_BYTES; i += PAGE)
		sum += p[i];
	STAYS("file");
	return sum;
}

static PLACE void comes_and_goes(void)
{
	size_t i;
	int n;

	for (n = 0; n < BLOCKS; n++) {
		volatile char *p = map(BLOCK_BYTES, MADV_NOHUGEPAGE);

		for (i = 0; i < BLOCK_BYTES; i += PAGE)
			p[i] = 1;
		(void)munmap((void *)p, BLOCK_BYTES);
	}
	STAYS("blocks");
}

static void work(void)
{
	size_t huge_bytes = HUGE_BYTES + HUGE_PAGE;
	char *pages = map(PAGES_BYTES, MADV_NOHUGEPAGE);
	char *huge = map(huge_bytes, MADV_HUGEPAGE);
	char *aligned = huge + (HUGE_PAGE - (uintptr_t)huge % HUGE_PAGE) % HUGE_PAGE;
	char *file = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, cached, 0);

	if (file == MAP_FAILED)
		_exit(1);
	grows_by_pages(pages);
	grows_by_huge_pages(aligned);
	(void)maps_a_file(file);
	comes_and_goes();
	(void)munmap(pages, PAGES_BYTES);
	(void)munmap(huge, huge_bytes);
	(void)munmap(file, FILE_BYTES);
}

/* Each CPU has a part that the counters do not know yet. */
static void stay_on_this_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
}

static void serve(int from, int to)
{
	char path[] = "growth-XXXXXX";
	void *bytes = calloc(1, FILE_BYTES);
	char go;

	stay_on_this_cpu();
	cached = mkostemp(path, O_CLOEXEC);
	if (cached < 0 || !bytes || write(cached, bytes, FILE_BYTES) != FILE_BYTES)
		_exit(1);
	(void)unlink(path);
	free(bytes);
	while (read(from, &go, 1) == 1) {
		work();
		(void)!write(to, &go, 1);
	}
}

/* ---- the profile ---- */

struct got {
	int64_t bytes[PLACES];
	int64_t faults[PLACES];
};

static void add_sample(struct kind_profile *profile, const struct otlp_sample_view *s)
{
	struct got *got = profile->data;
	int i;

	for (i = 0; i < PLACES; i++)
		if (kind_frame(s, PLACE_NAME[i]) >= 0)
			break;
	if (i == PLACES)
		return;
	if (kind_is(s, "memory_growth", "bytes")) {
		CHECK(s->value > 0 && s->value % PAGE == 0);
		got->bytes[i] += s->value;
	} else if (kind_is(s, "page_faults", "count")) {
		got->faults[i] += s->value;
	} else {
		TEST_FAIL("a sample of another type");
	}
}

/* Bytes: before 6.2 the counters take in what a thread has added at its 64th fault, and one in a
 * file brings 16 pages. */
static int64_t part_bytes(void)
{
	struct utsname name;
	int major = 0, minor = 0;

	CHECK_OK(uname(&name));
	CHECK_INT(sscanf(name.release, "%d.%d", &major, &minor), 2);
	return major < 6 || (major == 6 && minor < 2) ? 64 * 16 * PAGE : 0;
}

static void check_round(const struct got *got)
{
	static const int64_t want[PLACES] = { PAGES_BYTES, HUGE_BYTES, FILE_BYTES, 0 };
	int i;

	for (i = 0; i < PLACES; i++)
		printf("  %s: %lld bytes of %lld, in %lld faults\n", PLACE_NAME[i],
		       (long long)got->bytes[i], (long long)want[i],
		       (long long)got->faults[i]);
	for (i = 0; i < PLACES - 1; i++)
		CHECK(llabs(got->bytes[i] - want[i]) <=
		      want[i] * PER_CENT / 100 + part_bytes());
	CHECK(got->bytes[PLACES - 1] <= BLOCKS_MOST);
}

static struct otelprof *start(const struct kind_child *c, uint64_t flags,
			      struct kind_profile *profile)
{
	struct otelprof_config config;

	otelprof_config_init(&config, sizeof(config));
	config.kinds = OTELPROF_KIND_PAGE_FAULTS;
	config.flags = flags;
	config.ring_bytes = 16 << 20;
	return kind_start(&config, c->pid, profile);
}

static void test_bytes(void)
{
	struct got got = { 0 };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct kind_child c = kind_child_start(serve);
	struct otelprof *p = start(&c, 0, &profile);
	char go = 'g';
	int i;

	/* what is met for the first time: its tables are made */
	kind_child_ask(p, &c, &go, 1, &go, 1);
	for (i = 0; i < ROUNDS; i++) {
		got = (struct got){ 0 };
		kind_child_ask(p, &c, &go, 1, &go, 1);
		check_round(&got);
	}
	/* what grows while nobody looks is nobody's */
	CHECK_OK(otelprof_pause(p));
	kind_child_ask(p, &c, &go, 1, &go, 1);
	CHECK_OK(otelprof_resume(p));
	got = (struct got){ 0 };
	kind_child_ask(p, &c, &go, 1, &go, 1);
	check_round(&got);
	(void)kind_close(p);
	kind_child_end(&c);
}

/* The programs of older kernels. */
static void test_forms(void)
{
	static const uint64_t flags[] = { OTELPROF_NO_BPF_LOOP, OTELPROF_NO_TAIL_CALLS };
	struct got got;
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	char go = 'g';
	int i;

	for (i = 0; i < 2; i++) {
		struct kind_child c = kind_child_start(serve);
		struct otelprof *p = start(&c, flags[i], &profile);

		kind_child_ask(p, &c, &go, 1, &go, 1);
		got = (struct got){ 0 };
		kind_child_ask(p, &c, &go, 1, &go, 1);
		check_round(&got);
		(void)kind_close(p);
		kind_child_end(&c);
	}
}

TEST_MAIN({ "bytes", test_bytes }, { "forms", test_forms })
