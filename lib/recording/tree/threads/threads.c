/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/tree/threads/threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "export/format/collect/waits.h"
#include "recording/read/kind_word.h"

static struct otlp_text text(const struct op_collect *c, uint32_t string)
{
	return op_strings_get(&c->strings, string);
}

static struct otlp_text frame_type(const struct threads *t, const struct thread_frame *f)
{
	return text(t->c, t->c->functions.data[f->function].type);
}

bool threads_is_managed(const struct threads *t, const struct thread_frame *f)
{
	static const char *const types[] = { "cpython", "php",	  "jvm",  "ruby",
					     "v8js",	"dotnet", "perl", "beam" };
	struct otlp_text type = frame_type(t, f);
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(types); i++)
		if (otlp_text_is(type, types[i]))
			return true;
	return false;
}

/* The number of a kind, or UINT32_MAX. */
static uint32_t kind_of(const struct op_collect *c, const char *word)
{
	uint32_t kind;

	return kind_by_word(c, word, &kind) == 0 ? kind : UINT32_MAX;
}

static bool passes(const struct op_collect *c, const struct op_collect_stack *s,
		   const char *const owners[FILTER_OWNERS])
{
	const struct op_collect_process *p = &c->processes.data[s->process];
	const struct filter_subject subject = {
		.pid = p->pid,
		.program = text(c, p->name),
		.thread = text(c, s->thread_name),
		.thread_id = s->thread_id,
		.container_id = text(c, p->container_id),
		.container_name = text(c, p->container_name),
	};
	enum filter_owner i;

	for (i = FILTER_PID; owners && i < FILTER_OWNERS; i++)
		if (owners[i] && !filter_owner_is(i, owners[i], &subject))
			return false;
	return true;
}

/* The place where the thread of @s was seen most, in stacks of the kind @cpu. */
static const struct op_collect_stack *
seen_on_cpu(const struct op_collect *c, uint32_t cpu, const struct op_collect_stack *s)
{
	const struct op_collect_stack *e, *best = NULL;

	op_vec_foreach(e, &c->stacks) {
		if (e->process == s->process && e->thread_id == s->thread_id &&
		    e->kind == cpu && (!best || e->value > best->value))
			best = e;
	}
	return best;
}

/* The stack of a thread that ran while it was read. */
static bool is_running(const struct op_collect *c, const struct op_collect_stack *s)
{
	const struct op_collect_location *l;

	if (s->locations_len != 1)
		return false;
	l = &c->locations.data[c->location_numbers.data[s->locations]];
	return l->lines_len == 1 &&
	       otlp_text_is(
		       text(c, c->functions.data[c->lines.data[l->lines].function].name),
		       "[running]");
}

static int add_frames(struct threads *t, struct thread *thread)
{
	const struct op_collect_stack *s = thread->seen ? thread->seen : thread->stack;
	const struct op_collect *c = t->c;
	const struct op_collect_location *l;
	struct thread_frame *f;
	uint32_t i, j;

	thread->first = t->frames.len;
	for (i = 0; i < s->locations_len; i++) {
		l = &c->locations.data[c->location_numbers.data[s->locations + i]];
		for (j = 0; j < l->lines_len; j++) {
			if (t->frames.len - thread->first == THREADS_FRAMES_MAX)
				return 0;
			f = op_vec_push(&t->frames);
			if (!f)
				return -ENOMEM;
			*f = (struct thread_frame){ c->lines.data[l->lines + j].function,
						    c->lines.data[l->lines + j].line };
			thread->len++;
			if (thread->kernel_len + 1 == thread->len &&
			    otlp_text_is(frame_type(t, f), "kernel"))
				thread->kernel_len++;
		}
	}
	return 0;
}

static void find_wait(const struct threads *t, struct thread *thread)
{
	enum op_wait wait = WAIT_NONE;

	if (!thread->goroutine && !thread->seen && !is_running(t->c, thread->stack))
		wait = op_wait_of(t->c, NULL, thread->stack);
	thread->wait = op_wait_word(wait);
}

