/* SPDX-License-Identifier: Apache-2.0 */
#include "recordings/source.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "recording/tree/missing.h"
#include "recording/write/source.h"
#include "recordings/command.h"

/* A recording begins with a length below 64 MiB, or is one request, a message with its length. Text has
 * no such bytes. */
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

	if (!len || *arg == '-')
		return false;
	if (len > ending && strcmp(arg + len - ending, ".otlp") == 0)
		return false;
	fd = op_open_regular(arg);
	if (fd == -EISDIR || fd == -ENOTSUP)
		return false;
	return fd < 0 || is_text(fd);
}

static int say(const struct view *v, const char *named, int error)
{
	if (error == -ENOMEM)
		return fail("out of memory");
	if (error == -ENODATA)
		return fail(
			"%s%s%s has no source file in the recording; lines of C, C++ and "
			"Rust come with debug info",
			named ? "\"" : "", named ? named : "your code",
			named ? "\"" : "");
	(void)v;
	return fail("no file and no function of these samples is \"%s\"; 'report --by "
		    "file' and 'report' show what there is",
		    named);
}

int source_show(const struct view *v, const char *named, double min_percent)
{
	struct source_place place;
	struct source s;
	int r = source_find(v, named, &place);

	if (r)
		return say(v, named, r);
	r = source_make(v, place.file, &s);
	if (r)
		(void)fail("out of memory");
	else
		source_write(&s, &place, min_percent, stdout);
	source_clear(&s);
	return r ? STATUS_FAILED : end_output();
}
