/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A made-up host: processes, code and samples that a test puts in a window, each with the
 * text by which a decoded sample is known again. The texts are written from the model, not
 * from the window.
 */
#ifndef MODEL_H
#define MODEL_H

#include "profile/otlp/kinds.h"
#include "profile/window.h"
#include "test.h"

/* A growing list of lines. */
struct lines {
	char **line;
	size_t len;
	size_t cap;
};

void lines_add(struct lines *l, const char *text);
void lines_sort(struct lines *l);
void lines_clear(struct lines *l);
/* Both sorted; fails the test where they differ. */
void lines_check_equal(const struct lines *got, const struct lines *want);

struct model {
	uint64_t random;
	uint32_t processes;
	uint32_t locations;
	uint32_t stack_max; /* frames */
	uint32_t events;    /* 1: CPU alone */
	uint64_t start_ns;  /* of samples' times */
	uint64_t length_ns;
};

/* The kinds the tests use: event 0 as shipped, 1 with values, 2 summed, 3 twice. */
extern const struct op_otlp_kinds model_kinds;

uint64_t model_random(struct model *m, uint64_t below);

/* Add @count random samples to @w; their texts go to @ret. */
void model_fill(struct model *m, struct op_window *w, size_t count, struct lines *ret);

#endif
