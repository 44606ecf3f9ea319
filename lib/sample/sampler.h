/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns records of the kernel's programs into named samples: finds the process and its
 * mappings of that moment, walks deferred stacks, and puts the stack into a window.
 */
#ifndef OP_SAMPLE_SAMPLER_H
#define OP_SAMPLE_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "code/symbol/kernel.h"
#include "op_user_types.h"

struct op_trace_contexts;
struct op_ended;
struct op_proc;
struct op_processes;
struct op_sampler;
struct op_window;
struct op_window_sample;

struct op_sampler_config {
	struct op_processes *processes;	  /* borrowed until op_sampler_free() */
	struct op_kernel_symbols *kernel; /* borrowed; NULL: no kernel names */
	/* OP_UNWIND_RULES_MAX, what op_rules fills; borrowed */
	const struct op_unwind_rule *rules;
};

int op_sampler_new(const struct op_sampler_config *config, struct op_sampler **ret);
struct op_sampler *op_sampler_free(struct op_sampler *sampler);
OP_DEFINE_CLEANUP(struct op_sampler *, op_sampler_free)

/*
 * Put one record of the ring into @window. Returns 0; -EBADMSG for an invalid record;
 * -EPROTO for an unknown type or version; -ENOSPC or -ENOMEM if it does not fit into
 * the window; -EINPROGRESS if there is no time for a table or for names: try again
 * later. If no poll follows (op_allowance), the stack ends there with native_no_time.
 */
int op_sampler_add_record(struct op_sampler *sampler, const void *record, size_t len,
			  struct op_window *window);

/*
 * Make a sample of a record of OP_EVENT_THREADS, with the current stack. Put it into
 * @window only after checking that the thread has not run meanwhile. Otherwise its
 * stack is that of op_sampler_running(). @late: there is no time for the user stack,
 * which ends in native_late. Returns as op_sampler_add_record().
 */
int op_sampler_thread(struct op_sampler *sampler, const void *record, size_t len,
		      bool late, struct op_window *window, struct op_window_sample *ret);
int op_sampler_running(struct op_sampler *sampler, struct op_window *window,
		       uint32_t *ret_stack);
/* Make *@sample, of op_sampler_thread(), one of the kind @event, with the value and the detail that
 * its records have. Returns 0 or -errno. */
int op_sampler_recast(struct op_sampler *sampler, enum op_event event, uint64_t value,
		      uint16_t detail, struct op_window *window,
		      struct op_window_sample *sample);

/* A stack that the caller has read out of a process: that of a goroutine. */
struct op_sampler_stack {
	const struct op_registers *registers;
	const void *bytes; /* from @below bytes below registers->sp on */
	size_t len;
	size_t below;
	bool is_caller; /* registers->pc is a return address */
};

/*
 * Walk and name a stack of @proc, which is alive. *@ret is its number in @window.
 * Memory above the copy is read at present, if the frames below it are still there.
 * Returns 0; -ENOSPC or -ENOMEM; -EINPROGRESS as op_sampler_add_record().
 */
int op_sampler_stack(struct op_sampler *sampler, struct op_proc *proc,
		     const struct op_sampler_stack *stack, struct op_window *window,
		     uint32_t *ret);

/*
 * Name a stack that @proc itself has walked: @len return addresses, innermost first, at
 * most OP_FRAMES_MAX. Go has one for each inlined call, too, whose frames are added
 * once. @truncated: there may have been more. Returns as above.
 */
int op_sampler_callers(struct op_sampler *sampler, struct op_proc *proc,
		       const uint64_t *pcs, size_t len, bool truncated,
		       struct op_window *window, uint32_t *ret);

/* Bytes of the memory that it keeps between records. */
uint64_t op_sampler_bytes(const struct op_sampler *sampler);

/* The meaning of op_record.detail for a probe. */
struct op_detail {
	const char *name;
	const char *type; /* type in which its value counts; NULL: it has none */
	const char *unit;
	const char *text_key; /* of the attribute with the string of a hit; NULL: none */
	bool alone;	      /* it counts only in that type, and not as an event */
	uint32_t period;      /* period in events of such a type; 0: they differ */
};

/* The probe of the number in op_record.detail, or NULL. */
typedef const struct op_detail *(*op_detail_fn)(void *ctx, uint32_t detail);
void op_sampler_name_detail(struct op_sampler *sampler, op_detail_fn fn, void *ctx);

/* Call @fn for each sample of @event after @window took it. */
typedef void (*op_sample_watch_fn)(void *ctx, const struct op_record *record,
				   const struct op_window *window,
				   const struct op_window_sample *sample);
void op_sampler_watch(struct op_sampler *sampler, uint32_t event, op_sample_watch_fn fn,
		      void *ctx);

/*
 * Join a sample that has to wait with the earlier records of its stack. Returns 1 and
 * *@ret, for free(); 0 if there is nothing to join.
 */
int op_sampler_join(struct op_sampler *sampler, const void *record, size_t len,
		    void **ret, size_t *ret_len);

/* Is a record of @type (enum op_record_type) a sample? Other records only help to read
 * samples. */
bool op_sampler_is_sample(uint32_t type);
/* The kind of a sample, as in the record. OP_EVENT_MAX: the record has none. */
uint32_t op_sampler_event(const void *record, size_t len);

/* All records so far were taken. None of them waits in the ring or is postponed. */
void op_sampler_drained(struct op_sampler *sampler);
/* A window ended: stacks are announced again in the next one. Earlier announcements are
 * kept while records that refer to them may wait. */
void op_sampler_window_end(struct op_sampler *sampler);
/* Did a sample since the last call refer to a stack without an announcement? Then all
 * stacks must be announced again. */
bool op_sampler_take_lost(struct op_sampler *sampler);
/* The number of such samples, whose frame names the reason. */
uint64_t op_sampler_announcements_lost(const struct op_sampler *sampler);
/* The probe or kind for which it counts. */
const struct op_trace_contexts *op_sampler_contexts(const struct op_sampler *sampler);

/* Was the stack of the last record walked, so that only names were missing? */
bool op_sampler_walked(const struct op_sampler *sampler);
/* Was new code found since the last call, or an object that names code? More may follow
 * soon, and may be gone soon. */
bool op_sampler_take_new_code(struct op_sampler *sampler);

/* How stacks ended that user space walked: OP_ERROR_LIMIT counts, by enum op_end or
 * error. Borrowed. */
const uint64_t *op_sampler_ends(const struct op_sampler *sampler);
/* The files in which stacks ended early, wherever they were walked. Borrowed. */
const struct op_ended *op_sampler_ended(const struct op_sampler *sampler);

#endif
