/* SPDX-License-Identifier: Apache-2.0 */
/* Formats log lines and the sentence of the last error. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign/text.h"

void op_log(struct op_log *log, enum op_log_level level, const char *fmt, ...)
{
	char line[OP_TEXT_LINE_BYTES];
	va_list ap;

	if (!log || !log->fn || (int)level > log->level)
		return;
	va_start(ap, fmt);
	(void)op_text_format(line, sizeof(line), fmt, ap);
	va_end(ap);
	log->fn(log->userdata, level, line);
}

int op_fail(struct op_log *log, int code, const char *fmt, ...)
{
	va_list ap;

	if (!log)
		return code;
	log->error = code;
	free(log->detail);
	log->detail = NULL;
	va_start(ap, fmt);
	(void)op_text_format(log->message, sizeof(log->message), fmt, ap);
	va_end(ap);
	op_log(log, OP_LOG_DEBUG, "%s", log->message);
	return code;
}

void op_fail_detail(struct op_log *log, const char *text)
{
	if (!log || !text)
		return;
	free(log->detail);
	log->detail = strdup(text);
}

void op_fail_pass(struct op_log *log, struct op_log *from)
{
	if (!log || !from->error)
		return;
	log->error = from->error;
	memcpy(log->message, from->message, sizeof(log->message));
	free(log->detail);
	log->detail = from->detail;
	from->detail = NULL;
}

void op_log_deinit(struct op_log *log)
{
	free(log->detail);
	log->detail = NULL;
}
