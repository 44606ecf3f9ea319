/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spill directory: what waits is there after the end of a run, also after SIGKILL, and
 * goes out in the next one, oldest first; what is lost of it is counted.
 */
#include "rig.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "export/spill/spill.h"
#include "export/spill/spill_file.h"

enum {
	PATH_BYTES = 512
};

static char root[] = "/tmp/otelprof-spill-XXXXXX";

/* A directory of its own for a test, and settings that use it. */
static struct op_export_settings spilling(const char *name)
{
	static char path[64];
	struct op_export_settings s = quick();

	if (!strcmp(root + sizeof(root) - 7, "XXXXXX"))
		CHECK(mkdtemp(root));
	(void)snprintf(path, sizeof(path), "%s/%s", root, name);
	s.endpoint.id = (char *)(uintptr_t) "grpc://host:1";
	s.spill_dir = path;
	s.spill_bytes = 1 << 20;
	s.queue_bytes = 1000;
	s.retry_elapsed_ms = 0;
	return s;
}

/* The one directory that a destination made in the spill directory. */
static const char *destination(const struct op_export_settings *s)
{
	static char path[PATH_BYTES];
	_cleanup_closedir_ DIR *dir = opendir(s->spill_dir);
	struct dirent *e;

	CHECK(dir);
	path[0] = 0;
	while ((e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		CHECK(!path[0]);
		CHECK(!strncmp(e->d_name, "grpc-host-1-", strlen("grpc-host-1-")));
		(void)snprintf(path, sizeof(path), "%s/%s", s->spill_dir, e->d_name);
	}
	CHECK(path[0]);
	return path;
}

/* Files there whose names end with @suffix; the last one's path in @ret, if not NULL. */
static size_t count_files(const struct op_export_settings *s, const char *suffix,
			  char *ret)
{
	const char *path = destination(s);
	_cleanup_closedir_ DIR *dir = opendir(path);
	struct dirent *e;
	size_t n = 0;

	CHECK(dir);
	while ((e = readdir(dir))) {
		size_t len = strlen(e->d_name);

		if (len < strlen(suffix) ||
		    strcmp(e->d_name + len - strlen(suffix), suffix) != 0)
			continue;
		n++;
		if (ret)
			(void)snprintf(ret, PATH_BYTES, "%s/%s", path, e->d_name);
	}
	return n;
}

static void wait_for_files(const struct op_export_settings *s, size_t want)
{
	unsigned int i;

	for (i = 0; i < 5000 && count_files(s, ".request", NULL) != want; i++)
		(void)usleep(1000);
	CHECK_INT(count_files(s, ".request", NULL), want);
}

static uint64_t sum_of_drops(const struct op_exporters_stats *st)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < OP_DROPS; i++)
		sum += st->samples_dropped[i];
	return sum;
}

static void check_drops(struct rig *g, int reason, uint64_t samples)
{
	CHECK_INT(g->stats.samples_dropped[reason], samples);
	CHECK_INT(sum_of_drops(&g->stats), samples);
}

/* While the destination is away every request is in a file when submit() returns. */
static void test_written_before_submit_returns(void)
{
	const struct op_transport_result away = answer(OP_GRPC_UNAVAILABLE, 60000);
	const struct op_export_settings s = spilling("written");
	struct stat st;
	struct rig g;

	rig_up(&g, &s, &away, 1);
	submit(&g, "a", 1);
	CHECK_INT(count_files(&s, ".request", NULL), 1);
	submit(&g, "b", 2);
	submit(&g, "c", 4);
	CHECK_INT(count_files(&s, ".request", NULL), 3);
	/* Profiles tell much of a host. */
	CHECK(!stat(destination(&s), &st));
	CHECK_INT(st.st_mode & 0777, 0700);
	rig_down(&g);
	CHECK_INT(g.stats.samples_spilled, 7);
	check_drops(&g, 0, 0);
	CHECK_INT(count_files(&s, ".request", NULL), 3);
	CHECK_INT(count_files(&s, ".tmp", NULL), 0);
}

