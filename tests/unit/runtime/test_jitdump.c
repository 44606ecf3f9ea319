/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a jitdump file, built by hand from the specification. */
#include "runtime/jitdump/dump.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "runtime/runtime.h"

#include "test.h"

static uint8_t file[1 << 16];
static size_t len;

static void add(const void *bytes, size_t n)
{
	CHECK(len + n <= sizeof(file));
	memcpy(file + len, bytes, n);
	len += n;
}

static void add_u32(uint32_t v)
{
	add(&v, sizeof(v));
}

static void add_u64(uint64_t v)
{
	add(&v, sizeof(v));
}

static size_t begin(uint32_t id)
{
	size_t at = len;

	add_u32(id);
	add_u32(0);
	add_u64(12345); /* a time */
	return at;
}

static void end(size_t at)
{
	uint32_t size = (uint32_t)(len - at);

	memcpy(file + at + 4, &size, sizeof(size));
}

static void load(uint64_t addr, uint64_t size, uint64_t index, const char *name)
{
	static const uint8_t code[32];
	size_t at = begin(0);

	add_u32(7);
	add_u32(8);
	add_u64(0xbad); /* vma: not where it is */
	add_u64(addr);
	add_u64(size);
	add_u64(index);
	add(name, strlen(name) + 1);
	add(code, sizeof(code));
	end(at);
}

static void move(uint64_t from, uint64_t to, uint64_t index)
{
	size_t at = begin(1);

	add_u32(7);
	add_u32(8);
	add_u64(to);
	add_u64(from);
	add_u64(to);
	add_u64(16);
	add_u64(index);
	end(at);
}

struct line {
	uint64_t addr;
	uint32_t line;
	const char *file;
};

static void lines(uint64_t addr, const struct line *l, size_t n)
{
	size_t at = begin(2);
	size_t i;

	add_u64(addr);
	add_u64(n);
	for (i = 0; i < n; i++) {
		add_u64(l[i].addr);
		add_u32(l[i].line);
		add_u32(3);
		add(l[i].file, strlen(l[i].file) + 1);
	}
	end(at);
}

/* Take all that is there; returns what was taken. */
static size_t take(struct op_jitdump *d)
{
	size_t at = 0;

	while (at < len) {
		int64_t n = op_jitdump_record(d, file + at, len - at, len - at);

		if (n <= 0)
			break;
		at += (size_t)n;
	}
	return at;
}

static void fresh(struct op_jitdump *d)
{
	len = 0;
	op_jitdump_init(d);
}

static const char *name_at(struct op_jitdump *d, uint64_t addr)
{
	struct op_jitdump_found found;

	return op_jitdump_find(d, addr, &found) == 1 ? found.name : "";
}

static uint32_t line_at(struct op_jitdump *d, uint64_t addr, const char *path)
{
	struct op_jitdump_found found;

	CHECK_INT(op_jitdump_find(d, addr, &found), 1);
	CHECK_STR(found.file, path);
	return found.line;
}

static void test_header(void)
{
	uint32_t words[10] = { 0x4a695444, 1, 40, 62 };

	CHECK_INT(op_jitdump_header(words, sizeof(words)), 40);
	CHECK_INT(op_jitdump_header(words, sizeof(words) - 1), 0);
	words[2] = 48; /* a later writer's may be longer */
	CHECK_INT(op_jitdump_header(words, sizeof(words)), 48);
	words[2] = 39;
	CHECK_INT(op_jitdump_header(words, sizeof(words)), 0);
	words[2] = 40;
	words[1] = 2;
	CHECK_INT(op_jitdump_header(words, sizeof(words)), 0);
	words[1] = 1;
	words[0] = 0x4454694a; /* of the other byte order */
	CHECK_INT(op_jitdump_header(words, sizeof(words)), 0);
}

