/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines of delivery threads. A handle's log belongs to the thread that owns the
 * handle, so other threads store their lines here, and the owner passes them to the log
 * at its next call.
 */
#ifndef OP_EXPORT_SINK_NOTES_H
#define OP_EXPORT_SINK_NOTES_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"

enum {
	OP_NOTES_MAX = 32, /* lines kept; more are only counted */
	OP_NOTE_BYTES = 512,
};

struct op_note {
	int level;
	char text[OP_NOTE_BYTES];
};

struct op_notes {
	pthread_mutex_t lock;
	int level; /* lines of a less important level are not kept */
	size_t len;
	uint64_t lost;
	struct op_note *lines; /* OP_NOTES_MAX, made at the first line */
};

int op_notes_init(struct op_notes *n, int level);
void op_notes_deinit(struct op_notes *n);
/* May be called by any thread. */
void op_notes_add(struct op_notes *n, enum op_log_level level, const char *fmt, ...)
	_op_printf_(3, 4);
/* Called by the owner's thread: pass the lines to @log, oldest first. */
void op_notes_emit(struct op_notes *n, struct op_log *log);

#endif
