/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a timeline as the tables of a processed profile. Strings and libraries are shared by
 * all threads; a thread has tables of the stacks, frames and functions that its samples use, and
 * a kind of samples has threads of its own.
 */
#include "firefox/firefox.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "common.h"
#include "firefox/categories.h"
#include "firefox/used.h"
#include "otelprof/version.h"

/* The columns of tables that are not known, or not of native code. */
#define NOT_KNOWN "null"

struct out {
	const struct timeline *t;
	FILE *f;
	struct used used;
};

/* Write one value of a column. */
typedef void (*put_fn)(const struct out *o, uint32_t record);

#define NODE(o, i)     TIMELINE_AT(&(o)->t->nodes, struct timeline_node, i)
#define FRAME(o, i)    TIMELINE_AT(&(o)->t->frames, struct timeline_frame, i)
#define FUNCTION(o, i) TIMELINE_AT(&(o)->t->functions, struct timeline_function, i)
#define LIBRARY(o, i)  TIMELINE_AT(&(o)->t->libraries, struct timeline_library, i)
#define THREAD(o, i)   TIMELINE_AT(&(o)->t->threads, struct timeline_thread, i)
#define KIND(o, i)     TIMELINE_AT(&(o)->t->kinds, struct timeline_kind, i)

/* A column of a table: a value for each record of the list. */
static void column(const struct out *o, const char *name, const struct used_set *u,
		   put_fn put)
{
	const uint32_t *at;

	(void)fprintf(o->f, "\"%s\":[", name);
	op_vec_foreach(at, &u->list) {
		if (at != u->list.data)
			(void)fputc(',', o->f);
		put(o, *at);
	}
	(void)fputs("],", o->f);
}

/* A column with one value everywhere. */
static void constant(const struct out *o, const char *name, const struct used_set *u,
		     const char *value)
{
	size_t i;

	(void)fprintf(o->f, "\"%s\":[", name);
	for (i = 0; i < u->list.len; i++)
		(void)fprintf(o->f, i ? ",%s" : "%s", value);
	(void)fputs("],", o->f);
}

static void put_length(const struct out *o, const struct used_set *u)
{
	(void)fprintf(o->f, "\"length\":%zu},\n", u->list.len);
}

/* A number, or null. */
static void put_or_null(const struct out *o, uint32_t number, uint32_t null)
{
	if (number == null)
		(void)fputs("null", o->f);
	else
		(void)fprintf(o->f, "%u", number);
}

static void put_string(const struct out *o, uint32_t string)
{
	struct otlp_text text = op_strings_get(&o->t->strings, string);

	print_json_string(o->f, text.data, text.len);
}

static void put_node_frame(const struct out *o, uint32_t node)
{
	(void)fprintf(o->f, "%u", o->used.frames.numbers[NODE(o, node)->frame]);
}

static void put_node_prefix(const struct out *o, uint32_t node)
{
	uint32_t prefix = NODE(o, node)->prefix;

	if (prefix != TIMELINE_NONE)
		prefix = o->used.nodes.numbers[prefix];
	put_or_null(o, prefix, TIMELINE_NONE);
}

static void put_frame_category(const struct out *o, uint32_t frame)
{
	const struct timeline_function *fn = FUNCTION(o, FRAME(o, frame)->function);

	(void)fprintf(o->f, "%u", category_of(o->t, fn->type));
}

static void put_frame_depth(const struct out *o, uint32_t frame)
{
	(void)fprintf(o->f, "%u", FRAME(o, frame)->depth);
}

static void put_frame_function(const struct out *o, uint32_t frame)
{
	(void)fprintf(o->f, "%u", o->used.functions.numbers[FRAME(o, frame)->function]);
}

static void put_frame_line(const struct out *o, uint32_t frame)
{
	put_or_null(o, FRAME(o, frame)->line, 0);
}

static void put_frame_column(const struct out *o, uint32_t frame)
{
	put_or_null(o, FRAME(o, frame)->column, 0);
}

/* Only native code has an address in its file. */
static void put_frame_address(const struct out *o, uint32_t frame)
{
	const struct timeline_frame *f = FRAME(o, frame);
	const struct timeline_function *fn = FUNCTION(o, f->function);
	bool known = fn->library != TIMELINE_NONE &&
		     timeline_string_is(o->t, fn->type, "native") &&
		     f->address <= INT32_MAX;

	(void)fprintf(o->f, "%" PRId64, known ? (int64_t)f->address : -1);
}

static void put_function_name(const struct out *o, uint32_t function)
{
	(void)fprintf(o->f, "%u", FUNCTION(o, function)->name);
}

static void put_function_is_js(const struct out *o, uint32_t function)
{
	bool js = timeline_string_is(o->t, FUNCTION(o, function)->type, "v8js");

	(void)fputs(js ? "true" : "false", o->f);
}

static void put_function_resource(const struct out *o, uint32_t function)
{
	uint32_t library = FUNCTION(o, function)->library;

	if (library == TIMELINE_NONE)
		(void)fputs("-1", o->f);
	else
		(void)fprintf(o->f, "%u", o->used.libraries.numbers[library]);
}

