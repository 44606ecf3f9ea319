/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/requests/frames.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macros.h"

/* What is known of each location of the unchanged collection. */
struct work {
	const struct filter *f;
	struct op_collect *c;
	uint8_t *functions; /* bits of enum filter_frames that match */
	uint8_t *locations; /* the same for any of its functions */
	/* by location: the location without hidden functions, or GONE */
	uint32_t *shown;
	size_t locations_len;
};

static int judge_function(struct work *w, uint32_t function)
{
	const struct op_collect_function *f = &w->c->functions.data[function];
	struct otlp_text name = op_strings_get(&w->c->strings, f->name);
	struct otlp_text module = op_strings_get(&w->c->strings, f->module);
	struct otlp_text file = op_strings_get(&w->c->strings, f->file);
	enum filter_frames i;
	int r;

	for (i = FILTER_FOCUS; i < FILTER_FRAMES; i++) {
		r = w->f->frames[i]
			    ? pattern_matches_frame(w->f->frames[i], name, module, file)
			    : 0;
		if (r < 0)
			return r;
		w->functions[function] |= (uint8_t)(r << i);
	}
	return 0;
}

static bool is_hidden(const struct work *w, const struct op_collect_line *line)
{
	return w->functions[line->function] & 1U << FILTER_HIDE;
}

/* The location without its hidden functions, which may be inlined ones. */
static int hide(struct work *w, uint32_t location)
{
	struct op_collect_location without = w->c->locations.data[location], *added;
	const struct op_collect_line *of;
	uint32_t first = without.lines, n = without.lines_len, i;

	w->shown[location] = location;
	if (!(w->locations[location] & 1U << FILTER_HIDE))
		return 0;
	if (op_vec_reserve(&w->c->lines, n))
		return -ENOMEM;
	without.lines = (uint32_t)w->c->lines.len;
	without.lines_len = 0;
	for (i = 0; i < n; i++) {
		of = &w->c->lines.data[first + i];
		if (is_hidden(w, of))
			continue;
		w->c->lines.data[w->c->lines.len++] = *of;
		without.lines_len++;
	}
	w->shown[location] = FILTER_GONE;
	if (!without.lines_len)
		return 0;
	added = op_vec_push(&w->c->locations);
	if (!added)
		return -ENOMEM;
	*added = without;
	w->shown[location] = (uint32_t)w->c->locations.len - 1;
	return 0;
}

static int judge_locations(struct work *w)
{
	const struct op_collect_location *l;
	uint32_t i, j;
	int r = 0;

	for (i = 0; !r && i < w->c->functions.len; i++)
		r = judge_function(w, i);
	for (i = 0; !r && i < w->locations_len; i++) {
		l = &w->c->locations.data[i];
		for (j = 0; j < l->lines_len; j++)
			w->locations[i] |=
				w->functions[w->c->lines.data[l->lines + j].function];
		r = hide(w, i);
	}
	return r;
}

/* Does the stack stay? If so, sets the numbers of its locations to the shown ones. */
static bool take_stack(struct work *w, struct op_collect_stack *s)
{
	uint32_t *numbers = w->c->location_numbers.data + s->locations, i, kept = 0;
	uint8_t has = 0;

	for (i = 0; i < s->locations_len; i++)
		has |= w->locations[numbers[i]];
	if ((w->f->frames[FILTER_FOCUS] && !(has & 1U << FILTER_FOCUS)) ||
	    has & 1U << FILTER_IGNORE)
		return false;
	for (i = 0; i < s->locations_len; i++) {
		if (w->shown[numbers[i]] != FILTER_GONE)
			numbers[kept++] = w->shown[numbers[i]];
	}
	s->locations_len = kept;
	return true;
}

int filter_frames(const struct filter *f, struct op_collect *c, uint32_t **ret_numbers)
{
	_cleanup_free_ uint8_t *functions = calloc(c->functions.len + 1, 1);
	_cleanup_free_ uint8_t *locations = calloc(c->locations.len + 1, 1);
	_cleanup_free_ uint32_t *shown = calloc(c->locations.len + 1, sizeof(*shown));
	_cleanup_free_ uint32_t *numbers = calloc(c->stacks.len + 1, sizeof(*numbers));
	struct work w = { f, c, functions, locations, shown, c->locations.len };
	size_t i, kept = 0;
	int r;

	if (!functions || !locations || !shown || !numbers)
		return -ENOMEM;
	r = judge_locations(&w);
	if (r)
		return r;
	for (i = 0; i < c->stacks.len; i++) {
		numbers[i] = FILTER_GONE;
		if (!take_stack(&w, &c->stacks.data[i]))
			continue;
		numbers[i] = (uint32_t)kept;
		c->stacks.data[kept++] = c->stacks.data[i];
	}
	c->stacks.len = kept;
	r = filter_compact(c);
	if (r)
		return r;
	*ret_numbers = OP_TAKE_PTR(numbers);
	return 0;
}
