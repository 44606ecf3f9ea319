/* SPDX-License-Identifier: Apache-2.0 */
/* Is it seen that a program may serve files on this host, and that none does? */
#include "process/target/stall_risk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "test.h"

enum {
	TRIES = 100,
	PAUSE_US = 100000,
};

/* Mounts of FUSE or of other machines' file systems, of anybody on the host. -1: unknown. */
static int count_servers(void)
{
	DIR *dir = opendir("/sys/class/bdi");
	struct dirent *entry;
	int n = 0;

	if (!dir)
		return -1;
	while ((entry = readdir(dir)))
		n += strncmp(entry->d_name, "0:", 2) == 0 ||
		     strstr(entry->d_name, "fuse") != NULL;
	(void)closedir(dir);
	return n;
}

static bool userfaultfd_is_free(void)
{
	FILE *f = fopen("/proc/sys/vm/unprivileged_userfaultfd", "re");
	int c = f ? fgetc(f) : '0';
	struct stat st;

	if (f)
		(void)fclose(f);
	return c != '0' ||
	       (stat("/dev/userfaultfd", &st) == 0 && (st.st_mode & (S_IRWXG | S_IRWXO)));
}

static bool seen(void)
{
	struct op_stall_risk s = { 0 };

	return op_stall_risk_seen(&s, "/proc", op_clock_monotonic_ns());
}

/* Without any, memory and files are read directly: through the child it takes ten times as
 * long. Other tests may have a mount for a moment. */
static void test_none(void)
{
	int i;

	if (userfaultfd_is_free())
		SKIP("this host lets anybody serve pages");
	for (i = 0; i < TRIES; i++) {
		bool any;

		if (count_servers() == 0) {
			any = seen();
			if (!any)
				return;
			CHECK(count_servers() != 0);
		}
		CHECK_OK(usleep(PAUSE_US));
	}
	SKIP("a file system of FUSE is mounted, or its mounts are not shown");
}

static void test_mounted(void)
{
	char options[128];
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (fd < 0 || unshare(CLONE_NEWNS) < 0)
		SKIP("no FUSE here, or not root");
	CHECK_OK(mount(NULL, "/", "none", MS_REC | MS_PRIVATE, NULL));
	(void)snprintf(options, sizeof(options),
		       "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	CHECK_OK(mount("served", "/mnt", "fuse", MS_NOSUID, options));
	CHECK(seen());
	CHECK_OK(umount2("/mnt", MNT_DETACH));
	CHECK_OK(close(fd));
}

TEST_MAIN({ "none", test_none }, { "mounted", test_mounted })
