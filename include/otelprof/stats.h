/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the profiler did and what it lost. Counters only grow, from otelprof_init() on; what is
 * of the present, as memory, processes, rules, a period and what is pending, goes up and down.
 *
 *   samples_taken + samples_restored = samples_exported + samples_filtered
 *                   + samples_pending + samples_spilled + samples_dropped
 *
 * holds at any time for the samples that otelprof_poll() has seen. samples_restored and
 * samples_spilled are 0 without a spill_dir. samples_pending is 0 after otelprof_stop(),
 * otelprof_export() and otelprof_flush(); if the flush failed, after
 * otelprof_abandon(). It is more where the machine was too busy for otelprof_stop() to take
 * all records within its five seconds.
 */
#ifndef OTELPROF_STATS_H
#define OTELPROF_STATS_H

#include <stddef.h>
#include <stdint.h>

#include <otelprof/config.h>
#include <otelprof/macros.h>

OTELPROF_BEGIN_DECLS

struct otelprof;

struct otelprof_stats {
	size_t size;
	uint64_t samples_taken;
	/* by rules; above a rate or limit; the idle task; intervals
	 * off the CPUs that sampling by duration left out */
	uint64_t samples_filtered;
	uint64_t samples_exported; /* accepted by at least one exporter's destination */
	uint64_t samples_pending;  /* in the ring, the open window or a queue */
	uint64_t samples_dropped;  /* otelprof_drops() gives the reasons */
	uint64_t stacks_complete;  /* reached the end of the stack */
	uint64_t stacks_truncated; /* cut at max_frames */
	uint64_t stacks_broken;	   /* ended by an error, see otelprof_unwind_errors() */
	uint64_t processes;	   /* known at present */
	uint64_t executables;	   /* known at present */
	uint64_t processes_unseen; /* not tracked: max_processes was reached */
	uint64_t events_lost; /* process events the kernel dropped; a rescan follows */
	uint64_t arena_bytes; /* kernel memory for tables, in use */
	uint64_t arena_limit_bytes; /* memory_budget_bytes */
	uint64_t symbol_bytes;	    /* user memory for names */
	uint64_t bpf_run_ns;	    /* in the sampling program, if the kernel counts it */
	uint64_t bpf_run_count;
	uint64_t requests_sent;
	uint64_t bytes_sent;	   /* before compression */
	uint64_t sample_period_ns; /* the period in force for what no rule gives a rate */
	/* from earlier runs, out of a spill_dir; each exporter counts */
	uint64_t samples_restored;
	uint64_t samples_spilled; /* left in a spill_dir at the end, for the next run */
	uint64_t requests_restored;
	/* files that could not be written or read, or were damaged */
	uint64_t spill_errors;
	/*
	 * For kinds with many events: samples that ended in code whose table was not made
	 * yet, and samples whose stack was lost on its way. Both are exported, with a
	 * frame that says so.
	 */
	uint64_t stacks_without_table;
	uint64_t stacks_lost;
	/*
	 * Time off the CPUs: a shorter interval is sampled with probability length /
	 * threshold. It follows from off_cpu_samples; the largest of all CPUs at present.
	 */
	uint64_t off_cpu_threshold_ns;
	/* Limits that the profiler reached because of other processes. */
	uint64_t reads_by_child; /* reads of other processes that might have stalled */
	/* such reads that reached their deadline; the process is then set aside */
	uint64_t reads_stalled;
	/* reads not made: the process is set aside, or the share of time is used up */
	uint64_t reads_refused;
	/* unwind tables: the file is unreadable, or past a share of memory or work */
	uint64_t tables_failed;
	uint64_t executables_unseen; /* files beyond the limit of known ones */
	/*
	 * For the kind heap: sampled allocations in use at the last export, and
	 * allocations in use or perhaps in use whose stack or state is unknown because a
	 * table was full.
	 */
	uint64_t heap_in_use;
	uint64_t heap_untracked;
	/*
	 * CPU time of calls of this handle, of its threads (not those of a transport's
	 * library), and of its programs in the kernel from the beginning of a sample to
	 * its end. The first two are counted only with a cpu_budget_permille.
	 */
	uint64_t cpu_ns;
	uint64_t rate_changes; /* to stay within cpu_budget_permille */
	/* Of samples_filtered: the ticks that are too many for the rate of what ran. The clock
	 * ticks at the highest rate of all rules. */
	uint64_t samples_thinned;
	uint64_t rules;	 /* now in force, of otelprof_add_rule() */
	uint64_t paused; /* 1 between otelprof_pause() and otelprof_resume() */
	/*
	 * Links to spans and labels: samples of threads that had some; samples whose context
	 * could not be read or had no room; labels that were left out or cut, because they
	 * were too long or too many; processes whose contexts are not read, because there are
	 * too many such processes.
	 */
	uint64_t contexts;
	uint64_t contexts_lost;
	uint64_t labels_cut;
	uint64_t contexts_refused;
	/*
	 * Memory of the maps in the kernel, and what the library keeps in user memory: names,
	 * processes, the open window, requests that wait. Its limit, and how often it was above
	 * that, of at most four looks a second.
	 */
	uint64_t memory_bytes;
	uint64_t memory_limit_bytes;
	uint64_t memory_over;
	/*
	 * Given up to make room, by memory_limit_bytes or a limit of its own: the names of
	 * executables, unwind tables, processes. Each is read again when it is next needed.
	 */
	uint64_t names_evicted;
	uint64_t tables_evicted;
	uint64_t processes_evicted;
	/*
	 * Left for later, since cpu_budget_permille had no CPU time for it or memory_limit_bytes
	 * no room: the names of so many frames, which have their address and say so; so many
	 * unwind tables. Until there is a table, stacks are walked without it.
	 */
	uint64_t names_postponed;
	uint64_t tables_postponed;
	/* Processes that rules by executable mean now, and by environment; how often a
	 * process could not be read for that; and how often a limit or a lack of memory
	 * left a process out: 32,768 processes of each, 64 texts of rules that match one. */
	uint64_t rule_processes;
	uint64_t rule_processes_unread;
	uint64_t rule_processes_refused;
	/* Times that a request was sent again with a compression that its server takes. */
	uint64_t requests_recompressed;
	/* Executable mappings beyond the limit of a process (16,384). Those of files are kept
	 * first. */
	uint64_t mappings_unseen;
};

