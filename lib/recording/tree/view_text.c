/* SPDX-License-Identifier: Apache-2.0 */
/* Texts for a view: names, places, values. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/foreign/text.h"
#include "base/io.h"
#include "base/macros.h"
#include "export/format/collect/kinds.h"
#include "recording/read/print.h"
#include "recording/tree/view.h"

enum {
	SHORT_ID = 12, /* of a container's id, as container tools show it */
};

bool view_text_is(const struct op_collect *c, uint32_t string, const char *text)
{
	size_t len;
	const char *s = op_collect_text(c, string, &len);

	return len == strlen(text) && memcmp(s, text, len) == 0;
}

const char *view_text(const struct op_collect *c, uint32_t string, char *buf, size_t size)
{
	size_t len;
	const char *s = op_collect_text(c, string, &len);

	(void)op_text_show(s, len, buf, size);
	return buf;
}

const char *view_label_name(const struct view *v, uint32_t label, char *buf, size_t size)
{
	uint32_t string = label & VIEW_PROCESS ? label & ~VIEW_PROCESS
					       : v->c->functions.data[label].name;

	view_text(v->c, string, buf, size);
	if (!*buf)
		(void)snprintf(buf, size, "?");
	return buf;
}

static const char *process_name(const struct view *v, uint32_t process, char *buf,
				size_t size)
{
	const struct op_collect_process *p = &v->c->processes.data[process];
	char name[256];

	(void)snprintf(buf, size, "%s (%" PRId64 ")",
		       view_text(v->c, p->name, name, sizeof(name)), p->pid);
	return buf;
}

/* Show the beginning of a container's id. Other texts are names. */
static void shorten_id(char *text)
{
	size_t len = strlen(text);

	if (len > SHORT_ID && strspn(text, "0123456789abcdef") == len)
		text[SHORT_ID] = 0;
}

static const char *place_name(const struct view *v, const struct view_place *place,
			      char *buf, size_t size)
{
	size_t len;

	view_text(v->c, place->file, buf, size);
	len = strlen(buf);
	if (!len)
		(void)snprintf(buf, size, "[no line]");
	else if (place->line && len + 12 < size)
		(void)snprintf(buf + len, size - len, ":%u", place->line);
	else if (!place->line && len + 12 < size)
		(void)snprintf(buf + len, size - len, " [no line]");
	return buf;
}

const char *view_row_name(const struct view *v, const struct view_row *row, char *buf,
			  size_t size)
{
	static const char *const none[VIEW_BY_MAX] = {
		[VIEW_BY_FILE] = "[no file]",
		[VIEW_BY_MODULE] = "[no file]",
		[VIEW_BY_CONTAINER] = "[no container]",
		[VIEW_BY_SERVICE] = "[no service name]",
		[VIEW_BY_TRACE] = "[no trace]",
		[VIEW_BY_LABEL] = "[none]",
	};
	enum view_by by = v->request.by;

	if (by == VIEW_BY_FUNCTION)
		return view_label_name(v, row->label, buf, size);
	if (by == VIEW_BY_PROCESS)
		return process_name(v, row->label, buf, size);
	if (by == VIEW_BY_LINE)
		return place_name(v, &v->places.data[row->label], buf, size);
	view_text(v->c, row->label, buf, size);
	if (!*buf)
		(void)snprintf(buf, size, "%s", none[by] ? none[by] : "?");
	else if (by == VIEW_BY_CONTAINER)
		shorten_id(buf);
	return buf;
}

const char *view_module(const struct view *v, uint32_t function, char *buf, size_t size)
{
	const struct op_collect_function *f = &v->c->functions.data[function];
	const char *name;

	view_text(v->c, f->module ? f->module : f->file, buf, size);
	name = op_base_name(buf);
	memmove(buf, name, strlen(name) + 1);
	return buf;
}

const char *view_place_of(const struct view *v, uint32_t function, uint32_t line,
			  char *buf, size_t size)
{
	size_t len;

	view_text(v->c, v->c->functions.data[function].file, buf, size);
	len = strlen(buf);
	if (len && line && len + 12 < size)
		(void)snprintf(buf + len, size - len, ":%u", line);
	return buf;
}

const char *view_place(const struct view *v, const struct view_row *row, char *buf,
		       size_t size)
{
	uint32_t line =
		row->line ? row->line : v->c->functions.data[row->label].start_line;

	return view_place_of(v, row->label, line, buf, size);
}

double view_percent(const struct view *v, int64_t value)
{
	return v->total ? 100.0 * (double)value / (double)v->total : 0;
}

