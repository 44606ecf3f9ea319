/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables that the formats build from requests: strings, functions, locations,
 * processes and stacks, each stored once, and a value for each stack. Entry 0 of the
 * strings is "", entry 0 of the mappings is "none"; the other tables begin with real
 * entries.
 */
#ifndef OP_EXPORT_FORMAT_COLLECT_COLLECT_H
#define OP_EXPORT_FORMAT_COLLECT_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/minheap.h"
#include "base/vec.h"
#include "otlp/reader.h"

/* A table of strings, each stored once; number 0 is "". */
struct op_string_place {
	size_t offset; /* in text */
	size_t len;
};

struct op_strings {
	uint64_t seed;
	OP_VEC(char) text;
	OP_VEC(struct op_string_place) places;
	struct op_index index;
};

/* Make the table, which is all zero, with string 0. Returns 0 or -ENOMEM. */
int op_strings_init(struct op_strings *s, uint64_t seed);
void op_strings_deinit(struct op_strings *s);
/* The number of a string, which is added if it is not there. Returns 0 or -ENOMEM. */
int op_strings_add(struct op_strings *s, struct otlp_text text, uint32_t *ret);
/* Not NUL-terminated; valid until the next op_strings_add(). */
struct otlp_text op_strings_get(const struct op_strings *s, uint32_t number);

/*
 * The newest window of values that are a state at one moment: memory in use, threads,
 * goroutines. They are not summed over time. Of each process only the newest window
 * counts, if none of its host began after it: then the process has ended. Windows that
 * overlap are those of several recorders, whose processes add up. Recordings that are
 * read together may come from several hosts.
 */
#define OP_MOMENT_NONE UINT32_MAX

struct op_moment {
	uint32_t kind;	  /* its number for the caller */
	uint32_t host;	  /* hosts */
	uint32_t process; /* its number for the caller; OP_MOMENT_NONE: of all */
	uint32_t all;	  /* the moment of all processes */
	uint64_t time_ns; /* when the newest window began; 0 at first */
	uint64_t end_ns;
	OP_VEC(uint32_t) stacks; /* the caller's stacks with a value of it */
	struct op_minheap ends; /* of all processes: moments by the end of their window */
};

struct op_moments {
	struct op_strings hosts; /* values besides those that a format writes */
	OP_VEC(struct op_moment) all;
	struct op_index index;
};

/* Make the table, which is all zero. Returns 0 or -ENOMEM. */
int op_moments_init(struct op_moments *m, uint64_t seed);
void op_moments_deinit(struct op_moments *m);

/* Are values of @type a state at one moment, and not events of a window? */
bool op_moments_has_type(struct otlp_text type);

/* Note that @stack has a value of @moment, so that a newer window finds it. Returns 0 or -ENOMEM. */
int op_moments_note(struct op_moments *m, uint32_t moment, uint32_t stack);

/* The number of the moment of the value of @v in @p, of @kind and @process, or
 * OP_MOMENT_NONE for a value that is summed. Returns 0 or -ENOMEM. */
int op_moments_find(struct op_moments *m, const struct otlp_profiles *p,
		    const struct otlp_sample_view *v, uint32_t kind, uint32_t process,
		    uint32_t *ret);

/* Does the window of @moment that began at @time_ns count, of all that were added? */
bool op_moments_counts(const struct op_moments *m, uint32_t moment, uint64_t time_ns);

enum {
	/* Kinds of samples. Each sample searches them. Beyond the limit op_collect_add()
	 * returns -EFBIG. */
	OP_COLLECT_KINDS_MAX = 1024,
};

/*
 * Time, thread and trace of the samples of a stack: one entry for each bin of time,
 * thread and trace. Bins are as fine as the limit allows. Beyond it they are doubled, and
 * then traces and threads are no longer distinguished.
 */
enum {
	OP_TIMES_MAX = 1 << 20, /* entries */
	OP_TIMES_BINS = 1024,	/* for the whole time, if there are too many entries */
	OP_TIMES_THREADS = 1 << 16,
	OP_TIMES_TRACES = 1 << 12,
	OP_TIMES_WINDOWS = 1 << 12,
	OP_TIMES_NONE = 0, /* no thread or trace, or one beyond the limit */
	OP_TIMES_TRACE_BYTES = 16,
};

struct op_times_entry {
	uint64_t tick; /* Unix time in bins of 1 << shift ns */
	int64_t value; /* for a clock, the time in ns that the samples cover */
	uint32_t stack;
	uint32_t thread;
	uint32_t trace;
};

struct op_times_thread {
	int64_t id;
	uint32_t process;
	uint32_t name; /* strings */
};

struct op_times_trace {
	uint8_t id[OP_TIMES_TRACE_BYTES];
};

struct op_times_window {
	uint64_t start_ns;
	uint64_t end_ns;
};

