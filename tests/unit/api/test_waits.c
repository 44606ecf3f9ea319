/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call that adds, removes or abandons an exporter whose peer does not answer blocks no
 * other call on the handle. Each handle has a thread in such a call, while the test makes
 * other calls on all handles.
 */
#include "test.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/handle.h"
#include "base/io.h"
#include "base/macros.h"
#include "export/exporter.h"
#include "export/sink/thread.h"

enum {
	BIG = 1000000, /* more than a pipe takes */
	LOOK_US = 20000,
	LOOKS = 3,
	COME_BACK_US = 300000,
	STUCK_ONE = 1, /* the number of the first exporter */
	OTHERS = 2,    /* that are stuck beside it */
	SAMPLES = 3,
};

static char root[] = "/tmp/otelprof-waits-XXXXXX";

/* A handle, the exporter that is stuck, and the thread that waits for it. */
struct rig {
	struct otelprof p;
	char path[64];
	int reader; /* of a FIFO, or -1 */
	int others[OTHERS];
	pthread_t thread;
	int (*wait)(struct rig *g);
	int result;
	bool done;
	uint64_t took_ms;
	int looks; /* of other calls, that began and ended while it waited */
};

static uint64_t now_ms(void)
{
	return op_clock_monotonic_ns() / OP_NS_PER_MS;
}

static int add(struct rig *g, const char *path)
{
	struct otelprof_file_config config;

	otelprof_file_config_init(&config, sizeof(config));
	config.path = path;
	return otelprof_exporter_file(&g->p, &config);
}

static int add_other(struct rig *g)
{
	char path[96];

	(void)snprintf(path, sizeof(path), "%s.other", g->path);
	return add(g, path);
}

/* A FIFO without a reader, or with one that does not read. */
static void rig_up(struct rig *g, const char *name, bool read)
{
	memset(g, 0, sizeof(*g));
	g->reader = -1;
	g->p.maker.pid = getpid();
	CHECK_OK(op_handle_init_waits(&g->p));
	CHECK_OK(op_exporters_new(&g->p.log, &g->p.exporters));
	op_handle_lend_lock(&g->p);
	(void)snprintf(g->path, sizeof(g->path), "%s/%s", root, name);
	CHECK(!mkfifo(g->path, 0600));
	if (!read)
		return;
	g->reader = open(g->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	CHECK(g->reader >= 0);
	CHECK_INT(add(g, g->path), STUCK_ONE);
	CHECK_OK(op_exporters_submit(g->p.exporters, calloc(1, BIG), BIG, SAMPLES));
}

/* More of them, which the end must not wait for one after another. */
static void add_stuck(struct rig *g)
{
	char path[96];
	int i;

	for (i = 0; i < OTHERS; i++) {
		(void)snprintf(path, sizeof(path), "%s.%d", g->path, i);
		CHECK(!mkfifo(path, 0600));
		g->others[i] = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		CHECK(g->others[i] >= 0);
		CHECK_INT(add(g, path), i + 2);
	}
	CHECK_OK(op_exporters_submit(g->p.exporters, calloc(1, BIG), BIG, SAMPLES));
}

static struct op_exporters_stats stats_of(struct rig *g)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	struct op_exporters_stats st;

	CHECK_OK(op_handle_enter(&g->p, &held));
	op_exporters_get_stats(g->p.exporters, &st);
	return st;
}

