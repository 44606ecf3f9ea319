/* SPDX-License-Identifier: Apache-2.0 */
/* The insides of a capture, shared by the files of this folder. */
#ifndef OP_KERNEL_STATE_H
#define OP_KERNEL_STATE_H

#include <linux/perf_event.h>

#include "base/hash.h"
#include "base/vec.h"
#include "kernel/capture.h"
#include "kernel/kinds/kind.h"
#include "kernel/object.h"
#include "kernel/ring.h"
#include "kernel/sideband/ends.h"
#include "kernel/sideband/merge.h"
#include "sample/waiting/postponed.h"

struct consume;

enum {
	/* of records of one CPU; a power of two of pages */
	OP_SIDEBAND_BYTES = 64 * 1024,
	OP_SIDEBAND_RECORD_MAX = 64 * 1024, /* perf_event_header.size is 16 bits */
	/*
	 * The ring is emptied at least this often. TIMER_MS: while something is new,
	 * since the names of a short-lived process must be read soon or never. QUIET_MS:
	 * once nothing was new for QUIET_AFTER_MS.
	 */
	OP_TIMER_MS = 200,
	OP_TIMER_QUIET_MS = 1000,
	OP_QUIET_AFTER_MS = 2000,
	/* It is emptied this often, and for so long, after an interpreter's file was
	 * executed, whose libraries are mapped within milliseconds. */
	OP_TIMER_EXEC_MS = 3,
	OP_EXEC_FOR_MS = 30,
	OP_CPUS_CHECK_MS = 1000,
	OP_RECORDS_A_POLL = 4096,
};

