/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds of events that samples are taken of, one struct each: the program that runs
 * at the event, how it is attached, and what its samples have. See docs/adding-a-kind.md.
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

/* Options that perf events depend on. */
struct op_kind_options {
	uint64_t tick_ns; /* from one tick of a clock to the next */
};

/* A raw tracepoint, and the program of the kind's object that runs there. */
struct op_kind_hook {
	const char *tracepoint; /* NULL: a BPF iterator, which user space reads */
	const char *program;	/* NULL: the kind's entry program, which walks stacks */
	bool loses;  /* an event that this program misses is a sample that is lost */
	bool wakers; /* it is there only with OTELPROF_WAKERS */
	/* it replaces the one before it, which reads arguments that the tracepoint has
	 * only on some kernels */
	bool instead;
	/* what it needs that not every kernel has on which the library runs, and since when Linux
	 * has it: a noun phrase. NULL: the tracepoint */
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
 * Names that a kind has looked up on this host. They hold for a window: a look-up for each
 * sample would be dear, and a device that goes away would have two names in one window.
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
	/*
	 * How many of its walks may be under way on a CPU at once; one for perf events.
	 */
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
	bool woken; /* samples name the thread that theirs has woken */
	/* the maps in which its programs note what has begun; NULL: no more of them */
	const char *begun[OP_KIND_BEGUN_MAX];
	/* Or perf events on each CPU, at most OP_KIND_PROGRAMS_MAX. The entry program is
	 * loaded once for each, with the event's number as op_record.detail. */
	uint32_t perf_events;
	void (*perf_event)(uint32_t i, const struct op_kind_options *options,
			   struct perf_event_attr *ret);
	bool ticks; /* its perf event is a clock, whose period changes (kernel/clock.c) */

	/*
	 * Bits of the kinds that are switched on with it; their samples count as its own.
	 */
	uint64_t with;
	/* no walk in the kernel: user space reads the stacks at each export */
	bool snapshot;
	/* if its programs cannot be loaded, the kind that it is on with does without */
	bool optional;

	/* The attribute that gives op_record.detail a name, or NULL. */
	const char *detail_key;
	const char *const *details;
	size_t details_len;
	/* Or the names, and types of their own, come from op_sampler_name_detail(): the
	 * names under the key `probe`. */
	bool details_by_number;
	/* Or attributes made from more than `detail`: returns how many of @ret are set.
	 * NULL: none. */
	size_t (*attributes)(const struct op_kind_sample *sample,
			     struct op_kind_attribute ret[OP_KIND_ATTRIBUTES_MAX]);
	/* The number of events that a sample of @value represents. NULL: one. */
	double (*count)(uint64_t value);
	/* Kernel frames begin at this function; the frames above it belong to the taking
	 * of the sample. NULL: all frames are the thread's own. */
	const char *kernel_from;
	/* Or kernel frames begin behind those in which this tracepoint has called the
	 * program. NULL: at a function. */
	const char *kernel_after;
};

/* op_kind.perf_event of a clock on each CPU, which ticks on idle ones, too. */
void op_kind_clock(uint32_t i, const struct op_kind_options *options,
		   struct perf_event_attr *ret);
/* The kind of @event, or NULL. */
const struct op_kind *op_kind_of(uint32_t event);
/* Its word. */
const char *op_kind_name(const struct op_kind *kind);
/* The bits @kinds, and those of the kinds that are switched on with them. */
uint64_t op_kinds_with(uint64_t kinds);
enum {
	OP_KIND_SENTENCE_BYTES = 256,
};
/* A sentence on why hook @i of @kind could not be attached: @error, a negative errno. */
void op_kind_unattached(const struct op_kind *kind, size_t i, int error,
			char ret[static OP_KIND_SENTENCE_BYTES]);
/* All OP_KINDS kinds, by number. */
const struct op_kind *const *op_kinds(void);

#define OP_KIND(number, upper, lower, page, tells)                                       \
	extern const struct op_kind op_kind_##lower;
#include "op_kinds.def"

#endif