static void test_next_run_sends_them_in_order(void)
{
	const struct op_transport_result away = answer(OP_GRPC_UNAVAILABLE, 60000);
	const struct op_transport_result ok = answer(OP_GRPC_OK, -1);
	const struct op_export_settings s = spilling("order");
	struct rig g;

	rig_up(&g, &s, &away, 1);
	submit(&g, "a", 1);
	submit(&g, "b", 2);
	rig_down(&g);
	rig_up(&g, &s, &away, 1);
	submit(&g, "c", 4);
	rig_down(&g);
	CHECK_INT(g.stats.requests_restored, 2);
	CHECK_INT(g.stats.samples_restored, 3);
	CHECK_INT(g.stats.samples_spilled, 7);
	rig_up(&g, &s, &ok, 1);
	submit(&g, "d", 8);
	CHECK_INT(flush(&g, 5000), 0);
	CHECK_INT(g.fake.sends, 4);
	CHECK_STR(g.fake.bodies[0], "a");
	CHECK_STR(g.fake.bodies[1], "b");
	CHECK_STR(g.fake.bodies[2], "c");
	CHECK_STR(g.fake.bodies[3], "d");
	CHECK_INT(g.stats.samples_restored, 7);
	CHECK_INT(g.stats.requests_restored, 3);
	CHECK_INT(g.stats.samples_exported, 15);
	CHECK(said(&g, "3 requests with 7 samples were waiting in"));
	rig_down(&g);
	CHECK_INT(g.stats.samples_spilled, 0);
	wait_for_files(&s, 0);
}

/* The other life ends by SIGKILL, in the middle of anything. */
static void test_killed_loses_nothing_submitted(void)
{
	const struct op_transport_result away = answer(OP_GRPC_UNAVAILABLE, 60000);
	const struct op_transport_result ok = answer(OP_GRPC_OK, -1);
	const struct op_export_settings s = spilling("killed");
	int told[2];
	int status = 0;
	int life;
	char byte;
	struct rig g;
	pid_t pid;

	for (life = 0; life < 5; life++) {
		CHECK(!pipe(told));
		(void)fflush(NULL);
		pid = fork();
		CHECK(pid >= 0);
		if (!pid) {
			rig_up(&g, &s, &away, 1);
			submit(&g, "x", 10);
			submit(&g, "y", 5);
			CHECK(write(told[1], "", 1) == 1);
			for (;;)
				submit(&g, "z", 1000);
		}
		CHECK(read(told[0], &byte, 1) == 1);
		CHECK(!kill(pid, SIGKILL));
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK(!close(told[0]) && !close(told[1]));
	}
	CHECK(count_files(&s, ".request", NULL) >= 10);
	rig_up(&g, &s, &ok, 1);
	CHECK_INT(flush(&g, 20000), 0);
	CHECK(g.stats.samples_restored % 1000 == 75);
	CHECK_INT(g.stats.samples_exported, g.stats.samples_restored);
	rig_down(&g);
	check_drops(&g, 0, 0);
	wait_for_files(&s, 0);
}

static void test_two_cannot_share(void)
{
	const struct op_transport_result away = answer(OP_GRPC_UNAVAILABLE, 60000);
	const struct op_export_settings s = spilling("two");
	struct op_export_settings again = s;
	struct op_log log = { 0 };
	struct op_sink *sink = NULL;
	struct op_sink base;
	struct rig g;

	rig_up(&g, &s, &away, 1);
	submit(&g, "a", 1);
	base = g.base;
	base.log = &log;
	CHECK_INT(op_delivery_new(&base, &again, &fake_ops, &g.fake, &sink), -EBUSY);
	CHECK(strstr(log.message, "is in use by another exporter"));
	/* Another destination has a place of its own. */
	again.endpoint.id = (char *)(uintptr_t) "grpc://other:1";
	CHECK_OK(op_delivery_new(&base, &again, &fake_ops, &g.fake, &sink));
	sink->ops->free(sink);
	g.fake.closed = false;
	op_log_deinit(&log);
	rig_down(&g);
}

