/* SPDX-License-Identifier: Apache-2.0 */
/* Adds lines to the locations of a collection, one file after the other. */
#include "lines/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lines/debuginfo.h"
#include "lines/files.h"
#include "symbol/demangle.h"

/* Is it native code of a file, with an unknown line? */
static bool lacks_line(const struct op_collect *c, const struct op_collect_location *l)
{
	const struct op_collect_mapping *m = &c->mappings.data[l->mapping];

	return l->mapping && m->build_id && l->lines_len == 1 && l->address &&
	       !c->lines.data[l->lines].line;
}

static int add_location(struct op_collect *c, struct debuginfo *d, uint32_t location,
			struct lines_stats *stats)
{
	struct debuginfo_line found[DEBUGINFO_LINES_MAX];
	struct op_collect_source source[DEBUGINFO_LINES_MAX] = { 0 };
	char *readable[DEBUGINFO_LINES_MAX] = { NULL };
	size_t n, i;
	int r;

	n = debuginfo_find(d, c->locations.data[location].address, found);
	if (!n)
		return 0;
	for (i = 0; i < n; i++) {
		enum op_mangling mangling;

		if (found[i].linkage)
			readable[i] = op_demangle_kind(found[i].linkage, &mangling);
		source[i] = (struct op_collect_source){
			.function = readable[i]	       ? readable[i]
				    : found[i].linkage ? found[i].linkage
						       : found[i].function,
			.system_name = readable[i] ? found[i].linkage : NULL,
			.file = found[i].file,
			.line = found[i].line,
			.start_line = found[i].start_line,
		};
	}
	r = op_collect_set_lines(c, location, source, n);
	stats->found += !r && found[0].line;
	for (i = 0; i < n; i++)
		free(readable[i]);
	return r;
}

static int add_mapping(struct op_collect *c, uint32_t mapping, const char *directory,
		       struct lines_stats *stats)
{
	_cleanup_free_ char *path = NULL;
	struct debuginfo *d = NULL;
	size_t wanted = 0;
	uint32_t i;
	int r;

	for (i = 0; i < c->locations.len; i++)
		wanted += c->locations.data[i].mapping == mapping &&
			  lacks_line(c, &c->locations.data[i]);
	if (!wanted)
		return 0;
	stats->locations += wanted;
	stats->files++;
	r = file_find(c, mapping, directory, &path);
	if (!r)
		r = debuginfo_open(path, &d);
	if (r) {
		stats->files_without++;
		return r == -ENOENT ? 0 : r;
	}
	for (i = 0; !r && i < c->locations.len; i++) {
		if (c->locations.data[i].mapping == mapping &&
		    lacks_line(c, &c->locations.data[i]))
			r = add_location(c, d, i, stats);
	}
	stats->files_without += debuginfo_is_partial(d);
	(void)debuginfo_free(d);
	return r;
}

int lines_add(struct op_collect *c, const char *directory, struct lines_stats *ret)
{
	uint32_t i;
	int r = 0;

	*ret = (struct lines_stats){ 0 };
	for (i = 1; !r && i < c->mappings.len; i++)
		r = add_mapping(c, i, directory, ret);
	return r;
}
