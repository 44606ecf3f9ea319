/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of the host and their mappings. They are learnt from one scan of /proc at
 * the start and then from events. Each process's mapping table is published to the BPF
 * programs.
 *
 * Tables are lazy. A process is published with OP_MAPPING_LAZY mappings. The first sample
 * that meets one comes with registers and a copy of the stack (OP_END_UNKNOWN), which is
 * unwound in user space (code/unwind/host.h) after the tables that it needs were made. So no
 * first sample is lost, and nothing is parsed for a process that never runs.
 *
 * A record names the generation of the table that it was made with. Tables are kept for
 * OP_PROCESS_KEEP_NS after they were replaced or their process ended, so that late
 * records find theirs.
 */
#ifndef OP_PROCESS_PROCESSES_H
#define OP_PROCESS_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/allowance.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "code/unwind/arena.h"
#include "code/unwind/rules.h"
#include "op_user_types.h"
#include "process/image/events.h"
#include "process/target/maps.h"
#include "profile/window.h"

#define OP_PROCESS_KEEP_NS UINT64_C(3000000000)

struct op_executables;
struct op_images;
struct op_processes;

struct op_processes_config {
	struct op_log *log;
	struct op_arena *arena;
	struct op_unwind_rules *rules;
	struct op_allowance *allowance; /* of all work; borrowed. NULL: no limit */
	const char *procfs_root;
	const char *sysfs_root;
	uint64_t runtimes_off; /* OTELPROF_RUNTIME_* */
	const struct op_layouts *layouts;
	uint64_t flags; /* OTELPROF_* of the config */
	uint64_t symbol_budget_bytes;
	uint32_t max_processes;
	/* service.name of processes that set none. NULL: the executable's name, "":
	 * none */
	const char *service_name;
	/* names of environment variables to read; borrowed until op_processes_free() */
	const char *const *environment;
	size_t environment_len;
	/* CLOCK_REALTIME - CLOCK_MONOTONIC; op_processes_set_clock() changes it */
	int64_t realtime_offset_ns;
	/* Add or replace, and remove a process in the BPF programs' map. Both return 0 or
	 * -errno. */
	int (*publish)(void *ctx, uint32_t pid, struct op_process_key key);
	int (*unpublish)(void *ctx, uint32_t pid);
	/* Set where the threads of @pid keep their contexts; a NULL place: nowhere. The
	 * callback may be NULL. */
	int (*publish_context)(void *ctx, uint32_t pid, const struct op_context_place *);
	/* Load the steps of runtimes (bits 1 << enum op_runtime), in one call of about 50
	 * ms. Returns 0, or -errno, and then their frames stay native. */
	int (*need_runtimes)(void *ctx, uint64_t runtimes);
	/* Is there an event, not yet passed on, that may have mapped file number @inode
	 * there? May be NULL. */
	bool (*map_waits)(void *ctx, uint64_t start, uint64_t end, uint64_t inode);
	/* The time until which all events were passed on. NULL: all always are. */
	uint64_t (*drained_ns)(const void *ctx);
	void *ctx;
};

/* Callbacks for all processes of the host, also for those that are not followed. */
struct op_process_watch {
	void (*on_fork)(void *ctx, uint32_t pid, uint32_t parent);
	void (*on_exec)(void *ctx, uint32_t pid);
	void (*on_exit)(void *ctx, uint32_t pid);
	void (*on_lost)(void *ctx);
	void *ctx;
};

struct op_processes_stats {
	uint64_t processes;
	uint64_t executables;
	/* processes not tracked, since max_processes others were used within a second */
	uint64_t unseen;
	uint64_t symbol_bytes;
	uint64_t tables_failed;
	uint64_t executables_unseen;
	uint64_t mappings_unseen;
	uint64_t reads_by_child;
	uint64_t reads_stalled;
	uint64_t reads_refused;
	uint64_t
		contexts_refused; /* programs whose threads' contexts cannot be published */
	uint64_t own_bytes;	  /* about the bytes of processes and executables */
	/* Frames not named, and tables not made, because the allowance had no CPU time or
	 * memory for them. */
	uint64_t names_postponed;
	uint64_t tables_postponed;
	/* Freed because memory was short: the names of executables, tables, processes. */
	uint64_t names_evicted;
	uint64_t tables_evicted;
	uint64_t processes_evicted;
};

int op_processes_new(const struct op_processes_config *config, struct op_processes **ret);
struct op_processes *op_processes_free(struct op_processes *p);
OP_DEFINE_CLEANUP(struct op_processes *, op_processes_free)

