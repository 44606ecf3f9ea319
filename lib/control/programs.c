/* SPDX-License-Identifier: Apache-2.0 */
#include "control/programs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/macros.h"
#include "control/patterns.h"
#include "control/reading.h"
#include "target/scan.h"

enum {
	TRIES = 4, /* that a process is read */
};

/* What could not be read is tried again after this time, and four times as long each time. */
static const uint64_t RETRY_NS = UINT64_C(2000000);
/* Between two slices of a pass over all processes. */
static const uint64_t PAUSE_NS = UINT64_C(10000000);

/* A process that rules of one kind mean. */
struct meant {
	uint32_t pid;
	uint32_t kind;
	uint32_t pass; /* the pass over all processes that has seen it last */
	uint32_t len;
	struct op_pattern *pattern[];
};

/* A process that is to be looked at. */
struct asked {
	uint32_t pid;
	uint32_t tries;
	uint64_t after_ns;
};

struct op_programs {
	struct op_programs_config config;
	struct op_patterns patterns;
	struct op_map64 meant; /* pid and kind -> struct meant */
	struct asked queue[OP_PROGRAMS_QUEUE];
	size_t queue_len;
	DIR *scan;  /* the pass under way, or NULL */
	bool again; /* a pass is wanted, after that one */
	uint32_t pass;
	uint64_t pause_ns; /* that pass goes on then */
	uint64_t now_ns;
	uint64_t unread;
	uint64_t refused;
};

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

struct op_programs *op_programs_free(struct op_programs *p)
{
	uint64_t word;
	size_t at = 0;

	if (!p)
		return NULL;
	if (p->scan)
		(void)closedir(p->scan);
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

/* ---- processes that are meant ---- */

static uint64_t word_of(uint32_t pid, uint32_t kind)
{
	return (uint64_t)kind << 32 | pid;
}

static struct meant *find(const struct op_programs *p, uint32_t pid, uint32_t kind)
{
	uint64_t word;

	return op_map64_get(&p->meant, word_of(pid, kind), &word)
		       ? (struct meant *)(uintptr_t)word
		       : NULL;
}

static struct op_target_key key_of(const struct meant *m)
{
	return (struct op_target_key){ .word = { m->pid }, .kind = m->kind };
}

static void count_users(const struct meant *m, int by)
{
	uint32_t i;

	for (i = 0; i < m->len; i++)
		m->pattern[i]->users += (size_t)by;
}

static void forget(struct op_programs *p, struct meant *m)
{
	const struct op_target_key key = key_of(m);

	(void)op_map64_remove(&p->meant, word_of(m->pid, m->kind));
	count_users(m, -1);
	p->config.unpublish(p->config.ctx, &key);
	free(m);
}

static void forget_pid(struct op_programs *p, uint32_t pid, uint32_t kind)
{
	struct meant *m = find(p, pid, kind);

	if (m)
		forget(p, m);
}

/* What the rules say that mean it; of several the latest one decides. */
static struct op_target_says says_of(const struct meant *m)
{
	struct op_target_says says = { 0 };
	uint32_t i;

