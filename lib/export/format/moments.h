/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which window counts of values that are the state of one moment: memory in use, threads,
 * goroutines. They are not summed over time. Of each host and each kind of values the newest
 * window counts, for recordings that are read as one may be of several hosts.
 */
#ifndef OP_EXPORT_FORMAT_MOMENTS_H
#define OP_EXPORT_FORMAT_MOMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "export/format/strings.h"
#include "otlp/reader.h"

#define OP_MOMENT_NONE UINT32_MAX

struct op_moment {
	uint32_t kind;	  /* the caller's number of it */
	uint32_t host;	  /* hosts */
	uint64_t time_ns; /* the newest so far, which the caller keeps; 0 at first */
};

struct op_moments {
	struct op_strings hosts; /* apart from those that a format writes out */
	OP_VEC(struct op_moment) all;
	struct op_index index;
};

/* Make the table, which is all zero. Returns 0 or -ENOMEM. */
int op_moments_init(struct op_moments *m, uint64_t seed);
void op_moments_deinit(struct op_moments *m);

/* Is a value of @type the state of one moment, and not what happened in a window? */
bool op_moments_has_type(struct otlp_text type);

/* The number of the moment that the value of @v, which is of @p, belongs to, or OP_MOMENT_NONE
 * for one that is summed. Returns 0 or -ENOMEM. */
int op_moments_find(struct op_moments *m, const struct otlp_profiles *p,
		    const struct otlp_sample_view *v, uint32_t kind, uint32_t *ret);

#endif
