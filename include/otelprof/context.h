/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libotelprof-context: a program publishes which trace and span each of its threads works
 * on, and any profiler that reads OpenTelemetry's process context (OTEP 4719) and thread
 * context (OTEP 4947) links samples to them. It needs only libc, starts no thread, takes
 * no lock, and leaves errno alone. A switch of context is one store.
 *
 * Publish the process once, and attach a context for each span or coroutine: an example
 * is in otelprof_context_publish(3).
 */
#ifndef OTELPROF_CONTEXT_H
#define OTELPROF_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include <otelprof/macros.h>

OTELPROF_BEGIN_DECLS

enum {
	OTELPROF_TRACE_ID_BYTES = 16,
	OTELPROF_SPAN_ID_BYTES = 8,
	OTELPROF_CONTEXT_BYTES = 612, /* of all attributes, each with 2 bytes more */
	OTELPROF_CONTEXT_KEYS_MAX = 256,
};

/* A text attribute of the process. */
struct otelprof_context_attribute {
	const char *key;
	const char *value;
};

/* Initialize it with OTELPROF_PROCESS_CONTEXT_INIT, or with
 * otelprof_process_context_init() in a language without macros. Strings are copied. */
struct otelprof_process_context {
	size_t size; /* of this struct */
	/* of the resource, such as service.name */
	const struct otelprof_context_attribute *attributes;
	size_t attributes_len;
	/* Names of threads' attributes, at most OTELPROF_CONTEXT_KEYS_MAX. An attribute's
	 * number is its index here, and keeps its meaning for the life of the process. */
	const char *const *keys;
	size_t keys_len;
};

#ifdef __cplusplus
#define OTELPROF_PROCESS_CONTEXT_INIT                                                    \
	otelprof_process_context                                                         \
	{                                                                                \
		sizeof(otelprof_process_context), nullptr, 0, nullptr, 0                 \
	}
#else
#define OTELPROF_PROCESS_CONTEXT_INIT                                                    \
	{                                                                                \
		sizeof(struct otelprof_process_context), NULL, 0, NULL, 0                \
	}
#endif

OTELPROF_API void otelprof_process_context_init(struct otelprof_process_context *process,
						size_t size);

/* Publish @process, in place of what was published before, in a memory mapping with a
 * known name. The child of a fork() must publish again. One thread at a time may call it,
 * and no signal handler. Returns 0; -EINVAL; -E2BIG beyond 64 KiB in all, 4 KiB of one
 * text, or for a member that this library does not know; -ENOMEM; or the errno of
 * mmap(2). */
OTELPROF_API int otelprof_context_publish(const struct otelprof_process_context *process);

/* Take it back. The same restrictions apply. */
OTELPROF_API void otelprof_context_unpublish(void);

/* What a thread works on, in 640 bytes of the caller, who keeps them unmoved while
 * attached. Only the functions below may change it. */
struct otelprof_context {
	uint8_t trace_id[16];
	uint8_t span_id[8];
	uint8_t valid;
	uint8_t trace_flags;
	uint16_t attributes_bytes;
	uint8_t attributes[OTELPROF_CONTEXT_BYTES];
};

/* Signal handlers may call the functions below if they change no context that the
 * interrupted code may be changing. If the library was loaded by dlopen(), the thread
 * must have called otelprof_context_attach() or _current() once before, because the first
 * call may allocate memory. A profiler that interrupts one of them sees the state before,
 * the state after, or no context. */

/* Begin one without attributes. Ids (NULL: none) are in network order. */
OTELPROF_API void otelprof_context_init(struct otelprof_context *context,
					const uint8_t *trace_id, const uint8_t *span_id);

/* Add attribute number @key: @len bytes of UTF-8, at most 255. A second value replaces
 * the first for readers, and takes space again. Returns 0; -EINVAL; -ENOSPC. */
OTELPROF_API int otelprof_context_add(struct otelprof_context *context, unsigned int key,
				      const char *value, size_t len);

/* Change the span within the trace. Attributes stay. */
OTELPROF_API void otelprof_context_set_span(struct otelprof_context *context,
					    const uint8_t *span_id);

/* The calling thread works on @context from now on (NULL: none). Returns the context
 * before. Attach a coroutine's when you resume it. Detach it before it ends. */
OTELPROF_API struct otelprof_context *
otelprof_context_attach(struct otelprof_context *context);

/* The context of the calling thread, or NULL. */
OTELPROF_API struct otelprof_context *otelprof_context_current(void);

OTELPROF_END_DECLS
#endif
