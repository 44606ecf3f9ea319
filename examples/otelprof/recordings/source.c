/* SPDX-License-Identifier: Apache-2.0 */
#include "recordings/source.h"

#include <errno.h>

#include "recording/tree/missing.h"
#include "recording/tree/source/source.h"
#include "recordings/command.h"

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
