/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a timeline as the tables of a processed profile. All threads share strings and
 * libraries. A thread has tables of the stacks, frames and functions that its samples
 * use. Each kind of samples has threads of its own.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/macros.h"
#include "export/format/collect/kinds.h"
#include "otelprof/version.h"
#include "recording/read/print.h"
#include "recording/tree/view.h"
#include "recording/write/form.h"
#include "recording/write/timeline.h"

enum {
	NAME_BYTES = 129, /* of a thread */
	KIND_BYTES = 65,
};

/* Names and colours of the types of frames. The first one is for all others. */
static const struct {
	const char *type;
	const char *name;
	const char *colour;
} categories[] = {
	{ "", "Other", "grey" },
	{ "native", "Native", "blue" },
	{ "kernel", "Kernel", "orange" },
	{ "go", "Go", "lightblue" },
	{ "cpython", "Python", "yellow" },
	{ "jvm", "Java", "red" },
	{ "v8js", "JavaScript", "green" },
	{ "php", "PHP", "purple" },
	{ "phpjit", "PHP, compiled", "magenta" },
	{ "ruby", "Ruby", "lightred" },
	{ "perl", "Perl", "brown" },
	{ "dotnet", ".NET", "darkgrey" },
	{ "beam", "Erlang", "magenta" },
};
enum {
	CATEGORIES = sizeof(categories) / sizeof(categories[0])
};

/*
 * The viewer distinguishes threads by tid, and shows those of a process under its main
 * thread. One thread of the kernel becomes several here, because it has several kinds
 * of samples, may change its name, and its process may execute another program.
 */
struct out {
	const struct timeline *t;
	const struct op_collect *c;
	FILE *f;
	struct used used;
	struct op_map64 mains; /* pid -> the first sample of its main thread */
	struct op_map64 tids;  /* tid -> number of its threads so far */
};

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

static void write_categories(FILE *f)
{
	size_t i;

	(void)fputs("\"categories\":[", f);
	for (i = 0; i < CATEGORIES; i++)
		(void)fprintf(f,
			      "%s{\"name\":\"%s\",\"color\":\"%s\","
			      "\"subcategories\":[\"Other\"]}",
			      i ? ",\n" : "\n", categories[i].name, categories[i].colour);
	(void)fputs("]", f);
}

static uint32_t category_of(const struct op_collect *c, uint32_t type)
{
	uint32_t i;

	for (i = 0; i < CATEGORIES; i++) {
		if (view_text_is(c, type, categories[i].type))
			return i;
	}
	return 0;
}

/* A column of a table: the value of each record @at in a list of used ones. */
#define COLUMN(o, name, list_of, ...)                                                    \
	do {                                                                             \
		const char *comma_ = "";                                                 \
		const uint32_t *at;                                                      \
                                                                                         \
		(void)fprintf((o)->f, "\"%s\":[", name);                                 \
		op_vec_foreach(at, &(o)->used.list_of.list) {                            \
			(void)fputs(comma_, (o)->f);                                     \
			__VA_ARGS__;                                                     \
			comma_ = ",";                                                    \
		}                                                                        \
		(void)fputs("],", (o)->f);                                               \
	} while (0)

static void put_length(const struct out *o, const struct used_set *u)
{
	(void)fprintf(o->f, "\"length\":%zu},\n", u->list.len);
}

static void put(const struct out *o, int64_t number)
{
	(void)fprintf(o->f, "%" PRId64, number);
}

/* A number, or null. */
static void put_or_null(const struct out *o, uint32_t number, uint32_t null)
{
	if (number == null)
		(void)fputs("null", o->f);
	else
		put(o, number);
}

static void put_string(const struct out *o, uint32_t string)
{
	size_t len;
	const char *text = op_collect_text(o->c, string, &len);

	print_json_string(o->f, text, len);
}

static void put_bool(const struct out *o, bool value)
{
	(void)fputs(value ? "true" : "false", o->f);
}

static bool has_type(const struct out *o, uint32_t function, const char *type)
{
	return view_text_is(o->c, function_of(o, function)->type, type);
}

/* Only native code has an address in its file. */
static int64_t address_of(const struct out *o, uint32_t frame)
{
	uint32_t function = o->t->frames.data[frame].function;
	uint64_t address = location_of(o, frame)->address;

	return o->t->functions.data[function].library != TIMELINE_NONE &&
			       has_type(o, function, "native") && address <= INT32_MAX
		       ? (int64_t)address
		       : -1;
}

