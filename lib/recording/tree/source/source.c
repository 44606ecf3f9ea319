/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/tree/source/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/foreign/owner.h"
#include "base/foreign/text.h"
#include "base/io.h"
#include "base/macros.h"
#include "process/target/task/task.h"

enum {
	PATH_BYTES = 4096,
	TEXT_BYTES = 4096, /* of a line */
};

/* State while stacks are added. */
struct adding {
	struct source *s;
	struct op_map64 index; /* of lines, by number */
	struct sums functions; /* by line and function */
	OP_VEC(uint32_t) seen; /* by line: the stack that was counted last */
	uint32_t stack;
};

static int line_of(struct adding *a, uint32_t number, uint32_t *ret)
{
	struct source_line *line;
	uint64_t at;
	uint32_t *seen;

	if (op_map64_get(&a->index, number, &at)) {
		*ret = (uint32_t)at;
		return 0;
	}
	line = op_vec_push(&a->s->lines);
	seen = line ? op_vec_push(&a->seen) : NULL;
	if (!seen)
		return -ENOMEM;
	*line = (struct source_line){ .number = number };
	*seen = 0;
	*ret = (uint32_t)a->s->lines.len - 1;
	return op_map64_put(&a->index, number, *ret);
}

static int add_line(struct adding *a, const struct op_collect_line *l, int64_t value,
		    bool innermost)
{
	struct source_line *line;
	uint32_t at = 0;
	int r = line_of(a, l->line, &at);

	if (r)
		return r;
	line = &a->s->lines.data[at];
	if (innermost)
		line->self = op_collect_sum(line->self, value);
	/* A line of a recursion counts once. */
	if (a->seen.data[at] == a->stack)
		return 0;
	a->seen.data[at] = a->stack;
	line->total = op_collect_sum(line->total, value);
	return sums_add(&a->functions, (uint64_t)at << 32 | l->function, value);
}

static int add_stack(struct adding *a, const struct op_collect_stack *s)
{
	const struct op_collect *c = a->s->v->c;
	const struct op_collect_location *l;
	const struct op_collect_line *line;
	bool any = false;
	uint32_t i, j;
	int r = 0;

	a->stack++;
	for (i = 0; !r && i < s->locations_len; i++) {
		l = &c->locations.data[c->location_numbers.data[s->locations + i]];
		for (j = 0; !r && j < l->lines_len; j++) {
			line = &c->lines.data[l->lines + j];
			if (c->functions.data[line->function].file != a->s->file)
				continue;
			r = add_line(a, line, s->value, !any);
			any = true;
		}
	}
	if (any)
		a->s->total = op_collect_sum(a->s->total, s->value);
	return r;
}

