/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the formats keep of the requests given to them: strings, functions, locations,
 * processes and stacks, each held once, and a value for each stack. Entry 0 of the strings
 * is "", entry 0 of the mappings is "none"; the other tables begin with real entries.
 */
#ifndef OP_FORMAT_COLLECT_H
#define OP_FORMAT_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/vec.h"

/* Distinct stacks kept; the next one is -ENOSPC and its request counts as dropped. */
enum {
	OP_COLLECT_STACKS_MAX = 1 << 20
};

/* How much is told apart. */
enum op_collect_detail {
	OP_COLLECT_FUNCTIONS, /* stacks of functions, by process */
	OP_COLLECT_LOCATIONS, /* and lines, addresses, threads */
};

struct op_collect_string {
	size_t offset; /* in text */
	size_t len;
};

struct op_collect_function {
	uint32_t name; /* strings */
	uint32_t system_name;
	uint32_t file;
	uint32_t type;
	uint32_t module;
	uint32_t start_line;
};

struct op_collect_mapping {
	uint64_t start;
	uint64_t limit;
	uint64_t offset;
	uint32_t file; /* strings */
	uint32_t build_id;
};

struct op_collect_line {
	uint32_t function;
	uint32_t line;
};

struct op_collect_location {
	uint64_t address;
	uint32_t mapping;
	uint32_t lines; /* first of the lines; innermost inlined function first */
	uint32_t lines_len;
};

struct op_collect_process {
	int64_t pid;
	uint32_t name; /* strings */
	uint32_t path;
	uint32_t container_id;
	uint32_t service_name;
};

struct op_collect_kind {
	uint32_t type; /* strings: "samples", "count", "cpu", "nanoseconds" */
	uint32_t unit;
	uint32_t period_type;
	uint32_t period_unit;
	int64_t period;
	uint64_t
		moment_ns; /* what is in use: values are of the profile that began then */
};

struct op_collect_stack {
	uint32_t kind;
	uint32_t process;
	uint32_t thread_name; /* strings */
	uint32_t locations;   /* first of location_numbers; leaf first */
	int64_t thread_id;    /* -1: not told apart */
	uint32_t locations_len;
	int64_t value;
};

struct op_collect {
	enum op_collect_detail detail;
	uint64_t seed;
	OP_VEC(char) text;
	OP_VEC(struct op_collect_string) strings;
	OP_VEC(struct op_collect_function) functions;
	OP_VEC(struct op_collect_mapping) mappings;
	OP_VEC(struct op_collect_line) lines;
	OP_VEC(struct op_collect_location) locations;
	OP_VEC(struct op_collect_process) processes;
	OP_VEC(struct op_collect_kind) kinds;
	OP_VEC(uint32_t) location_numbers;
	OP_VEC(struct op_collect_stack) stacks;
	struct op_index string_index;
	struct op_index function_index;
	struct op_index mapping_index;
	struct op_index location_index;
	struct op_index process_index;
	struct op_index stack_index;
	uint64_t start_ns; /* of the first profile; 0: there is none */
	uint64_t end_ns;
};

int op_collect_new(enum op_collect_detail detail, struct op_collect **ret);
struct op_collect *op_collect_free(struct op_collect *c);
OP_DEFINE_CLEANUP(struct op_collect *, op_collect_free)

/* Add one ExportProfilesServiceRequest. Values are summed; those of what is in use
 * ("inuse_space", "inuse_objects") are of the last window alone. Returns 0, -EBADMSG, -ENOSPC or -ENOMEM; then a
 * part of it may have been added. */
int op_collect_add(struct op_collect *c, const void *request, size_t len);

/* A function at a location, as debug info tells of it. NULL: not told. */
struct op_collect_source {
	const char *function; /* NULL: the function that the location has */
	const char *system_name;
	const char *file;
	uint32_t line;
	uint32_t start_line;
};

/* Give a location other lines, innermost inlined function first. Only when nothing is added any
 * more: equal locations are not found again. Returns 0 or -ENOMEM. */
int op_collect_set_lines(struct op_collect *c, uint32_t location,
			 const struct op_collect_source *lines, size_t len);

/* Values come from elsewhere: a sum wraps instead of being undefined. */
static inline int64_t op_collect_sum(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* The bytes of a string; not NUL-terminated. Valid until the next op_collect_add(). */
const char *op_collect_text(const struct op_collect *c, uint32_t string, size_t *ret_len);

/* Functions of a stack, root first, inlined ones written out, into a growing array. */
struct op_collect_path {
	uint32_t *data;
	size_t len;
	size_t cap;
};
int op_collect_path(const struct op_collect *c, const struct op_collect_stack *s,
		    struct op_collect_path *path);

#endif
