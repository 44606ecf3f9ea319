/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds of events, one struct each: the program that runs at the event, how it is
 * attached, and what its samples contain. See docs/adding-a-kind.md.
 */
#ifndef OP_KERNEL_KINDS_KIND_H
#define OP_KERNEL_KINDS_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/kinds/packed.h"
#include "op_user_types.h"

struct bpf_object;
struct perf_event_attr;

enum {
#define OP_KIND(number, upper, lower, page, tells) OP_KIND_COUNT_##upper,
#include "op_kinds.def"
	OP_KINDS,
	OP_KIND_PROGRAMS_MAX = 5, /* of one kind: for its perf events, or for its hooks */
	OP_KIND_BEGUN_MAX = 2,
};

/* Options on which perf events depend. */
struct op_kind_options {
	uint64_t tick_ns; /* from one tick of a clock to the next */
};

/* A raw tracepoint, and the program of the kind's object that runs there. */
struct op_kind_hook {
	const char *tracepoint; /* NULL: a BPF iterator, which user space reads */
	const char *program;	/* NULL: the kind's entry program, which walks stacks */
	bool loses;		/* a run that the kernel skips is a lost sample */
	bool wakers;		/* only with OTELPROF_WAKERS */
	/* replaces the hook before it, which reads arguments that the tracepoint has
	 * only on some kernels */
	bool instead;
	/* What it needs that some supported kernels lack, and since which version Linux
	 * has it: a noun phrase. NULL: the tracepoint. */
	const char *needs;
};

/* The sizes of the maps that the hooks' programs share. */
struct op_kind_sizes {
	uint32_t threads;    /* threads of all processes */
	uint32_t kick_bytes; /* bytes of each ring, a power of two */
};

enum {
	OP_KIND_ATTRIBUTES_MAX = 4,
	OP_KIND_TEXT_BYTES = 64,
	OP_KIND_NAMES_MAX = 16,
};

/*
 * Names that a kind has looked up on this host, kept for a window: a look-up for each
 * sample would be slow, and a device that goes away would get two names in one window.
 */
struct op_kind_names {
	uint32_t len;
	uint32_t number[OP_KIND_NAMES_MAX];
	char text[OP_KIND_NAMES_MAX][OP_KIND_TEXT_BYTES];
};

/* The input from which a kind makes the attributes of a sample. */
struct op_kind_sample {
	uint64_t value;
	uint32_t extra;
	uint32_t detail;
	const char *sysfs_root;
	struct op_kind_names *names;
};

struct op_kind_attribute {
	const char *key;
	bool is_integer;
	int64_t integer;
	char text[OP_KIND_TEXT_BYTES];
};

struct op_kind {
	enum op_event event;

	/* The kernel part: an object with the programs op_NAME and op_NAME_whole. */
	const struct op_packed_object *object;
	uint32_t program_type; /* enum bpf_prog_type */
	/* How many of its walks may be active at once on one CPU. Perf events: one. */
	uint32_t slots;
	/*
	 * Either hooks, at most OP_KIND_PROGRAMS_MAX, attached in this order. Their
	 * programs share the maps of one object, which size() prepares (NULL: nothing to
	 * prepare).
	 */
	const struct op_kind_hook *hooks;
	size_t hooks_len;
	int (*size)(struct bpf_object *object, const struct op_kind_sizes *sizes);
	/* the programs request interrupts by records in the rings op_kicks_0 to _3 */
	bool kicks;
	bool holds; /* samples wait in op_held until their event ends */
	bool woken; /* samples name the thread that the sampled one woke */
	/* the first program, with arguments that are 0, also runs on each CPU when
	 * sampling begins and ends, and before a window ends */
	bool at_borders;
	/* the maps in which its programs note what has begun, ended by NULL */
	const char *begun[OP_KIND_BEGUN_MAX];
	/* Or perf events on each CPU, at most OP_KIND_PROGRAMS_MAX. The entry program is
	 * loaded once for each, with the event's number as op_record.detail. */
	uint32_t perf_events;
	void (*perf_event)(uint32_t i, const struct op_kind_options *options,
			   struct perf_event_attr *ret);
	/* its perf event is a clock with a changing period (kernel/clock.c) */
	bool ticks;

	/*
	 * Bits of the kinds that are switched on with it. Their samples count as its
	 * own.
	 */
	uint64_t with;
	/* no walk in the kernel: user space reads the stacks at each export */
	bool snapshot;
	/* if its programs cannot be loaded, the kind with which it is on works without
	 * it */
	bool optional;

	/* The attribute that gives op_record.detail a name, or NULL. */
	const char *detail_key;
	const char *const *details;
	size_t details_len;
	/* Or op_sampler_name_detail() gives names and types: the names are the
	 * attribute `probe`. */
	bool details_by_number;
	/* Or attributes made from more than `detail`. Returns how many of @ret are set.
	 * NULL: none. */
	size_t (*attributes)(const struct op_kind_sample *sample,
			     struct op_kind_attribute ret[OP_KIND_ATTRIBUTES_MAX]);
	/* The number of events that a sample of @value represents. NULL: one. */
	double (*count)(uint64_t value);
	/* Kernel frames begin at this function. The frames above it belong to the
	 * sampler. NULL: all frames are the thread's own. */
	const char *kernel_from;
	/* Or kernel frames begin behind those in which this tracepoint called the
	 * program. NULL: they begin at a function. */
	const char *kernel_after;
};

/* op_kind.perf_event of a clock on each CPU, which also ticks on idle CPUs. */
void op_kind_clock(uint32_t i, const struct op_kind_options *options,
		   struct perf_event_attr *ret);
/* The kind of @event, or NULL. */
const struct op_kind *op_kind_of(uint32_t event);
/* Its word. */
const char *op_kind_name(const struct op_kind *kind);
/* The bits @kinds, and those of kinds that are switched on with them. @flags: OTELPROF_*. */
uint64_t op_kinds_with(uint64_t kinds, uint64_t flags);
enum {
	OP_KIND_SENTENCE_BYTES = 256,
};
/* Set a sentence why hook @i of @kind could not be attached: @error, a negative errno. */
void op_kind_unattached(const struct op_kind *kind, size_t i, int error,
			char ret[static OP_KIND_SENTENCE_BYTES]);
/* All OP_KINDS kinds, by number. */
const struct op_kind *const *op_kinds(void);

#define OP_KIND(number, upper, lower, page, tells)                                       \
	extern const struct op_kind op_kind_##lower;
#include "op_kinds.def"

#endif
