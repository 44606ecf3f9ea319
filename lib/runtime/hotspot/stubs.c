/* SPDX-License-Identifier: Apache-2.0 */
/* Searches the blocks of the code heap with the interpreter: it contains the stubs,
 * most of which the VM makes at its start. */
#include "runtime/hotspot/stubs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "runtime/hotspot/code.h"
#include "runtime/hotspot/machine/stack.h"
#include "runtime/readahead.h"

enum {
	STUB_BYTES_MIN = 8,
};

struct walk {
	struct op_memory *memory; /* reads ahead */
	const uint64_t *at;	  /* of the layout */
	const struct op_hotspot_layout *layout;
	const struct op_hotspot *bpf;
	struct op_hotspot_stack_rules rules;
	uint32_t left; /* of OP_HOTSPOT_STUBS_TOTAL */
	bool has_interpreter;
};

static int read_u32(const struct walk *w, uint64_t addr, uint64_t *ret)
{
	uint32_t value;
	int r = op_memory_read(w->memory, addr, &value, sizeof(value));

	if (r == 0)
		*ret = value;
	return r;
}

/* Blobs whose code changes or is made piece by piece, that are entered in other ways
 * than by a call, or that the step handles otherwise. */
static bool is_other(const char *name)
{
	static const char *const others[] = {
		"nmethod",  "Interpreter",    "uffer",	       "handlers",
		"adapters", "vtable",	      "MethodHandle",  "continuation",
		"upcall",   "Deoptimization", "ExceptionBlob",
	};
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(others); i++)
		if (strstr(name, others[i]))
			return true;
	return false;
}

/* The code of the blob at @blob: [*@ret, *@ret_end) relative to it. */
static int find_code(const struct walk *w, uint64_t blob, uint64_t *ret,
		     uint64_t *ret_end)
{
	uint64_t data;
	int r;

	if (w->layout->there[OP_HOTSPOT_BLOB_CODE_BEGIN]) {
		r = op_memory_read(w->memory, blob + w->at[OP_HOTSPOT_BLOB_CODE_BEGIN],
				   ret, sizeof(*ret));
		*ret -= blob;
	} else {
		r = read_u32(w, blob + w->at[OP_HOTSPOT_BLOB_CODE_OFFSET], ret);
	}
	if (r == 0)
		r = read_u32(w, blob + w->at[OP_HOTSPOT_BLOB_SIZE], ret_end);
	if (r == 0)
		r = read_u32(w, blob + w->at[OP_HOTSPOT_BLOB_DATA_OFFSET], &data);
	if (r == 0 && data > *ret && data < *ret_end)
		*ret_end = data;
	return r;
}

/* The rules of the interpreter in @bpf. */
static void add_interpreter(struct walk *w)
{
	const struct op_hotspot *bpf = w->bpf;
	struct op_hotspot_rule end = {
		.at = (uint32_t)(bpf->interpreter_end - bpf->cache),
		.frame = OP_HOTSPOT_NO_RULE,
	};
	struct op_hotspot_stack_rules *to = &w->rules;
	uint32_t first = (uint32_t)(bpf->interpreter - bpf->cache);
	uint32_t i;

	for (i = 0; i < bpf->rule_count; i++)
		if (bpf->rule[i].at >= first && bpf->rule[i].at < end.at)
			to->rule[to->count++] = bpf->rule[i];
	to->rule[to->count++] = end;
	to->max = OP_HOTSPOT_RULES_ALL;
	w->has_interpreter = true;
}

/* Add the rules of the blob in the block at @block, which ends at @end. */
static int add_blob(struct walk *w, uint64_t block, uint64_t end)
{
	_cleanup_free_ uint8_t *code = NULL;
	char name[OP_HOTSPOT_BLOB_NAME_MAX];
	uint64_t blob = block + w->at[OP_HOTSPOT_BLOCK_BYTES];
	uint64_t from = 0;
	uint64_t to = 0;
	int r = op_runtime_hotspot_blob_name(w->memory, w->layout, blob, name);

	if (r < 0 || is_other(name))
		return 0;
	r = find_code(w, blob, &from, &to);
	if (r < 0 || to > end - blob || from >= to || to - from < STUB_BYTES_MIN)
		return 0;
	to = OP_MIN(to, from + OP_HOTSPOT_STUBS_BYTES);
	if (to - from > w->left || blob + from < w->bpf->cache)
		return 0;
	code = malloc(to - from);
	if (!code)
		return -ENOMEM;
	w->left -= (uint32_t)(to - from);
	if (op_memory_read(w->memory, blob + from, code, to - from) < 0)
		return 0;
	return op_runtime_hotspot_stack(w->layout->machine, code, to - from,
					(uint32_t)(blob + from - w->bpf->cache),
					&w->rules);
}

