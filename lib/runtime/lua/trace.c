/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets of lj_jit.h and lj_ir.h are the same in all LuaJIT 2.1 with pointers of 64
 * bits. */
#include "runtime/lua/trace.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/reader.h"

enum {
	/* GCtrace */
	TRACE_SNAPSHOTS = 10,
	TRACE_IR = 32,
	TRACE_LOWEST = 40, /* the lowest constant, then the number of entries */
	TRACE_SNAPS = 48,  /* the snapshots, then their entries */
	/* IR: constants are below, instructions above */
	IR_BIAS = 0x8000,
	IR_BYTES = 8,
	IR_TYPE = 4, /* byte of a constant, whose value is in the next 8 bytes */
	IR_TYPE_MASK = 0x1f,
	IR_TYPE_PROTO = 7,
	IR_TYPE_FUNCTION = 8,
	/* a snapshot: the start of its entries, a reference, the start of its code */
	SNAP_BYTES = 12,
	SNAP_CODE = 6,
	SNAP_ENTRIES = 10,
	/* an entry: a slot, flags, a reference */
	ENTRY_SLOT_SHIFT = 24,
	ENTRY_IS_FRAME = 0x10000,
	/* of links, as in bpf/runtime/lua.h */
	LINK_TYPE = 7,
	LINK_LUA_MASK = 3,
	LINK_CONT = 2,
	LINK_VARARG = 3,
};

/* The code of a prototype: [begin, end). */
struct range {
	uint64_t proto;
	uint64_t begin;
	uint64_t end;
	uint32_t guard;
};

struct trace {
	uint64_t addr;
	uint32_t guard;
	uint32_t snapshots;
	uint32_t entries;
	uint32_t lowest;
	size_t protos;
	size_t bytes;
	uint8_t *snap; /* snapshots, entries and constants, in one block */
	uint8_t *entry;
	uint8_t *constant;
	struct range range[]; /* OP_LUA_TRACE_PROTOS_MAX + 1 */
};

static size_t trace_bytes(const void *object)
{
	return ((const struct trace *)object)->bytes;
}

static const struct op_objects_kind kind = {
	.max = OP_LUA_TRACES_MAX,
	.bytes_max = OP_LUA_TRACES_BYTES,
	.bytes = trace_bytes,
	.free = free,
};

void op_runtime_lua_traces_init(struct op_lua_traces *traces,
				const struct op_memory *memory,
				struct op_lua_protos *protos)
{
	*traces = (struct op_lua_traces){
		.memory = memory,
		.protos = protos,
		.objects = op_objects_init(&kind),
	};
}

void op_runtime_lua_traces_deinit(struct op_lua_traces *traces)
{
	op_objects_deinit(&traces->objects);
}

/* The value of constant @ref: the 8 bytes after its head. */
static uint64_t constant(const struct trace *t, uint32_t ref)
{
	uint64_t ret = 0;

	if (ref >= t->lowest && ref + 1 < IR_BIAS)
		memcpy(&ret, t->constant + (ref + 1 - t->lowest) * (size_t)IR_BYTES,
		       sizeof(ret));
	return ret;
}

static uint32_t entry(const struct trace *t, uint64_t i)
{
	uint32_t ret = 0;

	if (i < t->entries)
		memcpy(&ret, t->entry + i * 4, sizeof(ret));
	return ret;
}

/* Add the prototype at @addr, if there is one. Returns 0 or -ENOMEM. */
static int add_proto(struct op_lua_traces *traces, struct trace *t, uint64_t addr)
{
	const struct op_lua_proto *p;
	size_t i;
	int r;

	for (i = 0; i < t->protos; i++)
		if (t->range[i].proto == addr)
			return 0;
	if (t->protos > OP_LUA_TRACE_PROTOS_MAX)
		return 0;
	r = op_runtime_lua_proto_at(traces->protos, addr, &p);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	t->range[t->protos++] = (struct range){
		.proto = addr,
		.begin = addr + OP_LUA_PROTO_BYTES,
		.end = addr + OP_LUA_PROTO_BYTES + p->instructions * 4ULL,
		.guard = p->guard,
	};
	return 0;
}

