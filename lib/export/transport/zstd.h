/* SPDX-License-Identifier: Apache-2.0 */
/* Compresses a request in the zstd format (RFC 8878). */
#ifndef OP_EXPORT_TRANSPORT_ZSTD_H
#define OP_EXPORT_TRANSPORT_ZSTD_H

#include <stddef.h>

/* Returns 0 with *@ret, which the caller frees, or -ENOMEM. */
int op_zstd(const void *bytes, size_t len, void **ret, size_t *ret_len);

#endif
