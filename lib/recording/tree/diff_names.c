/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renames modules and programs of the second recording to those of the first of which
 * they are versions: orders and orders-fixed, libx.so.1 and libx.so.2. A function is
 * then the same in both. Only modules and programs of a single recording are renamed.
 * The module of a script's functions is its file.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "recording/read/say.h"
#include "recording/tree/diff.h"
#include "recording/tree/function_name.h"

enum {
	NAME_BYTES = 256,
	COMM_BYTES = 15, /* the kernel cuts a program's name */
	/* Per cent of the smaller module's functions that a pair must share. */
	COMMON_PERCENT = 25,
	NONE = 0, /* no string */
};

/* Texts of both recordings share one numbering. */
struct joining {
	struct op_collect *c[DIFF_SIDES];
	struct op_strings texts;
	/* Functions of each module, and processes of each program, by text. */
	struct sums modules[DIFF_SIDES];
	struct sums programs[DIFF_SIDES];
	struct op_map64 paths;	   /* of the scripts before, by their module, strings */
	struct sums votes;	   /* votes, by the module before and the module after */
	struct op_map64 functions; /* by name: a module of the first alone */
	struct op_map64 renamed;   /* by the module after: the module before */
};

static int number_of(struct joining *j, struct otlp_text text, uint32_t *ret)
{
	return op_strings_add(&j->texts, text, ret);
}

static int module_of(struct joining *j, int side, const struct op_collect_function *f,
		     uint32_t *ret)
{
	uint32_t path = f->module != NONE ? f->module : f->file;

	return number_of(
		j, function_name_base(op_strings_get(&j->c[side]->strings, path)), ret);
}

static bool is_alone(const struct sums sums[DIFF_SIDES], uint32_t text, int side)
{
	return text != NONE && !sums_get(&sums[!side], text);
}

static int count_names(struct joining *j, int side)
{
	const struct op_collect_function *f;
	const struct op_collect_process *p;
	uint32_t text;
	int r = 0;

	op_vec_foreach(f, &j->c[side]->functions) {
		r = module_of(j, side, f, &text);
		if (!r && text != NONE)
			r = sums_add(&j->modules[side], text, 1);
		if (!r && !side && text != NONE && f->module == NONE)
			r = op_map64_put(&j->paths, text, f->file);
		if (r)
			return r;
	}
	op_vec_foreach(p, &j->c[side]->processes) {
		r = number_of(j, op_strings_get(&j->c[side]->strings, p->name), &text);
		if (!r && text != NONE)
			r = sums_add(&j->programs[side], text, 1);
		if (r)
			return r;
	}
	return 0;
}

/* Almost every program has such names: main, <module>, <lambda>. */
static bool is_common(struct otlp_text name)
{
	return otlp_text_is(name, "main") || otlp_text_is(name, "_start") ||
	       (name.len && name.data[0] == '<');
}

/* A function of a module that only one recording has: remember it, or count a vote for
 * a pair. */
static int take_function(struct joining *j, int side, const struct op_collect_function *f)
{
	struct otlp_text text = op_strings_get(&j->c[side]->strings, f->name);
	uint32_t module, name;
	uint64_t before;
	int r = module_of(j, side, f, &module);

	if (r || !is_alone(j->modules, module, side) || is_common(text))
		return r;
	r = number_of(j, text, &name);
	if (r || name == NONE)
		return r;
	if (!side)
		return op_map64_put(&j->functions, name, module);
	if (!op_map64_get(&j->functions, name, &before))
		return 0;
	return sums_add(&j->votes, before << 32 | module, 1);
}

static int vote(struct joining *j)
{
	const struct op_collect_function *f;
	int side, r = 0;

	for (side = 0; !r && side < DIFF_SIDES; side++)
		r = count_names(j, side);
	for (side = 0; !r && side < DIFF_SIDES; side++) {
		op_vec_foreach(f, &j->c[side]->functions) {
			r = take_function(j, side, f);
			if (r)
				break;
		}
	}
	return r;
}

/* The pairs with most in common first. Each module is in one pair. */
static int choose(struct joining *j)
{
	struct op_map64 taken = { 0 };
	const struct sum *s;
	uint64_t before, after, unused;
	int64_t least;
	int r = 0;

	sums_sort(&j->votes);
	op_vec_foreach(s, &j->votes.items) {
		before = s->key >> 32;
		after = (uint32_t)s->key;
		least = OP_MIN(sums_get(&j->modules[0], before),
			       sums_get(&j->modules[1], after));
		if (s->value * 100 < least * COMMON_PERCENT ||
		    op_map64_get(&taken, before, &unused) ||
		    op_map64_get(&j->renamed, after, &unused))
			continue;
		r = op_map64_put(&taken, before, after);
		if (!r)
			r = op_map64_put(&j->renamed, after, before);
		if (r)
			break;
	}
	op_map64_clear(&taken);
	return r;
}

