/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Announced records by their hash: stacks of kinds with many events, and labels. A turn
 * is the time between two calls of op_announced_turn(). Records of the turn before
 * stay, because records that refer to them may still wait in the ring when a window
 * ends.
 */
#ifndef OP_SAMPLE_KEPT_ANNOUNCED_H
#define OP_SAMPLE_KEPT_ANNOUNCED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "op_user_types.h"

struct op_announced_head {
	struct op_hash hash;
	uint64_t len; /* of the record */
};

struct op_announced_table {
	struct op_map64 by_hash; /* first word of the hash to the place in bytes */
	OP_VEC(uint8_t) bytes;	 /* struct op_announced_head before each record */
};

struct op_announced {
	struct op_announced_table now;
	struct op_announced_table before;
};

/* Keep a copy of @record, @len bytes and checked, under @hash. Returns 0; -ENOSPC past
 * OP_ANNOUNCED_BYTES_MAX; -ENOMEM. */
int op_announced_add(struct op_announced *a, const struct op_hash *hash,
		     const void *record, size_t len);
/* The record announced under @hash, valid until the next call; or NULL. */
const void *op_announced_find(const struct op_announced *a, const struct op_hash *hash,
			      size_t *ret_len);
/* Forget records from before the last turn: no waiting record refers to them. */
void op_announced_turn(struct op_announced *a);
/* Did so many come since the last turn that later ones may not fit? */
bool op_announced_is_large(const struct op_announced *a);
void op_announced_deinit(struct op_announced *a);

enum {
	OP_ANNOUNCED_BYTES_MAX = 32 << 20, /* between two turns */
};

#endif
