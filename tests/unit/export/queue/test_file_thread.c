/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file exporter whose disk does not answer, or whose reader does not read: no call waits for
 * it past its bound, every sample is counted, and a reader that is only slow gets every byte.
 * The disk is stuck where this program's rename(2), in place of libc's, waits.
 */
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "base/macros.h"
#include "export/exporter.h"
#include "export/sink/thread.h"

enum {
	BIG = 1000000,
	HEADER = 4,
	MANY = 40, /* of these; more than a queue and a pipe take */
	SOME = 4,  /* that they do take */
	PROMPT_MS = OP_SINK_THREAD_STUCK_MS - 1000, /* one that waits takes longer */
	LATE_MS = 1000,
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool stuck;
	bool waiting;
} disk = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static char root[] = "/tmp/otelprof-writer-XXXXXX";

int rename(const char *from, const char *to)
{
	(void)pthread_mutex_lock(&disk.lock);
	while (disk.stuck) {
		disk.waiting = true;
		(void)pthread_cond_wait(&disk.changed, &disk.lock);
	}
	disk.waiting = false;
	(void)pthread_mutex_unlock(&disk.lock);
	return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

static bool no_modes; /* as on a file system that has none */

int fchmod(int fd, mode_t mode)
{
	if (no_modes) {
		errno = EPERM;
		return -1;
	}
	return (int)syscall(SYS_fchmod, fd, mode);
}

static void stick(bool stuck)
{
	CHECK(!pthread_mutex_lock(&disk.lock));
	disk.stuck = stuck;
	CHECK(!pthread_cond_broadcast(&disk.changed));
	CHECK(!pthread_mutex_unlock(&disk.lock));
}

static uint64_t now_ms(void)
{
	return op_clock_monotonic_ns() / OP_NS_PER_MS;
}

/* One exporter of a path of its own. */
struct rig {
	struct op_exporters *x;
	struct op_log log;
	char path[64];
	char said[2048];
	int reader; /* of a FIFO, or -1 */
	uint64_t submitting_ms;
};

static void on_line(void *userdata, int level, const char *message)
{
	struct rig *g = userdata;

	(void)strlcat(g->said, message, sizeof(g->said));
	(void)strlcat(g->said, "\n", sizeof(g->said));
}

static int add(struct rig *g, uint32_t format)
{
	struct otelprof_file_config config;

	otelprof_file_config_init(&config, sizeof(config));
	config.path = g->path;
	config.format = format;
	return op_exporters_add_file(g->x, &config);
}

static void rig_up(struct rig *g, const char *name)
{
	memset(g, 0, sizeof(*g));
	g->reader = -1;
	g->log.fn = on_line;
	g->log.userdata = g;
	g->log.level = OP_LOG_INFO;
	(void)snprintf(g->path, sizeof(g->path), "%s/%s", root, name);
	CHECK_OK(op_exporters_new(&g->log, &g->x));
}

/* A FIFO that is open at both ends. */
static void rig_fifo(struct rig *g, const char *name, uint32_t format)
{
	rig_up(g, name);
	CHECK(!mkfifo(g->path, 0600));
	g->reader = open(g->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	CHECK(g->reader >= 0);
	CHECK_INT(add(g, format), 1);
	CHECK_INT(fcntl(g->reader, F_SETFL, 0), 0);
}

static void rig_down(struct rig *g)
{
	op_exporters_free(g->x);
	op_log_deinit(&g->log);
	if (g->reader >= 0)
		CHECK(!close(g->reader));
	(void)unlink(g->path);
}

static unsigned char byte_of(size_t request, size_t at)
{
	return (unsigned char)(request * 7 + at / 64);
}

static void submit(struct rig *g, size_t request)
{
	unsigned char *bytes = malloc(BIG);
	uint64_t begin;
	size_t i;

	CHECK(bytes);
	for (i = 0; i < BIG; i++)
		bytes[i] = byte_of(request, i);
	begin = now_ms();
	CHECK_OK(op_exporters_submit(g->x, bytes, BIG, 1));
	g->submitting_ms += now_ms() - begin;
}

static struct op_exporters_stats stats_of(struct rig *g)
{
	struct op_exporters_stats st;

	op_exporters_get_stats(g->x, &st);
	return st;
}

static uint64_t dropped(const struct op_exporters_stats *st)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < OP_DROPS; i++)
		n += st->samples_dropped[i];
	return n;
}

static void check_bound(uint64_t began_ms)
{
	/* not at once: a disk may be slow */
	CHECK(now_ms() - began_ms > OP_SINK_THREAD_STUCK_MS - 1000);
}

