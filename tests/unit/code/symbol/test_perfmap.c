/* SPDX-License-Identifier: Apache-2.0 */
#include "code/symbol/perfmap.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "base/io.h"
#include "tools.h"

static const char *path(void)
{
	return tools_path("perf-1.map");
}

static int open_path(void *ctx)
{
	return op_open(path(), O_RDONLY);
}

static void append(const char *text)
{
	FILE *f = fopen(path(), "ae");

	CHECK(f);
	CHECK(fputs(text, f) >= 0);
	CHECK(fclose(f) == 0);
}

static void fresh(const char *text)
{
	(void)unlink(path());
	append(text);
}

static void check_none(struct op_perfmap *map, uint64_t addr)
{
	CHECK(!op_perfmap_find(map, addr));
}

/* After a look that took long, as where the machine was busy, the next one is later. */
static void check_soon(struct op_perfmap *map, uint64_t addr, const char *name)
{
	const char *found = NULL;
	int i;

	for (i = 0; i < 10000; i++) {
		found = op_perfmap_find(map, addr);
		if (found && !strcmp(found, name))
			break;
		(void)usleep(1000);
	}
	CHECK_STR(found, name);
}

static void test_ranges(void)
{
	struct op_perfmap *map = NULL;

	fresh("2000 10 second function with blanks\n"
	      "1000 20 first\n"
	      "0x3000 0x8 prefixed\n"
	      "ffffffffffffff00 ff last\n");
	CHECK_OK(op_perfmap_new(open_path, NULL, &map));
	check_none(map, 0xfff);
	CHECK_STR(op_perfmap_find(map, 0x1000), "first");
	CHECK_STR(op_perfmap_find(map, 0x101f), "first");
	check_none(map, 0x1020);
	CHECK_STR(op_perfmap_find(map, 0x200f), "second function with blanks");
	check_none(map, 0x2010);
	CHECK_STR(op_perfmap_find(map, 0x3007), "prefixed");
	CHECK_STR(op_perfmap_find(map, 0xfffffffffffffffe), "last");
	check_none(map, UINT64_MAX);
	op_perfmap_free(map);
}

static void test_later_lines_hold(void)
{
	struct op_perfmap *map = NULL;

	fresh("1000 100 old\n1000 80 new\n1010 10 newest\n5000 10 big\n");
	CHECK_OK(op_perfmap_new(open_path, NULL, &map));
	CHECK_STR(op_perfmap_find(map, 0x1000), "new");
	CHECK_STR(op_perfmap_find(map, 0x1015), "newest");
	CHECK_STR(op_perfmap_find(map, 0x1030), "new");
	check_none(map, 0x1080);
	append("4ff0 100 covers\n");
	check_soon(map, 0x5000, "covers");
	op_perfmap_free(map);
}

static void test_grows_line_by_line(void)
{
	struct op_perfmap *map = NULL;

	fresh("");
	CHECK_OK(op_perfmap_new(open_path, NULL, &map));
	check_none(map, 0x1000);
	append("1000 10 hal");
	check_none(map, 0x1000);
	append("f\n2000 10 next\n");
	check_soon(map, 0x1000, "half");
	CHECK_STR(op_perfmap_find(map, 0x2000), "next");
	/* Begun again in place, then under a new file. */
	CHECK_OK(truncate(path(), 0));
	append("1000 8 again\n");
	check_soon(map, 0x1000, "again");
	check_none(map, 0x2000);
	fresh("1000 8 anew, and longer than before\n");
	CHECK_OK(usleep(1100000)); /* it is looked for once a second */
	check_soon(map, 0x1000, "anew, and longer than before");
	CHECK_OK(unlink(path()));
	check_soon(map, 0x1000, "anew, and longer than before");
	op_perfmap_free(map);
}

static void test_bad_lines_are_left_out(void)
{
	static char longest[200000];
	struct op_perfmap *map = NULL;

	memset(longest, '1', sizeof(longest) - 1);
	fresh("\n \nxyz\n1000\n1000 10\n1000 10 \n1000 0 empty\ng000 10 x\n"
	      "10000000000000000 10 wide\nffffffffffffffff 10 wraps\n1000 100000000 huge\n"
	      "-1 10 x\n");
	append(longest);
	append("\n2000 10 good\n");
	CHECK_OK(op_perfmap_new(open_path, NULL, &map));
	check_none(map, 0x1000);
	check_none(map, UINT64_MAX);
	CHECK_STR(op_perfmap_find(map, 0x2000), "good");
	op_perfmap_free(map);
}

