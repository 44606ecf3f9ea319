/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all exporters of a handle share: the ledger and the log lines. A thread that is stuck
 * in a call of the kernel is left behind at the end (export/sink/thread.h), and keeps this until
 * it ends.
 */
#ifndef OP_EXPORT_SINK_SHARED_H
#define OP_EXPORT_SINK_SHARED_H

#include "export/sink/notes.h"
#include "export/sink/request.h"

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

#endif
