/* SPDX-License-Identifier: Apache-2.0 */
#include "target/servers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

enum {
	FUSECTL_MAGIC = 0x65735543,
	EMPTY_LINKS = 2, /* of a directory without others in it */
};

static const uint64_t CHECK_NS = UINT64_C(10000000);
/* One that comes and goes between two looks is met once in a while: so it stands for long. */
static const uint64_t MEMORY_NS = UINT64_C(600000000000);

/* Does the kernel wait where such a page is one of a program without rights? */
static bool userfaultfd_is_free(const char *procfs_root)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	struct stat st;
	char c = '1';

	/* Since Linux 6.1 who may open this may do as the privileged. */
	if (stat("/dev/userfaultfd", &st) == 0 && (st.st_mode & (S_IRWXG | S_IRWXO)))
		return true;
	(void)snprintf(path, sizeof(path), "%s/sys/vm/unprivileged_userfaultfd",
		       procfs_root);
	fd = op_open(path, O_RDONLY);
	if (fd < 0)
		return fd != -ENOENT; /* the kernel has no userfaultfd */
	return op_pread_full(fd, &c, 1, 0) != 1 || c != '0';
}

/*
 * A connection is a directory in the control file system. Returns 1: there is one; 0: none;
 * -errno where that cannot be told here.
 */
static int has_connections(const char *path)
{
	struct statfs fs;
	struct stat st;

	if (statfs(path, &fs) < 0 || stat(path, &st) < 0)
		return -errno;
	if ((uint32_t)fs.f_type != FUSECTL_MAGIC)
		return -ENODEV; /* the mount point alone */
	return st.st_nlink > EMPTY_LINKS;
}

/*
 * Where the control file system is not mounted: each mount of FUSE has a backing device
 * without a block device, "0:39", or "8:1-fuseblk"; so has NFS. As has_connections().
 */
static int has_backing_devices(const char *path)
{
	_cleanup_closedir_ DIR *dir = opendir(path);
	struct dirent *entry;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir)))
		if (strncmp(entry->d_name, "0:", 2) == 0 || strstr(entry->d_name, "fuse"))
			return 1;
	return 0;
}

static bool fuse_is_used(const char *procfs_root)
{
	char path[PATH_MAX];
	int r = has_connections("/sys/fs/fuse/connections");

	if (r == -ENODEV) {
		/* A container has its own sysfs; process 1 of the host has them all. */
		(void)snprintf(path, sizeof(path), "%s/1/root/sys/fs/fuse/connections",
			       procfs_root);
		r = has_connections(path);
	}
	if (r < 0 && r != -ENOENT)
		r = has_backing_devices("/sys/class/bdi") != 0;
	/* The directory of connections comes with the kernel's FUSE. */
	return r != 0 && r != -ENOENT;
}

bool op_servers_seen(struct op_servers *s, const char *procfs_root, uint64_t now_ns)
{
	if (!s->checked_ns || now_ns >= s->checked_ns + CHECK_NS) {
		s->checked_ns = now_ns;
		if (fuse_is_used(procfs_root) || userfaultfd_is_free(procfs_root))
			s->seen_ns = now_ns;
	}
	return s->seen_ns && now_ns < s->seen_ns + MEMORY_NS;
}
