/* SPDX-License-Identifier: Apache-2.0 */
/* A delivery over a transport that answers by a script. */
#ifndef TESTS_UNIT_EXPORT_RIG_H
#define TESTS_UNIT_EXPORT_RIG_H

#include "test.h"

#include <pthread.h>
#include <signal.h>

#include "base/io.h"
#include "base/macros.h"
#include "export/queue/delivery.h"
#include "export/transport/retry.h"

enum {
	SENDS_MAX = 64
};

/* A destination that answers by a script and holds each send until it may go on. */
struct fake {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct op_transport_result script[SENDS_MAX]; /* the last one is repeated */
	size_t script_len;
	bool held; /* sends wait */
	bool cancelled;
	bool closed;
	bool waiting; /* a send is held now */
	size_t sends;
	char bodies[SENDS_MAX][8];
	uint64_t times_ns[SENDS_MAX];
	sigset_t mask;
	int fail; /* errno of each send, or 0 */
	size_t tls_sets;
	size_t tls_fails; /* how many of these have no memory */
};

/* One delivery with its ledger. */
struct rig {
	struct fake fake;
	struct op_ledger ledger;
	struct op_notes notes;
	struct op_sink base;
	struct op_sink *sink;
	struct op_exporters_stats stats;
};

void hold(struct fake *f, bool held);
void wait_for_send(struct fake *f);
struct op_transport_result answer(int status, int64_t delay_ms);

/* Back-offs of milliseconds and a queue of ten bytes. */
struct op_export_settings quick(void);
void rig_up(struct rig *g, const struct op_export_settings *wanted,
	    const struct op_transport_result *script, size_t len);
void rig_down(struct rig *g);
/* The rest of it, where the test has freed the delivery. */
void rig_clear(struct rig *g);
void submit(struct rig *g, const char *text, uint64_t samples);
/* Also reads the statistics. */
int flush(struct rig *g, uint64_t ms);
bool said(struct rig *g, const char *word);

extern const struct op_transport_ops fake_ops;

#endif
