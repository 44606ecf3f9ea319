/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For programs that are profiled: say which trace and span a thread works on, so that samples are
 * linked to them. Implements OpenTelemetry's process context (OTEP 4719) and thread context (OTEP
 * 4947): any reader of these sees it, not this profiler alone.
 *
 * A library of its own, libotelprof-context, which needs nothing but libc. It never starts a
 * thread, takes no lock, and leaves errno alone. A switch of context is one store.
 *
 *	static const char *const keys[] = { "http.route" };
 *	struct otelprof_process_context process = OTELPROF_PROCESS_CONTEXT_INIT;
 *	process.keys = keys;
 *	process.keys_len = 1;
 *	otelprof_context_publish(&process);		once, at the start
 *
 *	struct otelprof_context span;			of each span or coroutine
 *	otelprof_context_init(&span, trace_id, span_id);
 *	otelprof_context_add(&span, 0, "/cart", 5);
 *	before = otelprof_context_attach(&span);	its thread works on it from here
 *	...
 *	otelprof_context_attach(before);		and on what it did before from here
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
	/* What attributes take at most: each two bytes and its value. */
	OTELPROF_CONTEXT_BYTES = 612,
	OTELPROF_CONTEXT_KEYS_MAX = 256,
};

/* A text attribute of the process. */
struct otelprof_context_attribute {
	const char *key;
	const char *value;
};

/* What is said of the process. Strings are copied. Initialize it by
 * OTELPROF_PROCESS_CONTEXT_INIT, or by otelprof_process_context_init() in a language that sees no
 * macros. */
struct otelprof_process_context {
	size_t size; /* of this struct */
	/* Of the resource, such as service.name. NULL with 0: none. */
	const struct otelprof_context_attribute *attributes;
	size_t attributes_len;
	/* The names of threads' attributes: a number is its place here, and keeps its meaning for
	 * the life of the process. At most OTELPROF_CONTEXT_KEYS_MAX. */
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

/* Set every member to its default; @size is sizeof(struct otelprof_process_context) in the caller.
 * Any thread. Since 0.1. */
OTELPROF_API void otelprof_process_context_init(struct otelprof_process_context *process,
						size_t size);

/*
 * Publish, or publish anew, what the process says: a page of its memory that readers find by its
 * name. The child of a fork() has none until it calls this itself; one after exec neither. Not for
 * signal handlers; callers take care that one thread calls it at a time.
 *
 * Returns 0; -EINVAL where an argument makes no sense; -E2BIG past 64 KiB, or past 4 KiB where a
 * text is, or for a member that this library does not know; -ENOMEM; or the negative errno of
 * mmap(2). Since 0.1.
 */
OTELPROF_API int otelprof_context_publish(const struct otelprof_process_context *process);

/* Take it back; as otelprof_context_publish(), not for signal handlers. Since 0.1. */
OTELPROF_API void otelprof_context_unpublish(void);

/*
 * What a thread works on, as readers see it: 640 bytes of the caller's, which stay where they are
 * while attached. Treat it as opaque, and change it by the functions below.
 */
struct otelprof_context {
	uint8_t trace_id[16];
	uint8_t span_id[8];
	uint8_t valid;
	uint8_t trace_flags;
	uint16_t attributes_bytes;
	uint8_t attributes[OTELPROF_CONTEXT_BYTES];
};

/*
 * The functions below may be called in signal handlers, with two conditions. The handler changes no
 * context that the interrupted code may be changing. And where the library came by dlopen(), the
 * thread has called otelprof_context_attach() or _current() once before: the first call may make
 * the thread's variables, for which the dynamic linker allocates memory.
 *
 * A reader that interrupts one of them sees the thread as it was before, as it is after, or without
 * a context, and never a mixture. All of them since 0.1.
 */

/* Begin one, without attributes. Ids are in network order, as in W3C's traceparent. NULL: zero
 * ids, for attributes alone. */
OTELPROF_API void otelprof_context_init(struct otelprof_context *context,
					const uint8_t *trace_id, const uint8_t *span_id);

/*
 * Add attribute number @key, of @len bytes of UTF-8, at most 255. Adding a number again replaces
 * its value for readers, and takes room again. Returns 0; -EINVAL; -ENOSPC where there is no
 * room, and nothing changes.
 */
OTELPROF_API int otelprof_context_add(struct otelprof_context *context, unsigned int key,
				      const char *value, size_t len);

/* Go on with another span of the same trace, in place: attributes stay. */
OTELPROF_API void otelprof_context_set_span(struct otelprof_context *context,
					    const uint8_t *span_id);

/*
 * The calling thread works on @context from now on; NULL: on nothing that is said. Returns what
 * it worked on before. A coroutine's is attached by whoever resumes it. Detach it before its memory
 * goes.
 */
OTELPROF_API struct otelprof_context *
otelprof_context_attach(struct otelprof_context *context);

/* What it works on, or NULL. */
OTELPROF_API struct otelprof_context *otelprof_context_current(void);

OTELPROF_END_DECLS

#endif
