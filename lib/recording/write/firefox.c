/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a timeline as the tables of a processed profile. Strings and libraries are shared by
 * all threads; a thread has tables of the stacks, frames and functions that its samples use, and
 * a kind of samples has threads of its own.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "otelprof/version.h"
#include "recording/read/print.h"
#include "recording/tree/view.h"
#include "recording/write/categories.h"
#include "recording/write/form.h"
#include "recording/write/used.h"

/* The columns of tables that are not known, or not of native code. */
#define NOT_KNOWN "null"
#define NS_PER_MS 1e6
enum {
	NAME_BYTES = 129, /* of a thread */
	KIND_BYTES = 65,
};

struct out {
	const struct timeline *t;
	const struct op_collect *c;
	FILE *f;
	struct used used;
};

/* Write one value of a column. */
typedef void (*put_fn)(const struct out *o, uint32_t record);

static const struct op_collect_function *function_of(const struct out *o,
						     uint32_t function)
{
	return &o->c->functions.data[o->t->functions.data[function].function];
}

static const struct op_collect_location *location_of(const struct out *o, uint32_t frame)
{
	return &o->c->locations.data[o->t->frames.data[frame].location];
}

/* The thread of a sample, as a stack of it. */
static const struct op_collect_stack *thread_of(const struct out *o,
						const struct timeline_sample *s)
{
	return &o->c->stacks.data[o->t->threads.data[s->thread]];
}

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
	size_t len;
	const char *text = op_collect_text(o->c, string, &len);

	print_json_string(o->f, text, len);
}

static void put_node_frame(const struct out *o, uint32_t node)
{
	(void)fprintf(o->f, "%u",
		      o->used.frames.numbers[o->t->nodes.nodes.data[node].label]);
}

static void put_node_prefix(const struct out *o, uint32_t node)
{
	uint32_t prefix = o->t->nodes.nodes.data[node].parent;

	/* The root, 0, is no node of theirs: it has no number. */
	put_or_null(o, o->used.nodes.numbers[prefix], TIMELINE_NONE);
}

static void put_frame_category(const struct out *o, uint32_t frame)
{
	uint32_t function = o->t->frames.data[frame].function;

	(void)fprintf(o->f, "%u", category_of(o->c, function_of(o, function)->type));
}

static void put_frame_depth(const struct out *o, uint32_t frame)
{
	const struct op_collect_location *l = location_of(o, frame);

	/* The last line is the function around those that were inlined. */
	(void)fprintf(o->f, "%u", l->lines + l->lines_len - 1 - frame);
}

static void put_frame_function(const struct out *o, uint32_t frame)
{
	(void)fprintf(o->f, "%u",
		      o->used.functions.numbers[o->t->frames.data[frame].function]);
}

static void put_frame_line(const struct out *o, uint32_t frame)
{
	put_or_null(o, o->c->lines.data[frame].line, 0);
}

static void put_frame_column(const struct out *o, uint32_t frame)
{
	put_or_null(o, o->c->lines.data[frame].column, 0);
}

/* Only native code has an address in its file. */
static void put_frame_address(const struct out *o, uint32_t frame)
{
	uint32_t function = o->t->frames.data[frame].function;
	uint64_t address = location_of(o, frame)->address;
	bool known = o->t->functions.data[function].library != TIMELINE_NONE &&
		     view_text_is(o->c, function_of(o, function)->type, "native") &&
		     address <= INT32_MAX;

	(void)fprintf(o->f, "%" PRId64, known ? (int64_t)address : -1);
}

static void put_function_name(const struct out *o, uint32_t function)
{
	(void)fprintf(o->f, "%u", function_of(o, function)->name);
}

static void put_function_is_js(const struct out *o, uint32_t function)
{
	bool js = view_text_is(o->c, function_of(o, function)->type, "v8js");

	(void)fputs(js ? "true" : "false", o->f);
}

static void put_function_resource(const struct out *o, uint32_t function)
{
	uint32_t library = o->t->functions.data[function].library;

	if (library == TIMELINE_NONE)
		(void)fputs("-1", o->f);
	else
		(void)fprintf(o->f, "%u", o->used.libraries.numbers[library]);
}

static void put_function_file(const struct out *o, uint32_t function)
{
	put_or_null(o, function_of(o, function)->file, 0);
}

static void put_function_line(const struct out *o, uint32_t function)
{
	put_or_null(o, function_of(o, function)->start_line, 0);
}

static void put_library(const struct out *o, uint32_t library)
{
	(void)fprintf(o->f, "%u", library);
}

