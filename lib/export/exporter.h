/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exporters of one handle. A request is encoded once and shared by all of them; each has
 * its own queue and its own fate for a request. A sample is "exported" when at least one
 * exporter's destination took its request, and dropped when the last exporter that could
 * still take it gave it up; the reason given by that one is counted.
 */
#ifndef OP_EXPORT_EXPORTER_H
#define OP_EXPORT_EXPORTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/drops.h"
#include "base/log.h"
#include "otelprof/export.h"

/*
 * Everything here is called in the owner's thread, and only there the log function is
 * called: lines of delivery threads are kept until the next call of submit, flush, stats
 * or free.
 */
struct op_exporters;

struct op_exporters_stats {
	uint64_t samples_exported;
	uint64_t samples_pending;
	uint64_t samples_dropped[OP_DROPS];
	uint64_t requests_sent;
	uint64_t bytes_sent;
	uint64_t
		profiles_rejected; /* by partial success; their samples count as exported */
	uint64_t requests_restored; /* of earlier lives, from a spill directory */
	uint64_t samples_restored;
	uint64_t samples_spilled; /* left there for the next life */
	uint64_t spill_errors;	  /* files not written, not read, or damaged */
	uint64_t cpu_ns;	  /* of the threads that deliver */
};

/* Of one exporter. A sample that it dropped may have been taken by another one. */
struct op_account_stats {
	uint64_t samples_exported;
	uint64_t samples_pending;
	uint64_t samples_dropped;
	uint64_t samples_restored;
	uint64_t samples_spilled;
	uint64_t requests_sent;
	uint64_t bytes_sent;
};

int op_exporters_new(struct op_log *log, struct op_exporters **ret);
struct op_exporters *op_exporters_free(struct op_exporters *x);
OP_DEFINE_CLEANUP(struct op_exporters *, op_exporters_free)

/* Add one; the struct is already checked and complete (lib/api/config.h). Copies it. Return
 * its number, 1 or more. */
int op_exporters_add_otlp(struct op_exporters *x,
			  const struct otelprof_otlp_config *config);
int op_exporters_add_file(struct op_exporters *x,
			  const struct otelprof_file_config *config);
int op_exporters_add_callback(struct op_exporters *x,
			      const struct otelprof_callback_config *config);

/* Take exporter @number away; what it still has is given up, or left in its spill directory.
 * 0 or -ENOENT. */
int op_exporters_remove(struct op_exporters *x, uint32_t number);
/* 0 or -ENOENT. */
int op_exporters_get_one(struct op_exporters *x, uint32_t number,
			 struct op_account_stats *ret);

size_t op_exporters_len(const struct op_exporters *x);
/* The smallest request limit of all exporters, bytes. */
size_t op_exporters_max_request(const struct op_exporters *x);
/*
 * Hand one request to every exporter. Takes ownership of @bytes (malloc), also on failure:
 * -ENOMEM, the samples are counted. With no exporter they are dropped as "nowhere".
 */
int op_exporters_submit(struct op_exporters *x, void *bytes, size_t len,
			uint64_t samples);
/* A flush begins for exporter @number (0: all): a wait of our own before the next try ends. */
void op_exporters_hurry(struct op_exporters *x, uint32_t number);
/*
 * Wait for the queue of exporter @number (0: of all), complete the files. Negative @timeout_ms: no limit. 0, -ETIMEDOUT
 * (what waits stays pending), or the errno of a file that could not be completed (its
 * samples are counted as dropped).
 */
int op_exporters_flush(struct op_exporters *x, uint32_t number, int timeout_ms);
/*
 * Give up all that waits for delivery: counted as OP_DROP_GIVEN_UP, as is what is
 * handed later to the exporters that deliver.
 */
void op_exporters_abandon(struct op_exporters *x);
/* In the child of a fork: forget threads and transports without touching them. */
void op_exporters_forked(struct op_exporters *x);
void op_exporters_get_stats(struct op_exporters *x, struct op_exporters_stats *ret);

#endif
