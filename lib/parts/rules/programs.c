/* SPDX-License-Identifier: Apache-2.0 */
#include "parts/rules/programs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/macros.h"
#include "parts/rules/meant.h"
#include "process/target/scan.h"

enum {
	TRIES = 4, /* that a process is read */
};

/* What could not be read is tried again after this time, and four times as long each time. */
static const uint64_t RETRY_NS = UINT64_C(2000000);
/* Between two slices of a pass over all processes. */
static const uint64_t PAUSE_NS = UINT64_C(10000000);
/* Before a pass that could not begin is tried again. */
static const uint64_t FAILED_NS = UINT64_C(100000000);

int op_programs_new(const struct op_programs_config *config, struct op_programs **ret)
{
	struct op_programs *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->config = *config;
	op_patterns_init(&p->patterns);
	*ret = p;
	return 0;
}

static void close_scan(struct op_programs *p)
{
	if (p->scan)
		(void)closedir(p->scan);
	p->scan = NULL;
}

struct op_programs *op_programs_free(struct op_programs *p)
{
	uint64_t word;
	size_t at = 0;

	if (!p)
		return NULL;
	close_scan(p);
	while (op_map64_next(&p->meant, &at, &word))
		free((void *)(uintptr_t)word);
	op_map64_clear(&p->meant);
	op_patterns_deinit(&p->patterns);
	free(p);
	return NULL;
}

static bool any_rule(const struct op_programs *p)
{
	return p->patterns.len[OP_TARGET_EXECUTABLE] ||
	       p->patterns.len[OP_TARGET_ENVIRONMENT];
}

/* ---- rules ---- */

/* Call @fn for each process that @pattern means. @fn may forget it. */
static void each_user(struct op_programs *p, struct op_pattern *pattern,
		      void (*fn)(struct op_programs *p, struct op_meant *m,
				 struct op_pattern *pattern))
{
	OP_VEC(struct op_meant *) users = { 0 };
	struct op_meant **user;
	uint64_t word;
	size_t at = 0;
	uint32_t i;

