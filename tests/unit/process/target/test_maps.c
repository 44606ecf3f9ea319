/* SPDX-License-Identifier: Apache-2.0 */
#include "process/target/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/target/target.h"
#include "test.h"

static int parse(const char *text, char *buf, struct op_mmap_event *e)
{
	size_t len = strlen(text);

	memcpy(buf, text, len + 1);
	return op_maps_parse_line(buf, len, e);
}

static void test_line_gives_its_fields(void)
{
	struct op_mmap_event e;
	char buf[512];

	CHECK_INT(parse("55d0c8a3f000-55d0c8a58000 r-xp 0002a000 fd:01 1835217    "
			"                /usr/bin/a b (deleted)",
			buf, &e),
		  1);
	CHECK_INT(e.start, 0x55d0c8a3f000);
	CHECK_INT(e.end, 0x55d0c8a58000);
	CHECK_INT(e.offset, 0x2a000);
	CHECK_INT(e.dev_major, 0xfd);
	CHECK_INT(e.dev_minor, 1);
	CHECK_INT(e.inode, 1835217);
	CHECK_STR(e.path, "/usr/bin/a b (deleted)");
}

static void test_line_without_a_file(void)
{
	struct op_mmap_event e;
	char buf[512];

	CHECK_INT(parse("7f00-7f10 rwxp 00000000 00:00 0 ", buf, &e), 1);
	CHECK_INT(e.inode, 0);
	CHECK_STR(e.path, "");
	CHECK_INT(parse("7ffd7b9f5000-7ffd7b9f7000 r-xp 00000000 00:00 0        [vdso]",
			buf, &e),
		  1);
	CHECK_STR(e.path, "[vdso]");
	CHECK_INT(
		parse("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]",
		      buf, &e),
		1);
	CHECK(e.start == UINT64_C(0xffffffffff600000));
}

static void test_line_of_data_is_none(void)
{
	struct op_mmap_event e;
	char buf[512];

	CHECK_INT(parse("7f00-7f10 rw-p 00000000 00:00 0 ", buf, &e), 0);
}

static void test_bad_lines_are_told(void)
{
	static const char *const bad[] = {
		"",
		"7f00",
		"7f00-7f10",
		"7f00-7f10 r-xp",
		"7f00-7f10 r-xp 0 00:00",
		"7f10-7f00 r-xp 00000000 00:00 0",
		"7f00-7f00 r-xp 00000000 00:00 0",
		"10000000000000000-10000000000000001 r-xp 00000000 00:00 0",
		"7f00-7f10 r-xp 00000000 100000000:00 0",
		"x7f00-7f10 r-xp 00000000 00:00 0",
	};
	struct op_mmap_event e;
	char buf[512];
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_INT(parse(bad[i], buf, &e), -EBADMSG);
}

struct found {
	uint64_t addr;
	int count;
	int other;
	char path[256];
};

static int look(void *ctx, const struct op_mmap_event *e)
{
	struct found *f = ctx;

	if (f->addr >= e->start && f->addr < e->end) {
		f->count++;
		(void)snprintf(f->path, sizeof(f->path), "%s", e->path);
	} else {
		f->other++;
	}
	return 0;
}

