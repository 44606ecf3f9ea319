/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/kept/trace_contexts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "kernel/kinds/kind.h"
#include "process/context/ids.h"
#include "process/context/labels.h"
#include "process/program.h"
#include "process/resource/attributes.h"

enum {
	WAKER_ATTRIBUTES = 3,
};

int op_trace_contexts_read(const uint8_t *bytes, size_t left, size_t len,
			   struct op_thread_context *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (!len)
		return 0;
	if (len != sizeof(*ret) || len > left)
		return -EBADMSG;
	memcpy(ret, bytes, len);
	return 0;
}

int op_trace_contexts_announce(struct op_trace_contexts *c, const void *record,
			       size_t len)
{
	struct op_labels_record head;

	if (len < sizeof(head))
		return -EBADMSG;
	memcpy(&head, record, sizeof(head));
	if (head.bytes > OP_LABELS_BYTES || sizeof(head) + head.bytes != len)
		return -EBADMSG;
	return op_announced_add(&c->announced, &head.hash, record, len);
}

static void forget(struct op_trace_contexts *c, uint32_t epoch)
{
	op_map64_clear(&c->by_hash);
	c->contexts.len = 0;
	c->epoch = epoch;
}

static const struct op_trace_context *find_known(struct op_trace_contexts *c,
						 const struct op_thread_context *context,
						 uint32_t epoch)
{
	const struct op_trace_context *k;
	uint64_t at;

	if (c->epoch != epoch)
		forget(c, epoch);
	if (!op_map64_get(&c->by_hash, context->labels[0], &at))
		return NULL;
	k = &c->contexts.data[at];
	return k->hash.word[1] == context->labels[1] ? k : NULL;
}

static int add_label(struct op_window *window, const struct op_context_label *label,
		     struct op_attribute_set *set)
{
	struct op_attribute a = { 0 };
	int r = op_window_string(window, label->key, label->key_len, &a.key);

	if (r == 0)
		r = op_window_string(window, label->value, label->value_len, &a.string);
	if (r == 0)
		r = op_window_attribute(window, &a, &set->index[set->len]);
	if (r == 0)
		set->len++;
	return r;
}

static bool begins(const struct op_context_label *label, const char *text)
{
	size_t len = strlen(text);

	return label->key_len >= len && memcmp(label->key, text, len) == 0;
}

/* Is the key one of the library's own, for processes or events? Labels must not use it,
 * because readers could not tell them apart. */
static bool claims(const struct op_context_label *label)
{
	const struct op_kind *const *kind = op_kinds();
	uint32_t i;

	for (i = 0; i < OP_KINDS; i++)
		if (kind[i]->detail_key && begins(label, kind[i]->detail_key) &&
		    label->key_len == strlen(kind[i]->detail_key))
			return true;
	return begins(label, "waker.") || begins(label, "woken.") ||
	       op_resource_is_observed(label->key, label->key_len);
}

/* Announced labels, as they are in @window. */
static int read_labels(struct op_trace_contexts *c, struct op_program *program,
		       const void *record, struct op_window *window,
		       struct op_trace_context *ret, bool *ret_final)
{
	const struct op_schema *schema = program ? program->context.schema : NULL;
	struct op_thread_context ids = { 0 };
	struct op_context_labels labels;
	struct op_labels_record head;
	uint32_t i;
	int r = 0;

	memcpy(&head, record, sizeof(head));
	op_context_labels_parse(head.form, (const uint8_t *)record + sizeof(head),
				head.bytes, schema, &labels);
	c->cut += labels.cut;
	ret->hash = head.hash;
	*ret_final = !labels.unknown_key;
	if (labels.unknown_key && program)
		program->context.asked = true;
	if (head.form != OP_CONTEXT_OTEL && op_context_ids_of_labels(&labels, &ids)) {
		memcpy(ret->link.trace_id, ids.trace_id, sizeof(ids.trace_id));
		memcpy(ret->link.span_id, ids.span_id, sizeof(ids.span_id));
		ret->has_link = true;
	}
	for (i = 0; i < labels.len && r == 0; i++)
		if (!claims(&labels.label[i]))
			r = add_label(window, &labels.label[i], &ret->labels);
	return r;
}

