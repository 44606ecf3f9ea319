/* SPDX-License-Identifier: Apache-2.0 */
#include "parts/rules/match.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

static uint64_t word_of(uint32_t pid, uint32_t kind)
{
	return (uint64_t)kind << 32 | pid;
}

struct op_match *op_match_find(const struct op_matches *p, uint32_t pid, uint32_t kind)
{
	uint64_t word;

	return op_map64_get(&p->matched, word_of(pid, kind), &word)
		       ? (struct op_match *)(uintptr_t)word
		       : NULL;
}

struct op_rule_key op_match_key(const struct op_match *m)
{
	return (struct op_rule_key){ .word = { m->pid }, .kind = m->kind };
}

static void count_users(const struct op_match *m, int by)
{
	uint32_t i;

	for (i = 0; i < m->len; i++)
		m->pattern[i]->users += (size_t)by;
}

void op_match_forget(struct op_matches *p, struct op_match *m)
{
	const struct op_rule_key key = op_match_key(m);

	(void)op_map64_remove(&p->matched, word_of(m->pid, m->kind));
	count_users(m, -1);
	p->config.unpublish(p->config.ctx, &key, true);
	free(m);
}

/* No rule of @kind matches the process, but the kernel may have copied an entry of its
 * parent at the fork. */
static void clear_copied(struct op_matches *p, uint32_t pid, uint32_t kind)
{
	const struct op_rule_key key = { .word = { pid }, .kind = kind };

	if (p->entered[kind])
		p->config.unpublish(p->config.ctx, &key, false);
}

void op_match_forget_pid(struct op_matches *p, uint32_t pid, uint32_t kind)
{
	struct op_match *m = op_match_find(p, pid, kind);

	if (m)
		op_match_forget(p, m);
}

struct op_rule_decision op_match_decision(const struct op_match *m)
{
	struct op_rule_decision decision = { 0 };
	uint32_t i;

	for (i = 0; i < m->len; i++) {
		decision.verdict =
			OP_MAX(decision.verdict, m->pattern[i]->decision.verdict);
		decision.rate = OP_MAX(decision.rate, m->pattern[i]->decision.rate);
	}
	return decision;
}

int op_match_publish(struct op_matches *p, const struct op_match *m, bool fresh)
{
	const struct op_rule_key key = op_match_key(m);
	const struct op_rule_decision decision = op_match_decision(m);

	p->entered[m->kind] = true;
	return p->config.publish(p->config.ctx, &key, &decision, fresh);
}

void op_match_found_take_all(struct op_match_found *found, const struct op_match *from)
{
	found->stat = from->stat;
	found->len = from->len;
	memcpy(found->pattern, from->pattern, from->len * sizeof(found->pattern[0]));
}

void op_match_found_take(void *ctx, struct op_pattern *pattern)
{
	struct op_match_found *found = ctx;
	uint32_t i;

	for (i = 0; i < found->len; i++)
		if (found->pattern[i] == pattern)
			return;
	if (found->len == OP_MATCH_PATTERNS)
		found->p->refused++;
	else
		found->pattern[found->len++] = pattern;
}

static struct op_match *add(struct op_matches *p, uint32_t pid, uint32_t kind,
			    const struct op_match_found *found)
{
	size_t bytes = found->len * sizeof(found->pattern[0]);
	struct op_match *m;

	if (p->matched.len >= 2 * (size_t)OP_MATCHES_MAX && !op_match_find(p, pid, kind))
		return NULL;
	m = malloc(sizeof(*m) + bytes);
	if (!m)
		return NULL;
	*m = (struct op_match){ .pid = pid,
				.kind = kind,
				.pass = p->pass,
				.len = found->len,
				.stat = found->stat };
	memcpy(m->pattern, found->pattern, bytes);
	if (op_map64_put(&p->matched, word_of(pid, kind), (uint64_t)(uintptr_t)m) < 0) {
		free(m);
		return NULL;
	}
	count_users(m, 1);
	return m;
}

static bool is_same(const struct op_match *m, const struct op_match_found *found)
{
	return m->len == found->len &&
	       memcmp(m->pattern, found->pattern, m->len * sizeof(m->pattern[0])) == 0;
}

void op_match_set(struct op_matches *p, uint32_t pid, uint32_t kind,
		  const struct op_match_found *found)
{
	struct op_match *before = op_match_find(p, pid, kind);
	struct op_match *m;

	if (before && is_same(before, found)) {
		before->pass = p->pass;
		before->stat = found->stat;
		/* an exec without an event may have removed the entry */
		if (op_match_publish(p, before, false) < 0) {
			op_match_forget(p, before);
			p->refused++;
		}
		return;
	}
	if (!found->len) {
		if (before)
			op_match_forget(p, before);
		else
			clear_copied(p, pid, kind);
		return;
	}
	m = add(p, pid, kind, found);
	if (m && before) {
		count_users(before, -1);
		free(before);
	} else if (before) {
		/* it no longer matches what it matched before */
		op_match_forget(p, before);
	} else if (!m) {
		clear_copied(p, pid, kind);
	}
	if (m && op_match_publish(p, m, !before) < 0) {
		op_match_forget(p, m);
		m = NULL;
	}
	p->refused += !m;
}
