/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One encoded request, shared by all exporters of a handle, and the ledger that counts
 * what became of its samples. Delivery threads and the owner's thread use both, so the
 * ledger's lock guards everything.
 *
 * The bytes are freed when the last exporter has read them, the request itself when
 * every exporter has also decided. An exporter may finish reading long before it
 * decides: samples in a file are not exported before the file has its name.
 */
#ifndef OP_EXPORT_SINK_REQUEST_H
#define OP_EXPORT_SINK_REQUEST_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rows/drops.h"

/* An exporter's decision on a request: accepted, or a reason against it (OP_DROP_*). */
enum {
	OP_FATE_EXPORTED = -1,
	OP_FATE_SPILLED = -2, /* left in its spill directory for the next run */
};

struct op_exporters_stats {
	uint64_t samples_exported;
	uint64_t samples_pending;
	uint64_t samples_dropped[OP_DROPS];
	uint64_t requests_sent;
	uint64_t bytes_sent;
	/* by partial success; their samples count as exported */
	uint64_t profiles_rejected;
	uint64_t requests_restored; /* left in a spill directory by an earlier run */
	uint64_t samples_restored;
	uint64_t samples_spilled; /* left in a spill directory for the next run */
	/* files that could not be written or read, or were damaged */
	uint64_t spill_errors;
	uint64_t requests_recompressed; /* sent again with another compression */
	uint64_t cpu_ns;		/* of the delivery threads */
	uint64_t bytes;			/* of requests that are in memory at present */
};

/* Counters of one exporter. Another exporter may have delivered a sample that this one
 * dropped. */
struct op_account_stats {
	uint64_t samples_exported;
	uint64_t samples_pending;
	uint64_t samples_dropped;
	uint64_t samples_restored;
	uint64_t samples_spilled;
	uint64_t requests_sent;
	uint64_t bytes_sent;
};

struct op_ledger {
	pthread_mutex_t lock;
	struct op_exporters_stats stats;
};

/* The counters of one exporter; guarded by the ledger's lock. */
struct op_account {
	struct op_ledger *ledger;
	struct op_account_stats stats;
};

struct op_request {
	void *bytes;
	size_t len;
	uint64_t samples;
	uint32_t readers;   /* exporters that may still read the bytes */
	uint32_t undecided; /* exporters that may still take the samples */
	bool exported;
	bool spilled;
};

int op_ledger_init(struct op_ledger *l);
void op_ledger_deinit(struct op_ledger *l);
/* Count samples that were never in a request. */
void op_ledger_drop(struct op_ledger *l, uint64_t samples, int reason);
/* Count profiles that a destination refused from a request that it accepted. */
void op_ledger_rejected(struct op_ledger *l, uint64_t profiles);
/* Count files of a spill directory that could not be written, read or understood. */
void op_ledger_spill_error(struct op_ledger *l, uint64_t files);
/* A request was sent again, so many times, with another compression. */
void op_ledger_recompressed(struct op_ledger *l, uint64_t times);
/* Count CPU time of a thread that delivers. */
void op_ledger_work(struct op_ledger *l, uint64_t cpu_ns);
void op_ledger_get_stats(struct op_ledger *l, struct op_exporters_stats *ret);

/*
 * Make a request for @exporters exporters; its samples are pending. Takes ownership of
 * @bytes, also on failure. Returns 0, or -ENOMEM after counting the samples as dropped.
 */
int op_request_new(struct op_ledger *l, void *bytes, size_t len, uint64_t samples,
		   uint32_t exporters, struct op_request **ret);
/* Make a request that an earlier run left in a file, for one exporter. Its bytes are not
 * in memory. Its samples count as restored and pending. Returns 0 or -ENOMEM. */
int op_request_restore(struct op_account *a, size_t len, uint64_t samples,
		       struct op_request **ret);
/* Count a request that an exporter was given, before it decides. */
void op_account_hand(struct op_account *a, const struct op_request *r);
void op_account_get_stats(struct op_account *a, struct op_account_stats *ret);
/* Add one reader; it ends with op_request_read(). */
void op_request_hold(struct op_ledger *l, struct op_request *r);
/* A reader needs the bytes no longer. */
void op_request_read(struct op_ledger *l, struct op_request *r);
/* The exporter has decided: OP_FATE_EXPORTED or a drop reason. It must not use @r
 * afterwards. */
void op_request_decide(struct op_account *a, struct op_request *r, int fate);
/* op_request_read() and op_request_decide(). */
void op_request_settle(struct op_account *a, struct op_request *r, int fate);

#endif
