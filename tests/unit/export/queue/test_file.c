/* SPDX-License-Identifier: Apache-2.0 */
/* The file exporter: what is at the path, and when; full disks; pipes; forks. */
#include "test.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "export/exporter.h"

enum {
	FLUSH_MS = 10000
};

enum {
	NOBODY = 65534
};

struct dir {
	char path[64];
};

static struct dir new_dir(void)
{
	struct dir d = { "/tmp/otelprof-file-XXXXXX" };

	CHECK(mkdtemp(d.path));
	return d;
}

static char *in_dir(const struct dir *d, const char *name)
{
	static char path[8][384];
	static unsigned int next;
	char *p = path[next++ % 8];

	(void)snprintf(p, sizeof(path[0]), "%s/%s", d->path, name);
	return p;
}

static size_t count_files(const struct dir *d)
{
	_cleanup_closedir_ DIR *dir = opendir(d->path);
	struct dirent *e;
	size_t n = 0;

	CHECK(dir);
	while ((e = readdir(dir)))
		n += e->d_name[0] != '.';
	return n;
}

static void remove_dir(const struct dir *d)
{
	_cleanup_closedir_ DIR *dir = opendir(d->path);
	struct dirent *e;

	CHECK(dir);
	while ((e = readdir(dir)))
		if (e->d_name[0] != '.')
			(void)unlink(in_dir(d, e->d_name));
	CHECK(!rmdir(d->path));
}

static void add_format(struct op_exporters *x, const char *path, uint32_t format)
{
	struct otelprof_file_config config;

	otelprof_file_config_init(&config, sizeof(config));
	config.path = path;
	config.format = format;
	CHECK_OK(op_exporters_add_file(x, &config));
}

static void add(struct op_exporters *x, const char *path)
{
	add_format(x, path, OTELPROF_FORMAT_OTLP);
}

static void submit(struct op_exporters *x, const char *text, uint64_t samples)
{
	char *bytes = strdup(text);

	CHECK(bytes);
	CHECK_OK(op_exporters_submit(x, bytes, strlen(text), samples));
}

static void check_content(const char *path, const char *want, size_t len)
{
	_cleanup_free_ char *got = NULL;
	ssize_t n = op_read_file(path, 1 << 20, &got);

	CHECK_INT(n, len);
	CHECK(!memcmp(got, want, len));
}

static void check_account(struct op_exporters *x, uint64_t pending, uint64_t exported,
			  uint64_t dropped)
{
	struct op_exporters_stats st;

	op_exporters_get_stats(x, &st);
	CHECK_INT(st.samples_pending, pending);
	CHECK_INT(st.samples_exported, exported);
	CHECK_INT(st.samples_dropped[OP_DROP_EXPORTER], dropped);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	CHECK(f && fputs(text, f) >= 0 && !fclose(f));
}

#define FRAME_A "\0\0\0\3abc"
#define FRAME_B "\0\0\0\2de"

/* Profiles tell much of a host: whatever the umask, they are their owner's. */
static void test_nobody_else_reads_it(void)
{
	_cleanup_(op_exporters_freep) struct op_exporters *x = NULL;
	struct dir d = new_dir();
	char *path = in_dir(&d, "out");
	mode_t mask = umask(0);
	struct stat st;

	CHECK_OK(op_exporters_new(NULL, &x));
	add(x, path);
	submit(x, "abc", 1);
	CHECK_OK(op_exporters_flush(x, 0, FLUSH_MS));
	CHECK(!stat(path, &st));
	CHECK_INT(st.st_mode & 0777, 0600);
	(void)umask(mask);
	remove_dir(&d);
}

