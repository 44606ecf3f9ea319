/* SPDX-License-Identifier: Apache-2.0 */
#include "process/resource/container.h"

#include "test.h"

#define A64    "aaaabbbbccccddddeeeeffff0000111122223333444455556666777788889999"
#define B64    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID    "1a2b3c4d-1a2b-1a2b-1a2b-1a2b3c4d5e6f"
#define UID2   "9f8e7d6c-5b4a-4938-8271-605f4e3d2c1b"
#define POD    "pod1a2b3c4d_1a2b_1a2b_1a2b_1a2b3c4d5e6f"
#define POD2   "pod9f8e7d6c_5b4a_4938_8271_605f4e3d2c1b"
#define STATIC "b7e5f1f0c2a94b0d8e7f6a5b4c3d2e1f"
#define TASK   "e2e5a9c8d7f64b0e8f1d2c3b4a596877"
#define USER   "/user.slice/user-1000.slice/user@1000.service/user.slice/"

/* The path, what its container has and its pod's UID. NULL: none. */
struct shape {
	const char *path;
	const char *id;
	const char *pod_uid;
	const char *name;
};

/* Where a shape is written down stands in the comment before it. */
static const struct shape shapes[] = {
	/* moby daemon/oci_linux.go: getCgroupsPath: /docker, or docker-ID.scope below
	 * --cgroup-parent */
	{ "/docker/" A64, A64 },
	{ "/system.slice/docker-" A64 ".scope", A64 },
	{ "/my.slice/docker-" A64 ".scope/init.scope", A64 },
	/* docker rootless: the user's systemd */
	{ USER "docker-" A64 ".scope", A64 },
	/* kubelet pkg/kubelet/cm: cgroup_manager_linux.go, pod_container_manager_linux.go */
	{ "/kubepods/burstable/pod" UID "/" A64, A64, UID },
	{ "/kubepods/besteffort/pod" UID "/" A64, A64, UID },
	{ "/kubepods/pod" UID "/" A64, A64, UID },
	{ "/kubepods/burstable/pod" UID, NULL, UID },
	/* a static pod's UID is the MD5 of its manifest: pkg/kubelet/config/common.go */
	{ "/kubepods/burstable/pod" STATIC "/" A64, A64, STATIC },
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" STATIC
	  ".slice/cri-containerd-" A64 ".scope",
	  A64, STATIC },
	/* containerd's CRI plugin, pkg/cri: getCgroupsPath: "SLICE:cri-containerd:ID" */
	{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-" POD
	  ".slice/cri-containerd-" A64 ".scope",
	  A64, UID },
	{ "/kubepods.slice/kubepods-" POD ".slice/cri-containerd-" A64 ".scope", A64,
	  UID },
	/* the same where runc was not told that it is systemd's: containerd issue 4857 */
	{ "/system.slice/containerd.service/kubepods-burstable-" POD
	  ".slice:cri-containerd:" A64,
	  A64, UID },
	/* kubelet --cgroup-root, as kind has it */
	{ "/kubelet/kubepods/besteffort/pod" UID "/" A64, A64, UID },
	/* CRI-O internal/config/cgmgr: crio-ID.scope, or crio-ID with cgroupfs */
	{ "/kubepods.slice/kubepods-" POD ".slice/crio-" A64 ".scope", A64, UID },
	{ "/kubepods.slice/kubepods-" POD ".slice/crio-" A64 ".scope/container", A64,
	  UID },
	{ "/kubepods/burstable/pod" UID "/crio-" A64, A64, UID },
	/* podman: libpod/container_internal_linux.go, getOCICgroupPath */
	{ "/machine.slice/libpod-" A64 ".scope", A64 },
	{ "/machine.slice/libpod-" A64 ".scope/container", A64 },
	{ "/machine.slice/machine-libpod_pod_" B64 ".slice/libpod-" A64
	  ".scope/container",
	  A64 },
	{ USER "libpod-" A64 ".scope/container", A64 },
	{ "/libpod_parent/libpod-" A64, A64 },
	{ "/system.slice/web.service/libpod-payload-" A64, A64 },
	/* nerdctl and containerd's namespaces */
	{ "/default/" A64, A64 },
	{ "/system.slice/nerdctl-" A64 ".scope", A64 },
	/* the agent of ECS: EC2 on cgroup v1 and v2, Fargate */
	{ "/ecs/55091c13-b8cf-4801-b527-f4601742204d/" A64, A64 },
	{ "/ecs/cluster/" TASK "/" A64, A64 },
	{ "/ecstasks.slice/ecstasks-" TASK ".slice/docker-" A64 ".scope", A64 },
	{ "/ecs/" TASK "/" TASK "-1234567890", TASK "-1234567890" },
	/* BuildKit executor/runcexecutor, in a builder container and in the daemon */
	{ "/docker/" A64 "/buildkit/k3n7nwxbpaxk8flqd0t3ogxe0",
	  "k3n7nwxbpaxk8flqd0t3ogxe0" },
	{ "/docker/buildkit/k3n7nwxbpaxk8flqd0t3ogxe0", "k3n7nwxbpaxk8flqd0t3ogxe0" },
	/* Cloud Foundry's garden: handles of its own shape, and UUIDs */
	{ "/system.slice/garden.service/garden/70dfe1ae-d3f0-4f69-7e4c-8e46",
	  "70dfe1ae-d3f0-4f69-7e4c-8e46" },
	{ "/system.slice/garden.service/garden/" UID, UID },
	/* systemd-nspawn(1), machinectl(1); systemd.unit(5) has the escapes */
	{ "/machine.slice/machine-deb.scope/payload/system.slice/cron.service", NULL,
	  NULL, "deb" },
	{ "/machine.slice/machine-my\\x2dbox.scope/payload", NULL, NULL, "my-box" },
	{ "/machine.slice/systemd-nspawn@my\\x2dbox.service/payload/init.scope", NULL,
	  NULL, "my-box" },
	{ "/machine.slice/machine-lxc\\x2d4242\\x2dweb.scope", NULL, NULL,
	  "lxc-4242-web" },
	/* LXC src/lxc/cgroups: lxc.payload.NAME (4), lxc.payload/NAME (3), lxc/NAME */
	{ "/lxc.payload.web/system.slice/cron.service", NULL, NULL, "web" },
	{ "/lxc.payload/web/init.scope", NULL, NULL, "web" },
	{ "/lxc/101/ns/system.slice/cron.service", NULL, NULL, "101" },
	{ USER "lxc.payload.web", NULL, NULL, "web" },
	/* LXD, Incus: a project before the name */
	{ "/lxc.payload.dev_web", NULL, NULL, "dev_web" },
	/* nested: the innermost */
	{ "/docker/" A64 "/kubepods.slice/kubepods-" POD ".slice/cri-containerd-" B64
	  ".scope",
	  B64, UID },
	{ "/docker/" A64 "/docker/" B64, B64 },
	{ "/docker/" A64 "/system.slice/cron.service", A64 },
	{ "/kubepods/burstable/pod" UID "/" A64 "/docker/" B64, B64, UID },
	{ "/kubepods/burstable/pod" UID "/" A64 "/kubelet.slice/kubelet-kubepods.slice/"
	  "kubelet-kubepods-" POD2 ".slice/cri-containerd-" B64 ".scope",
	  B64, UID2 },
	{ "/lxc/101/ns/docker/" A64, A64 },
	{ "/machine.slice/machine-deb.scope/payload/docker/" A64, A64 },
	{ "/docker/" A64 "/lxc.payload.web/init.scope", NULL, NULL, "web" },
	/* as seen from within another cgroup namespace: cgroup_namespaces(7) */
	{ "/../" A64, A64 },
	{ "/../../kubepods-" POD ".slice/cri-containerd-" A64 ".scope", A64, UID },
	{ "/../cri-containerd-" A64 ".scope", A64 },
	/* none */
	{ "/" },
	{ "" },
	{ "/.." },
	{ "/system.slice/sshd.service" },
	{ "/user.slice/user-0.slice/session-1.scope" },
	{ "/machine.slice/libpod-conmon-" A64 ".scope" },
	{ "/kubepods.slice/crio-conmon-" A64 ".scope" },
	{ "/lxc.monitor.web" },
	{ "/machine.slice/machine-deb.scope/supervisor" },
	{ "/machine.slice/systemd-nspawn@deb.service/supervisor" },
	{ "/machine.slice/machine-qemu\\x2d1\\x2dvm.scope/libvirt/emulator" },
	{ "/machine.slice/machine-.scope" },
	{ "/lxc.payload." },
	{ "/docker/" A64 "0" },
	{ "/docker/x" A64 },
	{ "/docker/aaaabbbbccccddddeeeeffff00001111222233334444555566667777888899" },
	{ "/docker/AAAABBBBccccddddeeeeffff0000111122223333444455556666777788889999" },
	{ "/not-e-c-s/" TASK "-1234567890" },
	{ "/ecs/" TASK "-12345x" },
	{ "/ecs/" TASK "-" },
	{ "/buildkit/k3n7nwxbpaxk8flqd0t3ogxe0k" },
	{ "/garden/" TASK },
	{ "/kubepods/burstable/pod" UID "0" },
	{ "/kubepods/burstable/pod1a2b3c4d_1a2b_1a2b_1a2b_1a2b3c4d5e6f" },
	{ "/kubepods/burstable/podman" },
	{ "/kubepods.slice/kubepods-pod" UID ".slice" },
};

