/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of one exporter, of any kind. */
#ifndef OP_EXPORT_SINK_SINK_H
#define OP_EXPORT_SINK_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "export/sink/notes.h"
#include "export/sink/request.h"

/* OTLP 1.10 tells exporters to refuse larger requests; 64 MiB before compression. */
/* One deep stack with its names does not fit into less, so nothing would ever be sent. */
#define OP_REQUEST_BYTES_MIN	 (UINT64_C(64) << 10)
#define OP_REQUEST_BYTES_MAX	 (UINT64_C(64) << 20)
#define OP_REQUEST_BYTES_DEFAULT UINT64_C(4000000)

struct op_sink;

/*
 * Shared by all exporters of a handle: the ledger and the log lines. A thread that is
 * stuck in a system call is left behind at the end (export/sink/thread.h), and keeps this
 * until it ends.
 */
struct op_shared {
	uint32_t users;
	struct op_ledger ledger;
	struct op_notes notes;
};

/* @level: of the log lines that are kept. Returns 0 or -errno. */
int op_shared_new(int level, struct op_shared **ret);
/* Both take NULL. The first returns @s, the second NULL. */
struct op_shared *op_shared_ref(struct op_shared *s);
struct op_shared *op_shared_unref(struct op_shared *s);

struct op_sink_ops {
	/* Accept @r, and decide now or later on its fate. */
	void (*submit)(struct op_sink *s, struct op_request *r);
	/* Begin a flush: skip the wait before the next try, and write again what
	 * failed. NULL: the sink has neither. */
	void (*hurry)(struct op_sink *s);
	/* Deliver until @deadline_ns (CLOCK_MONOTONIC). Returns 0, -ETIMEDOUT or another
	 * -errno, which is returned once for each flush. */
	int (*flush)(struct op_sink *s, uint64_t deadline_ns);
	/* Give up everything that waits, and everything that comes later. NULL:
	 * requests never wait. Does not wait for the thread. */
	void (*abandon)(struct op_sink *s);
	/* After abandon(): wait until its thread has ended, and decide about the rest.
	 * This and free() may take long, and are called without the owner's lock. */
	void (*finish)(struct op_sink *s);
	/* In the child of a fork; only free() is called after it. May be NULL. */
	void (*forked)(struct op_sink *s);
	void (*free)(struct op_sink *s);
};

struct op_sink {
	const struct op_sink_ops *ops;
	uint32_t number;	  /* of the exporter, 1 or more */
	struct op_shared *shared; /* ledger and notes are from it; NULL: a test */
	struct op_ledger *ledger;
	struct op_account account; /* counters of its requests */
	struct op_notes *notes;	   /* for log lines of any thread */
	struct op_log *log;	   /* for the owner's thread only */
	uint64_t max_request;
	/* Used by lib/export with the owner's lock: finish() is in progress, and its
	 * caller frees the sink if it was removed meanwhile. */
	bool finishing;
	bool removed;
};

#endif