static void test_frames_appear_at_flush(void)
{
	_cleanup_(op_exporters_freep) struct op_exporters *x = NULL;
	struct op_exporters_stats st;
	struct dir d = new_dir();
	char *path = in_dir(&d, "out");

	write_file(path, "old");
	CHECK_OK(op_exporters_new(NULL, &x));
	add(x, path);
	submit(x, "abc", 5);
	check_content(path, "old", 3);
	op_exporters_get_stats(x, &st);
	CHECK_INT(st.samples_pending, 5);
	CHECK_INT(st.samples_exported, 0);
	CHECK_INT(op_exporters_flush(x, 0, FLUSH_MS), 0);
	check_content(path, FRAME_A, 7);
	op_exporters_get_stats(x, &st);
	CHECK_INT(st.samples_pending, 0);
	CHECK_INT(st.samples_exported, 5);
	CHECK_INT(count_files(&d), 1);
	/* More: the path keeps the old whole until the next flush, then holds both. */
	submit(x, "de", 1);
	check_content(path, FRAME_A, 7);
	CHECK_INT(op_exporters_flush(x, 0, FLUSH_MS), 0);
	check_content(path, FRAME_A FRAME_B, 13);
	CHECK_INT(op_exporters_flush(x, 0, FLUSH_MS), 0);
	check_content(path, FRAME_A FRAME_B, 13);
	CHECK_INT(count_files(&d), 1);
	remove_dir(&d);
}

/* Somebody makes room on a disk: what was in the file is gone, and what comes is kept. */
static void check_begins_anew(bool removed)
{
	_cleanup_(op_exporters_freep) struct op_exporters *x = NULL;
	struct op_exporters_stats st;
	struct dir d = new_dir();
	char *path = in_dir(&d, "out");

	CHECK_OK(op_exporters_new(NULL, &x));
	add(x, path);
	submit(x, "abc", 5);
	CHECK_OK(op_exporters_flush(x, 0, FLUSH_MS));
	CHECK(removed ? !unlink(path) : !truncate(path, 0));
	submit(x, "de", 2);
	CHECK_OK(op_exporters_flush(x, 0, FLUSH_MS));
	check_content(path, FRAME_B, 6);
	submit(x, "abc", 5);
	CHECK_OK(op_exporters_flush(x, 0, FLUSH_MS));
	check_content(path, FRAME_B FRAME_A, 13);
	op_exporters_get_stats(x, &st);
	CHECK_INT(st.samples_exported, 12);
	CHECK_INT(count_files(&d), 1);
	remove_dir(&d);
}

static void test_a_file_that_was_cut_begins_anew(void)
{
	check_begins_anew(false);
	check_begins_anew(true);
}

/* logrotate moves the file away: each file has what came while it had the name. */
static void test_a_file_that_was_renamed_begins_anew(void)
{
	_cleanup_(op_exporters_freep) struct op_exporters *x = NULL;
	struct dir d = new_dir();
	char *path = in_dir(&d, "out");
	char *old = in_dir(&d, "out.1");

	CHECK_OK(op_exporters_new(NULL, &x));
	add(x, path);
	submit(x, "abc", 5);
	CHECK_OK(op_exporters_flush(x, 0, FLUSH_MS));
	CHECK(!rename(path, old));
	submit(x, "de", 2);
	CHECK_OK(op_exporters_flush(x, 0, FLUSH_MS));
	check_content(path, FRAME_B, 6);
	check_content(old, FRAME_A, 7);
	/* and one that made an empty file in its place */
	CHECK(!rename(path, old));
	write_file(path, "");
	submit(x, "abc", 5);
	CHECK_OK(op_exporters_flush(x, 0, FLUSH_MS));
	check_content(path, FRAME_A, 7);
	check_content(old, FRAME_B, 6);
	remove_dir(&d);
}

/* What is in a file can be sent on: a Collector takes 4 MiB. */
static void test_requests_can_be_sent(void)
{
	_cleanup_(op_exporters_freep) struct op_exporters *x = NULL;
	struct dir d = new_dir();

	CHECK_OK(op_exporters_new(NULL, &x));
	add(x, in_dir(&d, "out"));
	CHECK_INT(op_exporters_max_request(x), 4000000);
	remove_dir(&d);
}

