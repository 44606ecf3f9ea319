/* SPDX-License-Identifier: Apache-2.0 */
/* flamegraph.html, made into an array by embed.py. */
#ifndef OP_FORMAT_FLAMEGRAPH_H
#define OP_FORMAT_FLAMEGRAPH_H

#include <stddef.h>

extern const unsigned char op_flamegraph_page[];
extern const size_t op_flamegraph_page_len;

#endif
