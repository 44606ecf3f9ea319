/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a window, for its encoder. Lists of varying length are in pools and are
 * given by a span. All arrays are emptied, not freed, between windows. */
#ifndef OP_PROFILE_WINDOW_TABLES_H
#define OP_PROFILE_WINDOW_TABLES_H

#include "base/hash.h"
#include "base/vec.h"
#include "profile/window.h"

enum {
	OP_STRING_MAX_BYTES = 65535, /* longer strings are cut, as backends do too */
	OP_WINDOW_LIMIT_BYTES = 64 << 20,
	/* thread id, thread name, CPU; labels */
	OP_SAMPLE_ATTRIBUTES_MAX = 3 + OP_ATTRIBUTES_MAX,
};

/* The strings that every window begins with. */
enum op_fixed_string {
	OP_STRING_NONE = 0,
	OP_STRING_THREAD_ID,
	OP_STRING_THREAD_NAME,
	OP_STRING_CPU,
	OP_STRINGS_FIXED,
};

/* The range [first, first + len) of a pool. */
struct op_span {
	uint32_t first;
	uint32_t len;
};

struct op_mapping_entry {
	uint64_t start;
	uint64_t limit;
	uint64_t offset;
	uint32_t file;
	struct op_span attributes; /* in numbers */
};

struct op_location_entry {
	uint64_t address;
	uint32_t mapping;
	struct op_span lines;
	struct op_span attributes; /* in numbers */
};

/* The common part of the samples that OTLP merges into one. */
struct op_identity {
	uint32_t resource;
	uint32_t event;
	uint32_t stack;
	uint32_t tid;
	uint32_t comm;
	uint32_t cpu;
	uint32_t link;
	uint32_t period_ns;
	uint32_t type;
	uint32_t unit;
	uint32_t alone;
	uint32_t hits;		   /* how many a sample of it stands for; 0: one */
	struct op_span labels;	   /* in numbers */
	struct op_span attributes; /* in numbers: labels, thread and CPU */
	uint32_t count;		   /* number of samples */
	uint32_t first;		   /* head of their list in taken */
	uint32_t last;
	uint32_t several; /* a sample counts for several events */
};

static const uint32_t OP_TAKEN_END = UINT32_MAX;

/* One taken sample. */
struct op_taken {
	uint64_t time_ns;
	int64_t value;
	/* next sample of the identity, in the order of adding; or OP_TAKEN_END */
	uint32_t next;
	float count; /* number of events that it counts for */
};

enum op_window_table {
	OP_TABLE_STRING,
	OP_TABLE_ATTRIBUTE,
	OP_TABLE_FUNCTION,
	OP_TABLE_MAPPING,
	OP_TABLE_LOCATION,
	OP_TABLE_LINK,
	OP_TABLE_STACK,
	OP_TABLE_RESOURCE,
	OP_TABLE_IDENTITY,
	OP_TABLES,
};

struct op_window {
	struct op_window_config config;
	uint64_t seed;
	size_t bytes; /* memory of the arrays below */
	uint32_t epoch;
	uint64_t strings_cut;	 /* strings cut at OP_STRING_MAX_BYTES */
	uint64_t strings_mended; /* strings that were not valid UTF-8 */

	OP_VEC(char) chars;	  /* pool: strings, a NUL after each */
	OP_VEC(uint32_t) numbers; /* pool: stacks and attribute sets */
	OP_VEC(struct op_line) lines;

	OP_VEC(struct op_span) strings; /* in chars */
	OP_VEC(struct op_attribute) attributes;
	OP_VEC(struct op_function) functions;
	OP_VEC(struct op_mapping_entry) mappings;
	OP_VEC(struct op_location_entry) locations;
	OP_VEC(struct op_link) links;
	OP_VEC(struct op_span) stacks;	       /* in numbers */
	OP_VEC(struct op_resource) resources;  /* no zero entry */
	OP_VEC(struct op_identity) identities; /* no zero entry */
	OP_VEC(struct op_taken) taken;
	struct op_index index[OP_TABLES];
};

static inline const char *op_window_chars(const struct op_window *w, uint32_t string)
{
	return w->chars.data + w->strings.data[string].first;
}

static inline const uint32_t *op_window_numbers(const struct op_window *w,
						struct op_span span)
{
	return w->numbers.data + span.first;
}

/* The number of an existing string, or UINT32_MAX. */
uint32_t op_window_find_string(const struct op_window *w, const char *s, size_t len);
/* The same of an attribute. */
uint32_t op_window_find_attribute(const struct op_window *w,
				  const struct op_attribute *a);

/* ---- for the files of this folder only ---- */

/* Reserve memory for @more elements within the limit. Returns 0, -ENOMEM or -ENOSPC. */
int op_window_grow(struct op_window *w, void **data, size_t *cap, size_t len, size_t more,
		   size_t elem_size);
#define op_window_reserve(w, v, more)                                                    \
	op_window_grow(w, (void **)&(v)->data, &(v)->cap, (v)->len, more,                \
		       sizeof(*(v)->data))

/* op_index_add() within the limit. */
int op_window_index_add(struct op_window *w, enum op_window_table table, uint32_t hash,
			uint32_t number);

/* Hash of a fixed part and of a list of numbers. */
uint32_t op_window_hash(const struct op_window *w, const void *fixed, size_t fixed_bytes,
			const uint32_t *list, size_t len);

/* Copy @in sorted, with each key once: the first attribute of a key is kept. */
void op_window_clean_set(const struct op_window *w, const struct op_attribute_set *in,
			 struct op_attribute_set *ret);

#endif