static void put_function_file(const struct out *o, uint32_t function)
{
	put_or_null(o, FUNCTION(o, function)->file, 0);
}

static void put_function_line(const struct out *o, uint32_t function)
{
	put_or_null(o, FUNCTION(o, function)->start_line, 0);
}

static void put_library(const struct out *o, uint32_t library)
{
	(void)fprintf(o->f, "%u", library);
}

static void put_library_name(const struct out *o, uint32_t library)
{
	(void)fprintf(o->f, "%u", LIBRARY(o, library)->name);
}

static void write_tables(const struct out *o)
{
	const struct used *u = &o->used;

	(void)fputs("\"stackTable\":{", o->f);
	column(o, "frame", &u->nodes, put_node_frame);
	column(o, "prefix", &u->nodes, put_node_prefix);
	put_length(o, &u->nodes);
	(void)fputs("\"frameTable\":{", o->f);
	column(o, "address", &u->frames, put_frame_address);
	column(o, "inlineDepth", &u->frames, put_frame_depth);
	column(o, "category", &u->frames, put_frame_category);
	constant(o, "subcategory", &u->frames, "0");
	column(o, "func", &u->frames, put_frame_function);
	constant(o, "nativeSymbol", &u->frames, NOT_KNOWN);
	constant(o, "innerWindowID", &u->frames, "0");
	column(o, "line", &u->frames, put_frame_line);
	column(o, "column", &u->frames, put_frame_column);
	put_length(o, &u->frames);
	(void)fputs("\"funcTable\":{", o->f);
	column(o, "name", &u->functions, put_function_name);
	column(o, "isJS", &u->functions, put_function_is_js);
	constant(o, "relevantForJS", &u->functions, "false");
	column(o, "resource", &u->functions, put_function_resource);
	column(o, "fileName", &u->functions, put_function_file);
	column(o, "lineNumber", &u->functions, put_function_line);
	constant(o, "columnNumber", &u->functions, NOT_KNOWN);
	put_length(o, &u->functions);
	(void)fputs("\"resourceTable\":{", o->f);
	column(o, "lib", &u->libraries, put_library);
	column(o, "name", &u->libraries, put_library_name);
	constant(o, "host", &u->libraries, NOT_KNOWN);
	constant(o, "type", &u->libraries, "1"); /* a library */
	put_length(o, &u->libraries);
	(void)fputs("\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
		    "\"functionSize\":[],\"length\":0},\n"
		    "\"markers\":{\"data\":[],\"name\":[],\"startTime\":[],"
		    "\"endTime\":[],\"phase\":[],\"category\":[],\"length\":0},\n",
		    o->f);
}

/* What the values of a kind are, in the profiler's words. */
static const char *weight_of(const struct timeline *t, const struct timeline_kind *k,
			     double *ret_scale)
{
	*ret_scale = 1;
	if (timeline_string_is(t, k->unit, "bytes"))
		return "bytes";
	if (!timeline_string_is(t, k->unit, "nanoseconds"))
		return "samples";
	*ret_scale = OP_NS_PER_MS;
	return "tracing-ms";
}

static void write_samples(const struct out *o, const struct timeline_sample *first,
			  const struct timeline_sample *end)
{
	const struct timeline_kind *k = KIND(o, THREAD(o, first->thread)->kind);
	const struct timeline_sample *s;
	double scale;
	const char *weight = weight_of(o->t, k, &scale);

	(void)fputs("\"samples\":{\"stack\":[", o->f);
	for (s = first; s < end; s++) {
		if (s != first)
			(void)fputc(',', o->f);
		put_or_null(o,
			    s->node == TIMELINE_NONE ? s->node
						     : o->used.nodes.numbers[s->node],
			    TIMELINE_NONE);
	}
	(void)fputs("],\n\"time\":[", o->f);
	for (s = first; s < end; s++)
		(void)fprintf(o->f, s == first ? "%.4f" : ",%.4f",
			      (double)(int64_t)(s->time_ns - o->t->start_ns) /
				      OP_NS_PER_MS);
	(void)fputs("],\n\"weight\":[", o->f);
	for (s = first; s < end; s++)
		(void)fprintf(o->f, s == first ? "%.10g" : ",%.10g",
			      (double)s->value / scale);
	(void)fprintf(o->f, "],\"weightType\":\"%s\",\"length\":%zu}", weight,
		      (size_t)(end - first));
}

/* The name of a thread, with the kind where that is not time on the CPUs. */
static void write_thread_name(const struct out *o, const struct timeline_thread *thread)
{
	struct otlp_text name = op_strings_get(
		&o->t->strings, thread->name ? thread->name : thread->process_name);
	const struct timeline_kind *k = KIND(o, thread->kind);
	struct otlp_text type = op_strings_get(&o->t->strings, k->type);
	char text[256];

	(void)snprintf(text, sizeof(text), "%.*s", (int)(name.len < 128 ? name.len : 128),
		       name.data);
	if (!timeline_string_is(o->t, k->type, "samples"))
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text),
			       " (%.*s)", (int)(type.len < 64 ? type.len : 64),
			       type.data);
	(void)fputs("\"name\":", o->f);
	print_json_string(o->f, text, strlen(text));
}

