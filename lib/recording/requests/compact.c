/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes entries to which no stack of a collection refers. Formats write whole tables,
 * so a name that was left out would still be in a file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "recording/requests/frames.h"

/* New numbers by old ones, plus 1, because 0 means that an entry is not used. */
struct numbers {
	uint32_t *strings;
	uint32_t *functions;
	uint32_t *mappings;
	uint32_t *locations;
	uint32_t *processes;
	uint32_t *kinds;
};

/* Move the entries that are used to the front, and number them. */
#define PACK(table, numbers)                                                             \
	do {                                                                             \
		size_t _kept = 0, _i;                                                    \
                                                                                         \
		for (_i = 0; _i < (table).len; _i++) {                                   \
			if (!(numbers)[_i])                                              \
				continue;                                                \
			(table).data[_kept] = (table).data[_i];                          \
			(numbers)[_i] = (uint32_t)++_kept;                               \
		}                                                                        \
		(table).len = _kept;                                                     \
	} while (0)

static void mark(const struct op_collect *c, struct numbers *n)
{
	const struct op_collect_location *l;
	const struct op_collect_stack *s;
	uint32_t i, j, at;

	n->mappings[0] = 1; /* none */
	op_vec_foreach(s, &c->stacks) {
		n->processes[s->process] = 1;
		n->kinds[s->kind] = 1;
		for (i = 0; i < s->locations_len; i++) {
			at = c->location_numbers.data[s->locations + i];
			if (n->locations[at])
				continue;
			n->locations[at] = 1;
			l = &c->locations.data[at];
			n->mappings[l->mapping] = 1;
			for (j = 0; j < l->lines_len; j++)
				n->functions[c->lines.data[l->lines + j].function] = 1;
		}
	}
}

/* The string's new number. 0 and @ret_failed if there is no memory. */
static uint32_t move_string(const struct op_collect *c, struct op_strings *to,
			    struct numbers *n, uint32_t old, bool *ret_failed)
{
	uint32_t now = 0;

	if (n->strings[old])
		return n->strings[old] - 1;
	if (op_strings_add(to, op_strings_get(&c->strings, old), &now))
		*ret_failed = true;
	n->strings[old] = now + 1;
	return now;
}

static int move_strings(struct op_collect *c, struct numbers *n)
{
	struct op_strings to = { 0 };
	struct op_collect_function *f;
	struct op_collect_mapping *m;
	struct op_collect_process *p;
	struct op_collect_stack *s;
	struct op_collect_kind *k;
	size_t i;
	bool failed = op_strings_init(&to, c->seed) < 0;

#define MOVE(of) ((of) = failed ? 0 : move_string(c, &to, n, of, &failed))
	op_vec_foreach(f, &c->functions) {
		MOVE(f->name);
		MOVE(f->system_name);
		MOVE(f->file);
		MOVE(f->type);
		MOVE(f->module);
	}
	op_vec_foreach(m, &c->mappings) {
		MOVE(m->file);
		MOVE(m->build_id);
	}
	op_vec_foreach(p, &c->processes) {
		MOVE(p->name);
		MOVE(p->path);
		MOVE(p->container_id);
		MOVE(p->container_name);
		MOVE(p->service_name);
	}
	op_vec_foreach(s, &c->stacks) {
		MOVE(s->thread_name);
		MOVE(s->trace);
		MOVE(s->reason);
		MOVE(s->label);
	}
	op_vec_foreach(k, &c->kinds) {
		MOVE(k->type);
		MOVE(k->unit);
		MOVE(k->period_type);
		MOVE(k->period_unit);
		MOVE(k->counted_type);
		MOVE(k->counted_unit);
	}
	MOVE(c->host);
	for (i = 0; c->times && i < c->times->threads.len; i++)
		MOVE(c->times->threads.data[i].name);
#undef MOVE
	op_strings_deinit(&c->strings);
	c->strings = to;
	return failed ? -ENOMEM : 0;
}

/* Threads of removed processes stay, without a name. */
static void renumber_threads(struct op_times *times, const struct numbers *n)
{
	struct op_times_thread *t;

	op_vec_foreach(t, &times->threads) {
		if (!n->processes[t->process])
			t->name = 0;
		t->process = n->processes[t->process] ? n->processes[t->process] - 1 : 0;
	}
}

static void renumber(struct op_collect *c, const struct numbers *n)
{
	struct op_collect_location *l;
	struct op_collect_line *line;
	struct op_collect_stack *s;
	uint32_t i, *at;

	if (c->times)
		renumber_threads(c->times, n);
	op_vec_foreach(l, &c->locations)
		l->mapping = n->mappings[l->mapping] - 1;
	/* Lines of removed locations stay, without a function. */
	op_vec_foreach(line, &c->lines) {
		i = n->functions[line->function];
		line->function = i ? i - 1 : 0;
	}
	op_vec_foreach(s, &c->stacks) {
		s->process = n->processes[s->process] - 1;
		s->kind = n->kinds[s->kind] - 1;
		for (i = 0; i < s->locations_len; i++) {
			at = &c->location_numbers.data[s->locations + i];
			*at = n->locations[*at] - 1;
		}
	}
}

int filter_compact(struct op_collect *c)
{
	_cleanup_free_ uint32_t *strings = calloc(c->strings.places.len + 1, 4);
	_cleanup_free_ uint32_t *functions = calloc(c->functions.len + 1, 4);
	_cleanup_free_ uint32_t *mappings = calloc(c->mappings.len + 1, 4);
	_cleanup_free_ uint32_t *locations = calloc(c->locations.len + 1, 4);
	_cleanup_free_ uint32_t *processes = calloc(c->processes.len + 1, 4);
	_cleanup_free_ uint32_t *kinds = calloc(c->kinds.len + 1, 4);
	struct numbers n = { strings, functions, mappings, locations, processes, kinds };

	if (!strings || !functions || !mappings || !locations || !processes || !kinds)
		return -ENOMEM;
	mark(c, &n);
	PACK(c->functions, functions);
	PACK(c->mappings, mappings);
	PACK(c->locations, locations);
	PACK(c->processes, processes);
	PACK(c->kinds, kinds);
	renumber(c, &n);
	/* These tables find entries by their old numbers. */
	op_index_clear(&c->index.functions);
	op_index_clear(&c->index.mappings);
	op_index_clear(&c->index.locations);
	op_index_clear(&c->index.processes);
	op_index_clear(&c->index.stacks);
	return move_strings(c, &n);
}