static void check_equal(const char *what, const char *got, const char *want)
{
	if (strcmp(got, want ? want : "") != 0)
		TEST_FAIL("%s: \"%s\", not \"%s\"", what, got, want ? want : "");
}

static void test_shapes(void)
{
	size_t i;

	for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		const struct shape *s = &shapes[i];
		struct op_container c = { .id = "untouched" };
		bool found = op_container_of_path(s->path, strlen(s->path), &c);

		if (found != (s->id || s->pod_uid || s->name))
			TEST_FAIL("%s: %s", s->path, found ? "something" : "nothing");
		if (found) {
			check_equal(s->path, c.id, s->id);
			check_equal(s->path, c.pod_uid, s->pod_uid);
			check_equal(s->path, c.name, s->name);
		} else {
			CHECK_STR(c.id, "untouched");
		}
	}
}

static void test_long_names_are_none(void)
{
	char path[400] = "/lxc.payload.";
	struct op_container c;
	size_t fits = strlen(path) + OP_CONTAINER_NAME_MAX - 1;

	memset(path + strlen(path), 'n', sizeof(path) - strlen(path) - 1);
	CHECK(op_container_of_path(path, fits, &c));
	CHECK_INT(strlen(c.name), OP_CONTAINER_NAME_MAX - 1);
	CHECK(!op_container_of_path(path, fits + 1, &c));
}

