/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ticks of perf's own clock: an event on each CPU like the profiler's, but with the
 * kernel's own samples and no BPF program. Both have the kernel's errors of late clocks
 * and of threads that run for a moment.
 */
#ifndef TEST_PERF_TICKS_H
#define TEST_PERF_TICKS_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test.h"

enum {
	PERF_TICKS_CPUS_MAX = 256,
	/* of a CPU, a power of two: read them at least once a second */
	PERF_TICKS_PAGES = 64,
};

struct perf_ticks {
	size_t page;
	struct perf_event_mmap_page *ring[PERF_TICKS_CPUS_MAX];
	uint64_t lost; /* records that did not fit */
};

/* Begin to tick @hz times a second on each CPU that is not idle. */
static inline struct perf_ticks *perf_ticks_open(uint32_t hz)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.sample_period = 1000000000 / hz,
					.sample_type = PERF_SAMPLE_TID,
					.exclude_idle = 1 };
	struct perf_ticks *t = calloc(1, sizeof(*t));
	int cpu;

	CHECK(t);
	t->page = (size_t)sysconf(_SC_PAGESIZE);
	for (cpu = 0; cpu < PERF_TICKS_CPUS_MAX; cpu++) {
		int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1,
				      PERF_FLAG_FD_CLOEXEC);
		void *map;

		if (fd < 0)
			continue; /* there is no such CPU, or it is offline */
		map = mmap(NULL, (PERF_TICKS_PAGES + 1) * t->page, PROT_READ | PROT_WRITE,
			   MAP_SHARED, fd, 0);
		CHECK(map != MAP_FAILED);
		t->ring[cpu] = map;
		(void)close(fd); /* the mapping keeps the event */
	}
	return t;
}

/* Read the new records. Returns the ticks of process @pid. */
static inline uint64_t perf_ticks_read(struct perf_ticks *t, uint32_t pid)
{
	uint64_t bytes = PERF_TICKS_PAGES * t->page;
	uint64_t ticks = 0;
	int cpu;

	for (cpu = 0; cpu < PERF_TICKS_CPUS_MAX; cpu++) {
		struct perf_event_mmap_page *ring = t->ring[cpu];
		uint64_t head;
		uint64_t at;

		if (!ring)
			continue;
		head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
		for (at = ring->data_tail; at != head;) {
			/* records are of whole 8 bytes: a header is in one piece */
			const struct perf_event_header *h =
				(void *)((char *)ring + t->page + at % bytes);

			CHECK(h->size >= sizeof(*h) && h->size % 8 == 0);
			if (h->type == PERF_RECORD_LOST)
				t->lost++;
			else if (h->type == PERF_RECORD_SAMPLE) /* then the pid */
				ticks += *(const uint32_t *)((char *)ring + t->page +
							     (at + sizeof(*h)) % bytes) ==
					 pid;
			at += h->size;
		}
		__atomic_store_n(&ring->data_tail, head, __ATOMIC_RELEASE);
	}
	return ticks;
}

static inline void perf_ticks_close(struct perf_ticks *t)
{
	int cpu;

	for (cpu = 0; cpu < PERF_TICKS_CPUS_MAX; cpu++)
		if (t->ring[cpu])
			(void)munmap(t->ring[cpu], (PERF_TICKS_PAGES + 1) * t->page);
	free(t);
}

#endif
