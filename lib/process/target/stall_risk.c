/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for FUSE connections and for the setting of userfaultfd. */
#include "process/target/stall_risk.h"

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
	EMPTY_LINKS = 2, /* link count of a directory without subdirectories */
};

static const uint64_t CHECK_NS = UINT64_C(10000000);
/* Only root can change these settings, so they are read less often. */
static const uint64_t SETTLED_NS = UINT64_C(1000000000);
/* A server that starts and stops again and again is seen sooner or later. So one sighting
 * counts for a long time. */
static const uint64_t MEMORY_NS = UINT64_C(600000000000);

/* Can an unprivileged program serve page faults (userfaultfd) on which the
 * kernel waits? */
static bool userfaultfd_is_free(const char *procfs_root)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	struct stat st;
	char c = '1';

	/* since Linux 6.1 every user who may open this device has the privileged form */
	if (stat("/dev/userfaultfd", &st) == 0 && (st.st_mode & (S_IRWXG | S_IRWXO)))
		return true;
	(void)snprintf(path, sizeof(path), "%s/sys/vm/unprivileged_userfaultfd",
		       procfs_root);
	fd = op_open(path, O_RDONLY);
	if (fd < 0)
		return fd != -ENOENT; /* the kernel has no userfaultfd */
	return op_pread_full(fd, &c, 1, 0) != 1 || c != '0';
}

/* Each FUSE connection is a directory in the control file system. Returns 1 if there is
 * one, 0 if not, -errno if this path does not show it. */
static int has_connections(const char *path)
{
	struct statfs fs;
	struct stat st;

	if (statfs(path, &fs) < 0 || stat(path, &st) < 0)
		return -errno;
	if ((uint32_t)fs.f_type != FUSECTL_MAGIC)
		return -ENODEV; /* only the mount point exists */
	return st.st_nlink > EMPTY_LINKS;
}

/*
 * For hosts without a mounted control file system: each mount of FUSE has a backing
 * device that is not a block device, "0:39" or "8:1-fuseblk". So has NFS. Returns like
 * has_connections().
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

/* The ways to see connections, the best one first. */
enum way {
	WAY_OWN,     /* the control file system of our own sysfs */
	WAY_HOST,    /* that of the host's process 1: a container has its own sysfs */
	WAY_DEVICES, /* the backing devices */
};

/* Returns 1 if there are connections, 0 if not, -ENOENT if the kernel has no FUSE,
 * another -errno if this way does not show them. */
static int look(int way, const char *procfs_root)
{
	char path[PATH_MAX];

	if (way == WAY_DEVICES)
		return has_backing_devices("/sys/class/bdi") != 0;
	if (way == WAY_OWN)
		return has_connections("/sys/fs/fuse/connections");
	(void)snprintf(path, sizeof(path), "%s/1/root/sys/fs/fuse/connections",
		       procfs_root);
	return has_connections(path);
}

/* Use the first way from @way on that has an answer. *@ret_way is that way. */
static bool fuse_is_used(int way, const char *procfs_root, int *ret_way)
{
	int r = look(way, procfs_root);

	if (r == -ENODEV && way == WAY_OWN)
		r = look(++way, procfs_root);
	if (r < 0 && r != -ENOENT) {
		way = WAY_DEVICES;
		r = look(way, procfs_root);
	}
	*ret_way = way;
	/* The kernel's FUSE creates the directory of connections. */
	return r != 0 && r != -ENOENT;
}

bool op_stall_risk_seen(struct op_stall_risk *s, const char *procfs_root, uint64_t now_ns)
{
	if (!s->checked_ns || now_ns >= s->checked_ns + CHECK_NS) {
		s->checked_ns = now_ns;
		/* the host's own settings and mounts change rarely */
		if (!s->settled_ns || now_ns >= s->settled_ns + SETTLED_NS) {
			s->settled_ns = now_ns;
			s->pages = userfaultfd_is_free(procfs_root);
			s->way = WAY_OWN;
		}
		if (fuse_is_used(s->way, procfs_root, &s->way) || s->pages)
			s->seen_ns = now_ns;
	}
	return s->seen_ns && now_ns < s->seen_ns + MEMORY_NS;
}
