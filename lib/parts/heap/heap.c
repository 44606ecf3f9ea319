/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kind heap: the static probes otel_memory:alloc and otel_memory:free of every
 * executable file that has them, and the sampled allocations that are still in use.
 *
 *   heap.c   the kind: on and off, its probes, and the programs of these
 *   live.c   the stacks of what is in use, and a snapshot of it
 *   thin.c   frees entries of the kernel's map of it
 *
 * libotelprof-heap.so, which programs preload, has these probes (lib/preload/heap).
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "code/elf/file.h"
#include "kernel/capture.h"
#include "otelprof/config.h"
#include "otelprof/stats.h"
#include "parts/heap/live.h"
#include "parts/parts.h"
#include "parts/probes/argument.h"
#include "parts/probes/mapped_probes.h"
#include "process/processes.h"
#include "sample/sampler.h"

#include "parts/heap/sampler_path.h"

enum probes {
	FREE, /* first, so that no free of a tracked allocation is missed */
	ALLOC,
	PROBES
};

static const struct op_mapped_probe PROBE[PROBES] = {
	[FREE] = { .type = OP_PROBE_STATIC,
		   .provider = "otel_memory",
		   .symbol = "free",
		   .arguments = 1,
		   .optional = true },
	[ALLOC] = { .type = OP_PROBE_STATIC,
		    .provider = "otel_memory",
		    .symbol = "alloc",
		    .arguments = 3 },
};

struct op_heap {
	struct op_part_config config;
	struct op_mapped_probes probes;
	struct op_capture_heap maps;
	struct op_live live;
	bool on;
	bool stops; /* it was on when sampling stopped */
};

static void keep(void *ctx, const struct op_record *record,
		 const struct op_window *window, const struct op_window_sample *sample)
{
	struct op_heap *h = ctx;

	op_live_keep(&h->live, &h->maps, record, window, sample);
}

static int load(void *ctx, size_t i, const struct op_argument argument[OP_ARGUMENTS_MAX])
{
	struct op_heap *h = ctx;

	return op_capture_load_heap(h->config.capture, i == FREE, argument, &h->maps);
}

static int heap_make(const struct op_part_config *config, void **ret)
{
	struct op_heap *h = calloc(1, sizeof(*h));
	int r;

	if (!h)
		return -ENOMEM;
	*ret = h;
	h->config = *config;
	h->maps = (struct op_capture_heap){ -1, -1, -1 };
	h->probes.config = (struct op_mapped_probes_config){
		.log = config->log,
		.executables = op_processes_executables(config->processes),
		.sysfs_root = config->sysfs_root,
		.what = "allocations",
		.probe = PROBE,
		.len = PROBES,
		.load = load,
		.ctx = h,
	};
	r = op_live_init(&h->live, config->processes);
	if (r == 0)
		op_sampler_watch(config->sampler, OP_EVENT_HEAP, keep, h);
	return r;
}

static void close_maps(struct op_heap *h)
{
	op_closep(&h->maps.lives);
	op_closep(&h->maps.of_pid);
	op_closep(&h->maps.of_all);
}

static void heap_free(void *part)
{
	struct op_heap *h = part;

	op_mapped_off(h->config.mapped, &h->probes);
	op_sampler_watch(h->config.sampler, OP_EVENT_HEAP, NULL, NULL);
	close_maps(h);
	op_live_deinit(&h->live);
	free(h);
}

/* Load the programs for the arguments of libotelprof-heap, which takes the kernel some
 * tens of milliseconds. No file with its probes then needs other programs. If it fails,
 * a file loads its own. */
static void load_usual(struct op_heap *h)
{
	/* places of the arguments in both ABIs, which lib/preload/heap/probe.c ensures */
#if defined(__x86_64__)
	static const char usual[] = "8@%rdi 8@%rsi 8@%rdx";
	enum {
		MACHINE = EM_X86_64
	};
#else
	static const char usual[] = "8@x0 8@x1 8@x2";
	enum {
		MACHINE = EM_AARCH64
	};
#endif
	struct op_argument argument[OP_ARGUMENTS_MAX] = { 0 };
	size_t n = PROBE[FREE].arguments;

	(void)op_probe_arguments_parse(usual, MACHINE, argument);
	(void)op_mapped_probes_load(&h->probes, ALLOC, argument);
	memset(argument + n, 0, (OP_ARGUMENTS_MAX - n) * sizeof(*argument));
	(void)op_mapped_probes_load(&h->probes, FREE, argument);
}

/* Attach to the installed sampler, so that new processes are seen from their first call
 * on. */
static void attach_installed(struct op_heap *h)
{
	_cleanup_(op_elf_freep) struct op_elf *elf = NULL;

	if (op_elf_open_path(OP_HEAP_SAMPLER, &elf) == 0)
		(void)op_mapped_probes_attach(&h->probes, NULL, elf);
}

static int set_kinds(void *part, uint64_t kinds)
{
	struct op_heap *h = part;
	bool on = kinds & OTELPROF_KIND_HEAP;

	if (h->on == on)
		return 0;
	h->on = on;
	if (!on) {
		/* the next window may still ask for what is in use */
		op_mapped_off(h->config.mapped, &h->probes);
		return 0;
	}
	/* The kernel did not see frees in the meantime, so what was in use is unknown. */
	close_maps(h);
	op_live_reset(&h->live);
	/* here, because no poll has the time */
	load_usual(h);
	attach_installed(h);
	op_mapped_on(h->config.mapped, &h->probes);
	return 0;
}

/* Frees during a pause are not seen. What is in use at the end is known after the last
 * records. */
static int snapshot(void *part, struct op_window *window, enum op_part_end end,
		    struct op_part_taken *taken)
{
	struct op_heap *h = part;

	if (end == OP_PART_END_STOP)
		h->stops = h->on;
	if (end == OP_PART_END_STOP || end == OP_PART_END_BUDGET ||
	    !(end == OP_PART_END_LAST ? h->stops : h->on))
		return 0;
	if (h->maps.lives < 0)
		return 0;
	return op_live_snapshot(&h->live, &h->maps, window, taken);
}

static void get_stats(const void *part, struct otelprof_stats *ret)
{
	const struct op_heap *h = part;

	ret->heap_in_use = h->live.count;
	ret->heap_untracked += h->live.unknown;
}

const struct op_part_ops op_part_heap = {
	.name = "allocations in use",
	.make = heap_make,
	.free = heap_free,
	.set_kinds = set_kinds,
	.snapshot = snapshot,
	.get_stats = get_stats,
};
