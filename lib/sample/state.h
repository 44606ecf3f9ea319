/* SPDX-License-Identifier: Apache-2.0 */
/* The insides of a sampler, shared by the files of this folder. */
#ifndef OP_SAMPLE_STATE_H
#define OP_SAMPLE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/allowance.h"
#include "code/unwind/host.h"
#include "kernel/kinds/kind.h"
#include "profile/cache.h"
#include "sample/frames.h"
#include "sample/kept/announced.h"
#include "sample/kept/ended.h"
#include "sample/kept/parked.h"
#include "sample/kept/stack_chunks.h"
#include "sample/kept/thread_cache.h"
#include "sample/kept/trace_contexts.h"
#include "sample/sampler.h"

enum {
	/* Memory for a key of two words, and the kernel frames and user words of any
	 * record. */
	OP_RECORD_WORDS = 2 + OP_KERNEL_FRAMES_MAX + OP_USER_WORDS_MAX,
	/* Memory for its locations: at most one for each word, and one for the end of the
	 * stack. */
	OP_RECORD_LOCATIONS = OP_RECORD_WORDS + 1,
};

struct op_sampler {
	struct op_sampler_config config;
	struct op_processes *processes;
	/* the allowance of the processes; NULL allows everything */
	struct op_allowance *allowance;
	struct op_frames frames;
	struct op_cache stacks; /* words of a record -> stack */
	struct op_thread_cache threads[OP_THREAD_CACHE_SLOTS];
	struct op_unwind_result *host_stack; /* scratch memory of deferred walks */
	uint64_t ends[OP_ERROR_LIMIT];	     /* numbers of deferred walks by their end */
	struct op_ended ended;		     /* of all stacks */
	uint64_t *words;		     /* scratch memory for a record */
	uint32_t *locations;		     /* scratch memory for a stack */
	uint64_t guessed; /* number of frames that were found by guessing */
	struct op_stack_chunks chunks;
	struct op_announced announced;
	struct op_trace_contexts contexts;
	uint64_t announcements_lost; /* samples of stacks without an announcement */
	bool drained; /* since the last turn of announcements, op_sampler_drained() */
	struct op_kind_names names; /* of this window */
	struct op_parked parked;
	op_detail_fn detail; /* NULL: numbers have no names */
	void *detail_ctx;
	op_sample_watch_fn watch; /* NULL: no observer */
	void *watch_ctx;
	uint32_t watched;    /* enum op_event */
	bool announce_again; /* op_sampler_take_lost() */
	bool new_code;	     /* op_sampler_take_new_code() */
	bool walked;	     /* op_sampler_walked() */
	bool nameless;	     /* the last stack has a frame that may be known later */
	uint32_t moment;     /* of the last record, in units of 2^28 ns */
};

/* Is work left out if there is no time for it? */
static inline bool op_sampler_hurries(const struct op_sampler *sampler)
{
	return sampler->allowance && sampler->allowance->hurry;
}

#endif