static int write_thread(struct out *o, const struct timeline_sample *first,
			const struct timeline_sample *end)
{
	const struct timeline_thread *thread = THREAD(o, first->thread);
	bool cpu = timeline_string_is(o->t, KIND(o, thread->kind)->type, "samples");
	int r = used_find(&o->used, o->t, first, end);

	if (r)
		return r;
	(void)fputs("{", o->f);
	write_thread_name(o, thread);
	(void)fputs(",\"processName\":", o->f);
	put_string(o, thread->process_name);
	(void)fprintf(o->f,
		      ",\"pid\":\"%" PRId64 "\",\"tid\":%" PRId64
		      ",\"isMainThread\":%s,\"processType\":\"default\","
		      "\"processStartupTime\":0,\"processShutdownTime\":null,"
		      "\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],\n",
		      thread->pid, thread->tid < 0 ? thread->pid : thread->tid,
		      cpu && (thread->tid < 0 || thread->tid == thread->pid) ? "true"
									     : "false");
	write_tables(o);
	write_samples(o, first, end);
	(void)fputs("}", o->f);
	return 0;
}

static int write_threads(struct out *o)
{
	const struct timeline_sample *s = o->t->samples.data;
	const struct timeline_sample *end = s + o->t->samples.len, *first = s;
	int r = 0;

	(void)fputs("\"threads\":[", o->f);
	for (; !r && s < end; s++) {
		if (s + 1 < end && s[1].thread == first->thread)
			continue;
		(void)fputs(first == o->t->samples.data ? "\n" : ",\n", o->f);
		r = write_thread(o, first, s + 1);
		first = s + 1;
	}
	(void)fputs("]}\n", o->f);
	return r;
}

static void write_libraries(const struct out *o)
{
	uint32_t i;

	(void)fputs("\"libs\":[", o->f);
	for (i = 0; i < o->t->libraries.len; i++) {
		const struct timeline_library *l = LIBRARY(o, i);

		(void)fputs(i ? ",\n{\"arch\":\"\",\"name\":"
			      : "\n{\"arch\":\"\",\"name\":",
			    o->f);
		put_string(o, l->name);
		(void)fputs(",\"path\":", o->f);
		put_string(o, l->path);
		(void)fputs(",\"debugName\":", o->f);
		put_string(o, l->name);
		(void)fputs(",\"debugPath\":", o->f);
		put_string(o, l->path);
		(void)fputs(",\"breakpadId\":\"\",\"codeId\":", o->f);
		if (l->build_id)
			put_string(o, l->build_id);
		else
			(void)fputs("null", o->f);
		(void)fputs("}", o->f);
	}
	(void)fputs("],\n", o->f);
}

/* The period of the samples by time, or a millisecond. */
static double interval_ms(const struct out *o)
{
	uint32_t i;

	for (i = 0; i < o->t->kinds.len; i++) {
		if (KIND(o, i)->period > 0 &&
		    timeline_string_is(o->t, KIND(o, i)->period_unit, "nanoseconds"))
			return (double)KIND(o, i)->period / OP_NS_PER_MS;
	}
	return 1;
}

static void write_head(const struct out *o)
{
	const struct timeline *t = o->t;
	uint32_t i;

	(void)fprintf(o->f,
		      "{\"meta\":{\"interval\":%.6g,\"startTime\":%.4f,"
		      "\"profilingStartTime\":0,\"profilingEndTime\":%.4f,\n"
		      "\"processType\":0,\"product\":\"otelprof\","
		      "\"importedFrom\":\"otelprof " OTELPROF_VERSION
		      "\",\"stackwalk\":1,"
		      "\"version\":31,\"preprocessedProfileVersion\":57,"
		      "\"symbolicated\":true,\"symbolicationNotSupported\":true,"
		      "\"sourceCodeIsNotOnSearchfox\":true,\"platform\":\"X11\","
		      "\"oscpu\":\"Linux\",\"markerSchema\":[],"
		      "\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\","
		      "\"threadCPUDelta\":\"ns\"},",
		      interval_ms(o), (double)t->start_ns / OP_NS_PER_MS,
		      (double)(t->end_ns - t->start_ns) / OP_NS_PER_MS);
	categories_write(o->f);
	(void)fputs("},\n", o->f);
	write_libraries(o);
	(void)fputs("\"shared\":{\"stringArray\":[", o->f);
	for (i = 0; i < t->strings.places.len; i++) {
		if (i)
			(void)fputs(",\n", o->f);
		put_string(o, i);
	}
	(void)fputs("]},\n", o->f);
}

int firefox_write(const struct timeline *t, int fd)
{
	_cleanup_fclose_ FILE *f = NULL;
	struct out o = { .t = t };
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	int r;

	f = copy < 0 ? NULL : fdopen(copy, "w");
	if (!f)
		return -errno;
	o.f = f;
	r = used_init(&o.used, t);
	if (!r) {
		write_head(&o);
		r = write_threads(&o);
	}
	used_clear(&o.used);
	if (!r && (fflush(f) != 0 || ferror(f)))
		r = -EIO;
	return r;
}