/* A pager that nobody scrolls: a queue is kept, the oldest of the rest go, and all of them
 * are counted. */
static void *nobody_reads(void *arg)
{
	uint64_t begin;
	struct op_exporters_stats st;
	struct rig g;
	size_t i;

	rig_fifo(&g, "nobody", OTELPROF_FORMAT_OTLP);
	for (i = 0; i < MANY; i++)
		submit(&g, i);
	st = stats_of(&g);
	CHECK(g.submitting_ms < PROMPT_MS);
	CHECK_INT(st.samples_exported, 0);
	CHECK(st.samples_pending >= 16 && st.samples_pending <= 18);
	CHECK(st.bytes <= 18 * BIG);
	CHECK_INT(st.samples_dropped[OP_DROP_QUEUE], MANY - st.samples_pending);
	CHECK(strstr(g.said, "the queue is full"));
	begin = now_ms();
	CHECK_INT(op_exporters_flush(g.x, 0, 500), -ETIMEDOUT);
	CHECK_INT(op_exporters_flush(g.x, 0, 0), -ETIMEDOUT);
	CHECK(now_ms() - begin < PROMPT_MS);
	begin = now_ms();
	CHECK_OK(op_exporters_remove(g.x, 1));
	check_bound(begin);
	CHECK_INT(stats_of(&g).samples_dropped[OP_DROP_GIVEN_UP], st.samples_pending);
	st = stats_of(&g);
	CHECK_INT(st.samples_pending, 0);
	CHECK_INT(dropped(&st), MANY);
	CHECK(strstr(g.said, "left behind"));
	rig_down(&g);
	return NULL;
}

/* The program asks for what became of all samples, and ends. */
static void *a_disk_is_stuck(void *arg)
{
	struct op_exporters_stats st;
	uint64_t begin;
	struct rig g;

	rig_up(&g, "stuck");
	CHECK_INT(add(&g, OTELPROF_FORMAT_OTLP), 1);
	submit(&g, 0);
	begin = now_ms();
	CHECK_INT(op_exporters_flush(g.x, 0, 300), -ETIMEDOUT);
	CHECK(now_ms() - begin < PROMPT_MS);
	submit(&g, 1);
	CHECK_INT(stats_of(&g).samples_pending, 2);
	begin = now_ms();
	op_exporters_abandon(g.x);
	check_bound(begin);
	st = stats_of(&g);
	CHECK_INT(st.samples_pending, 0);
	CHECK_INT(st.samples_dropped[OP_DROP_GIVEN_UP], 2);
	/* What comes later does not wait again, and neither does the end. */
	submit(&g, 2);
	begin = now_ms();
	CHECK_INT(stats_of(&g).samples_dropped[OP_DROP_GIVEN_UP], 3);
	CHECK_OK(op_exporters_flush(g.x, 0, 0));
	op_exporters_free(g.x);
	CHECK(now_ms() - begin + g.submitting_ms < PROMPT_MS);
	op_log_deinit(&g.log);
	return NULL;
}

/* The other end of a FIFO is never opened, or a disk does not answer an open. */
static void *nobody_opens(void *arg)
{
	uint64_t begin;
	struct rig g;

	rig_up(&g, "closed");
	CHECK(!mkfifo(g.path, 0600));
	begin = now_ms();
	CHECK_INT(add(&g, OTELPROF_FORMAT_OTLP), -ETIMEDOUT);
	check_bound(begin);
	CHECK(strstr(g.log.message, g.path));
	CHECK_INT(op_exporters_len(g.x), 0);
	/* It opens when it is late: nobody writes then. */
	g.reader = open(g.path, O_RDONLY | O_CLOEXEC);
	CHECK(g.reader >= 0);
	CHECK_INT(read(g.reader, g.said, 1), 0);
	rig_down(&g);
	return NULL;
}

static size_t threads(void)
{
	_cleanup_closedir_ DIR *dir = opendir("/proc/self/task");
	struct dirent *e;
	size_t n = 0;

	CHECK(dir);
	while ((e = readdir(dir)))
		n += e->d_name[0] != '.';
	return n;
}

static void wait_for_threads(size_t wanted)
{
	int i;

	for (i = 0; i < PROMPT_MS && threads() > wanted; i++)
		(void)usleep(1000);
	CHECK_INT(threads(), wanted);
}

static void *nothing(void *data)
{
	return data;
}

