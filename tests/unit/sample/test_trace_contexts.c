/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of samples: announced once, named by a hash, and bounded for each program. */
#include "sample/kept/trace_contexts.h"

#include <errno.h>
#include <string.h>

#include "process/program.h"
#include "profile/window.h"
#include "test.h"

/* The record that announces labels: of set @number one label with that key. */
static void announce_key(struct op_trace_contexts *c, uint32_t number, const char *key)
{
	struct {
		struct op_labels_record head;
		struct op_label label;
	} record;

	memset(&record, 0, sizeof(record));
	record.head.hash = (struct op_hash){ { number, 7 } };
	record.head.form = OP_CONTEXT_CUSTOM;
	record.head.bytes = sizeof(record.label);
	record.label.key_len = (uint8_t)strlen(key);
	memcpy(record.label.key, key, strlen(key));
	record.label.value_len = 8;
	(void)snprintf(record.label.value, sizeof(record.label.value), "%08x", number);
	CHECK_OK(op_trace_contexts_announce(c, &record, sizeof(record)));
}

static void announce(struct op_trace_contexts *c, uint32_t number)
{
	announce_key(c, number, "key");
}

/* A sample of @program whose labels are set @number. Returns how many it has then. */
static uint32_t apply(struct op_trace_contexts *c, struct op_program *program,
		      uint32_t number, struct op_window *window)
{
	const struct op_thread_context context = { .labels = { number, 7 } };
	struct op_window_sample sample = { 0 };

	CHECK(op_trace_contexts_apply(c, program, &context, window, &sample));
	return sample.labels.len;
}

static void test_lost_announcement(void)
{
	_cleanup_(op_window_freep) struct op_window *window = NULL;
	const struct op_window_config config = { .period_ns = 1 };
	const struct op_thread_context context = { .labels = { 1, 7 } };
	struct op_window_sample sample = { 0 };
	struct op_trace_contexts c = { 0 };

	CHECK_OK(op_window_new(&config, &window));
	CHECK(!op_trace_contexts_apply(&c, NULL, &context, window, &sample));
	CHECK_INT(c.lost, 1);
	CHECK_INT(sample.labels.len, 0);
	announce(&c, 1);
	CHECK_INT(apply(&c, NULL, 1, window), 1);
	/* Another that begins with the same word is not taken for it. */
	sample = (struct op_window_sample){ 0 };
	CHECK(!op_trace_contexts_apply(&c, NULL,
				       &(struct op_thread_context){ .labels = { 1, 8 } },
				       window, &sample));
	CHECK_INT(c.lost, 2);
	op_trace_contexts_deinit(&c);
}

/* A program with another set for each of its samples has some of them; others have theirs. */
static void test_limit_of_a_program(void)
{
	_cleanup_(op_window_freep) struct op_window *window = NULL;
	const struct op_window_config config = { .period_ns = 1 };
	struct op_program greedy = { 0 };
	struct op_program modest = { 0 };
	struct op_trace_contexts c = { 0 };
	uint32_t with = 0;
	uint32_t i;

	CHECK_OK(op_window_new(&config, &window));
	for (i = 1; i <= OP_PROGRAM_LABELS_MAX + 100; i++) {
		announce(&c, i);
		with += apply(&c, &greedy, i, window);
	}
	CHECK_INT(with, OP_PROGRAM_LABELS_MAX);
	CHECK_INT(c.cut, 100);
	CHECK_INT(apply(&c, &greedy, 1, window), 1); /* one that it has already */
	announce(&c, i);
	CHECK_INT(apply(&c, &modest, i, window), 1);
	op_trace_contexts_turn(&c);
	op_window_reset(window);
	CHECK_INT(apply(&c, &greedy, i, window), 1); /* in another window */
	CHECK_INT(c.lost, 0);
	op_trace_contexts_deinit(&c);
}

/* A container must not be able to send its samples as another's. */
static void test_observed_keys_are_no_labels(void)
{
	static const char *const keys[] = {
		"k8s.namespace.name", "container.id", "process.pid",	 "host.name",
		"off_cpu.reason",     "lock.type",    "waker.thread.id",
	};
	static const char *const others[] = { "k8", "process.kind", "off_cpu.reasons" };
	_cleanup_(op_window_freep) struct op_window *window = NULL;
	const struct op_window_config config = { .period_ns = 1 };
	struct op_trace_contexts c = { 0 };
	uint32_t number = 0;
	size_t i;

	CHECK_OK(op_window_new(&config, &window));
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		announce_key(&c, ++number, keys[i]);
		CHECK_INT(apply(&c, NULL, number, window), 0);
	}
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		announce_key(&c, ++number, others[i]);
		CHECK_INT(apply(&c, NULL, number, window), 1);
	}
	op_trace_contexts_deinit(&c);
}

TEST_MAIN({ "observed", test_observed_keys_are_no_labels },
	  { "lost", test_lost_announcement }, { "limit", test_limit_of_a_program })