static bool of_text(const char *text, struct op_container *c, bool *unified)
{
	return op_container_of_text(text, strlen(text), c, unified);
}

static void test_unified_hierarchy_decides(void)
{
	struct op_container c;
	bool unified = false;

	CHECK(of_text("12:memory:/docker/" A64 "\n1:name=systemd:/docker/" A64
		      "\n0::/system.slice/docker-" B64 ".scope\n",
		      &c, &unified));
	CHECK_STR(c.id, B64);
	CHECK(unified);
}

static void test_legacy_hierarchy_is_used(void)
{
	struct op_container c;
	bool unified = true;

	CHECK(of_text("12:memory:/docker/" A64 "\n0::/system.slice/containerd.service\n",
		      &c, &unified));
	CHECK_STR(c.id, A64);
	CHECK(!unified);
	/* a last line without its newline */
	unified = true;
	CHECK(of_text("3:cpu,cpuacct:/kubepods/pod" UID "/" A64, &c, &unified));
	CHECK_STR(c.id, A64);
	CHECK_STR(c.pod_uid, UID);
	CHECK(!unified);
	/* an id is more than a name or a pod alone, wherever it stands */
	CHECK(of_text("0::/lxc.payload.web\n3:cpu:/docker/" A64 "\n", &c, &unified));
	CHECK_STR(c.id, A64);
	CHECK_STR(c.name, "");
	CHECK(of_text("3:cpu:/kubepods/pod" UID "\n0::/kubepods/pod" UID "/" A64 "\n", &c,
		      &unified));
	CHECK_STR(c.id, A64);
	CHECK(unified);
}

static void test_text_without_one(void)
{
	struct op_container c;
	bool unified;

	CHECK(!of_text("", &c, &unified));
	CHECK(!of_text("0::/\n", &c, &unified));
	CHECK(!of_text("no colons\n1:one\n\n::\n", &c, &unified));
	CHECK(!of_text("9:name=systemd:/\n4:memory:/process_api/x\n0::/\n", &c,
		       &unified));
}

static bool hidden(const char *text)
{
	return op_container_hidden(text, strlen(text));
}

