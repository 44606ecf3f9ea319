/* SPDX-License-Identifier: Apache-2.0 */
/* The chain of a runtime's frames as it was when the kernel took the sample: the pieces of
 * OP_RECORD_CHAIN. */
#ifndef OP_CODE_UNWIND_HOST_CHAIN_H
#define OP_CODE_UNWIND_HOST_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/checked.h"
#include "base/macros.h"
#include "op_user_types.h"

struct op_chain {
	const uint8_t *bytes; /* NULL: none was taken */
	size_t len;
	size_t next; /* where the next one that is wanted probably is */
};

/* The piece at @*at, which is then behind it. Returns NULL at the end. */
static inline const uint8_t *op_chain_piece(const struct op_chain *chain, size_t *at,
					    struct op_chain_piece *ret)
{
	const uint8_t *bytes = chain->bytes + *at;
	size_t left = chain->len - *at;

	if (left < sizeof(*ret))
		return NULL;
	memcpy(ret, bytes, sizeof(*ret));
	left -= sizeof(*ret);
	if (ret->bytes > left)
		return NULL;
	*at += sizeof(*ret) + OP_MIN(left, OP_ALIGN_UP((size_t)ret->bytes, (size_t)8));
	return bytes + sizeof(*ret);
}

/* Find the piece with @len bytes at @addr, or without bytes (@len: 0) the one for @addr. Returns
 * the bytes, or NULL. */
static inline const uint8_t *op_chain_find(struct op_chain *chain, uint64_t addr,
					   size_t len, struct op_chain_piece *ret)
{
	size_t begin = chain->next;
	size_t at = begin;
	bool again = false;

	while (!again || at < begin) {
		const uint8_t *bytes = op_chain_piece(chain, &at, ret);

		if (!bytes && again)
			break;
		if (!bytes) {
			again = true;
			at = 0;
			continue;
		}
		if (!len != !ret->bytes || addr < ret->at ||
		    !op_range_ok(addr - ret->at, len, ret->bytes))
			continue;
		chain->next = at;
		return bytes + (addr - ret->at);
	}
	return NULL;
}

#endif
