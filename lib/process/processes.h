/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of the host: who runs and what is mapped where. Learns from one scan of
 * /proc at the start and then from events; publishes each process's mapping table to the
 * kernel programs; turns the records they make into samples of a window.
 *
 * Tables are lazy. A process is published with OP_MAPPING_LAZY mappings; the first sample
 * that meets one comes with registers and a copy of the stack (OP_END_UNKNOWN), which is
 * unwound here (unwind/host.h) after the tables it needs were made. So no first sample is
 * lost and nothing is parsed for a process that never runs.
 *
 * A record names the generation of the table it was made with: tables are kept for
 * OP_PROCESS_KEEP_NS after they were replaced or their process ended, so that late records
 * find theirs.
 */
#ifndef OP_PROCESS_PROCESSES_H
#define OP_PROCESS_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "op_user_types.h"
#include "profile/window.h"
#include "target/maps.h"
#include "unwind/arena.h"
#include "unwind/rules.h"

#define OP_PROCESS_KEEP_NS UINT64_C(3000000000)

struct op_executables;
struct op_images;
struct op_processes;

struct op_processes_config {
	struct op_log *log;
	struct op_arena *arena;
	struct op_rules *rules;
	const char *procfs_root;
	const char *sysfs_root;
	uint64_t runtimes_off; /* OTELPROF_RUNTIME_* */
	const struct op_layouts *layouts;
	uint64_t flags; /* OTELPROF_* of the config */
	uint64_t symbol_budget_bytes;
	uint32_t max_processes;
	const char *
		service_name; /* of those that say none; NULL: the executable's, "": none */
	const char *const *environment; /* variables to read; borrowed until _free() */
	size_t environment_len;
	int64_t realtime_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC; see _set_clock */
	/* Tell the kernel programs. publish replaces; both 0 or -errno. */
	int (*publish)(void *ctx, uint32_t pid, struct op_process_key key);
	int (*unpublish)(void *ctx, uint32_t pid);
	/* First processes of runtimes appeared (bits 1 << enum op_runtime): load their steps,
	 * some 50 ms in one piece. 0 or -errno (then their frames stay native). */
	int (*need_runtimes)(void *ctx, uint64_t runtimes);
	void *ctx;
};

struct op_processes_stats {
	uint64_t processes;
	uint64_t executables;
	uint64_t unseen; /* not tracked: max_processes were used within a second */
	uint64_t symbol_bytes;
	uint64_t tables_failed;
	uint64_t executables_unseen;
	uint64_t reads_by_child;
	uint64_t reads_stalled;
	uint64_t reads_refused;
};

int op_processes_new(const struct op_processes_config *config, struct op_processes **ret);
struct op_processes *op_processes_free(struct op_processes *p);
OP_DEFINE_CLEANUP(struct op_processes *, op_processes_free)

/* Learn the processes that run now: reads maps, opens no executable. Some at once, the rest
 * in slices, at each settle; op_processes_busy() is true until then. */
int op_processes_scan_begin(struct op_processes *p);
/* As above, all at once. */
int op_processes_scan(struct op_processes *p);

/* Load what the kernel needs for the runtimes of the processes that are known: not in a poll,
 * where it would take most of the time. */
void op_processes_load_runtimes(struct op_processes *p);

/*
 * Make the tables of @pid now: someone waits for this process, and its first samples are
 * to be whole however deep. Returns 0, -ESRCH where it is not known, or -errno.
 */
int op_processes_warm(struct op_processes *p, uint32_t pid);

/* Events, in the order the kernel made them as far as that is known. */
void op_processes_on_mmap(struct op_processes *p, const struct op_mmap_event *e);
void op_processes_on_fork(struct op_processes *p, uint32_t pid, uint32_t parent,
			  uint64_t time_ns);
void op_processes_on_exec(struct op_processes *p, uint32_t pid, const char *comm,
			  uint64_t time_ns);
void op_processes_on_exit(struct op_processes *p, uint32_t pid, uint64_t time_ns);
/* The kernel lost events: everything known may be stale. It is read anew in slices, with a
 * pause after the last one. */
void op_processes_on_lost(struct op_processes *p);

/* From now until the next call work that is long ends with -EINPROGRESS at @end_ns
 * (CLOCK_MONOTONIC), and goes on when it is asked for again. 0: it does not end. */
void op_processes_slice(struct op_processes *p, uint64_t end_ns);
/* Publish what changed; give back what is no longer needed. Call after each batch of
 * events, before the records that follow. @now_ns: CLOCK_MONOTONIC. */
void op_processes_settle(struct op_processes *p, uint64_t now_ns);
/* All records that were made before @time_ns were read: what only they could need may go. */
void op_processes_records_read(struct op_processes *p, uint64_t time_ns);
/* Is the process known, and that generation of it, where not 0? */
bool op_processes_knows(const struct op_processes *p, uint32_t pid, uint32_t generation);
/* When @pid was forked, CLOCK_MONOTONIC; 0: its fork was not seen, or it is not known. */
uint64_t op_processes_born_ns(const struct op_processes *p, uint32_t pid);
/* Does work wait for its time? */
bool op_processes_waiting(const struct op_processes *p);
/* When op_processes_settle() is to be called again at the latest; 0: any time. */
uint64_t op_processes_next_ns(const struct op_processes *p);
/* Is there more to do, in slices, as soon as samples leave time for it? */
bool op_processes_busy(const struct op_processes *p);

/* A window was closed. */
void op_processes_window_end(struct op_processes *p);
void op_processes_set_clock(struct op_processes *p, int64_t realtime_offset_ns);
/* In the child of a fork: nothing of the kernel's is touched from now on. */
void op_processes_forked(struct op_processes *p);
void op_processes_get_stats(const struct op_processes *p, struct op_processes_stats *ret);

const struct op_processes_config *op_processes_config(const struct op_processes *p);
struct op_target *op_processes_target(const struct op_processes *p);
struct op_images *op_processes_images(struct op_processes *p);
struct op_executables *op_processes_executables(struct op_processes *p);
/* Is this the child of a fork? */
bool op_processes_is_forked(const struct op_processes *p);
/* It is @time_ns now, or later. */
void op_processes_advance(struct op_processes *p, uint64_t time_ns);

#endif