struct op_times {
	unsigned int shift;
	size_t max; /* OP_TIMES_MAX */
	OP_VEC(struct op_times_entry) entries;
	OP_VEC(struct op_times_thread) threads; /* 0: OP_TIMES_NONE */
	OP_VEC(struct op_times_trace) traces;	/* 0: OP_TIMES_NONE */
	OP_VEC(struct op_times_window) windows; /* time spans with recordings */
	struct op_index thread_index;
	struct op_index trace_index;
	bool threads_lost; /* some are no longer distinguished */
	bool traces_lost;
	size_t stacks_len; /* of the collection of the entries' stacks */
	bool full;	   /* more stacks than entries: no entries */
	/* by kind: only the time of the window is known */
	bool summed[OP_COLLECT_KINDS_MAX];
};

enum {
	/* Distinct stacks. Samples of further ones keep their process and kind, and get
	 * one frame that says so. */
	OP_COLLECT_STACKS_MAX = 1 << 20,
	/* Pairs of process and kind of such samples. Beyond it op_collect_add() returns
	 * -ENOSPC and the request counts as dropped. */
	OP_COLLECT_OTHERS_MAX = 1 << 16,
};

/* Details by which stacks are distinguished. */
enum op_collect_detail {
	OP_COLLECT_FUNCTIONS, /* functions and processes */
	OP_COLLECT_LINES,     /* also lines and reasons */
	OP_COLLECT_LOCATIONS, /* also addresses and threads */
	OP_COLLECT_TRACES,    /* also the traces that samples are linked to */
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
	uint32_t column;
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
	uint32_t container_name;
	uint32_t service_name;
	uint32_t none; /* 0: processes are compared by their bytes */
};

struct op_collect_kind {
	uint32_t type; /* strings: "samples", "count", "cpu", "nanoseconds" */
	uint32_t unit;
	uint32_t period_type;
	uint32_t period_unit;
	int64_t period; /* 0: none, or several: export/format/collect/kinds.h */
	/* the recorded type and unit; they differ from those above if the kind is
	 * weighed */
	uint32_t counted_type;
	uint32_t counted_unit;
};

struct op_collect_stack {
	uint32_t kind;
	uint32_t process;
	uint32_t thread_name; /* strings */
	uint32_t locations;   /* first of location_numbers; leaf first */
	int64_t thread_id;    /* -1: threads are not distinguished */
	uint32_t locations_len;
	uint32_t moment; /* moments; OP_MOMENT_NONE: the value is a sum */
	uint32_t trace;	 /* strings: its id in hexadecimal digits; 0: none */
	/* strings: off_cpu.reason, wall.state, lock.type, thread.state */
	uint32_t reason;
	uint32_t samples; /* with a time each, if they have one; stops at the largest */
	uint32_t label;	  /* strings: the value of the collection's label_key; 0: none */
	int64_t value;
	int64_t approximate; /* the part with only the nearest known function of Java */
	int64_t guessed;     /* the part in samples with a guessed frame */
	double lost;	     /* estimate of what is missing: the share of lost samples */
};

enum {
	OP_COLLECT_RECENT = 1024
};

/* A text of a request, by its position, and its number among the strings. */
struct op_collect_recent {
	const char *data;
	size_t len;
	uint64_t request;
	uint32_t number;
};

/* By hash, the numbers of what is in the tables. */
struct op_collect_indexes {
	struct op_index functions;
	struct op_index mappings;
	struct op_index locations;
	struct op_index processes;
	struct op_index stacks;
};

struct op_collect {
	enum op_collect_detail detail;
	/* An attribute of samples or of their processes that distinguishes stacks, too;
	 * may be NULL. Of several keys, separated by commas, the first one of a sample
	 * counts. The caller's; set before the first op_collect_add(). */
	const char *label_key;
	uint64_t seed;
	struct op_strings strings;
	struct op_moments moments;
	OP_VEC(struct op_collect_function) functions;
	OP_VEC(struct op_collect_mapping) mappings;
	OP_VEC(struct op_collect_line) lines;
	OP_VEC(struct op_collect_location) locations;
	OP_VEC(struct op_collect_process) processes;
	OP_VEC(struct op_collect_kind) kinds;
	OP_VEC(uint32_t) location_numbers;
	/* for each location of the current request: our number + 1, or 0 if it was not
	 * met yet */
	OP_VEC(uint32_t) met;
	OP_VEC(struct op_collect_stack) stacks;
	size_t stacks_max; /* OP_COLLECT_STACKS_MAX */
	struct op_collect_indexes index;
	uint64_t start_ns; /* start of the first profile; 0: none */
	uint64_t end_ns;
	struct op_times *times; /* NULL: not kept */
	uint32_t host; /* strings: host.name of the first resource that has one */
	bool hosts_differ;
	/* For a heading, what requests do not contain. The caller who recorded them
	 * sets it. */
	const char *command; /* the command as it was typed; NULL: none */
	bool none_lost;	     /* of the samples that the rules let pass */
	/* Samples; those with neither a value nor a time; those that refer to what is not there. */
	uint64_t samples, samples_empty, samples_astray;
	uint64_t requests; /* how many were added, the last one recently */
	struct op_collect_recent recent[OP_COLLECT_RECENT];
};

