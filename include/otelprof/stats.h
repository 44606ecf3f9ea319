/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the profiler did and what it lost. Counters grow from otelprof_init() on. Memory,
 * processes, rules, periods and pending samples are gauges.
 *
 *   samples_taken + samples_restored = samples_exported + samples_filtered
 *                   + samples_pending + samples_spilled + samples_dropped
 *
 * holds at any time for the samples that otelprof_poll() has seen. samples_pending is 0
 * after otelprof_stop(), otelprof_export() and otelprof_flush() (otelprof_abandon() if
 * the flush failed), unless otelprof_stop() had to leave records in the ring.
 */
#ifndef OTELPROF_STATS_H
#define OTELPROF_STATS_H

#include <otelprof/config.h>

OTELPROF_BEGIN_DECLS

struct otelprof_stats {
	size_t size;
	uint64_t samples_taken;	   /* ticks of clocks, and events of other kinds */
	uint64_t samples_filtered; /* by rules, rates, limits, length, or idle */
	uint64_t samples_exported; /* accepted by at least one exporter's destination */
	uint64_t samples_pending;  /* in the ring, the open window or a queue */
	uint64_t samples_dropped;  /* otelprof_drops() gives the reasons */
	uint64_t stacks_complete;  /* user stacks that reached their end */
	uint64_t stacks_truncated; /* cut at max_frames */
	uint64_t stacks_broken;	   /* ended by an error, see otelprof_unwind_errors() */
	uint64_t processes;	   /* known at present */
	uint64_t executables;	   /* known at present */
	uint64_t processes_unseen; /* not tracked: max_processes was reached */
	uint64_t events_lost;	   /* process events the kernel dropped, a scan follows */
	uint64_t arena_bytes;	   /* kernel memory for tables, in use */
	uint64_t arena_limit_bytes; /* memory_budget_bytes */
	uint64_t symbol_bytes;	    /* user memory for names */
	uint64_t bpf_run_ns; /* in the sampling programs, with kernel.bpf_stats_enabled */
	uint64_t bpf_run_count;	    /* runs of them */
	uint64_t requests_sent;	    /* accepted, once for each exporter */
	uint64_t bytes_sent;	    /* of these requests, before compression */
	uint64_t sample_period_ns;  /* at present, without rules' rates */
	uint64_t samples_restored;  /* from a spill_dir, once for each exporter */
	uint64_t samples_spilled;   /* left in a spill_dir for the next run */
	uint64_t requests_restored; /* from a spill_dir */
	uint64_t spill_errors;	    /* files unwritten, unreadable or damaged */
	/* Exported, with a frame that says so. */
	uint64_t stacks_without_table; /* ended in code whose table was not ready */
	uint64_t stacks_lost;	       /* lost between the kernel and the library */
	/* Shorter waits are sampled with probability length / this. Largest of all kinds. */
	uint64_t off_cpu_threshold_ns;
	/* Limits that the profiler reached because of other processes. */
	uint64_t reads_by_child; /* reads that another program could block */
	uint64_t reads_stalled;	 /* of these, past their deadline of 10 ms */
	uint64_t reads_refused;	 /* not made: its process stalled, or used up its share */
	uint64_t tables_failed;	 /* unwind tables: unreadable file, or past a limit */
	uint64_t executables_unseen; /* files beyond 65,536 */
	uint64_t heap_in_use;	     /* sampled allocations in use at the last export */
	uint64_t heap_untracked;     /* allocations that found a full table */
	uint64_t cpu_ns; /* of BPF programs, and with cpu_budget_permille of calls */
	uint64_t rate_changes;	   /* to stay within cpu_budget_permille */
	uint64_t samples_thinned;  /* of those filtered: ticks above a rate */
	uint64_t rules;		   /* in force */
	uint64_t paused;	   /* 1 between otelprof_pause() and otelprof_resume() */
	uint64_t contexts;	   /* samples of threads with a trace context or labels */
	uint64_t contexts_lost;	   /* samples whose context or text could not be read */
	uint64_t labels_cut;	   /* labels too many, labels and texts too long */
	uint64_t contexts_refused; /* processes beyond 1,024 with contexts */
	uint64_t memory_bytes;	   /* BPF maps, names, processes, open window, queues */
	uint64_t memory_limit_bytes; /* as configured, 0: none */
	uint64_t memory_over; /* checks, four a second, that found more than the limit */
	/* Dropped under a memory limit, and read again when needed. */
	uint64_t names_evicted;	    /* executables whose names were dropped */
	uint64_t tables_evicted;    /* unwind tables */
	uint64_t processes_evicted; /* processes */
	/* Delayed by cpu_budget_permille or memory_limit_bytes. */
	uint64_t names_postponed;  /* frames with an address, that say so */
	uint64_t tables_postponed; /* unwind tables */
	uint64_t rule_processes;   /* that rules by executable or environment match */
	uint64_t rule_processes_unread;	 /* that such rules could not examine */
	uint64_t rule_processes_refused; /* past 32,768, or 64 rules of one */
	uint64_t requests_recompressed;	 /* sent again with another compression */
	uint64_t mappings_unseen; /* of code, beyond a share or 16,384 of a process */
};

