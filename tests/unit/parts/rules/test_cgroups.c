/* SPDX-License-Identifier: Apache-2.0 */
/* Which control group a rule is of, in a pretended cgroup v2. */
#include <sys/stat.h>

#include "base/log.h"
#include "otelprof/config.h"
#include "parts/rules/cgroup.h"
#include "tools.h"

#define ID    "3f4e1c0a9b2d00112233445566778899aabbccddeeff00112233445566778899"
#define OTHER "c0ffee000b2d00112233445566778899aabbccddeeff00112233445566778899"

static struct op_log log_;
static struct op_rule_groups groups = { .log = &log_ };

/* Two containers, of which one has groups of its own. */
static void make_groups(void)
{
	char *mounts = NULL;

	TOOLS_RUN("mkdir -p self groups/docker-" ID ".scope groups/libpod-" OTHER
		  ".scope/container");
	CHECK(asprintf(&mounts, "30 23 0:26 / %s/groups rw - cgroup2 cgroup2 rw\n",
		       tools_make_dir()) > 0);
	tools_write("self/mountinfo", mounts);
	free(mounts);
	groups.procfs_root = tools_make_dir();
}

static int find(const char *container)
{
	struct op_rule_group group = { 0 };
	int r = op_rule_cgroup(&groups, OTELPROF_MATCH_CONTAINER, container, &group);

	CHECK(r < 0 || group.id);
	CHECK_INT(group.depth, r < 0 ? 0 : 1);
	if (r == 0)
		CHECK_INT(op_rule_cgroup_now(group.path), group.id);
	return r;
}

/* Without the ids of a task's ancestors a rule is of the processes in the group itself. */
static void test_groups_below_a_container(void)
{
	make_groups();
	groups.ancestors = true;
	CHECK_OK(find("3f4e"));
	CHECK_OK(find("c0ff"));
	groups.ancestors = false;
	CHECK_OK(find("3f4e"));
	CHECK_INT(find("c0ff"), -EOPNOTSUPP);
	CHECK(strstr(log_.message, "5.16"));
}

TEST_MAIN({ "below", test_groups_below_a_container })
