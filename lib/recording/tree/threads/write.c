/* SPDX-License-Identifier: Apache-2.0 */
/* Writes threads as text for people, and as JSON. */
#include <inttypes.h>
#include <string.h>

#include "base/macros.h"
#include "recording/read/print.h"
#include "recording/tree/threads/threads.h"

enum {
	SHORT_ID = 12,	/* of a container's id, as container tools show it */
	SAME_SHOWN = 8, /* threads in one place whose numbers are written */
	NAME_COLUMNS = 100,
};

static struct otlp_text text(const struct threads *t, uint32_t string)
{
	return op_strings_get(&t->c->strings, string);
}

static void put(FILE *f, struct otlp_text s)
{
	print_safe(f, s.data ? s.data : "", s.len, 0);
}

static void put_frame(FILE *out, const struct threads *t, const struct thread_frame *f)
{
	const struct op_collect_function *fn = &t->c->functions.data[f->function];
	struct otlp_text file = text(t, fn->file),
			 module = otlp_base_name(text(t, fn->module));

	(void)fputs("    ", out);
	put(out, text(t, fn->name));
	if (file.len || module.len) {
		(void)fputs(" (", out);
		put(out, file.len ? file : module);
		if (file.len && f->line)
			(void)fprintf(out, ":%" PRIu32, f->line);
		(void)fputc(')', out);
	}
	(void)fputc('\n', out);
}

/* The first frame outwards from which on runtime frames are left out, or t->len. */
static size_t managed_from(const struct threads *t, const struct thread *e)
{
	size_t i;

	for (i = e->kernel_len; i < e->len; i++)
		if (threads_is_managed(t, &t->frames.data[e->first + i]))
			return i;
	return e->len;
}

static void put_stack(FILE *out, const struct threads *t, const struct thread *e,
		      bool all)
{
	const struct thread_frame *f = t->frames.data + e->first;
	size_t managed = managed_from(t, e), left = 0, i;

	for (i = all ? 0 : e->kernel_len; i < e->len; i++) {
		if (all || i < managed || threads_is_managed(t, &f[i]))
			put_frame(out, t, &f[i]);
		else
			left++;
	}
	if (left)
		(void)fprintf(out, "    and %zu frame%s of the runtime (--all)\n", left,
			      left == 1 ? "" : "s");
}

static void put_thread_name(FILE *out, const struct threads *t, const struct thread *e)
{
	(void)fprintf(out, "%" PRId64 " ", e->stack->thread_id);
	put(out, text(t, e->stack->thread_name));
}

/* Is it a goroutine of Go's runtime itself? */
static bool is_of_runtime(const struct threads *t, const struct thread *e)
{
	static const char begins[] = "runtime.";
	struct otlp_text name;
	size_t i;

	for (i = 0; i < e->len; i++) {
		name = text(
			t,
			t->c->functions.data[t->frames.data[e->first + i].function].name);
		if (name.len < strlen(begins) ||
		    memcmp(name.data, begins, strlen(begins)) != 0)
			return false;
	}
	return true;
}

/* "3 goroutines: sync.Mutex.Lock" */
static void put_goroutines(FILE *out, const struct threads *t, const struct thread *e)
{
	(void)fprintf(out, "\n%" PRId64 " goroutine%s: ", e->stack->value,
		      e->stack->value == 1 ? "" : "s");
	put(out, text(t, e->stack->label));
	(void)fputc('\n', out);
}

/* "thread 12 main, sleeping, waits for lock in futex_wait" */
static void put_head(FILE *out, const struct threads *t, const struct thread *e)
{
	size_t shown = 1, at;

	(void)fprintf(out, "\nthread%s ", e->same > 1 ? "s" : "");
	put_thread_name(out, t, e);
	for (at = e->next; at && shown < SAME_SHOWN; at = t->all.data[at].next, shown++) {
		(void)fputs(", ", out);
		put_thread_name(out, t, &t->all.data[at]);
	}
	if (shown < e->same)
		(void)fprintf(out, " and %zu more", e->same - shown);
	(void)fputs(": ", out);
	put(out, text(t, e->stack->label));
	if (e->wait)
		(void)fprintf(out, ", waits for %s",
			      strcmp(e->wait, "sleep") == 0 ? "time to pass" : e->wait);
	if (e->wait && e->kernel_len) {
		(void)fputs(" in ", out);
		put(out,
		    text(t,
			 t->c->functions.data[t->frames.data[e->first].function].name));
	}
	if (e->seen)
		(void)fputs(", where it was seen on a CPU just before", out);
	(void)fputc('\n', out);
}