static void test_free_completes_the_file(void)
{
	struct op_exporters *x = NULL;
	struct dir d = new_dir();
	char *path = in_dir(&d, "out");

	CHECK_OK(op_exporters_new(NULL, &x));
	add(x, path);
	submit(x, "abc", 5);
	op_exporters_free(x);
	check_content(path, FRAME_A, 7);
	CHECK_INT(count_files(&d), 1);
	remove_dir(&d);
}

static void test_nothing_written_leaves_nothing(void)
{
	struct op_exporters *x = NULL;
	struct dir d = new_dir();
	char *path = in_dir(&d, "out");

	CHECK_OK(op_exporters_new(NULL, &x));
	add(x, path);
	CHECK_INT(op_exporters_flush(x, 0, FLUSH_MS), 0);
	op_exporters_free(x);
	CHECK_INT(count_files(&d), 0);
	remove_dir(&d);
}

static void test_link_keeps_pointing(void)
{
	struct op_exporters *x = NULL;
	struct dir d = new_dir();
	char *path = in_dir(&d, "real");
	char *link = in_dir(&d, "link");
	struct stat st;

	write_file(path, "old");
	CHECK(!symlink("real", link));
	CHECK_OK(op_exporters_new(NULL, &x));
	add(x, link);
	submit(x, "abc", 5);
	op_exporters_free(x);
	CHECK(!lstat(link, &st) && S_ISLNK(st.st_mode));
	check_content(path, FRAME_A, 7);
	remove_dir(&d);
}

/* Whoever may write in a folder may put something there that leads elsewhere. */
static void test_files_of_others_are_refused(void)
{
	_cleanup_(op_exporters_freep) struct op_exporters *x = NULL;
	struct otelprof_file_config config;
	struct op_log log = { 0 };
	struct dir d = new_dir();
	char *path = in_dir(&d, "real");
	char *link = in_dir(&d, "link");
	char *pipe = in_dir(&d, "pipe");

	write_file(path, "precious");
	CHECK(!symlink("real", link));
	CHECK(!mkfifo(pipe, 0666));
	CHECK_OK(op_exporters_new(&log, &x));
	otelprof_file_config_init(&config, sizeof(config));
	if (!geteuid()) {
		CHECK(!lchown(link, NOBODY, NOBODY));
		CHECK(!lchown(pipe, NOBODY, NOBODY));
		config.path = link;
		CHECK_INT(op_exporters_add_file(x, &config), -EPERM);
		CHECK(strstr(log.message, "your own"));
		config.path = pipe;
		CHECK_INT(op_exporters_add_file(x, &config), -EPERM);
		CHECK_INT(op_exporters_len(x), 0);
	}
	check_content(path, "precious", 8);
	remove_dir(&d);
}

static void test_the_user_behind_sudo_owns_it(void)
{
	struct op_exporters *x = NULL;
	struct dir d = new_dir();
	char *path = in_dir(&d, "out");
	struct stat st = { 0 };

	CHECK(!setenv("SUDO_UID", "65534", 1) && !setenv("SUDO_GID", "65533", 1));
	CHECK_OK(op_exporters_new(NULL, &x));
	add(x, path);
	submit(x, "abc", 5);
	op_exporters_free(x);
	CHECK(!unsetenv("SUDO_UID") && !unsetenv("SUDO_GID"));
	CHECK(!stat(path, &st));
	CHECK_INT(st.st_mode & 0777, 0600);
	CHECK_INT(st.st_uid, geteuid() ? geteuid() : NOBODY);
	CHECK_INT(st.st_gid, geteuid() ? getegid() : NOBODY - 1);
	remove_dir(&d);
}

static void test_bad_paths_are_refused(void)
{
	_cleanup_(op_exporters_freep) struct op_exporters *x = NULL;
	struct otelprof_file_config config;
	struct op_log log = { 0 };

	CHECK_OK(op_exporters_new(&log, &x));
	otelprof_file_config_init(&config, sizeof(config));
	CHECK_INT(op_exporters_add_file(x, &config), -EINVAL);
	config.path = "/tmp";
	CHECK_INT(op_exporters_add_file(x, &config), -EISDIR);
	config.path = "/nonexistent-dir/file";
	CHECK_INT(op_exporters_add_file(x, &config), -ENOENT);
	CHECK(strstr(log.message, "/nonexistent-dir/file"));
	config.path = "/tmp/x";
	config.format = 77;
	CHECK_INT(op_exporters_add_file(x, &config), -EINVAL);
	CHECK(strstr(log.message, "77"));
	CHECK_INT(op_exporters_len(x), 0);
}

