/* SPDX-License-Identifier: Apache-2.0 */
/* If a file cannot be written, a flush ends, and tries the file of a format once. */
#include "test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "api/handle.h"
#include "export/exporter.h"

enum {
	ALARM_S = 300,
	SOME_MS = 2 * ALARM_S * 1000, /* a flush that waits so long is killed before */
};

static int lines;

static void count_line(void *userdata, int level, const char *message)
{
	lines++;
}

/* A handle that has what a flush needs. */
static void begin(struct otelprof *p, const char *path)
{
	struct otelprof_file_config config;

	lines = 0;
	p->maker.pid = getpid();
	p->log.fn = count_line;
	p->log.level = OP_LOG_WARNING;
	CHECK_OK(op_handle_init_waits(p));
	CHECK_OK(op_exporters_new(&p->log, &p->exporters));
	otelprof_file_config_init(&config, sizeof(config));
	config.path = path;
	config.format = OTELPROF_FORMAT_HTML;
	CHECK_OK(op_exporters_add_file(p->exporters, &config));
}

static void end(struct otelprof *p)
{
	op_exporters_free(p->exporters);
	/* with the lock, as otelprof_free() has it */
	(void)pthread_mutex_lock(&p->waits.lock);
	op_handle_deinit_waits(p, false);
}

static void submit(struct otelprof *p, uint64_t samples)
{
	char *bytes = strdup(""); /* a request without profiles */

	CHECK(bytes);
	CHECK_OK(op_exporters_submit(p->exporters, bytes, 0, samples));
}

static void check_account(struct otelprof *p, uint64_t pending, uint64_t exported)
{
	struct op_exporters_stats st;

	op_exporters_get_stats(p->exporters, &st);
	CHECK_INT(st.samples_pending, pending);
	CHECK_INT(st.samples_exported, exported);
}

static void check(int timeout_ms)
{
	char dir[] = "/tmp/otelprof-flush-XXXXXX";
	struct otelprof p = { 0 };
	char path[64];

	CHECK(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/page.html", dir);
	begin(&p, path);
	submit(&p, 5);
	/* a directory has the name */
	CHECK_OK(mkdir(path, 0700));
	(void)alarm(ALARM_S);
	CHECK_INT(op_handle_flush(&p, 0, timeout_ms), -EISDIR);
	(void)alarm(0);
	CHECK_INT(lines, 1);
	check_account(&p, 5, 0);
	/* the next flush tries again, and says so again */
	submit(&p, 2);
	CHECK_INT(op_handle_flush(&p, 0, timeout_ms), -EISDIR);
	CHECK_INT(lines, 2);
	CHECK_OK(rmdir(path));
	CHECK_OK(op_handle_flush(&p, 0, timeout_ms));
	check_account(&p, 0, 7);
	end(&p);
	CHECK_OK(unlink(path));
	CHECK_OK(rmdir(dir));
}

static void test_without_end(void)
{
	check(-1);
}

static void test_for_some_time(void)
{
	check(SOME_MS);
	check(0);
}

/* What a flush could not write is tried once more at the end. */
static void test_the_end_tries_again(void)
{
	char dir[] = "/tmp/otelprof-flush-XXXXXX";
	struct otelprof p = { 0 };
	char path[64];

	CHECK(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/page.html", dir);
	begin(&p, path);
	submit(&p, 5);
	CHECK_OK(mkdir(path, 0700));
	CHECK_INT(op_handle_flush(&p, 0, 0), -EISDIR);
	CHECK_OK(rmdir(path));
	end(&p);
	CHECK_OK(unlink(path));
	CHECK_OK(rmdir(dir));
}

TEST_MAIN({ "for_some_time", test_for_some_time }, { "without_end", test_without_end },
	  { "the_end_tries_again", test_the_end_tries_again })
