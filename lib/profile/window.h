/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One window: the dictionary and the samples of one export. Every table is interned by
 * its whole content, and contents are compared on a hash hit, so two entries are merged
 * only if they are equal. Entry 0 of each table is the zero value. A sample's identity is
 * its resource, event, stack, thread, name, CPU, link, period, type and labels; samples with equal
 * identities are merged, and each keeps its timestamp and value.
 *
 * Returned numbers are indices into the window's tables, valid until op_window_reset().
 * All calls return 0 or -ENOMEM, or -ENOSPC when limit_bytes is reached.
 */
#ifndef OP_PROFILE_WINDOW_H
#define OP_PROFILE_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "op_user_types.h"

/* A dictionary attribute: key, and a string or a number. */
struct op_attribute {
	uint32_t key;	 /* string */
	uint32_t string; /* string; if is_int is 0 */
	int64_t integer;
	uint32_t is_int;
	uint32_t unit; /* string, 0: none */
};

struct op_function {
	uint32_t name; /* strings */
	uint32_t system_name;
	uint32_t file;
	uint32_t start_line;
};

enum {
	OP_ATTRIBUTES_MAX = 16
};

/* A set of attributes by their numbers, ascending. */
struct op_attribute_set {
	uint32_t len;
	uint32_t index[OP_ATTRIBUTES_MAX];
};

struct op_window_mapping {
	/* ELF addresses of the segment; location addresses are ELF addresses, too */
	uint64_t start;
	uint64_t limit;
	uint64_t offset; /* in the file */
	uint32_t file;	 /* string */
	uint32_t reserved0;
	struct op_attribute_set attributes; /* build ids */
};

/* Compared as bytes. */
struct op_line {
	uint32_t function;
	uint32_t line;
	uint32_t column; /* counted from 1; 0: unknown */
};

enum {
	OP_LINES_MAX = 32
};

struct op_location {
	uint64_t address; /* ELF address; 0 for an interpreted frame */
	uint32_t mapping;
	uint32_t lines_len;
	struct op_line lines[OP_LINES_MAX]; /* innermost inlined function first */
	struct op_attribute_set attributes; /* profile.frame.type */
};

struct op_link {
	uint8_t trace_id[16];
	uint8_t span_id[8];
};

/* The type of an attribute's text in op_resource.attributes. */
enum op_value_type {
	OP_VALUE_STRING = 's',
	OP_VALUE_INT = 'i',    /* decimal */
	OP_VALUE_BOOL = 'b',   /* 0 or 1 */
	OP_VALUE_DOUBLE = 'd', /* 16 hex digits: the bits of an IEEE 754 double */
};

/* The process: one OTLP resource. Members are strings; 0: absent. It is compared as
 * bytes, so it has no padding. */
struct op_resource {
	uint32_t pid;
	/* pid in the process's own namespace; 0: the same as pid */
	uint32_t namespace_pid;
	uint32_t container_id;
	uint32_t container_name;
	uint32_t pod_uid;
	uint32_t executable_name;
	uint32_t executable_path;
	uint32_t service_name;
	uint32_t command_args; /* one string with a NUL between arguments */
	/* One string. For each attribute: its key and a NUL, its type (enum
	 * op_value_type), its text and a NUL. */
	uint32_t attributes;
	uint32_t attributes_dropped; /* number of arguments that were left out */
	uint32_t cgroup_path;	     /* in cgroup v2 */
	uint32_t user;		     /* the real one, + 1; 0: not known */
	uint32_t reserved0;
	uint64_t start_time_ns; /* distinguishes processes that reuse a pid */
};

/* A sample to add. */
struct op_window_sample {
	uint32_t resource;
	uint32_t event; /* enum op_event */
	uint32_t stack;
	uint32_t tid;
	uint32_t comm; /* string: thread.name */
	uint32_t cpu;
	uint32_t link; /* 0: none */
	/* Of a clock's tick; 0: the window's. Of a type of its own: events; 0: they differ. */
	uint32_t period_ns;
	/* A type of its own, in which its value counts, and the unit (strings); 0: none. */
	uint32_t type;
	uint32_t unit;
	uint32_t alone; /* it counts only in that type, and not in its event's kind */
	struct op_attribute_set labels;
	uint64_t time_ns; /* Unix time */
	uint32_t hits;	  /* how many such samples it stands for; 0: one */
	int64_t value;
	double count; /* number of events it stands for; 0: one */
};

enum {
	/* op_window_sample.cpu of a sample that belongs to a process and no thread: it
	 * gets no attributes of thread and CPU. */
	OP_WINDOW_NO_THREAD = -1,
};

struct op_window;

struct op_window_config {
	uint64_t period_ns; /* of CPU samples without a period of their own */
	size_t limit_bytes; /* memory of the window; 0: 64 MiB */
};

int op_window_new(const struct op_window_config *config, struct op_window **ret);
struct op_window *op_window_free(struct op_window *w);
OP_DEFINE_CLEANUP(struct op_window *, op_window_free)
/* Empty the window for its next use; keeps the memory. Changes op_window_epoch(). */
void op_window_reset(struct op_window *w);

/* A number that no other window has had: callers may cache indices under it. Never 0. */
uint32_t op_window_epoch(const struct op_window *w);
size_t op_window_bytes(const struct op_window *w);
uint64_t op_window_samples(const struct op_window *w); /* taken samples held */
void op_window_set_period(struct op_window *w, uint64_t period_ns); /* while empty */

int op_window_string(struct op_window *w, const char *s, size_t len, uint32_t *ret);
int op_window_attribute(struct op_window *w, const struct op_attribute *a, uint32_t *ret);
int op_window_function(struct op_window *w, const struct op_function *f, uint32_t *ret);
int op_window_mapping(struct op_window *w, const struct op_window_mapping *m,
		      uint32_t *ret);
int op_window_location(struct op_window *w, const struct op_location *l, uint32_t *ret);
/*
 * If the functions of location @outer are the outermost ones of location @inner, fewer
 * than those, and fewer than @below: returns their number. Otherwise 0.
 */
uint32_t op_window_inlined(const struct op_window *w, uint32_t inner, uint32_t below,
			   uint32_t outer);
int op_window_link(struct op_window *w, const struct op_link *l, uint32_t *ret);
/* @locations: leaf first. */
int op_window_stack(struct op_window *w, const uint32_t *locations, size_t len,
		    uint32_t *ret);
/* Does one of the first @frames frames of @stack, leaf first, have a function whose
 * name contains one of the @len texts of @parts? */
bool op_window_stack_names(const struct op_window *w, uint32_t stack, uint32_t frames,
			   const char *const *parts, size_t len);
int op_window_resource(struct op_window *w, const struct op_resource *r, uint32_t *ret);
int op_window_add(struct op_window *w, const struct op_window_sample *s);

/* Add the attribute "key" = "value" in one call. */
int op_window_string_attribute(struct op_window *w, const char *key, const char *value,
			       uint32_t *ret);

#endif