static void put_process(FILE *out, const struct threads *t, const struct thread *e)
{
	const struct op_collect_process *p = &t->c->processes.data[e->stack->process];
	struct otlp_text container = text(t, p->container_name);
	size_t n = 0, i;

	for (i = (size_t)(e - t->all.data);
	     i < t->all.len && t->all.data[i].stack->process == e->stack->process; i++)
		n += !t->all.data[i].goroutine;
	(void)fprintf(out, "%sprocess %" PRId64 " ", e == t->all.data ? "" : "\n",
		      p->pid);
	put(out, text(t, p->name));
	if (!container.len) {
		container = text(t, p->container_id);
		container.len = OP_MIN(container.len, (size_t)SHORT_ID);
	}
	if (container.len) {
		(void)fputs(", container ", out);
		put(out, container);
	}
	(void)fprintf(out, ", %zu thread%s\n", n, n == 1 ? "" : "s");
}

void threads_text(const struct threads *t, bool all, FILE *f)
{
	uint32_t process = UINT32_MAX;
	const struct thread *e;

	op_vec_foreach(e, &t->all) {
		if (e->stack->process != process)
			put_process(f, t, e);
		process = e->stack->process;
		if (!e->same || (e->goroutine && !all && is_of_runtime(t, e)))
			continue;
		if (e->goroutine)
			put_goroutines(f, t, e);
		else
			put_head(f, t, e);
		put_stack(f, t, e, all);
	}
}

static void put_json(FILE *f, const char *key, struct otlp_text value)
{
	(void)fprintf(f, "\"%s\": ", key);
	print_json_string(f, value.data ? value.data : "", value.len);
}

static void json_frame(FILE *out, const struct threads *t, const struct thread_frame *f)
{
	const struct op_collect_function *fn = &t->c->functions.data[f->function];

	(void)fputs("{ ", out);
	put_json(out, "function", text(t, fn->name));
	(void)fputs(", ", out);
	put_json(out, "module", text(t, fn->module));
	(void)fputs(", ", out);
	put_json(out, "file", text(t, fn->file));
	(void)fprintf(out, ", \"line\": %" PRIu32 ", ", f->line);
	put_json(out, "type", text(t, fn->type));
	(void)fputs(" }", out);
}

static void json_thread(FILE *out, const struct threads *t, const struct thread *e)
{
	size_t i;

	if (e->goroutine)
		(void)fprintf(out, "\n      { \"goroutines\": %" PRId64 ", ",
			      e->stack->value);
	else
		(void)fprintf(out, "\n      { \"tid\": %" PRId64 ", ",
			      e->stack->thread_id);
	put_json(out, "name", text(t, e->stack->thread_name));
	(void)fputs(", ", out);
	put_json(out, "state", text(t, e->stack->label));
	(void)fprintf(out, ", \"waits_for\": ");
	if (e->wait)
		(void)fprintf(out, "\"%s\"", e->wait);
	else
		(void)fputs("null", out);
	(void)fprintf(out, ", \"sampled\": %s, \"stack\": [", e->seen ? "true" : "false");
	for (i = 0; i < e->len; i++) {
		(void)fputs(i ? ",\n        " : "\n        ", out);
		json_frame(out, t, &t->frames.data[e->first + i]);
	}
	(void)fputs(" ] }", out);
}

void threads_json(const struct threads *t, FILE *f)
{
	uint32_t process = UINT32_MAX;
	const struct op_collect_process *p;
	const struct thread *e;

	(void)fprintf(f,
		      "{\n  \"schema\": \"otelprof.dump\",\n  \"version\": 1,\n"
		      "  \"time_unix_ns\": %" PRIu64 ",\n  \"processes\": [",
		      t->c->end_ns);
	op_vec_foreach(e, &t->all) {
		if (e->stack->process != process) {
			p = &t->c->processes.data[e->stack->process];
			(void)fprintf(f, "%s\n    { \"pid\": %" PRId64 ", ",
				      e == t->all.data ? "" : " ] },", p->pid);
			put_json(f, "program", text(t, p->name));
			(void)fputs(", ", f);
			put_json(f, "container_id", text(t, p->container_id));
			(void)fputs(", ", f);
			put_json(f, "container_name", text(t, p->container_name));
			(void)fputs(", \"threads\": [", f);
		} else {
			(void)fputc(',', f);
		}
		process = e->stack->process;
		json_thread(f, t, e);
	}
	(void)fputs(t->all.len ? " ] }\n  ]\n}\n" : "]\n}\n", f);
}
