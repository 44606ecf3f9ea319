/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The disk of a transport's module, or of a certificate, does not answer: the call that adds the
 * exporter ends with a sentence, and goes through once the disk is back. A FIFO that nobody writes
 * to stands for such a disk.
 */
#include "test.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/macros.h"
#include "export/exporter.h"
#include "export/sink/thread.h"
#include "otelprof/error.h"

enum {
	COME_BACK_US = 300000,
};

static char root[] = "/tmp/otelprof-opening-XXXXXX";
static char pem[64];
static char module[64];

/* An exporter that cannot be added now. */
struct rig {
	struct op_exporters *x;
	struct op_log log;
	struct otelprof_otlp_config config;
	uint64_t took_ms;
	int result;
};

static void rig_up(struct rig *g)
{
	memset(g, 0, sizeof(*g));
	CHECK_OK(op_exporters_new(&g->log, &g->x));
	otelprof_otlp_config_init(&g->config, sizeof(g->config));
	g->config.protocol = OTELPROF_PROTOCOL_HTTP;
}

static void rig_down(struct rig *g)
{
	op_exporters_free(g->x);
	op_log_deinit(&g->log);
}

static void *add(void *arg)
{
	struct rig *g = arg;
	uint64_t begin = op_clock_monotonic_ns();

	g->result = op_exporters_add_otlp(g->x, &g->config);
	g->took_ms = (op_clock_monotonic_ns() - begin) / OP_NS_PER_MS;
	return NULL;
}

static void check_late(const struct rig *g, const char *name)
{
	CHECK_INT(g->result, -ETIMEDOUT);
	/* not at once: a disk may be slow */
	CHECK(g->took_ms > OP_SINK_THREAD_STUCK_MS - 1000);
	CHECK(g->took_ms < 2 * OP_SINK_THREAD_STUCK_MS);
	CHECK(strstr(g->log.message, name));
	CHECK(strstr(g->log.message, "does not answer"));
}

/* Put a file in place of the FIFO, which ends for its reader. */
static void answer(const char *path)
{
	int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_OK(unlink(path));
	CHECK_OK(close(fd));
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	CHECK_OK(close(fd));
}

static void test_the_end_of_a_wait(void)
{
	struct rig of_pem;
	struct rig of_module;
	pthread_t thread;

	CHECK(mkdtemp(root));
	(void)snprintf(pem, sizeof(pem), "%s/ca.pem", root);
	(void)snprintf(module, sizeof(module), "%s/libotelprof-http.so", root);
	CHECK_OK(mkfifo(pem, 0600));
	CHECK_OK(mkfifo(module, 0600));
	CHECK_OK(setenv("OTELPROF_MODULE_DIR", root, 1));
	rig_up(&of_pem);
	of_pem.config.endpoint = "https://127.0.0.1:1";
	of_pem.config.ca_file = pem;
	rig_up(&of_module);
	of_module.config.endpoint = "http://127.0.0.1:1";

	CHECK(!pthread_create(&thread, NULL, add, &of_pem));
	(void)add(&of_module);
	CHECK(!pthread_join(thread, NULL));
	check_late(&of_pem, pem);
	check_late(&of_module, "libotelprof-http.so");

	answer(pem);
	answer(module);
	(void)usleep(COME_BACK_US);
	(void)add(&of_pem);
	CHECK_INT(of_pem.result, -EINVAL);
	CHECK(strstr(of_pem.log.message, "no certificate"));
	/* An empty file is no module; the installed one is taken, if it is there. */
	(void)add(&of_module);
	CHECK(of_module.result == 1 || of_module.result == -OTELPROF_E_MODULE);
	rig_down(&of_pem);
	rig_down(&of_module);
	CHECK_OK(unlink(pem));
	CHECK_OK(unlink(module));
	CHECK_OK(rmdir(root));
}

TEST_MAIN({ "the_end_of_a_wait", test_the_end_of_a_wait })
