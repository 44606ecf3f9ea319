/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the source file that a request names. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "process/target/task/task.h"
#include "recording/read/requests.h"
#include "recording/tree/answer/answer.h"
#include "recording/tree/function_name.h"
#include "recording/tree/source/source.h"

/* Does @path end with @what, from the start of a folder's or the file's name? */
static bool path_is(struct otlp_text path, const char *what)
{
	size_t len = strlen(what);

	return len && path.len >= len &&
	       memcmp(path.data + path.len - len, what, len) == 0 &&
	       (path.len == len || path.data[path.len - len - 1] == '/');
}

/* If @f is the wanted function or file, keep it if it has more than the best so far. */
static int64_t better(const struct view *v, const struct view_row *row, int64_t best,
		      struct source_place *ret)
{
	const struct op_collect_function *f = &v->c->functions.data[row->label];

	if (row->total <= best || !f->file)
		return best;
	*ret = (struct source_place){ f->file, row->line, row->label };
	return row->total;
}

static int find_file(const struct view *v, const char *what, struct source_place *ret)
{
	const struct view_row *row;
	int64_t best = 0;

	op_vec_foreach(row, &v->rows) {
		uint32_t file = v->c->functions.data[row->label].file;

		if (file && path_is(op_strings_get(&v->c->strings, file), what))
			best = better(v, row, best, ret);
	}
	ret->function = UINT32_MAX;
	return best ? 0 : -ENOENT;
}

static int find_function(const struct view *v, const char *what, struct source_place *ret)
{
	const struct view_row *row;
	struct view named = *v;
	uint32_t name = 0;
	int64_t best = 0;
	int r;

	named.request.function = what;
	r = function_name_find(&named, &name, NULL);
	if (r)
		return r;
	op_vec_foreach(row, &v->rows)
		if (v->c->functions.data[row->label].name == name)
			best = better(v, row, best, ret);
	return best ? 0 : -ENODATA;
}

/* The first row of the answer with a line. */
static int find_hottest(const struct view *v, struct source_place *ret)
{
	_cleanup_free_ struct answer *a = malloc(sizeof(*a));
	size_t i;
	int r = a ? answer_make(v, a) : -ENOMEM;

	if (r)
		return r;
	for (i = 0; i < a->rows_len; i++) {
		const struct answer_row *row = &a->rows[i];
		uint32_t file = v->c->functions.data[row->function].file;

		if (!file || !row->line)
			continue;
		*ret = (struct source_place){ file, row->line, UINT32_MAX };
		return 0;
	}
	return -ENODATA;
}

int source_find(const struct view *v, const char *what, struct source_place *ret)
{
	int r;

	*ret = (struct source_place){ .function = UINT32_MAX };
	if (!what)
		return find_hottest(v, ret);
	r = find_file(v, what, ret);
	return r == -ENOENT ? find_function(v, what, ret) : r;
}

/* A recording begins with a length below 64 MiB, or is one request, a message with a
 * length. Text has no such bytes. */
static bool is_text(int fd)
{
	uint8_t b[4];
	ssize_t n = op_pread_full(fd, b, sizeof(b), 0), i;

	for (i = 0; i < n; i++)
		if (!b[i] || (b[0] == '\n' && b[i] >= 0x80))
			return false;
	return true;
}

bool source_is_named(const char *arg)
{
	_cleanup_close_ int fd = -1;
	size_t len = strlen(arg), ending = strlen(".otlp");
	struct op_tasks tasks;

	if (!len || *arg == '-' || recording_is_given(arg))
		return false;
	if (len > ending && strcmp(arg + len - ending, ".otlp") == 0)
		return false;
	op_tasks_init(&tasks);
	fd = op_task_open_regular(&tasks, arg, OP_TASK_SERVED_OPEN, NULL);
	op_tasks_deinit(&tasks);
	if (fd == -EISDIR || fd == -ENOTSUP)
		return false;
	return fd < 0 || is_text(fd);
}
