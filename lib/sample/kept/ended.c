/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/kept/ended.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "op_errors.h"
#include "process/image/executable.h"
#include "process/mappings/mappings.h"

enum {
	PATH_BYTES = 255, /* a longer path keeps its end */
};

/* Does a stack with this end lack frames? */
static bool is_early(uint32_t end)
{
	return end == OP_END_TRUNCATED || end == OP_END_NO_TABLE || end >= OP_END_MAX;
}

static const char *file_at(const struct op_mappings *mappings, uint64_t pc)
{
	const struct op_mapping *vma = op_mappings_find(mappings, pc);

	return vma && vma->exe && vma->exe->path ? vma->exe->path : NULL;
}

/* The file of the outermost native frame, or NULL. */
static const char *last_file(const struct op_mappings *mappings, const uint64_t *words,
			     size_t len)
{
	uint64_t pc = 0;
	size_t i;

	for (i = 0; i < len; i += op_frame_words(words[i])) {
		uint64_t kind = words[i] >> OP_FRAME_KIND_SHIFT;

		if (kind < OP_FRAME_NATIVE_KINDS)
			pc = (words[i] & OP_FRAME_ADDRESS_MASK) -
			     (kind != OP_FRAME_NATIVE_EXACT);
	}
	return pc ? file_at(mappings, pc) : NULL;
}

static void add_row(struct op_ended *ended, const char *file, uint32_t end, uint64_t key)
{
	struct op_ended_row *row;
	size_t i;

	if (!ended->row)
		ended->row = calloc(OP_ENDED_MAX, sizeof(*ended->row));
	if (!ended->row || ended->len == OP_ENDED_MAX) {
		ended->others++;
		return;
	}
	row = &ended->row[ended->len];
	row->file = strdup(file);
	if (!row->file) {
		ended->others++;
		return;
	}
	for (i = 0; i < ended->len && strcmp(ended->row[i].file, file) != 0; i++)
		;
	row->file_of = (uint32_t)i;
	row->key = key;
	row->end = end;
	row->count = 1;
	ended->len++;
}

void op_ended_add(struct op_ended *ended, const struct op_mappings *mappings,
		  uint32_t end, uint64_t pc, const uint64_t *words, size_t words_len)
{
	const char *file = NULL;
	uint64_t key;
	size_t len;
	size_t i;

	if (!is_early(end))
		return;
	if (mappings)
		file = file_at(mappings, pc);
	if (mappings && !file)
		file = last_file(mappings, words, words_len);
	if (!file)
		file = "";
	len = strlen(file);
	if (len > PATH_BYTES)
		file += len - PATH_BYTES;
	if (!ended->seed)
		ended->seed = op_hash_seed() | 1;
	key = op_hash_bytes(file, strlen(file), ended->seed + end);
	for (i = 0; i < ended->len; i++)
		if (ended->row[i].key == key) {
			ended->row[i].count++;
			return;
		}
	add_row(ended, file, end, key);
}

void op_ended_deinit(struct op_ended *ended)
{
	size_t i;

	for (i = 0; i < ended->len; i++)
		free(ended->row[i].file);
	free(ended->row);
}
