/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of op_kinds.def and op_runtimes.def: the words for kinds of events and
 * language runtimes, and the names of samples in OTLP.
 */
#ifndef OP_BASE_ROWS_ROWS_H
#define OP_BASE_ROWS_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "op_user_types.h"

/* A word for a value. A list of words ends with one without a name. */
struct op_word {
	const char *name;
	uint64_t value;
	const char *tells; /* noun phrase: what the name means; NULL: the name says it */
};

/* The kinds that users can ask for, by number. The values are bits. */
extern const struct op_word op_word_kinds[];
/* The runtimes by number. The values are bits. */
extern const struct op_word op_word_runtimes[];

enum {
	OP_WORD_LIST_BYTES = 512,
};

/* The word of @list for the @len bytes at @name, or NULL. */
const struct op_word *op_word_find(const struct op_word *list, const char *name,
				   size_t len);
/* The values of @list or'ed. */
uint64_t op_word_bits(const struct op_word *list);
/* The names of @list in one text, ", " between them. */
void op_word_list(const struct op_word *list, char ret[static OP_WORD_LIST_BYTES]);

/* @text, in which the names of @list replace "{words}". */
void op_word_fill(const char *text, const struct op_word *list, char *ret, size_t size);

enum op_otlp_shape {
	OP_OTLP_TIMES,	      /* only timestamps, one for each event */
	OP_OTLP_TIMES_VALUES, /* a timestamp and a value for each sample */
	OP_OTLP_SUM,	      /* one value: the sum */
	OP_OTLP_COUNT,	      /* one value: the number of events */
};

enum op_otlp_period {
	OP_OTLP_PERIOD_NONE,
	OP_OTLP_PERIOD_WINDOW, /* the window's period_ns */
	OP_OTLP_PERIOD_ONE,    /* every event is a sample */
	OP_OTLP_PERIOD_EVENTS, /* the sample's period, in events */
};

/*
 * How samples appear in OTLP: one row for each profile. docs/otlp.md gives the reasons.
 */
struct op_otlp_kind {
	uint32_t event; /* enum op_event */
	enum op_otlp_shape shape;
	const char *type;
	const char *unit;
	enum op_otlp_period period;
	const char *period_type; /* NULL if there is no period */
	const char *period_unit;
	/* For a value that holds several numbers: the bits from `shift` on, under
	 * `mask`. mask 0: the whole value. */
	uint32_t shift;
	uint64_t mask;
	uint32_t scale; /* the value of one unit of these bits; 0: 1 */
	/* Or a function of the value. NULL: those bits. */
	uint64_t (*part)(uint64_t value);
	bool sparse; /* omit stacks whose values are all 0 */
};

/* The rows of all kinds in the order of kinds; *@ret_len is their number. */
const struct op_otlp_kind *op_rows_otlp(size_t *ret_len);
/* The row that counts the samples of @event, or NULL: they count as another kind's. */
const struct op_otlp_kind *op_rows_otlp_of(uint32_t event);

#endif
