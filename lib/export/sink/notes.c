/* SPDX-License-Identifier: Apache-2.0 */
/* Stores log lines of other threads until the owner's thread emits them. */
#include "export/sink/notes.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

int op_notes_init(struct op_notes *n, int level)
{
	*n = (struct op_notes){ .level = level };
	return -pthread_mutex_init(&n->lock, NULL);
}

void op_notes_deinit(struct op_notes *n)
{
	free(n->lines);
	n->lines = NULL;
	(void)pthread_mutex_destroy(&n->lock);
}

void op_notes_add(struct op_notes *n, enum op_log_level level, const char *fmt, ...)
{
	struct op_note *note;
	va_list ap;

	if ((int)level > n->level)
		return;
	(void)pthread_mutex_lock(&n->lock);
	if (!n->lines)
		n->lines = calloc(OP_NOTES_MAX, sizeof(*n->lines));
	if (!n->lines || n->len == OP_NOTES_MAX) {
		n->lost++;
	} else {
		note = &n->lines[n->len++];
		note->level = level;
		va_start(ap, fmt);
		(void)vsnprintf(note->text, sizeof(note->text), fmt, ap);
		va_end(ap);
	}
	(void)pthread_mutex_unlock(&n->lock);
}

void op_notes_emit(struct op_notes *n, struct op_log *log)
{
	_cleanup_free_ struct op_note *lines = NULL;
	uint64_t lost;
	size_t len;
	size_t i;

	(void)pthread_mutex_lock(&n->lock);
	lines = OP_TAKE_PTR(n->lines);
	len = n->len;
	lost = n->lost;
	n->len = 0;
	n->lost = 0;
	(void)pthread_mutex_unlock(&n->lock);
	/* Call the log function without the lock, because it is foreign code. */
	for (i = 0; i < len; i++)
		op_log(log, (enum op_log_level)lines[i].level, "%s", lines[i].text);
	if (lost)
		op_log(log, OP_LOG_WARNING, "export: %" PRIu64 " more lines were lost",
		       lost);
}