OTELPROF_API void otelprof_stats_init(struct otelprof_stats *stats, size_t size);

/** Fill @ret up to ret->size. Returns 0, or -EINVAL for a NULL or short struct. */
OTELPROF_API int otelprof_get_stats(struct otelprof *p, struct otelprof_stats *ret);

typedef void (*otelprof_drop_fn)(void *userdata, const char *name, const char *sentence,
				 uint64_t count);
/** Call @fn for each drop reason, with its stable name ("ring", "queue"), one sentence
 * and the count, which may be 0. They add up to samples_dropped. */
OTELPROF_API int otelprof_drops(struct otelprof *p, otelprof_drop_fn fn, void *userdata);

/** Call @fn for each unwind error that happened, with its stable name
 * ("native_no_mapping"), one sentence and the count. Returns 0. */
typedef void (*otelprof_unwind_error_fn)(void *userdata, const char *name,
					 const char *sentence, uint64_t count);
OTELPROF_API int otelprof_unwind_errors(struct otelprof *p, otelprof_unwind_error_fn fn,
					void *userdata);

struct otelprof_unwind_file {
	size_t size;
	const char *file;    /* path of the mapping, "": none, NULL: all other files */
	const char *reason;  /* of otelprof_unwind_errors(), "truncated" or "no_table" */
	uint64_t count;	     /* stacks that ended for this reason in this file */
	uint64_t file_count; /* stacks that ended early in this file */
};
typedef void (*otelprof_unwind_file_fn)(void *userdata,
					const struct otelprof_unwind_file *row);
/** Call @fn for each pair of a file and a reason for which stacks ended early, the most
 * frequent files first. One last row with NULL has those beyond 256 pairs. Returns 0. */
OTELPROF_API int otelprof_unwind_files(struct otelprof *p, otelprof_unwind_file_fn fn,
				       void *userdata);

/* Values of otelprof_doctor_row.state. */
#define OTELPROF_DOCTOR_OK	0 /* works */
#define OTELPROF_DOCTOR_LESS	1 /* works, without what effect says is lost */
#define OTELPROF_DOCTOR_MISSING 2 /* profiling cannot start without it */

struct otelprof_doctor_row {
	size_t size;
	const char *feature; /* "CPU sampling" */
	const char *needs;   /* "CAP_PERFMON or kernel.perf_event_paranoid <= 0" */
	const char *found;   /* what is there */
	const char *effect;  /* what is lost without it, "" if state is OK */
	uint32_t state;	     /* OTELPROF_DOCTOR_* */
	uint32_t reserved0;
};
typedef void (*otelprof_doctor_fn)(void *userdata, const struct otelprof_doctor_row *row);
/** Examine this machine and call @fn for each feature. Attaches nothing. @config may be
 * NULL. Returns the number of features that are MISSING, or a negative errno. */
OTELPROF_API int otelprof_doctor(const struct otelprof_config *config,
				 otelprof_doctor_fn fn, void *userdata);

OTELPROF_END_DECLS
#endif
