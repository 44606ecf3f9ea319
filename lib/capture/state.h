/* SPDX-License-Identifier: Apache-2.0 */
/* The insides of a capture, shared by the files of this folder. */
#ifndef OP_CAPTURE_STATE_H
#define OP_CAPTURE_STATE_H

#include <linux/perf_event.h>

#include "base/hash.h"
#include "base/vec.h"
#include "capture/capture.h"
#include "capture/merge.h"
#include "capture/object.h"
#include "capture/ring.h"
#include "kind/kind.h"
#include "sample/waiting/postponed.h"

struct consume;

enum {
	OP_SIDEBAND_BYTES = 64 * 1024,	    /* of records, a CPU; a power of two pages */
	OP_SIDEBAND_RECORD_MAX = 64 * 1024, /* perf_event_header.size is 16 bits */
	/* At least this often the ring is emptied: while something is new, since names of what
	 * is short-lived are read late or never; and where nothing was for a while. */
	OP_TIMER_MS = 200,
	OP_TIMER_QUIET_MS = 1000,
	OP_QUIET_AFTER_MS = 2000,
	/* So often, and so long, after an interpreter's file was executed: its libraries are
	 * mapped within milliseconds. */
	OP_TIMER_EXEC_MS = 3,
	OP_EXEC_FOR_MS = 30,
	OP_CPUS_CHECK_MS = 1000,
	OP_RECORDS_A_POLL = 4096,
};

/* perf events of one CPU. */
struct op_cpu_events {
	uint32_t cpu;
	int kind_fd[OP_KINDS][OP_KIND_PROGRAMS_MAX]; /* or -1 */
	void *sideband; /* its mapped buffer: a page, then OP_SIDEBAND_BYTES; or NULL */
	bool online;	/* seen in the last reading of the CPU list */
	/* while the side-band is drained: positions, and the next record */
	uint64_t head;
	uint64_t tail;
	uint64_t next_ns;
	struct perf_event_header next;
};

/* One of the arena's. */
struct op_slab {
	void *memory; /* NULL: not mapped */
	int fd;	      /* of its map, -1: not kept */
};

/* The maps that the objects share, by the names of op_map_names. */
enum op_map {
	OP_MAP_SLABS,
	OP_MAP_RULES,
	OP_MAP_PROCESSES,
	OP_MAP_SLOTS,
	OP_MAP_COUNTERS,
	OP_MAP_CONTROLS,
	OP_MAP_RING,
	OP_MAP_COPIERS,
	OP_MAP_FILTERS,
	OP_MAP_ANNOUNCED,
	OP_MAP_REQUESTS,
	OP_MAP_TARGETS,
	OP_MAP_THINNINGS,
	OP_MAPS,
};
extern const char *const op_map_names[OP_MAPS];

/* The positions of a ring that asks for interrupts: its records are thrown away. */
struct op_kicks {
	unsigned long *consumer; /* a page, or NULL */
	const unsigned long *producer;
};

/* Which walker of bpf/event/walker.bpf.c this kernel takes. */
enum op_walker_form {
	OP_WALKER_AUTO = 0,
	OP_WALKER_LOOP,	 /* op_walk: all runtimes in one program */
	OP_WALKER_EACH,	 /* op_walk_each: a program a runtime */
	OP_WALKER_WHOLE, /* none: each entry walks itself, op_KIND_whole */
};

enum {
	OP_PROGRAM_TYPES_MAX = 5, /* of entries: perf_event, raw_tp, kprobe, tracing; and
				     raw_tp that holds samples */
};

/* The walkers of one type of programs. */
struct op_walkers {
	uint32_t type; /* enum bpf_prog_type */
	bool holds;    /* for kinds whose samples wait for the end of their events */
	int fd;	       /* op_walkers of that type, or -1 */
	int held_fd;   /* its op_held where it holds, or -1 */
};

