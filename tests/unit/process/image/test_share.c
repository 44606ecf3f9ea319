/* SPDX-License-Identifier: Apache-2.0 */
/* Which files share an image: what is made of one file stands for the others. */
#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macros.h"
#include "process/image/file.h"
#include "process/image/image.h"
#include "test.h"

enum {
	SLABS = 4,
};

static void *slabs[SLABS];

/* A program small enough to be compared. */
static const char program[] = "/bin/true";

static int copy_of_program(void)
{
	int from = open(program, O_RDONLY | O_CLOEXEC);
	int to = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0755);
	struct stat st;
	off_t at = 0;

	CHECK(from >= 0 && to >= 0);
	CHECK(fstat(from, &st) == 0);
	while (at < st.st_size)
		CHECK(sendfile(to, from, &at, (size_t)(st.st_size - at)) > 0);
	CHECK(close(from) == 0);
	return to;
}

static struct op_file_stamp stamp(int fd)
{
	struct stat st;

	CHECK(fstat(fd, &st) == 0);
	return (struct op_file_stamp){
		.dev = st.st_dev,
		.inode = st.st_ino,
		.size = (uint64_t)st.st_size,
		.mtime_ns = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec,
		.ctime_ns = st.st_ctim.tv_sec * INT64_C(1000000000) + st.st_ctim.tv_nsec,
		.uid = 1000,
	};
}

static struct op_image *image_of(struct op_images *x, int fd,
				 const struct op_file_stamp *s)
{
	struct op_image *image;
	struct op_elf *elf;

	CHECK_OK(op_elf_open(fd, &elf));
	CHECK_OK(op_image_new(x, elf, "/lib/x.so", s, &image));
	return image;
}

/* Copies of one owner on one file system share; nobody else's do, with the same bytes. */
static void test_owners(void)
{
	struct op_images x = { 0 };
	struct op_file_stamp s[4];
	struct op_image *image[4];
	int fd[4];
	size_t i;

	op_images_init(&x);
	for (i = 0; i < 4; i++) {
		fd[i] = copy_of_program();
		s[i] = stamp(fd[i]);
	}
	s[2].uid = 1001;
	s[3].dev++;
	for (i = 0; i < 4; i++)
		image[i] = image_of(&x, fd[i], &s[i]);
	CHECK(image[1] == image[0]);
	CHECK(image[2] != image[0]);
	CHECK(image[3] != image[0] && image[3] != image[2]);
	for (i = 0; i < 4; i++)
		op_image_put(&x, image[i], 0);
	op_images_deinit(&x);
}

/* A changed byte, with the build id, head, tail, length and times of the other. */
static void test_forged(void)
{
	struct op_images x = { 0 };
	struct op_image *first;
	struct op_image *second;
	struct op_file_stamp s;
	struct op_file_stamp t;
	int a = copy_of_program();
	int b = copy_of_program();
	char byte;

	op_images_init(&x);
	CHECK(pread(b, &byte, 1, 12000) == 1);
	byte ^= 1;
	CHECK(pwrite(b, &byte, 1, 12000) == 1);
	s = stamp(a);
	t = stamp(b);
	t.mtime_ns = s.mtime_ns;
	first = image_of(&x, a, &s);
	second = image_of(&x, b, &t);
	CHECK(first != second);
	CHECK_STR(first->ids.htlhash, second->ids.htlhash);
	op_image_put(&x, first, 0);
	op_image_put(&x, second, 0);
	op_images_deinit(&x);
}

/* One file below several mounts: the same inode and change time, which nobody can set. */
static void test_mounts(void)
{
	struct op_images x = { 0 };
	struct op_image *first;
	struct op_image *second;
	struct op_file_stamp s;
	struct op_file_stamp t;
	int a = copy_of_program();
	int b = dup(a);

	op_images_init(&x);
	s = t = stamp(a);
	t.dev++;
	first = image_of(&x, a, &s);
	second = image_of(&x, b, &t);
	CHECK(first == second);
	CHECK(op_image_may_read(first, &t));
	/* It has become another one since, of its container: not to be read for the others. */
	t.ctime_ns++;
	CHECK(!op_image_may_read(first, &t));
	/* The owner's own file was renamed. */
	s.ctime_ns++;
	CHECK(op_image_may_read(first, &s));
	s.uid = 0;
	CHECK(!op_image_may_read(first, &s));
	op_image_put(&x, first, 0);
	op_image_put(&x, second, 0);
	op_images_deinit(&x);
}

/* Whoever serves a file tells any inode, any time and, at each read, any content. */
static void test_served(void)
{
	struct op_images x = { 0 };
	struct op_image *first;
	struct op_image *second;
	struct op_file_stamp s;
	struct op_file_stamp t;
	int a = copy_of_program();
	int b = copy_of_program();

	op_images_init(&x);
	s = t = stamp(a);
	t.served = true;
	first = image_of(&x, b, &t);
	second = image_of(&x, a, &s);
	CHECK(first != second);
	CHECK(!op_image_may_read(second, &t));
	CHECK(op_image_may_read(first, &t));
	CHECK(!op_image_may_read(first, &s));
	op_image_put(&x, first, 0);
	op_image_put(&x, second, 0);
	op_images_deinit(&x);
}

static int add_slab(void *ctx, uint32_t index, void **ret)
{
	slabs[index] = *ret = calloc(1, OP_SLAB_BYTES);
	return *ret ? 0 : -ENOMEM;
}

static void free_slabs(void)
{
	size_t i;

	for (i = 0; i < SLABS; i++) {
		free(slabs[i]);
		slabs[i] = NULL;
	}
}

