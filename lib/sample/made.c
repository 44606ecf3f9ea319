/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of generated code, and of addresses without a name. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "code/unwind/heights/record.h"
#include "process/mappings/mappings.h"
#include "process/processes.h"
#include "process/program.h"
#include "sample/frames.h"
#include "sample/state.h"

enum {
	NAME_BYTES = 512,
	PLACES_MAX = 65536,    /* addresses of a process's code without a file */
	PLACE_WORD_SHIFT = 62, /* of enum op_made_word in the key of a place */
	RECORDS_MAX = 512,     /* places checked for a frame record, a window */
};

uint64_t op_frames_nameless_epoch(const struct op_sampler *sampler, uint64_t epoch)
{
	return UINT64_C(1) << 31 |
	       ((epoch * UINT64_C(0x9e3779b1) + sampler->moment) & INT32_MAX);
}

int op_frames_attribute(struct op_window *window, const char *key, const char *value,
			struct op_attribute_set *set)
{
	uint32_t attribute;
	uint32_t at;
	int r;

	if (!*value)
		return 0;
	r = op_window_string_attribute(window, key, value, &attribute);
	if (r < 0)
		return r;
	for (at = set->len++; at > 0 && set->index[at - 1] > attribute; at--)
		set->index[at] = set->index[at - 1];
	set->index[at] = attribute;
	return 0;
}

/* Make a location without a mapping from the description of its code. @guess: value of
 * the attribute "guessed", or NULL. */
static int described_location(struct op_sampler *sampler, struct op_window *window,
			      uint64_t address, const struct op_runtime_frame *frame,
			      const char *guess, uint32_t *ret)
{
	struct op_location location = { .address = address };
	int r;

	r = op_frames_functions(window, frame, &location);
	if (r == 0)
		r = op_frames_type(sampler, window, OP_FRAME_TYPE_NATIVE,
				   &location.attributes);
	if (r == 0 && guess)
		r = op_frames_attribute(window, "otelprof.frame.guessed", guess,
					&location.attributes);
	return r < 0 ? r : op_window_location(window, &location, ret);
}

int op_frames_nameless(struct op_sampler *sampler, struct op_window *window,
		       uint64_t address, const char *name, const char *guess,
		       uint32_t *ret)
{
	struct op_runtime_frame frame = { .function = { { .name = name } }, .len = 1 };

	return described_location(sampler, window, address, &frame, guess, ret);
}

/*
 * Does the code at @addr, which is in no file, keep a frame record there? Otherwise the
 * walk by frame pointers may have skipped its caller.
 */
static bool keeps_record(const struct op_frames_of *of, const struct op_mapping *v,
			 uint64_t addr)
{
	struct op_program_code *made = &of->program->code;
	uint32_t epoch = op_window_epoch(of->window);
	uint8_t code[OP_HEIGHTS_RECORD_BEFORE + OP_HEIGHTS_RECORD_AFTER];
	uint64_t from =
		addr - OP_MIN(addr - v->start, (uint64_t)OP_HEIGHTS_RECORD_BEFORE);
	uint64_t to = OP_MIN(addr + OP_HEIGHTS_RECORD_AFTER, v->end);

	if (made->checked_epoch != epoch)
		made->checked = 0;
	made->checked_epoch = epoch;
	if (made->checked++ >= RECORDS_MAX)
		return false;
	return op_memory_read(&of->program->memory.memory, from, code, to - from) == 0 &&
	       op_heights_keep_record(code, to - from, from, addr - from);
}

/* A bit of a location in places: OP_FRAMES_REPEATS. */
static const uint32_t REPEATS = UINT32_C(1) << 31;

/* python -X perf makes a piece of code for each function, which calls the interpreter for it. */
static bool repeats(const struct op_frames_of *of, const struct op_runtime_frame *frame)
{
	const struct op_runtime_instance *instance;
	uint32_t i;

	if (!frame->len || strncmp(frame->function[0].name, "py::", 4) != 0)
		return false;
	for (i = 1; i < OP_INSTANCES_MAX; i++) {
		instance = op_program_runtimes_get(&of->program->runtimes, i);
		if (instance && instance->ops->id == OP_RUNTIME_PYTHON)
			return true;
	}
	return false;
}

int op_frames_made(struct op_sampler *sampler, const struct op_frames_of *of,
		   const struct op_mapping *v, const char *file, uint64_t addr,
		   bool guessed, uint32_t *ret)
{
	uint64_t offset = addr - (v->start - v->room) + (file ? v->offset : 0);
	struct op_map64 *places = &of->program->code.places;
	uint64_t epoch = op_window_epoch(of->window);
	struct op_runtime_frame frame = { 0 };
	const char *guess = guessed ? OP_FRAMES_GUESSED : NULL;
	bool late = false; /* there was no time to read the code */
	uint64_t nameless = op_frames_nameless_epoch(sampler, epoch);
	char unnamed[NAME_BYTES];
	enum op_made_word word = OP_MADE_NONE;
	bool named = true;
	uint32_t mark = 0;
	uint64_t cached;
	uint64_t key;
	int r;

	/* Code that a runtime claims is walked by its step. */
	if (!(v->flags & OP_MAPPING_CODE))
		word = op_program_made_at(sampler->processes, of->program, v, addr,
					  of->time_ns);
	key = addr | (uint64_t)word << PLACE_WORD_SHIFT;
	if (!guessed && op_map64_get(places, key, &cached) &&
	    (cached >> 32 == epoch || cached >> 32 == nameless)) {
		*ret = (uint32_t)cached & ~REPEATS;
		if ((uint32_t)cached & REPEATS)
			return OP_FRAMES_REPEATS;
		return cached >> 32 == epoch ? 0 : OP_FRAMES_UNKNOWN;
	}
	if (!guessed && !(v->flags & OP_MAPPING_CODE) && word != OP_MADE_RULE) {
		late = op_allowance_is_over(sampler->allowance);
		guess = word == OP_MADE_NONE && !late && keeps_record(of, v, addr)
				? NULL
				: OP_FRAMES_GUESSED_CALLER;
	}
	if (op_program_describe_code(sampler->processes, of->program, of->mappings, addr,
				     &frame) == 1) {
		mark = repeats(of, &frame) ? REPEATS : 0;
		r = described_location(sampler, of->window, addr, &frame, guess, ret);
	} else {
		(void)snprintf(unnamed, sizeof(unnamed), "%s+0x%" PRIx64,
			       file ? file : "[anon]", offset);
		r = op_frames_nameless(sampler, of->window, addr, unnamed, guess, ret);
		named = false;
	}
	if (r < 0)
		return r;
	if (!guessed && places->len >= PLACES_MAX)
		op_map64_clear(places);
	if (!guessed && !late)
		(void)op_map64_put(places, key,
				   (named ? epoch : nameless) << 32 | *ret | mark);
	if (mark)
		return OP_FRAMES_REPEATS;
	return named && !late ? 0 : OP_FRAMES_UNKNOWN;
}
