/* SPDX-License-Identifier: Apache-2.0 */
/* Reads code heaps, the interpreter's codelets and CodeBlobs from a process. */
#include "runtime/hotspot/code.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "runtime/hotspot/identity.h"
#include "runtime/hotspot/machine/machine.h"

enum {
	LOG2_SEGMENT_MIN = 3,
	LOG2_SEGMENT_MAX = 16,
	DESCRIPTION_MAX = 128,
	BYTECODES = 256,
	MEMBER_MAX = 184, /* offsets in a blob that the BPF step can hold */
	MIRROR_SINCE = 9,
	WORD_BYTES = 8,
};

/* Of address space: the VM reserves no more for all heaps (CODE_CACHE_SIZE_LIMIT). */
static const uint64_t HEAP_BYTES_MAX = UINT64_C(2) << 30;

struct reader {
	const struct op_memory *memory;
	const uint64_t *at;
};

static int read_u64(const struct reader *r, uint64_t addr, uint64_t *ret)
{
	return op_memory_read(r->memory, addr, ret, sizeof(*ret));
}

static int read_u32(const struct reader *r, uint64_t addr, uint32_t *ret)
{
	return op_memory_read(r->memory, addr, ret, sizeof(*ret));
}

/* Read a pointer that is NULL until the VM has started up. */
static int read_pointer(const struct reader *r, uint64_t addr, uint64_t *ret)
{
	int error = read_u64(r, addr, ret);

	return error < 0 ? error : *ret ? 0 : -EAGAIN;
}

/* Read the addresses of the CodeHeaps. Returns their count. */
static int find_heaps(const struct reader *r, const struct op_hotspot_layout *layout,
		      uint64_t ret[OP_HOTSPOT_HEAPS])
{
	uint64_t array;
	uint64_t data;
	uint32_t len;
	uint32_t i;
	int error;

	if (layout->there[OP_HOTSPOT_HEAP_ADDRESS]) {
		error = read_pointer(r, r->at[OP_HOTSPOT_HEAP_ADDRESS], &ret[0]);
		return error < 0 ? error : 1;
	}
	error = read_pointer(r, r->at[OP_HOTSPOT_HEAPS_ADDRESS], &array);
	if (error == 0)
		error = read_u32(r, array + r->at[OP_HOTSPOT_ARRAY_LEN], &len);
	if (error == 0)
		error = read_u64(r, array + r->at[OP_HOTSPOT_ARRAY_DATA], &data);
	if (error < 0)
		return error;
	if (!len)
		return -EAGAIN;
	/* code in further heaps is in no range: a stack with such code ends there */
	if (len > OP_HOTSPOT_HEAPS)
		len = OP_HOTSPOT_HEAPS;
	for (i = 0; i < len; i++) {
		error = read_pointer(r, data + (uint64_t)i * WORD_BYTES, &ret[i]);
		if (error < 0)
			return error;
	}
	return (int)len;
}

static int read_heap(const struct reader *r, uint64_t heap, struct op_hotspot_heap *ret,
		     uint32_t *ret_log2)
{
	uint64_t space = heap + r->at[OP_HOTSPOT_HEAP_MEMORY];
	uint64_t map = heap + r->at[OP_HOTSPOT_HEAP_SEGMAP];
	uint64_t low;
	uint64_t high;
	uint64_t segmap;
	int error = read_pointer(r, space + r->at[OP_HOTSPOT_SPACE_LOW], &low);

	if (error == 0)
		error = read_pointer(r, space + r->at[OP_HOTSPOT_SPACE_HIGH], &high);
	if (error == 0)
		error = read_pointer(r, map + r->at[OP_HOTSPOT_SPACE_LOW], &segmap);
	if (error == 0)
		error = read_u32(r, heap + r->at[OP_HOTSPOT_HEAP_LOG2_SEGMENT], ret_log2);
	if (error < 0)
		return error;
	if (high <= low || high - low > HEAP_BYTES_MAX)
		return -EBADMSG;
	*ret = (struct op_hotspot_heap){ .low = low, .high = high, .segmap = segmap };
	return 0;
}

