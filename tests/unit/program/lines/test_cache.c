/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of source lines: its bytes, and its folder. */
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "recording/lines/cache.h"
#include "recording/lines/store.h"
#include "recording/read/say.h"

#include "test.h"

static const char id[] = "0123456789abcdef";
static const char other[] = "fedcba9876543210";
static char said[512]; /* by the last note */

void note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(said, sizeof(said), fmt, ap);
	va_end(ap);
}

static struct lines_cache *parsed(const struct op_strbuf *bytes)
{
	struct lines_cache *c = lines_cache_new();

	CHECK(c);
	CHECK_OK(lines_cache_parse(c, bytes->data, bytes->len, id));
	return c;
}

/* Three places, added out of order, one of them again with its name. */
static void make(struct op_strbuf *ret)
{
	const struct debuginfo_line lines[] = {
		{ "inner", "_Zinner", "/a.c", 7, 3 },
		{ NULL, NULL, "/a.c", 20, 18 },
	};
	_cleanup_(lines_cache_freep) struct lines_cache *c = lines_cache_new();

	CHECK(c && !lines_cache_changed(c));
	CHECK_OK(lines_cache_add(c, 0x2000, lines, 2, false, NULL));
	CHECK_OK(lines_cache_add(c, 0x1000, lines + 1, 1, true, "outer"));
	CHECK_OK(lines_cache_add(c, 0x2000, lines, 2, true, "around"));
	CHECK_OK(lines_cache_add(c, UINT64_MAX, NULL, 0, true, NULL));
	CHECK(lines_cache_changed(c));
	CHECK_OK(lines_cache_encode(c, id, ret));
}

static void test_written_and_read(void)
{
	_cleanup_(lines_cache_freep) struct lines_cache *c = NULL;
	_cleanup_(op_strbuf_deinit) struct op_strbuf bytes = { 0 };
	struct debuginfo_line found[DEBUGINFO_LINES_MAX];
	const char *name = NULL;
	size_t n = 0;

	make(&bytes);
	c = parsed(&bytes);
	CHECK(!lines_cache_changed(c));
	CHECK(lines_cache_find(c, 0x2000, true, found, &n, &name));
	CHECK_INT(n, 2);
	CHECK_STR(name, "around");
	CHECK_STR(found[0].function, "inner");
	CHECK_STR(found[0].linkage, "_Zinner");
	CHECK_STR(found[0].file, "/a.c");
	CHECK_INT(found[0].line, 7);
	CHECK_INT(found[0].start_line, 3);
	CHECK(!found[1].function && !found[1].linkage);
	CHECK_INT(found[1].line, 20);
	CHECK(lines_cache_find(c, UINT64_MAX, true, found, &n, &name));
	CHECK(!n && !name);
	CHECK(!lines_cache_find(c, 0x2001, false, found, &n, &name));
	CHECK(!lines_cache_find(c, 0, false, found, &n, &name));
}

static void test_a_name_that_was_not_looked_up(void)
{
	_cleanup_(lines_cache_freep) struct lines_cache *first = lines_cache_new();
	_cleanup_(lines_cache_freep) struct lines_cache *c = NULL;
	_cleanup_(op_strbuf_deinit) struct op_strbuf bytes = { 0 };
	const struct debuginfo_line line = { NULL, NULL, "/a.c", 20, 18 };
	struct debuginfo_line found[DEBUGINFO_LINES_MAX];
	const char *name = NULL;
	size_t n = 0;

	CHECK_OK(lines_cache_add(first, 9, &line, 1, false, NULL));
	CHECK_OK(lines_cache_encode(first, id, &bytes));
	c = parsed(&bytes);
	CHECK(lines_cache_find(c, 9, false, found, &n, &name));
	CHECK(!lines_cache_find(c, 9, true, found, &n, &name));
}

static void test_damage(void)
{
	_cleanup_(lines_cache_freep) struct lines_cache *c = lines_cache_new();
	_cleanup_(op_strbuf_deinit) struct op_strbuf bytes = { 0 };
	size_t i;

	make(&bytes);
	for (i = 0; i < bytes.len; i++) {
		bytes.data[i] ^= 4;
		CHECK_INT(lines_cache_parse(c, bytes.data, bytes.len, id), -EBADMSG);
		bytes.data[i] ^= 4;
		CHECK_INT(lines_cache_parse(c, bytes.data, i, id), -EBADMSG);
	}
	CHECK_INT(lines_cache_parse(c, bytes.data, bytes.len, other), -EBADMSG);
	CHECK_OK(lines_cache_parse(c, bytes.data, bytes.len, id));
}