/* Add the prototypes among the constants, and those of functions among them. */
static int add_constants(struct op_lua_traces *traces, struct trace *t)
{
	uint8_t head[OP_LUA_FUNCTION_BYTES];
	uint64_t addr;
	uint32_t ref;
	uint8_t type;
	int r = 0;

	for (ref = t->lowest; r == 0 && ref + 1 < IR_BIAS; ref++) {
		type = t->constant[(ref - t->lowest) * (size_t)IR_BYTES + IR_TYPE] &
		       IR_TYPE_MASK;
		addr = constant(t, ref);
		if (type == IR_TYPE_FUNCTION &&
		    op_memory_read(traces->memory, addr, head, sizeof(head)) == 0 &&
		    head[OP_LUA_OBJECT_TYPE] == OP_LUA_TYPE_FUNCTION &&
		    !head[OP_LUA_OBJECT_TYPE + 1]) {
			memcpy(&addr, head + OP_LUA_FUNCTION_PC, sizeof(addr));
			addr -= OP_LUA_PROTO_BYTES;
			type = IR_TYPE_PROTO;
		}
		if (type == IR_TYPE_PROTO)
			r = add_proto(traces, t, addr);
	}
	return r;
}

/* The head of a trace. */
struct head {
	uint64_t ir;
	uint64_t snaps;
	uint64_t entries;
	uint64_t proto;
};

/* Returns 0 with an empty trace of the right size, -EBADMSG, -ENOMEM or an error of reading. */
static int read_head(const struct op_memory *memory, uint64_t addr, uint32_t guard,
		     struct head *ret_head, struct trace **ret)
{
	uint8_t bytes[OP_LUA_TRACE_BYTES];
	struct op_reader in = op_reader_init(bytes, sizeof(bytes));
	struct trace t = { .addr = addr, .guard = guard };
	uint64_t pc;
	uint64_t code;
	int r = op_memory_read(memory, addr, bytes, sizeof(bytes));

	if (r < 0)
		return r;
	op_reader_seek(&in, TRACE_SNAPSHOTS);
	t.snapshots = op_read_u16(&in);
	op_reader_seek(&in, TRACE_IR);
	ret_head->ir = op_read_u64(&in);
	t.lowest = op_read_u32(&in);
	t.entries = op_read_u32(&in);
	ret_head->snaps = op_read_u64(&in);
	ret_head->entries = op_read_u64(&in);
	ret_head->proto = op_read_u64(&in);
	pc = op_read_u64(&in);
	op_reader_seek(&in, OP_LUA_TRACE_CODE);
	code = op_read_u64(&in);
	if (bytes[OP_LUA_OBJECT_TYPE] != OP_LUA_TYPE_TRACE ||
	    op_lua_guard(ret_head->proto, pc, code) != guard || !t.snapshots ||
	    t.snapshots > OP_LUA_SNAPSHOTS_MAX || t.entries > OP_LUA_ENTRIES_MAX ||
	    t.lowest > IR_BIAS || IR_BIAS - t.lowest > OP_LUA_CONSTANTS_MAX)
		return -EBADMSG;
	t.bytes = sizeof(t) + (OP_LUA_TRACE_PROTOS_MAX + 1) * sizeof(t.range[0]) +
		  t.snapshots * (size_t)SNAP_BYTES + t.entries * (size_t)4 +
		  (IR_BIAS - t.lowest) * (size_t)IR_BYTES;
	*ret = malloc(t.bytes);
	if (!*ret)
		return -ENOMEM;
	**ret = t;
	(*ret)->snap = (uint8_t *)&(*ret)->range[OP_LUA_TRACE_PROTOS_MAX + 1];
	(*ret)->entry = (*ret)->snap + t.snapshots * (size_t)SNAP_BYTES;
	(*ret)->constant = (*ret)->entry + t.entries * (size_t)4;
	return 0;
}

static int read_trace(struct op_lua_traces *traces, uint64_t addr, uint32_t guard,
		      struct trace **ret)
{
	_cleanup_free_ struct trace *t = NULL;
	const struct op_memory *m = traces->memory;
	struct head head;
	int r = read_head(m, addr, guard, &head, &t);

	if (r == 0)
		r = op_memory_read(m, head.snaps, t->snap,
				   t->snapshots * (size_t)SNAP_BYTES);
	if (r == 0)
		r = op_memory_read(m, head.entries, t->entry, t->entries * (size_t)4);
	if (r == 0)
		r = op_memory_read(m, head.ir + t->lowest * (uint64_t)IR_BYTES,
				   t->constant, (IR_BIAS - t->lowest) * (size_t)IR_BYTES);
	if (r == 0)
		r = add_proto(traces, t, head.proto);
	if (r == 0)
		r = add_constants(traces, t);
	if (r == 0)
		*ret = OP_TAKE_PTR(t);
	return r;
}

