/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Idle threads used no CPU and only waited for work, while others waited for more. They are
 * not why a program is slow. Of locks each wait for work, or for another thread, is idle: no
 * thread holds a lock there.
 */
#ifndef OP_EXPORT_FORMAT_COLLECT_IDLE_H
#define OP_EXPORT_FORMAT_COLLECT_IDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "export/format/collect/collect.h"

struct op_idle {
	OP_VEC(uint64_t) threads; /* by op_collect_thread_key(), sorted */
	int64_t value;		  /* the time that they waited */
	bool waits; /* single waits are idle, and no threads are in the list */
	const struct op_collect *c;
	const uint8_t *classes; /* of each function */
};

/* Is @s of the stacks that are looked at? */
typedef bool (*op_idle_wants_fn)(void *data, const struct op_collect_stack *s);

/* Find what is idle in the kind @kind: nothing, if it is neither the time off the CPUs nor
 * waits for locks. Where threads are not distinguished, a process counts as one. @c and
 * @classes, of each function, are borrowed. @wants: NULL: all stacks. Returns 0 or -ENOMEM. */
int op_idle_find(const struct op_collect *c, const uint8_t *classes, uint32_t kind,
		 op_idle_wants_fn wants, void *data, struct op_idle *ret);
bool op_idle_has(const struct op_idle *idle, const struct op_collect_stack *s);
void op_idle_clear(struct op_idle *idle);

static inline uint64_t op_collect_thread_key(const struct op_collect_stack *s)
{
	return (uint64_t)s->process << 32 | (uint32_t)s->thread_id;
}

/* Is @key one of @keys, which are sorted? */
bool op_collect_has_thread(const uint64_t *keys, size_t len, uint64_t key);

#endif