static void test_limits(void)
{
	_cleanup_(lines_cache_freep) struct lines_cache *c = lines_cache_new();
	_cleanup_(op_strbuf_deinit) struct op_strbuf bytes = { 0 };
	const struct debuginfo_line line = { NULL, NULL, "/a.c", 20, 18 };
	_cleanup_free_ char *name = calloc(1, LINES_CACHE_FILE_BYTES_MAX + 1);
	uint32_t i;

	for (i = 0; i < LINES_CACHE_PLACES_MAX; i++)
		CHECK_OK(lines_cache_add(c, i, NULL, 0, false, NULL));
	CHECK_INT(lines_cache_add(c, i, &line, 1, false, NULL), -ENOSPC);
	CHECK_INT(lines_cache_encode(c, id, &bytes), -EFBIG);
	CHECK(name);
	memset(name, 'a', LINES_CACHE_FILE_BYTES_MAX);
	c = lines_cache_free(c);
	c = lines_cache_new();
	CHECK_OK(lines_cache_add(c, 1, &line, 1, true, name));
	CHECK_INT(lines_cache_encode(c, id, &bytes), -EFBIG);
}

static struct store folder(char *path)
{
	struct store s;

	CHECK(mkdtemp(path));
	CHECK(store_open(path, &s));
	return s;
}

static void remove_folder(struct store *s)
{
	_cleanup_free_ char *command = NULL;

	CHECK(asprintf(&command, "rm -rf %s", s->path) > 0);
	CHECK_INT(system(command), 0);
	store_close(s);
}

static void test_folder(void)
{
	char path[] = "/tmp/otelprof-test-XXXXXX";
	struct store s = folder(path), t;
	_cleanup_free_ char *bytes = NULL;
	struct stat st;

	CHECK_INT(store_read(&s, id, &bytes), -ENOENT);
	CHECK_OK(store_write(&s, id, "one", 3));
	CHECK_OK(store_write(&s, id, "seven", 5));
	CHECK_INT(store_read(&s, id, &bytes), 5);
	CHECK_STR(bytes, "seven");
	CHECK_OK(fstatat(s.fd, "0123456789abcdef.lines", &st, 0));
	CHECK_INT(st.st_mode & 0777, 0600);
	/* What is no plain file of ours is not read, nor waited for. */
	CHECK_OK(symlinkat("0123456789abcdef.lines", s.fd, "fedcba9876543210.lines"));
	CHECK_INT(store_read(&s, other, &bytes), -ELOOP);
	CHECK_OK(unlinkat(s.fd, "fedcba9876543210.lines", 0));
	CHECK_OK(mkfifoat(s.fd, "fedcba9876543210.lines", 0600));
	CHECK_INT(store_read(&s, other, &bytes), -EPERM);
	CHECK_OK(chmod(path, 0750));
	CHECK(!store_open(path, &t));
	CHECK(strstr(said, "is no cache"));
	CHECK_OK(chmod(path, 0700));
	remove_folder(&s);
}

static void test_names(void)
{
	CHECK(store_can_name(id));
	CHECK(!store_can_name(""));
	CHECK(!store_can_name("../../etc/passwd"));
	CHECK(!store_can_name("0123456789abcdeF"));
	CHECK(!store_can_name("0123456"));
}

static void set_age(const struct store *s, const char *name, time_t seconds)
{
	const struct timespec now = { .tv_sec = time(NULL) - seconds };
	const struct timespec times[2] = { now, now };

	CHECK_OK(utimensat(s->fd, name, times, 0));
}

static void test_trim(void)
{
	char path[] = "/tmp/otelprof-test-XXXXXX";
	struct store s = folder(path);
	_cleanup_free_ char *bytes = NULL, *again = NULL;

	CHECK_OK(store_write(&s, id, "0123456789", 10));
	CHECK_OK(store_write(&s, other, "0123456789", 10));
	set_age(&s, "0123456789abcdef.lines", 500);
	set_age(&s, "fedcba9876543210.lines", 400);
	CHECK_INT(close(openat(s.fd, ".newabc", O_CREAT | O_WRONLY, 0600)), 0);
	CHECK_INT(close(openat(s.fd, ".newdef", O_CREAT | O_WRONLY, 0600)), 0);
	CHECK_INT(close(openat(s.fd, "mine.txt", O_CREAT | O_WRONLY, 0600)), 0);
	set_age(&s, ".newabc", 7200);
	set_age(&s, "mine.txt", 7200);
	/* The one that was read is not the oldest any more. */
	CHECK_INT(store_read(&s, id, &bytes), 10);
	store_trim(&s, 20);
	CHECK_INT(faccessat(s.fd, "fedcba9876543210.lines", F_OK, 0), 0);
	store_trim(&s, 19);
	CHECK_INT(store_read(&s, other, &again), -ENOENT);
	CHECK_INT(store_read(&s, id, &again), 10);
	CHECK_INT(faccessat(s.fd, ".newabc", F_OK, 0), -1);
	CHECK_INT(faccessat(s.fd, ".newdef", F_OK, 0), 0);
	CHECK_INT(faccessat(s.fd, "mine.txt", F_OK, 0), 0);
	remove_folder(&s);
}

TEST_MAIN({ "written_and_read", test_written_and_read },
	  { "a_name_that_was_not_looked_up", test_a_name_that_was_not_looked_up },
	  { "damage", test_damage }, { "limits", test_limits }, { "folder", test_folder },
	  { "names", test_names }, { "trim", test_trim })
