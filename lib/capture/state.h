/* SPDX-License-Identifier: Apache-2.0 */
/* The insides of a capture, shared by the files of this folder. */
#ifndef OP_CAPTURE_STATE_H
#define OP_CAPTURE_STATE_H

#include <bpf/libbpf.h>
#include <linux/perf_event.h>

#include "base/hash.h"
#include "base/vec.h"
#include "capture/capture.h"
#include "capture/merge.h"
#include "capture/ring.h"

struct op_cpu_bpf;
struct consume;

enum {
	OP_SIDEBAND_BYTES = 64 * 1024,	    /* of records, a CPU; a power of two pages */
	OP_SIDEBAND_RECORD_MAX = 64 * 1024, /* perf_event_header.size is 16 bits */
	/* At least this often the ring is emptied: while something is new, since names of what
	 * is short-lived are read late or never; and where nothing was for a while. */
	OP_TIMER_MS = 200,
	OP_TIMER_QUIET_MS = 1000,
	OP_QUIET_AFTER_MS = 2000,
	OP_CPUS_CHECK_MS = 1000,
	OP_RECORDS_A_POLL = 4096,
};

/* perf events of one CPU. */
struct op_cpu_events {
	uint32_t cpu;
	int clock_fd;	/* the sampling event, or -1 */
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

struct op_capture {
	struct op_capture_config config;
	struct op_log *log;
	struct op_cpu_bpf *skel;
	struct op_rule *rules;
	OP_VEC(struct op_slab) slabs;
	struct op_ring ring;
	struct bpf_link *exec_link; /* forgets a process that executes; NULL: none */
	OP_VEC(struct op_cpu_events) cpus; /* by number */
	struct op_merge merge;		   /* of their side-bands, while it is drained */
	uint64_t drained_ns; /* what happened before was read, as far as it was told */
	struct op_map64
		leader_exited; /* processes whose leader ended before its threads */
	uint64_t runtimes;     /* a bit a runtime whose step is loaded */
	uint64_t events_lost;
	uint64_t checked_cpus_ns; /* when the CPU list was last read */
	uint64_t news_ns;	  /* when something was new */
	uint32_t timer_ms;
	uint32_t rate_hz;
	uint32_t filter_active;
	uint32_t page_size;
	bool bpf_loop;	       /* the kernel has bpf_loop() */
	bool cgroup_ancestors; /* and bpf_get_current_ancestor_cgroup_id() */
	bool listening;
	bool sampling;
	bool forked;
	bool kernel_symbols_stale; /* a KSYMBOL event came */
	int types_fd; /* of the kernel's types that the programs name, or negative */
	int epoll_fd;
	int timer_fd;
	int online_fd;		 /* the list of CPUs, or -1 */
	char *online_list;	 /* as it was read last, or NULL */
	bool cpus_changed;	 /* the list did, or an event is missing */
	struct consume *consume; /* of the poll that is running, else NULL */
	uint8_t sideband_scratch[OP_SIDEBAND_RECORD_MAX];
};

/* slabs.c */
void op_slabs_close(struct op_capture *c);

/* loader.c */
int op_loader_open(struct op_capture *c);
void op_loader_close(struct op_capture *c);
/* Attach the programs that help and are not needed. */
void op_loader_attach(struct op_capture *c);

/* perf.c */
int op_perf_listen(struct op_capture *c);
int op_perf_start(struct op_capture *c);
void op_perf_stop(struct op_capture *c);
void op_perf_close(struct op_capture *c);
/* Open events on CPUs that came, close those of CPUs that went. */
int op_perf_update_cpus(struct op_capture *c);
int op_perf_set_rate(struct op_capture *c, uint32_t hz);

/* sideband.c: bring all waiting side-band records to @processes. Returns how many. */
uint64_t op_sideband_drain(struct op_capture *c, struct op_processes *processes);

#endif
