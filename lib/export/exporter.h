/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exporters of one handle. A request is encoded once and shared by all of them; each
 * exporter has its own queue and decides on its own. A sample is "exported" when at least
 * one exporter's destination has accepted its request. It is dropped when the last
 * exporter that could still deliver it has given up; that exporter's reason is counted.
 */
#ifndef OP_EXPORT_EXPORTER_H
#define OP_EXPORT_EXPORTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "export/sink/request.h"
#include "otelprof/export.h"

/*
 * All functions are called by one thread at a time, the owner's. Only it calls the log
 * function: lines of delivery threads wait until the next call of submit, flush, stats or
 * free.
 */
struct op_exporters;

/* The lock that the owner holds for these calls. It is released while an exporter is
 * made, ends or is freed, because that may wait for a disk or a thread. */
struct op_exporters_lock {
	void (*leave)(void *owner);
	void (*enter)(void *owner);
	void *owner;
};

int op_exporters_new(struct op_log *log, struct op_exporters **ret);
struct op_exporters *op_exporters_free(struct op_exporters *x);
OP_DEFINE_CLEANUP(struct op_exporters *, op_exporters_free)

/* Without this call there is no lock. */
void op_exporters_set_lock(struct op_exporters *x, const struct op_exporters_lock *lock);

/* Add an exporter. Its struct was checked and completed before (lib/api/settings/config.h) and is
 * copied. Returns its number, 1 or more, or -errno. */
int op_exporters_add_otlp(struct op_exporters *x,
			  const struct otelprof_otlp_config *config);
int op_exporters_add_file(struct op_exporters *x,
			  const struct otelprof_file_config *config);
int op_exporters_add_callback(struct op_exporters *x,
			      const struct otelprof_callback_config *config);

/* Remove exporter @number. Its waiting requests are given up, or left in its spill
 * directory. Returns 0 or -ENOENT. */
int op_exporters_remove(struct op_exporters *x, uint32_t number);
/* Returns 0 or -ENOENT. */
int op_exporters_get_one(struct op_exporters *x, uint32_t number,
			 struct op_account_stats *ret);

size_t op_exporters_len(const struct op_exporters *x);
/* The smallest request limit of all exporters, in bytes. */
size_t op_exporters_max_request(const struct op_exporters *x);
/*
 * Pass one request to every exporter. Takes ownership of @bytes (from malloc), also on
 * failure. On -ENOMEM the samples count as dropped. Without exporters they are dropped as
 * "nowhere".
 */
int op_exporters_submit(struct op_exporters *x, void *bytes, size_t len,
			uint64_t samples);
/* Begin a flush of exporter @number (0: all): skip its wait before a retry, and try again
 * to write a file that failed. */
void op_exporters_hurry(struct op_exporters *x, uint32_t number);
/*
 * Wait until the queue of exporter @number (0: all) is empty, and complete its files. A
 * negative @timeout_ms means no limit. Returns 0; -ETIMEDOUT (waiting requests stay
 * pending); or the errno of a file that could not be completed (its samples are counted
 * as dropped, or a format keeps them). Such an error comes once: the file is not tried again
 * before the next op_exporters_hurry().
 */
int op_exporters_flush(struct op_exporters *x, uint32_t number, int timeout_ms);
/* Give up everything that waits for delivery. It counts as OP_DROP_GIVEN_UP, and so
 * does everything that comes later for exporters that deliver. If two threads call it
 * at once, the second does not wait for what the first waits for. */
void op_exporters_abandon(struct op_exporters *x);
/* Call this in the child of a fork: it forgets threads and transports without touching
 * them. */
void op_exporters_forked(struct op_exporters *x);
void op_exporters_get_stats(struct op_exporters *x, struct op_exporters_stats *ret);

#endif
