/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was announced, by its hash: stacks that samples of kinds with many events name, labels.
 * Those of this window and of the one before are kept, for records of the old window may
 * still wait in the ring when a new one begins.
 */
#ifndef OP_SAMPLE_ANNOUNCED_H
#define OP_SAMPLE_ANNOUNCED_H

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
	OP_VEC(uint8_t) bytes;	 /* of each a struct op_announced_head, then the record */
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
/* A window ended. */
void op_announced_turn(struct op_announced *a);
void op_announced_deinit(struct op_announced *a);

enum {
	OP_ANNOUNCED_BYTES_MAX = 32 << 20, /* of one window */
};

#endif