/* The perf events of one CPU. */
struct op_cpu_events {
	uint32_t cpu;
	int kind_fd[OP_KINDS][OP_KIND_PROGRAMS_MAX]; /* or -1 */
	void *sideband; /* the mapped buffer: a page, then OP_SIDEBAND_BYTES; or NULL */
	bool online;	/* in the list of CPUs as it was last read */
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

/* The position pages of a ring buffer by which a program asks for interrupts; its records
 * are thrown away. */
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

struct op_capture {
	struct op_capture_config config;
	struct op_log *log;
	struct op_settings settings;
	enum op_walker_form form;
	int map[OP_MAPS];
	/* the entry of each kind that is on, for each of its perf events, or -1 */
	int program[OP_KINDS][OP_KIND_PROGRAMS_MAX];
	int hook[OP_KINDS][OP_KIND_PROGRAMS_MAX]; /* attachments, or -1 */
	/* the maps in which the programs of each kind note what has begun, or -1 */
	int begun[OP_KINDS][OP_KIND_BEGUN_MAX];
	struct op_kick_ring kicks[OP_KINDS][OP_KICK_RINGS];
	struct op_walkers walkers[OP_PROGRAM_TYPES_MAX];
	size_t walkers_len;
	struct op_control *control; /* mapped */
	uint64_t gone_run_ns;	    /* run time of entries that were turned off */
	uint64_t gone_run_count;
	/* events that programs missed which were turned off, and samples that were held then */
	uint64_t gone_missed;
	struct op_unwind_rule *rules;
	OP_VEC(struct op_slab) slabs;
	struct op_ring ring;
	/* op_exec, which removes the tables of a process that executes; -1: none */
	int exec_program;
	int exec_fd; /* its attachment, or -1 */
	/* op_fork, which gives a child the tables of its parent; -1: none */
	int fork_program;
	int fork_fd;			   /* its attachment, or -1 */
	OP_VEC(struct op_cpu_events) cpus; /* indexed by the CPU's number */
	struct op_merge merge; /* of the side-bands of all CPUs, while they are drained */
	/* until when the side-bands are drained: newer records of them are left */
	uint64_t drained_ns;
	uint64_t drains_cut; /* drains that had no time for all records */
	bool sideband_left;  /* the last one did */
	struct op_endings ends;
	uint64_t lost_ns; /* the last time that events were lost */
	uint64_t events_lost;
	uint64_t checked_cpus_ns; /* when the CPU list was last read */
	uint64_t news_ns;	  /* when something new was last seen */
	uint64_t exec_ns;	  /* when an interpreter's file was last executed */
	uint64_t wake_ns;	  /* see op_capture_wake_at(); 0: none */
	uint64_t maps_bytes;	  /* of all maps but slabs, as they were then */
	uint64_t maps_bytes_ns;	  /* 0: not looked at yet */
	uint32_t timer_ms;
	uint32_t rate_hz;
	uint32_t page_size;
	/* op_capture_load() succeeded, or op_capture_set_kinds() was called */
	bool loaded;
	bool listening;
	bool sampling;
	bool forked;
	bool kernel_symbols_stale; /* a KSYMBOL event came */
	/* descriptor of the copy of the kernel's types (types.h), or negative */
	int types_fd;
	uint64_t typed_kinds; /* the kinds whose programs' types are in that copy */
	int epoll_fd;
	int timer_fd;
	int online_fd;	   /* descriptor of the list of CPUs, or -1 */
	char *online_list; /* the list as it was last read, or NULL */
	bool cpus_changed; /* the list has changed, or a CPU lacks an event */
	bool cpus_moved;   /* side-bands were closed or opened since the last drain */
	bool slept;	   /* the machine was asleep: all events are opened anew */
	int64_t asleep_ns; /* how long it was at the last look, since it booted */
	struct consume *consume; /* that of the running poll, or NULL */
	bool put_off;		 /* the last poll left the records to the next one */
	struct op_postponed postponed;
	uint8_t sideband_scratch[OP_SIDEBAND_RECORD_MAX];
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
/* Attach op_exec and op_fork, without which samples can be taken, too. */
void op_loader_attach(struct op_capture *c);

/* types.c: the objects that belong to no kind. */
extern const struct op_object_source op_base_source;
extern const struct op_object_source op_walkers_source;
enum {
	OP_TYPES_PATH_BYTES = 256
};
/* The path of the kernel's BTF. */
void op_types_path(const struct op_capture *c, char ret[OP_TYPES_PATH_BYTES]);
/* Copy the kernel's types that the programs of @kinds name, if the copy lacks them. */
void op_types_need(struct op_capture *c, uint64_t kinds);

/* walkers.c: load the walkers for the programs of @kind, if that was not done yet. *@ret
 * is borrowed; it is NULL if the entries walk stacks themselves. */
int op_walkers_need(struct op_capture *c, const struct op_kind *kind,
		    const struct op_walkers **ret);
/* Load the steps of @runtimes (bits), which settings.runtimes_on already has, into every
 * set of walkers. */
int op_walkers_add(struct op_capture *c, uint64_t runtimes);
void op_walkers_close(struct op_capture *c);

/* kinds.c */
/* The number of events that the kernel did not tell of, since the program for them was
 * already under way on that CPU. */
uint64_t op_capture_kinds_missed(const struct op_capture *c);
int op_capture_kinds_load(struct op_capture *c, const struct op_kind *kind);
void op_capture_kinds_close(struct op_capture *c);

/* hooks.c: programs of kinds that are attached to tracepoints */
int op_hooks_load(struct op_capture *c, const struct op_kind *kind);
/* Attach the programs of the kinds that are on and that are not attached yet. */
int op_hooks_attach(struct op_capture *c);
void op_hooks_detach(struct op_capture *c, const struct op_kind *kind);
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
 * With @processes, what those have told is passed on first; where that takes until @end_ns
 * (0: no limit), the rest is left to the next call. */
int op_perf_update_cpus(struct op_capture *c, struct op_processes *processes,
			uint64_t end_ns);
/* Close the events of one kind. */
void op_perf_close_kind(struct op_capture *c, const struct op_kind *kind);
int op_perf_set_rate(struct op_capture *c, uint32_t hz);

/*
 * sideband/drain.c: pass waiting side-band records on to @processes, until @end_ns (0: all of
 * them), a few at least. Returns their number. Where some are left, sideband_left says so, and
 * the next call goes on there.
 */
uint64_t op_sideband_drain(struct op_capture *c, struct op_processes *processes,
			   uint64_t end_ns);

#endif
