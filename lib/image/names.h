/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was found of the addresses of one image: kept over windows, with their numbers in
 * the window that is open. Bounded: past OP_NAMES_PLACES_MAX and
 * OP_NAMES_TEXT_MAX it starts afresh.
 */
#ifndef OP_IMAGE_NAMES_H
#define OP_IMAGE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum {
	OP_NAMES_PLACES_MAX = 65536,
	OP_NAMES_TEXT_MAX = 2 << 20, /* bytes of names and files */
	OP_NAME_NONE = UINT32_MAX >> 1,
};

/* A function. */
struct op_name {
	size_t name; /* offsets in text */
	size_t system_name;
	size_t file;
	uint32_t start_line;
	uint32_t frame_type; /* enum op_frame_type */
	uint32_t epoch;	     /* of number */
	uint32_t number;     /* in the window's functions */
};

/* A function that is inlined at an address. */
struct op_place_line {
	uint32_t name; /* of names */
	uint32_t line;
};

/* An address. */
struct op_place {
	uint32_t name; /* of names, or OP_NAME_NONE: the function that the code is of */
	uint32_t line;
	uint32_t inlined; /* first of lines, innermost first */
	uint32_t inlined_len;
	uint32_t epoch;	   /* of location */
	uint32_t location; /* in the window */
};

struct op_names {
	struct op_map64 by_address; /* ELF address to place */
	struct op_map64 by_key;	    /* function's start, or hash of its name, to name */
	OP_VEC(struct op_place) places;
	OP_VEC(struct op_place_line) lines;
	OP_VEC(struct op_name) names;
	struct op_strbuf text;
};

/* The place of an address, or NULL. */
struct op_place *op_names_get(struct op_names *n, uint64_t vaddr);
/* A new place; NULL without memory. Pointers to places and names end here. */
struct op_place *op_names_add(struct op_names *n, uint64_t vaddr);
/* Copy @text in; its offset, or SIZE_MAX without memory. */
size_t op_names_text(struct op_names *n, const char *text);
size_t op_names_bytes(const struct op_names *n);
void op_names_clear(struct op_names *n);

#endif