static int compare(const void *a, const void *b, void *data)
{
	const struct op_collect_stack *x = ((const struct thread *)a)->stack;
	const struct op_collect_stack *y = ((const struct thread *)b)->stack;
	bool goroutine = ((const struct thread *)a)->goroutine;
	const struct op_collect *c = data;
	int64_t p = c->processes.data[x->process].pid,
		q = c->processes.data[y->process].pid;

	if (p != q)
		return p < q ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (goroutine != ((const struct thread *)b)->goroutine)
		return goroutine ? 1 : -1;
	if (goroutine && x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return x->thread_id < y->thread_id ? -1 : x->thread_id > y->thread_id;
}

static int complete(struct threads *t)
{
	uint32_t cpu = kind_of(t->c, "cpu");
	uint32_t process = UINT32_MAX;
	struct thread *e;
	int r = 0;

	op_vec_foreach(e, &t->all) {
		t->processes += e->stack->process != process;
		process = e->stack->process;
		if (!e->goroutine && is_running(t->c, e->stack))
			e->seen = seen_on_cpu(t->c, cpu, e->stack);
		r = add_frames(t, e);
		if (r)
			return r;
		find_wait(t, e);
	}
	return 0;
}

/* Are both threads in one place, in one state? */
static bool is_same(const struct threads *t, const struct thread *a,
		    const struct thread *b)
{
	return a->stack->process == b->stack->process &&
	       a->stack->label == b->stack->label && !a->seen && !b->seen &&
	       a->len == b->len &&
	       (!a->len || memcmp(t->frames.data + a->first, t->frames.data + b->first,
				  a->len * sizeof(*t->frames.data)) == 0);
}

/* Link threads in the same place and state. A thread whose hash only collides stays
 * alone. */
static int group(struct threads *t)
{
	struct op_map64 firsts = { 0 }, lasts = { 0 };
	uint64_t seed = op_hash_seed(), hash, first, last;
	struct thread *e;
	size_t i;
	int r = 0;

	for (i = 0; !r && i < t->all.len; i++) {
		e = &t->all.data[i];
		e->same = 1;
		if (e->goroutine)
			continue;
		hash = op_hash_bytes(
			t->frames.data + e->first, e->len * sizeof(*t->frames.data),
			seed ^ (uint64_t)e->stack->process << 32 ^ e->stack->label);
		if (op_map64_get(&firsts, hash, &first) &&
		    op_map64_get(&lasts, hash, &last) &&
		    is_same(t, &t->all.data[first], e)) {
			t->all.data[first].same++;
			t->all.data[last].next = i;
			e->same = 0;
		} else {
			r = op_map64_put(&firsts, hash, i);
		}
		r = r ? r : op_map64_put(&lasts, hash, i);
	}
	op_map64_clear(&firsts);
	op_map64_clear(&lasts);
	return r;
}

int threads_make(const struct op_collect *c, const char *const owners[FILTER_OWNERS],
		 struct threads *ret)
{
	uint32_t threads = kind_of(c, "threads"), goroutines = kind_of(c, "goroutines");
	const struct op_collect_stack *s;
	struct thread *e;
	int r;

	*ret = (struct threads){ .c = c };
	op_vec_foreach(s, &c->stacks) {
		if (!s->value || (s->kind != threads && s->kind != goroutines) ||
		    !passes(c, s, owners))
			continue;
		e = op_vec_push(&ret->all);
		if (!e)
			return -ENOMEM;
		*e = (struct thread){ .stack = s, .goroutine = s->kind == goroutines };
	}
	if (ret->all.len)
		qsort_r(ret->all.data, ret->all.len, sizeof(*ret->all.data), compare,
			(void *)c);
	r = complete(ret);
	return r ? r : group(ret);
}

void threads_clear(struct threads *t)
{
	op_vec_clear(&t->all);
	op_vec_clear(&t->frames);
}