static int read_heaps(const struct reader *r, const struct op_hotspot_layout *layout,
		      struct op_hotspot *bpf)
{
	uint64_t heap[OP_HOTSPOT_HEAPS] = { 0 };
	int len = find_heaps(r, layout, heap);
	uint32_t log2;
	int i;

	for (i = 0; i < len; i++) {
		int error = read_heap(r, heap[i], &bpf->heap[i], &log2);

		if (error < 0)
			return error;
		if (log2 < LOG2_SEGMENT_MIN || log2 > LOG2_SEGMENT_MAX)
			return -EBADMSG;
		if (!i || bpf->heap[i].low < bpf->cache)
			bpf->cache = bpf->heap[i].low;
		if (bpf->heap[i].high > bpf->cache_end)
			bpf->cache_end = bpf->heap[i].high;
		bpf->log2_segment = (uint8_t)log2;
	}
	return len < 0 ? len : 0;
}

/* The interpreter's StubQueue: its first byte, and the range and count of
 * its codelets. */
struct queue {
	uint64_t buffer;
	uint32_t begin;
	uint32_t end;
	uint32_t count;
	uint32_t limit; /* of the buffer; 0: not known */
};

static int read_queue(const struct reader *r, struct queue *ret)
{
	uint64_t queue;
	int error = read_pointer(r, r->at[OP_HOTSPOT_INTERPRETER_ADDRESS], &queue);

	if (error == 0)
		error = read_pointer(r, queue + r->at[OP_HOTSPOT_QUEUE_BUFFER],
				     &ret->buffer);
	if (error == 0)
		error = read_u32(r, queue + r->at[OP_HOTSPOT_QUEUE_BEGIN], &ret->begin);
	if (error == 0)
		error = read_u32(r, queue + r->at[OP_HOTSPOT_QUEUE_END], &ret->end);
	if (error == 0)
		error = read_u32(r, queue + r->at[OP_HOTSPOT_QUEUE_COUNT], &ret->count);
	ret->limit = 0;
	if (error == 0 && r->at[OP_HOTSPOT_QUEUE_LIMIT])
		error = read_u32(r, queue + r->at[OP_HOTSPOT_QUEUE_LIMIT], &ret->limit);
	if (error < 0)
		return error;
	if (!ret->count || ret->end <= ret->begin)
		return -EAGAIN;
	if (ret->end > OP_HOTSPOT_CODE_MAX || ret->count > OP_HOTSPOT_CODELETS_MAX)
		return -EBADMSG;
	return 0;
}

/* Read the codelet at offset @at of @q. */
static int read_codelet(const struct reader *r, const struct queue *q, uint32_t at,
			struct op_hotspot_codelet *ret, char description[DESCRIPTION_MAX])
{
	uint64_t addr = q->buffer + at;
	uint32_t bytes;
	uint32_t bytecode;
	uint64_t text;
	int error = read_u32(r, addr + r->at[OP_HOTSPOT_CODELET_SIZE], &bytes);

	if (error == 0)
		error = read_u32(r, addr + r->at[OP_HOTSPOT_CODELET_BYTECODE], &bytecode);
	if (error == 0)
		error = read_pointer(r, addr + r->at[OP_HOTSPOT_CODELET_DESCRIPTION],
				     &text);
	if (error == 0)
		error = op_runtime_hotspot_text(r->memory, text, description,
						DESCRIPTION_MAX);
	if (error < 0)
		return error;
	if (!bytes || !op_range_ok(at, bytes, q->end))
		return -EBADMSG;
	*ret = (struct op_hotspot_codelet){ .at = at, .bytes = bytes };
	if (bytecode < BYTECODES)
		ret->kind = OP_HOTSPOT_IS_BYTECODE;
	else if (strstr(description, "method entry point"))
		ret->kind = OP_HOTSPOT_IS_METHOD;
	return 0;
}

