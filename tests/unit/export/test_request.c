/* SPDX-License-Identifier: Apache-2.0 */
/* The accounting rule: which samples count as exported, pending and dropped, and when. */
#include "test.h"
#include "tools.h"

#include "export/exporter.h"

enum {
	MIN_BYTES = 64 << 10, /* of max_request_bytes */
};

struct taker {
	int answer;
	uint64_t calls;
	uint64_t samples;
	size_t last_len;
	char last[16];
};

static int take(void *userdata, const void *request, size_t len, uint64_t samples)
{
	struct taker *t = userdata;

	t->calls++;
	t->samples += samples;
	t->last_len = len;
	memcpy(t->last, request, len < sizeof(t->last) ? len : sizeof(t->last));
	return t->answer;
}

static void add(struct op_exporters *x, struct taker *t, uint64_t max)
{
	struct otelprof_callback_config config;

	otelprof_callback_config_init(&config, sizeof(config));
	config.fn = take;
	config.userdata = t;
	config.max_request_bytes = max;
	CHECK_OK(op_exporters_add_callback(x, &config));
}

static void submit(struct op_exporters *x, const char *text, uint64_t samples)
{
	char *bytes = strdup(text);

	CHECK(bytes);
	CHECK_OK(op_exporters_submit(x, bytes, strlen(text), samples));
}

static void test_no_exporter_is_nowhere(void)
{
	_cleanup_(op_exporters_freep) struct op_exporters *x = NULL;
	struct op_exporters_stats st;

	CHECK_OK(op_exporters_new(NULL, &x));
	CHECK_INT(op_exporters_len(x), 0);
	CHECK_INT(op_exporters_max_request(x), 4000000);
	submit(x, "abc", 7);
	op_exporters_get_stats(x, &st);
	CHECK_INT(st.samples_dropped[OP_DROP_NOWHERE], 7);
	CHECK_INT(st.samples_pending, 0);
	CHECK_INT(st.samples_exported, 0);
}

static void test_callback_gets_the_bytes(void)
{
	_cleanup_(op_exporters_freep) struct op_exporters *x = NULL;
	struct op_exporters_stats st;
	struct taker t = { 0 };

	CHECK_OK(op_exporters_new(NULL, &x));
	add(x, &t, 0);
	submit(x, "hello", 3);
	CHECK_INT(t.calls, 1);
	CHECK_INT(t.samples, 3);
	CHECK_INT(t.last_len, 5);
	CHECK(!memcmp(t.last, "hello", 5));
	CHECK_INT(op_exporters_flush(x, 0, 0), 0);
	op_exporters_get_stats(x, &st);
	CHECK_INT(st.samples_exported, 3);
	CHECK_INT(st.samples_pending, 0);
	CHECK_INT(st.requests_sent, 1);
	CHECK_INT(st.bytes_sent, 5);
	CHECK_INT(st.bytes, 0); /* it is gone */
}

static void test_one_taker_is_enough(void)
{
	_cleanup_(op_exporters_freep) struct op_exporters *x = NULL;
	struct op_exporters_stats st;
	struct taker no = { .answer = -EIO };
	struct taker yes = { 0 };

	CHECK_OK(op_exporters_new(NULL, &x));
	add(x, &no, 0);
	add(x, &yes, 0);
	add(x, &no, 0);
	submit(x, "hello", 11);
	CHECK_INT(no.calls, 2);
	CHECK_INT(yes.calls, 1);
	op_exporters_get_stats(x, &st);
	CHECK_INT(st.samples_exported, 11);
	CHECK_INT(st.samples_dropped[OP_DROP_EXPORTER], 0);
	CHECK_INT(st.samples_pending, 0);
	CHECK_INT(st.requests_sent, 1);
}

static void test_the_last_reason_counts(void)
{
	_cleanup_(op_exporters_freep) struct op_exporters *x = NULL;
	struct op_exporters_stats st;
	struct taker no = { .answer = -EIO };
	struct taker small = { 0 };
	char big[MIN_BYTES + 2];

	memset(big, 'x', sizeof(big));
	big[MIN_BYTES + 1] = 0;
	CHECK_OK(op_exporters_new(NULL, &x));
	add(x, &no, 0);
	add(x, &small, MIN_BYTES);
	CHECK_INT(op_exporters_max_request(x), MIN_BYTES);
	submit(x, big, 5);
	op_exporters_get_stats(x, &st);
	CHECK_INT(small.calls, 0);
	CHECK_INT(st.samples_dropped[OP_DROP_ENCODE], 5);
	CHECK_INT(st.samples_dropped[OP_DROP_EXPORTER], 0);
	big[MIN_BYTES] = 0;
	submit(x, big, 2);
	op_exporters_get_stats(x, &st);
	CHECK_INT(st.samples_exported, 2);
	CHECK_INT(st.samples_pending, 0);
}

