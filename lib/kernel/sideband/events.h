/* SPDX-License-Identifier: Apache-2.0 */
/* Events of processes from the side-bands. The driver reads them, and whoever drains the
 * side-bands acts on them. */
#ifndef OP_KERNEL_SIDEBAND_EVENTS_H
#define OP_KERNEL_SIDEBAND_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

/* A new executable mapping (PERF_RECORD_MMAP2 with PROT_EXEC, or a line of maps). */
struct op_mmap_event {
	uint32_t pid;
	uint32_t tid;
	uint64_t start;
	uint64_t end;
	uint64_t offset; /* in the file */
	uint32_t dev_major;
	uint32_t dev_minor;
	uint64_t inode; /* 0: no file */
	/* generation of the inode, which differs if its number was reused; 0: unknown */
	uint64_t generation;
	uint64_t time_ns; /* when it was mapped (CLOCK_MONOTONIC); 0: unknown */
	bool writable;	  /* the process may write there */
	const char *path; /* as in the kernel's text; borrowed */
};

/* Called with each event, the oldest first. Times are CLOCK_MONOTONIC. */
struct op_sideband_sink {
	void (*on_mmap)(void *ctx, const struct op_mmap_event *e);
	void (*on_exec)(void *ctx, uint32_t pid, const char *comm, uint64_t time_ns);
	/* Thread @tid of @pid began, or ended. @tid is @pid for a new process, and for a leader. */
	void (*on_fork)(void *ctx, uint32_t pid, uint32_t parent, uint32_t tid,
			uint64_t time_ns);
	void (*on_exit)(void *ctx, uint32_t pid, uint32_t tid, uint64_t time_ns);
	/* Events were lost until @time_ns. */
	void (*on_lost)(void *ctx, uint64_t time_ns);
	/* Kernel symbols came or went. */
	void (*on_kernel_symbols)(void *ctx);
	void *ctx;
};

#endif
