/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel side. It loads and attaches the programs, and passes their records and those of
 * perf's side-band on to the processes and the window.
 *
 *   loader.c    which features the kernel has; the maps; the counters
 *   object.c    opens and loads one BPF object
 *   walkers.c   the programs that walk stacks, one set for each program type of entries
 *   kinds.c     turns the kinds of events on and off
 *   hooks.c     kinds whose programs are attached to tracepoints
 *   perf.c      perf events of the kinds and of the side-band on each CPU; CPU hot-plug
 *   sideband/   turns side-band records into process events
 *   rules.c     the control groups of rules, and the programs' table of rules
 */
#ifndef OP_KERNEL_CAPTURE_H
#define OP_KERNEL_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/slice.h"
#include "code/unwind/arena.h"
#include "op_user_types.h"
#include "otelprof/config.h"
#include "process/processes.h"
#include "profile/window.h"
#include "sample/sampler.h"

struct op_capture;

struct op_capture_config {
	struct op_log *log;
	uint64_t flags; /* OTELPROF_* */
	uint32_t sample_rate_hz;
	uint32_t max_frames;
	uint32_t max_processes;
	uint32_t ring_bytes; /* 0: chosen by the number of CPUs and the rate */
	uint64_t kinds;	     /* bit 1 << enum op_event for each kind that is on */
	uint64_t off_cpu_min_ns;
	uint32_t off_cpu_samples; /* samples per second of all CPUs together */
	uint32_t probe_samples;	  /* samples per second of each probe on each CPU */
	uint32_t walker; /* enum op_walker_form, for tests; 0: by the kernel's features */
	const char *procfs_root;
	const char *sysfs_root;
};

/* Make the maps; nothing is attached yet. Copies @config. On failure the log has a
 * sentence. */
int op_capture_new(const struct op_capture_config *config, struct op_capture **ret);
struct op_capture *op_capture_free(struct op_capture *c);
OP_DEFINE_CLEANUP(struct op_capture *, op_capture_free)

/* The memory of the arena and of the rules; valid until op_capture_free(). */
const struct op_arena_ops *op_capture_arena_ops(void); /* ctx: the capture */
struct op_unwind_rule *
op_capture_unwind_rules(struct op_capture *c); /* OP_UNWIND_RULES_MAX */

/* Callbacks for struct op_processes_config; their ctx is the capture. */
int op_capture_publish(void *c, uint32_t pid, struct op_process_key key);
int op_capture_unpublish(void *c, uint32_t pid);
int op_capture_publish_context(void *c, uint32_t pid,
			       const struct op_context_place *place);
int op_capture_need_runtimes(void *c, uint64_t runtimes);

/* Begin to receive process events. Call this before op_processes_scan(), so that no
 * process is missed by both. */
int op_capture_listen(struct op_capture *c);
/*
 * Load the programs of the kinds, if that was not done yet, with the steps of all
 * runtimes that op_capture_need_runtimes() asked for until now: so the verifier checks a
 * walker once and not again for each runtime.
 */
int op_capture_load(struct op_capture *c);
/* Begin and end sampling. */
int op_capture_start(struct op_capture *c);
void op_capture_stop(struct op_capture *c);

/* The epoll descriptor, borrowed. */
int op_capture_fd(const struct op_capture *c);

/* What op_capture_poll() did; it adds to the counts. */
struct op_capture_work {
	uint64_t records;
	uint64_t dropped_record; /* malformed records */
	uint64_t dropped_window; /* the window had no room */
	uint64_t dropped_memory;
	bool more;	     /* it stopped at its limit, and more is waiting */
	bool idle;	     /* nothing was waiting */
	bool drained;	     /* no sample is waiting */
	bool kernel_symbols; /* kernel symbols came or went */
};

/* Pass events and records that wait on to @processes and @window, as many as @turn has time
 * for. Adds to *@work. Returns 0 or -errno. */
int op_capture_poll(struct op_capture *c, struct op_processes *processes,
		    struct op_sampler *sampler, struct op_window *window,
		    const struct op_turn *turn, struct op_capture_work *work);
/* Pass all postponed records on, without the tables and names that they wait for where there
 * are none. Adds to the counts of *@work. */
void op_capture_take_postponed(struct op_capture *c, struct op_processes *processes,
			       struct op_sampler *sampler, struct op_window *window,
			       struct op_capture_work *work);