static void put_library_name(const struct out *o, uint32_t library)
{
	(void)fprintf(o->f, "%u", o->t->libraries.data[library].name);
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
static const char *weight_of(const struct op_collect *c, const struct op_collect_kind *k,
			     double *ret_scale)
{
	*ret_scale = 1;
	if (view_text_is(c, k->counted_unit, "bytes"))
		return "bytes";
	if (!view_text_is(c, k->counted_unit, "nanoseconds"))
		return "samples";
	*ret_scale = NS_PER_MS;
	return "tracing-ms";
}

static void write_samples(const struct out *o, const struct timeline_sample *first,
			  const struct timeline_sample *end)
{
	const struct op_collect_kind *k = &o->c->kinds.data[thread_of(o, first)->kind];
	const struct timeline_sample *s;
	double scale;
	const char *weight = weight_of(o->c, k, &scale);

	(void)fputs("\"samples\":{\"stack\":[", o->f);
	for (s = first; s < end; s++) {
		if (s != first)
			(void)fputc(',', o->f);
		put_or_null(o, o->used.nodes.numbers[s->node], TIMELINE_NONE);
	}
	(void)fputs("],\n\"time\":[", o->f);
	for (s = first; s < end; s++)
		(void)fprintf(o->f, s == first ? "%.4f" : ",%.4f",
			      (double)(int64_t)(s->time_ns - o->c->start_ns) / NS_PER_MS);
	(void)fputs("],\n\"weight\":[", o->f);
	for (s = first; s < end; s++)
		(void)fprintf(o->f, s == first ? "%.10g" : ",%.10g",
			      (double)s->value / scale);
	(void)fprintf(o->f, "],\"weightType\":\"%s\",\"length\":%zu}", weight,
		      (size_t)(end - first));
}

static uint32_t process_name(const struct op_collect_process *p)
{
	return p->name ? p->name : p->path ? p->path : p->service_name;
}

/* The name of a thread, with the kind where that is not time on the CPUs. */
static void write_thread_name(const struct out *o, const struct op_collect_stack *thread)
{
	const struct op_collect_process *p = &o->c->processes.data[thread->process];
	uint32_t type = o->c->kinds.data[thread->kind].counted_type;
	char name[NAME_BYTES], kind[KIND_BYTES], text[NAME_BYTES + KIND_BYTES + 4];

	view_text(o->c, thread->thread_name ? thread->thread_name : process_name(p), name,
		  sizeof(name));
	(void)snprintf(text, sizeof(text),
		       view_text_is(o->c, type, "samples") ? "%s" : "%s (%s)", name,
		       view_text(o->c, type, kind, sizeof(kind)));
	(void)fputs("\"name\":", o->f);
	print_json_string(o->f, text, strlen(text));
}

static int write_thread(struct out *o, const struct timeline_sample *first,
			const struct timeline_sample *end)
{
	const struct op_collect_stack *thread = thread_of(o, first);
	const struct op_collect_process *p = &o->c->processes.data[thread->process];
	bool cpu = view_text_is(o->c, o->c->kinds.data[thread->kind].counted_type,
				"samples");
	int r = used_find(&o->used, o->t, first, end);

	if (r)
		return r;
	(void)fputs("{", o->f);
	write_thread_name(o, thread);
	(void)fputs(",\"processName\":", o->f);
	put_string(o, process_name(p));
	(void)fprintf(o->f,
		      ",\"pid\":\"%" PRId64 "\",\"tid\":%" PRId64
		      ",\"isMainThread\":%s,\"processType\":\"default\","
		      "\"processStartupTime\":0,\"processShutdownTime\":null,"
		      "\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],\n",
		      p->pid, thread->thread_id < 0 ? p->pid : thread->thread_id,
		      cpu && (thread->thread_id < 0 || thread->thread_id == p->pid)
			      ? "true"
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
		const struct timeline_library *l = &o->t->libraries.data[i];

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
	const struct op_collect_kind *k;

	op_vec_foreach(k, &o->c->kinds) {
		if (k->period > 0 && view_text_is(o->c, k->period_unit, "nanoseconds"))
			return (double)k->period / NS_PER_MS;
	}
	return 1;
}

static void write_head(const struct out *o)
{
	const struct op_collect *c = o->c;
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
		      interval_ms(o), (double)c->start_ns / NS_PER_MS,
		      (double)(c->end_ns - c->start_ns) / NS_PER_MS);
	categories_write(o->f);
	(void)fputs("},\n", o->f);
	write_libraries(o);
	(void)fputs("\"shared\":{\"stringArray\":[", o->f);
	for (i = 0; i < c->strings.places.len; i++) {
		if (i)
			(void)fputs(",\n", o->f);
		put_string(o, i);
	}
	(void)fputs("]},\n", o->f);
}

static int write_all(const struct timeline *t, FILE *f)
{
	struct out o = { .t = t, .c = t->c, .f = f };
	int r = used_init(&o.used, t);

	if (!r) {
		write_head(&o);
		r = write_threads(&o);
	}
	used_clear(&o.used);
	return r;
}

static int write_recording(const struct recording *rec, FILE *f)
{
	struct timeline t = { 0 };
	int r = timeline_make(rec, &t);

	if (!r)
		r = write_all(&t, f);
	timeline_clear(&t);
	return r;
}

const struct op_form op_form_firefox = {
	.name = "firefox",
	.endings = { ".firefox.json", ".profile.json" },
	.timed = true,
	.write = write_recording,
};