static void test_hidden(void)
{
	CHECK(hidden("0::/\n"));
	CHECK(hidden("0::/../..\n"));
	CHECK(hidden("0::/../other.scope\n"));
	CHECK(hidden("4:memory:/\n3:cpu:/\n"));
	CHECK(!hidden("0::/system.slice/cron.service\n"));
	CHECK(!hidden("4:memory:/\n0::/system.slice/cron.service\n"));
	CHECK(!hidden("4:memory:/user.slice\n"));
	CHECK(!hidden(""));
}

static bool of_mounts(const char *text, struct op_container *c)
{
	return op_container_of_mountinfo(text, strlen(text), c);
}

#define MOUNT(root, point)                                                               \
	"700 650 8:1 " root " " point " rw,relatime - ext4 /dev/sda1 rw\n"
#define DOCKER "/var/lib/docker/containers/"
#define PODMAN "/containers/storage/overlay-containers/"

static void test_mounts(void)
{
	struct op_container c;

	/* docker: one folder a container */
	CHECK(of_mounts(MOUNT("/", "/")
				MOUNT(DOCKER A64 "/resolv.conf", "/etc/resolv.conf")
					MOUNT(DOCKER A64 "/hostname", "/etc/hostname")
						MOUNT(DOCKER A64 "/hosts", "/etc/hosts"),
			&c));
	CHECK_STR(c.id, A64);
	CHECK_STR(c.pod_uid, "");
	/* a file system of its own for /var/lib/docker */
	CHECK(of_mounts(MOUNT("/containers/" A64 "/hostname", "/etc/hostname"), &c));
	CHECK_STR(c.id, A64);
	/* podman: the name files of a pod's network are its first container's */
	CHECK(of_mounts(MOUNT(PODMAN B64 "/userdata/resolv.conf", "/etc/resolv.conf")
				MOUNT(PODMAN A64 "/userdata/hostname", "/etc/hostname"),
			&c));
	CHECK_STR(c.id, A64);
	CHECK(!of_mounts(MOUNT(PODMAN B64 "/userdata/hosts", "/etc/hosts"), &c));
	/* Kubernetes: the pod by its hosts file; the folder's id is the sandbox's */
	CHECK(of_mounts(MOUNT("/var/lib/kubelet/pods/" UID "/etc-hosts", "/etc/hosts")
				MOUNT("/var/lib/containerd/io.containerd.grpc.v1.cri/"
				      "sandboxes/" A64 "/hostname",
				      "/etc/hostname"),
			&c));
	CHECK_STR(c.id, "");
	CHECK_STR(c.pod_uid, UID);
	CHECK(of_mounts(MOUNT(PODMAN A64 "/userdata/hostname", "/etc/hostname")
				MOUNT("/kubelet/pods/" UID "/etc-hosts", "/etc/hosts"),
			&c));
	CHECK_STR(c.id, "");
	CHECK_STR(c.pod_uid, UID);
}

static void test_mounts_that_tell_nothing(void)
{
	struct op_container c;

	CHECK(!of_mounts("", &c));
	CHECK(!of_mounts("1 2 3:4 /\n\n   \n", &c));
	/* two containers */
	CHECK(!of_mounts(MOUNT(DOCKER A64 "/resolv.conf", "/etc/resolv.conf")
				 MOUNT(DOCKER B64 "/hostname", "/etc/hostname"),
			 &c));
	/* a container's files, mounted elsewhere */
	CHECK(!of_mounts(MOUNT(DOCKER A64 "/hostname", "/mnt/hostname"), &c));
	CHECK(!of_mounts(MOUNT("/srv/" A64 "/hostname", "/etc/hostname"), &c));
	CHECK(!of_mounts(MOUNT(DOCKER "short/hostname", "/etc/hostname"), &c));
	CHECK(!of_mounts(MOUNT("/var/lib/kubelet/pods/me/etc-hosts", "/etc/hosts"), &c));
	CHECK(!of_mounts(MOUNT("hostname", "/etc/hostname"), &c));
}

TEST_MAIN({ "shapes", test_shapes }, { "long_names", test_long_names_are_none },
	  { "unified", test_unified_hierarchy_decides },
	  { "legacy", test_legacy_hierarchy_is_used }, { "none", test_text_without_one },
	  { "hidden", test_hidden }, { "mounts", test_mounts },
	  { "mounts_none", test_mounts_that_tell_nothing })