	for (i = 0; i < m->len; i++) {
		says.verdict = OP_MAX(says.verdict, m->pattern[i]->says.verdict);
		says.rate = OP_MAX(says.rate, m->pattern[i]->says.rate);
	}
	return says;
}

static int publish(struct op_programs *p, const struct meant *m, bool fresh)
{
	const struct op_target_key key = key_of(m);
	const struct op_target_says says = says_of(m);

	return p->config.publish(p->config.ctx, &key, &says, fresh);
}

/* What was found of a process. */
struct found {
	struct op_programs *p;
	uint32_t len;
	struct op_pattern *pattern[OP_PROGRAM_PATTERNS];
};

static void take(void *ctx, struct op_pattern *pattern)
{
	struct found *found = ctx;
	uint32_t i;

	for (i = 0; i < found->len; i++)
		if (found->pattern[i] == pattern)
			return;
	if (found->len == OP_PROGRAM_PATTERNS)
		found->p->refused++;
	else
		found->pattern[found->len++] = pattern;
}

static struct meant *add(struct op_programs *p, uint32_t pid, uint32_t kind,
			 const struct found *found)
{
	size_t bytes = found->len * sizeof(found->pattern[0]);
	struct meant *m;

	if (p->meant.len >= 2 * (size_t)OP_PROGRAMS_MAX && !find(p, pid, kind))
		return NULL;
	m = malloc(sizeof(*m) + bytes);
	if (!m)
		return NULL;
	*m = (struct meant){
		.pid = pid, .kind = kind, .pass = p->pass, .len = found->len
	};
	memcpy(m->pattern, found->pattern, bytes);
	if (op_map64_put(&p->meant, word_of(pid, kind), (uint64_t)(uintptr_t)m) < 0) {
		free(m);
		return NULL;
	}
	count_users(m, 1);
	return m;
}

static bool is_same(const struct meant *m, const struct found *found)
{
	return m->len == found->len &&
	       memcmp(m->pattern, found->pattern, m->len * sizeof(m->pattern[0])) == 0;
}

/* Rules of @kind that mean the process are these. Its entry is replaced, so that no sample
 * finds none. */
static void set(struct op_programs *p, uint32_t pid, uint32_t kind,
		const struct found *found)
{
	struct meant *before = find(p, pid, kind);
	struct meant *m;

	if (before && is_same(before, found)) {
		before->pass = p->pass;
		return;
	}
	if (!found->len) {
		if (before)
			forget(p, before);
		return;
	}
	m = add(p, pid, kind, found);
	if (m && before) {
		count_users(before, -1);
		free(before);
	} else if (before) {
		forget(p, before); /* of what it is no more */
	}
	if (m && publish(p, m, !before) < 0) {
		forget(p, m);
		m = NULL;
	}
	p->refused += !m;
}

/* ---- rules ---- */

/* Call @fn for each process that @pattern means. @fn may forget it. */
static void each_user(struct op_programs *p, struct op_pattern *pattern,
		      void (*fn)(struct op_programs *p, struct meant *m,
				 struct op_pattern *pattern))
{
	OP_VEC(struct meant *) users = { 0 };
	struct meant **user;
	uint64_t word;
	size_t at = 0;
	uint32_t i;

