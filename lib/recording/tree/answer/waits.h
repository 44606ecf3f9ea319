/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread waits for, as its stack and its recorded reason tell. */
#ifndef OP_RECORDING_TREE_ANSWER_WAITS_H
#define OP_RECORDING_TREE_ANSWER_WAITS_H

#include <stdint.h>

#include "export/format/collect.h"

enum wait {
	WAIT_NONE, /* it does not wait */
	WAIT_OTHER,
	WAIT_LOCK,
	WAIT_GIL,
	WAIT_CONDITION,
	WAIT_SLEEP,
	WAIT_DISK,
	WAIT_NETWORK,
	WAIT_NAME,
	WAIT_EVENTS,
	WAIT_PIPE,
	WAIT_TERMINAL,
	WAIT_CHILD,
	WAIT_TIMER,
	WAIT_SIGNAL,
	WAIT_MEMORY,
	WAIT_KERNEL_LOCK,
	WAIT_CPU,
	WAITS,
};

/* "a lock": what follows "waits for". */
const char *wait_name(enum wait w);

/* What the thread of @s waits for. A stack that does not say that it waits is none. @classes: of
 * each function. */
enum wait wait_of(const struct op_collect *c, const uint8_t *classes,
		  const struct op_collect_stack *s);

#endif
