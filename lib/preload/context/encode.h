/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes a ProcessContext message by hand, because the library needs only libc. */
#ifndef OP_PRELOAD_CONTEXT_ENCODE_H
#define OP_PRELOAD_CONTEXT_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include <otelprof/context.h>

/* Write the message to @ret, or only count its bytes if @ret is NULL. Returns their
 * number. */
size_t op_writer_encode(const struct otelprof_process_context *process, uint8_t *ret);

#endif