/* The last line of a location is the function around the inlined ones. */
static uint32_t depth_of(const struct out *o, uint32_t frame)
{
	const struct op_collect_location *l = location_of(o, frame);

	return l->lines + l->lines_len - 1 - frame;
}

static int64_t resource_of(const struct out *o, uint32_t function)
{
	uint32_t library = o->t->functions.data[function].library;

	return library == TIMELINE_NONE ? -1
					: (int64_t)o->used.libraries.numbers[library];
}

static void write_tables(const struct out *o)
{
	const struct tree_node *nodes = o->t->nodes.nodes.data;
	const struct timeline_frame *frames = o->t->frames.data;
	const struct op_collect_line *lines = o->c->lines.data;
	const struct used *u = &o->used;

	(void)fputs("\"stackTable\":{", o->f);
	COLUMN(o, "frame", nodes, put(o, u->frames.numbers[nodes[*at].label]));
	/* The root, 0, is no node of theirs: it has no number. */
	COLUMN(o, "prefix", nodes,
	       put_or_null(o, u->nodes.numbers[nodes[*at].parent], TIMELINE_NONE));
	put_length(o, &u->nodes);
	(void)fputs("\"frameTable\":{", o->f);
	COLUMN(o, "address", frames, put(o, address_of(o, *at)));
	COLUMN(o, "inlineDepth", frames, put(o, depth_of(o, *at)));
	COLUMN(o, "category", frames,
	       put(o, category_of(o->c, function_of(o, frames[*at].function)->type)));
	COLUMN(o, "subcategory", frames, put(o, 0));
	COLUMN(o, "func", frames, put(o, u->functions.numbers[frames[*at].function]));
	COLUMN(o, "nativeSymbol", frames, put_or_null(o, 0, 0));
	COLUMN(o, "innerWindowID", frames, put(o, 0));
	COLUMN(o, "line", frames, put_or_null(o, lines[*at].line, 0));
	COLUMN(o, "column", frames, put_or_null(o, lines[*at].column, 0));
	put_length(o, &u->frames);
	(void)fputs("\"funcTable\":{", o->f);
	COLUMN(o, "name", functions, put(o, function_of(o, *at)->name));
	COLUMN(o, "isJS", functions, put_bool(o, has_type(o, *at, "v8js")));
	COLUMN(o, "relevantForJS", functions, put_bool(o, false));
	COLUMN(o, "resource", functions, put(o, resource_of(o, *at)));
	COLUMN(o, "fileName", functions, put_or_null(o, function_of(o, *at)->file, 0));
	COLUMN(o, "lineNumber", functions,
	       put_or_null(o, function_of(o, *at)->start_line, 0));
	COLUMN(o, "columnNumber", functions, put_or_null(o, 0, 0));
	put_length(o, &u->functions);
	(void)fputs("\"resourceTable\":{", o->f);
	COLUMN(o, "lib", libraries, put(o, *at));
	COLUMN(o, "name", libraries, put(o, o->t->libraries.data[*at].name));
	COLUMN(o, "host", libraries, put_or_null(o, 0, 0));
	COLUMN(o, "type", libraries, put(o, 1)); /* a library */
	put_length(o, &u->libraries);
	(void)fputs("\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
		    "\"functionSize\":[],\"length\":0},\n"
		    "\"markers\":{\"data\":[],\"name\":[],\"startTime\":[],"
		    "\"endTime\":[],\"phase\":[],\"category\":[],\"length\":0},\n",
		    o->f);
}

/* The type of a kind's values, in the viewer's words. */
static const char *weight_of(const struct op_collect *c, const struct op_collect_kind *k,
			     double *ret_scale)
{
	*ret_scale = 1;
	if (view_text_is(c, k->counted_unit, "bytes"))
		return "bytes";
	if (op_collect_is_clock(c, k)) {
		*ret_scale = (double)k->period;
		return "samples";
	}
	/* samples with several periods count as their time */
	if (!view_text_is(c, k->counted_unit, "nanoseconds") && !op_collect_is_weighed(k))
		return "samples";
	*ret_scale = OP_NS_PER_MS;
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
			      (double)(int64_t)(s->time_ns - o->c->start_ns) /
				      OP_NS_PER_MS);
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

