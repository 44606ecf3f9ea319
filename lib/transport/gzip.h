/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request in gzip's format (RFC 1952). With libdeflate, which takes 40 % of zlib's time and
 * leaves 2 % fewer bytes of profiles; else with zlib.
 */
#ifndef OP_TRANSPORT_GZIP_H
#define OP_TRANSPORT_GZIP_H

#include <stddef.h>

/* Returns 0 and the caller's memory in *@ret, or -ENOMEM. */
int op_gzip(const void *bytes, size_t len, void **ret, size_t *ret_len);

#endif