static int get_trace(struct op_lua_traces *traces, uint64_t addr, uint32_t guard,
		     const struct trace **ret)
{
	uint64_t key = addr ^ (uint64_t)guard << 32;
	struct trace *made = NULL;
	struct trace *t;
	uint64_t at;
	int r;

	t = op_objects_find(&traces->objects, key, &at);
	if (t && t->addr == addr && t->guard == guard) {
		*ret = t;
		return 0;
	}
	r = read_trace(traces, addr, guard, &made);
	if (r == 0)
		r = op_objects_keep(&traces->objects, key, made, at);
	if (r < 0)
		return r;
	traces->reads++;
	*ret = made;
	return 0;
}

/* The function of the instruction before @pc. */
static struct op_lua_inlined function_at(const struct trace *t, uint64_t pc)
{
	struct op_lua_inlined ret = { 0 };
	size_t i;

	for (i = 0; i < t->protos; i++) {
		if (pc <= t->range[i].begin || pc > t->range[i].end)
			continue;
		ret.proto = t->range[i].proto;
		ret.guard = t->range[i].guard;
		ret.place = (uint32_t)((pc - t->range[i].begin) / 4);
	}
	return ret;
}

/* The snapshot whose code is at @off of the machine code. */
static const uint8_t *snapshot_at(const struct trace *t, uint32_t off)
{
	const uint8_t *ret = t->snap;
	uint32_t i;
	uint16_t code;

	for (i = 1; i < t->snapshots; i++) {
		memcpy(&code, t->snap + i * (size_t)SNAP_BYTES + SNAP_CODE, sizeof(code));
		if (code > off)
			break;
		ret = t->snap + i * (size_t)SNAP_BYTES;
	}
	return ret;
}

/* The value of the entry for @slot among @len entries from @first on; 0 if there is none. */
static uint64_t slot_value(const struct trace *t, uint64_t first, uint32_t len,
			   uint32_t slot)
{
	uint32_t i;

	for (i = 0; i < len; i++)
		if (entry(t, first + i) >> ENTRY_SLOT_SHIFT == slot)
			return constant(t, (uint16_t)entry(t, first + i));
	return 0;
}

/* The frames of a snapshot with @len entries from @first on. */
static size_t frames_of(const struct trace *t, uint64_t first, uint32_t len,
			struct op_lua_inlined ret[OP_RUNTIME_INLINED_MAX])
{
	uint64_t pc =
		(entry(t, first + len) | (uint64_t)entry(t, first + len + 1) << 32) >> 8;
	size_t n = 0;
	uint32_t slot;
	uint64_t link;
	uint32_t i;

	ret[n++] = function_at(t, pc + 4);
	for (i = len; i-- > 0 && n < OP_RUNTIME_INLINED_MAX;) {
		slot = entry(t, first + i) >> ENTRY_SLOT_SHIFT;
		if (!(entry(t, first + i) & ENTRY_IS_FRAME) || slot <= 1)
			continue;
		link = constant(t, (uint16_t)entry(t, first + i));
		if (!(link & LINK_LUA_MASK))
			ret[n++] = function_at(t, link);
		else if ((link & LINK_TYPE) == LINK_CONT)
			ret[n++] = function_at(t, slot_value(t, first, len, slot - 2));
		else if ((link & LINK_TYPE) != LINK_VARARG)
			ret[n++] = (struct op_lua_inlined){ 0 }; /* pcall() */
	}
	return n;
}

int op_runtime_lua_trace(struct op_lua_traces *traces,
			 const uint64_t words[OP_LUA_TRACE_WORDS],
			 struct op_lua_inlined ret[OP_RUNTIME_INLINED_MAX],
			 size_t *ret_len)
{
	const struct trace *t;
	const uint8_t *snap;
	uint32_t first;
	int r = get_trace(traces, words[0] & OP_FRAME_ADDRESS_MASK,
			  (uint32_t)(words[1] >> 32), &t);

	if (r < 0)
		return r;
	snap = snapshot_at(t, (uint32_t)words[1] & OP_LUA_PLACE_MASK);
	memcpy(&first, snap, sizeof(first));
	*ret_len = frames_of(t, first, snap[SNAP_ENTRIES], ret);
	return 0;
}
