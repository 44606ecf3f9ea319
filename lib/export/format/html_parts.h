/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the page's writer. The page itself is an array, made by
 * embed.py. */
#ifndef OP_EXPORT_FORMAT_HTML_PARTS_H
#define OP_EXPORT_FORMAT_HTML_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "export/format/collect/collect.h"
#include "export/format/collect/idle.h"

extern const unsigned char op_html_page[];
extern const size_t op_html_page_len;

/* A stack as a path of functions, root first, in one pool of all paths. */
struct html_path {
	size_t first;
	size_t len;
	int64_t value;
	const uint32_t *pool; /* set before sorting */
	uint32_t stack;
	uint32_t kind;
	uint32_t process;
};

/* The last node of a stack's path. */
struct html_place {
	uint32_t tree;
	int64_t node; /* -1: it has no frames */
};

struct html {
	const struct op_collect *c;
	struct op_strbuf out;
	OP_VEC(uint32_t) pool;
	OP_VEC(struct html_path) paths;
	uint8_t *classes;	     /* of functions */
	struct op_idle *idle;	     /* of kinds */
	struct html_place *place_of; /* of stacks, once the trees are written */
	uint32_t trees;
};

/* Write ",\"lines\":[...]": for each kind and function its heaviest lines. Returns 0 or -ENOMEM. */
int op_html_put_lines(struct html *h);
/* Write the times of the samples as JSON. Returns 0 or -ENOMEM. */
int op_html_put_times(struct html *h);

#endif
