/* SPDX-License-Identifier: Apache-2.0 */
/* A ProcessContext message, by hand: the library needs nothing but libc. */
#ifndef OP_PRELOAD_CONTEXT_ENCODE_H
#define OP_PRELOAD_CONTEXT_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include <otelprof/context.h>

/* Write the message to @ret, or only count where that is NULL. Returns its bytes. */
size_t op_writer_encode(const struct otelprof_process_context *process, uint8_t *ret);

#endif