	/* without memory all are looked at again */
	if (!pattern->users || op_vec_reserve(&users, pattern->users)) {
		p->again |= pattern->users != 0;
		return;
	}
	while (op_map64_next(&p->meant, &at, &word)) {
		struct meant *m = (struct meant *)(uintptr_t)word;

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

static void say_again(struct op_programs *p, struct meant *m, struct op_pattern *pattern)
{
	(void)pattern;
	/* replacing needs no room */
	(void)publish(p, m, false);
}

static void leave(struct op_programs *p, struct meant *m, struct op_pattern *pattern)
{
	uint32_t i;

	for (i = 0; i < m->len; i++)
		if (m->pattern[i] == pattern)
			break;
	m->pattern[i] = m->pattern[--m->len];
	pattern->users--;
	if (m->len)
		(void)publish(p, m, false);
	else
		forget(p, m);
}

int op_programs_set(struct op_programs *p, uint32_t kind, const char *text,
		    const struct op_target_says *says)
{
	struct op_pattern *pattern =
		op_patterns_find(&p->patterns, kind, text, strlen(text));
	bool fresh = !pattern;
	int r = fresh ? op_patterns_add(&p->patterns, kind, text, &pattern) : 0;

	if (r < 0)
		return r;
	pattern->says = *says;
	if (fresh)
		p->again = true;
	else
		each_user(p, pattern, say_again);
	return 0;
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
		forget(p, (struct meant *)(uintptr_t)word);
		at = 0;
	}
	op_patterns_remove(&p->patterns, pattern);
}

/* ---- events ---- */

static void ask(struct op_programs *p, uint32_t pid)
{
	size_t i;

	for (i = 0; i < p->queue_len; i++) {
		if (p->queue[i].pid == pid) {
			p->queue[i].tries = 0;
			p->queue[i].after_ns = 0;
			return;
		}
	}
	if (p->queue_len == OP_PROGRAMS_QUEUE)
		p->again = true;
	else
		p->queue[p->queue_len++] = (struct asked){ .pid = pid };
}

static bool is_asked(const struct op_programs *p, uint32_t pid)
{
	size_t i;

	for (i = 0; i < p->queue_len; i++)
		if (p->queue[i].pid == pid)
			return true;
	return false;
}

static void inherit(struct op_programs *p, uint32_t pid, uint32_t parent, uint32_t kind)
{
	const struct meant *from = find(p, parent, kind);
	struct found found = { .p = p };

	if (from) {
		found.len = from->len;
		memcpy(found.pattern, from->pattern,
		       from->len * sizeof(found.pattern[0]));
	}
	forget_pid(p, pid, kind); /* of an earlier process of that number */
	set(p, pid, kind, &found);
}

void op_programs_on_fork(struct op_programs *p, uint32_t pid, uint32_t parent)
{
	if (!any_rule(p) || pid == parent)
		return;
	inherit(p, pid, parent, OP_TARGET_EXECUTABLE);
	inherit(p, pid, parent, OP_TARGET_ENVIRONMENT);
	/* its parent was not looked at, or a pass has gone by the child's number */
	if (p->scan || is_asked(p, parent))
		ask(p, pid);
}

void op_programs_on_exec(struct op_programs *p, uint32_t pid)
{
	if (!any_rule(p))
		return;
	/* the kernel has removed it */
	forget_pid(p, pid, OP_TARGET_EXECUTABLE);
	ask(p, pid);
}

void op_programs_on_exit(struct op_programs *p, uint32_t pid)
{
	size_t i;

	forget_pid(p, pid, OP_TARGET_EXECUTABLE);
	forget_pid(p, pid, OP_TARGET_ENVIRONMENT);
	for (i = 0; i < p->queue_len; i++)
		if (p->queue[i].pid == pid)
			p->queue[i--] = p->queue[--p->queue_len];
}

void op_programs_on_lost(struct op_programs *p)
{
	p->again = any_rule(p);
}

/* ---- looking at processes ---- */

/* Returns 0; -EAGAIN: not yet; or -errno. */
static int look_at(struct op_programs *p, uint32_t pid)
{
	struct op_reading reading = { 0 };
	struct found exe = { .p = p };
	struct found env = { .p = p };
	int r = op_reading_take(&reading, p->config.target, p->config.procfs_root, pid,
				p->patterns.len[OP_TARGET_ENVIRONMENT]);

	if (r == 0) {
		op_patterns_of_path(&p->patterns, reading.path, take, &exe);
		set(p, pid, OP_TARGET_EXECUTABLE, &exe);
		r = reading.environ_error;
		if (reading.environ_len)
			op_patterns_of_environ(&p->patterns, reading.environ,
					       reading.environ_len, take, &env);
		if (r == 0)
			set(p, pid, OP_TARGET_ENVIRONMENT, &env);
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
	size_t i;

	if (r == 0)
		return;
	if (r != -EAGAIN || tries + 1 >= TRIES || p->queue_len == OP_PROGRAMS_QUEUE) {
		p->unread++;
		return;
	}
	ask(p, pid);
	for (i = 0; i < p->queue_len; i++) {
		if (p->queue[i].pid != pid)
			continue;
		p->queue[i].tries = tries + 1;
		p->queue[i].after_ns = p->now_ns + (RETRY_NS << 2 * tries);
	}
}

/* One process of the queue. False: none is due. */
static bool next_asked(struct op_programs *p)
{
	struct asked asked;
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
}

/* Those that this pass has not seen are gone: their ends were not heard of. */
static void end_pass(struct op_programs *p)
{
	OP_VEC(struct meant *) gone = { 0 };
	struct meant **m;
	uint64_t word;
	size_t at = 0;

	(void)closedir(p->scan);
	p->scan = NULL;
	if (op_vec_reserve(&gone, p->meant.len))
		return;
	while (op_map64_next(&p->meant, &at, &word)) {
		struct meant *one = (struct meant *)(uintptr_t)word;

		if (one->pass != p->pass &&
		    !op_scan_exists(p->config.procfs_root, one->pid))
			gone.data[gone.len++] = one;
	}
	op_vec_foreach(m, &gone)
		forget(p, *m);
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

int op_programs_each(const struct op_programs *p, op_programs_fn fn, void *ctx)
{
	uint64_t word;
	size_t at = 0;
	int r = 0;

	while (r == 0 && op_map64_next(&p->meant, &at, &word)) {
		const struct meant *m = (const struct meant *)(uintptr_t)word;
		const struct op_target_key key = key_of(m);
		const struct op_target_says says = says_of(m);

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
