/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request under construction: finished resources, the resource and the profile that are
 * open, and the dictionary. Lengths are known before they are written, so every byte is
 * encoded once.
 */
#ifndef OP_OTLP_REQUEST_H
#define OP_OTLP_REQUEST_H

#include "otlp/dictionary.h"
#include "otlp/encode.h"
#include "otlp/kinds.h"
#include "profiles.pb.h"

enum {
	/* Pyroscope refuses profiles of more. */
	OP_OTLP_PROFILE_SAMPLES_MAX = 16000,
};

struct op_request {
	const struct op_window *w;
	const struct op_otlp_options *options;
	uint64_t start_ns; /* of every profile */
	uint64_t end_ns;
	size_t max_bytes;

	struct op_dictionary dictionary;
	struct op_bytes body;	  /* finished ResourceProfiles */
	struct op_bytes scope;	  /* InstrumentationScope, the same everywhere */
	struct op_bytes resource; /* Resource of the open one */
	struct op_bytes profiles; /* finished Profiles of the open resource */
	struct op_bytes samples;  /* of the open profile */
	size_t resources;	  /* in body */
	size_t profile_samples;	  /* in samples */
	uint64_t taken;		  /* samples in the request */

	const struct op_otlp_kind *kind; /* of the open profile */
	bool profile_open;
	otlp_ValueType type;
	otlp_ValueType period_type;

	int32_t attributes[OP_SAMPLE_ATTRIBUTES_MAX];
	OP_VEC(int64_t) values;
	OP_VEC(uint64_t) times;
};

/* Borrows all until deinit. Returns 0 or -ENOMEM; deinit in both cases. */
int op_request_init(struct op_request *q, const struct op_window *w,
		    const struct op_otlp_options *options);
void op_request_deinit(struct op_request *q);

/* Samples that follow are of @resource. Returns 0 or -ENOMEM. */
int op_request_resource(struct op_request *q, uint32_t resource);
/* Samples that follow are of @kind. Returns 0 or -ENOMEM. */
int op_request_profile(struct op_request *q, const struct op_otlp_kind *kind);
/*
 * Add of identity @e as many taken samples from *@at on as fit; *@at moves behind them.
 * Returns their number, -ENOMEM, or -ENOSPC where none fits: nothing has changed then.
 */
int64_t op_request_add(struct op_request *q, const struct op_identity *e, uint32_t *at,
		       uint64_t left);
bool op_request_empty(const struct op_request *q);
/*
 * The request as bytes of malloc, and begin the next one for the same resource and kind.
 * Returns 0 or -ENOMEM.
 */
int op_request_finish(struct op_request *q, void **ret, size_t *ret_len,
		      uint64_t *ret_samples);

#endif
