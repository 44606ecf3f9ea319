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
/* Only who has all rights changes these. */
static const uint64_t SETTLED_NS = UINT64_C(1000000000);
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

/* How connections show, the best one first. */
enum way {
	WAY_OWN,     /* in the control file system of our sysfs */
	WAY_HOST,    /* in that of the host's process 1: a container has its own sysfs */
	WAY_DEVICES, /* by backing devices */
};

/* 1: there are some, 0: none; -ENOENT: the kernel has no FUSE; another -errno: it does not
 * show that way. */
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

/* By the first way from @way on that tells; *@ret_way is that one. */
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
	/* The directory of connections comes with the kernel's FUSE. */
	return r != 0 && r != -ENOENT;
}

bool op_servers_seen(struct op_servers *s, const char *procfs_root, uint64_t now_ns)
{
	if (!s->checked_ns || now_ns >= s->checked_ns + CHECK_NS) {
		s->checked_ns = now_ns;
		/* Settings and mounts of the host's own do not change from one look to the next. */
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