static void test_pipe_is_written_straight(void)
{
	_cleanup_(op_exporters_freep) struct op_exporters *x = NULL;
	struct op_exporters_stats st;
	struct dir d = new_dir();
	char *path = in_dir(&d, "fifo");
	char got[16];
	int fd;

	CHECK(!mkfifo(path, 0600));
	fd = open(path, O_RDONLY | O_NONBLOCK);
	CHECK(fd >= 0);
	CHECK_OK(op_exporters_new(NULL, &x));
	add(x, path);
	submit(x, "abc", 5);
	CHECK_INT(op_exporters_flush(x, 0, FLUSH_MS), 0);
	CHECK_INT(read(fd, got, sizeof(got)), 7);
	CHECK(!memcmp(got, FRAME_A, 7));
	op_exporters_get_stats(x, &st);
	CHECK_INT(st.samples_exported, 5);
	CHECK(!close(fd));
	CHECK_INT(count_files(&d), 1);
	remove_dir(&d);
}

/* A pipe of a shell's >(command) has a name that leads to it, but no path. */
static void test_a_pipe_without_a_path(void)
{
	_cleanup_(op_exporters_freep) struct op_exporters *x = NULL;
	char name[64];
	char got[16];
	int ends[2];

	CHECK(!pipe2(ends, O_CLOEXEC));
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", ends[1]);
	CHECK_OK(op_exporters_new(NULL, &x));
	add(x, name);
	submit(x, "abc", 5);
	CHECK_OK(op_exporters_flush(x, 0, FLUSH_MS));
	CHECK_INT(read(ends[0], got, sizeof(got)), 7);
	CHECK(!memcmp(got, FRAME_A, 7));
	CHECK(!close(ends[0]) && !close(ends[1]));
}

static void test_dash_is_stdout(void)
{
	struct op_exporters *x = NULL;
	struct dir d = new_dir();
	char *path = in_dir(&d, "stdout");
	int kept = dup(1);
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	CHECK(kept >= 0 && fd >= 0 && !fflush(stdout) && dup2(fd, 1) == 1);
	CHECK_OK(op_exporters_new(NULL, &x));
	add(x, "-");
	submit(x, "abc", 5);
	submit(x, "de", 1);
	op_exporters_free(x);
	/* It is still open: the exporter closed its own copy alone. */
	CHECK(fcntl(1, F_GETFD) >= 0);
	CHECK(dup2(kept, 1) == 1 && !close(kept) && !close(fd));
	check_content(path, FRAME_A FRAME_B, 13);
	CHECK_INT(count_files(&d), 1);
	remove_dir(&d);
}

/* Nothing at the path before the flush, a page after it; what is no request is dropped. */
static void test_format_is_written_at_flush(void)
{
	_cleanup_(op_exporters_freep) struct op_exporters *x = NULL;
	_cleanup_free_ char *page = NULL;
	struct op_exporters_stats st;
	struct dir d = new_dir();
	char *path = in_dir(&d, "page.html");

	CHECK_OK(op_exporters_new(NULL, &x));
	add_format(x, path, OTELPROF_FORMAT_HTML);
	submit(x, "\xff\xff\xff", 2);
	CHECK_OK(op_exporters_flush(x, 0, FLUSH_MS));
	op_exporters_get_stats(x, &st);
	CHECK_INT(st.samples_dropped[OP_DROP_EXPORTER], 2);
	/* The empty message is a request without profiles. */
	submit(x, "", 5);
	CHECK(access(path, F_OK) < 0);
	op_exporters_get_stats(x, &st);
	CHECK_INT(st.samples_pending, 5);
	CHECK_INT(op_exporters_flush(x, 0, FLUSH_MS), 0);
	op_exporters_get_stats(x, &st);
	CHECK_INT(st.samples_exported, 5);
	CHECK_INT(st.samples_pending, 0);
	CHECK_INT(count_files(&d), 1);
	CHECK(op_read_file(path, 1 << 24, &page) > 0);
	CHECK(strstr(page, "</html>"));
	remove_dir(&d);
}