/*
 * The VM makes its interpreter codelet by codelet, and end and count grow with each. It
 * is complete when the buffer was cut behind the last one (JDK 9 and later), or when
 * two codelets exist of which one is made last: in 8 that is the last bytecode's.
 */
static int read_codelets(const struct reader *r, const struct queue *q,
			 struct op_hotspot_codelet *ret)
{
	char description[DESCRIPTION_MAX];
	bool bytecodes = false;
	bool deoptimization = false;
	uint32_t at = q->begin;
	uint32_t i;

	for (i = 0; i < q->count && at < q->end; i++) {
		int error = read_codelet(r, q, at, &ret[i], description);

		if (error < 0)
			return error;
		bytecodes |= strcmp(description, "_shouldnotreachhere") == 0;
		deoptimization |= strcmp(description, "deoptimization entry points") == 0;
		at += ret[i].bytes;
	}
	/* One was committed between the reads of end and count. */
	if (i < q->count || at != q->end)
		return -EAGAIN;
	return q->limit == q->end || (bytecodes && deoptimization) ? 0 : -EAGAIN;
}

static int make_rules(const struct reader *r, const struct queue *q,
		      const struct op_hotspot_layout *layout, struct op_hotspot *bpf)
{
	_cleanup_free_ struct op_hotspot_codelet *codelets = NULL;
	_cleanup_free_ struct op_hotspot_rules *rules = NULL;
	_cleanup_free_ uint8_t *code = NULL;
	uint32_t i;
	int error;

	codelets = calloc(q->count, sizeof(*codelets));
	rules = malloc(sizeof(*rules));
	code = malloc(q->end);
	if (!codelets || !rules || !code)
		return -ENOMEM;
	error = read_codelets(r, q, codelets);
	if (error == 0)
		error = op_memory_read(r->memory, q->buffer, code, q->end);
	if (error < 0)
		return error;
	layout->machine->rules(code, q->end, codelets, q->count, rules);
	if (!rules->prologues || !rules->epilogues || !rules->bcp_slot)
		return -ENOTSUP;
	/* JDK 9 inserted a slot (the mirror) into the frame: the code and the version
	 * must agree. */
	if (rules->has_mirror != (layout->version >= MIRROR_SINCE))
		return -ENOTSUP;
	bpf->bcp_slot = (int16_t)rules->bcp_slot;
	bpf->entry_sender = rules->entry_sender;
	bpf->rule_count = rules->count;
	for (i = 0; i < rules->count; i++) {
		bpf->rule[i] = rules->rule[i];
		bpf->rule[i].at += (uint32_t)(q->buffer - bpf->cache);
	}
	return 0;
}