/* The bound is one of bytes in files; the oldest make room, also those of earlier lives. */
static void test_bound_drops_the_oldest(void)
{
	const struct op_transport_result away = answer(OP_GRPC_UNAVAILABLE, 60000);
	const struct op_transport_result ok = answer(OP_GRPC_OK, -1);
	struct op_export_settings s = spilling("bound");
	struct rig g;

	s.spill_bytes = 3 * (OP_SPILL_HEADER_BYTES + 2);
	rig_up(&g, &s, &away, 1);
	submit(&g, "aa", 1);
	CHECK_INT(flush(&g, 20), -ETIMEDOUT); /* waits for its next try: droppable */
	submit(&g, "bb", 2);
	submit(&g, "cc", 4);
	submit(&g, "dd", 8);
	CHECK(said(&g, "the spill directory is full (198 bytes)"));
	rig_down(&g);
	check_drops(&g, OP_DROP_QUEUE, 1);
	CHECK_INT(g.stats.samples_spilled, 14);
	wait_for_files(&s, 3);
	s.spill_bytes = 2 * (OP_SPILL_HEADER_BYTES + 2);
	rig_up(&g, &s, &ok, 1);
	CHECK_INT(flush(&g, 5000), 0);
	CHECK_INT(g.stats.samples_restored, 14);
	CHECK_INT(g.stats.samples_exported, 12);
	check_drops(&g, OP_DROP_QUEUE, 2);
	CHECK_STR(g.fake.bodies[0], "cc");
	CHECK_STR(g.fake.bodies[1], "dd");
	rig_down(&g);
}

/* All but the next one are in files alone, so that memory does not grow with an outage. */
static void test_waiting_takes_no_memory(void)
{
	const struct op_transport_result script[] = {
		answer(OP_GRPC_UNAVAILABLE, 300),
		answer(OP_GRPC_OK, -1),
	};
	struct op_export_settings s = spilling("memory");
	struct rig g;
	int i;

	s.queue_bytes = 10;
	rig_up(&g, &s, script, 2);
	for (i = 0; i < 40; i++)
		submit(&g, "12345", 1);
	CHECK_INT(flush(&g, 10000), 0);
	CHECK_INT(g.stats.samples_exported, 40);
	CHECK_INT(g.fake.sends, 41);
	CHECK_STR(g.fake.bodies[40], "12345");
	rig_down(&g);
	check_drops(&g, 0, 0);
}

static void overwrite(const char *path, long at, const char *bytes, size_t len)
{
	FILE *f = fopen(path, "r+");

	CHECK(f && !fseek(f, at, SEEK_SET) && fwrite(bytes, 1, len, f) == len);
	CHECK(!fclose(f));
}

static void set_ending(const char *path, const char *from, const char *to)
{
	char a[PATH_BYTES + 8];
	char b[PATH_BYTES + 8];

	CHECK(strlen(path) < PATH_BYTES);
	(void)stpcpy(stpcpy(a, path), from);
	(void)stpcpy(stpcpy(b, path), to);
	CHECK(!rename(a, b));
}

