/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The frames of Methods and of compiled code: the identity of the object at an address,
 * and a copy of the data that names it. */
#ifndef OP_HOTSPOT_METHOD_H
#define OP_HOTSPOT_METHOD_H

#include "bpf/runtime/hotspot_view.h"

/* A frame of a Method, to push. */
struct op_hotspot_frame_of {
	enum op_hotspot_kind kind;
	__u64 method; /* 0: none */
	__u64 bcp;
};

#define OP_HS_ID(v, member) OP_HS_BYTE(v, identity.member)

static __always_inline int op_hotspot_read(struct op_unwind *u, __u64 addr, __u64 *ret)
{
	return op_platform_read(u, ret, sizeof(*ret), addr) ? -1 : 0;
}

static __always_inline __u64 op_hotspot_short(struct op_unwind *u, __u8 off)
{
	__u32 at = off & (OP_HOTSPOT_CONST_BYTES_MAX - 2);

	op_platform_bound(at);
	return *(__u16 *)(u->runtime_bytes + (at & (OP_HOTSPOT_CONST_BYTES_MAX - 2)));
}

/* Add the first word of the Symbol whose address is at @at to @id. */
static __always_inline int op_hotspot_symbol(struct op_unwind *u,
					     const struct op_runtime_view *v, __u64 at,
					     __u64 *id)
{
	__u64 symbol = 0;
	__u64 word = 0;

	if (op_hotspot_read(u, at, &symbol) || op_hotspot_read(u, symbol & ~1ULL, &word))
		return -1;
	*id = op_object_id(*id, symbol);
	*id = op_object_id(*id, word & OP_HS_WORD(v, identity.symbol_mask));
	return 0;
}

/* Identify the Method at @method. Returns the high half of its identity, or 0 if that
 * is not known. */
static __always_inline __u32 op_hotspot_identify(struct op_unwind *u,
						 const struct op_runtime_view *v,
						 __u64 method)
{
	__u32 len = OP_HS_ID(v, const_bytes);
	__u64 holder = 0;
	__u64 of = 0;
	__u64 pool;
	__u64 name;
	__u64 id;
	__u8 at;

	op_platform_bound(len);
	if (!len || len > OP_HOTSPOT_CONST_BYTES_MAX)
		return 0;
	if (op_hotspot_read(u, method + OP_HS_ID(v, method_const), &of) ||
	    op_platform_read(u, u->runtime_bytes, len, of))
		return 0;
	at = OP_HS_ID(v, const_pool);
	pool = op_hotspot_member(u, at) | op_hotspot_member(u, at + 4) << 32;
	name = op_hotspot_short(u, OP_HS_ID(v, const_name));
	id = op_object_id(method, of);
	id = op_object_id(id, pool);
	id = op_object_id(id,
			  name << 16 | op_hotspot_short(u, OP_HS_ID(v, const_code_size)));
	if (op_hotspot_read(u, pool + OP_HS_ID(v, pool_holder), &holder))
		return 0;
	id = op_object_id(id, holder);
	if (op_hotspot_symbol(u, v, pool + OP_HS_ID(v, pool_bytes) + name * 8, &id) ||
	    op_hotspot_symbol(u, v, holder + OP_HS_ID(v, klass_name), &id))
		return 0;
	return (__u32)(id >> 32);
}

static __always_inline void op_hotspot_push_method(struct op_unwind *u,
						   const struct op_runtime_view *v,
						   const struct op_hotspot_frame_of *f)
{
	__u64 word = op_runtime_word(u, OP_HOTSPOT_FRAME_WORDS, f->method);
	__u32 check = 0;

	if (!op_platform_object_known(u, word, &check)) {
		check = op_hotspot_identify(u, v, f->method) & ~OP_HOTSPOT_IS_CODE;
		if (check)
			op_platform_object(u,
					   __builtin_offsetof(struct op_hotspot, method),
					   word, check, false);
	}
	op_hotspot_push(u, f->kind, f->method,
			(__u64)check << OP_HOTSPOT_BCP_BITS |
				(f->bcp & ((1ULL << OP_HOTSPOT_BCP_BITS) - 1)));
}

/* Send the nmethod at @blob with the number @id once. */
static __always_inline void op_hotspot_meet_code(struct op_unwind *u,
						 const struct op_runtime_view *v,
						 __u64 blob, __u32 id)
{
	__u64 word = op_runtime_word(u, OP_HOTSPOT_FRAME_WORDS, blob);
	__u32 check = 0;

	id |= OP_HOTSPOT_IS_CODE;
	if (!op_platform_object_known(u, word, &check) || check != id)
		op_platform_object(u, __builtin_offsetof(struct op_hotspot, code), word,
				   id, false);
}

#endif
