/* SPDX-License-Identifier: Apache-2.0 */
/* The platform of the unwinder's steps, on the host: the arena and a struct op_memory. */
#ifndef OP_CODE_UNWIND_HOST_OP_PLATFORM_H
#define OP_CODE_UNWIND_HOST_OP_PLATFORM_H

#include <stdbool.h>
#include <string.h>

#include "code/unwind/host.h"
#include "code/unwind/host/chain.h"
#include "code/unwind/host/php_text.h"

struct op_unwind_context {
	const struct op_unwind_input *input;
	const uint8_t *last_slab; /* number last_index; NULL: none yet */
	uint32_t last_index;
	uint64_t *words; /* OP_WORDS_MAX */
	struct op_chain chain;
};

static inline struct op_unwind_context *op_unwind_context(struct op_unwind *u)
{
	return (struct op_unwind_context *)(uintptr_t)u->platform;
}

#define op_platform_bound(x) ((void)(x))

static inline __u64 op_platform_zero(struct op_unwind *u)
{
	return 0;
}

static inline const __u8 *op_platform_slab(struct op_unwind *u, __u32 index)
{
	struct op_unwind_context *c = op_unwind_context(u);

	if (c->last_slab && c->last_index == index)
		return c->last_slab;
	c->last_slab = op_arena_slab(c->input->arena, index);
	c->last_index = index;
	return c->last_slab;
}

static inline __u64 op_arena_u64(struct op_unwind *u, op_ref ref, __u32 offset);

static inline __u64 op_platform_arena(struct op_unwind *u, op_ref ref, __u32 offset)
{
	return op_arena_u64(u, ref, offset);
}

static inline const struct op_unwind_rule *op_platform_rule(struct op_unwind *u,
							    __u32 index)
{
	return index < OP_UNWIND_RULES_MAX ? &op_unwind_context(u)->input->rules[index]
					   : NULL;
}

static inline bool op_platform_direct_rule(struct op_unwind *u, __u64 pc,
					   struct op_unwind_rule *ret)
{
	const struct op_unwind_input *input = op_unwind_context(u)->input;

	return input->direct && input->direct(input->direct_ctx, pc, ret);
}

static inline long op_platform_read(struct op_unwind *u, void *to, __u32 len, __u64 addr)
{
	return op_memory_read(op_unwind_context(u)->input->memory, addr, to, len);
}

static inline long op_platform_read_stack(struct op_unwind *u, void *to, __u32 len,
					  __u64 addr)
{
	const struct op_unwind_input *input = op_unwind_context(u)->input;

	return op_memory_read(input->stack ? input->stack : input->memory, addr, to, len);
}

/* Of a process that has gone on, nothing is read but what was kept. */
static inline long op_platform_read_chain(struct op_unwind *u, void *to, __u32 len,
					  __u64 addr)
{
	struct op_unwind_context *c = op_unwind_context(u);
	struct op_chain_piece piece;
	const uint8_t *bytes;

	if (!c->chain.bytes)
		return op_platform_read(u, to, len, addr);
	bytes = op_chain_find(&c->chain, addr, len, &piece);
	if (!bytes)
		return op_platform_read_stack(u, to, len, addr);
	memcpy(to, bytes, len);
	return 0;
}

static inline bool op_platform_has_chain(const struct op_unwind *u)
{
	const struct op_unwind_context *c =
		(const struct op_unwind_context *)(uintptr_t)u->platform;

	return c->chain.bytes;
}

static inline __u64 *op_platform_words(struct op_unwind *u)
{
	return (__u64 *)op_unwind_context(u)->words;
}

/* On the host, the data that names a function can be read together with its frame. With
 * a chain, the programs have told it. */
static inline bool op_platform_object_known(struct op_unwind *u, __u64 word, __u32 *ret)
{
	struct op_unwind_context *c = op_unwind_context(u);
	struct op_chain_piece piece;

	if (!c->chain.bytes || !op_chain_find(&c->chain, word, 0, &piece))
		return false;
	*ret = piece.check;
	return true;
}

static inline void op_platform_object(struct op_unwind *u, __u32 recipe, __u64 word,
				      __u32 check, bool is_short)
{
}

static inline __u32 op_platform_php_text(struct op_unwind *u, __u64 addr)
{
	return op_php_text_read(op_unwind_context(u)->input->memory, addr);
}

static inline void op_platform_move(struct op_unwind *u, __u32 to, __u32 from,
				    __u32 count)
{
	__u64 *words = op_platform_words(u);

	memmove(words + to, words + from, count * sizeof(*words));
}

#endif
