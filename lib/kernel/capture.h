/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver of the kernel's side. It loads and attaches the programs, and hands their records
 * and the events of perf's side-band to the caller. It knows no process.
 *
 *   loader.c    which features the kernel has; the maps; the counters
 *   object.c    opens and loads one BPF object
 *   walkers.c   the programs that walk stacks, one set for each program type of entries
 *   kinds.c     turns the kinds of events on and off
 *   hooks.c     kinds whose programs are attached to tracepoints
 *   perf.c      perf events of the kinds and of the side-band on each CPU; CPU hot-plug
 *   drain.c     reads the side-bands of all CPUs in the order of time
 *   rules.c     the programs' table of rules
 */
#ifndef OP_KERNEL_CAPTURE_H
#define OP_KERNEL_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/allowance.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "kernel/ring.h"
#include "kernel/sideband/events.h"
#include "kernel/slabs.h"
#include "op_user_types.h"
#include "otelprof/config.h"

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

/* Make the maps. Attaches nothing yet. Copies @config. On failure the log has a
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
/* May an event that was not passed on yet have mapped a file of number @inode into [start, end), of
 * any process? */
bool op_capture_map_waits(void *c, uint64_t start, uint64_t end, uint64_t inode);

/* Begin to receive events of the side-bands. Call this before processes are scanned, so
 * that no process is missed by both. */
int op_capture_listen(struct op_capture *c);
/*
 * Load the programs of the kinds, unless that was done, with the steps of all runtimes
 * that op_capture_need_runtimes() has asked for. So the verifier checks a walker once,
 * and not again for each runtime.
 */
int op_capture_load(struct op_capture *c);
/* Begin and end sampling. */
int op_capture_start(struct op_capture *c);
void op_capture_stop(struct op_capture *c);

/* The epoll descriptor, borrowed. */
int op_capture_fd(const struct op_capture *c);

/* The interval of the timer, which makes the descriptor readable. 0: at once, and then each
 * millisecond. */
void op_capture_wake_every(struct op_capture *c, uint32_t ms);
/* Shorten the interval, so that the timer fires at @time_ns (CLOCK_MONOTONIC) at the latest. */
void op_capture_wake_before(struct op_capture *c, uint64_t time_ns);
/* Give the clocks new periods if it is time. True: they got them, and the caller asks
 * the descriptor again before it does other work. */
bool op_capture_ticked(struct op_capture *c);
/*
 * Find out why the descriptor is readable: acknowledge the timer, empty the rings that
 * only ask for interrupts, and follow CPUs that came and went. Their events go to @sink
 * first, while @allowance has time. Returns 0 if it was not readable, a positive
 * number, or -errno.
 */
int op_capture_woken(struct op_capture *c, const struct op_sideband_sink *sink,
		     struct op_allowance *allowance);
/*
 * Pass the events of the side-bands to @sink while @allowance has time, a few at least.
 * Returns their number. The next call passes the rest.
 */
uint64_t op_capture_drain_sideband(struct op_capture *c,
				   const struct op_sideband_sink *sink,
				   struct op_allowance *allowance);
/* Did the last drain leave events? */
bool op_capture_sideband_left(const struct op_capture *c);
/* All events of the side-bands until this time were passed. */
uint64_t op_capture_drained_ns(const void *c);
/* Pass the programs' records to @fn, as op_ring_consume() does. */
int op_capture_drain_ring(struct op_capture *c, op_ring_fn fn, void *ctx);

/* Set the name of interpreter @number, of OP_INTERPRETERS_MAX: when a file whose name
 * begins with @name is executed, the programs report it at once. */
void op_capture_name_interpreter(struct op_capture *c, uint32_t number, const char *name);

/* Set the rate of the clock, and in op_control its period and each rate's share of its
 * ticks. */
int op_capture_set_rate(struct op_capture *c, uint32_t sample_rate_hz);
void op_capture_set_rates(struct op_capture *c, uint32_t clock_hz,
			  const uint64_t rate[OP_RATES_MAX]);

/* Make a map for @max rules by target. Returns a descriptor, which the caller closes, or
 * -errno. */
