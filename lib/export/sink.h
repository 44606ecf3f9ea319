/* SPDX-License-Identifier: Apache-2.0 */
/* One exporter of a handle, whatever its kind. */
#ifndef OP_EXPORT_SINK_H
#define OP_EXPORT_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "export/notes.h"
#include "export/request.h"

/* The spec's "refuse to send": OTLP 1.10, 64 MiB before compression. */
#define OP_REQUEST_BYTES_MAX	 (UINT64_C(64) << 20)
#define OP_REQUEST_BYTES_DEFAULT UINT64_C(4000000)

struct op_sink;

struct op_sink_ops {
	/* Take @r and decide its fate, now or later. */
	void (*submit)(struct op_sink *s, struct op_request *r);
	/* A flush begins: no wait of our own before the next try. NULL: there is none. */
	void (*hurry)(struct op_sink *s);
	/* Until @deadline_ns (CLOCK_MONOTONIC). 0, -ETIMEDOUT, or what went wrong. */
	int (*flush)(struct op_sink *s, uint64_t deadline_ns);
	/* Give up what waits and whatever comes later. NULL: nothing ever waits. */
	void (*abandon)(struct op_sink *s);
	/* In the child of a fork: only free() follows. May be NULL. */
	void (*forked)(struct op_sink *s);
	void (*free)(struct op_sink *s);
};

struct op_sink {
	const struct op_sink_ops *ops;
	uint32_t number; /* of the exporter, 1 or more */
	struct op_ledger *ledger;
	struct op_account account; /* what became of its requests */
	struct op_notes *notes;	   /* for lines of any thread */
	struct op_log *log;	   /* the owner's thread only */
	uint64_t max_request;
};

/* Each copies what it needs of @config and fills @base's place in its own struct. */
int op_sink_new_callback(const struct op_sink *base,
			 const struct otelprof_callback_config *config,
			 struct op_sink **ret);
int op_sink_new_file(const struct op_sink *base,
		     const struct otelprof_file_config *config, struct op_sink **ret);
int op_sink_new_otlp(const struct op_sink *base,
		     const struct otelprof_otlp_config *config, struct op_sink **ret);

#endif
