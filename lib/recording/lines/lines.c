/* SPDX-License-Identifier: Apache-2.0 */
/* Adds lines to the locations of a collection, one file after the other: from the
 * cache, else from the debug info. The debug info is opened for the first location that
 * is not in the cache. */
#include "recording/lines/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "code/symbol/demangle.h"
#include "export/format/collect/classes.h"
#include "process/target/task/task.h"
#include "recording/lines/cache.h"
#include "recording/lines/debuginfo.h"
#include "recording/lines/debuginfod.h"
#include "recording/lines/files.h"
#include "recording/lines/store.h"
#include "recording/read/say.h"

enum {
	LOOK_UPS_A_CHECK = 32, /* of the memory limit of debug info */
};

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
	uint64_t memory;
	bool has_store;
	struct store store;
	struct debuginfod *servers;
	struct op_tasks *tasks;
	struct lines_stats *stats;
};

/* The current file. */
struct file {
	uint32_t mapping;
	char *id;		   /* its build id; NULL: it is not cached */
	char *bytes;		   /* of its entry in the cache */
	struct lines_cache *cache; /* NULL: there is none */
	bool opened;		   /* or tried */
	struct debuginfo *d;	   /* NULL: there is none */
	size_t found;		   /* look-ups in this file */
	size_t heavy;		   /* look-ups that failed for want of memory */
	bool full;		   /* it has used up its memory */
	bool kept;		   /* results of look-ups are added to the cache */
};

/* What is known of an address. */
struct known {
	struct debuginfo_line lines[DEBUGINFO_LINES_MAX];
	size_t len;
	const char *name; /* NULL: unknown */
};

static bool lacks_name(const struct op_collect *c, const struct op_collect_location *l)
{
	const struct op_collect_function *f =
		&c->functions.data[c->lines.data[l->lines].function];
	size_t len;
	const char *name = op_collect_text(c, f->name, &len);

	return !len || op_frame_is_unnamed(name, len);
}

static void set_name(struct op_collect_source *s, const char *linkage,
		     const char *otherwise, char **ret_readable)
{
	enum op_mangling mangling;

	free(*ret_readable); /* of the name that is replaced */
	*ret_readable = linkage ? op_demangle(linkage, &mangling) : NULL;
	s->function = *ret_readable ? *ret_readable : linkage ? linkage : otherwise;
	s->system_name = *ret_readable ? linkage : NULL;
}