static void test_loads(void)
{
	struct op_jitdump d;

	fresh(&d);
	load(0x2000, 0x10, 1, "second");
	load(0x1000, 0x20, 2, "first");
	load(0x3000, 0, 3, "empty");
	load(0x4000, 8, 4, "");
	load(UINT64_MAX - 3, 8, 5, "past the end");
	CHECK_INT(take(&d), len);
	CHECK_STR(name_at(&d, 0xfff), "");
	CHECK_STR(name_at(&d, 0x1000), "first");
	CHECK_STR(name_at(&d, 0x101f), "first");
	CHECK_STR(name_at(&d, 0x1020), "");
	CHECK_STR(name_at(&d, 0x2008), "second");
	CHECK_STR(name_at(&d, 0x3000), "");
	CHECK_STR(name_at(&d, 0x4000), "");
	CHECK_STR(name_at(&d, UINT64_MAX - 1), "");
	/* memory that is used again, at the same place and amid what was there */
	len = 0;
	load(0x1000, 0x10, 6, "again");
	load(0x2004, 4, 7, "amid");
	CHECK_INT(take(&d), len);
	CHECK_STR(name_at(&d, 0x1008), "again");
	CHECK_STR(name_at(&d, 0x1018), "");
	CHECK_STR(name_at(&d, 0x2003), "second");
	CHECK_STR(name_at(&d, 0x2004), "amid");
	CHECK_STR(name_at(&d, 0x2008), "second");
	op_jitdump_deinit(&d);
}

static void test_moves(void)
{
	struct op_jitdump d;

	fresh(&d);
	load(0x1000, 0x10, 1, "code");
	move(0x1000, 0x5000, 1);
	move(0x1000, 0x6000, 1); /* it is not there any more */
	move(0x5000, 0x7000, 2); /* no such code */
	CHECK_INT(take(&d), len);
	CHECK_STR(name_at(&d, 0x1000), "");
	CHECK_STR(name_at(&d, 0x5000), "code");
	CHECK_STR(name_at(&d, 0x6000), "");
	CHECK_STR(name_at(&d, 0x7000), "");
	len = 0;
	move(0x5000, 0x1000, 1); /* and back, when it was looked for already */
	CHECK_INT(take(&d), len);
	CHECK_STR(name_at(&d, 0x1008), "code");
	CHECK_STR(name_at(&d, 0x5000), "");
	op_jitdump_deinit(&d);
}

static void test_lines(void)
{
	static const struct line known[] = {
		{ 0x1000, 10, "a.src" },
		{ 0x1008, 12, "\xff" },
		{ 0x1004, 11, "b.src" },
	};
	static const struct line v8[] = { { 0x2040, 5, "v.js" }, { 0x2048, 6, "v.js" } };
	static const struct line wild[] = { { 0x3000, 1, "w" },
					    { 0x123456789abcdef0, 2, "w" } };
	static const struct line lost[] = { { 0x9000, 1, "lost" } };
	struct op_jitdump d;

	fresh(&d);
	lines(0x9000, lost, 1); /* whose code never comes */
	lines(0x1000, known, 3);
	load(0x1000, 0x10, 1, "code");
	lines(0x2000, v8, 2);
	load(0x2000, 0x10, 2, "v8");
	lines(0x3000, wild, 2);
	load(0x3000, 0x10, 3, "wild");
	load(0x1100, 0x10, 4, "none");
	CHECK_INT(take(&d), len);
	CHECK_INT(line_at(&d, 0x1000, "a.src"), 10);
	CHECK_INT(line_at(&d, 0x1003, "a.src"), 10);
	CHECK_INT(line_at(&d, 0x1004, "b.src"), 11);
	CHECK_INT(line_at(&d, 0x100f, "a.src"), 12);
	CHECK_INT(line_at(&d, 0x2000, "v.js"), 5);
	CHECK_INT(line_at(&d, 0x2008, "v.js"), 6);
	CHECK_INT(line_at(&d, 0x3000, ""), 0);
	CHECK_INT(line_at(&d, 0x1100, ""), 0);
	CHECK_INT(d.lines.len, 5);
	op_jitdump_deinit(&d);
}

static void test_close_and_unknown(void)
{
	struct op_jitdump d;

	fresh(&d);
	end(begin(4)); /* unwinding data */
	end(begin(99));
	CHECK_INT(take(&d), len);
	CHECK(!d.closed);
	end(begin(3));
	CHECK_INT(take(&d), len);
	CHECK(d.closed);
	op_jitdump_deinit(&d);
}