static void rig_down(struct rig *g)
{
	int i;

	/* what was left behind comes back */
	if (g->reader < 0)
		g->reader = open(g->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	CHECK(g->reader >= 0);
	CHECK(!close(g->reader));
	for (i = 0; i < OTHERS; i++)
		if (g->others[i])
			CHECK(!close(g->others[i]));
	(void)usleep(COME_BACK_US);
	if (g->p.exporters) {
		CHECK_INT(stats_of(g).samples_pending, 0);
		op_exporters_free(g->p.exporters);
	}
	/* with the lock, as otelprof_free() has it */
	(void)pthread_mutex_lock(&g->p.waits.lock);
	op_handle_deinit_waits(&g->p, false);
	op_log_deinit(&g->p.log);
}

static int wait_to_add(struct rig *g)
{
	return add(g, g->path);
}

static int wait_to_remove(struct rig *g)
{
	return otelprof_exporter_remove(&g->p, STUCK_ONE, 0);
}

static int wait_to_abandon(struct rig *g)
{
	CHECK_INT(otelprof_flush(&g->p, 0), -ETIMEDOUT);
	return otelprof_abandon(&g->p);
}

static int wait_to_free(struct rig *g)
{
	op_exporters_free(g->p.exporters);
	g->p.exporters = NULL;
	return 0;
}

static void *wait_main(void *arg)
{
	struct rig *g = arg;
	uint64_t begin = now_ms();

	g->result = g->wait(g);
	g->took_ms = now_ms() - begin;
	__atomic_store_n(&g->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static void start(struct rig *g, int (*wait)(struct rig *g))
{
	g->wait = wait;
	CHECK(!pthread_create(&g->thread, NULL, wait_main, g));
}

static bool is_done(struct rig *g)
{
	return __atomic_load_n(&g->done, __ATOMIC_ACQUIRE);
}

/* What another thread may ask meanwhile. */
static void look(struct rig *g)
{
	struct otelprof_exporter_stats st;

	otelprof_exporter_stats_init(&st, sizeof(st));
	(void)otelprof_get_exporter_stats(&g->p, STUCK_ONE, &st);
	(void)stats_of(g);
	g->looks += !is_done(g);
}

static void end(struct rig *g)
{
	CHECK(!pthread_join(g->thread, NULL));
	/* not at once: a disk may be slow */
	CHECK(g->took_ms > OP_SINK_THREAD_STUCK_MS - 1000);
}

static void test_others_do_not_wait(void)
{
	struct op_exporters_stats st;
	struct rig adding;
	struct rig removing;
	struct rig abandoning;
	struct rig both;
	struct rig ending;

	CHECK(mkdtemp(root));
	rig_up(&adding, "adding", false);
	rig_up(&removing, "removing", true);
	rig_up(&abandoning, "abandoning", true);
	rig_up(&both, "both", true);
	rig_up(&ending, "ending", true);
	add_stuck(&abandoning);
	add_stuck(&ending);
	start(&ending, wait_to_free);
	start(&adding, wait_to_add);
	start(&removing, wait_to_remove);
	start(&abandoning, wait_to_abandon);
	start(&both, wait_to_abandon);
	(void)usleep(COME_BACK_US);

	/* another exporter comes first, and so has the first number */
	CHECK_INT(add_other(&adding), 1);
	/* one is removed that another thread waits for */
	CHECK_INT(otelprof_exporter_remove(&both.p, STUCK_ONE, 0), -ETIMEDOUT);
	CHECK_INT(add_other(&both), 2);
	CHECK(!is_done(&both));

	while (!is_done(&adding) || !is_done(&removing) || !is_done(&abandoning) ||
	       !is_done(&both)) {
		look(&adding);
		look(&removing);
		look(&abandoning);
		look(&both);
		(void)usleep(LOOK_US);
	}
	end(&adding);
	end(&removing);
	end(&abandoning);
	end(&both);
	end(&ending);
	CHECK(adding.looks > LOOKS && removing.looks > LOOKS && both.looks > LOOKS &&
	      abandoning.looks > LOOKS);
	/* Three that are stuck take as long as one, on a busy machine too. */
	CHECK(abandoning.took_ms < 2 * removing.took_ms);
	CHECK(ending.took_ms < 2 * removing.took_ms);
	CHECK_INT(adding.result, -ETIMEDOUT);
	CHECK(strstr(adding.p.log.message, adding.path));
	CHECK_INT(removing.result, -ETIMEDOUT);
	CHECK_OK(abandoning.result);
	CHECK_OK(both.result);

	/* what came while another thread waited is given up, and all is counted */
	CHECK_OK(op_exporters_submit(abandoning.p.exporters, calloc(1, 1), 1, SAMPLES));
	st = stats_of(&abandoning);
	CHECK_INT(st.samples_dropped[OP_DROP_GIVEN_UP], 3 * SAMPLES);
	CHECK_INT(stats_of(&removing).samples_dropped[OP_DROP_GIVEN_UP], SAMPLES);
	CHECK_INT(stats_of(&both).samples_dropped[OP_DROP_GIVEN_UP], SAMPLES);
	CHECK_INT(op_exporters_len(adding.p.exporters), 1);
	CHECK_INT(op_exporters_len(removing.p.exporters), 0);
	CHECK_INT(op_exporters_len(both.p.exporters), 1);
	rig_down(&adding);
	rig_down(&removing);
	rig_down(&abandoning);
	rig_down(&both);
	rig_down(&ending);
}

static void test_clean_up(void)
{
	char command[64];

	(void)snprintf(command, sizeof(command), "rm -r %s", root);
	CHECK_INT(system(command), 0);
}

TEST_MAIN({ "others_do_not_wait", test_others_do_not_wait },
	  { "clean_up", test_clean_up })
