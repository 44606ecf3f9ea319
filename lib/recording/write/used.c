/* SPDX-License-Identifier: Apache-2.0 */
/* Marks the records that samples use: nodes, their frames, and so on. */
#include "recording/write/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int init(struct used_set *u, size_t len)
{
	size_t bytes = (len + 1) * sizeof(*u->numbers);

	u->numbers = malloc(bytes);
	if (!u->numbers)
		return -ENOMEM;
	memset(u->numbers, 0xff, bytes);
	return 0;
}

int used_init(struct used *u, const struct timeline *t)
{
	return init(&u->nodes, t->nodes.nodes.len) || init(&u->frames, t->frames.len) ||
			       init(&u->functions, t->functions.len) ||
			       init(&u->libraries, t->libraries.len)
		       ? -ENOMEM
		       : 0;
}

static void clear(struct used_set *u)
{
	free(u->numbers);
	u->numbers = NULL;
	op_vec_clear(&u->list);
}

void used_clear(struct used *u)
{
	clear(&u->nodes);
	clear(&u->frames);
	clear(&u->functions);
	clear(&u->libraries);
}

static void reset(struct used_set *u)
{
	uint32_t *at;

	op_vec_foreach(at, &u->list)
		u->numbers[*at] = TIMELINE_NONE;
	u->list.len = 0;
}

static int add(struct used_set *u, uint32_t at)
{
	uint32_t *e;

	if (at == TIMELINE_NONE || u->numbers[at] != TIMELINE_NONE)
		return 0;
	e = op_vec_push(&u->list);
	if (!e)
		return -ENOMEM;
	*e = at;
	u->numbers[at] = (uint32_t)u->list.len - 1;
	return 0;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static int find_nodes(struct used_set *u, const struct timeline *t,
		      const struct timeline_sample *s, const struct timeline_sample *end)
{
	uint32_t node;
	size_t i;

	for (; s < end; s++) {
		node = s->node;
		while (node && u->numbers[node] == TIMELINE_NONE) {
			if (add(u, node))
				return -ENOMEM;
			node = t->nodes.nodes.data[node].parent;
		}
	}
	/* A caller has a smaller number. */
	if (u->list.len)
		qsort(u->list.data, u->list.len, sizeof(*u->list.data), compare);
	for (i = 0; i < u->list.len; i++)
		u->numbers[u->list.data[i]] = (uint32_t)i;
	return 0;
}

int used_find(struct used *u, const struct timeline *t, const struct timeline_sample *s,
	      const struct timeline_sample *end)
{
	const uint32_t *at;
	int r;

	reset(&u->nodes);
	reset(&u->frames);
	reset(&u->functions);
	reset(&u->libraries);
	r = find_nodes(&u->nodes, t, s, end);
	op_vec_foreach(at, &u->nodes.list)
		r = r ? r : add(&u->frames, t->nodes.nodes.data[*at].label);
	op_vec_foreach(at, &u->frames.list)
		r = r ? r : add(&u->functions, t->frames.data[*at].function);
	op_vec_foreach(at, &u->functions.list)
		r = r ? r : add(&u->libraries, t->functions.data[*at].library);
	return r;
}
