/* SPDX-License-Identifier: Apache-2.0 */
#include "parts/rules/matches.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/macros.h"
#include "parts/rules/match.h"
#include "process/target/scan.h"

enum {
	TRIES = 4, /* tries to read a process */
};

/* A process that cannot be read is tried again after this time, then after four times
 * as long. */
static const uint64_t RETRY_NS = UINT64_C(2000000);
/* Pause between two slices of a pass over all processes. */
static const uint64_t PAUSE_NS = UINT64_C(10000000);
/* Pause before a pass that failed to begin. */
static const uint64_t FAILED_NS = UINT64_C(100000000);

int op_matches_new(const struct op_matches_config *config, struct op_matches **ret)
{
	struct op_matches *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->config = *config;
	op_patterns_init(&p->patterns);
	*ret = p;
	return 0;
}

static void close_scan(struct op_matches *p)
{
	if (p->scan)
		(void)closedir(p->scan);
	p->scan = NULL;
}

struct op_matches *op_matches_free(struct op_matches *p)
{
	uint64_t word;
	size_t at = 0;

	if (!p)
		return NULL;
	close_scan(p);
	while (op_map64_next(&p->matched, &at, &word))
		free((void *)(uintptr_t)word);
	op_map64_clear(&p->matched);
	op_patterns_deinit(&p->patterns);
	free(p);
	return NULL;
}

static bool any_rule(const struct op_matches *p)
{
	return p->patterns.len[OP_RULE_EXECUTABLE] ||
	       p->patterns.len[OP_RULE_ENVIRONMENT];
}

/* ---- rules ---- */

/* Call @fn for each process that @pattern matches. @fn may forget the process. */
static void each_user(struct op_matches *p, struct op_pattern *pattern,
		      void (*fn)(struct op_matches *p, struct op_match *m,
				 struct op_pattern *pattern))
{
	OP_VEC(struct op_match *) users = { 0 };
	struct op_match **user;
	uint64_t word;
	size_t at = 0;
	uint32_t i;

	/* without memory, examine all processes again */
	if (!pattern->users || op_vec_reserve(&users, pattern->users)) {
		p->again |= pattern->users != 0;
		return;
	}
	while (op_map64_next(&p->matched, &at, &word)) {
		struct op_match *m = (struct op_match *)(uintptr_t)word;

		for (i = 0; i < m->len; i++)
			if (m->pattern[i] == pattern)
				break;
		if (i < m->len)
			users.data[users.len++] = m;
	}
	op_vec_foreach(user, &users)
		fn(p, *user, pattern);
	op_vec_clear(&users);
}

static void publish_again(struct op_matches *p, struct op_match *m,
			  struct op_pattern *pattern)
{
	(void)pattern;
	/* replacing an entry takes no space */
	(void)op_match_publish(p, m, false);
}

static void leave(struct op_matches *p, struct op_match *m, struct op_pattern *pattern)
{
	uint32_t i;

	for (i = 0; i < m->len; i++)
		if (m->pattern[i] == pattern)
			break;
	m->pattern[i] = m->pattern[--m->len];
	pattern->users--;
	if (m->len)
		(void)op_match_publish(p, m, false);
	else
		op_match_forget(p, m);
}

static int set(struct op_matches *p, uint32_t kind, const char *text,
	       const struct op_rule_decision *decision, struct op_pattern **ret)
{
	struct op_pattern *pattern =
		op_patterns_find(&p->patterns, kind, text, strlen(text));
	bool fresh = !pattern;
	int r = fresh ? op_patterns_add(&p->patterns, kind, text, &pattern) : 0;

	if (r < 0)
		return r;
	p->again |= fresh;
	pattern->decision = *decision;
	*ret = pattern;
	return 0;
}

int op_matches_say(struct op_matches *p, uint32_t kind, const char *text,
		   const struct op_rule_decision *decision)
{
	struct op_pattern *pattern;

	return set(p, kind, text, decision, &pattern);
}

int op_matches_set(struct op_matches *p, uint32_t kind, const char *text,
		   const struct op_rule_decision *decision)
{
	struct op_pattern *pattern;
	int r = set(p, kind, text, decision, &pattern);

	if (r == 0)
		each_user(p, pattern, publish_again);
	return r;
}

void op_matches_unset(struct op_matches *p, uint32_t kind, const char *text)
{
	struct op_pattern *pattern =
		op_patterns_find(&p->patterns, kind, text, strlen(text));
	uint64_t word;
	size_t at = 0;

	if (!pattern)
		return;
	each_user(p, pattern, leave);
	/* Users are left only if memory was short. Forget all. A new pass examines
	 * them. */
	while (pattern->users && op_map64_next(&p->matched, &at, &word)) {
		op_match_forget(p, (struct op_match *)(uintptr_t)word);
		at = 0;
	}
	op_patterns_remove(&p->patterns, pattern);
}