static void test_tabs_and_a_last_line_without_newline(void)
{
	struct op_perfmap *map = NULL;

	fresh("1000\t10\ttabs\n2000 10 last");
	CHECK_OK(op_perfmap_new(open_path, NULL, &map));
	CHECK_STR(op_perfmap_find(map, 0x1000), "tabs");
	check_none(map, 0x2000);
	check_soon(map, 0x2000, "last");
	append(" word\n3000 10 next\n4000 1");
	check_soon(map, 0x3000, "next");
	CHECK_STR(op_perfmap_find(map, 0x2000), "last word");
	CHECK_OK(usleep(1100000));
	check_none(map, 0x4000);
	append("0 whole\n");
	check_soon(map, 0x400f, "whole");
	op_perfmap_free(map);
}

static void test_not_there(void)
{
	struct op_perfmap *map = NULL;

	(void)unlink(path());
	CHECK_INT(op_perfmap_new(open_path, NULL, &map), -ENOENT);
	CHECK(!map);
}

static void test_many_lines_are_bounded(void)
{
	enum {
		LINES = 300000,
		DROPPED = 1 << 17 /* half of what is kept at most */
	};
	struct op_perfmap *map = NULL;
	FILE *f;
	int i;

	fresh("");
	f = fopen(path(), "ae");
	CHECK(f);
	for (i = 0; i < LINES; i++)
		CHECK(fprintf(f, "%x 10 f%d\n", 0x100000 + i * 16, i) > 0);
	CHECK(fclose(f) == 0);
	CHECK_OK(op_perfmap_new(open_path, NULL, &map));
	/* A few ms of it at a time. What is not read yet may name the same code. */
	check_none(map, 0x100000);
	for (i = 0; i < 1000 && !op_perfmap_refused(map); i++) {
		(void)op_perfmap_find(map, 0);
		CHECK_OK(usleep(10000));
	}
	check_soon(map, 0x100000 + (LINES - 1) * 16, "f299999");
	CHECK_STR(op_perfmap_find(map, 0x100000 + DROPPED * 16 + 15), "f131072");
	check_none(map, 0x100000 + (DROPPED - 1) * 16);
	CHECK_INT(op_perfmap_refused(map), DROPPED);
	CHECK(op_perfmap_bytes(map) < 9 << 20);
	op_perfmap_free(map);
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	CHECK_OK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts));
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* A process that writes a line between any two looks costs no sort of all of them each time: that
 * took a second of CPU time, and this takes some milliseconds. */
static void test_growth_is_cheap(void)
{
	enum {
		LINES = 100000,
		GROWTHS = 200,
	};
	struct op_perfmap *map = NULL;
	uint64_t began;
	FILE *f;
	int i;

	fresh("");
	f = fopen(path(), "ae");
	CHECK(f);
	for (i = 0; i < LINES; i++)
		CHECK(fprintf(f, "%x 10 f\n", 0x100000 + (i * 7919 % LINES) * 16) > 0);
	CHECK(fclose(f) == 0);
	CHECK_OK(op_perfmap_new(open_path, NULL, &map));
	began = cpu_ns();
	for (i = 0; i < GROWTHS; i++) {
		append("5000 10 more\n");
		(void)op_perfmap_find(map, 0x5000);
	}
	CHECK(cpu_ns() - began < UINT64_C(250000000));
	op_perfmap_free(map);
}

TEST_MAIN({ "ranges", test_ranges }, { "later_lines_hold", test_later_lines_hold },
	  { "grows_line_by_line", test_grows_line_by_line },
	  { "bad_lines_are_left_out", test_bad_lines_are_left_out },
	  { "tabs_and_a_last_line_without_newline",
	    test_tabs_and_a_last_line_without_newline },
	  { "not_there", test_not_there }, { "growth_is_cheap", test_growth_is_cheap },
	  { "many_lines_are_bounded", test_many_lines_are_bounded })