/* Three of six files are damaged, each in another way, and two are not ours. */
static void test_damaged_files_are_counted(void)
{
	const struct op_transport_result away = answer(OP_GRPC_UNAVAILABLE, 60000);
	const struct op_transport_result ok = answer(OP_GRPC_OK, -1);
	const struct op_export_settings s = spilling("damaged");
	static const char *const bodies[] = { "aaaa", "bbbb", "cccc", "dddd" };
	char paths[4][PATH_BYTES];
	char foreign[PATH_BYTES + 8];
	struct rig g;
	size_t i;

	for (i = 0; i < 4; i++) {
		rig_up(&g, &s, &away, 1);
		submit(&g, bodies[i], (uint64_t)1 << i);
		rig_down(&g);
		(void)count_files(&s, ".request", paths[i]);
		/* Out of sight of the next round. */
		set_ending(paths[i], "", ".hidden");
	}
	for (i = 0; i < 4; i++)
		set_ending(paths[i], ".hidden", "");
	overwrite(paths[0], 20, "X", 1);		       /* its header */
	CHECK(!truncate(paths[1], OP_SPILL_HEADER_BYTES + 3)); /* its end */
	overwrite(paths[2], OP_SPILL_HEADER_BYTES, "X", 1);    /* its request */
	(void)snprintf(foreign, sizeof(foreign), "%s/notes", destination(&s));
	CHECK(!close(open(foreign, O_CREAT | O_WRONLY, 0600)));
	(void)snprintf(foreign, sizeof(foreign), "%s.tmp", paths[0]);
	CHECK(!close(open(foreign, O_CREAT | O_WRONLY, 0600)));

	rig_up(&g, &s, &ok, 1);
	CHECK_INT(flush(&g, 5000), 0);
	CHECK_INT(g.fake.sends, 1);
	CHECK_STR(g.fake.bodies[0], "dddd");
	/* Of the first two nobody knows how many samples they had. */
	CHECK_INT(g.stats.samples_restored, 4 + 8);
	CHECK_INT(g.stats.samples_exported, 8);
	check_drops(&g, OP_DROP_SPILL, 4);
	CHECK_INT(g.stats.spill_errors, 3);
	CHECK(said(&g, "is damaged"));
	rig_down(&g);
	CHECK_INT(count_files(&s, ".bad", NULL), 3);
	CHECK_INT(count_files(&s, ".tmp", NULL), 0);
	CHECK_INT(count_files(&s, "notes", NULL), 1);
	CHECK_INT(count_files(&s, ".request", NULL), 0);
}

/* After a library was exchanged for an older one: what it cannot read is not its to take away. */
static void test_another_version_s_files_are_kept(void)
{
	const struct op_transport_result away = answer(OP_GRPC_UNAVAILABLE, 60000);
	const struct op_transport_result ok = answer(OP_GRPC_OK, -1);
	const struct op_export_settings s = spilling("version");
	static const uint32_t version = 2;
	char path[PATH_BYTES];
	struct rig g;

	rig_up(&g, &s, &away, 1);
	submit(&g, "aaaa", 3);
	rig_down(&g);
	CHECK_INT(count_files(&s, ".request", path), 1);
	overwrite(path, 8, (const char *)&version, sizeof(version));
	rig_up(&g, &s, &ok, 1);
	CHECK_INT(flush(&g, 5000), 0);
	CHECK_INT(g.fake.sends, 0);
	CHECK_INT(g.stats.samples_restored, 0);
	CHECK_INT(g.stats.spill_errors, 0);
	rig_down(&g);
	CHECK_INT(count_files(&s, ".bad", NULL), 0);
	CHECK_INT(count_files(&s, ".request", NULL), 1);
}

/* Somebody cleans up while it waits. */
static void test_deleted_file_is_counted(void)
{
	const struct op_transport_result script[] = {
		answer(OP_GRPC_UNAVAILABLE, 200),
		answer(OP_GRPC_OK, -1),
	};
	const struct op_export_settings s = spilling("deleted");
	char path[PATH_BYTES];
	struct rig g;

	rig_up(&g, &s, script, 2);
	hold(&g.fake, true);
	submit(&g, "a", 1);
	wait_for_send(&g.fake);
	CHECK_INT(count_files(&s, ".request", path), 1);
	CHECK(!unlink(path));
	submit(&g, "b", 2);
	CHECK_INT(count_files(&s, ".request", path), 1);
	CHECK(!unlink(path));
	hold(&g.fake, false);
	CHECK_INT(flush(&g, 5000), 0);
	/* The first one was in memory all the time. */
	CHECK_INT(g.stats.samples_exported, 1);
	check_drops(&g, OP_DROP_SPILL, 2);
	CHECK_INT(g.stats.spill_errors, 1);
	CHECK(said(&g, "the 2 samples in it are lost"));
	rig_down(&g);
}

