/* SPDX-License-Identifier: Apache-2.0 */
#include "process/container.h"

#include "test.h"

#define A64 "aaaabbbbccccddddeeeeffff0000111122223333444455556666777788889999"
#define B64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define POD "pod1a2b3c4d_1a2b_1a2b_1a2b_1a2b3c4d5e6f"

struct shape {
	const char *path;
	const char *id; /* NULL: none */
};

static const struct shape shapes[] = {
	{ "/docker/" A64, A64 },
	{ "/system.slice/docker-" A64 ".scope", A64 },
	{ "/kubepods/burstable/pod1a2b3c4d-1a2b-1a2b-1a2b-1a2b3c4d5e6f/" A64, A64 },
	{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-" POD
	  ".slice/cri-containerd-" A64 ".scope",
	  A64 },
	{ "/system.slice/containerd.service/kubepods-burstable-" POD
	  ".slice:cri-containerd:" A64,
	  A64 },
	{ "/kubepods.slice/kubepods-" POD ".slice/crio-" A64 ".scope", A64 },
	{ "/kubepods.slice/kubepods-" POD ".slice/crio-" A64 ".scope/container", A64 },
	{ "/machine.slice/libpod-" A64 ".scope", A64 },
	{ "/machine.slice/libpod-" A64 ".scope/container", A64 },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" A64 ".scope",
	  A64 },
	{ "/default/" A64, A64 },
	{ "/system.slice/nerdctl-" A64 ".scope", A64 },
	{ "/ecs/55091c13-b8cf-4801-b527-f4601742204d/" A64, A64 },
	{ "/ecs/e2e5a9c8d7f64b0e8f1d2c3b4a596877/e2e5a9c8d7f64b0e8f1d2c3b4a596877-1234567890",
	  "e2e5a9c8d7f64b0e8f1d2c3b4a596877-1234567890" },
	/* nested: the innermost */
	{ "/docker/" A64 "/kubepods.slice/" POD "/cri-containerd-" B64 ".scope", B64 },
	{ "/docker/" A64 "/docker/" B64, B64 },
	{ "/docker/" A64 "/system.slice/cron.service", A64 },
	/* as seen from within another cgroup namespace */
	{ "/../" A64, A64 },
	{ "/../../" POD "/cri-containerd-" A64 ".scope", A64 },
	/* none */
	{ "/", NULL },
	{ "", NULL },
	{ "/system.slice/sshd.service", NULL },
	{ "/user.slice/user-0.slice/session-1.scope", NULL },
	{ "/machine.slice/libpod-conmon-" A64 ".scope", NULL },
	{ "/kubepods.slice/crio-conmon-" A64 ".scope", NULL },
	{ "/docker/" A64 "0", NULL },
	{ "/docker/x" A64, NULL },
	{ "/docker/aaaabbbbccccddddeeeeffff00001111222233334444555566667777888899",
	  NULL },
	{ "/docker/AAAABBBBccccddddeeeeffff0000111122223333444455556666777788889999",
	  NULL },
	{ "/not-e-c-s/e2e5a9c8d7f64b0e8f1d2c3b4a596877-1234567890", NULL },
	{ "/ecs/e2e5a9c8d7f64b0e8f1d2c3b4a596877-12345x", NULL },
	{ "/ecs/e2e5a9c8d7f64b0e8f1d2c3b4a596877-", NULL },
};

static void test_shapes(void)
{
	size_t i;

	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		char id[OP_CONTAINER_ID_MAX] = "untouched";
		bool found =
			op_container_of_path(shapes[i].path, strlen(shapes[i].path), id);

		if (found != !!shapes[i].id)
			TEST_FAIL("%s: %s", shapes[i].path, found ? id : "none");
		if (found)
			CHECK_STR(id, shapes[i].id);
		else
			CHECK_STR(id, "untouched");
	}
}

static bool of_text(const char *text, char *id, bool *unified)
{
	return op_container_of_text(text, strlen(text), id, unified);
}

static void test_unified_hierarchy_decides(void)
{
	char id[OP_CONTAINER_ID_MAX];
	bool unified = false;

	CHECK(of_text("12:memory:/docker/" A64 "\n1:name=systemd:/docker/" A64
		      "\n0::/system.slice/docker-" B64 ".scope\n",
		      id, &unified));
	CHECK_STR(id, B64);
	CHECK(unified);
}

static void test_legacy_hierarchy_is_used(void)
{
	char id[OP_CONTAINER_ID_MAX];
	bool unified = true;

	CHECK(of_text("12:memory:/docker/" A64 "\n0::/system.slice/containerd.service\n",
		      id, &unified));
	CHECK_STR(id, A64);
	CHECK(!unified);
	/* a last line without its newline */
	unified = true;
	CHECK(of_text("3:cpu,cpuacct:/kubepods/" POD "/" A64, id, &unified));
	CHECK_STR(id, A64);
	CHECK(!unified);
}

static void test_text_without_one(void)
{
	char id[OP_CONTAINER_ID_MAX];
	bool unified;

	CHECK(!of_text("", id, &unified));
	CHECK(!of_text("0::/\n", id, &unified));
	CHECK(!of_text("no colons\n1:one\n\n::\n", id, &unified));
	CHECK(!of_text("9:name=systemd:/\n4:memory:/process_api/x\n0::/\n", id,
		       &unified));
}

TEST_MAIN({ "shapes", test_shapes }, { "unified", test_unified_hierarchy_decides },
	  { "legacy", test_legacy_hierarchy_is_used }, { "none", test_text_without_one })