int op_collect_new(enum op_collect_detail detail, struct op_collect **ret);
struct op_collect *op_collect_free(struct op_collect *c);
OP_DEFINE_CLEANUP(struct op_collect *, op_collect_free)

/* From now on keep the times of samples. Returns 0 or -ENOMEM. */
int op_collect_keep_times(struct op_collect *c);
struct op_times *op_times_free(struct op_times *t);
/* Note the times of the samples of @v, which have @stack. Returns 0 or -ENOMEM. */
int op_times_add(struct op_collect *c, const struct otlp_profiles *p,
		 const struct otlp_sample_view *v, uint32_t stack);
/* Renumber the stacks: @numbers has the new number of each, or UINT32_MAX for one that
 * is gone. @stacks_len are left. Without this call the times of a changed collection
 * are not used. */
void op_times_renumber(struct op_times *t, const uint32_t *numbers, size_t stacks_len);
/* Note the names of the hosts, for a heading. Returns 0 or -ENOMEM. */
int op_times_add_hosts(struct op_collect *c, const struct otlp_profiles *p);
/* Sort the windows, and join those that touch. */
void op_times_join_windows(struct op_times *t);

/*
 * Add one ExportProfilesServiceRequest. Values are summed, except those of one moment (memory
 * in use, threads, goroutines), of which only the last window of each host counts. Returns 0,
 * -EBADMSG, -EFBIG, -ENOSPC or -ENOMEM; after an error a part of the request may have been added.
 */
int op_collect_add(struct op_collect *c, const void *request, size_t len);

/* Called for each sample, with the number of its stack. Returns 0 or a negative errno. */
typedef int (*op_collect_fn)(void *data, const struct otlp_profiles *p,
			     const struct otlp_sample_view *v, uint32_t stack);
/* The same, and call @fn for each sample that counts. Returns the error of @fn. */
int op_collect_add_each(struct op_collect *c, const void *request, size_t len,
			op_collect_fn fn, void *data);

/* Steps of op_collect_add(). */
/* For values at one moment a newer window replaces an older one. Returns 1 if the window
 * of @v counts, 0, or -ENOMEM. */
int op_collect_is_newest(struct op_collect *c, const struct otlp_sample_view *v,
			 uint32_t moment);
/* Add a text of the present request. The same few texts come with each sample. The last
 * ones are cached by their position in the request, so that a long one is not read as
 * often. Returns 0 or -ENOMEM. */
int op_collect_add_text(struct op_collect *c, struct otlp_text text, uint32_t *ret);
/* Set thread, trace, reason and label of the stack of @v, if the collection distinguishes
 * stacks by them. Returns 0 or -ENOMEM. */
int op_collect_attributes(struct op_collect *c, const struct otlp_profiles *p,
			  const struct otlp_sample_view *v, struct op_collect_stack *ret);

/* Does the sample refer to a stack or an attribute that is not in its request? */
bool op_collect_is_astray(const struct otlp_profiles *p, const struct otlp_sample *s);
/* The number of lost samples for each sample that the profile's window kept. */
double op_collect_lost_of(const struct otlp_profiles *p,
			  const struct otlp_profile *profile);
/* The share of the lost samples of @kind among all that were taken, in per cent. */
double op_collect_lost_percent(const struct op_collect *c, uint32_t kind);
enum {
	OP_COLLECT_LOST_BYTES = 128
};
/* A sentence with that share. Returns @buf, or NULL if none were lost. */
const char *op_collect_lost_text(double percent, char *buf, size_t size);

/* A function at a location, from debug info. A NULL member: unknown. */
struct op_collect_source {
	const char *function; /* NULL: keep the location's function */
	const char *system_name;
	const char *file;
	uint32_t line;
	uint32_t start_line;
};

/*
 * Replace the lines of a location, innermost inlined function first. Call this after the
 * last op_collect_add(), because equal locations are not merged afterwards. Returns 0 or
 * -ENOMEM.
 */
int op_collect_set_lines(struct op_collect *c, uint32_t location,
			 const struct op_collect_source *lines, size_t len);

/* A sum of foreign values, which wraps around and so is never undefined behaviour. */
static inline int64_t op_collect_sum(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* The bytes of a string; not NUL-terminated. Valid until the next op_collect_add(). */
const char *op_collect_text(const struct op_collect *c, uint32_t string, size_t *ret_len);

/* A stack's functions, root first, with inlined ones written out, in a growing array. */
struct op_collect_path {
	uint32_t *data;
	size_t len;
	size_t cap;
};
int op_collect_path(const struct op_collect *c, const struct op_collect_stack *s,
		    struct op_collect_path *path);

#endif
