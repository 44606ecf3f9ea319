/* SPDX-License-Identifier: Apache-2.0 */
/* Processes each type of records in the kernel's ring. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "process/registry.h"
#include "sample/deferred.h"
#include "sample/kept/objects.h"
#include "sample/parsed.h"
#include "sample/resolve.h"
#include "sample/stack.h"
#include "sample/state.h"

static int add_record(struct op_sampler *sampler, struct op_parsed *parsed,
		      struct op_window *window)
{
	struct op_window_sample sample;
	int r = op_record_resolve(sampler, parsed, window, &sample);

	if (r == 0)
		r = op_window_add(window, &sample);
	if (r == 0 && parsed->header.event == sampler->watched && sampler->watch)
		sampler->watch(sampler->watch_ctx, &parsed->header, window, &sample);
	return r;
}

int op_sampler_thread(struct op_sampler *sampler, const void *record, size_t len,
		      bool late, struct op_window *window, struct op_window_sample *ret)
{
	struct op_parsed parsed;
	int r = op_parsed_read(sampler, record, len, &parsed);

	if (r < 0)
		return r;
	parsed.live = !late;
	if (parsed.header.detail == OP_THREAD_RUNNING)
		parsed.header.end = OP_END_RUNNING;
	else if (late && parsed.header.end == OP_END_UNKNOWN)
		parsed.header.end = OP_ERROR_native_late;
	return op_record_resolve(sampler, &parsed, window, ret);
}

int op_sampler_running(struct op_sampler *sampler, struct op_window *window,
		       uint32_t *ret_stack)
{
	size_t len = 0;
	int r = op_stack_add_end(sampler, window, OP_END_RUNNING, &len);

	return r < 0 ? r : op_window_stack(window, sampler->locations, len, ret_stack);
}

static int take_sample(struct op_sampler *sampler, const void *record, size_t len,
		       struct op_window *window)
{
	struct op_parsed parsed;
	int r = op_parsed_read(sampler, record, len, &parsed);

	return r < 0 ? r : add_record(sampler, &parsed, window);
}

/* Keep an announced stack. If that fails, samples that refer to it lose it. */
static int take_stack(struct op_sampler *sampler, const void *record, size_t len)
{
	struct op_parsed parsed;
	int r = op_parsed_read(sampler, record, len, &parsed);

	return r < 0 ? r
		     : op_announced_add(&sampler->announced, &parsed.header.hash, record,
					len);
}

/* A sample of an announced stack. Without the announcement it has one frame, which
 * names the reason. */
static int take_named(struct op_sampler *sampler, const void *record, size_t len,
		      struct op_window *window)
{
	struct op_parsed parsed = { .header.end = OP_END_NO_STACK,
				    .words = sampler->words + OP_KEY_WORDS };
	struct op_record *h = &parsed.header;
	const void *stack;
	struct op_named n;
	size_t stack_len;
	int r = 0;

	if (len < sizeof(n))
		return -EBADMSG;
	memcpy(&n, record, sizeof(n));
	if (n.event >= OP_EVENT_MAX)
		return -EBADMSG;
	stack = op_announced_find(&sampler->announced, &n.hash, &stack_len);
	if (stack) {
		r = op_parsed_read(sampler, stack, stack_len, &parsed);
	} else {
		sampler->announcements_lost++;
		sampler->announce_again = true;
	}
	if (r < 0)
		return r;
	r = op_trace_contexts_read((const uint8_t *)record + sizeof(n), len - sizeof(n),
				   n.context_bytes, &parsed.context);
	if (r < 0)
		return r;
	if (h->time_ns != n.time_ns)
		h->marks = 0; /* they held when the stack was announced */
	h->time_ns = n.time_ns;
	h->value = n.value;
	h->cgroup = n.cgroup;
	h->pid = n.pid;
	h->tid = n.tid;
	h->cpu = n.cpu;
	h->hits = n.hits;
	h->event = n.event;
	h->detail = n.detail;
	parsed.extra = n.extra;
	memcpy(h->comm, n.comm, sizeof(h->comm));
	return add_record(sampler, &parsed, window);
}

