/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kinds a request has, and in which order. An event may have several rows (bytes and
 * objects of an allocation): the first one counts its samples. Those of the library's own
 * kinds stand in lib/kind.
 */
#ifndef OP_OTLP_KINDS_H
#define OP_OTLP_KINDS_H

#include "kind/kind.h"
#include "otlp/encode.h"

struct op_otlp_kinds {
	const struct op_otlp_kind *rows;
	size_t len;
};

/* op_otlp_encode() with a table of kinds; samples without a row are left out. */
int op_otlp_encode_kinds(const struct op_window *w, const struct op_otlp_kinds *kinds,
			 const struct op_otlp_options *options, op_otlp_emit_fn emit,
			 void *data, uint64_t *ret_left_out);

#endif
