/* SPDX-License-Identifier: Apache-2.0 */
/* The table of formats, and how a name or a file's ending selects one. */
#include "recording/write/form.h"

#include <errno.h>
#include <fcntl.h>
#include <otelprof/export.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "export/format/collect/kinds.h"
#include "export/format/ops.h"
#include "recording/read/say.h"
#include "recording/tree/view.h"
#include "recording/write/merge.h"

static const struct op_format requests = { .format = OTELPROF_FORMAT_OTLP };
/* clang-format off */
static const struct op_form html = {
	"html", .endings = { ".html", ".htm" }, .library = &op_format_html };
static const struct op_form pprof = {
	"pprof", .endings = { ".pb.gz", ".pprof", ".prof", ".pb" }, .library = &op_format_pprof };
static const struct op_form folded = {
	"folded", .endings = { ".folded", ".collapsed", ".txt" }, .library = &op_format_folded,
	.one_kind = true };
static const struct op_form otlp = {
	"otlp", .endings = { ".otlp", ".bin" }, .library = &requests };
/* clang-format on */

static const struct op_form *const forms[] = {
	&html, &pprof,	      &folded,		 &op_form_speedscope, &op_form_firefox,
	&otlp, &op_form_text, &op_form_markdown, &op_form_json,
};

static bool is_for(const struct op_form *f, enum form_use use)
{
	const bool is[] = { f->endings[0], f->endings[0], f->report, f->diff };

	return is[use];
}

const struct op_form *form_by_name(const char *name, enum form_use use)
{
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(forms); i++)
		if (is_for(forms[i], use) && strcmp(forms[i]->name, name) == 0)
			return forms[i];
	return NULL;
}

/* The length of the ending of @f that @path has, or 0. */
static size_t ending_of(const struct op_form *f, const char *path)
{
	size_t len = strlen(path), longest = 0, n, i;

	for (i = 0; f->endings[i]; i++) {
		n = strlen(f->endings[i]);
		if (len > n && n > longest && strcmp(path + len - n, f->endings[i]) == 0)
			longest = n;
	}
	return longest;
}

const struct op_form *form_by_ending(const char *path, enum form_use use)
{
	const struct op_form *found = NULL;
	size_t longest = 0, n, i;

	for (i = 0; i < OP_ARRAY_SIZE(forms); i++) {
		n = is_for(forms[i], use) ? ending_of(forms[i], path) : 0;
		if (n > longest) {
			longest = n;
			found = forms[i];
		}
	}
	return found;
}

char *form_list(enum form_use use, enum form_word word, const char *between,
		const char *last, char *buf, size_t size)
{
	size_t left = 0, len = 0, i;
	const struct op_form *f;

	for (i = 0; i < OP_ARRAY_SIZE(forms); i++)
		left += is_for(forms[i], use);
	*buf = 0;
	for (i = 0; i < OP_ARRAY_SIZE(forms) && len < size; i++) {
		f = forms[i];
		if (!is_for(f, use))
			continue;
		left--;
		len += (size_t)snprintf(buf + len, size - len, "%s%s%s%s",
					word == FORM_ENDINGS ? f->endings[0] : f->name,
					word == FORM_HINTS && f->hint ? " " : "",
					word == FORM_HINTS && f->hint ? f->hint : "",
					left > 1 ? between
					: left	 ? last
						 : "");
	}
	return buf;
}

/* Report samples that are not in @path. */
static void note_left_out(const struct op_collect *c, const char *path)
{
	uint32_t main_kind = op_collect_main_kind(c), i;
	char type[64], lost[OP_COLLECT_LOST_BYTES];

	if (op_collect_lost_text(op_collect_lost_percent(c, main_kind), lost,
				 sizeof(lost)))
		note("%s: %s", path, lost);
	if (c->kinds.len < 2)
		return;
	note("%s has only %s", path,
	     view_text(c, c->kinds.data[main_kind].counted_type, type, sizeof(type)));
	for (i = 0; i < c->kinds.len; i++)
		if (i != main_kind)
			note("left out: samples of %s",
			     view_text(c, c->kinds.data[i].counted_type, type,
				       sizeof(type)));
}

static int write_stream(const struct op_form *form, const struct recording *r, int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3), err;
	_cleanup_fclose_ FILE *f = copy < 0 ? NULL : fdopen(copy, "w");

	if (!f)
		return -errno;
	err = form->write(r, f);
	return !err && (fflush(f) != 0 || ferror(f)) ? -EIO : err;
}

bool form_reads(const struct op_form *f)
{
	return f->write || f->library->write;
}

enum op_collect_detail form_detail(const struct op_form *f)
{
	return f->library ? f->library->detail : OP_COLLECT_LOCATIONS;
}

int form_write(const struct op_form *f, const struct recording *r, const char *path,
	       int fd)
{
	int err;

	if (f->one_kind)
		note_left_out(r->c, path);
	err = f->library ? f->library->write(r->c, fd) : write_stream(f, r, fd);
	return err < 0 ? fail("cannot write %s: %s", path, strerror(-err)) : 0;
}

static int rewrite(const struct conversion *v, int fd)
{
	struct recording_request request = {
		.detail = form_detail(v->form),
		.timed = v->form->timed,
		.filter = v->filter,
		.times = v->form->library && v->form->library->timed,
		.lines = v->lines,
	};
	struct recording rec = { 0 };
	int r;

	if (v->lines.wanted && request.detail < OP_COLLECT_LOCATIONS)
		request.detail = OP_COLLECT_LOCATIONS;
	r = recording_load(v->files, v->files_len, &request, &rec);
	if (!r)
		r = form_write(v->form, &rec, v->path, fd);
	recording_clear(&rec);
	return r;
}

/* The file to which requests are appended. */
struct appending {
	int fd;
	int error;
};

/* A recording_fn. A failed write is not a fault of the file that is read. */
static int append(void *data, const void *request, size_t len)
{
	struct appending *a = data;

	if (!a->error)
		a->error = recording_append(a->fd, request, len);
	return 0;
}

int form_convert(const struct conversion *v, int fd)
{
	struct appending a = { .fd = fd };
	int r;

	if (form_reads(v->form))
		return rewrite(v, fd);
	/* A sample that is left out must not leave names in a dictionary. */
	if (v->filter)
		return merge_write(v->filter, v->files, v->files_len, v->path, fd);
	r = recording_read(v->files, v->files_len, append, &a);
	return r || !a.error ? r
			     : fail("cannot write %s: %s", v->path, strerror(-a.error));
}
