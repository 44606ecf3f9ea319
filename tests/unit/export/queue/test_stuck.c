/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A disk that does not answer: neither a request nor the end waits for it past the deadlines,
 * and what a thread that is left behind uses stays as long as it needs it. The disk is stuck
 * where this program's openat(2), in place of libc's, waits.
 */
#include "rig.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "export/sink/thread.h"

/* A call that waits until the thread counts as stuck takes longer. */
static const uint64_t PROMPT_NS = (OP_SINK_THREAD_STUCK_MS - 1000) * UINT64_C(1000000);

/* What openat(2) waits for. */
enum stuck {
	NOTHING,
	OPENS,
	WRITES,
	READS,
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum stuck stuck;
	size_t waiting;
	pid_t opener; /* of the directory, who reads its files */
} disk = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static char root[] = "/tmp/otelprof-stuck-XXXXXX";

static bool ends_with(const char *name, const char *suffix)
{
	size_t n = strlen(name);
	size_t m = strlen(suffix);

	return n > m && !strcmp(name + n - m, suffix);
}

static void wait_where_stuck(const char *name)
{
	enum stuck kind = NOTHING;

	(void)pthread_mutex_lock(&disk.lock);
	if (ends_with(name, ".tmp"))
		kind = WRITES;
	else if (ends_with(name, ".request") && disk.opener != gettid())
		kind = READS;
	else if (!strcmp(name, "lock"))
		kind = OPENS;
	if (kind == OPENS)
		disk.opener = gettid();
	while (kind != NOTHING && disk.stuck == kind) {
		disk.waiting++;
		(void)pthread_cond_broadcast(&disk.changed);
		(void)pthread_cond_wait(&disk.changed, &disk.lock);
		disk.waiting--;
	}
	(void)pthread_mutex_unlock(&disk.lock);
}

int openat(int dir, const char *name, int flags, ...)
{
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if (flags & O_CREAT)
		mode = va_arg(ap, mode_t);
	va_end(ap);
	wait_where_stuck(name);
	return (int)syscall(SYS_openat, dir, name, flags, mode);
}

static void stick(enum stuck stuck)
{
	CHECK(!pthread_mutex_lock(&disk.lock));
	disk.stuck = stuck;
	CHECK(!pthread_cond_broadcast(&disk.changed));
	CHECK(!pthread_mutex_unlock(&disk.lock));
}

static void wait_until_stuck(void)
{
	CHECK(!pthread_mutex_lock(&disk.lock));
	while (!disk.waiting)
		CHECK(!pthread_cond_wait(&disk.changed, &disk.lock));
	CHECK(!pthread_mutex_unlock(&disk.lock));
}

static struct op_export_settings spilling(const char *name)
{
	static char path[64];
	struct op_export_settings s = quick();

	(void)snprintf(path, sizeof(path), "%s/%s", root, name);
	s.endpoint.id = (char *)(uintptr_t) "grpc://host:1";
	s.spill_dir = path;
	s.spill_bytes = 1 << 20;
	s.queue_bytes = 1000;
	s.retry_elapsed_ms = 0;
	return s;
}

/* Files below the only directory in @dir whose names end with @suffix. */
static size_t count_files(const char *dir, const char *suffix)
{
	char command[256];
	_cleanup_free_ char *line = NULL;
	size_t cap = 0;
	size_t n = 0;
	FILE *f;

	(void)snprintf(command, sizeof(command), "find %s -name '*%s'", dir, suffix);
	f = popen(command, "r");
	CHECK(f);
	while (getline(&line, &cap, f) >= 0)
		n++;
	CHECK_INT(pclose(f), 0);
	return n;
}

/* The end, with a disk or without one. Returns the seconds that it took. */
static double end(struct rig *g)
{
	uint64_t begin = op_clock_monotonic_ns();

	g->sink->ops->free(g->sink);
	return (double)(op_clock_monotonic_ns() - begin) / OP_NS_PER_S;
}

/* The thread that was left behind comes back, and frees what it used. */
static void come_back(struct rig *g)
{
	unsigned int i;

	stick(NOTHING);
	for (i = 0; i < 5000 && !__atomic_load_n(&g->fake.closed, __ATOMIC_ACQUIRE); i++)
		(void)usleep(1000);
	CHECK(g->fake.closed);
	(void)usleep(100000);
}

static void check_end(struct rig *g, double seconds)
{
	/* not at once: a disk may be slow */
	CHECK(seconds > OP_SINK_THREAD_STUCK_MS / 1000.0 - 1);
	CHECK(seconds < 2 * OP_SINK_THREAD_STUCK_MS / 1000.0);
	op_ledger_get_stats(g->base.ledger, &g->stats);
	CHECK_INT(g->stats.samples_pending, 0);
}

