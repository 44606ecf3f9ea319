/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See bursts.h. WHAT is one of
 *
 *     events           touches pages, by itself and in system calls, and sleeps
 *     heap TIMES R     allocates and frees, R being the mean interval of the sampler
 *     blocks PATH      reads and writes the block device PATH past the page cache
 */
#define _GNU_SOURCE
#include "bursts.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum {
	EVENT_BURSTS = 250,
	FAULTS_MOST = 250, /* of a burst */
	FAULTS_FEW = 8,
	SLEEPS_MOST = 25,
	HEAP_LEAST = 16,
	HEAP_DOUBLES = 12, /* sizes up to 64 KiB */
	HEAP_BURST = 200,
	HEAP_BURSTS = 2000,
	HEAP_KEPT = 256,
	BLOCK_TIMES = 300,
	BLOCK_DOUBLES = 8, /* up to 1 MiB of one request */
	BLOCK_PAGES = 4096,
};

/* Limits are those of a CPU, which also has a part that counters do not know yet. */
static void stay_on_this_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
}

/* ---- page faults and switches ---- */

/* A burst: when it ended, from which place, and what was in it. */
struct burst {
	int64_t ns;
	int place;
	long faults;
	long switches;
};

static struct burst burst[EVENT_BURSTS];
static int bursts_done;
static char *page;
static int zero;

/* The thread may lose its CPU between here and the caller: hardly ever. */
static PLACE void acts(int place, int pages, int sleeps)
{
	struct timespec t = { .tv_nsec = 50 * US };
	struct rusage before, after;
	int i;

	(void)getrusage(RUSAGE_THREAD, &before);
	for (i = 0; i < pages; i++, page += PAGE)
		if (!below(4) && read(zero, page, 1) != 1)
			fail("/dev/zero");
		else
			*(volatile char *)page = 1;
	for (i = 0; i < sleeps; i++)
		(void)nanosleep(&t, NULL);
	(void)getrusage(RUSAGE_THREAD, &after);
	burst[bursts_done++] = (struct burst){
		clock_ns(CLOCK_MONOTONIC),
		place,
		pages,
		after.ru_nvcsw + after.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw,
	};
}

static PLACE void touches(int place, int n)
{
	acts(place, n, 0);
	STAYS(n);
}

static PLACE void sleeps(int place, int n)
{
	acts(place, 0, n);
	STAYS(n);
}

static PLACE void events(int bursts)
{
	size_t size = (size_t)EVENT_BURSTS * FAULTS_MOST * PAGE;
	int i;

	zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (zero < 0 || page == MAP_FAILED)
		fail("pages");
	(void)madvise(page, size, MADV_NOHUGEPAGE);
	bursts_done = 0;
	memset(burst, 0, sizeof(burst)); /* that faults not in a burst */
	for (i = 0; i < bursts; i++) {
		if (below(3))
			anywhere(touches,
				 1 + (int)below(below(2) ? FAULTS_FEW : FAULTS_MOST));
		else
			anywhere(sleeps, 1 + (int)below(SLEEPS_MOST));
		spend(mixed(10 * US, 10));
	}
}

static void print_events(void)
{
	int i;

	printf("\"bursts\": [");
	for (i = 0; i < bursts_done; i++)
		printf("%s[%lld, %d, %ld, %ld]", i ? ", " : "", (long long)burst[i].ns,
		       burst[i].place, burst[i].faults, burst[i].switches);
	printf("]");
}

/* ---- allocations ---- */

/*
 * A burst of allocations: when it ended, from which place, its bytes and blocks. An allocation is
 * sampled with p = 1 - exp(-size / R): the sums of p, of size^2 / p, of 1 / p, and of size^2 (1 - p) /
 * p and (1 - p) / p, the noise of sampled bytes and blocks.
 */
struct allocated {
	int64_t ns;
	int place;
	double bytes;
	double blocks;
	double samples;
	double bytes2;
	double blocks2;
	double bytes_noise;
	double blocks_noise;
};

static long heap_times;
static double interval;
static struct allocated allocated[HEAP_BURSTS];
static int heap_bursts;
static void *kept[HEAP_KEPT];

