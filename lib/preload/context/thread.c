/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread context. Readers interrupt the thread, so its stores must be in order for
 * the thread itself. Compiler fences ensure that.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include <otelprof/context.h>

enum {
	HEAD_BYTES = 2, /* largest number of bytes of an attribute */
	VALUE_MAX = 255,
	KEYS_MAX = OTELPROF_CONTEXT_KEYS_MAX,
};

_Static_assert(sizeof(struct otelprof_context) == 640 &&
		       offsetof(struct otelprof_context, valid) == 24 &&
		       offsetof(struct otelprof_context, attributes_bytes) == 26 &&
		       offsetof(struct otelprof_context, attributes) == 28,
	       "OTEP 4947");

/* Readers find the variable by this name, from OTEP 4947. */
extern __thread struct otelprof_context *otel_thread_ctx_v1
	__attribute__((visibility("default")));
__thread struct otelprof_context *otel_thread_ctx_v1;

static void fence(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

static void set_valid(struct otelprof_context *context, uint8_t valid)
{
	fence();
	*(volatile uint8_t *)&context->valid = valid;
	fence();
}

void otelprof_context_init(struct otelprof_context *context, const uint8_t *trace_id,
			   const uint8_t *span_id)
{
	set_valid(context, 0);
	memset(context->trace_id, 0, sizeof(context->trace_id));
	memset(context->span_id, 0, sizeof(context->span_id));
	if (trace_id && span_id) {
		memcpy(context->trace_id, trace_id, sizeof(context->trace_id));
		memcpy(context->span_id, span_id, sizeof(context->span_id));
	}
	context->trace_flags = 0;
	context->attributes_bytes = 0;
	set_valid(context, 1);
}

int otelprof_context_add(struct otelprof_context *context, unsigned int key,
			 const char *value, size_t len)
{
	size_t at = context->attributes_bytes;

	if (key >= KEYS_MAX || len > VALUE_MAX || (len && !value))
		return -EINVAL;
	if (at + HEAD_BYTES + len > sizeof(context->attributes))
		return -ENOSPC;
	context->attributes[at] = (uint8_t)key;
	context->attributes[at + 1] = (uint8_t)len;
	if (len)
		memcpy(context->attributes + at + HEAD_BYTES, value, len);
	/* bytes behind the end are not read: one store adds them */
	fence();
	*(volatile uint16_t *)&context->attributes_bytes =
		(uint16_t)(at + HEAD_BYTES + len);
	fence();
	return 0;
}

void otelprof_context_set_span(struct otelprof_context *context, const uint8_t *span_id)
{
	set_valid(context, 0);
	memcpy(context->span_id, span_id, sizeof(context->span_id));
	set_valid(context, 1);
}

struct otelprof_context *otelprof_context_attach(struct otelprof_context *context)
{
	struct otelprof_context *before = otel_thread_ctx_v1;

	fence();
	*(struct otelprof_context *volatile *)&otel_thread_ctx_v1 = context;
	fence();
	return before;
}

struct otelprof_context *otelprof_context_current(void)
{
	return otel_thread_ctx_v1;
}