/* The name of a thread, with the kind unless that is time on the CPUs. */
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

static int64_t tid_of(const struct out *o, const struct op_collect_stack *thread)
{
	return thread->thread_id < 0 ? o->c->processes.data[thread->process].pid
				     : thread->thread_id;
}

/* Is @thread the best main thread of its process: the first one, with time on the CPUs? */
static bool is_first(const struct out *o, const struct op_collect_stack *thread)
{
	return tid_of(o, thread) == o->c->processes.data[thread->process].pid &&
	       view_text_is(o->c, o->c->kinds.data[thread->kind].counted_type, "samples");
}

/* Choose a main thread for each process: the best one, or else any. */
static int find_mains(struct out *o)
{
	const struct timeline_sample *all = o->t->samples.data;
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < o->t->samples.len; i++) {
		const struct op_collect_stack *thread = thread_of(o, &all[i]);
		uint64_t pid = (uint64_t)o->c->processes.data[thread->process].pid;
		uint64_t now;

		if (i && all[i].thread == all[i - 1].thread)
			continue;
		if (!op_map64_get(&o->mains, pid, &now) ||
		    (is_first(o, thread) && !is_first(o, thread_of(o, &all[now]))))
			r = op_map64_put(&o->mains, pid, i);
	}
	return r;
}

/* A number, with a suffix for each further thread of that number. */
static int write_tid(struct out *o, int64_t tid)
{
	uint64_t before = 0;

	if (op_map64_get(&o->tids, (uint64_t)tid, &before))
		(void)fprintf(o->f, "\"%" PRId64 ".%" PRIu64 "\"", tid, before);
	else
		(void)fprintf(o->f, "%" PRId64, tid);
	return op_map64_put(&o->tids, (uint64_t)tid, before + 1);
}

static int write_thread(struct out *o, const struct timeline_sample *first,
			const struct timeline_sample *end)
{
	const struct op_collect_stack *thread = thread_of(o, first);
	const struct op_collect_process *p = &o->c->processes.data[thread->process];
	uint64_t main = 0;
	int r = used_find(&o->used, o->t, first, end);

	if (r)
		return r;
	(void)op_map64_get(&o->mains, (uint64_t)p->pid, &main);
	(void)fputs("{", o->f);
	write_thread_name(o, thread);
	(void)fputs(",\"processName\":", o->f);
	put_string(o, process_name(p));
	(void)fprintf(o->f, ",\"pid\":\"%" PRId64 "\",\"tid\":", p->pid);
	r = write_tid(o, tid_of(o, thread));
	(void)fprintf(o->f,
		      ",\"isMainThread\":%s,\"processType\":\"default\","
		      "\"processStartupTime\":0,\"processShutdownTime\":null,"
		      "\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],\n",
		      first == &o->t->samples.data[main] ? "true" : "false");
	write_tables(o);
	write_samples(o, first, end);
	(void)fputs("}", o->f);
	return r;
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
			return (double)k->period / OP_NS_PER_MS;
	}
	return 1;
}

/* A section of the viewer's panel on the profile, with a line for each kind. */
static void write_lost(const struct out *o)
{
	char type[KIND_BYTES], lost[OP_COLLECT_LOST_BYTES];
	const char *sep = ",\n\"extra\":[{\"label\":\"Lost samples\",\"entries\":[";
	uint32_t i;

	for (i = 0; i < o->c->kinds.len; i++) {
		if (!op_collect_lost_text(op_collect_lost_percent(o->c, i), lost,
					  sizeof(lost)))
			continue;
		view_text(o->c, o->c->kinds.data[i].counted_type, type, sizeof(type));
		(void)fprintf(o->f, "%s{\"label\":", sep);
		print_json_string(o->f, type, strlen(type));
		(void)fprintf(o->f, ",\"format\":\"string\",\"value\":\"%s\"}", lost);
		sep = ",";
	}
	if (!sep[1])
		(void)fputs("]}]", o->f);
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
		      interval_ms(o), (double)c->start_ns / OP_NS_PER_MS,
		      (double)(c->end_ns - c->start_ns) / OP_NS_PER_MS);
	write_categories(o->f);
	write_lost(o);
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

	if (!r)
		r = find_mains(&o);
	if (!r) {
		write_head(&o);
		r = write_threads(&o);
	}
	op_map64_clear(&o.mains);
	op_map64_clear(&o.tids);
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