static void say(const struct joining *j, const char *what, uint32_t before,
		uint32_t after)
{
	struct otlp_text a = op_strings_get(&j->texts, before);
	struct otlp_text b = op_strings_get(&j->texts, after);

	note("%s %.*s (after) is compared with %.*s (before)", what,
	     (int)OP_MIN(b.len, NAME_BYTES), b.data, (int)OP_MIN(a.len, NAME_BYTES),
	     a.data);
}

static int rename_module(struct joining *j, struct op_collect_function *f,
			 uint64_t before)
{
	struct op_strings *strings = &j->c[1]->strings;
	uint64_t path;

	if (f->module != NONE)
		return op_strings_add(
			strings, op_strings_get(&j->texts, (uint32_t)before), &f->module);
	/* A file may be the version of a module of another form. */
	if (!op_map64_get(&j->paths, before, &path))
		return op_strings_add(
			strings, op_strings_get(&j->texts, (uint32_t)before), &f->file);
	return op_strings_add(strings, op_strings_get(&j->c[0]->strings, (uint32_t)path),
			      &f->file);
}

static int rename_modules(struct joining *j)
{
	struct op_map64 said = { 0 };
	struct op_collect_function *f;
	uint64_t before, unused;
	uint32_t module;
	int r = 0;

	op_vec_foreach(f, &j->c[1]->functions) {
		r = module_of(j, 1, f, &module);
		if (r || !op_map64_get(&j->renamed, module, &before))
			continue;
		if (!op_map64_get(&said, before, &unused))
			say(j, "module", (uint32_t)before, module);
		r = op_map64_put(&said, before, 1);
		r = r ?: rename_module(j, f, before);
		if (r)
			break;
	}
	op_map64_clear(&said);
	return r;
}

static struct otlp_text cut(struct otlp_text text)
{
	text.len = OP_MIN(text.len, (size_t)COMM_BYTES);
	return text;
}

/* The earlier program that is called @after in the second recording: the only one on
 * each side, or that of a module. */
static int program_before(struct joining *j, uint32_t after, uint32_t *ret)
{
	const struct sum *s;
	uint32_t one = NONE, before, now;
	size_t alone[DIFF_SIDES] = { 0 };
	int side, r;

	for (side = 0; side < DIFF_SIDES; side++) {
		op_vec_foreach(s, &j->programs[side].items) {
			if (!is_alone(j->programs, (uint32_t)s->key, side))
				continue;
			alone[side]++;
			one = side ? one : (uint32_t)s->key;
		}
	}
	*ret = alone[0] == 1 && alone[1] == 1 ? one : NONE;
	op_vec_foreach(s, &j->votes.items) {
		uint64_t chosen;

		if (!op_map64_get(&j->renamed, (uint32_t)s->key, &chosen) ||
		    chosen != s->key >> 32)
			continue;
		r = number_of(j, cut(op_strings_get(&j->texts, (uint32_t)s->key)), &now);
		if (!r)
			r = number_of(j, cut(op_strings_get(&j->texts, (uint32_t)chosen)),
				      &before);
		if (r)
			return r;
		if (now == after && is_alone(j->programs, before, 0) &&
		    sums_get(&j->programs[0], before))
			*ret = before;
	}
	return 0;
}

static int rename_programs(struct joining *j)
{
	struct op_collect_process *p;
	uint32_t after, before = NONE, said = NONE;
	int r = 0;

	op_vec_foreach(p, &j->c[1]->processes) {
		r = number_of(j, op_strings_get(&j->c[1]->strings, p->name), &after);
		if (r)
			break;
		if (!is_alone(j->programs, after, 1))
			continue;
		r = program_before(j, after, &before);
		if (r || before == NONE)
			continue;
		if (said != after)
			say(j, "program", before, after);
		said = after;
		r = op_strings_add(&j->c[1]->strings, op_strings_get(&j->texts, before),
				   &p->name);
		if (r)
			break;
	}
	return r;
}

int diff_join_names(struct op_collect *before, struct op_collect *after)
{
	struct joining j = { .c = { before, after } };
	int side, r = op_strings_init(&j.texts, before->seed);

	if (!r)
		r = vote(&j);
	if (!r)
		r = choose(&j);
	if (!r)
		r = rename_modules(&j);
	if (!r)
		r = rename_programs(&j);
	for (side = 0; side < DIFF_SIDES; side++) {
		sums_clear(&j.modules[side]);
		sums_clear(&j.programs[side]);
	}
	op_map64_clear(&j.paths);
	sums_clear(&j.votes);
	op_map64_clear(&j.functions);
	op_map64_clear(&j.renamed);
	op_strings_deinit(&j.texts);
	return r;
}
