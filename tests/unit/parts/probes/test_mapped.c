/* SPDX-License-Identifier: Apache-2.0 */
/* Which files are attached to, and how often: the kernel's part is a pretended one here. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "code/elf/file.h"
#include "parts/probes/attach.h"
#include "parts/probes/mapped_probes.h"
#include "process/image/executable.h"
#include "test.h"

static int attached; /* calls */
static int loaded;

int __wrap_op_probe_attach(const struct op_probe_spec *spec,
			   const struct op_probe_place *place, uint32_t site, int program,
			   const char *sysfs_root);

int __wrap_op_probe_attach(const struct op_probe_spec *spec,
			   const struct op_probe_place *place, uint32_t site, int program,
			   const char *sysfs_root)
{
	attached++;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static int load(void *ctx, size_t i, const struct op_argument argument[OP_ARGUMENTS_MAX])
{
	loaded++;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static const struct op_mapped_probe ALLOCATIONS[] = {
	{ OP_PROBE_STATIC, "otel_memory", "free", .arguments = 1, .optional = true },
	{ OP_PROBE_STATIC, "otel_memory", "alloc", .arguments = 3 },
};
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

static struct op_mapped_probes *probes_new(struct op_executables *executables)
{
	struct op_mapped_probes *x = calloc(1, sizeof(*x));

	CHECK(x);
	x->config.executables = executables;
	x->config.what = "tests";
	x->config.probe = ALLOCATIONS;
	x->config.len = 2;
	x->config.load = load;
	return x;
}

static int attach_fd(struct op_mapped_probes *x, struct op_executable *exe, int fd)
{
	struct op_elf *elf = NULL;
	int r;

	CHECK_OK(op_elf_open(fd, &elf));
	r = op_mapped_probes_attach(x, exe, elf);
	op_elf_free(elf);
	return r;
}

/* One file is attached once, by whatever names it is mapped, until nobody maps it by any
 * of them; a copy is another file. */
static void test_one_file_once(void)
{
	struct op_executables *executables = calloc(1, sizeof(*executables));
	struct op_mapped_probes *x = probes_new(executables);
	struct op_executable *exe[3];
	uint32_t i;
	int once;

	CHECK(executables);
	op_executables_init(executables);
	for (i = 0; i < 3; i++)
		CHECK_OK(op_executable_get(executables,
					   &(struct op_file_key){ 0, i + 1, 7, 0 }, "/a",
					   &exe[i]));

	CHECK_INT(attach_fd(x, exe[0], sampler()), 1);
	once = attached;
	CHECK(once > 0);
	CHECK_INT(attach_fd(x, exe[1], sampler()), 0);
	CHECK_INT(attach_fd(x, exe[1], sampler()), 0);
	CHECK_INT(attached, once);
	CHECK_INT(x->len, 1);
	CHECK_INT(attach_fd(x, exe[2], copy_of_sampler()), 1);
	CHECK_INT(attached, 2 * once);

	op_executable_put(executables, exe[0]);
	op_mapped_probes_trim(x, &x, 1);
	CHECK_INT(x->len, 2);
	op_executable_put(executables, exe[1]);
	op_mapped_probes_trim(x, &x, 1);
	CHECK_INT(x->len, 1);

	/* the installed one stays, though a process maps it and ends */
	CHECK_INT(attach_fd(x, NULL, sampler()), 1);
	CHECK_INT(attached, 3 * once);
	CHECK_OK(op_executable_get(executables, &(struct op_file_key){ 0, 1, 7, 0 }, "/a",
				   &exe[0]));
	CHECK_INT(attach_fd(x, exe[0], sampler()), 0);
	CHECK_INT(attached, 3 * once);
	op_executable_put(executables, exe[0]);
	op_executable_put(executables, exe[2]);
	op_mapped_probes_trim(x, &x, 1);
	CHECK_INT(x->len, 1);

	op_mapped_probes_clear(x);
	op_executables_deinit(executables);
	free(executables);
	free(x);
}

/* A program is loaded once for all files whose arguments are at the same places. */
static void test_one_program_for_the_same_places(void)
{
	struct op_executables *executables = calloc(1, sizeof(*executables));
	struct op_mapped_probes *x = probes_new(executables);
	struct op_executable *exe[2];
	uint32_t i;

	CHECK(executables);
	op_executables_init(executables);
	for (i = 0; i < 2; i++)
		CHECK_OK(op_executable_get(executables,
					   &(struct op_file_key){ 0, i + 1, 7, 0 }, "/a",
					   &exe[i]));
	loaded = 0;
	CHECK_INT(attach_fd(x, exe[0], sampler()), 1);
	CHECK_INT(loaded, 2);
	CHECK_INT(attach_fd(x, exe[1], copy_of_sampler()), 1);
	CHECK_INT(loaded, 2);
	for (i = 0; i < 2; i++)
		op_executable_put(executables, exe[i]);
	op_mapped_probes_clear(x);
	op_executables_deinit(executables);
	free(executables);
	free(x);
}

/* What two users hold and nobody maps goes from both. */
static void test_trim_of_two(void)
{
	struct op_executables *executables = calloc(1, sizeof(*executables));
	struct op_mapped_probes *x[2];
	struct op_executable *exe = NULL;
	uint32_t i;

	CHECK(executables);
	op_executables_init(executables);
	CHECK_OK(op_executable_get(executables, &(struct op_file_key){ 0, 1, 7, 0 }, "/a",
				   &exe));
	for (i = 0; i < 2; i++) {
		x[i] = probes_new(executables);
		CHECK_INT(attach_fd(x[i], exe, sampler()), 1);
	}
	for (i = 0; i < 2; i++)
		op_mapped_probes_trim(x[i], x, 2);
	CHECK(x[0]->len == 1 && x[1]->len == 1);
	op_executable_put(executables, exe);
	for (i = 0; i < 2; i++)
		op_mapped_probes_trim(x[i], x, 2);
	CHECK(!x[0]->len && !x[1]->len);
	for (i = 0; i < 2; i++) {
		op_mapped_probes_clear(x[i]);
		free(x[i]);
	}
	op_executables_deinit(executables);
	free(executables);
}

TEST_MAIN({ "one_file_once", test_one_file_once },
	  { "one_program_for_the_same_places", test_one_program_for_the_same_places },
	  { "trim_of_two", test_trim_of_two })