static void test_bad_config_is_refused(void)
{
	_cleanup_(op_exporters_freep) struct op_exporters *x = NULL;
	struct op_log log = { 0 };
	struct otelprof_callback_config config;

	CHECK_OK(op_exporters_new(&log, &x));
	otelprof_callback_config_init(&config, sizeof(config));
	CHECK_INT(op_exporters_add_callback(x, &config), -EINVAL);
	CHECK(strstr(log.message, "fn"));
	config.fn = take;
	config.max_request_bytes = (UINT64_C(64) << 20) + 1;
	CHECK_INT(op_exporters_add_callback(x, &config), -EINVAL);
	CHECK(strstr(log.message, "max_request_bytes"));
	config.max_request_bytes = MIN_BYTES - 1;
	CHECK_INT(op_exporters_add_callback(x, &config), -EINVAL);
	CHECK(strstr(log.message, "max_request_bytes"));
	CHECK_INT(op_exporters_len(x), 0);
}

/* Two exporters, of which one refuses: what became of a sample is another thing for each. */
static void test_each_exporter_has_its_own_account(void)
{
	_cleanup_(op_exporters_freep) struct op_exporters *x = NULL;
	struct otelprof_callback_config config;
	struct taker takes = { 0 };
	struct taker refuses = { .answer = -EIO };
	struct op_account_stats one;
	struct op_exporters_stats st;
	int first;
	int second;

	CHECK_OK(op_exporters_new(NULL, &x));
	otelprof_callback_config_init(&config, sizeof(config));
	config.fn = take;
	config.userdata = &takes;
	first = op_exporters_add_callback(x, &config);
	config.userdata = &refuses;
	second = op_exporters_add_callback(x, &config);
	CHECK_INT(first, 1);
	CHECK_INT(second, 2);
	submit(x, "abc", 7);
	CHECK_OK(op_exporters_get_one(x, 1, &one));
	CHECK_INT(one.samples_exported, 7);
	CHECK_INT(one.samples_dropped, 0);
	CHECK_INT(one.samples_pending, 0);
	CHECK_INT(one.requests_sent, 1);
	CHECK_INT(one.bytes_sent, 3);
	CHECK_OK(op_exporters_get_one(x, 2, &one));
	CHECK_INT(one.samples_exported, 0);
	CHECK_INT(one.samples_dropped, 7);
	CHECK_INT(one.requests_sent, 0);

	CHECK_OK(op_exporters_remove(x, 1));
	CHECK_INT(op_exporters_remove(x, 1), -ENOENT);
	CHECK_INT(op_exporters_get_one(x, 1, &one), -ENOENT);
	CHECK_INT(op_exporters_len(x), 1);
	submit(x, "de", 5);
	CHECK_INT(takes.calls, 1);
	CHECK_INT(refuses.calls, 2);
	op_exporters_get_stats(x, &st);
	CHECK_INT(st.samples_exported, 7);
	CHECK_INT(st.samples_dropped[OP_DROP_EXPORTER], 5);
	CHECK_INT(st.samples_pending, 0);
	/* A number is not given twice. */
	CHECK_INT(op_exporters_add_callback(x, &config), 3);
}

/* Adds exporters while the lock is lent, once. */
struct adder {
	struct op_exporters *x;
	bool on;
};

static void add_file(struct op_exporters *x, const char *name)
{
	struct otelprof_file_config config;

	otelprof_file_config_init(&config, sizeof(config));
	config.path = tools_path(name);
	CHECK(op_exporters_add_file(x, &config) > 0);
}

static void add_many(void *data)
{
	struct adder *a = data;
	char name[16];
	int i;

	if (!a->on)
		return;
	a->on = false;
	for (i = 0; i < 64; i++) {
		(void)snprintf(name, sizeof(name), "%d.otlp", i);
		add_file(a->x, name);
	}
}

/* What is there when it begins is ended, whoever comes meanwhile (run with sanitizers). */
static void test_others_come_while_it_is_abandoned(void)
{
	_cleanup_(op_exporters_freep) struct op_exporters *x = NULL;
	struct op_exporters_lock lock = { .leave = add_many };
	struct adder a = { 0 };

	CHECK_OK(op_exporters_new(NULL, &x));
	a.x = x;
	lock.owner = &a;
	op_exporters_set_lock(x, &lock);
	add_file(x, "first.otlp");
	a.on = true;
	op_exporters_abandon(x);
	CHECK(!a.on);
	CHECK_INT(op_exporters_len(x), 65);
}

TEST_MAIN({ "each_exporter_has_its_own_account", test_each_exporter_has_its_own_account },
	  { "no_exporter_is_nowhere", test_no_exporter_is_nowhere },
	  { "callback_gets_the_bytes", test_callback_gets_the_bytes },
	  { "one_taker_is_enough", test_one_taker_is_enough },
	  { "the_last_reason_counts", test_the_last_reason_counts },
	  { "bad_config_is_refused", test_bad_config_is_refused },
	  { "others_come", test_others_come_while_it_is_abandoned })
