/* SPDX-License-Identifier: Apache-2.0 */
/* Which files are attached to, and how often: the kernel's part is a pretended one here. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "parts/heap/images.h"
#include "parts/probes/attach.h"
#include "test.h"

static int attached; /* calls */
static int loaded;

int __wrap_op_capture_load_heap(struct op_capture *c, bool is_free,
				const struct op_argument argument[OP_ARGUMENTS_MAX],
				struct op_capture_heap *heap);
int __wrap_op_probe_attach(const struct op_probe_spec *spec,
			   const struct op_probe_place *place, uint32_t site, int program,
			   const char *sysfs_root);

int __wrap_op_capture_load_heap(struct op_capture *c, bool is_free,
				const struct op_argument argument[OP_ARGUMENTS_MAX],
				struct op_capture_heap *heap)
{
	loaded++;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int __wrap_op_probe_attach(const struct op_probe_spec *spec,
			   const struct op_probe_place *place, uint32_t site, int program,
			   const char *sysfs_root)
{
	attached++;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int sampler(void)
{
	int fd = open(HEAP_SAMPLER, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

static int copy_of_sampler(void)
{
	int to = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0755);
	int from = sampler();

	CHECK(to >= 0);
	while (sendfile(to, from, NULL, 1 << 20) > 0)
		;
	(void)close(from);
	return to;
}

/* One file is attached once, by whatever names it is mapped, until nobody maps it by any
 * of them; a copy is another file. */
static void test_one_file_once(void)
{
	struct op_heap_images *x = calloc(1, sizeof(*x));
	struct op_executables *executables = calloc(1, sizeof(*executables));
	struct op_executable *exe[3];
	uint32_t i;
	int once;

	CHECK(x && executables);
	op_executables_init(executables);
	op_heap_images_init(x);
	x->executables = executables;
	for (i = 0; i < 3; i++)
		CHECK_OK(op_executable_get(executables, 0, i + 1, 7, "/a", &exe[i]));

	CHECK_INT(op_heap_images_add(x, exe[0], sampler()), 1);
	once = attached;
	CHECK(once > 0);
	CHECK_INT(op_heap_images_add(x, exe[1], sampler()), 0);
	CHECK_INT(op_heap_images_add(x, exe[1], sampler()), 0);
	CHECK_INT(attached, once);
	CHECK_INT(x->len, 1);
	CHECK_INT(op_heap_images_add(x, exe[2], copy_of_sampler()), 1);
	CHECK_INT(attached, 2 * once);

	op_executable_put(executables, exe[0]);
	op_heap_images_trim(x);
	CHECK_INT(x->len, 2);
	op_executable_put(executables, exe[1]);
	op_heap_images_trim(x);
	CHECK_INT(x->len, 1);

	/* the installed one stays, though a process maps it and ends */
	CHECK_INT(op_heap_images_add(x, NULL, sampler()), 1);
	CHECK_INT(attached, 3 * once);
	CHECK_OK(op_executable_get(executables, 0, 1, 7, "/a", &exe[0]));
	CHECK_INT(op_heap_images_add(x, exe[0], sampler()), 0);
	CHECK_INT(attached, 3 * once);
	op_executable_put(executables, exe[0]);
	op_executable_put(executables, exe[2]);
	op_heap_images_trim(x);
	CHECK_INT(x->len, 1);

	op_heap_images_deinit(x);
	op_executables_deinit(executables);
	free(executables);
	free(x);
}

/* What the kernel verifies for long is there before the first file: a poll loads nothing. */
static void test_programs_are_there_before(void)
{
	struct op_heap_images *x = calloc(1, sizeof(*x));
	struct op_executables *executables = calloc(1, sizeof(*executables));
	struct op_executable *exe = NULL;

	CHECK(x && executables);
	op_executables_init(executables);
	op_heap_images_init(x);
	x->executables = executables;
	CHECK_OK(op_executable_get(executables, 0, 1, 7, "/a", &exe));
	loaded = 0;
	op_heap_images_prepare(x);
	CHECK_INT(loaded, 2);
	CHECK_INT(op_heap_images_add(x, exe, sampler()), 1);
	CHECK_INT(loaded, 2);
	op_executable_put(executables, exe);
	op_heap_images_deinit(x);
	op_executables_deinit(executables);
	free(executables);
	free(x);
}

TEST_MAIN({ "one_file_once", test_one_file_once },
	  { "programs_are_there_before", test_programs_are_there_before })