int op_capture_rule_map_new(struct op_capture *c, uint32_t max);
/*
 * Put the list of rules with the table @fd, a map of op_capture_rule_map_new(), in
 * force in place of the one before. Each sample is judged by one of the two lists.
 * @rate: as in op_control. Returns 0 or -errno.
 */
int op_capture_rule_map_switch(struct op_capture *c, int fd,
			       const struct op_rule_use *used,
			       const uint64_t rate[OP_RATES_MAX]);
/* The rates in force. */
void op_capture_get_rates(const struct op_capture *c, uint64_t ret[OP_RATES_MAX]);
/* Call this after each change of the table in force. */
void op_capture_set_rule_use(struct op_capture *c, const struct op_rule_use *used);
/* Do the programs see the control groups above that of a task? (Linux 5.16) */
bool op_capture_sees_ancestors(const struct op_capture *c);

/*
 * Turn kinds of events on and off. Kinds that are on are sampled from
 * op_capture_start() on. A kind that cannot be turned on stays off, and the log has a
 * sentence with the reason.
 */
int op_capture_set_kinds(struct op_capture *c, uint64_t kinds);

/* The descriptor of program @i of @kind, borrowed; -1 while the kind or sampling is
 * off. */
int op_capture_program(const struct op_capture *c, enum op_event kind, uint32_t i);

/*
 * How long thread @tid (in the initial PID namespace), which does not run, has been off
 * the CPUs at @now_ns (CLOCK_MONOTONIC), as @kind counts it: since it left, but at most
 * since the kind was turned on or the thread began (@started_ns). 0: not at all, or
 * @kind is off.
 */
uint64_t op_capture_off_ns(const struct op_capture *c, enum op_event kind, uint32_t tid,
			   uint64_t started_ns, uint64_t now_ns);

/* Load the program of probe @number with the type @type (enum bpf_prog_type). It takes
 * @value from its context (no bytes: no value). Probes that measure latency share a map
 * of calls. The program keeps @most samples a second and CPU, or if @most is negative
 * as many as the configuration sets. Returns its descriptor, which the caller closes,
 * or -errno with a sentence in the log. */
int op_capture_load_probe(struct op_capture *c, uint32_t type, uint32_t number,
			  uint32_t most, const struct op_argument *value);

/* The maps that the programs of the kind heap share; -1: not made yet. The caller closes
 * them. */
struct op_capture_heap {
	int lives;  /* hash of process and address -> struct op_heap_live */
	int of_pid; /* pid -> struct op_heap_use */
	int of_all; /* struct op_heap_use of all processes */
};

/*
 * Load the program of the static probe otel_memory:alloc or, with @is_free, of
 * otel_memory:free. @argument: the places of the probe's arguments. Returns as
 * op_capture_load_probe() does. The first call makes the maps of *@heap.
 */
int op_capture_load_heap(struct op_capture *c, bool is_free,
			 const struct op_argument argument[OP_ARGUMENTS_MAX],
			 struct op_capture_heap *heap);

/* The window ends: have each idle CPU take a sample of its idle time. Returns whether there
 * may be such samples in the ring. */
bool op_capture_end_idle(struct op_capture *c);
/* Have every stack announced again: call this when a window ended or an announcement was
 * lost. */
void op_capture_next_window(struct op_capture *c);

/* The programs' counters, summed over CPUs and kinds: OP_COUNTERS of them. *@ret_lost, if it is
 * not NULL: by kind, the samples that the programs dropped. */
int op_capture_counters(struct op_capture *c, uint64_t *ret,
			uint64_t ret_lost[OP_EVENT_MAX]);
/* Bytes of the maps, as the kernel counts them if /proc/self shows that, and of the
 * side-bands. The count of slabs is current, that of other maps at most a second old. */
uint64_t op_capture_bytes(struct op_capture *c, uint64_t now_ns);
uint64_t op_capture_events_lost(const struct op_capture *c);
/* Run time and number of runs of the kinds' programs; zero while kernel.bpf_stats_enabled
 * is 0. */
void op_capture_run_time(struct op_capture *c, uint64_t *ret_ns, uint64_t *ret_count);

/* Call this in the child of a fork: op_capture_free() then only closes and unmaps. */
void op_capture_forked(struct op_capture *c);

#endif