/** Zero it and set its size. Any thread. Since 0.1. */
OTELPROF_API void otelprof_stats_init(struct otelprof_stats *stats, size_t size);

/**
 * Fill @ret up to ret->size. Returns 0, or -EINVAL for a NULL or short struct. Any
 * thread. Since 0.1.
 */
OTELPROF_API int otelprof_get_stats(struct otelprof *p, struct otelprof_stats *ret);

typedef void (*otelprof_drop_fn)(void *userdata, const char *name, const char *sentence,
				 uint64_t count);

/**
 * Call @fn for each reason for which samples can be dropped, with its stable name
 * ("ring", "queue"), one sentence and the count, which may be 0. Later versions may have
 * more reasons; the sum of all counts is samples_dropped at that moment. Returns 0, or a
 * negative errno. Any thread. Since 0.1.
 */
OTELPROF_API int otelprof_drops(struct otelprof *p, otelprof_drop_fn fn, void *userdata);

/**
 * Call @fn for each unwind error that happened at least once, with its stable name
 * ("native_no_mapping"), one sentence and the count. Returns 0. Since 0.1.
 */
typedef void (*otelprof_unwind_error_fn)(void *userdata, const char *name,
					 const char *sentence, uint64_t count);
OTELPROF_API int otelprof_unwind_errors(struct otelprof *p, otelprof_unwind_error_fn fn,
					void *userdata);

/* A row of otelprof_unwind_files(). The strings are valid during the call. */
struct otelprof_unwind_file {
	size_t size;
	const char *file;    /* path of the mapping; "": none; NULL: all other files */
	const char *reason;  /* of otelprof_unwind_errors(), "truncated" or "no_table" */
	uint64_t count;	     /* stacks that ended for this reason in this file */
	uint64_t file_count; /* stacks that ended early in this file */
};

typedef void (*otelprof_unwind_file_fn)(void *userdata,
					const struct otelprof_unwind_file *row);

/**
 * Call @fn for each pair of a file and a reason for which stacks ended early in it. Files
 * with the most such stacks come first. 256 pairs are kept; the stacks of all others are
 * in one last row whose file and reason are NULL. Returns 0. Since 0.1.
 */
OTELPROF_API int otelprof_unwind_files(struct otelprof *p, otelprof_unwind_file_fn fn,
				       void *userdata);

/* Values of otelprof_doctor_row.state. */
#define OTELPROF_DOCTOR_OK	0
#define OTELPROF_DOCTOR_LESS	1 /* works, with what `effect` says is lost */
#define OTELPROF_DOCTOR_MISSING 2 /* profiling cannot start without it */

/* A row of otelprof_doctor(). The strings are valid during the call. */
struct otelprof_doctor_row {
	size_t size;
	const char *feature; /* "CPU sampling" */
	const char *needs;   /* "CAP_PERFMON or kernel.perf_event_paranoid <= 0" */
	const char *found;   /* what is there */
	const char *effect;  /* what is lost without it; "" where state is OK */
	uint32_t state;	     /* OTELPROF_DOCTOR_* */
	uint32_t reserved0;
};

typedef void (*otelprof_doctor_fn)(void *userdata, const struct otelprof_doctor_row *row);

/**
 * Examine this machine and call @fn once for each feature. @config may be NULL: the
 * defaults. Needs no handle and attaches nothing. Returns the number of features that are
 * MISSING, or a negative errno. Any thread. Since 0.1.
 */
OTELPROF_API int otelprof_doctor(const struct otelprof_config *config,
				 otelprof_doctor_fn fn, void *userdata);

OTELPROF_END_DECLS

#endif
