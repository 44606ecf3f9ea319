/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a collection as speedscope JSON: shared frames, and one profile for each kind
 * and process. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "export/format/collect/kinds.h"
#include "otelprof/version.h"
#include "recording/read/print.h"
#include "recording/tree/view.h"
#include "recording/write/form.h"

struct out {
	const struct op_collect *c;
	FILE *f;
	struct op_collect_path path;
};

static void put_string(const struct out *o, const char *key, uint32_t string)
{
	size_t len;
	const char *s = op_collect_text(o->c, string, &len);

	(void)fprintf(o->f, "\"%s\":", key);
	print_json_string(o->f, s, len);
}

static void write_frames(const struct out *o)
{
	const struct op_collect_function *fn;

	(void)fputs("\"shared\":{\"frames\":[", o->f);
	op_vec_foreach(fn, &o->c->functions) {
		(void)fputs(fn == o->c->functions.data ? "\n{" : ",\n{", o->f);
		put_string(o, "name", fn->name);
		if (fn->file || fn->module) {
			(void)fputc(',', o->f);
			put_string(o, "file", fn->file ? fn->file : fn->module);
		}
		if (fn->start_line)
			(void)fprintf(o->f, ",\"line\":%u", fn->start_line);
		(void)fputc('}', o->f);
	}
	(void)fputs("]}", o->f);
}

/* Samples of a clock are written as the time that they stand for. */
static int64_t scale_of(const struct op_collect *c, const struct op_collect_kind *k,
			const char **ret_unit)
{
	*ret_unit = "none";
	if (view_text_is(c, k->unit, "bytes"))
		*ret_unit = "bytes";
	else if (view_text_is(c, k->unit, "nanoseconds"))
		*ret_unit = "nanoseconds";
	else if (op_collect_is_clock(c, k)) {
		*ret_unit = "nanoseconds";
		return k->period;
	}
	return 1;
}

static uint64_t key_of(const struct op_collect_stack *s)
{
	return (uint64_t)s->kind << 32 | s->process;
}

static int write_samples(struct out *o, uint64_t key)
{
	const struct op_collect_stack *s;
	const char *sep = "";
	size_t i;
	int r;

	(void)fputs("\"samples\":[", o->f);
	op_vec_foreach(s, &o->c->stacks) {
		if (key_of(s) != key)
			continue;
		r = op_collect_path(o->c, s, &o->path);
		if (r)
			return r;
		(void)fprintf(o->f, "%s[", sep);
		for (i = 0; i < o->path.len; i++)
			(void)fprintf(o->f, i ? ",%u" : "%u", o->path.data[i]);
		(void)fputc(']', o->f);
		sep = ",";
	}
	(void)fputc(']', o->f);
	return 0;
}

static int write_profile(struct out *o, const struct sum *sum)
{
	const struct op_collect *c = o->c;
	const struct op_collect_process *p = &c->processes.data[(uint32_t)sum->key];
	const struct op_collect_kind *k = &c->kinds.data[sum->key >> 32];
	const struct op_collect_stack *s;
	const char *unit, *sep = "", *name, *type;
	size_t name_len, type_len;
	int64_t scale = scale_of(c, k, &unit);
	char title[512];
	int r;

	name = op_collect_text(c, p->name, &name_len);
	type = op_collect_text(c, k->type, &type_len);
	(void)snprintf(title, sizeof(title), "%.*s (%" PRId64 ") %.*s",
		       (int)(name_len < 256 ? name_len : 256), name, p->pid,
		       (int)(type_len < 64 ? type_len : 64), type);
	(void)fputs("{\"type\":\"sampled\",\"name\":", o->f);
	print_json_string(o->f, title, strlen(title));
	(void)fprintf(o->f, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" PRId64 ",",
		      unit, sum->value * scale);
	r = write_samples(o, sum->key);
	if (r)
		return r;
	(void)fputs(",\"weights\":[", o->f);
	op_vec_foreach(s, &c->stacks) {
		if (key_of(s) != sum->key)
			continue;
		(void)fprintf(o->f, "%s%" PRId64, sep, s->value * scale);
		sep = ",";
	}
	(void)fputs("]}", o->f);
	return 0;
}

static int write_all(struct out *o, const struct sums *profiles)
{
	const struct sum *sum;
	int r;

	(void)fputs(
		"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
		"\"exporter\":\"otelprof " OTELPROF_VERSION "\",\n",
		o->f);
	write_frames(o);
	(void)fputs(",\n\"profiles\":[", o->f);
	op_vec_foreach(sum, &profiles->items) {
		(void)fputs(sum == profiles->items.data ? "\n" : ",\n", o->f);
		r = write_profile(o, sum);
		if (r)
			return r;
	}
	(void)fputs("]}\n", o->f);
	return 0;
}

static int write_recording(const struct recording *rec, FILE *f)
{
	struct out o = { .c = rec->c, .f = f };
	const struct op_collect_stack *s;
	struct sums profiles = { 0 };
	int r = 0;

	op_vec_foreach(s, &rec->c->stacks) {
		if (!r)
			r = sums_add(&profiles, key_of(s), s->value);
	}
	sums_sort(&profiles);
	if (!r)
		r = write_all(&o, &profiles);
	sums_clear(&profiles);
	free(o.path.data);
	return r;
}

const struct op_form op_form_speedscope = {
	.name = "speedscope",
	.endings = { ".speedscope.json", ".json" },
	.write = write_recording,
};
