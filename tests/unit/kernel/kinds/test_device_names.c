/* SPDX-License-Identifier: Apache-2.0 */
/* The names of block devices, by a pretended sysfs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/kinds/kind.h"
#include "test.h"

enum {
	MAJOR = 7,
	PATH_BYTES = 64,
};

static char root[32];

static const char *path_of(uint32_t minor)
{
	static char path[PATH_BYTES];

	(void)snprintf(path, sizeof(path), "%s/dev/block/%d:%u", root, MAJOR, minor);
	return path;
}

static void make_root(void)
{
	char path[PATH_BYTES];

	(void)snprintf(root, sizeof(root), "device-names-XXXXXX");
	CHECK(mkdtemp(root));
	(void)snprintf(path, sizeof(path), "%s/dev", root);
	CHECK_OK(mkdir(path, 0755));
	(void)snprintf(path, sizeof(path), "%s/dev/block", root);
	CHECK_OK(mkdir(path, 0755));
}

static void remove_root(void)
{
	char path[PATH_BYTES];

	(void)snprintf(path, sizeof(path), "%s/dev/block", root);
	CHECK_OK(rmdir(path));
	(void)snprintf(path, sizeof(path), "%s/dev", root);
	CHECK_OK(rmdir(path));
	CHECK_OK(rmdir(root));
}

static const char *device_name(struct op_kind_names *names, uint32_t minor)
{
	static struct op_kind_attribute a[OP_KIND_ATTRIBUTES_MAX];
	const struct op_kind_sample sample = { .extra = MAJOR << OP_BLOCK_MINOR_BITS |
							minor,
					       .sysfs_root = root,
					       .names = names };

	CHECK_INT(op_kind_block_io.attributes(&sample, a), 2);
	CHECK(!strcmp(a[0].key, "system.device"));
	return a[0].text;
}

/* A device that goes away in a window keeps its name there, and its number is looked up
 * anew in the next. */
static void test_one_name_in_a_window(void)
{
	struct op_kind_names names = { 0 };

	make_root();
	CHECK_OK(symlink("../../devices/virtual/block/loop3", path_of(3)));
	CHECK(!strcmp(device_name(&names, 3), "loop3"));
	CHECK(!strcmp(device_name(&names, 4), "7:4"));
	CHECK_OK(unlink(path_of(3)));
	CHECK(!strcmp(device_name(&names, 3), "loop3"));
	CHECK(!strcmp(device_name(&names, 4), "7:4"));
	names.len = 0;
	CHECK(!strcmp(device_name(&names, 3), "7:3"));
	remove_root();
}

/* More devices than are kept have their names, too. */
static void test_many(void)
{
	struct op_kind_names names = { 0 };
	char want[32];
	uint32_t i;

	make_root();
	for (i = 0; i < 3 * OP_KIND_NAMES_MAX; i++) {
		(void)snprintf(want, sizeof(want), "7:%u", i);
		CHECK(!strcmp(device_name(&names, i), want));
		CHECK(!strcmp(device_name(&names, i), want));
	}
	remove_root();
}

TEST_MAIN({ "window", test_one_name_in_a_window }, { "many", test_many })
