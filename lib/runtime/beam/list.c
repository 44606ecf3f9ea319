/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/beam/list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"

#include "op_user_types.h"

#include "op_beam.h"

/* A module, as far as it is known. */
struct text {
	uint64_t entry;
	uint32_t guard;
	size_t len;
	uint8_t bytes[];
};

static size_t text_bytes(const void *data)
{
	const struct text *text = data;

	return sizeof(*text) + text->len;
}

static const struct op_objects_kind texts = {
	.max = OP_BEAM_TEXTS_MAX,
	.bytes_max = OP_BEAM_TEXTS_BYTES,
	.bytes = text_bytes,
	.free = free,
};

void op_runtime_beam_list_init(struct op_beam_list *list, const struct op_memory *memory,
			       uint64_t first)
{
	*list = (struct op_beam_list){
		.memory = memory,
		.first = first,
		.texts = op_objects_init(&texts),
	};
}

void op_runtime_beam_list_deinit(struct op_beam_list *list)
{
	op_vec_clear(&list->entries);
	op_objects_deinit(&list->texts);
}

/* Read the entry at @addr. Returns 0 or -errno. */
static int read_entry(const struct op_beam_list *list, uint64_t addr,
		      struct op_beam_entry *ret, uint64_t *ret_next)
{
	uint64_t word[OP_BEAM_ENTRY_BYTES / 8];
	int r = op_memory_read(list->memory, addr, word, sizeof(word));

	if (r < 0)
		return r;
	*ret = (struct op_beam_entry){
		.addr = addr,
		.file = word[2],
		.size = word[3],
		.guard = op_beam_guard(addr, word[0], word[2], word[3]),
	};
	*ret_next = word[0];
	return 0;
}

/* Read the text of the entry. Returns 0 or -errno. */
static int read_head(struct op_beam_list *list, struct op_beam_entry *e)
{
	uint8_t head[OP_BEAM_MODULE_HEAD];
	size_t len = OP_MIN(e->size, (uint64_t)sizeof(head));
	uint64_t exit = 0;
	int r = op_memory_read(list->memory, e->file, head, len);

	if (r < 0)
		return r;
	if (op_runtime_beam_emulator(head, len, &exit) == 1)
		list->exit = exit;
	else
		(void)op_runtime_beam_module(head, len, &e->module);
	return 0;
}

static const struct op_beam_entry *newest(const struct op_beam_list *list)
{
	return list->entries.len ? &list->entries.data[list->entries.len - 1] : NULL;
}

/* New entries were read, the newest first. If they do not lead to known ones (@joined),
 * the runtime dropped the newest known one, and the new ones are all. */
static int take_new(struct op_beam_list *list, const struct op_beam_entry *new,
		    size_t len, bool joined)
{
	size_t i;

	if (!joined || list->entries.len + len > OP_BEAM_MODULES_MAX)
		list->entries.len = 0;
	if (op_vec_reserve(&list->entries, len) < 0)
		return -ENOMEM;
	for (i = len; i > 0; i--)
		list->entries.data[list->entries.len++] = new[i - 1];
	return 1;
}

int op_runtime_beam_list_read(struct op_beam_list *list)
{
	const struct op_beam_entry *known = newest(list);
	OP_VEC(struct op_beam_entry) new = { 0 };
	bool joined = false;
	uint64_t at = 0;
	int r = op_memory_read(list->memory, list->first, &at, sizeof(at));

	while (r == 0 && at && !joined) {
		struct op_beam_entry *place;
		struct op_beam_entry e;

		if (new.len >= OP_BEAM_MODULES_MAX || list->reads >= OP_BEAM_READS_MAX) {
			list->cut++;
			break;
		}
		list->reads++;
		r = read_entry(list, at, &e, &at);
		joined = r == 0 && known && e.addr == known->addr &&
			 e.guard == known->guard;
		if (r < 0 || joined)
			break;
		r = read_head(list, &e);
		place = r == 0 ? op_vec_push(&new) : NULL;
		if (place)
			*place = e;
		else if (r == 0)
			r = -ENOMEM;
	}
	if (r == 0 && new.len)
		r = take_new(list, new.data, new.len, joined);
	op_vec_clear(&new);
	return r;
}

bool op_runtime_beam_list_has(const struct op_beam_list *list, uint64_t start,
			      uint64_t end)
{
	const struct op_beam_entry *e;

	op_vec_foreach(e, &list->entries)
		if (e->module.size && e->module.base >= start && e->module.base < end)
			return true;
	return false;
}

/* The text of @e. Returns 0 or -errno. */
static int get_text(struct op_beam_list *list, const struct op_beam_entry *e,
		    const struct text **ret, bool *ret_fresh)
{
	uint64_t key = e->addr ^ (uint64_t)e->guard << 32;
	struct text *text;
	uint64_t at;
	int r;

	op_objects_begin(&list->texts);
	text = op_objects_find(&list->texts, key, &at);
	if (text && text->entry == e->addr && text->guard == e->guard) {
		*ret = text;
		return 0;
	}
	if (e->size > OP_BEAM_TEXT_MAX) {
		list->cut++;
		return -E2BIG;
	}
	text = malloc(sizeof(*text) + e->size);
	if (!text)
		return -ENOMEM;
	*text = (struct text){ .entry = e->addr, .guard = e->guard, .len = e->size };
	r = op_memory_read(list->memory, e->file, text->bytes, text->len);
	if (r < 0) {
		free(text);
		return r;
	}
	r = op_objects_keep(&list->texts, key, text, at);
	if (r < 0)
		return r;
	*ret_fresh = true;
	*ret = text;
	return 0;
}

int op_runtime_beam_list_find(struct op_beam_list *list, uint64_t addr, uint32_t guard,
			      struct op_beam_function *ret, bool *ret_fresh)
{
	const struct op_beam_entry *e = newest(list);
	const struct text *text;
	size_t i;
	int r;

	*ret_fresh = false;
	if (!e || e->guard != guard) {
		r = op_runtime_beam_list_read(list);
		if (r < 0)
			return r;
	}
	/* Modules newer than the sample did not run in it. If its newest module is gone
	 * by now, all are searched. */
	for (i = list->entries.len; i > 0; i--)
		if (list->entries.data[i - 1].guard == guard)
			break;
	for (i = i ? i : list->entries.len; i > 0; i--) {
		e = &list->entries.data[i - 1];
		if (addr - e->module.base >= e->module.size)
			continue;
		r = get_text(list, e, &text, ret_fresh);
		if (r == 0)
			r = op_runtime_beam_function(text->bytes, text->len, addr, NULL,
						     ret);
		return r == 0 ? -ENOENT : r < 0 ? r : 0;
	}
	return -ENOENT;
}

int op_runtime_beam_list_named(struct op_beam_list *list, const char *name,
			       struct op_beam_module *ret_module,
			       struct op_beam_function *ret)
{
	const struct op_beam_entry *e;
	const struct text *text;
	bool fresh;

	/* the oldest module */
	op_vec_foreach(e, &list->entries) {
		int r;

		if (!e->module.size)
			continue;
		r = get_text(list, e, &text, &fresh);
		if (r == 0)
			r = op_runtime_beam_function(text->bytes, text->len, 0, name,
						     ret);
		if (r == 1)
			*ret_module = e->module;
		return r == 0 ? -ENOENT : r < 0 ? r : 0;
	}
	return -ENOENT;
}