double view_whole_percent(const struct view *v)
{
	return 100 - view_percent(v, v->early);
}

double view_guessed_percent(const struct view *v)
{
	return view_percent(v, v->guessed);
}

double view_lost_percent(const struct view *v)
{
	double all = (double)v->total + v->lost;

	return v->lost > 0 && all > 0 ? 100 * v->lost / all : 0;
}

const char *view_lost(const struct view *v, char *buf, size_t size)
{
	return op_collect_lost_text(view_lost_percent(v), buf, size);
}

double view_named_percent(const struct view *v)
{
	if (!v->frames)
		return 100;
	return 100 - 100.0 * (double)v->frames_unnamed / (double)v->frames;
}

static void count_in_words(int64_t n, char *buf, size_t size)
{
	char digits[24];
	size_t len, i, at = 0;

	(void)snprintf(digits, sizeof(digits), "%" PRId64, n);
	len = strlen(digits);
	for (i = 0; i < len && at + 2 < size; i++) {
		if (i && (len - i) % 3 == 0 && digits[i - 1] != '-')
			buf[at++] = ',';
		buf[at++] = digits[i];
	}
	buf[at] = 0;
}

const char *view_value(const struct view *v, int64_t value, char *buf, size_t size)
{
	const struct op_collect_kind *k = &v->c->kinds.data[v->kind];

	/* Each sample of a clock stands for one period. */
	if (op_collect_is_clock(v->c, k))
		print_seconds((double)value * (double)k->period / OP_NS_PER_S, buf, size);
	else if (view_text_is(v->c, k->unit, "nanoseconds"))
		print_seconds((double)value / OP_NS_PER_S, buf, size);
	else if (view_text_is(v->c, k->unit, "bytes"))
		print_bytes((double)value, buf, size);
	else
		count_in_words(value, buf, size);
	return buf;
}

/* The types of samples as people call them, by type and unit. */
static const char *words_of_type(const char *type, const char *unit)
{
	static const struct {
		const char *type;
		const char *unit; /* NULL: any */
		const char *words;
	} known[] = {
		{ "off_cpu", NULL, "time off the CPUs" },
		{ "parked", NULL, "time of threads parked until there is work" },
		{ "goroutine_waits", NULL, "waits of goroutines" },
		{ "off_cpu_wakers", NULL, "time off the CPUs, by who ended it" },
		{ "wall", NULL, "time of threads, on the CPUs and off them" },
		{ "contentions", NULL, "waits for locks" },
		{ "delay", "nanoseconds", "time waiting for locks" },
		{ "page_faults", NULL, "page faults" },
		{ "memory_growth", NULL, "memory that grew in page faults" },
		{ "signals", NULL, "signals" },
		{ "threads", NULL, "threads at one moment" },
		{ "goroutines", NULL, "goroutines at one moment" },
		{ "events", NULL, "hits of a probe" },
		{ "alloc_space", "bytes", "memory that was allocated" },
		{ "alloc_objects", NULL, "allocations" },
		{ "inuse_space", "bytes", "memory in use" },
		{ "inuse_objects", NULL, "allocations in use" },
		{ "block_io", "nanoseconds", "time of block I/O" },
		{ "block_io", "bytes", "bytes of block I/O" },
		{ "block_io", "count", "requests of block I/O" },
		{ "block_io_queue", NULL, "time of block I/O in the queue" },
		{ "block_io_service", NULL, "time of block I/O in the device" },
	};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(known[i].type, type) == 0 &&
		    (!known[i].unit || strcmp(known[i].unit, unit) == 0))
			return known[i].words;
	}
	return NULL;
}

const char *view_what(const struct view *v, char *buf, size_t size)
{
	const struct op_collect_kind *k = &v->c->kinds.data[v->kind];
	char type[64], unit[64];
	const char *words = words_of_type(view_text(v->c, k->type, type, sizeof(type)),
					  view_text(v->c, k->unit, unit, sizeof(unit)));

	if (view_text_is(v->c, k->period_type, "cpu") && k->period > 0)
		(void)snprintf(buf, size, "CPU time, %.0f Hz per CPU",
			       OP_NS_PER_S / (double)k->period);
	else if (op_collect_is_weighed(k) && view_text_is(v->c, k->type, "cpu"))
		(void)snprintf(buf, size, "CPU time, sampled at several rates");
	else if (words)
		(void)snprintf(buf, size, "%s", words);
	else
		(void)snprintf(buf, size, "%s, in %s", type, unit);
	return buf;
}
