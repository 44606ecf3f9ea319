/* SPDX-License-Identifier: Apache-2.0 */
/* A probe's specification, and the place it means. */
#ifndef OP_PROBE_SPEC_H
#define OP_PROBE_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "op_user_types.h"

enum op_probe_type {
	OP_PROBE_KERNEL, /* kprobe */
	OP_PROBE_USER,
	OP_PROBE_STATIC, /* USDT */
	OP_PROBE_TRACEPOINT,
};

enum {
	OP_PROBE_TEXT_BYTES = 1024, /* of a specification, with its NUL */
	OP_PROBE_SITES_MAX = 16,    /* of one static probe, which may be inlined */
};

/* Strings point into `text`. */
struct op_probe_spec {
	enum op_probe_type type;
	bool is_return;
	const char *file; /* absolute; of user and static ones, else NULL */
	const char *provider;
	const char *symbol; /* or the name of a tracepoint or static probe */
	uint64_t offset;    /* from the symbol */
	char text[OP_PROBE_TEXT_BYTES];
};

/* Where in the file breakpoints are to stand. */
struct op_probe_place {
	uint32_t sites_len;
	uint64_t site[OP_PROBE_SITES_MAX];	/* file offsets */
	uint64_t semaphore[OP_PROBE_SITES_MAX]; /* of a static one; 0: it has none */
	/* of a static one: the first arguments that can be read there */
	uint32_t arguments_len[OP_PROBE_SITES_MAX];
	struct op_argument argument[OP_PROBE_SITES_MAX][OP_ARGUMENTS_MAX];
};

/* Take @text apart. 0, or -EINVAL. @ret is not to be moved. */
int op_probe_spec_parse(const char *text, struct op_probe_spec *ret);
/* Find the place in its file. 0; -ENOENT: not there; -errno of reading. */
int op_probe_place_find(const struct op_probe_spec *spec, struct op_probe_place *ret);

#endif
