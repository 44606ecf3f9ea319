/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Out of memory in the exporters. An exporter with a spill directory, whose destination
 * does not listen, lives again and again with the n-th allocation failing. Every run ends
 * with 0 or a negative code, leaks nothing (under ASan) and closes its accounts. The next
 * run finds what a run left in the directory. The same with a file exporter.
 */
#include <stdbool.h>
#include <unistd.h>

#include "fail_alloc.h"
#include "test.h"

#include "export/exporter.h"
#include "otelprof/error.h"

enum {
	LIVES_MAX = 500,
	REQUESTS = 3,
	SAMPLES = 5,
	REQUEST_BYTES = 16 << 10,
	FLUSH_MS = 10000,
};

static char dir[] = "/tmp/otelprof-oom-XXXXXX";

static int add(struct op_exporters *x, bool http)
{
	struct otelprof_otlp_config c;

	otelprof_otlp_config_init(&c, sizeof(c));
	c.protocol = http ? OTELPROF_PROTOCOL_HTTP : OTELPROF_PROTOCOL_GRPC;
	c.endpoint = "http://127.0.0.1:1";
	c.spill_dir = dir;
	/* Room for a few files: they are there for the lives to come. */
	c.max_request_bytes = 64 << 10;
	c.spill_bytes = 80 << 10;
	return op_exporters_add_otlp(x, &c);
}

static void submit(struct op_exporters *x)
{
	/* Not one of the allocations that fail: it is the caller's. */
	char text[REQUEST_BYTES];
	char *bytes;

	memset(text, 'r', sizeof(text));
	text[REQUEST_BYTES - 1] = 0;
	bytes = __real_strdup(text);
	CHECK(bytes);
	(void)op_exporters_submit(x, bytes, strlen(bytes), SAMPLES);
}

static void check_closed(struct op_exporters *x, uint64_t submitted)
{
	struct op_exporters_stats s;
	uint64_t dropped = 0;
	size_t i;

	op_exporters_get_stats(x, &s);
	for (i = 0; i < OP_DROPS; i++)
		dropped += s.samples_dropped[i];
	CHECK_INT(s.samples_pending, 0);
	CHECK_INT(s.samples_exported, 0);
	CHECK_INT(submitted + s.samples_restored, s.samples_spilled + dropped);
}

static int live(long n, bool http)
{
	struct op_exporters *x = NULL;
	struct op_log log = { 0 };
	int i;
	int r;

	failed = false;
	fail_after = n;
	r = op_exporters_new(&log, &x);
	if (r == 0) {
		r = add(x, http);
		for (i = 0; i < REQUESTS; i++)
			submit(x);
		(void)op_exporters_flush(x, 0, 0);
		op_exporters_abandon(x);
		fail_after = -1;
		check_closed(x, REQUESTS * SAMPLES);
		op_exporters_free(x);
	}
	fail_after = -1;
	op_log_deinit(&log);
	return r;
}

static void sweep(bool http)
{
	long n;
	int r = live(-1, http);

	if (r == -OTELPROF_E_MODULE)
		SKIP("the module is not built");
	CHECK_OK(r);
	for (n = 0; n < LIVES_MAX; n++) {
		r = live(n, http);
		if (!failed)
			break;
		if (r < 0 && r != -ENOMEM && r != -OTELPROF_E_MODULE)
			TEST_FAIL("allocation %ld failed and the call said %d", n, r);
	}
	printf("%ld lives\n", n);
	CHECK(n > 10 && n < LIVES_MAX);
}

static void test_every_allocation_may_fail(void)
{
	char command[64];

	CHECK(mkdtemp(dir));
	sweep(true);
	sweep(false);
	(void)snprintf(command, sizeof(command), "rm -r %s", dir);
	CHECK_INT(system(command), 0);
}

/* Returns whether an allocation failed. */
static bool live_of_file(long n, const char *path, uint32_t format)
{
	struct op_exporters *x = NULL;
	struct op_exporters_stats s;
	struct otelprof_file_config c;
	struct op_log log = { 0 };
	int i;
	int r;

	otelprof_file_config_init(&c, sizeof(c));
	c.path = path;
	c.format = format;
	failed = false;
	fail_after = n;
	r = op_exporters_new(&log, &x);
	if (r == 0) {
		r = op_exporters_add_file(x, &c);
		for (i = 0; i < REQUESTS; i++)
			(void)op_exporters_submit(x, __real_strdup(""), 0, SAMPLES);
		(void)op_exporters_flush(x, 0, FLUSH_MS);
		op_exporters_abandon(x);
		fail_after = -1;
		op_exporters_get_stats(x, &s);
		CHECK_INT(s.samples_pending, 0);
		for (i = 0; i < OP_DROPS; i++)
			s.samples_exported += s.samples_dropped[i];
		CHECK_INT(s.samples_exported, REQUESTS * SAMPLES);
		op_exporters_free(x);
	}
	fail_after = -1;
	op_log_deinit(&log);
	if (r < 0 && r != -ENOMEM)
		TEST_FAIL("allocation %ld failed and the call said %d", n, r);
	return failed;
}

static void sweep_files(const char *path, uint32_t format)
{
	long n;

	for (n = 0; n < LIVES_MAX; n++)
		if (!live_of_file(n, path, format))
			break;
	printf("%ld lives of a file\n", n);
	CHECK(n > 10 && n < LIVES_MAX);
}

static void test_those_of_a_file(void)
{
	char path[] = "/tmp/otelprof-oom-file-XXXXXX";
	int fd = mkstemp(path);

	CHECK(fd >= 0 && !close(fd));
	sweep_files(path, OTELPROF_FORMAT_OTLP);
	sweep_files(path, OTELPROF_FORMAT_HTML);
	sweep_files("/dev/null", OTELPROF_FORMAT_OTLP);
	CHECK(!unlink(path));
}

TEST_MAIN({ "those_of_a_file", test_those_of_a_file },
	  { "every_allocation_may_fail", test_every_allocation_may_fail })