static int take_request(struct op_sampler *sampler, const void *record, size_t len)
{
	struct op_unwind_table_request q;
	struct op_proc *proc;

	if (len < sizeof(q))
		return -EBADMSG;
	memcpy(&q, record, sizeof(q));
	proc = op_registry_find_alive(sampler->processes, q.pid);
	sampler->new_code = true;
	return proc ? op_deferred_make(sampler, proc, q.pc) : 0;
}

int op_sampler_join(struct op_sampler *sampler, const void *record, size_t len,
		    void **ret, size_t *ret_len)
{
	_cleanup_free_ uint8_t *stack = NULL;
	_cleanup_free_ uint8_t *whole = NULL;
	struct op_record header;
	struct op_parsed r;
	const uint8_t *chain;
	const uint8_t *root;
	size_t chain_len = 0;
	size_t root_len = 0;
	uint64_t words[2] = { 0, 0 }; /* of the root: its address and length */
	size_t stack_len;
	size_t before;
	uint8_t *end;

	if (len < sizeof(header) || op_parsed_read(sampler, record, len, &r) < 0 ||
	    !r.stack)
		return 0;
	chain = op_stack_chunks_chain(&sampler->chunks, &r.header, &chain_len);
	root = op_stack_chunks_root(&sampler->chunks, &r.header, &words[0], &root_len);
	words[1] = root_len;
	stack = op_stack_chunks_take(&sampler->chunks, &r.header,
				     r.registers.sp - r.header.stack_below, r.stack,
				     r.header.stack_bytes, &stack_len);
	if (!stack)
		stack_len = r.header.stack_bytes;
	if ((!stack && !root && !chain) || stack_len > UINT16_MAX)
		return 0;
	before = (size_t)(r.stack - (const uint8_t *)record);
	whole = malloc(before + stack_len + sizeof(words) + root_len + chain_len);
	if (!whole)
		return 0;
	memcpy(whole, record, before);
	memcpy(whole + before, stack ? stack : r.stack, stack_len);
	end = whole + before + stack_len;
	memcpy(end, words, sizeof(words));
	end += sizeof(words);
	if (root)
		memcpy(end, root, root_len);
	end += root_len;
	if (chain)
		memcpy(end, chain, chain_len);
	end += chain_len;
	memcpy(&header, record, sizeof(header));
	header.stack_bytes = (uint16_t)stack_len;
	header.header.bytes = (uint32_t)(end - whole);
	memcpy(whole, &header, sizeof(header));
	*ret_len = (size_t)(end - whole);
	*ret = OP_TAKE_PTR(whole);
	return 1;
}

int op_sampler_add_record(struct op_sampler *sampler, const void *record, size_t len,
			  struct op_window *window)
{
	struct op_record_header h;

	if (len < sizeof(h))
		return -EBADMSG;
	memcpy(&h, record, sizeof(h));
	if (h.bytes < sizeof(h) || h.bytes > len)
		return -EBADMSG;
	sampler->walked = false;
	if (op_processes_is_forked(sampler->processes))
		return -ECHILD;
	if (h.version != OP_RECORD_VERSION)
		return -EPROTO;
	switch (h.type) {
	case OP_RECORD_SAMPLE:
		return take_sample(sampler, record, h.bytes, window);
	case OP_RECORD_STACK:
		return take_stack(sampler, record, h.bytes);
	case OP_RECORD_NAMED:
		return take_named(sampler, record, h.bytes, window);
	case OP_RECORD_REQUEST:
		return take_request(sampler, record, h.bytes);
	case OP_RECORD_CHUNK:
		return op_stack_chunks_add(&sampler->chunks, record, h.bytes);
	case OP_RECORD_LABELS:
		return op_trace_contexts_announce(&sampler->contexts, record, h.bytes);
	case OP_RECORD_ROOT:
		return op_stack_chunks_add_root(&sampler->chunks, record, h.bytes);
	case OP_RECORD_CHAIN:
		return op_stack_chunks_add_chain(&sampler->chunks, record, h.bytes);
	case OP_RECORD_OBJECT:
		sampler->new_code = true;
		return op_copied_object_keep(sampler->processes, record, h.bytes);
	default:
		return -EPROTO;
	}
}