/* ---- events ---- */

static struct op_match_candidate *candidate(struct op_matches *p, uint32_t pid)
{
	size_t i;

	for (i = 0; i < p->queue_len; i++)
		if (p->queue[i].pid == pid)
			return &p->queue[i];
	return NULL;
}

/* Examine @pid, not before @after_ns. @tries: how often it was tried. */
static void enqueue(struct op_matches *p, uint32_t pid, uint32_t tries, uint64_t after_ns)
{
	struct op_match_candidate *at = candidate(p, pid);

	if (!at && p->queue_len < OP_MATCHES_QUEUE)
		at = &p->queue[p->queue_len++];
	if (at)
		*at = (struct op_match_candidate){ .pid = pid,
						   .tries = tries,
						   .after_ns = after_ns };
	else
		p->again = true;
}

static void inherit(struct op_matches *p, uint32_t pid, uint32_t parent, uint32_t kind)
{
	const struct op_match *from = op_match_find(p, parent, kind);
	struct op_match_found found = { .p = p };

	if (from)
		op_match_found_take_all(&found, from);
	op_match_forget_pid(p, pid, kind); /* of an earlier process with this pid */
	op_match_set(p, pid, kind, &found);
}

void op_matches_on_fork(struct op_matches *p, uint32_t pid, uint32_t parent)
{
	if (pid == parent)
		return;
	/* also without any rule left: the fork may be older than the removal */
	inherit(p, pid, parent, OP_RULE_EXECUTABLE);
	inherit(p, pid, parent, OP_RULE_ENVIRONMENT);
	/* the parent was not examined yet, or the pass is beyond the child's pid */
	if (any_rule(p) && (p->scan || candidate(p, parent)))
		enqueue(p, pid, 0, 0);
}

void op_matches_on_exec(struct op_matches *p, uint32_t pid)
{
	struct op_match *m = op_match_find(p, pid, OP_RULE_ENVIRONMENT);

	if (!any_rule(p))
		return;
	/* the kernel has removed the entry */
	op_match_forget_pid(p, pid, OP_RULE_EXECUTABLE);
	if (m)
		m->stat = (struct op_stat){ 0 };
	enqueue(p, pid, 0, 0);
}

void op_matches_on_exit(struct op_matches *p, uint32_t pid)
{
	size_t i;

	op_match_forget_pid(p, pid, OP_RULE_EXECUTABLE);
	op_match_forget_pid(p, pid, OP_RULE_ENVIRONMENT);
	for (i = 0; i < p->queue_len; i++)
		if (p->queue[i].pid == pid)
			p->queue[i--] = p->queue[--p->queue_len];
}

void op_matches_on_lost(struct op_matches *p)
{
	p->again = any_rule(p);
}

/* ---- examining processes ---- */

/* A match by environment lasts: the process may have overwritten its environment since,
 * as for a title. */
static void keep(struct op_matches *p, uint32_t pid, struct op_match_found *found)
{
	const struct op_match *m = op_match_find(p, pid, OP_RULE_ENVIRONMENT);

	if (m && m->stat.start_stack && op_stat_same_exec(&m->stat, &found->stat))
		op_match_found_take_all(found, m);
}

/* Returns 0; -EAGAIN: not yet; or -errno. */
static int look_at(struct op_matches *p, uint32_t pid)
{
	struct op_match_input reading = { 0 };
	struct op_match_found exe = { .p = p };
	struct op_match_found env = { .p = p };
	int r = op_match_input_read(&reading, p->config.target, p->config.procfs_root,
				    pid, p->patterns.len[OP_RULE_ENVIRONMENT]);

	if (r == 0) {
		op_patterns_of_path(&p->patterns, reading.path, op_match_found_take,
				    &exe);
		op_match_set(p, pid, OP_RULE_EXECUTABLE, &exe);
		r = reading.environ_error;
		env.stat = reading.stat;
		keep(p, pid, &env);
		if (reading.environ_len)
			op_patterns_of_environ(&p->patterns, reading.environ,
					       reading.environ_len, op_match_found_take,
					       &env);
		if (r == 0)
			op_match_set(p, pid, OP_RULE_ENVIRONMENT, &env);
	} else if (r == -ESRCH) {
		op_matches_on_exit(p, pid);
		r = 0;
	}
	op_match_input_deinit(&reading);
	return r == -ENOENT ? 0 : r; /* a kernel thread, or its leader has ended */
}

