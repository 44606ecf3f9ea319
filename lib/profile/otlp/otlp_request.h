/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request under construction: finished resources, the open resource and profile, and
 * the dictionary. Lengths are known before they are written, so every byte is encoded
 * only once.
 */
#ifndef OP_PROFILE_OTLP_OTLP_REQUEST_H
#define OP_PROFILE_OTLP_OTLP_REQUEST_H

#include "profile/otlp/dictionary.h"
#include "profile/otlp/encode.h"
#include "profile/otlp/kinds.h"
#include "profiles.pb.h"

enum {
	/* Pyroscope refuses profiles with more samples. */
	OP_OTLP_PROFILE_SAMPLES_MAX = 16000,
};

struct op_otlp_request {
	const struct op_window *w;
	const struct op_otlp_options *options;
	uint64_t start_ns; /* start of every profile */
	uint64_t end_ns;
	size_t max_bytes;

	struct op_dictionary dictionary;
	struct op_bytes body;	  /* finished ResourceProfiles */
	struct op_bytes scope;	  /* InstrumentationScope, the same in all resources */
	struct op_bytes resource; /* the open resource */
	struct op_bytes profiles; /* finished profiles of the open resource */
	struct op_bytes samples;  /* samples of the open profile */
	size_t resources;	  /* number of resources in body */
	size_t profile_samples;	  /* number of samples in samples */
	uint64_t taken;		  /* number of taken samples in the request */

	const struct op_otlp_kind *kind; /* kind of the open profile */
	uint32_t period_ns;		 /* its period; 0: that of the window */
	bool profile_open;
	otlp_ValueType type;
	otlp_ValueType period_type;

	int32_t attributes[OP_SAMPLE_ATTRIBUTES_MAX];
	OP_VEC(int64_t) values;
	OP_VEC(uint64_t) times;
};

/* Borrows all arguments until deinit. Returns 0 or -ENOMEM; call deinit in both cases. */
int op_otlp_request_init(struct op_otlp_request *q, const struct op_window *w,
			 const struct op_otlp_options *options);
void op_otlp_request_deinit(struct op_otlp_request *q);

/* The following samples belong to @resource. Returns 0 or -ENOMEM. */
int op_otlp_request_resource(struct op_otlp_request *q, uint32_t resource);
/* The following samples belong to @kind, and have the period @period_ns if the kind has one
 * (0: that of the window). Returns 0 or -ENOMEM. */
int op_otlp_request_profile(struct op_otlp_request *q, const struct op_otlp_kind *kind,
			    uint32_t period_ns);
/* Add as many samples of identity @e, from *@at on, as fit; *@at is advanced past them.
 * Returns their number, -ENOMEM, or -ENOSPC if none fits: nothing has changed then. */
int64_t op_otlp_request_add(struct op_otlp_request *q, const struct op_identity *e,
			    uint32_t *at, uint64_t left);
bool op_otlp_request_empty(const struct op_otlp_request *q);
/* Get the request as bytes from malloc, and begin the next one for the same resource and
 * kind. Returns 0 or -ENOMEM. */
int op_otlp_request_finish(struct op_otlp_request *q, void **ret, size_t *ret_len,
			   uint64_t *ret_samples);

#endif