/* Keep labels for later samples. Without memory they are read again. */
static void keep(struct op_trace_contexts *c, const struct op_trace_context *known)
{
	struct op_trace_context *k;

	if (op_map64_put(&c->by_hash, known->hash.word[0], c->contexts.len) < 0)
		return;
	k = op_vec_push(&c->contexts);
	if (k)
		*k = *known;
	else
		forget(c, c->epoch);
}

/* May @program add one more set of labels in the window of @epoch? */
static bool may_have_labels(struct op_program *program, uint32_t epoch)
{
	if (!program)
		return true;
	if (program->window.labels_epoch != epoch) {
		program->window.labels_epoch = epoch;
		program->window.label_sets = 0;
	}
	if (program->window.label_sets >= OP_PROGRAM_LABELS_MAX)
		return false;
	program->window.label_sets++;
	return true;
}

static int apply_labels(struct op_trace_contexts *c, struct op_program *program,
			const struct op_thread_context *context, struct op_window *window,
			struct op_window_sample *sample)
{
	const struct op_hash hash = { { context->labels[0], context->labels[1] } };
	const struct op_trace_context *known =
		find_known(c, context, op_window_epoch(window));
	struct op_trace_context made = { 0 };
	const void *record;
	uint32_t i;
	size_t len;
	bool final;
	int r = 0;

	if (!known) {
		record = op_announced_find(&c->announced, &hash, &len);
		if (!record)
			return -ENOENT;
		if (!may_have_labels(program, c->epoch)) {
			c->cut++;
			return 0;
		}
		r = read_labels(c, program, record, window, &made, &final);
		if (r < 0)
			return r;
		if (final)
			keep(c, &made);
		known = &made;
	}
	if (known->has_link && !sample->link)
		r = op_window_link(window, &known->link, &sample->link);
	for (i = 0; i < known->labels.len && sample->labels.len < OP_ATTRIBUTES_MAX; i++)
		sample->labels.index[sample->labels.len++] = known->labels.index[i];
	return r;
}

static int add_number(struct op_window *window, const char *key, uint32_t number,
		      struct op_attribute_set *set)
{
	struct op_attribute a = { .integer = number, .is_int = 1 };
	int r = op_window_string(window, key, strlen(key), &a.key);

	if (r == 0)
		r = op_window_attribute(window, &a, &set->index[set->len]);
	if (r == 0)
		set->len++;
	return r;
}

/* The thread that woke the thread of a sample. @woken: the thread that it woke. */
static int add_waker(const struct op_waker *waker, bool woken, struct op_window *window,
		     struct op_attribute_set *set)
{
	const struct op_context_label name = {
		.key = woken ? "woken.thread.name" : "waker.thread.name",
		.key_len = strlen("waker.thread.name"),
		.value = waker->comm,
		.value_len = strnlen(waker->comm, sizeof(waker->comm)),
	};
	int r;

	if (set->len + WAKER_ATTRIBUTES > OP_ATTRIBUTES_MAX)
		return 0;
	r = add_number(window, woken ? "woken.process.pid" : "waker.process.pid",
		       waker->pid, set);
	if (r == 0)
		r = add_number(window, woken ? "woken.thread.id" : "waker.thread.id",
			       waker->tid, set);
	return r < 0 ? r : add_label(window, &name, set);
}

bool op_trace_contexts_apply(struct op_trace_contexts *c, struct op_program *program,
			     const struct op_thread_context *context,
			     struct op_window *window, struct op_window_sample *sample)
{
	const struct op_kind *kind = op_kind_of(sample->event);
	struct op_link link;
	int r = 0;

	if (op_context_has_ids(context)) {
		memcpy(link.trace_id, context->trace_id, sizeof(link.trace_id));
		memcpy(link.span_id, context->span_id, sizeof(link.span_id));
		r = op_window_link(window, &link, &sample->link);
	}
	if (r == 0 && context->waker.tid)
		r = add_waker(&context->waker, kind && kind->woken, window,
			      &sample->labels);
	if (r == 0 && (context->labels[0] || context->labels[1]))
		r = apply_labels(c, program, context, window, sample);
	if (r < 0)
		c->lost++;
	return r != -ENOENT;
}

void op_trace_contexts_turn(struct op_trace_contexts *c)
{
	op_announced_turn(&c->announced);
}

void op_trace_contexts_deinit(struct op_trace_contexts *c)
{
	op_announced_deinit(&c->announced);
	op_map64_clear(&c->by_hash);
	op_vec_clear(&c->contexts);
}
