/* SPDX-License-Identifier: Apache-2.0 */
/* Adds lines to the locations of a collection, one file after the other. */
#include "lines/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "common.h"
#include "lines/debuginfo.h"
#include "lines/files.h"
#include "lines/servers.h"
#include "quality.h"
#include "symbol/demangle.h"

/* Is it native code of a file, with an unknown line? */
static bool lacks_line(const struct op_collect *c, const struct op_collect_location *l)
{
	const struct op_collect_mapping *m = &c->mappings.data[l->mapping];

	return l->mapping && m->build_id && l->lines_len == 1 && l->address &&
	       !c->lines.data[l->lines].line;
}

/* State while lines are added. */
struct adding {
	struct op_collect *c;
	const char *directory;
	double deadline;
	struct lines_stats *stats;
};

static bool lacks_name(const struct op_collect *c, const struct op_collect_location *l)
{
	const struct op_collect_function *f =
		&c->functions.data[c->lines.data[l->lines].function];
	size_t len;
	const char *name = op_collect_text(c, f->name, &len);

	return !len || quality_is_unnamed(name, len);
}

static void set_name(struct op_collect_source *s, const char *linkage,
		     const char *otherwise, char **ret_readable)
{
	enum op_mangling mangling;

	free(*ret_readable); /* of a name that this one replaces */
	*ret_readable = linkage ? op_demangle_kind(linkage, &mangling) : NULL;
	s->function = *ret_readable ? *ret_readable : linkage ? linkage : otherwise;
	s->system_name = *ret_readable ? linkage : NULL;
}

static int add_location(const struct adding *a, struct debuginfo *d, uint32_t location)
{
	const struct op_collect_location *l = &a->c->locations.data[location];
	struct debuginfo_line found[DEBUGINFO_LINES_MAX];
	struct op_collect_source source[DEBUGINFO_LINES_MAX] = { 0 };
	char *readable[DEBUGINFO_LINES_MAX] = { NULL };
	const char *name = lacks_name(a->c, l) ? debuginfo_name(d, l->address) : NULL;
	size_t n, i;
	int r;

	n = debuginfo_find(d, l->address, found);
	if (!n && !name)
		return 0;
	for (i = 0; i < n; i++) {
		source[i] = (struct op_collect_source){
			.file = found[i].file,
			.line = found[i].line,
			.start_line = found[i].start_line,
		};
		set_name(&source[i], found[i].linkage, found[i].function, &readable[i]);
	}
	/* The last one is the function around those that were inlined. */
	if (name)
		set_name(&source[n ? n - 1 : 0], name, NULL, &readable[n ? n - 1 : 0]);
	r = op_collect_set_lines(a->c, location, source, n ? n : 1);
	a->stats->found += !r && n && found[0].line;
	a->stats->named += !r && name;
	for (i = 0; i < DEBUGINFO_LINES_MAX; i++)
		free(readable[i]);
	return r;
}

static size_t count_wanted(const struct op_collect *c, uint32_t mapping)
{
	size_t wanted = 0, i;

	for (i = 0; i < c->locations.len; i++)
		wanted += c->locations.data[i].mapping == mapping &&
			  lacks_line(c, &c->locations.data[i]);
	return wanted;
}

/* The servers are tried with the first file. */
static void try_servers(const struct op_collect *c, uint32_t mapping)
{
	size_t len;
	const char *text = op_collect_text(c, c->mappings.data[mapping].build_id, &len);
	_cleanup_free_ char *id = strndup(text, len);

	if (id)
		servers_try(id);
}

static int add_locations(const struct adding *a, struct debuginfo *d, uint32_t mapping)
{
	uint32_t i;
	int r = 0;

	for (i = 0; !r && i < a->c->locations.len; i++) {
		if (a->c->locations.data[i].mapping != mapping ||
		    !lacks_line(a->c, &a->c->locations.data[i]))
			continue;
		if (now_seconds() >= a->deadline)
			a->stats->late++;
		else
			r = add_location(a, d, i);
	}
	return r;
}

static int add_mapping(const struct adding *a, uint32_t mapping)
{
	_cleanup_free_ char *path = NULL;
	struct debuginfo *d = NULL;
	size_t wanted = count_wanted(a->c, mapping);
	int r;

	if (!wanted)
		return 0;
	a->stats->locations += wanted;
	a->stats->files++;
	if (now_seconds() >= a->deadline) {
		a->stats->late += wanted;
		return 0;
	}
	r = file_find(a->c, mapping, a->directory, &path);
	if (!r) {
		servers_limit(a->deadline - now_seconds());
		try_servers(a->c, mapping);
		r = debuginfo_open(path, &d);
	}
	if (r) {
		a->stats->files_without++;
		return r == -ENOENT ? 0 : r;
	}
	r = add_locations(a, d, mapping);
	a->stats->files_without += debuginfo_is_partial(d) || debuginfo_has_no_lines(d);
	(void)debuginfo_free(d);
	return r;
}

int lines_add(struct op_collect *c, const char *directory, double seconds,
	      struct lines_stats *ret)
{
	struct adding a = { c, directory, now_seconds() + seconds, ret };
	uint32_t i;
	int r = 0;

	*ret = (struct lines_stats){ 0 };
	for (i = 1; !r && i < c->mappings.len; i++)
		r = add_mapping(&a, i);
	return r;
}
