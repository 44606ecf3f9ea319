/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes a window as ExportProfilesServiceRequest messages of OTLP profiles
 * v1development (proto 1.10 and 1.11). A request has one dictionary with exactly the
 * entries it uses, and stays below max_bytes: a large window becomes several requests,
 * cut between samples.
 */
#ifndef OP_PROFILE_OTLP_ENCODE_H
#define OP_PROFILE_OTLP_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "profile/window.h"

struct op_otlp_attribute {
	const char *key;
	const char *value;
};

struct op_otlp_options {
	size_t max_bytes;  /* limit of one request before compression; 0: 4,000,000 */
	uint64_t start_ns; /* Unix time at which the window began */
	/* Unix time at which it ended; extended to hold every timestamp, half-open */
	uint64_t end_ns;
	const char *version; /* of the library; becomes the scope version */
	/* on every resource, such as host.name */
	const struct op_otlp_attribute *attributes;
	size_t attributes_len;
	/* by kind, samples of the window's time that were lost; NULL: none */
	const uint64_t *lost;
};

/*
 * Receives one encoded request. @bytes is from malloc and owned by the callee, also on
 * failure. @samples: number of samples in it. Returns 0, or -errno, which ends the
 * encoding.
 */
typedef int (*op_otlp_emit_fn)(void *data, void *bytes, size_t len, uint64_t samples);

/*
 * Encode @w. A sample that does not even fit into a request of its own is left out and
 * counted in *@ret_left_out. A window without samples emits nothing. Returns 0, -ENOMEM,
 * or what @emit returned.
 */
int op_otlp_encode(const struct op_window *w, const struct op_otlp_options *options,
		   op_otlp_emit_fn emit, void *data, uint64_t *ret_left_out);

#endif
