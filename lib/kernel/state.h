/* SPDX-License-Identifier: Apache-2.0 */
/* The insides of a capture, shared by the files of this folder. */
#ifndef OP_KERNEL_STATE_H
#define OP_KERNEL_STATE_H

#include <linux/perf_event.h>

#include "base/hash.h"
#include "base/minheap.h"
#include "base/vec.h"
#include "kernel/capture.h"
#include "kernel/kinds/kind.h"
#include "kernel/object.h"
#include "kernel/ring.h"

enum {
	/* of records of one CPU; a power of two of pages */
	OP_SIDEBAND_BYTES = 64 * 1024,
	OP_SIDEBAND_RECORD_MAX = 64 * 1024, /* perf_event_header.size is 16 bits */
	OP_CPUS_CHECK_MS = 1000,
};

/* The perf events of one CPU. */
struct op_cpu_events {
	uint32_t cpu;
	int kind_fd[OP_KINDS][OP_KIND_PROGRAMS_MAX]; /* or -1 */
	void *sideband; /* the mapped buffer: a page, then OP_SIDEBAND_BYTES; or NULL */
	bool online;	/* in the list of CPUs as it was last read */
	bool went;	/* it was offline since its events were opened */
	/* used while the side-band is drained: positions, and the header of the next
	 * record */
	uint64_t head;
	uint64_t tail;
	uint64_t next_ns;
	struct perf_event_header next;
};

/* One slab of the arena. */
struct op_slab {
	void *memory; /* NULL: not mapped */
	int fd;	      /* descriptor of its map; -1: not kept */
};

/* The maps that the objects share; op_map_names has their names. */
enum op_map {
	OP_MAP_SLABS,
	OP_MAP_RULES,
	OP_MAP_PROCESSES,
	OP_MAP_SLOTS,
	OP_MAP_COUNTERS,
	OP_MAP_CONTROLS,
	OP_MAP_RING,
	OP_MAP_COPIERS,
	OP_MAP_ANNOUNCED,
	OP_MAP_REQUESTS,
	OP_MAP_TARGETS,
	OP_MAP_THINNINGS,
	OP_MAP_CLOCKS,
	OP_MAP_CONTEXTS,
	OP_MAP_LABEL_SETS,
	OP_MAPS,
};
extern const char *const op_map_names[OP_MAPS];

/* The position pages of a ring buffer through which a program asks for interrupts. Its
 * records are discarded. */
struct op_kick_ring {
	unsigned long *consumer; /* a page, or NULL */
	const unsigned long *producer;
};

/* Which walker of bpf/event/walker.bpf.c this kernel can load. */
enum op_walker_form {
	OP_WALKER_AUTO = 0,
	OP_WALKER_LOOP, /* op_walk: all runtimes in one program */
	OP_WALKER_EACH, /* op_walk_each: one program for each runtime */
	/* no walker: each entry walks the stack itself (op_KIND_whole) */
	OP_WALKER_WHOLE,
};

enum {
	/* program types of entries: perf_event, raw_tp, kprobe, tracing; and raw_tp of
	 * kinds that hold samples */
	OP_PROGRAM_TYPES_MAX = 5,
};

/* The walkers of one type of entry programs. */
struct op_walkers {
	uint32_t type; /* enum bpf_prog_type */
	bool holds;    /* for kinds whose samples are held until their events end */
	int fd;	       /* the map op_walkers of that type, or -1 */
	int held_fd;   /* its map op_held if `holds`, or -1 */
};

/* Of kinds.c, hooks.c and walkers.c. */
struct op_capture_kinds {
	/* the entry of each kind that is on, for each of its perf events, or -1 */
	int program[OP_KINDS][OP_KIND_PROGRAMS_MAX];
	int hook[OP_KINDS][OP_KIND_PROGRAMS_MAX]; /* attachments, or -1 */
	/* the maps in which the programs of each kind note what has begun, or -1 */
	int begun[OP_KINDS][OP_KIND_BEGUN_MAX];
	uint64_t attached_ns[OP_KINDS]; /* when their hooks were attached */
	struct op_kick_ring kicks[OP_KINDS][OP_KICK_RINGS];
	struct op_walkers walkers[OP_PROGRAM_TYPES_MAX];
	size_t walkers_len;
	uint64_t gone_run_ns; /* run time of entries that were turned off */
	uint64_t gone_run_count;
	/* runs that programs missed before they were turned off, and samples that were
	 * held then */
	uint64_t gone_missed[OP_KINDS];
};

/* A program that belongs to no kind. */
struct op_capture_program {
	int program; /* or -1 */
	int fd;	     /* its attachment, or -1 */
};

/* The CPUs, of perf.c. */
struct op_capture_cpus {
	OP_VEC(struct op_cpu_events) list; /* indexed by the CPU's number */
	int online_fd;			   /* descriptor of the list of CPUs, or -1 */
	int uevents_fd; /* socket of the kernel's messages about devices; 0 not yet, -1 none */
	char *online;	     /* that list as it was last read, or NULL */
	uint64_t checked_ns; /* when it was */
	int64_t asleep_ns;   /* how long the machine was asleep then, since it booted */
	bool changed;	     /* the list has changed, or a CPU lacks an event */
	bool moved;	     /* side-bands were closed or opened since the last drain */
	bool slept;	     /* the machine was asleep: all events are opened again */
};

/* Of clock.c. */
struct op_capture_clocks {
	uint64_t random;  /* the state of op_random_next() */
	uint64_t next_ns; /* when new periods are drawn */
	uint64_t most_hz; /* perf_event_max_sample_rate; 0: not known */
};