/* Examine a process now, or later if it is in an exec. */
static void look_or_wait(struct op_matches *p, uint32_t pid, uint32_t tries)
{
	int r = look_at(p, pid);

	if (r == 0)
		return;
	if (r != -EAGAIN || tries + 1 >= TRIES || p->queue_len == OP_MATCHES_QUEUE) {
		p->unread++;
		return;
	}
	enqueue(p, pid, tries + 1, p->now_ns + (RETRY_NS << 2 * tries));
}

/* Examine one process of the queue. False: none is due. */
static bool next_candidate(struct op_matches *p)
{
	struct op_match_candidate candidate;
	size_t i;

	for (i = 0; i < p->queue_len && p->queue[i].after_ns > p->now_ns; i++)
		continue;
	if (i == p->queue_len)
		return false;
	candidate = p->queue[i];
	/* keep the order: a parent before its child */
	p->queue_len--;
	memmove(&p->queue[i], &p->queue[i + 1], (p->queue_len - i) * sizeof(p->queue[0]));
	look_or_wait(p, candidate.pid, candidate.tries);
	return true;
}

static void begin_pass(struct op_matches *p)
{
	int fd = op_open(p->config.procfs_root, O_RDONLY | O_DIRECTORY);

	p->again = false;
	p->pass++;
	p->scan = fd < 0 ? NULL : fdopendir(fd);
	if (p->scan)
		return;
	op_closep(&fd);
	p->unread++;
	p->again = true;
	p->pause_ns = p->now_ns + FAILED_NS;
}

/* Forget processes that this pass did not see and that are gone. Their exit event was
 * lost. */
static void end_pass(struct op_matches *p)
{
	OP_VEC(struct op_match *) gone = { 0 };
	struct op_match **m;
	uint64_t word;
	size_t at = 0;

	close_scan(p);
	if (op_vec_reserve(&gone, p->matched.len))
		return;
	while (op_map64_next(&p->matched, &at, &word)) {
		struct op_match *one = (struct op_match *)(uintptr_t)word;

		if (one->pass != p->pass &&
		    !op_scan_exists(p->config.procfs_root, one->pid))
			gone.data[gone.len++] = one;
	}
	op_vec_foreach(m, &gone)
		op_match_forget(p, *m);
	op_vec_clear(&gone);
}

static void next_of_pass(struct op_matches *p)
{
	struct dirent *entry = readdir(p->scan);
	uint32_t pid;

	if (!entry) {
		end_pass(p);
		return;
	}
	pid = op_scan_number(entry->d_name);
	if (pid)
		look_or_wait(p, pid, 0);
}

void op_matches_work(struct op_matches *p, uint64_t now_ns,
		     struct op_allowance *allowance)
{
	bool more = true;

	p->now_ns = now_ns;
	if (!any_rule(p)) {
		p->queue_len = 0;
		p->again = false;
		close_scan(p);
		return;
	}
	while (more && !op_allowance_is_over(allowance))
		more = next_candidate(p);
	if (now_ns < p->pause_ns)
		return;
	p->pause_ns = now_ns + PAUSE_NS;
	if (p->again && !p->scan)
		begin_pass(p);
	/* at least one process of the pass, even if the queue used up the time */
	while (p->scan) {
		next_of_pass(p);
		if (op_allowance_is_over(allowance))
			break;
	}
}

uint64_t op_matches_next_ns(const struct op_matches *p)
{
	uint64_t next_ns = p->scan || p->again ? p->pause_ns + 1 : UINT64_MAX;
	size_t i;

	for (i = 0; i < p->queue_len; i++)
		next_ns = OP_MIN(next_ns, p->queue[i].after_ns + 1);
	return next_ns == UINT64_MAX ? 0 : next_ns;
}

size_t op_matches_len(const struct op_matches *p)
{
	return p->matched.len;
}

int op_matches_each(const struct op_matches *p, op_matches_fn fn, void *ctx)
{
	uint64_t word;
	size_t at = 0;
	int r = 0;

	while (r == 0 && op_map64_next(&p->matched, &at, &word)) {
		const struct op_match *m = (const struct op_match *)(uintptr_t)word;
		const struct op_rule_key key = op_match_key(m);
		const struct op_rule_decision decision = op_match_decision(m);

		r = fn(ctx, &key, &decision);
	}
	return r;
}

void op_matches_get_stats(const struct op_matches *p, struct op_match_stats *ret)
{
	*ret = (struct op_match_stats){ .matched = p->matched.len,
					.unread = p->unread,
					.refused = p->refused };
}