static PLACE void allocates(int place, int n)
{
	struct allocated *a = &allocated[heap_bursts++];

	*a = (struct allocated){ .place = place, .blocks = n };
	while (n--) {
		int64_t size = mixed(HEAP_LEAST, HEAP_DOUBLES);
		double p = 1 - exp(-(double)size / interval);
		double size2 = (double)size * (double)size;
		uint64_t at = below(HEAP_KEPT);

		free(kept[at]);
		kept[at] = malloc((size_t)size);
		a->bytes += (double)size;
		a->samples += p;
		a->bytes2 += size2 / p;
		a->blocks2 += 1 / p;
		a->bytes_noise += size2 * (1 - p) / p;
		a->blocks_noise += (1 - p) / p;
	}
	a->ns = clock_ns(CLOCK_MONOTONIC);
}

static PLACE void heap(int bursts)
{
	long left = bursts > KNOWN ? heap_times : KNOWN;

	heap_bursts = 0;
	while (left > 0 && heap_bursts < HEAP_BURSTS) {
		int n = 1 + (int)below(HEAP_BURST);

		anywhere(allocates, n);
		left -= n;
		spend(mixed(50 * US, 5));
	}
}

static void print_heap(void)
{
	int i;

	printf("\"bursts\": [");
	for (i = 0; i < heap_bursts; i++) {
		const struct allocated *a = &allocated[i];

		printf("%s[%lld, %d, %.9g, %.9g, %g, %g, %g, %g, %g]", i ? ", " : "",
		       (long long)a->ns, a->place, a->bytes, a->blocks, a->samples,
		       a->bytes2, a->blocks2, a->bytes_noise, a->blocks_noise);
	}
	printf("]");
}

/* ---- block I/O ---- */

static int device;
static char *buffer;
static int64_t requested[PLACES], requests[PLACES], blocks_ns[PLACES],
	blocks_ready_ns[PLACES];

/* From the first place it reads, from the second it writes. */
static PLACE void asks(int place, int n)
{
	static struct clocks c = { -1, -1 };

	if (c.task < 0)
		c = open_clocks();
	while (n--) {
		size_t size = PAGE * (size_t)mixed(1, BLOCK_DOUBLES);
		off_t at = (off_t)below(BLOCK_PAGES - (1 << BLOCK_DOUBLES)) * PAGE;
		struct wait w;
		ssize_t r;

		begin_wait(&c, &w);
		r = place ? pwrite(device, buffer, size, at)
			  : pread(device, buffer, size, at);
		end_wait(&c, &w);
		if (r != (ssize_t)size)
			fail("the device");
		blocks_ns[place] += w.lived;
		blocks_ready_ns[place] += w.ready;
		requested[place] += r;
		requests[place]++;
	}
}

static PLACE void blocks(int bursts)
{
	int left = bursts > KNOWN ? BLOCK_TIMES : KNOWN;

	memset(requested, 0, sizeof(requested));
	memset(requests, 0, sizeof(requests));
	memset(blocks_ns, 0, sizeof(blocks_ns));
	memset(blocks_ready_ns, 0, sizeof(blocks_ready_ns));
	while (left > 0) {
		int n = 1 + (int)below(20);

		anywhere(asks, n);
		left -= n;
		spend(mixed(100 * US, 6));
	}
}

static void print_blocks(void)
{
	int i;

	printf("\"places\": [");
	for (i = 0; i < PLACES; i++)
		printf("%s[%lld, %lld, %lld, %lld]", i ? ", " : "",
		       (long long)requests[i], (long long)requested[i],
		       (long long)blocks_ns[i], (long long)blocks_ready_ns[i]);
	printf("]");
}

static void prepare_events(char **arguments)
{
	(void)arguments;
	stay_on_this_cpu();
}

static void prepare_heap(char **arguments)
{
	stay_on_this_cpu();
	heap_times = atol(arguments[0]);
	interval = atof(arguments[1]);
}

static void prepare_blocks(char **arguments)
{
	device = open(arguments[0], O_RDWR | O_DIRECT | O_CLOEXEC);
	buffer = aligned_alloc(PAGE, (size_t)PAGE << BLOCK_DOUBLES);
	if (device < 0 || !buffer)
		fail(arguments[0]);
	memset(buffer, 1, (size_t)PAGE << BLOCK_DOUBLES);
}

int main(int argc, char **argv)
{
	static const struct what WHAT[] = {
		{ "events", events, EVENT_BURSTS, 0, prepare_events, print_events },
		{ "heap", heap, KNOWN + 1, 2, prepare_heap, print_heap },
		{ "blocks", blocks, KNOWN + 1, 1, prepare_blocks, print_blocks },
	};

	return run(WHAT, sizeof(WHAT) / sizeof(WHAT[0]), argc, argv);
}