/* At the same time, because each takes the ten seconds. */
static void test_the_bounds(void)
{
	void *(*const cases[])(void *) = { nobody_reads, a_disk_is_stuck, nobody_opens };
	pthread_t thread[3];
	char path[80];
	size_t before;
	size_t i;

	/* ThreadSanitizer has a thread of its own as soon as there is another. */
	CHECK(!pthread_create(&thread[0], NULL, nothing, NULL));
	CHECK(!pthread_join(thread[0], NULL));
	before = threads();
	stick(true);
	for (i = 0; i < 3; i++)
		CHECK(!pthread_create(&thread[i], NULL, cases[i], NULL));
	for (i = 0; i < 3; i++)
		CHECK(!pthread_join(thread[i], NULL));
	/* Those that were left behind come back, and free what they used. */
	stick(false);
	wait_for_threads(before);
	(void)snprintf(path, sizeof(path), "%s/stuck", root);
	(void)unlink(path);
}

struct reader {
	int fd;
	int pause_ms; /* before the first byte */
	size_t len;
	unsigned char *data;
};

static void *read_slowly(void *arg)
{
	struct reader *r = arg;
	ssize_t n;

	(void)poll(NULL, 0, r->pause_ms);
	while ((n = read(r->fd, r->data + r->len, 1 << 16)) > 0) {
		r->len += (size_t)n;
		CHECK(r->len <= (size_t)SOME * (BIG + HEADER));
		(void)usleep(2000);
	}
	return NULL;
}

static void check_all(const struct reader *r)
{
	size_t at = 0;
	size_t i;
	size_t k;

	CHECK_INT(r->len, (size_t)SOME * (BIG + HEADER));
	for (i = 0; i < SOME; i++) {
		CHECK(!memcmp(r->data + at, "\x00\x0f\x42\x40", HEADER));
		at += HEADER;
		for (k = 0; k < BIG; k++)
			if (r->data[at++] != byte_of(i, k))
				TEST_FAIL("request %zu differs at %zu", i, k);
	}
}

/* @flush: wait as long as it takes; otherwise the end does, because bytes move. */
static void check_slow_reader(bool flush)
{
	struct reader r = { .pause_ms = LATE_MS };
	struct op_exporters_stats st;
	pthread_t thread;
	struct rig g;
	size_t i;

	r.data = malloc((size_t)(SOME + 1) * (BIG + HEADER));
	CHECK(r.data);
	rig_fifo(&g, "slow", OTELPROF_FORMAT_OTLP);
	r.fd = g.reader;
	CHECK(!pthread_create(&thread, NULL, read_slowly, &r));
	for (i = 0; i < SOME; i++)
		submit(&g, i);
	if (flush) {
		CHECK_OK(op_exporters_flush(g.x, 0, -1));
		CHECK_INT(stats_of(&g).samples_exported, SOME);
	}
	CHECK_OK(op_exporters_remove(g.x, 1));
	st = stats_of(&g);
	CHECK_INT(st.samples_exported, SOME);
	CHECK_INT(dropped(&st), 0);
	CHECK(!pthread_join(thread, NULL));
	check_all(&r);
	free(r.data);
	rig_down(&g);
}

static void test_a_slow_reader_gets_all(void)
{
	check_slow_reader(true);
	check_slow_reader(false);
}

/* A page is written by the flush, and its reader comes late. */
static void test_a_page_for_a_late_reader(void)
{
	struct reader r = { .pause_ms = LATE_MS };
	pthread_t thread;
	struct rig g;

	r.data = calloc(1, (size_t)(SOME + 1) * (BIG + HEADER));
	CHECK(r.data);
	rig_fifo(&g, "page", OTELPROF_FORMAT_HTML);
	r.fd = g.reader;
	CHECK_OK(op_exporters_submit(g.x, strdup(""), 0, 3));
	CHECK(!pthread_create(&thread, NULL, read_slowly, &r));
	CHECK_OK(op_exporters_flush(g.x, 0, -1));
	CHECK_INT(stats_of(&g).samples_exported, 3);
	CHECK_OK(op_exporters_remove(g.x, 1));
	CHECK(!pthread_join(thread, NULL));
	CHECK(strstr((char *)r.data, "</html>"));
	free(r.data);
	rig_down(&g);
}