/* /dev/full takes no byte: after one failure a stream stays broken. */
static void test_full_stream_drops(void)
{
	_cleanup_(op_exporters_freep) struct op_exporters *x = NULL;
	struct op_exporters_stats st;

	CHECK_OK(op_exporters_new(NULL, &x));
	add(x, "/dev/full");
	submit(x, "abc", 5);
	submit(x, "abc", 5);
	CHECK_OK(op_exporters_flush(x, 0, FLUSH_MS));
	op_exporters_get_stats(x, &st);
	CHECK_INT(st.samples_dropped[OP_DROP_EXPORTER], 10);
	CHECK_INT(st.samples_pending, 0);
}

static int log_count;
static char log_last[512];

static void count_line(void *userdata, int level, const char *message)
{
	log_count++;
	(void)snprintf(log_last, sizeof(log_last), "%s", message);
}

/* A file system of 64 KiB: what was whole stays, what did not fit is counted. */
static void test_full_disk_is_counted(void)
{
	struct op_log log = { .fn = count_line, .level = OP_LOG_WARNING };
	struct op_exporters *x = NULL;
	struct op_exporters_stats st;
	struct dir d = new_dir();
	char *path = in_dir(&d, "out");
	char *big;

	/* In a mount namespace of its own: nothing is left behind where a check fails. */
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", d.path, "tmpfs", 0, "size=64k") < 0) {
		(void)rmdir(d.path);
		SKIP("mounting a tmpfs: %s", strerror(errno));
	}
	write_file(path, "old");
	CHECK_OK(op_exporters_new(&log, &x));
	add(x, path);
	/* Alone too big: the temporary file goes, the old one stays. */
	big = calloc(1, 100000);
	CHECK_OK(op_exporters_submit(x, big, 100000, 9));
	CHECK_OK(op_exporters_flush(x, 0, FLUSH_MS));
	CHECK_INT(count_files(&d), 1);
	check_content(path, "old", 3);
	op_exporters_get_stats(x, &st);
	CHECK_INT(st.samples_dropped[OP_DROP_EXPORTER], 9);
	CHECK_INT(log_count, 1);
	CHECK(strstr(log_last, "No space left"));
	/* A small one first, then too big: the small one is kept whole. */
	submit(x, "abc", 5);
	big = calloc(1, 100000);
	CHECK_OK(op_exporters_submit(x, big, 100000, 9));
	submit(x, "de", 1);
	CHECK_INT(op_exporters_flush(x, 0, FLUSH_MS), 0);
	check_content(path, FRAME_A FRAME_B, 13);
	check_account(x, 0, 6, 18);
	op_exporters_free(x);
	CHECK_INT(count_files(&d), 1);
	CHECK(!umount(d.path));
	CHECK(!rmdir(d.path));
}

static void test_failed_rename_is_counted(void)
{
	_cleanup_(op_exporters_freep) struct op_exporters *x = NULL;
	struct dir d = new_dir();
	char *path = in_dir(&d, "out");

	CHECK_OK(op_exporters_new(NULL, &x));
	add(x, path);
	submit(x, "abc", 5);
	/* A directory has taken the name meanwhile. */
	CHECK(!mkdir(path, 0700));
	CHECK_INT(op_exporters_flush(x, 0, FLUSH_MS), -EISDIR);
	check_account(x, 0, 0, 5);
	CHECK_INT(count_files(&d), 1);
	CHECK(!rmdir(path));
	submit(x, "de", 1);
	CHECK_INT(op_exporters_flush(x, 0, FLUSH_MS), 0);
	check_content(path, FRAME_B, 6);
	remove_dir(&d);
}

