/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread waits for, from its stack and its recorded reason. */
#ifndef OP_EXPORT_FORMAT_COLLECT_WAITS_H
#define OP_EXPORT_FORMAT_COLLECT_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "export/format/collect/collect.h"

enum op_wait {
	WAIT_NONE, /* it does not wait */
	WAIT_OTHER,
	WAIT_LOCK,
	WAIT_GIL,
	WAIT_CONDITION,
	WAIT_THREAD,
	WAIT_WORK,
	WAIT_SLEEP,
	WAIT_DISK,
	WAIT_FILE_SYSTEM,
	WAIT_FILE_LOCK,
	WAIT_NETWORK,
	WAIT_SOCKET,
	WAIT_NAME,
	WAIT_EVENTS,
	WAIT_PIPE,
	WAIT_TERMINAL,
	WAIT_CHILD,
	WAIT_TIMER,
	WAIT_SIGNAL,
	WAIT_STOP,
	WAIT_DEBUGGER,
	WAIT_SEMAPHORE,
	WAIT_MESSAGE,
	WAIT_MEMORY,
	WAIT_PAGE_FAULT,
	WAIT_KERNEL_LOCK,
	WAIT_EXIT,
	WAIT_CPU,
	WAITS,
};

/* "a lock": the words after "waits for". */
const char *op_wait_name(enum op_wait w);
/* "lock": the same as one word or two, for lists. NULL for WAIT_NONE and WAIT_OTHER. */
const char *op_wait_word(enum op_wait w);

/* May a thread that is in this wait at the end, and in no other one, be there forever? */
static inline bool op_wait_may_deadlock(enum op_wait w)
{
	return w == WAIT_LOCK || w == WAIT_GIL;
}

/* Do threads without work wait for it? Threads that have work may wait for it, too. */
static inline bool op_wait_may_be_idle(enum op_wait w)
{
	return w == WAIT_EVENTS || w == WAIT_WORK || w == WAIT_CONDITION ||
	       w == WAIT_THREAD || w == WAIT_CHILD || w == WAIT_SIGNAL ||
	       w == WAIT_TIMER || w == WAIT_TERMINAL;
}

/* What the thread of @s waits for. A stack that does not show a wait is WAIT_NONE.
 * @classes: of each function; NULL: they are computed. */
enum op_wait op_wait_of(const struct op_collect *c, const uint8_t *classes,
			const struct op_collect_stack *s);

#endif