/* A burst that is larger than the queue waits for a disk that works. */
static void test_a_burst_is_not_dropped(void)
{
	struct op_exporters_stats st;
	struct stat file;
	struct rig g;
	size_t i;

	rig_up(&g, "burst");
	CHECK_INT(add(&g, OTELPROF_FORMAT_OTLP), 1);
	for (i = 0; i < MANY; i++)
		submit(&g, i);
	CHECK_OK(op_exporters_flush(g.x, 0, -1));
	st = stats_of(&g);
	CHECK_INT(st.samples_exported, MANY);
	CHECK_INT(dropped(&st), 0);
	CHECK(!stat(g.path, &file));
	CHECK_INT(file.st_size, (size_t)MANY * (BIG + HEADER));
	rig_down(&g);
}

/* The host has not ignored SIGPIPE, and must not die of a reader that went away. */
static void check_no_reader(uint32_t format, int want)
{
	sigset_t before;
	sigset_t after;
	struct rig g;

	CHECK(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
	rig_fifo(&g, "away", format);
	CHECK(!close(g.reader));
	g.reader = -1;
	CHECK(!pthread_sigmask(SIG_SETMASK, NULL, &before));
	CHECK_OK(op_exporters_submit(g.x, strdup(""), 0, 5));
	CHECK_INT(op_exporters_flush(g.x, 0, -1), want);
	/* An error of a flush comes once. */
	CHECK_OK(op_exporters_flush(g.x, 0, -1));
	CHECK_INT(stats_of(&g).samples_dropped[OP_DROP_EXPORTER], 5);
	CHECK(strstr(g.said, "Broken pipe"));
	/* A stream that is broken stays so. */
	CHECK_OK(op_exporters_submit(g.x, strdup(""), 0, 1));
	CHECK_OK(op_exporters_flush(g.x, 0, -1));
	CHECK_INT(stats_of(&g).samples_dropped[OP_DROP_EXPORTER], 6);
	CHECK(!pthread_sigmask(SIG_SETMASK, NULL, &after));
	CHECK_INT(sigismember(&after, SIGPIPE), sigismember(&before, SIGPIPE));
	CHECK(!sigpending(&after));
	CHECK_INT(sigismember(&after, SIGPIPE), 0);
	rig_down(&g);
}

static void test_a_reader_that_went_away(void)
{
	check_no_reader(OTELPROF_FORMAT_OTLP, 0);
	check_no_reader(OTELPROF_FORMAT_HTML, -EPIPE);
}

/* A child frees at once what its parent's thread is writing, and its reader sees the end
 * of file when the parent is done. */
static void test_a_fork_while_it_writes(void)
{
	int status = 0;
	struct rig g;
	pid_t pid;

	rig_fifo(&g, "fork", OTELPROF_FORMAT_OTLP);
	submit(&g, 0);
	CHECK_INT(op_exporters_flush(g.x, 0, 0), -ETIMEDOUT);
	(void)fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		uint64_t begin = now_ms();

		op_exporters_forked(g.x);
		op_exporters_free(g.x);
		_exit(now_ms() - begin > PROMPT_MS);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(!close(g.reader));
	g.reader = -1;
	CHECK_OK(op_exporters_flush(g.x, 0, -1));
	CHECK_INT(stats_of(&g).samples_dropped[OP_DROP_EXPORTER], 1);
	CHECK(strstr(g.said, "Broken pipe"));
	rig_down(&g);
}

static void test_set_up(void)
{
	CHECK(mkdtemp(root));
}

static void test_clean_up(void)
{
	CHECK(!rmdir(root));
}

/* A file that cannot be made private is none, and nothing of it stays. */
static void test_a_disk_without_modes(void)
{
	char dir[] = "/tmp/otelprof-modes-XXXXXX";
	struct rig g;

	CHECK(mkdtemp(dir));
	rig_up(&g, "modes");
	(void)snprintf(g.path, sizeof(g.path), "%s/out", dir);
	no_modes = true;
	CHECK_INT(add(&g, OTELPROF_FORMAT_OTLP), -EPERM);
	no_modes = false;
	CHECK(strstr(g.log.message, g.path));
	CHECK_OK(rmdir(dir));
	rig_down(&g);
}

TEST_MAIN({ "set_up", test_set_up }, { "the_bounds", test_the_bounds },
	  { "a_slow_reader_gets_all", test_a_slow_reader_gets_all },
	  { "a_page_for_a_late_reader", test_a_page_for_a_late_reader },
	  { "a_burst_is_not_dropped", test_a_burst_is_not_dropped },
	  { "a_reader_that_went_away", test_a_reader_that_went_away },
	  { "a_fork_while_it_writes", test_a_fork_while_it_writes },
	  { "a_disk_without_modes", test_a_disk_without_modes },
	  { "clean_up", test_clean_up })
