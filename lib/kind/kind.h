/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds of events that samples are taken for, one row each: which program runs at the
 * event, how that is attached, and what the samples are called in OTLP. A kind is a line of
 * op_kinds.def, bpf/event/NAME.bpf.c, lib/kind/NAME.c, tests/NAME/ and docs/kinds/NAME.md.
 */
#ifndef OP_KIND_KIND_H
#define OP_KIND_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kind/packed.h"
#include "op_user_types.h"

struct bpf_object;
struct perf_event_attr;

enum {
#define OP_KIND(number, upper, lower) OP_KIND_COUNT_##upper,
#include "op_kinds.def"
#undef OP_KIND
	OP_KINDS,
	OP_KIND_PROGRAMS_MAX = 3, /* of one kind: of its perf events, or of its hooks */
};

enum op_otlp_shape {
	OP_OTLP_TIMES,	      /* timestamps alone: each stands for one */
	OP_OTLP_TIMES_VALUES, /* a timestamp and a value each */
	OP_OTLP_SUM,	      /* one value: the sum */
	OP_OTLP_COUNT,	      /* one value: how many events they stand for */
};

enum op_otlp_period {
	OP_OTLP_PERIOD_NONE,
	OP_OTLP_PERIOD_WINDOW, /* the window's period_ns */
	OP_OTLP_PERIOD_ONE,    /* every event is taken */
};

/* What samples look like in OTLP: one row a profile. See docs/otlp.md for why. */
struct op_otlp_kind {
	uint32_t event; /* enum op_event */
	enum op_otlp_shape shape;
	const char *type;
	const char *unit;
	enum op_otlp_period period;
	const char *period_type; /* NULL without a period */
	const char *period_unit;
	/* Of a value that holds several: its bits from `shift` on, as many as `mask` has.
	 * mask 0: the whole value. */
	uint32_t shift;
	uint64_t mask;
	uint32_t scale; /* what a unit of those stands for; 0: 1 */
};

/* What perf events may depend on. */
struct op_kind_options {
	uint32_t rate_hz;
	bool idle; /* sample the idle task, too */
};

/* A raw tracepoint, and the program of the kind's object that runs there. */
struct op_kind_hook {
	const char *tracepoint; /* NULL: an iterator, which user space reads */
	const char *program;	/* NULL: the entry, which walks stacks */
};

/* How large the maps are that the hooks' programs share. */
struct op_kind_sizes {
	uint32_t threads;    /* of all processes */
	uint32_t kick_bytes; /* of each of its rings, a power of two */
};

/* What a kind makes the attributes of a sample from. */
struct op_kind_sample {
	uint64_t value;
	uint32_t extra;
	uint32_t detail;
	const char *sysfs_root;
};

enum {
	OP_KIND_ATTRIBUTES_MAX = 4,
	OP_KIND_TEXT_BYTES = 64,
};

struct op_kind_attribute {
	const char *key;
	bool is_integer;
	int64_t integer;
	char text[OP_KIND_TEXT_BYTES];
};

struct op_kind {
	enum op_event event;
	const char *name;
	const char *says; /* for messages: "sampling of the CPUs" */

	/* The kernel's side: an object with the programs op_NAME and op_NAME_whole. */
	const struct op_packed_object *object;
	uint32_t program_type; /* enum bpf_prog_type */
	/* Walks of it that may be under way on a CPU at once; of perf events it is one. */
	uint32_t slots;
	/*
	 * Either hooks, at most OP_KIND_PROGRAMS_MAX, attached in this order: their programs
	 * share the maps of one object, which size() prepares (NULL: nothing is to be).
	 */
	const struct op_kind_hook *hooks;
	size_t hooks_len;
	int (*size)(struct bpf_object *object, const struct op_kind_sizes *sizes);
	bool kicks; /* they ask for interrupts by records in its rings op_kicks_0 to _3 */
	bool holds; /* samples wait in op_held until their event ends */
	/* Or perf events on each CPU; at most OP_KIND_PROGRAMS_MAX. The entry is loaded for each,
	 * with the event's number as op_record.detail. */
	uint32_t perf_events;
	void (*perf_event)(uint32_t i, const struct op_kind_options *options,
			   struct perf_event_attr *ret);
	bool ticks; /* its perf event is a clock, at the rate that is asked for */

	/* Kinds that are on with it, a bit each; their samples are of its event, too. */
	uint64_t with;
	bool snapshot; /* nothing walks in the kernel: user space does, at each export */
	bool hidden;   /* it is only on with another one */

	/* Rows of OTLP: the first one counts the samples. */
	const struct op_otlp_kind *rows;
	size_t rows_len;
	/* An attribute that tells the samples apart by op_record.detail, or NULL. */
	const char *detail_key;
	const char *const *details;
	size_t details_len;
	/* Or by a name that op_sampler_name_detail() gives for it, under `probe`. */
	bool details_by_number;
	/* Or attributes of more than that: how many of @ret are set. NULL: none. */
	size_t (*attributes)(const struct op_kind_sample *sample,
			     struct op_kind_attribute ret[OP_KIND_ATTRIBUTES_MAX]);
	/* How many events a sample of @value stands for. NULL: one. */
	double (*count)(uint64_t value);
	/* Kernel frames begin at this function: what stands above it is the taking of the
	 * sample. NULL: all are the thread's own. */
	const char *kernel_from;
};

/* op_kind.perf_event of a clock on each CPU: it ticks at the rate of @options. */
void op_kind_clock(uint32_t i, const struct op_kind_options *options,
		   struct perf_event_attr *ret);
/* The kind of @event, or NULL. */
const struct op_kind *op_kind_of(uint32_t event);
/* A bit for each that can be asked for. */
uint64_t op_kinds_known(void);
/* @kinds, a bit each, and what is on with them. */
uint64_t op_kinds_with(uint64_t kinds);
/* All, OP_KINDS of them, by number. */
const struct op_kind *const *op_kinds(void);

#define OP_KIND(number, upper, lower) extern const struct op_kind op_kind_##lower;
#include "op_kinds.def"
#undef OP_KIND

#endif
