/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions and lines that were found for addresses of one image. They stay from window
 * to window, with their numbers in the open window. Past OP_NAMES_PLACES_MAX or
 * OP_NAMES_TEXT_MAX all are forgotten.
 */
#ifndef OP_PROCESS_IMAGE_NAMES_H
#define OP_PROCESS_IMAGE_NAMES_H

#include <stdbool.h>
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
	uint32_t epoch;	     /* the window's epoch in which `number` is valid */
	uint32_t number;     /* number in the window's table of functions */
};

/* A function that is inlined at an address, and its line there. */
struct op_place_line {
	uint32_t name; /* of names */
	uint32_t line;
};

/* An address. */
struct op_place {
	/* index in names, or OP_NAME_NONE: the function that the code belongs to */
	uint32_t name;
	uint32_t line;
	uint32_t inlined; /* index of the first in lines, innermost first */
	uint32_t inlined_len;
	uint32_t epoch;	   /* the window's epoch in which `location` is valid */
	uint32_t location; /* number in the window */
	bool switches;	   /* no unwind data is valid there: op_heights_switch() */
};

struct op_names {
	struct op_map64 by_address; /* ELF address -> index in places */
	/* start of a function, or hash of its name -> index in names */
	struct op_map64 by_key;
	OP_VEC(struct op_place) places;
	OP_VEC(struct op_place_line) lines;
	OP_VEC(struct op_name) names;
	struct op_strbuf text;
};

/* Is one of the limits reached? Then the next op_names_add() forgets all. */
bool op_names_are_full(const struct op_names *n);
/* Returns the place of an address, or NULL. */
struct op_place *op_names_get(struct op_names *n, uint64_t vaddr);
/* Add a place. Returns NULL without memory. Pointers to places and names become
 * invalid. */
struct op_place *op_names_add(struct op_names *n, uint64_t vaddr);
/* Copy @text into the names' text. Returns its offset, or SIZE_MAX without memory. */
size_t op_names_text(struct op_names *n, const char *text);
size_t op_names_bytes(const struct op_names *n);
void op_names_clear(struct op_names *n);

#endif
