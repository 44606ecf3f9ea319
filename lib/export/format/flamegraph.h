/* SPDX-License-Identifier: Apache-2.0 */
/* The page flamegraph.html as an array, made by embed.py. */
#ifndef OP_EXPORT_FORMAT_FLAMEGRAPH_H
#define OP_EXPORT_FORMAT_FLAMEGRAPH_H

#include <stddef.h>

extern const unsigned char op_flamegraph_page[];
extern const size_t op_flamegraph_page_len;

#endif