/* Of drain.c. */
struct op_capture_sideband {
	struct op_minheap merge; /* CPUs by their next record, while they are drained */
	uint64_t drained_ns;	 /* time until then; newer records are left */
	uint64_t drains_cut;	 /* drains that had no time for all records */
	bool left;		 /* the last drain left records */
	uint64_t lost;		 /* events */
	uint8_t scratch[OP_SIDEBAND_RECORD_MAX];
};

struct op_capture {
	struct op_capture_config config;
	struct op_log *log;
	struct op_settings settings;
	enum op_walker_form form;
	int map[OP_MAPS];
	struct op_capture_kinds kinds;
	struct op_control *control; /* mapped */
	struct op_unwind_rule *rules;
	OP_VEC(struct op_slab) slabs;
	struct op_ring ring;
	/* op_exec, which removes the tables of a process that executes */
	struct op_capture_program exec;
	/* op_fork, which gives a child the tables of its parent */
	struct op_capture_program fork;
	struct op_capture_cpus cpus;
	struct op_capture_clocks clocks;
	struct op_capture_sideband sideband;
	uint64_t maps_bytes;	/* of all maps but slabs, as they were then */
	uint64_t maps_bytes_ns; /* 0: not looked at yet */
	uint64_t due_ns;	/* when the caller wants to be woken, CLOCK_MONOTONIC */
	uint32_t timer_ms;
	uint32_t rate_hz;
	uint32_t page_size;
	/* op_capture_load() succeeded, or op_capture_set_kinds() was called */
	bool loaded;
	bool listening;
	bool sampling;
	bool forked;
	/* descriptor of the copy of the kernel's types (types.h), or negative */
	int types_fd;
	uint64_t typed_kinds; /* the kinds whose programs' types are in that copy */
	int epoll_fd;
	int timer_fd;
};

/* slabs.c */
void op_slabs_close(struct op_capture *c);

/* settings.c */
void op_capture_settings(struct op_capture *c);
/* op_settings.runtimes_on, for a program with the steps of @runtimes. */
uint64_t op_capture_steps(const struct op_capture *c, uint64_t runtimes);
/* The settings of an entry or a walker of @program_type. @holds: for kinds that hold
 * samples. */
struct op_settings op_capture_settings_of(const struct op_capture *c,
					  uint32_t program_type, bool holds);
/* The number of slots of a CPU, for all program types. */
uint32_t op_capture_slots(void);
uint32_t op_capture_ring_bytes(const struct op_capture *c);

/* loader.c */
int op_loader_open(struct op_capture *c);
void op_loader_close(struct op_capture *c);
/* Attach op_exec and op_fork. Sampling works without them, too. */
void op_loader_attach(struct op_capture *c);

/* types.c: the objects that belong to no kind. */
extern const struct op_object_source op_base_source;
extern const struct op_object_source op_walkers_source;
enum {
	OP_TYPES_PATH_BYTES = 256
};
/* The path of the kernel's BTF. */
void op_types_path(const struct op_capture *c, char ret[OP_TYPES_PATH_BYTES]);
/* Add the kernel's types that the programs of @kinds name to the copy, unless it has
 * them. */
void op_types_need(struct op_capture *c, uint64_t kinds);

/* walkers.c: load the walkers for the programs of @kind, unless they are loaded. *@ret
 * is borrowed. It is NULL if the entries walk stacks themselves. */
int op_walkers_need(struct op_capture *c, const struct op_kind *kind,
		    const struct op_walkers **ret);
/* Load the steps of @runtimes (bits), which settings.runtimes_on already has, into every
 * set of walkers. */
int op_walkers_add(struct op_capture *c, uint64_t runtimes);
void op_walkers_close(struct op_capture *c);

/* kinds.c */
/* The number of events of @kind that the kernel skipped, because their program was already running
 * on that CPU. */
uint64_t op_capture_kind_missed(const struct op_capture *c, uint32_t kind);
int op_capture_kinds_load(struct op_capture *c, const struct op_kind *kind);
void op_capture_kinds_close(struct op_capture *c);

/* hooks.c: programs of kinds that are attached to tracepoints */
int op_hooks_load(struct op_capture *c, const struct op_kind *kind);
/* Attach the programs of the kinds that are on and that are not attached yet. */
int op_hooks_attach(struct op_capture *c);
void op_hooks_detach(struct op_capture *c, const struct op_kind *kind);
/* A window ends: run the programs that end their samples then. Returns whether there are
 * any. */
bool op_hooks_end_window(struct op_capture *c);
/* Empty the rings that ask for interrupts. */
void op_hooks_poll(struct op_capture *c);
/* Detach @kind, and unmap its rings. */
void op_hooks_close(struct op_capture *c, const struct op_kind *kind);

/* perf.c */
int op_perf_listen(struct op_capture *c);
int op_perf_start(struct op_capture *c);
void op_perf_stop(struct op_capture *c);
void op_perf_close(struct op_capture *c);
/* Open the events of CPUs that came online and close those of CPUs that went offline.
 * With @sink, their events are passed on first; where @allowance has no time for all of
 * it, the rest is left to the next call. */
int op_perf_update_cpus(struct op_capture *c, const struct op_sideband_sink *sink,
			struct op_allowance *allowance);
/* Close the events of one kind. */
void op_perf_close_kind(struct op_capture *c, const struct op_kind *kind);

/* clock.c: the clocks of the kinds that tick */
void op_clocks_start(struct op_capture *c);
/* The period of the clocks, ns. */
uint64_t op_clocks_tick_ns(const struct op_capture *c);
/* When to call op_clocks_poll(), which draws new periods; 0: not at all. */
uint64_t op_clocks_next_ns(const struct op_capture *c);
void op_clocks_poll(struct op_capture *c);
int op_clocks_set_rate(struct op_capture *c, uint32_t hz);

#endif
