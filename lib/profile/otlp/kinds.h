/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes with a given table of kinds, which determines the kinds of a request and their
 * order. An event may have several rows (such as bytes and objects of an allocation); the
 * first one counts its samples. The library's own are op_rows_otlp().
 */
#ifndef OP_PROFILE_OTLP_KINDS_H
#define OP_PROFILE_OTLP_KINDS_H

#include "base/rows/rows.h"
#include "profile/otlp/encode.h"

struct op_otlp_kinds {
	const struct op_otlp_kind *rows;
	size_t len;
};

/* op_otlp_encode() with a table of kinds. Samples without a row are left out. */
int op_otlp_encode_kinds(const struct op_window *w, const struct op_otlp_kinds *kinds,
			 const struct op_otlp_options *options, op_otlp_emit_fn emit,
			 void *data, uint64_t *ret_left_out);

#endif