/*
 * Learn the processes that run now. This reads maps and opens no executable. Some
 * processes are learnt at once, the rest in slices at each op_processes_settle();
 * op_processes_busy() is true until then.
 */
int op_processes_scan_begin(struct op_processes *p);

/* Load the steps of all runtimes that are not off, even before a process uses them:
 * verifying a program is one system call, and takes longer than a poll may. */
void op_processes_load_runtimes(struct op_processes *p);

/* Make the tables of @pid now, so that its first samples are complete at any depth.
 * Returns 0, -ESRCH if the process is not known, or -errno. */
int op_processes_warm(struct op_processes *p, uint32_t pid);

/* Events. They must come in the order in which the kernel made them, as far as that is
 * known. */
void op_processes_on_mmap(struct op_processes *p, const struct op_mmap_event *e);
void op_processes_on_fork(struct op_processes *p, uint32_t pid, uint32_t parent,
			  uint64_t time_ns);
void op_processes_on_exec(struct op_processes *p, uint32_t pid, const char *comm,
			  uint64_t time_ns);
void op_processes_on_exit(struct op_processes *p, uint32_t pid, uint64_t time_ns);
/* The kernel lost events, so everything known may be stale. All maps are read again in
 * slices, after a pause since the last such sweep. */
void op_processes_on_lost(struct op_processes *p);
/* @pid executed a program, which is in place now. At op_processes_on_exec() it may not be
 * yet. */
void op_processes_on_executed(struct op_processes *p, uint32_t pid);
/* Call @watch first in each of these calls. */
void op_processes_set_watch(struct op_processes *p, const struct op_process_watch *watch);

/* Publish changes, and free what nothing needs. Call this after each batch of events,
 * before the records that follow. @now_ns is CLOCK_MONOTONIC. */
void op_processes_settle(struct op_processes *p, uint64_t now_ns);
/* The same, before the first sample: work until all is done, or for about @limit_ns. */
void op_processes_settle_first(struct op_processes *p, uint64_t limit_ns);
/* Continue a table that is being made, once a poll, after the samples. It gets one of @parts
 * of the poll's time. */
void op_processes_go_on(struct op_processes *p, uint32_t parts);
/* All records made before @time_ns were read: what is kept only for them may be freed. */
void op_processes_records_read(struct op_processes *p, uint64_t time_ns);
/* Is the process known and, if @generation is not 0, is that generation of it kept? */
bool op_processes_knows(const struct op_processes *p, uint32_t pid, uint32_t generation);
/* When @pid was forked (CLOCK_MONOTONIC); 0: its fork was not seen, or the process is not
 * known. */
uint64_t op_processes_born_ns(const struct op_processes *p, uint32_t pid);
/* Does a process wait for its publication or for a runtime? */
bool op_processes_waiting(const struct op_processes *p);
/* The latest time at which op_processes_settle() must be called again; 0: any time. */
uint64_t op_processes_next_ns(const struct op_processes *p);
/* Is the scan or a sweep under way, to be continued in slices between samples? */
bool op_processes_busy(const struct op_processes *p);

/* A window was closed. @early: it was cut short, so what its samples did not need may
 * still be in use. */
void op_processes_window_end(struct op_processes *p, bool early);
void op_processes_set_clock(struct op_processes *p, int64_t realtime_offset_ns);
/* The Unix time of @time_ns (CLOCK_MONOTONIC), by the offset between the clocks when the
 * window began. So setting the wall clock changes no distance between times of a
 * window. */
uint64_t op_processes_realtime_ns(const struct op_processes *p, uint64_t time_ns);
/* Call this in the child of a fork. From then on no BPF map is changed. */
void op_processes_forked(struct op_processes *p);
void op_processes_get_stats(const struct op_processes *p, struct op_processes_stats *ret);

/* Set the callbacks of the host program. */
void op_processes_set_events(struct op_processes *p, struct op_event_handlers events);

const struct op_processes_config *op_processes_config(const struct op_processes *p);
struct op_target *op_processes_target(const struct op_processes *p);
struct op_images *op_processes_images(struct op_processes *p);
struct op_executables *op_processes_executables(struct op_processes *p);
/* Is this the child of a fork? */
bool op_processes_is_forked(const struct op_processes *p);
/* Advance the folder's clock to @time_ns, if that is later. */
void op_processes_advance(struct op_processes *p, uint64_t time_ns);

#endif