/* The block at @block: its bytes, 0 if there is none. */
static int read_block(const struct walk *w, uint64_t block, uint64_t *ret, bool *ret_used)
{
	uint64_t length = 0;
	uint8_t used;
	/* the length was 64 bits before JDK 24 */
	size_t bytes = OP_MIN(w->at[OP_HOTSPOT_BLOCK_USED], (uint64_t)sizeof(length));
	int r = op_memory_read(w->memory, block, &length, bytes);

	if (r == 0)
		r = op_memory_read(w->memory, block + w->at[OP_HOTSPOT_BLOCK_USED], &used,
				   1);
	if (r < 0)
		return r;
	if (length > UINT32_MAX)
		return -EBADMSG;
	*ret = length << w->bpf->log2_segment;
	*ret_used = used;
	return 0;
}

static const struct op_hotspot_heap *heap_of(const struct op_hotspot *bpf)
{
	size_t i;

	for (i = 0; i < OP_HOTSPOT_HEAPS; i++)
		if (bpf->interpreter >= bpf->heap[i].low &&
		    bpf->interpreter < bpf->heap[i].high)
			return &bpf->heap[i];
	return NULL;
}

static int walk_blocks(struct walk *w, const struct op_hotspot_heap *heap,
		       uint64_t *ret_end)
{
	uint64_t block = heap->low;
	uint64_t bytes = 0;
	bool used = false;
	uint32_t i;
	int r = 0;

	*ret_end = 0;
	for (i = 0; i < OP_HOTSPOT_BLOCKS_MAX && block < heap->high; i++) {
		if (read_block(w, block, &bytes, &used) < 0)
			break;
		if (!bytes) {
			*ret_end = block;
			break;
		}
		if (bytes > heap->high - block)
			break;
		if (!w->has_interpreter && block + bytes > w->bpf->interpreter)
			add_interpreter(w);
		else if (used)
			r = add_blob(w, block, block + bytes);
		if (r < 0)
			return r;
		block += bytes;
	}
	return 0;
}

int op_runtime_hotspot_stubs(const struct op_memory *memory,
			     const struct op_hotspot_layout *layout,
			     struct op_hotspot *bpf, uint64_t *ret_end)
{
	_cleanup_free_ struct op_hotspot_rule *rules = NULL;
	_cleanup_free_ struct op_readahead *ahead = NULL;
	const struct op_hotspot_heap *heap = heap_of(bpf);
	struct walk w = { .at = layout->at,
			  .layout = layout,
			  .bpf = bpf,
			  .left = OP_HOTSPOT_STUBS_TOTAL,
			  .rules.max = OP_HOTSPOT_RULES_ALL - OP_HOTSPOT_RULES - 1 };
	int r;

	*ret_end = 0;
	if (!heap || !layout->there[OP_HOTSPOT_BLOCK_USED] ||
	    layout->at[OP_HOTSPOT_BLOCK_USED] < sizeof(uint32_t))
		return 0;
	w.rules.rule = rules = malloc(sizeof(bpf->rule));
	ahead = malloc(sizeof(*ahead));
	if (!rules || !ahead)
		return -ENOMEM;
	op_readahead_init(ahead, memory);
	w.memory = &ahead->memory;
	r = walk_blocks(&w, heap, ret_end);
	if (r < 0)
		return r;
	if (!w.has_interpreter)
		add_interpreter(&w);
	memcpy(bpf->rule, rules, w.rules.count * sizeof(*rules));
	bpf->rule_count = w.rules.count;
	return 0;
}

bool op_runtime_hotspot_stubs_grew(const struct op_memory *memory, uint64_t end)
{
	uint32_t length = 0;

	return end && op_memory_read(memory, end, &length, sizeof(length)) == 0 && length;
}
