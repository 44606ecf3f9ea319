/* SPDX-License-Identifier: Apache-2.0 */
#include "parts/rules/meant.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

static uint64_t word_of(uint32_t pid, uint32_t kind)
{
	return (uint64_t)kind << 32 | pid;
}

struct op_meant *op_meant_find(const struct op_programs *p, uint32_t pid, uint32_t kind)
{
	uint64_t word;

	return op_map64_get(&p->meant, word_of(pid, kind), &word)
		       ? (struct op_meant *)(uintptr_t)word
		       : NULL;
}

struct op_target_key op_meant_key(const struct op_meant *m)
{
	return (struct op_target_key){ .word = { m->pid }, .kind = m->kind };
}

static void count_users(const struct op_meant *m, int by)
{
	uint32_t i;

	for (i = 0; i < m->len; i++)
		m->pattern[i]->users += (size_t)by;
}

void op_meant_forget(struct op_programs *p, struct op_meant *m)
{
	const struct op_target_key key = op_meant_key(m);

	(void)op_map64_remove(&p->meant, word_of(m->pid, m->kind));
	count_users(m, -1);
	p->config.unpublish(p->config.ctx, &key, true);
	free(m);
}

/* No rule of @kind means it, but its parent may have had an entry when it forked. */
static void clear_copied(struct op_programs *p, uint32_t pid, uint32_t kind)
{
	const struct op_target_key key = { .word = { pid }, .kind = kind };

	if (p->entered[kind])
		p->config.unpublish(p->config.ctx, &key, false);
}

void op_meant_forget_pid(struct op_programs *p, uint32_t pid, uint32_t kind)
{
	struct op_meant *m = op_meant_find(p, pid, kind);

	if (m)
		op_meant_forget(p, m);
}

struct op_target_says op_meant_says(const struct op_meant *m)
{
	struct op_target_says says = { 0 };
	uint32_t i;

	for (i = 0; i < m->len; i++) {
		says.verdict = OP_MAX(says.verdict, m->pattern[i]->says.verdict);
		says.rate = OP_MAX(says.rate, m->pattern[i]->says.rate);
	}
	return says;
}

int op_meant_publish(struct op_programs *p, const struct op_meant *m, bool fresh)
{
	const struct op_target_key key = op_meant_key(m);
	const struct op_target_says says = op_meant_says(m);

	p->entered[m->kind] = true;
	return p->config.publish(p->config.ctx, &key, &says, fresh);
}

void op_found_take_all(struct op_found *found, const struct op_meant *from)
{
	found->stat = from->stat;
	found->len = from->len;
	memcpy(found->pattern, from->pattern, from->len * sizeof(found->pattern[0]));
}

void op_found_take(void *ctx, struct op_pattern *pattern)
{
	struct op_found *found = ctx;
	uint32_t i;

	for (i = 0; i < found->len; i++)
		if (found->pattern[i] == pattern)
			return;
	if (found->len == OP_PROGRAM_PATTERNS)
		found->p->refused++;
	else
		found->pattern[found->len++] = pattern;
}

static struct op_meant *add(struct op_programs *p, uint32_t pid, uint32_t kind,
			    const struct op_found *found)
{
	size_t bytes = found->len * sizeof(found->pattern[0]);
	struct op_meant *m;

	if (p->meant.len >= 2 * (size_t)OP_PROGRAMS_MAX && !op_meant_find(p, pid, kind))
		return NULL;
	m = malloc(sizeof(*m) + bytes);
	if (!m)
		return NULL;
	*m = (struct op_meant){ .pid = pid,
				.kind = kind,
				.pass = p->pass,
				.len = found->len,
				.stat = found->stat };
	memcpy(m->pattern, found->pattern, bytes);
	if (op_map64_put(&p->meant, word_of(pid, kind), (uint64_t)(uintptr_t)m) < 0) {
		free(m);
		return NULL;
	}
	count_users(m, 1);
	return m;
}

static bool is_same(const struct op_meant *m, const struct op_found *found)
{
	return m->len == found->len &&
	       memcmp(m->pattern, found->pattern, m->len * sizeof(m->pattern[0])) == 0;
}

void op_meant_set(struct op_programs *p, uint32_t pid, uint32_t kind,
		  const struct op_found *found)
{
	struct op_meant *before = op_meant_find(p, pid, kind);
	struct op_meant *m;

	if (before && is_same(before, found)) {
		before->pass = p->pass;
		before->stat = found->stat;
		/* an exec that was not heard of may have taken it out of the table */
		if (op_meant_publish(p, before, false) < 0) {
			op_meant_forget(p, before);
			p->refused++;
		}
		return;
	}
	if (!found->len) {
		if (before)
			op_meant_forget(p, before);
		else
			clear_copied(p, pid, kind);
		return;
	}
	m = add(p, pid, kind, found);
	if (m && before) {
		count_users(before, -1);
		free(before);
	} else if (before) {
		op_meant_forget(p, before); /* of what it is no more */
	} else if (!m) {
		clear_copied(p, pid, kind);
	}
	if (m && op_meant_publish(p, m, !before) < 0) {
		op_meant_forget(p, m);
		m = NULL;
	}
	p->refused += !m;
}
