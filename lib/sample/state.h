/* SPDX-License-Identifier: Apache-2.0 */
/* The insides of a sampler, shared by the files of this folder. */
#ifndef OP_SAMPLE_STATE_H
#define OP_SAMPLE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/cache.h"
#include "sample/ended.h"
#include "sample/frames.h"
#include "sample/sampler.h"
#include "sample/thread_cache.h"
#include "sample/waiting/above.h"
#include "sample/waiting/announced.h"
#include "unwind/host.h"

enum {
	/* A key, the kernel frames and the user words of any record. */
	OP_RECORD_WORDS = 2 + OP_KERNEL_FRAMES_MAX + OP_USER_WORDS_MAX,
	/* Its locations: a frame a word at most, and one that says how it ended. */
	OP_RECORD_LOCATIONS = OP_RECORD_WORDS + 1,
};

struct op_sampler {
	struct op_sampler_config config;
	struct op_processes *processes;
	struct op_frames frames;
	struct op_cache stacks; /* words of records */
	struct op_thread_cache threads[OP_THREAD_CACHE_SLOTS];
	struct op_host_stack *host_stack; /* scratch of deferred walks */
	uint64_t ends[OP_ERROR_LIMIT];	  /* of deferred walks, by how they ended */
	struct op_ended ended;		  /* of all */
	uint64_t *words;		  /* scratch of a record */
	uint32_t *locations;		  /* scratch of a stack */
	bool hurry;			  /* op_sampler_hurry() */
	uint64_t guessed;		  /* frames that were found by a guess */
	struct op_above above;
	struct op_announced announced;
	uint64_t announcements_lost;   /* samples whose stack was not announced */
	op_detail_name_fn detail_name; /* NULL: there are none */
	void *detail_ctx;
	op_sample_watch_fn watch; /* NULL: nobody does */
	void *watch_ctx;
	uint32_t watched;    /* enum op_event */
	bool announce_again; /* op_sampler_take_lost() */
	bool news;	     /* op_sampler_take_news() */
};

#endif