	/* without memory all are looked at again */
	if (!pattern->users || op_vec_reserve(&users, pattern->users)) {
		p->again |= pattern->users != 0;
		return;
	}
	while (op_map64_next(&p->meant, &at, &word)) {
		struct op_meant *m = (struct op_meant *)(uintptr_t)word;

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

static void say_again(struct op_programs *p, struct op_meant *m,
		      struct op_pattern *pattern)
{
	(void)pattern;
	/* replacing needs no room */
	(void)op_meant_publish(p, m, false);
}

static void leave(struct op_programs *p, struct op_meant *m, struct op_pattern *pattern)
{
	uint32_t i;

	for (i = 0; i < m->len; i++)
		if (m->pattern[i] == pattern)
			break;
	m->pattern[i] = m->pattern[--m->len];
	pattern->users--;
	if (m->len)
		(void)op_meant_publish(p, m, false);
	else
		op_meant_forget(p, m);
}

static int set(struct op_programs *p, uint32_t kind, const char *text,
	       const struct op_target_says *says, struct op_pattern **ret)
{
	struct op_pattern *pattern =
		op_patterns_find(&p->patterns, kind, text, strlen(text));
	bool fresh = !pattern;
	int r = fresh ? op_patterns_add(&p->patterns, kind, text, &pattern) : 0;

	if (r < 0)
		return r;
	p->again |= fresh;
	pattern->says = *says;
	*ret = pattern;
	return 0;
}

int op_programs_say(struct op_programs *p, uint32_t kind, const char *text,
		    const struct op_target_says *says)
{
	struct op_pattern *pattern;

	return set(p, kind, text, says, &pattern);
}

int op_programs_set(struct op_programs *p, uint32_t kind, const char *text,
		    const struct op_target_says *says)
{
	struct op_pattern *pattern;
	int r = set(p, kind, text, says, &pattern);

	if (r == 0)
		each_user(p, pattern, say_again);
	return r;
}

void op_programs_unset(struct op_programs *p, uint32_t kind, const char *text)
{
	struct op_pattern *pattern =
		op_patterns_find(&p->patterns, kind, text, strlen(text));
	uint64_t word;
	size_t at = 0;

	if (!pattern)
		return;
	each_user(p, pattern, leave);
	/* Only without memory are there any: they are looked at again. */
	while (pattern->users && op_map64_next(&p->meant, &at, &word)) {
		op_meant_forget(p, (struct op_meant *)(uintptr_t)word);
		at = 0;
	}
	op_patterns_remove(&p->patterns, pattern);
}

/* ---- events ---- */

static struct op_asked *asked(struct op_programs *p, uint32_t pid)
{
	size_t i;

	for (i = 0; i < p->queue_len; i++)
		if (p->queue[i].pid == pid)
			return &p->queue[i];
	return NULL;
}

/* Look at @pid, after so many tries not before @after_ns. */
static void ask(struct op_programs *p, uint32_t pid, uint32_t tries, uint64_t after_ns)
{
	struct op_asked *at = asked(p, pid);

	if (!at && p->queue_len < OP_PROGRAMS_QUEUE)
		at = &p->queue[p->queue_len++];
	if (at)
		*at = (struct op_asked){ .pid = pid,
					 .tries = tries,
					 .after_ns = after_ns };
	else
		p->again = true;
}

static void inherit(struct op_programs *p, uint32_t pid, uint32_t parent, uint32_t kind)
{
	const struct op_meant *from = op_meant_find(p, parent, kind);
	struct op_found found = { .p = p };

	if (from)
		op_found_take_all(&found, from);
	op_meant_forget_pid(p, pid, kind); /* of an earlier process of that number */
	op_meant_set(p, pid, kind, &found);
}

void op_programs_on_fork(struct op_programs *p, uint32_t pid, uint32_t parent)
{
	if (pid == parent)
		return;
	/* also where the last rule has gone: the child was forked before */
	inherit(p, pid, parent, OP_TARGET_EXECUTABLE);
	inherit(p, pid, parent, OP_TARGET_ENVIRONMENT);
	/* its parent was not looked at, or a pass has gone by the child's number */
	if (any_rule(p) && (p->scan || asked(p, parent)))
		ask(p, pid, 0, 0);
}

void op_programs_on_exec(struct op_programs *p, uint32_t pid)
{
	struct op_meant *m = op_meant_find(p, pid, OP_TARGET_ENVIRONMENT);

	if (!any_rule(p))
		return;
	/* the kernel has removed it */
	op_meant_forget_pid(p, pid, OP_TARGET_EXECUTABLE);
	if (m)
		m->stat = (struct op_stat){ 0 };
	ask(p, pid, 0, 0);
}

void op_programs_on_exit(struct op_programs *p, uint32_t pid)
{
	size_t i;

	op_meant_forget_pid(p, pid, OP_TARGET_EXECUTABLE);
	op_meant_forget_pid(p, pid, OP_TARGET_ENVIRONMENT);
	for (i = 0; i < p->queue_len; i++)
		if (p->queue[i].pid == pid)
			p->queue[i--] = p->queue[--p->queue_len];
}

void op_programs_on_lost(struct op_programs *p)
{
	p->again = any_rule(p);
}

/* ---- looking at processes ---- */

/* What was found in the environment of a program stays: it may have overwritten that since,
 * as for a title. */
static void keep(struct op_programs *p, uint32_t pid, struct op_found *found)
{
	const struct op_meant *m = op_meant_find(p, pid, OP_TARGET_ENVIRONMENT);

	if (m && m->stat.start_stack && op_stat_same_exec(&m->stat, &found->stat))
		op_found_take_all(found, m);
}

/* Returns 0; -EAGAIN: not yet; or -errno. */
static int look_at(struct op_programs *p, uint32_t pid)
{
	struct op_reading reading = { 0 };
	struct op_found exe = { .p = p };
	struct op_found env = { .p = p };
	int r = op_reading_take(&reading, p->config.target, p->config.procfs_root, pid,
				p->patterns.len[OP_TARGET_ENVIRONMENT]);

	if (r == 0) {
		op_patterns_of_path(&p->patterns, reading.path, op_found_take, &exe);
		op_meant_set(p, pid, OP_TARGET_EXECUTABLE, &exe);
		r = reading.environ_error;
		env.stat = reading.stat;
		keep(p, pid, &env);
		if (reading.environ_len)
			op_patterns_of_environ(&p->patterns, reading.environ,
					       reading.environ_len, op_found_take, &env);
		if (r == 0)
			op_meant_set(p, pid, OP_TARGET_ENVIRONMENT, &env);
	} else if (r == -ESRCH) {
		op_programs_on_exit(p, pid);
		r = 0;
	}
	op_reading_deinit(&reading);
	return r == -ENOENT ? 0 : r; /* a kernel thread, or ended but for threads of it */
}

/* Processes that execute and cannot be read yet are looked at later. */
static void look_or_wait(struct op_programs *p, uint32_t pid, uint32_t tries)
{
	int r = look_at(p, pid);

	if (r == 0)
		return;
	if (r != -EAGAIN || tries + 1 >= TRIES || p->queue_len == OP_PROGRAMS_QUEUE) {
		p->unread++;
		return;
	}
	ask(p, pid, tries + 1, p->now_ns + (RETRY_NS << 2 * tries));
}

/* One process of the queue. False: none is due. */
static bool next_asked(struct op_programs *p)
{
	struct op_asked asked;
	size_t i;

	for (i = 0; i < p->queue_len && p->queue[i].after_ns > p->now_ns; i++)
		continue;
	if (i == p->queue_len)
		return false;
	asked = p->queue[i];
	/* in their order: a parent before its child */
	p->queue_len--;
	memmove(&p->queue[i], &p->queue[i + 1], (p->queue_len - i) * sizeof(p->queue[0]));
	look_or_wait(p, asked.pid, asked.tries);
	return true;
}

static void begin_pass(struct op_programs *p)
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

/* Those that this pass has not seen are gone: their ends were not heard of. */
static void end_pass(struct op_programs *p)
{
	OP_VEC(struct op_meant *) gone = { 0 };
	struct op_meant **m;
	uint64_t word;
	size_t at = 0;

	close_scan(p);
	if (op_vec_reserve(&gone, p->meant.len))
		return;
	while (op_map64_next(&p->meant, &at, &word)) {
		struct op_meant *one = (struct op_meant *)(uintptr_t)word;

		if (one->pass != p->pass &&
		    !op_scan_exists(p->config.procfs_root, one->pid))
			gone.data[gone.len++] = one;
	}
	op_vec_foreach(m, &gone)
		op_meant_forget(p, *m);
	op_vec_clear(&gone);
}

static void next_of_pass(struct op_programs *p)
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

void op_programs_work(struct op_programs *p, uint64_t now_ns, uint64_t limit_ns)
{
	uint64_t end_ns = now_ns + limit_ns;
	bool more = true;

	p->now_ns = now_ns;
	if (!any_rule(p)) {
		p->queue_len = 0;
		p->again = false;
		close_scan(p);
		return;
	}
	while (more && op_clock_monotonic_ns() < end_ns)
		more = next_asked(p);
	if (now_ns < p->pause_ns)
		return;
	p->pause_ns = now_ns + PAUSE_NS;
	if (p->again && !p->scan)
		begin_pass(p);
	/* one at least, however many of the queue there were */
	while (p->scan) {
		next_of_pass(p);
		if (op_clock_monotonic_ns() >= end_ns)
			break;
	}
}

uint64_t op_programs_next_ns(const struct op_programs *p)
{
	uint64_t next_ns = p->scan || p->again ? p->pause_ns + 1 : UINT64_MAX;
	size_t i;

	for (i = 0; i < p->queue_len; i++)
		next_ns = OP_MIN(next_ns, p->queue[i].after_ns + 1);
	return next_ns == UINT64_MAX ? 0 : next_ns;
}

size_t op_programs_len(const struct op_programs *p)
{
	return p->meant.len;
}

int op_programs_each(const struct op_programs *p, op_programs_fn fn, void *ctx)
{
	uint64_t word;
	size_t at = 0;
	int r = 0;

	while (r == 0 && op_map64_next(&p->meant, &at, &word)) {
		const struct op_meant *m = (const struct op_meant *)(uintptr_t)word;
		const struct op_target_key key = op_meant_key(m);
		const struct op_target_says says = op_meant_says(m);

		r = fn(ctx, &key, &says);
	}
	return r;
}

void op_programs_get_stats(const struct op_programs *p, struct op_programs_stats *ret)
{
	*ret = (struct op_programs_stats){ .meant = p->meant.len,
					   .unread = p->unread,
					   .refused = p->refused };
}