/* Copy the offsets of the blob members that the step needs. */
static int take_members(const struct op_hotspot_layout *layout, struct op_hotspot *bpf)
{
	static const struct {
		uint8_t field; /* enum op_hotspot_field */
		uint8_t to;    /* offset in struct op_hotspot */
	} members[] = {
		{ OP_HOTSPOT_BLOCK_BYTES, offsetof(struct op_hotspot, block_bytes) },
		{ OP_HOTSPOT_BLOB_NAME, offsetof(struct op_hotspot, blob_name) },
		{ OP_HOTSPOT_BLOB_FRAME_SIZE,
		  offsetof(struct op_hotspot, blob_frame_size) },
		{ OP_HOTSPOT_BLOB_FRAME_COMPLETE,
		  offsetof(struct op_hotspot, blob_frame_complete) },
		{ OP_HOTSPOT_BLOB_HEADER_BYTES,
		  offsetof(struct op_hotspot, blob_header_bytes) },
		{ OP_HOTSPOT_BLOB_CODE_BEGIN, offsetof(struct op_hotspot, blob_code) },
		{ OP_HOTSPOT_BLOB_CODE_OFFSET, offsetof(struct op_hotspot, blob_code) },
		{ OP_HOTSPOT_NMETHOD_DEOPT, offsetof(struct op_hotspot, nmethod_deopt) },
		{ OP_HOTSPOT_NMETHOD_DEOPT_MH,
		  offsetof(struct op_hotspot, nmethod_deopt_mh) },
	};
	const uint64_t *at = layout->at;
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(members); i++) {
		if (!layout->there[members[i].field])
			continue;
		if (at[members[i].field] > MEMBER_MAX)
			return -EBADMSG;
		((uint8_t *)bpf)[members[i].to] = (uint8_t)at[members[i].field];
	}
	bpf->blob_code_is_pointer = layout->there[OP_HOTSPOT_BLOB_CODE_BEGIN];
	bpf->nmethod_bytes = (uint16_t)at[OP_HOTSPOT_NMETHOD_BYTES];
	bpf->nmethod_compile_id = (uint16_t)at[OP_HOTSPOT_NMETHOD_COMPILE_ID];
	bpf->nmethod_orig_pc = (uint16_t)at[OP_HOTSPOT_NMETHOD_ORIG_PC];
	return 0;
}

int op_runtime_hotspot_code(const struct op_memory *memory,
			    const struct op_hotspot_layout *layout,
			    struct op_hotspot *bpf)
{
	const struct reader r = { memory, layout->at };
	uint64_t call_stub = 0;
	struct queue q;
	int error = take_members(layout, bpf);

	if (error == 0)
		error = read_heaps(&r, layout, bpf);
	if (error == 0)
		error = read_queue(&r, &q);
	if (error == 0)
		error = read_pointer(&r, layout->at[OP_HOTSPOT_CALL_STUB_ADDRESS],
				     &call_stub);
	if (error == 0)
		error = make_rules(&r, &q, layout, bpf);
	if (error < 0)
		return error;
	op_runtime_hotspot_identity_set(layout, bpf);
	bpf->call_stub = call_stub;
	bpf->interpreter = q.buffer;
	bpf->interpreter_end = q.buffer + q.end;
	return 0;
}

int op_runtime_hotspot_blob_name(const struct op_memory *memory,
				 const struct op_hotspot_layout *layout, uint64_t blob,
				 char ret[OP_HOTSPOT_BLOB_NAME_MAX])
{
	const struct reader r = { memory, layout->at };
	uint64_t name;
	int error = read_pointer(&r, blob + layout->at[OP_HOTSPOT_BLOB_NAME], &name);

	if (error < 0)
		return error;
	return op_runtime_hotspot_text(memory, name, ret, OP_HOTSPOT_BLOB_NAME_MAX);
}

int op_runtime_hotspot_codelet_name(const struct op_memory *memory,
				    const struct op_hotspot_layout *layout, uint64_t pc,
				    char *ret, size_t size)
{
	const struct reader r = { memory, layout->at };
	char description[DESCRIPTION_MAX];
	struct op_hotspot_codelet codelet;
	struct queue q;
	uint32_t at;
	uint32_t i;
	int error = read_queue(&r, &q);

	if (error < 0)
		return error;
	at = q.begin;
	for (i = 0; i < q.count; i++, at += codelet.bytes) {
		const char *kind;
		size_t len;

		error = read_codelet(&r, &q, at, &codelet, description);
		if (error < 0)
			return error;
		if (pc - q.buffer - at >= codelet.bytes)
			continue;
		kind = strstr(description, "kind = ");
		kind = kind ? kind + strlen("kind = ") : description;
		len = OP_MIN(strcspn(kind, ")"), size - 1);
		memcpy(ret, kind, len);
		ret[len] = '\0';
		return (int)len;
	}
	return -ENOENT;
}