static int by_number(const void *a, const void *b)
{
	const struct source_line *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static void take_functions(struct adding *a)
{
	const struct sum *sum;
	struct source_line *line;

	op_vec_foreach(sum, &a->functions.items) {
		line = &a->s->lines.data[sum->key >> 32];
		if (sum->value <= line->most)
			continue;
		line->most = sum->value;
		line->function = (uint32_t)sum->key;
	}
}

static int add_all(struct source *s)
{
	struct adding a = { .s = s };
	const struct op_collect_stack *stack;
	int r = 0;

	op_vec_foreach(stack, &s->v->c->stacks)
		if (!r && view_wants(s->v, stack))
			r = add_stack(&a, stack);
	take_functions(&a);
	if (s->lines.len)
		qsort(s->lines.data, s->lines.len, sizeof(*s->lines.data), by_number);
	op_map64_clear(&a.index);
	op_vec_clear(&a.seen);
	sums_clear(&a.functions);
	return r;
}

static bool leads_up(const char *path)
{
	return strncmp(path, "../", 3) == 0 || strstr(path, "/../");
}

/* A recording may name any file. Root shows a file that is closed to others only if it
 * belongs to the user who called sudo. */
static int check_owner(const struct stat *st)
{
	const struct op_owner owner = op_owner_behind_sudo();

	if (geteuid() || (st->st_mode & S_IROTH) ||
	    (owner.known && st->st_uid == owner.uid))
		return 0;
	return -EACCES;
}

/* Open the file at the path of the recording. If the path is relative or does not
 * exist, search below this directory by the end of the path. Files that are not plain
 * files are not read. */
static int open_file(struct source *s, struct op_tasks *tasks, const char *path)
{
	const char *at = path;
	int fd = *path == '/'
			 ? op_task_open_regular(tasks, path, OP_TASK_SERVED_COPY, NULL)
			 : -ENOENT;

	while (fd == -ENOENT || fd == -ENOTDIR) {
		at += strspn(at, "/");
		if (!*at)
			break;
		fd = leads_up(at)
			     ? -ENOENT
			     : op_task_open_regular(tasks, at, OP_TASK_SERVED_COPY, NULL);
		if (fd >= 0)
			break;
		at = strchrnul(at, '/');
	}
	if (fd >= 0)
		s->path = strdup(*at ? at : path);
	return fd;
}

static int split(struct source *s, size_t len)
{
	char *at = s->text, *end = s->text + len;
	uint32_t *begin;

	while (at < end && s->begins.len < SOURCE_LINES_MAX) {
		begin = op_vec_push(&s->begins);
		if (!begin)
			return -ENOMEM;
		*begin = (uint32_t)(at - s->text);
		at = memchr(at, '\n', (size_t)(end - at));
		if (!at)
			break;
		*at++ = 0;
	}
	return 0;
}

static int read_file(struct source *s)
{
	char path[PATH_BYTES];
	size_t len;
	const char *name = op_collect_text(s->v->c, s->file, &len);
	_cleanup_close_ int fd = -1;
	struct op_tasks tasks;
	struct stat st;
	ssize_t n;

	if (!len || len >= sizeof(path) || memchr(name, 0, len))
		return 0;
	memcpy(path, name, len);
	path[len] = 0;
	op_tasks_init(&tasks);
	fd = open_file(s, &tasks, path);
	op_tasks_deinit(&tasks);
	if (fd < 0) {
		s->error = fd == -ENOENT || fd == -ENOTDIR ? 0 : fd;
		return 0;
	}
	if (!s->path)
		return -ENOMEM;
	if (fstat(fd, &st) < 0)
		return 0;
	n = check_owner(&st);
	if (!n)
		n = op_read_fd(fd, SOURCE_BYTES_MAX, &s->text);
	if (n < 0) {
		s->error = (int)n;
		return n == -ENOMEM ? -ENOMEM : 0;
	}
	s->newer = st.st_mtim.tv_sec > (int64_t)(s->v->c->end_ns / OP_NS_PER_S);
	return split(s, (size_t)n);
}

int source_make(const struct view *v, uint32_t file, struct source *ret)
{
	int r;

	*ret = (struct source){ .v = v, .file = file };
	r = add_all(ret);
	return r ? r : read_file(ret);
}

void source_clear(struct source *s)
{
	op_vec_clear(&s->lines);
	op_vec_clear(&s->begins);
	free(s->path);
	free(s->text);
	s->path = s->text = NULL;
}

const struct source_line *source_line(const struct source *s, uint32_t number)
{
	const struct source_line key = { .number = number };

	return s->lines.len ? bsearch(&key, s->lines.data, s->lines.len, sizeof(key),
				      by_number)
			    : NULL;
}

const char *source_text(const struct source *s, uint32_t number, char *buf, size_t size)
{
	char text[TEXT_BYTES];
	const char *at;
	size_t len = 0;

	*buf = 0;
	if (!number || number > s->begins.len)
		return buf;
	for (at = s->text + s->begins.data[number - 1]; *at && len < sizeof(text) - 1;
	     at++) {
		if (*at == '\r' && !at[1])
			break;
		if (*at != '\t') {
			text[len++] = *at;
			continue;
		}
		do
			text[len++] = ' ';
		while (len % SOURCE_TAB && len < sizeof(text) - 1);
	}
	(void)op_text_show(text, len, buf, size);
	return buf;
}

const char *source_warning(const struct source *s, char *buf, size_t size)
{
	char path[PATH_BYTES];

	view_text(s->v->c, s->file, path, sizeof(path));
	*buf = 0;
	if (s->error == -EFBIG)
		(void)snprintf(buf, size, "%s is larger than %d MiB and is not shown",
			       path, SOURCE_BYTES_MAX >> 20);
	else if (s->error)
		(void)snprintf(buf, size, "%s cannot be read: %s", path,
			       s->error == -ENOTSUP ? "it is no plain file"
						    : strerror(-s->error));
	else if (!s->path)
		(void)snprintf(buf, size,
			       "%s is not on this machine; run this where it is", path);
	else if (s->newer)
		(void)snprintf(buf, size,
			       "%s was changed after the recording: lines may have moved",
			       path);
	else if (s->lines.len && s->lines.data[s->lines.len - 1].number > s->begins.len)
		(void)snprintf(
			buf, size,
			"%s has fewer lines than the recording: it is another file",
			path);
	return buf;
}