struct op_capture {
	struct op_capture_config config;
	struct op_log *log;
	struct op_settings settings;
	enum op_walker_form form;
	int map[OP_MAPS];
	/* the entry of each kind that is on, for each of its perf events, or -1 */
	int program[OP_KINDS][OP_KIND_PROGRAMS_MAX];
	int hook[OP_KINDS][OP_KIND_PROGRAMS_MAX]; /* attachments, or -1 */
	struct op_kicks kicks[OP_KINDS][OP_KICK_RINGS];
	struct op_walkers walkers[OP_PROGRAM_TYPES_MAX];
	size_t walkers_len;
	struct op_control *control; /* mapped */
	uint64_t gone_run_ns;	    /* of entries that were turned off */
	uint64_t gone_run_count;
	struct op_rule *rules;
	OP_VEC(struct op_slab) slabs;
	struct op_ring ring;
	int exec_program; /* forgets a process that executes; -1: none */
	int exec_fd;	  /* its attachment, or -1 */
	int fork_program; /* gives a child what its parent has; -1: none */
	int fork_fd;	  /* its attachment, or -1 */
	OP_VEC(struct op_cpu_events) cpus; /* by number */
	struct op_merge merge;		   /* of their side-bands, while it is drained */
	uint64_t drained_ns; /* what happened before was read, as far as it was told */
	struct op_map64
		leader_exited;	  /* processes whose leader ended before its threads */
	struct op_map64 threaded; /* processes that were seen to make a thread */
	uint64_t lost_ns;	  /* the last time that events were lost */
	uint64_t events_lost;
	uint64_t checked_cpus_ns; /* when the CPU list was last read */
	uint64_t news_ns;	  /* when something was new */
	uint64_t exec_ns;	  /* when an interpreter's file was executed */
	uint64_t wake_ns;	  /* when a poll is wanted at the latest; 0: none is */
	uint32_t timer_ms;
	uint32_t rate_hz;
	uint32_t page_size;
	bool loaded; /* op_capture_load() was done, or kinds were chosen since */
	bool listening;
	bool sampling;
	bool forked;
	bool kernel_symbols_stale; /* a KSYMBOL event came */
	int types_fd; /* of the kernel's types that the programs name, or negative */
	uint64_t typed_kinds; /* whose programs' types are in it */
	int epoll_fd;
	int timer_fd;
	int online_fd;		 /* the list of CPUs, or -1 */
	char *online_list;	 /* as it was read last, or NULL */
	bool cpus_changed;	 /* the list did, or an event is missing */
	struct consume *consume; /* of the poll that is running, else NULL */
	bool put_off;		 /* the last poll left the records to the next one */
	struct op_postponed postponed;
	uint8_t sideband_scratch[OP_SIDEBAND_RECORD_MAX];
};

/* slabs.c */
void op_slabs_close(struct op_capture *c);

/* settings.c */
void op_capture_settings(struct op_capture *c);
/* The settings of an entry or a walker of @program_type. @holds: of a kind that does. */
struct op_settings op_capture_settings_of(const struct op_capture *c,
					  uint32_t program_type, bool holds);
/* Slots of a CPU, of all types. */
uint32_t op_capture_slots(void);
uint32_t op_capture_ring_bytes(const struct op_capture *c);

/* loader.c */
int op_loader_open(struct op_capture *c);
void op_loader_close(struct op_capture *c);
/* Attach the programs that help and are not needed. */
void op_loader_attach(struct op_capture *c);

/* types.c: the objects that are no kind's. */
extern const struct op_object_source op_base_source;
extern const struct op_object_source op_walkers_source;
enum {
	OP_TYPES_PATH_BYTES = 256
};
/* Where the kernel tells its types. */
void op_types_path(const struct op_capture *c, char ret[OP_TYPES_PATH_BYTES]);
/* See to it that the types that the programs of @kinds name are at hand. */
void op_types_need(struct op_capture *c, uint64_t kinds);

/* walkers.c: see to it that the programs of @kind have walkers; *@ret is borrowed;
 * NULL where entries walk themselves. */
int op_walkers_need(struct op_capture *c, const struct op_kind *kind,
		    const struct op_walkers **ret);
/* Load the steps of @runtimes (bits), which settings.runtimes_on has, where walkers are. */
int op_walkers_add(struct op_capture *c, uint64_t runtimes);
void op_walkers_close(struct op_capture *c);

/* kinds.c */
int op_kinds_load(struct op_capture *c, const struct op_kind *kind);
void op_kinds_close(struct op_capture *c);

/* hooks.c: the kinds' programs at tracepoints */
int op_hooks_load(struct op_capture *c, const struct op_kind *kind);
/* Attach those of the kinds that are on, and not yet attached. */
int op_hooks_attach(struct op_capture *c);
void op_hooks_detach(struct op_capture *c, const struct op_kind *kind);
/* Make room in the rings that ask for interrupts. */
void op_hooks_poll(struct op_capture *c);
/* Detach @kind, and close what op_hooks_load() opened beside its programs. */
void op_hooks_close(struct op_capture *c, const struct op_kind *kind);

/* perf.c */
int op_perf_listen(struct op_capture *c);
int op_perf_start(struct op_capture *c);
void op_perf_stop(struct op_capture *c);
void op_perf_close(struct op_capture *c);
/* Open events on CPUs that came, close those of CPUs that went. */
int op_perf_update_cpus(struct op_capture *c);
/* Close the events of one kind. */
void op_perf_close_kind(struct op_capture *c, const struct op_kind *kind);
int op_perf_set_rate(struct op_capture *c, uint32_t hz);

/* sideband.c: bring all waiting side-band records to @processes. Returns how many. */
uint64_t op_sideband_drain(struct op_capture *c, struct op_processes *processes);

#endif