/* Set the rate of the clock; and what op_control says of it: its period, and how many of its ticks
 * each rate takes. */
int op_capture_set_rate(struct op_capture *c, uint32_t sample_rate_hz);
void op_capture_set_rates(struct op_capture *c, uint32_t clock_hz,
			  const uint64_t rate[OP_RATES_MAX]);

/* Make a map for @max rules by target. Returns a descriptor, which the caller closes, or
 * -errno. */
int op_capture_rule_map_new(struct op_capture *c, uint32_t max);
/*
 * Put the list of rules with the table @fd, a map of op_capture_rule_map_new(), in force in
 * place of the one before. A sample is judged by one of them alone. @rate: as in op_control.
 * Returns 0 or -errno.
 */
int op_capture_rule_map_switch(struct op_capture *c, int fd,
			       const struct op_rule_use *used,
			       const uint64_t rate[OP_RATES_MAX]);
/* The rates in force. */
void op_capture_get_rates(const struct op_capture *c, uint64_t ret[OP_RATES_MAX]);
/* Call this after each change of the table in force. */
void op_capture_set_rule_use(struct op_capture *c, const struct op_rule_use *used);
/* The id and the depth of the cgroup that @text means as a rule's of @kind: CGROUP, CONTAINER or
 * POD of OTELPROF_MATCH_*. Returns 0 or -errno. */
int op_capture_cgroup(struct op_capture *c, uint32_t kind, const char *text,
		      uint64_t *ret_id, uint32_t *ret_depth);
/* A poll is wanted at @time_ns (CLOCK_MONOTONIC) at the latest: each poll sets the timer
 * by it. 0: no such time. */
void op_capture_wake_at(struct op_capture *c, uint64_t time_ns);
/* The same for the next poll alone, and from now on: this call sets the timer. */
void op_capture_wake_before(struct op_capture *c, uint64_t time_ns);

/*
 * Turn kinds of events on and off. Those that are on take samples once op_capture_start()
 * was called. A kind that cannot be turned on stays off, and the log has a sentence that
 * says why.
 */
int op_capture_set_kinds(struct op_capture *c, uint64_t kinds);

/* The descriptor of program @i of @kind, borrowed; -1 while the kind or sampling is
 * off. */
int op_capture_program(const struct op_capture *c, enum op_event kind, uint32_t i);

/* Load the program of probe @number with the type @type (enum bpf_prog_type), which takes @value
 * of its context (of no bytes: none). Returns its descriptor, which the caller closes, or -errno
 * with a sentence in the log. */
int op_capture_load_probe(struct op_capture *c, uint32_t type, uint32_t number,
			  const struct op_argument *value);

/* The maps that the programs of the kind heap share; -1: not made yet. The caller closes
 * both. */
struct op_capture_heap {
	int lives;  /* hash of process and address -> struct op_heap_live */
	int of_pid; /* pid -> the number of its entries in `lives` */
};

/*
 * Load the program of the static probe otel_memory:alloc or, with @is_free, of
 * otel_memory:free. @argument says where the probe's arguments are. Returns as
 * op_capture_load_probe() does. The first call makes the maps of *@heap.
 */
int op_capture_load_heap(struct op_capture *c, bool is_free,
			 const struct op_argument argument[OP_ARGUMENTS_MAX],
			 struct op_capture_heap *heap);
bool op_capture_is_sampling(const struct op_capture *c);

/* Have every stack announced again: call this when a window ended or an announcement was
 * lost. */
void op_capture_next_window(struct op_capture *c);

/* The programs' counters, summed over CPUs and kinds: OP_COUNTERS of them. */
int op_capture_counters(struct op_capture *c, uint64_t *ret);
/* Bytes of the maps, by the kernel's own count where /proc/self tells it; of the side-bands;
 * and of records that wait. Slabs are counted as they are now, the other maps as they were when
 * it was last looked, a second ago or less. */
uint64_t op_capture_bytes(struct op_capture *c, uint64_t now_ns);
uint64_t op_capture_events_lost(const struct op_capture *c);
/* Run time and number of runs of the kinds' programs; zero while kernel.bpf_stats_enabled
 * is 0. */
void op_capture_run_time(struct op_capture *c, uint64_t *ret_ns, uint64_t *ret_count);

/* Call this in the child of a fork: op_capture_free() then only closes and unmaps. */
void op_capture_forked(struct op_capture *c);

#endif
