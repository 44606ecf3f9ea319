/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings in memory: their samples, and each thing to which samples refer once. */
#ifndef OP_RECORDING_TREE_RECORDING_H
#define OP_RECORDING_TREE_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "export/format/collect/collect.h"
#include "recording/lines/lines.h"
#include "recording/read/requests.h"
#include "recording/requests/filter.h"

/* Options of looking up lines for native code. */
struct recording_lines {
	bool wanted;
	bool told;		      /* print on stderr what was found */
	struct lines_request request; /* seconds, memory; 0: the default */
};

enum {
	/* A recording with more samples is cut at this number, if their times are kept. */
	RECORDING_SAMPLES_MAX = 1 << 22,
};

struct recording_sample {
	uint64_t time_ns; /* Unix time */
	int64_t value;	  /* for a sample of a clock, the ns that it stands for */
	uint32_t stack;	  /* of the collection */
};

/* The contents of recordings. */
struct recording {
	struct op_collect *c;
	bool timed;
	/* the samples with their times, if times are kept */
	OP_VEC(struct recording_sample) samples;
};

struct recording_request {
	enum op_collect_detail detail;
	bool timed;
	const struct filter *filter; /* NULL: everything is read */
	const char *label_key;	     /* of the collection; NULL: none */
	bool times;		     /* op_collect_keep_times() */
	struct recording_lines lines;
};

/* Read all requests of @paths into the empty @ret; the caller calls recording_clear() in every
 * case. Returns 0, or STATUS_FAILED after a message. */
int recording_collect(char *const *paths, size_t len,
		      const struct recording_request *request, struct recording *ret);
/* The same. A filter that lets nothing pass is a failure, too. */
int recording_load(char *const *paths, size_t len,
		   const struct recording_request *request, struct recording *ret);
void recording_clear(struct recording *r);

#endif