/* The code of this test and a page made executable are found in this process. */
static void test_live_mappings_are_found(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	void *data = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct found f = { .addr = (uint64_t)(uintptr_t)look };
	char exe[256] = "";

	CHECK(page != MAP_FAILED && data != MAP_FAILED);
	CHECK(op_maps_read("/proc/self/maps", look, &f) > 3);
	CHECK_INT(f.count, 1);
	CHECK(f.other > 1);
	CHECK(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	CHECK_STR(f.path, exe);
	f = (struct found){ .addr = (uint64_t)(uintptr_t)page };
	CHECK(op_maps_read("/proc/self/maps", look, &f) > 3);
	CHECK_INT(f.count, 1);
	f = (struct found){ .addr = (uint64_t)(uintptr_t)data };
	CHECK(op_maps_read("/proc/self/maps", look, &f) > 3);
	CHECK_INT(f.count, 0);
}

static int stop(void *ctx, const struct op_mmap_event *e)
{
	return ++*(int *)ctx == 2 ? 42 : 0;
}

static void test_callback_ends_reading(void)
{
	int calls = 0;

	CHECK_INT(op_maps_read("/proc/self/maps", stop, &calls), 42);
	CHECK_INT(calls, 2);
	CHECK_INT(op_maps_read("/nonexistent/maps", stop, &calls), -ENOENT);
}

static int count(void *ctx, const struct op_mmap_event *e)
{
	(*(int *)ctx)++;
	return 0;
}

/* A file longer than the buffer: no line is lost or seen twice where pieces meet. */
static void test_long_file_is_read_whole(void)
{
	char path[] = "/tmp/op-maps-XXXXXX";
	int fd = mkstemp(path);
	int calls = 0;
	FILE *f;
	int i;

	CHECK(fd >= 0);
	f = fdopen(fd, "w");
	CHECK(f);
	for (i = 0; i < 5000; i++)
		(void)fprintf(f, "%x000-%x000 r-xp 00000000 08:01 %d /a/file/of/%0*d\n",
			      0x1000 + i, 0x1001 + i, i + 1, 1 + i % 70, i);
	CHECK(fclose(f) == 0);
	CHECK_INT(op_maps_read(path, count, &calls), 5000);
	CHECK_INT(calls, 5000);
	CHECK(unlink(path) == 0);
}

enum {
	MANY = 7000, /* mappings of one file */
	OTHER = 333, /* after so many there is one of another file */
	PAGE = 4096,
};

/* What was read, in one number. */
struct sum {
	uint64_t sum;
	int count;
	int slices;
};

static int add(void *ctx, const struct op_mmap_event *e)
{
	struct sum *s = ctx;
	const char *c;

	if (strcmp(e->path, "[vsyscall]") == 0)
		return 0; /* the kernel's search does not know it */
	s->count++;
	s->sum = (s->sum ^ e->start) * 31 + e->end + e->offset + e->inode + e->dev_minor +
		 e->dev_major + e->writable;
	for (c = e->path; *c; c++)
		s->sum = s->sum * 31 + (uint8_t)*c;
	return 0;
}

static void map_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	CHECK(mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED);
	CHECK_OK(close(fd));
}

static struct sum read_slices(bool no_search)
{
	_cleanup_(op_target_freep) struct op_target *t = NULL;
	struct op_maps_reader reader = { 0 };
	struct sum s = { 0 };
	int r = -EINPROGRESS;

	CHECK_OK(op_target_new("/proc", &t));
	t->deadline_ns = t->wait_max_ns = t->may_wait_ns = UINT64_C(60000000000);
	t->no_search = no_search;
	for (; r == -EINPROGRESS; s.slices++) {
		int before = s.count;

		r = op_target_executables(t, (uint32_t)getpid(), &reader, add, &s);
		CHECK(t->no_search || s.count - before <= OP_MAPS_SLICE);
	}
	CHECK(r > 0);
	op_maps_reader_end(t, &reader);
	CHECK_INT(t->maps_open, 0);
	CHECK(t->stats.mappings >= (uint64_t)s.count);
	return s;
}

/* Slices have what the whole text has, though the path of a file is not asked for each time. */
static void test_slices(void)
{
	const char *const path[] = { "/tmp/op-maps-one-XXXXXX",
				     "/tmp/op-maps-two-XXXXXX" };
	struct sum whole = { 0 };
	struct sum found;
	struct sum text;
	char name[2][64];
	int i;

	for (i = 0; i < 2; i++) {
		int fd;

		(void)snprintf(name[i], sizeof(name[i]), "%s", path[i]);
		fd = mkstemp(name[i]);
		CHECK(fd >= 0 && ftruncate(fd, PAGE) == 0 && close(fd) == 0);
	}
	for (i = 0; i < MANY; i++)
		map_file(name[i % OTHER == 0]);
	CHECK(op_maps_read("/proc/self/maps", add, &whole) > MANY);
	found = read_slices(false);
	text = read_slices(true);
	CHECK_INT(found.count, whole.count);
	CHECK(found.sum == whole.sum);
	CHECK(found.slices > MANY / OP_MAPS_SLICE);
	CHECK_INT(text.count, whole.count);
	CHECK(text.sum == whole.sum);
	for (i = 0; i < 2; i++)
		CHECK_OK(unlink(name[i]));
}

TEST_MAIN({ "slices", test_slices }, { "line", test_line_gives_its_fields },
	  { "no_file", test_line_without_a_file }, { "data", test_line_of_data_is_none },
	  { "bad", test_bad_lines_are_told }, { "live", test_live_mappings_are_found },
	  { "stop", test_callback_ends_reading },
	  { "long", test_long_file_is_read_whole })