/* Set the lines and the name of a location. */
static int set_location(const struct adding *a, uint32_t location, const struct known *k)
{
	struct op_collect_source source[DEBUGINFO_LINES_MAX] = { 0 };
	char *readable[DEBUGINFO_LINES_MAX] = { NULL };
	const char *name =
		lacks_name(a->c, &a->c->locations.data[location]) ? k->name : NULL;
	size_t n = k->len, i;
	int r;

	if (!n && !name)
		return 0;
	for (i = 0; i < n; i++) {
		source[i] = (struct op_collect_source){
			.file = k->lines[i].file,
			.line = k->lines[i].line,
			.start_line = k->lines[i].start_line,
		};
		set_name(&source[i], k->lines[i].linkage, k->lines[i].function,
			 &readable[i]);
	}
	/* The last line is the function around the inlined ones. */
	if (name)
		set_name(&source[n ? n - 1 : 0], name, NULL, &readable[n ? n - 1 : 0]);
	r = op_collect_set_lines(a->c, location, source, n ? n : 1);
	a->stats->found += !r && n && k->lines[0].line;
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

/* Try the servers with the first file. */
static void try_servers(const struct adding *a, uint32_t mapping)
{
	size_t len;
	const char *text =
		op_collect_text(a->c, a->c->mappings.data[mapping].build_id, &len);
	_cleanup_free_ char *id = strndup(text, len);

	if (id)
		debuginfod_try(a->servers, id);
}

/* Is @fd a file that only root and this user can write? */
static bool is_ours(const struct stat *st)
{
	return (st->st_uid == 0 || st->st_uid == geteuid()) && !(st->st_mode & S_IWOTH);
}

/* Open the debug info, once. Returns 0, also if there is none, or -ENOMEM. */
static int open_file(const struct adding *a, struct file *f)
{
	_cleanup_free_ char *path = NULL;
	struct stat own = { 0 }, other;
	const char *separate;
	int r, fd = -1;

	if (f->opened)
		return 0;
	f->opened = true;
	r = file_find(a->c, f->mapping, a->directory, a->tasks, &path, &fd);
	if (!r) {
		debuginfod_limit(a->servers, a->deadline - now_seconds());
		try_servers(a, f->mapping);
		f->kept = f->cache && fstat(fd, &own) == 0 && is_ours(&own) &&
			  !op_task_is_copy(fd);
		r = debuginfo_open(path, fd, a->tasks, a->memory, &f->d);
	}
	if (r) {
		a->stats->files_without++;
		return r == -ENOENT ? 0 : r;
	}
	/* Results from symbols alone are not kept, because debug info may be installed
	 * later. */
	separate = debuginfo_path(f->d);
	f->kept = f->kept && !debuginfo_has_no_lines(f->d) &&
		  (!separate || (stat(separate, &other) == 0 && is_ours(&other)));
	return 0;
}

/* Is this the complete result of the debug info? A function without a name may be
 * described in a dwz(1) file that is missing. */
static bool is_whole(const struct known *k, bool named)
{
	size_t i;

	for (i = 0; i + 1 < k->len; i++) {
		if (!k->lines[i].function && !k->lines[i].linkage)
			return false;
	}
	return !named || !k->len || k->name;
}

static int add_location(const struct adding *a, struct file *f, uint32_t location)
{
	const struct op_collect_location *l = &a->c->locations.data[location];
	uint64_t vaddr = l->address;
	bool named = lacks_name(a->c, l);
	struct known k = { 0 };
	int r;

	if (f->cache &&
	    lines_cache_find(f->cache, vaddr, named, k.lines, &k.len, &k.name)) {
		a->stats->cached++;
		return set_location(a, location, &k);
	}
	if (now_seconds() >= a->deadline) {
		a->stats->late++;
		return 0;
	}
	r = open_file(a, f);
	if (r || !f->d)
		return r;
	f->full =
		f->full || (f->found % LOOK_UPS_A_CHECK == 0 && debuginfo_is_full(f->d));
	f->found++;
	if (f->full) {
		f->heavy++;
		return 0;
	}
	k.len = debuginfo_find(f->d, vaddr, k.lines);
	f->heavy += !k.len && debuginfo_left_out(f->d);
	k.name = named ? debuginfo_name(f->d, vaddr) : NULL;
	/* An address that did not fit or for which there was no memory is looked up
	 * again the next time. */
	if (f->kept && is_whole(&k, named))
		(void)lines_cache_add(f->cache, vaddr, k.lines, k.len, named, k.name);
	return set_location(a, location, &k);
}

/* Read the file's entry in the cache. Without memory there is none. */
static void open_cache(const struct adding *a, struct file *f)
{
	const char *text;
	ssize_t n;
	size_t len;

	text = op_collect_text(a->c, a->c->mappings.data[f->mapping].build_id, &len);
	f->id = a->has_store ? strndup(text, len) : NULL;
	if (!f->id || !store_can_name(f->id))
		return;
	f->cache = lines_cache_new();
	n = f->cache ? store_read(&a->store, f->id, &f->bytes) : -ENOENT;
	/* Start a nearly full entry again. Otherwise nothing new would ever fit. */
	if (n > LINES_CACHE_FULL_BYTES)
		return;
	if (n >= 0)
		n = lines_cache_parse(f->cache, f->bytes, (size_t)n, f->id);
	a->stats->refused += n < 0 && n != -ENOENT && n != -ENOMEM;
}

/* Write the new results, unless a part of the debug info was missing. */
static void close_cache(const struct adding *a, struct file *f)
{
	struct op_strbuf bytes = { 0 };

	if (f->d && f->kept && lines_cache_changed(f->cache) &&
	    !debuginfo_is_partial(f->d) &&
	    lines_cache_encode(f->cache, f->id, &bytes) == 0 &&
	    store_write(&a->store, f->id, bytes.data, bytes.len) == 0)
		a->stats->written++;
	op_strbuf_deinit(&bytes);
	(void)lines_cache_free(f->cache);
	free(f->bytes);
	free(f->id);
}

static void count_heavy(const struct adding *a, const struct file *f)
{
	uint64_t bytes = f->d ? debuginfo_left_out(f->d) : 0;

	if (!f->heavy)
		return;
	a->stats->heavy += f->heavy;
	a->stats->heavy_files++;
	/* For a file that grew too large nothing else is known. */
	bytes = bytes > a->memory ? bytes : a->memory;
	if (bytes >= a->stats->heaviest) {
		a->stats->heaviest = bytes;
		a->stats->heaviest_of = f->mapping;
	}
}

static int add_mapping(const struct adding *a, uint32_t mapping)
{
	struct file f = { .mapping = mapping };
	size_t wanted = count_wanted(a->c, mapping);
	uint32_t i;
	int r = 0;

	if (!wanted)
		return 0;
	a->stats->locations += wanted;
	a->stats->files++;
	open_cache(a, &f);
	for (i = 0; !r && i < a->c->locations.len; i++) {
		if (a->c->locations.data[i].mapping == mapping &&
		    lacks_line(a->c, &a->c->locations.data[i]))
			r = add_location(a, &f, i);
	}
	close_cache(a, &f);
	count_heavy(a, &f);
	if (f.d) {
		a->stats->files_without +=
			debuginfo_is_partial(f.d) || debuginfo_has_no_lines(f.d);
		a->stats->files_packaged += debuginfo_is_packaged(f.d);
	}
	(void)debuginfo_free(f.d);
	return r;
}

int lines_add(struct op_collect *c, const struct lines_request *request,
	      struct lines_stats *ret)
{
	struct debuginfod servers;
	struct op_tasks tasks;
	struct adding a = {
		.c = c,
		.tasks = &tasks,
		.servers = &servers,
		.directory = request->directory,
		.memory = request->memory,
		.deadline = now_seconds() + request->seconds,
		.stats = ret,
	};
	uint32_t i;
	int r = 0;

	*ret = (struct lines_stats){ 0 };
	debuginfod_init(&servers);
	op_tasks_init(&tasks);
	a.has_store = !request->no_cache && store_open(request->cache, &a.store);
	for (i = 1; !r && i < c->mappings.len; i++)
		r = add_mapping(&a, i);
	if (ret->written)
		store_trim(&a.store, STORE_BYTES_MAX);
	if (a.has_store)
		store_close(&a.store);
	op_tasks_deinit(&tasks);
	return r;
}