/* A page has all samples, those of a flush that failed, too: these are not lost before. */
static void test_a_format_tries_again(void)
{
	_cleanup_(op_exporters_freep) struct op_exporters *x = NULL;
	struct dir d = new_dir();
	char *path = in_dir(&d, "page.html");

	CHECK_OK(op_exporters_new(NULL, &x));
	add_format(x, path, OTELPROF_FORMAT_HTML);
	submit(x, "", 5);
	CHECK(!mkdir(path, 0700));
	CHECK_INT(op_exporters_flush(x, 0, FLUSH_MS), -EISDIR);
	check_account(x, 5, 0, 0);
	CHECK(!rmdir(path));
	submit(x, "", 2);
	op_exporters_hurry(x, 0);
	CHECK_OK(op_exporters_flush(x, 0, FLUSH_MS));
	check_account(x, 0, 7, 0);
	op_exporters_abandon(x);
	CHECK(!unlink(path) && !mkdir(path, 0700));
	submit(x, "", 3);
	CHECK_INT(op_exporters_flush(x, 0, FLUSH_MS), -EISDIR);
	op_exporters_abandon(x);
	check_account(x, 0, 7, 3);
	submit(x, "", 1);
	CHECK_OK(op_exporters_flush(x, 0, FLUSH_MS));
	check_account(x, 0, 7, 4);
	CHECK(!rmdir(path));
	remove_dir(&d);
}

/* Into the temporary file: the thread has nothing to do then. */
static void wait_until_written(struct op_exporters *x)
{
	struct op_exporters_stats st;

	do {
		(void)usleep(10000);
		op_exporters_get_stats(x, &st);
	} while (st.bytes);
	(void)usleep(10000);
}

static void test_forked_child_leaves_the_file(void)
{
	struct op_exporters *x = NULL;
	struct dir d = new_dir();
	char *path = in_dir(&d, "out");
	int status = 0;
	pid_t pid;

	CHECK_OK(op_exporters_new(NULL, &x));
	add(x, path);
	submit(x, "abc", 5);
	wait_until_written(x);
	(void)fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		op_exporters_forked(x);
		op_exporters_free(x);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK_INT(count_files(&d), 1);
	CHECK(access(path, F_OK) < 0);
	op_exporters_free(x);
	check_content(path, FRAME_A, 7);
	remove_dir(&d);
}

TEST_MAIN({ "nobody_else_reads_it", test_nobody_else_reads_it },
	  { "frames_appear_at_flush", test_frames_appear_at_flush },
	  { "a_file_that_was_cut_begins_anew", test_a_file_that_was_cut_begins_anew },
	  { "a_file_that_was_renamed", test_a_file_that_was_renamed_begins_anew },
	  { "requests_can_be_sent", test_requests_can_be_sent },
	  { "free_completes_the_file", test_free_completes_the_file },
	  { "nothing_written_leaves_nothing", test_nothing_written_leaves_nothing },
	  { "link_keeps_pointing", test_link_keeps_pointing },
	  { "files_of_others_are_refused", test_files_of_others_are_refused },
	  { "the_user_behind_sudo_owns_it", test_the_user_behind_sudo_owns_it },
	  { "bad_paths_are_refused", test_bad_paths_are_refused },
	  { "pipe_is_written_straight", test_pipe_is_written_straight },
	  { "a_pipe_without_a_path", test_a_pipe_without_a_path },
	  { "dash_is_stdout", test_dash_is_stdout },
	  { "format_is_written_at_flush", test_format_is_written_at_flush },
	  { "full_stream_drops", test_full_stream_drops },
	  { "failed_rename_is_counted", test_failed_rename_is_counted },
	  { "a_format_tries_again", test_a_format_tries_again },
	  { "forked_child_leaves_the_file", test_forked_child_leaves_the_file },
	  { "full_disk_is_counted", test_full_disk_is_counted })