/* Cut anywhere it is waited for; what a writer cannot have meant is an error. */
static void test_cut_and_damaged(void)
{
	struct op_jitdump d;
	size_t i;

	fresh(&d);
	load(0x1000, 0x10, 1, "code");
	for (i = 0; i < len; i++)
		CHECK_INT(op_jitdump_record(&d, file, i, i), 0);
	CHECK_INT(d.entries.len, 0);
	/* the code of a long record need not be at hand */
	CHECK_INT(op_jitdump_record(&d, file, len - 20, len), len);
	CHECK_STR(name_at(&d, 0x1000), "code");
	/* but its name must be */
	CHECK_INT(op_jitdump_record(&d, file, 58, len), -EBADMSG);
	file[4] = 15;
	CHECK_INT(op_jitdump_record(&d, file, len, len), -EBADMSG);
	op_jitdump_deinit(&d);
}

static void test_limits(void)
{
	struct op_jitdump d;
	uint32_t i;

	fresh(&d);
	for (i = 0; i < OP_JITDUMP_ENTRIES_MAX + 10; i++) {
		len = 0;
		load(0x1000 + (uint64_t)i * 16, 16, i, "a name that is somewhat long");
		CHECK_INT(take(&d), len);
	}
	/* the older half went when one more came */
	CHECK(d.dropped >= OP_JITDUMP_ENTRIES_MAX / 2);
	CHECK_STR(name_at(&d, 0x1000), "");
	CHECK_STR(name_at(&d, 0x1000 + (uint64_t)(i - 1) * 16),
		  "a name that is somewhat long");
	CHECK_STR(name_at(&d, 0x1000 + (uint64_t)(i / 2 + 10) * 16),
		  "a name that is somewhat long");
	CHECK(op_jitdump_bytes(&d) < 12 << 20);
	op_jitdump_deinit(&d);
}

static int opened = -1;

static int open_again(const struct op_runtime_target *target)
{
	return dup(opened);
}

/* What the file at @path, which is @fd, tells of an address once @later was written to it. */
static int probe_and_find(const char *path, int fd, const void *later, size_t later_len,
			  struct op_runtime_frame *ret)
{
	const struct op_runtime_ops *ops = op_runtime_get(OP_RUNTIME_JITDUMP);
	struct op_runtime_target target = { .pid = 1, .open_self = open_again };
	void *image = NULL;
	void *instance = NULL;
	int r = ops->probe_other(fd, path, NULL, &image);

	if (r <= 0)
		return r;
	opened = fd;
	CHECK_OK(ops->attach(image, &target, NULL, NULL, &instance));
	CHECK_INT(pwrite(fd, later, later_len, 0), (ssize_t)later_len);
	r = ops->describe_code(instance, &target, 0x1008, ret);
	ops->detach(instance);
	free(image);
	return r;
}

/* LLVM maps its file before it writes to it. */
static void test_empty(void)
{
	static const uint32_t header[10] = { 0x4a695444, 1, 40, 62 };
	static const uint32_t other[10];
	struct op_runtime_frame frame = { 0 };
	FILE *f = tmpfile();
	int fd;

	CHECK(f);
	fd = fileno(f);
	len = 0;
	add(header, sizeof(header));
	load(0x1000, 16, 1, "made");
	CHECK_INT(probe_and_find("/tmp/jit-7.dump", fd, file, len, &frame), 1);
	CHECK_INT(frame.len, 1);
	CHECK_INT(ftruncate(fd, 0), 0);
	CHECK_INT(probe_and_find("/tmp/jit-7.dump", fd, file, 8, &frame), 0);
	CHECK_INT(ftruncate(fd, 0), 0);
	CHECK_INT(probe_and_find("/tmp/jit-7.dump", fd, other, sizeof(other), &frame), 0);
	CHECK_INT(ftruncate(fd, 0), 0);
	CHECK_INT(probe_and_find("/tmp/other", fd, file, len, &frame), 0);
	(void)fclose(f);
}

TEST_MAIN({ "empty", test_empty }, { "header", test_header }, { "loads", test_loads },
	  { "moves", test_moves }, { "lines", test_lines },
	  { "close_and_unknown", test_close_and_unknown },
	  { "cut_and_damaged", test_cut_and_damaged }, { "limits", test_limits })