/* A file that takes all the room there is. */
static void fill_disk(const char *path)
{
	static const char zeros[1 << 16];
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	CHECK(fd >= 0);
	while (write(fd, zeros, sizeof(zeros)) > 0)
		;
	CHECK(!close(fd));
}

/* A full disk: memory, up to its bound; what it holds at the end gets one more chance. */
static void test_full_disk_falls_back_to_memory(void)
{
	const struct op_transport_result away = answer(OP_GRPC_UNAVAILABLE, 60000);
	const struct op_transport_result ok = answer(OP_GRPC_OK, -1);
	struct op_export_settings s = spilling("disk");
	char filler[PATH_BYTES + 8];
	char big[4000];
	struct rig g;

	CHECK(!mkdir(s.spill_dir, 0700));
	if (mount("none", s.spill_dir, "tmpfs", 0, "size=64k") < 0)
		SKIP("cannot mount a small file system: %s", strerror(errno));
	s.queue_bytes = 3 * sizeof(big);
	memset(big, 'a', sizeof(big) - 1);
	big[sizeof(big) - 1] = 0;
	rig_up(&g, &s, &away, 1);
	submit(&g, big, 1);
	CHECK_INT(count_files(&s, ".request", NULL), 1);
	(void)snprintf(filler, sizeof(filler), "%s/filler", destination(&s));
	fill_disk(filler);
	submit(&g, big, 2);
	submit(&g, big, 4);
	submit(&g, big, 8);
	CHECK_INT(count_files(&s, ".request", NULL), 1);
	CHECK_INT(count_files(&s, ".tmp", NULL), 0);
	CHECK(said(&g, "No space left on device; what waits stays in memory"));
	op_ledger_get_stats(&g.ledger, &g.stats);
	CHECK_INT(g.stats.spill_errors, 3);
	check_drops(&g, 0, 0); /* the first is in its file alone */
	submit(&g, big, 16);
	op_ledger_get_stats(&g.ledger, &g.stats);
	check_drops(&g, OP_DROP_QUEUE, 2);
	CHECK(!unlink(filler));
	rig_down(&g);
	check_drops(&g, OP_DROP_QUEUE, 2);
	CHECK_INT(g.stats.samples_spilled, 1 + 4 + 8 + 16);
	rig_up(&g, &s, &ok, 1);
	CHECK_INT(flush(&g, 5000), 0);
	CHECK_INT(g.stats.samples_exported, 1 + 4 + 8 + 16);
	rig_down(&g);
	CHECK(!umount2(s.spill_dir, MNT_DETACH));
}

/* One exporter delivered, the other keeps its file: the sample is exported, and once. */
static void test_shared_with_one_that_delivers(void)
{
	const struct op_transport_result away = answer(OP_GRPC_UNAVAILABLE, 60000);
	const struct op_transport_result ok = answer(OP_GRPC_OK, -1);
	struct op_export_settings s = spilling("shared");
	struct op_export_settings plain = quick();
	struct op_request *r = NULL;
	struct op_sink *second = NULL;
	struct rig g;
	struct rig h;

	rig_up(&g, &s, &away, 1);
	rig_up(&h, &plain, &ok, 1);
	h.sink->ops->free(h.sink);
	h.fake.closed = h.fake.cancelled = false;
	CHECK_OK(op_delivery_new(&g.base, &plain, &fake_ops, &h.fake, &second));
	CHECK_OK(op_request_new(&g.ledger, strdup("abc"), 3, 5, 2, &r));
	g.sink->ops->submit(g.sink, r);
	second->ops->submit(second, r);
	CHECK_INT(second->ops->flush(second, UINT64_MAX), 0);
	h.sink = second;
	rig_down(&h);
	rig_down(&g);
	CHECK_INT(g.stats.samples_exported, 5);
	CHECK_INT(g.stats.samples_spilled, 0);
	check_drops(&g, 0, 0);
	CHECK_INT(count_files(&s, ".request", NULL), 1);
}

