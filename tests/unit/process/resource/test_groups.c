/* SPDX-License-Identifier: Apache-2.0 */
/* Containers and pods in a tree of directories as container managers make them. */
#include "process/resource/groups.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

#define ID_A  "3f4e1c0a9b2d00112233445566778899aabbccddeeff00112233445566778899"
#define ID_B  "3f4e77777b2d00112233445566778899aabbccddeeff00112233445566778899"
#define ID_C  "c0ffee000b2d00112233445566778899aabbccddeeff00112233445566778899"
#define ID_D  "d0d0d0000b2d00112233445566778899aabbccddeeff00112233445566778899"
#define ID_E  "e0e0e0000b2d00112233445566778899aabbccddeeff00112233445566778899"
#define UID_A "5d2a3c1e-1b2c-4d5e-8f90-0a1b2c3d4e5f"
#define UID_B "77777777-1b2c-4d5e-8f90-0a1b2c3d4e5f"
#define POD                                                                              \
	"/kubepods.slice/kubepods-burstable.slice/"                                      \
	"kubepods-burstable-pod5d2a3c1e_1b2c_4d5e_8f90_0a1b2c3d4e5f.slice"

static char root[] = "/tmp/otelprof-container.XXXXXX";

static void make(const char *path)
{
	char text[1024];
	char *slash;

	(void)snprintf(text, sizeof(text), "%s%s", root, path);
	for (slash = text + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		(void)mkdir(text, 0700);
		*slash = '/';
	}
	CHECK_INT(mkdir(text, 0700), 0);
}

static void remove_tree(void)
{
	char command[256];

	(void)snprintf(command, sizeof(command), "rm -rf %s", root);
	CHECK_INT(system(command), 0);
}

static void check_is(const char *wanted, const char *path)
{
	char found[OP_GROUP_PATH_MAX];

	CHECK_INT(op_groups_container(root, wanted, found), 0);
	CHECK_STR(found, path);
}

static void check_none(const char *wanted, int error)
{
	char found[OP_GROUP_PATH_MAX];

	CHECK_INT(op_groups_container(root, wanted, found), error);
}

static void test_ids(void)
{
	check_is("3f4e1", "/system.slice/docker-" ID_A ".scope");
	check_is(ID_A, "/system.slice/docker-" ID_A ".scope");
	check_is("c0ffee", POD "/cri-containerd-" ID_C ".scope");
	check_is("d0d0", "/docker/" ID_D);
	check_none("3f4e", -EEXIST);
	check_none("3f4f", -ENOENT);
	check_none("c0f", -ENOENT); /* too short to mean one */
	check_none("", -ENOENT);
	check_none(ID_A "0", -ENOENT);
}

static void test_names(void)
{
	check_is("web", "/machine.slice/machine-web.scope");
	check_is("my-box", "/machine.slice/machine-my\\x2dbox.scope");
	check_is("old", "/lxc.payload.old");
	check_is("job-1", "/user.slice/runc-job-1.scope");
	check_is("plain", "/plain");
	check_none("monitor", -ENOENT);
	check_none("machine-we", -ENOENT);
}

static void check_pod(const char *uid, int error, const char *path)
{
	char found[OP_GROUP_PATH_MAX] = "";

	CHECK_INT(op_groups_pod(root, uid, found), error);
	CHECK_STR(found, path);
}

static void test_pods(void)
{
	check_pod(UID_A, 0, POD);
	check_pod(UID_B, 0, "/kubepods/besteffort/pod" UID_B);
	check_pod("5d2a3c1e", -ENOENT, ""); /* not the whole of it */
	check_pod("", -ENOENT, "");
}

static void test_no_mount(void)
{
	char found[OP_GROUP_PATH_MAX];

	CHECK_INT(op_groups_container("/nonexistent", "web", found), -ENOENT);
}

static void set_up(void)
{
	if (!mkdtemp(root))
		TEST_FAIL("mkdtemp: %s", strerror(errno));
	/* What is inside of a container is a part of it. */
	make("/system.slice/docker-" ID_A ".scope/docker-" ID_A ".scope");
	make("/machine.slice/libpod-" ID_B ".scope");
	make("/machine.slice/libpod-conmon-" ID_B ".scope");
	make(POD "/cri-containerd-" ID_C ".scope");
	make(POD "/crio-conmon-" ID_C ".scope");
	make("/docker/" ID_D);
	make("/kubepods/besteffort/pod" UID_B "/" ID_E);
	make("/machine.slice/machine-web.scope");
	make("/machine.slice/machine-my\\x2dbox.scope");
	make("/lxc.payload.old");
	make("/lxc.monitor.monitor");
	make("/user.slice/runc-job-1.scope");
	make("/plain");
}

TEST_MAIN({ "set_up", set_up }, { "ids", test_ids }, { "names", test_names },
	  { "pods", test_pods }, { "no_mount", test_no_mount },
	  { "remove_tree", remove_tree })
