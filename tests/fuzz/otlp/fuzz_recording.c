/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of anybody: its requests are found, shown in a form, compared with itself and joined. The
 * first byte picks the form and what rows are of.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/macros.h"
#include "quiet.h"
#include "recording/tree/diff.h"
#include "recording/write/form.h"
#include "recording/write/merge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	BY_MASK = 15,
	FORM_SHIFT = 4,
	ROWS = 50,
};

/* The file that holds the input, and where it is. */
static char *file_of(const uint8_t *data, size_t size)
{
	static char path[32];
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("fuzz", MFD_CLOEXEC);
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	return path;
}

static void report(const struct op_form *form, const struct recording *r, enum view_by by,
		   FILE *out)
{
	const struct view_request request = { .by = by, .min_percent = 0.5 };
	struct report shown = {
		.limit = ROWS, .tree_limit = ROWS, .show_rows = true, .show_tree = true
	};
	struct view v = { 0 };

	shown.v = &v;
	if (view_make(r->c, &request, &v) == 0)
		form->report(&shown, out);
	view_clear(&v);
}

static void compare(const struct op_form *form, char *path, enum view_by by, FILE *out)
{
	const struct view_request request = { .by = by };
	char *files[] = { path, path };
	struct diff d = { .files = files, .limit = ROWS };

	if (form->diff && diff_make(&d, &request) == 0)
		form->diff(&d, out);
	diff_clear(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct op_form *const forms[] = { &op_form_text, &op_form_json,
						       &op_form_markdown,
						       &op_form_firefox,
						       &op_form_speedscope };
	static FILE *out;
	const struct op_form *form;
	struct recording_request request = { .label_key = "k" };
	struct recording r = { 0 };
	enum view_by by;
	char *path;

	if (!out)
		out = fopen("/dev/null", "we");
	if (!size || !out)
		return 0;
	form = forms[(data[0] >> FORM_SHIFT) % OP_ARRAY_SIZE(forms)];
	by = (enum view_by)((data[0] & BY_MASK) % VIEW_BY_MAX);
	path = file_of(data + 1, size - 1);
	request.detail = OP_MAX(form_detail(form), OP_COLLECT_TRACES);
	request.timed = form->timed;
	if (recording_collect(&path, 1, &request, &r) == 0) {
		if (form->report)
			report(form, &r, by, out);
		else
			(void)form_write(form, &r, path, fileno(out));
	}
	recording_clear(&r);
	compare(form, path, by, out);
	(void)merge_write(NULL, &path, 1, path, fileno(out));
	return 0;
}
