/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log and the last error of one handle. Every folder that can fail for a reason worth
 * a sentence takes a `struct op_log *`. NULL is allowed everywhere and means silence.
 *
 * Library code logs at DEBUG what it does, and at WARNING what it continues without. A
 * failure is not logged but returned, with a sentence set by op_fail().
 *
 * Lines and sentences have names and words of others in them: both are cleaned here (text.h).
 */
#ifndef OP_BASE_LOG_H
#define OP_BASE_LOG_H

#include <stdint.h>

#include "base/macros.h"

enum op_log_level {
	OP_LOG_ERROR = 3,
	OP_LOG_WARNING = 4,
	OP_LOG_INFO = 6,
	OP_LOG_DEBUG = 7,
};

struct op_log {
	void (*fn)(void *userdata, int level, const char *message);
	void *userdata;
	int level;
	int error;	   /* code of the last op_fail(), 0 for none */
	char message[512]; /* its sentence */
	char *detail;	   /* longer text, or NULL; owned */
};

/* Log one line. */
void op_log(struct op_log *log, enum op_log_level level, const char *fmt, ...)
	_op_printf_(3, 4);

/* Store @code and the sentence for otelprof_last_error(). Returns @code. */
int op_fail(struct op_log *log, int code, const char *fmt, ...) _op_printf_(3, 4);

/* Attach a longer text to the last failure. Copies it; without memory it is left out. */
void op_fail_detail(struct op_log *log, const char *text);

/* Hand the last failure of @from over to @log; nothing happens if there was none. */
void op_fail_pass(struct op_log *log, struct op_log *from);

/* Free what the log owns. */
void op_log_deinit(struct op_log *log);

#endif
