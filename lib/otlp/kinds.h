/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each kind of event looks like in OTLP: one row a profile. An event may have several
 * rows (bytes and objects of an allocation): the first one counts its samples. See
 * docs/otlp.md for why a row looks as it does.
 */
#ifndef OP_OTLP_KINDS_H
#define OP_OTLP_KINDS_H

#include "otlp/encode.h"

enum op_otlp_shape {
	OP_OTLP_TIMES,	      /* timestamps alone: each stands for one */
	OP_OTLP_TIMES_VALUES, /* a timestamp and a value each */
	OP_OTLP_SUM,	      /* one value: the sum */
	OP_OTLP_COUNT,	      /* one value: how many */
};

enum op_otlp_period {
	OP_OTLP_PERIOD_NONE,
	OP_OTLP_PERIOD_WINDOW, /* the window's period_ns */
	OP_OTLP_PERIOD_ONE,    /* every event is taken */
};

struct op_otlp_kind {
	uint32_t event; /* enum op_event */
	enum op_otlp_shape shape;
	const char *type;
	const char *unit;
	enum op_otlp_period period;
	const char *period_type; /* NULL without a period */
	const char *period_unit;
};

struct op_otlp_kinds {
	const struct op_otlp_kind *rows;
	size_t len;
};

extern const struct op_otlp_kinds op_otlp_kinds;

/* op_otlp_encode() with a table of kinds; samples without a row are left out. */
int op_otlp_encode_kinds(const struct op_window *w, const struct op_otlp_kinds *kinds,
			 const struct op_otlp_options *options, op_otlp_emit_fn emit,
			 void *data, uint64_t *ret_left_out);

#endif