static void test_directory_that_cannot_be_is_refused(void)
{
	struct op_export_settings s = spilling("refused/deeper");
	struct op_log log = { 0 };
	struct fake fake = { 0 };
	struct op_ledger ledger;
	struct op_notes notes;
	struct op_sink base = {
		.ledger = &ledger, .account.ledger = &ledger, .notes = &notes, .log = &log
	};
	struct op_sink *sink = NULL;

	CHECK_OK(op_ledger_init(&ledger));
	CHECK_OK(op_notes_init(&notes, OP_LOG_INFO));
	CHECK_INT(op_delivery_new(&base, &s, &fake_ops, &fake, &sink), -ENOENT);
	CHECK(strstr(log.message, "spill_dir: cannot make"));
	CHECK(strstr(log.message, "refused/deeper: No such file"));
	s.spill_dir = (char *)(uintptr_t) "/proc/version";
	CHECK_INT(op_delivery_new(&base, &s, &fake_ops, &fake, &sink), -ENOTDIR);
	op_log_deinit(&log);
	op_notes_deinit(&notes);
	op_ledger_deinit(&ledger);
}

static void test_clean_up(void)
{
	char command[64];

	(void)snprintf(command, sizeof(command), "rm -r %s", root);
	CHECK_INT(system(command), 0);
}

/* Who owns the directory or may write to it can take requests away and put in others. */
static void test_foreign_directory_is_refused(void)
{
	const struct op_export_settings s = spilling("foreign");
	struct op_spill_list list = { 0 };
	struct op_spill *spill = NULL;
	struct stat st;

	CHECK(!mkdir(s.spill_dir, 0700) && !chmod(s.spill_dir, 0777));
	CHECK_INT(op_spill_open(s.spill_dir, "x", NULL, &list, &spill), -EPERM);
	/* As /tmp: others make names, and cannot take ours. */
	CHECK(!chmod(s.spill_dir, 01777));
	CHECK_OK(op_spill_open(s.spill_dir, "grpc://host:1", NULL, &list, &spill));
	spill = op_spill_close(spill);
	CHECK(!chmod(destination(&s), 0755));
	CHECK_OK(op_spill_open(s.spill_dir, "grpc://host:1", NULL, &list, &spill));
	spill = op_spill_close(spill);
	CHECK(!stat(destination(&s), &st));
	CHECK_INT(st.st_mode & 0777, 0700);
	if (geteuid() == 0) {
		CHECK(!chown(destination(&s), 1001, 1001));
		CHECK_INT(
			op_spill_open(s.spill_dir, "grpc://host:1", NULL, &list, &spill),
			-EPERM);
		CHECK(!chown(destination(&s), 0, 0) && !chmod(s.spill_dir, 0700) &&
		      !chown(s.spill_dir, 1001, 1001));
		CHECK_INT(
			op_spill_open(s.spill_dir, "grpc://host:1", NULL, &list, &spill),
			-EPERM);
	}
	CHECK(!spill);
}

TEST_MAIN({ "written_before_submit_returns", test_written_before_submit_returns },
	  { "next_run_sends_them_in_order", test_next_run_sends_them_in_order },
	  { "killed_loses_nothing_submitted", test_killed_loses_nothing_submitted },
	  { "two_cannot_share", test_two_cannot_share },
	  { "bound_drops_the_oldest", test_bound_drops_the_oldest },
	  { "waiting_takes_no_memory", test_waiting_takes_no_memory },
	  { "damaged_files_are_counted", test_damaged_files_are_counted },
	  { "another_version_s_files_are_kept", test_another_version_s_files_are_kept },
	  { "deleted_file_is_counted", test_deleted_file_is_counted },
	  { "full_disk_falls_back_to_memory", test_full_disk_falls_back_to_memory },
	  { "shared_with_one_that_delivers", test_shared_with_one_that_delivers },
	  { "directory_that_cannot_be_is_refused",
	    test_directory_that_cannot_be_is_refused },
	  { "foreign_directory_is_refused", test_foreign_directory_is_refused },
	  { "clean_up", test_clean_up })