static void test_a_write_that_never_ends(void)
{
	const struct op_transport_result away = answer(OP_GRPC_UNAVAILABLE, 60000);
	const struct op_export_settings s = spilling("write");
	uint64_t begin;
	struct rig g;

	rig_up(&g, &s, &away, 1);
	submit(&g, "a", 1);
	stick(WRITES);
	begin = op_clock_monotonic_ns();
	submit(&g, "b", 2);
	wait_until_stuck();
	submit(&g, "c", 4);
	submit(&g, "d", 8);
	/* A poll waits for a disk once, 200 ms. */
	CHECK(op_clock_monotonic_ns() - begin < PROMPT_NS);
	check_end(&g, end(&g));
	CHECK_INT(g.stats.samples_spilled, 1);
	CHECK_INT(g.stats.samples_dropped[OP_DROP_GIVEN_UP], 14);
	CHECK(said(&g, "the disk does not answer"));
	CHECK(said(&g, "14 samples"));
	come_back(&g);
	/* What counts as dropped is not sent by the next run. */
	CHECK_INT(count_files(s.spill_dir, ".request"), 1);
	CHECK_INT(count_files(s.spill_dir, ".tmp"), 0);
	rig_clear(&g);
}

/* The sending thread reads a file back. */
static void test_a_read_that_never_ends(void)
{
	const struct op_transport_result script[] = {
		answer(OP_GRPC_UNAVAILABLE, 60000),
		answer(OP_GRPC_OK, -1),
	};
	const struct op_export_settings s = spilling("read");
	uint64_t begin;
	struct rig g;

	rig_up(&g, &s, script, 1);
	submit(&g, "a", 1);
	submit(&g, "b", 2);
	(void)end(&g);
	rig_clear(&g);

	stick(READS);
	rig_up(&g, &s, script + 1, 1);
	wait_until_stuck();
	begin = op_clock_monotonic_ns();
	submit(&g, "c", 4);
	CHECK(op_clock_monotonic_ns() - begin < PROMPT_NS);
	check_end(&g, end(&g));
	CHECK_INT(g.stats.samples_spilled, 7);
	CHECK(said(&g, "left behind"));
	come_back(&g);
	CHECK_INT(count_files(s.spill_dir, ".request"), 3);
	rig_clear(&g);
}

/* A disk that does not answer is told of by the call that adds the exporter. */
static void test_an_open_that_never_ends(void)
{
	const struct op_transport_result away = answer(OP_GRPC_UNAVAILABLE, 60000);
	const struct op_export_settings s = quick();
	struct op_export_settings wanted;
	struct op_sink *sink = NULL;
	struct op_log log = { 0 };
	uint64_t begin;
	struct rig g;
	int err;

	rig_up(&g, &s, &away, 1);
	g.base.log = &log;
	stick(OPENS);
	begin = op_clock_monotonic_ns();
	wanted = spilling("open");
	CHECK_INT(op_delivery_new(&g.base, &wanted, &fake_ops, &g.fake, &sink),
		  -ETIMEDOUT);
	CHECK(op_clock_monotonic_ns() - begin <
	      2 * OP_SINK_THREAD_STUCK_MS * (uint64_t)OP_NS_PER_MS);
	CHECK(strstr(log.message, "the disk does not answer"));
	CHECK(strstr(log.message, wanted.spill_dir));
	/* The thread comes back, and leaves the directory to others. */
	stick(NOTHING);
	do {
		wanted = spilling("open");
		err = op_delivery_new(&g.base, &wanted, &fake_ops, &g.fake, &sink);
	} while (err == -EBUSY &&
		 op_clock_monotonic_ns() - begin < 60 * (uint64_t)OP_NS_PER_S);
	CHECK_OK(err);
	sink->ops->free(sink);
	/* What is refused is refused by the call. */
	wanted = spilling("open");
	CHECK(!chmod(wanted.spill_dir, 0777));
	CHECK_INT(op_delivery_new(&g.base, &wanted, &fake_ops, &g.fake, &sink), -EPERM);
	CHECK(strstr(log.message, "others may write"));
	op_log_deinit(&log);
	rig_down(&g);
}

static void test_set_up(void)
{
	CHECK(mkdtemp(root));
}

static void test_clean_up(void)
{
	char command[64];

	(void)snprintf(command, sizeof(command), "rm -r %s", root);
	CHECK_INT(system(command), 0);
}

TEST_MAIN({ "set_up", test_set_up },
	  { "a_write_that_never_ends", test_a_write_that_never_ends },
	  { "a_read_that_never_ends", test_a_read_that_never_ends },
	  { "an_open_that_never_ends", test_an_open_that_never_ends },
	  { "clean_up", test_clean_up })
