/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/sampler.h"

#include <errno.h>
#include <stdlib.h>

#include "base/macros.h"
#include "process/processes.h"
#include "sample/state.h"

enum {
	STACKS_MAX = 1 << 18, /* for each window, 8 MiB of keys; more are not kept */
};

int op_sampler_new(const struct op_sampler_config *config, struct op_sampler **ret)
{
	_cleanup_(op_sampler_freep) struct op_sampler *sampler = NULL;

	sampler = calloc(1, sizeof(*sampler));
	if (!sampler)
		return -ENOMEM;
	sampler->config = *config;
	sampler->processes = config->processes;
	sampler->allowance = op_processes_config(config->processes)->allowance;
	op_cache_init(&sampler->stacks, STACKS_MAX);
	sampler->host_stack = calloc(1, sizeof(*sampler->host_stack));
	sampler->words = calloc(OP_RECORD_WORDS, sizeof(*sampler->words));
	sampler->locations = calloc(OP_RECORD_LOCATIONS, sizeof(*sampler->locations));
	if (!sampler->host_stack || !sampler->words || !sampler->locations)
		return -ENOMEM;
	*ret = OP_TAKE_PTR(sampler);
	return 0;
}

struct op_sampler *op_sampler_free(struct op_sampler *sampler)
{
	if (!sampler)
		return NULL;
	op_frames_deinit(&sampler->frames);
	op_stack_chunks_clear(&sampler->chunks);
	op_announced_deinit(&sampler->announced);
	op_trace_contexts_deinit(&sampler->contexts);
	op_parked_deinit(&sampler->parked);
	op_ended_deinit(&sampler->ended);
	op_cache_deinit(&sampler->stacks);
	op_thread_cache_deinit(sampler->threads);
	free(sampler->host_stack);
	free(sampler->words);
	free(sampler->locations);
	free(sampler);
	return NULL;
}

uint64_t op_sampler_bytes(const struct op_sampler *sampler)
{
	const struct op_announced *a = &sampler->announced;

	return sizeof(*sampler) + sizeof(*sampler->host_stack) +
	       OP_RECORD_WORDS * sizeof(*sampler->words) +
	       OP_RECORD_LOCATIONS * sizeof(*sampler->locations) +
	       sampler->stacks.entries.cap * sizeof(*sampler->stacks.entries.data) +
	       a->now.bytes.cap + a->before.bytes.cap +
	       op_names_bytes(&sampler->frames.kernel_names);
}

bool op_sampler_take_new_code(struct op_sampler *sampler)
{
	bool new_code = sampler->new_code;

	sampler->new_code = false;
	return new_code;
}

bool op_sampler_walked(const struct op_sampler *sampler)
{
	return sampler->walked;
}

void op_sampler_drained(struct op_sampler *sampler)
{
	sampler->drained = true;
}

void op_sampler_window_end(struct op_sampler *sampler)
{
	op_stack_chunks_clear(&sampler->chunks);
	if (sampler->drained || op_announced_is_large(&sampler->announced)) {
		op_announced_turn(&sampler->announced);
		op_trace_contexts_turn(&sampler->contexts);
		sampler->drained = false;
	}
	sampler->names.len = 0;
}

bool op_sampler_take_lost(struct op_sampler *sampler)
{
	bool lost = sampler->announce_again;

	sampler->announce_again = false;
	return lost;
}

uint64_t op_sampler_announcements_lost(const struct op_sampler *sampler)
{
	return sampler->announcements_lost;
}

const struct op_trace_contexts *op_sampler_contexts(const struct op_sampler *sampler)
{
	return &sampler->contexts;
}

const struct op_ended *op_sampler_ended(const struct op_sampler *sampler)
{
	return &sampler->ended;
}

const uint64_t *op_sampler_ends(const struct op_sampler *sampler)
{
	return sampler->ends;
}

void op_sampler_name_detail(struct op_sampler *sampler, op_detail_fn fn, void *ctx)
{
	sampler->detail = fn;
	sampler->detail_ctx = ctx;
}

void op_sampler_watch(struct op_sampler *sampler, uint32_t event, op_sample_watch_fn fn,
		      void *ctx)
{
	sampler->watched = event;
	sampler->watch = fn;
	sampler->watch_ctx = ctx;
}

uint32_t op_sampler_event(const void *record, size_t len)
{
	const struct op_record *sample = record;
	const struct op_named *named = record;

	if (len >= sizeof(*sample) && sample->header.type == OP_RECORD_SAMPLE)
		return sample->event;
	if (len >= sizeof(*named) && named->header.type == OP_RECORD_NAMED)
		return named->event;
	return OP_EVENT_MAX;
}

bool op_sampler_is_sample(uint32_t type)
{
	return type != OP_RECORD_STACK && type != OP_RECORD_REQUEST &&
	       type != OP_RECORD_CHUNK && type != OP_RECORD_ROOT &&
	       type != OP_RECORD_CHAIN && type != OP_RECORD_LABELS &&
	       type != OP_RECORD_OBJECT;
}
