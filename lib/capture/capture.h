/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel side: loads the programs, attaches them, and brings what they and perf's
 * side-band say to the processes and the window.
 *
 *   loader.c    what the kernel can do; the maps; counters
 *   object.c    open and load one BPF object
 *   walkers.c   the programs that walk stacks, one set for each type of entry
 *   kinds.c     the kinds of events: on and off
 *   hooks.c     kinds that stand at tracepoints
 *   perf.c      the kinds' and the side-band's perf events of each CPU; hot-plug
 *   sideband.c  side-band records to process events
 *   filter.c    a public filter to the kernel's
 */
#ifndef OP_CAPTURE_CAPTURE_H
#define OP_CAPTURE_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "op_user_types.h"
#include "otelprof/config.h"
#include "process/processes.h"
#include "profile/window.h"
#include "sample/sampler.h"
#include "unwind/arena.h"

struct op_capture;

struct op_capture_config {
	struct op_log *log;
	uint64_t flags; /* OTELPROF_* */
	uint32_t sample_rate_hz;
	uint32_t max_frames;
	uint32_t max_processes;
	uint32_t ring_bytes; /* 0: by the number of CPUs */
	uint64_t kinds;	     /* a bit 1 << enum op_event for each that is on */
	uint64_t off_cpu_min_ns;
	uint32_t off_cpu_samples; /* a second, of all CPUs */
	uint32_t probe_samples;	  /* a second, of a probe and CPU */
	uint32_t walker; /* enum op_walker_form, for tests; 0: by what the kernel has */
	const char *procfs_root;
	const char *sysfs_root;
};

/* Make the maps, attach nothing. Copies @config. Fails with a sentence in the log. */
int op_capture_new(const struct op_capture_config *config, struct op_capture **ret);
struct op_capture *op_capture_free(struct op_capture *c);
OP_DEFINE_CLEANUP(struct op_capture *, op_capture_free)

/* What the arena and the rules are made of; valid until op_capture_free(). */
const struct op_arena_ops *op_capture_arena_ops(void);	/* ctx: the capture */
struct op_rule *op_capture_rules(struct op_capture *c); /* OP_RULES_MAX */

/* For struct op_processes_config; ctx: the capture. */
int op_capture_publish(void *c, uint32_t pid, struct op_process_key key);
int op_capture_unpublish(void *c, uint32_t pid);
int op_capture_need_runtimes(void *c, uint64_t runtimes);

/* Begin to hear of processes: before op_processes_scan(), so that none slips through. */
int op_capture_listen(struct op_capture *c);
/* Load the programs of the kinds, with the steps of all runtimes that were asked for until now,
 * where that was not done: a walker is verified once then, and not for each runtime again. */
int op_capture_load(struct op_capture *c);
/* Begin and end sampling. */
int op_capture_start(struct op_capture *c);
void op_capture_stop(struct op_capture *c);

/* The epoll descriptor, borrowed. */
int op_capture_fd(const struct op_capture *c);

/* What one op_capture_poll() did. */
struct op_capture_work {
	uint64_t records;
	uint64_t dropped_record; /* made no sense */
	uint64_t dropped_window; /* did not fit the window */
	uint64_t dropped_memory;
	bool more;	     /* stopped at its bound with more waiting */
	bool idle;	     /* nothing was waiting */
	bool kernel_symbols; /* came or went */
};

/* Wait up to @timeout_ms and bring a bounded amount of events and records to @processes and
 * @window; adds to *@work. Returns 0 or -errno. */
int op_capture_poll(struct op_capture *c, struct op_processes *processes,
		    struct op_sampler *sampler, struct op_window *window, int timeout_ms,
		    struct op_capture_work *work);

/* The clock's rate; and op_control.rate, what its ticks are to each of the rates. */
int op_capture_set_rate(struct op_capture *c, uint32_t sample_rate_hz);
void op_capture_set_rates(struct op_capture *c, const uint64_t rate[OP_RATES_MAX]);

/* A map for @max rules by target; the caller closes it. A descriptor, or -errno. */
int op_capture_targets_make(struct op_capture *c, uint32_t max);
/* The programs look at @fd of op_capture_targets_make() from now on. 0 or -errno. */
int op_capture_targets_use(struct op_capture *c, int fd);
/* Of op_control: whether and where they look at all. */
struct op_targets_used {
	uint32_t kinds;
	uint32_t cgroup_depths;
	uint32_t include;
	uint32_t tell_execs;
};
void op_capture_targets_used(struct op_capture *c, const struct op_targets_used *used);
/* The id and the depth of the cgroup at @path below the mount of cgroup v2. 0 or -errno. */
int op_capture_cgroup(struct op_capture *c, const char *path, uint64_t *ret_id,
		      uint32_t *ret_depth);
/* A poll is wanted at @time_ns (CLOCK_MONOTONIC) at the latest; 0: none is. */
void op_capture_wake_at(struct op_capture *c, uint64_t time_ns);
int op_capture_set_filter(struct op_capture *c, const struct otelprof_filter_rule *rules,
			  size_t len);

/* Turn kinds of events on and off. Those that are on take samples once op_capture_start()
 * was called. One that cannot be turned on is off, and the sentence in the log says why. */
int op_capture_set_kinds(struct op_capture *c, uint64_t kinds);

/* Program @i of @kind, which is on; borrowed. -1: it is off, or sampling is. */
int op_capture_program(const struct op_capture *c, enum op_event kind, uint32_t i);

/* Load the program of probe @number, as of @type (enum bpf_prog_type). Returns its descriptor,
 * the caller's, or -errno with a sentence in the log. */
int op_capture_load_probe(struct op_capture *c, uint32_t type, uint32_t number);

/* What the programs of the kind heap share; -1: not made yet. The caller closes both. */
struct op_capture_heap {
	int lives;  /* struct op_heap_live by a key of the programs' */
	int of_pid; /* how many each process has there */
};

/* Load the program of otel_memory:alloc, or that of free, whose arguments stand at
 * @argument. As above; the first one makes the maps of *@heap. */
int op_capture_load_heap(struct op_capture *c, bool is_free,
			 const struct op_argument argument[OP_ARGUMENTS_MAX],
			 struct op_capture_heap *heap);
bool op_capture_is_sampling(const struct op_capture *c);

/* Let every stack be announced anew: a window ended, or an announcement was lost. */
void op_capture_next_window(struct op_capture *c);

/* The kernel's counters, summed over CPUs and kinds: OP_COUNTERS of them. */
int op_capture_counters(struct op_capture *c, uint64_t *ret);
uint64_t op_capture_events_lost(const struct op_capture *c);
/* Run time of the kinds' programs; zeroes where kernel.bpf_stats_enabled is 0. */
void op_capture_run_time(struct op_capture *c, uint64_t *ret_ns, uint64_t *ret_count);

/* In the child of a fork: op_capture_free() then only closes and unmaps. */
void op_capture_forked(struct op_capture *c);

#endif