/* The image of a file of user @uid that is no other's, with its table. Returns what making the
 * table returned. */
static int make_table(struct op_images *x, uid_t uid, struct op_image **ret)
{
	static char different;
	int fd = copy_of_program();
	struct op_file_stamp s = stamp(fd);

	different++;
	CHECK(pwrite(fd, &different, 1, 12000) == 1);
	s.uid = uid;
	*ret = image_of(x, fd, &s);
	return op_image_make_table(x, *ret, false, 0, NULL);
}

/* The tables of one user's files take at most half of the memory, however many files it are.
 * Root's are those of the host. */
static void test_share_of_tables(void)
{
	enum {
		FILES = 6,
	};
	static const struct op_arena_ops ops = { .add_slab = add_slab };
	static struct op_unwind_rule memory[OP_UNWIND_RULES_MAX];
	struct op_images x = { 0 };
	struct op_arena_stats stats;
	struct op_image *image[FILES];
	size_t i;

	op_images_init(&x);
	CHECK_OK(op_arena_new(&ops, NULL, SLABS * (uint64_t)OP_SLAB_BYTES, &x.arena));
	CHECK_OK(op_unwind_rules_new(memory, OP_UNWIND_RULES_MAX, &x.rules));
	op_arena_get_stats(x.arena, &stats);
	CHECK_OK(make_table(&x, 1001, &image[0]));
	CHECK(image[0]->table->arena_bytes > 0);
	/* as if it were as large */
	image[0]->table->arena_bytes = stats.room_bytes / 2 + 1;
	CHECK_INT(make_table(&x, 1001, &image[1]), -EDQUOT);
	CHECK_INT(x.tables_failed, 1);
	CHECK_OK(make_table(&x, 1002, &image[2]));
	CHECK_OK(make_table(&x, 0, &image[3]));
	image[3]->table->arena_bytes = stats.room_bytes;
	CHECK_OK(make_table(&x, 0, &image[4]));
	/* It has given some up: there is room for others of its own. */
	image[0]->table->arena_bytes = 4096;
	CHECK_OK(make_table(&x, 1001, &image[5]));
	for (i = 0; i < FILES; i++)
		op_image_put(&x, image[i], 1);
	op_images_deinit(&x);
	op_unwind_rules_free(x.rules);
	op_arena_free(x.arena);
	free_slabs();
}

/* Tables that wait for CPU time, of files that nobody maps any more, give way to another. */
static void test_places_of_jobs(void)
{
	static const struct op_arena_ops ops = { .add_slab = add_slab };
	static struct op_unwind_rule memory[OP_UNWIND_RULES_MAX];
	const uint64_t later = 1 + UINT64_C(3000000000);
	struct op_images x = { 0 };
	struct op_image *image[OP_IMAGES_JOBS_MAX + 2];
	struct op_allowance allowance = { 0 };
	struct op_allowance part;
	size_t i;

	op_images_init(&x);
	CHECK_OK(op_arena_new(&ops, NULL, SLABS * (uint64_t)OP_SLAB_BYTES, &x.arena));
	CHECK_OK(op_unwind_rules_new(memory, OP_UNWIND_RULES_MAX, &x.rules));
	x.allowance = &allowance;
	op_allowance_give_cpu(&allowance, 0);
	for (i = 0; i < OP_ARRAY_SIZE(image); i++) {
		int fd = copy_of_program();
		struct op_file_stamp s = stamp(fd);

		s.uid = (uint32_t)(1001 + i); /* they share nothing */
		image[i] = image_of(&x, fd, &s);
		part = op_allowance_within(NULL, UINT64_MAX);
		CHECK_INT(op_image_make_table(&x, image[i], false, 1 + i, &part),
			  -EINPROGRESS);
	}
	CHECK_INT(x.jobs, OP_IMAGES_JOBS_MAX);
	CHECK(!image[OP_IMAGES_JOBS_MAX]->job.running);
	/* all may go on still */
	CHECK_INT(op_image_make_table(&x, image[OP_IMAGES_JOBS_MAX], false, later, &part),
		  -EINPROGRESS);
	CHECK(!image[OP_IMAGES_JOBS_MAX]->job.running);
	/* and who has no later time waits for none of them */
	CHECK_OK(op_image_make_table(&x, image[OP_IMAGES_JOBS_MAX + 1], false, later,
				     NULL));
	CHECK(image[OP_IMAGES_JOBS_MAX + 1]->table);
	CHECK_INT(x.jobs, OP_IMAGES_JOBS_MAX);
	op_image_close_file(&x, image[3]);
	op_image_close_file(&x, image[5]);
	CHECK_INT(op_image_make_table(&x, image[OP_IMAGES_JOBS_MAX], false, later, &part),
		  -EINPROGRESS);
	CHECK(image[OP_IMAGES_JOBS_MAX]->job.running);
	CHECK(!image[3]->job.running && image[5]->job.running);
	CHECK_INT(x.jobs, OP_IMAGES_JOBS_MAX);
	for (i = 0; i < OP_ARRAY_SIZE(image); i++)
		op_image_put(&x, image[i], 1);
	CHECK_INT(x.jobs, 0);
	op_images_deinit(&x);
	op_unwind_rules_free(x.rules);
	op_arena_free(x.arena);
	free_slabs();
}

TEST_MAIN({ "share_of_tables", test_share_of_tables }, { "owners", test_owners },
	  { "forged", test_forged }, { "mounts", test_mounts }, { "served", test_served },
	  { "places_of_jobs", test_places_of_jobs })
