/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up containers of processes, and caches them by cgroup. */
#include "process/resource/membership.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/macros.h"
#include "process/resource/identity.h"

enum {
	CGROUP_FILE_MAX = 65536,
	MOUNTINFO_MAX = 1 << 20,
	CGROUP_ROOT_ID = 1,
};

/* Inodes of the kernel's initial namespaces: PID by include/linux/proc_ns.h,
 * PROC_PID_INIT_INO; mount (since 6.18) by include/uapi/linux/nsfs.h, MNT_NS_INIT_INO. */
static const uint64_t FIRST_PID_NAMESPACE = UINT64_C(0xEFFFFFFC);
static const uint64_t FIRST_MOUNT_NAMESPACE = UINT64_C(0xEFFFFFF8);

uint64_t op_namespace_inode(const char *procfs_root, const char *process,
			    const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/%s/ns/%s", procfs_root, process, name);
	return stat(path, &st) < 0 ? 0 : st.st_ino;
}

bool op_in_first_pid_namespace(const char *procfs_root, const char *process)
{
	return op_namespace_inode(procfs_root, process, "pid") == FIRST_PID_NAMESPACE;
}

bool op_in_first_mount_namespace(const char *procfs_root)
{
	return op_namespace_inode(procfs_root, "self", "mnt") == FIRST_MOUNT_NAMESPACE;
}

static bool is_in_mounts(const struct op_memberships *m, uint32_t pid)
{
	char process[16];

	(void)snprintf(process, sizeof(process), "%u", pid);
	return op_namespace_inode(m->procfs_root, process, "mnt") == m->host_mounts;
}

/*
 * This text of /proc/PID/cgroup names no container. Is that true for each process of the
 * cgroup? Not if there are hierarchies of version 1, which may name one, or if the path
 * is hidden, because then the mounts decide.
 */
static bool is_of_none(const char *text, size_t len)
{
	const char *newline = memchr(text, '\n', len);

	return strncmp(text, "0::", 3) == 0 && (!newline || newline == text + len - 1) &&
	       !op_container_hidden(text, len);
}

void op_memberships_init(struct op_memberships *m, const char *procfs_root,
			 const char *sysfs_root)
{
	*m = (struct op_memberships){ .procfs_root = procfs_root,
				      .sysfs_root = sysfs_root };
	/* Process 1 of another PID namespace may be in a container itself. */
	if (op_in_first_pid_namespace(procfs_root, "1"))
		m->host_mounts = op_namespace_inode(procfs_root, "1", "mnt");
	else if (op_in_first_mount_namespace(procfs_root))
		m->host_mounts = FIRST_MOUNT_NAMESPACE;
}

static void forget_cgroups(struct op_memberships *m)
{
	uint64_t value;
	size_t at = 0;

	while (op_map64_next(&m->by_cgroup, &at, &value))
		(void)op_membership_put((struct op_membership *)(uintptr_t)value);
	op_map64_clear(&m->by_cgroup);
}

void op_memberships_deinit(struct op_memberships *m)
{
	forget_cgroups(m);
}

struct op_membership *op_membership_ref(struct op_membership *s)
{
	s->refs++;
	return s;
}

struct op_membership *op_membership_put(struct op_membership *s)
{
	if (s && --s->refs == 0)
		free(s);
	return NULL;
}

/* Use the mounts if a cgroup namespace hides the path. Not for the host's own processes,
 * whose cgroup may really be "/". */
static bool by_mounts(const struct op_memberships *m, uint32_t pid,
		      struct op_container *ret)
{
	_cleanup_free_ char *text = NULL;
	ssize_t len;

	if (m->host_mounts && is_in_mounts(m, pid))
		return false;
	len = op_procfs_read(m->procfs_root, pid, "mountinfo", MOUNTINFO_MAX, &text);
	return len > 0 && op_container_of_mountinfo(text, (size_t)len, ret);
}

/*
 * Is @cgroup the one that this text of /proc/PID/cgroup names? The process may have moved
 * since it was first seen: runc does so before it executes the container's program. A
 * cgroup's id is the inode of its folder.
 */
static bool is_cgroup(const struct op_memberships *m, const char *text, size_t len,
		      uint64_t cgroup)
{
	static const char *const mounts[] = { "fs/cgroup", "fs/cgroup/unified" };
	const char *cgroup_path;
	char path[PATH_MAX];
	struct stat st;
	size_t path_len;
	size_t i;

	if (cgroup <= CGROUP_ROOT_ID)
		return false;
	cgroup_path = op_container_unified_path(text, len, &path_len);
	for (i = 0; cgroup_path && i < OP_ARRAY_SIZE(mounts); i++)
		if (snprintf(path, sizeof(path), "%s/%s%.*s", m->sysfs_root, mounts[i],
			     (int)path_len, cgroup_path) < (int)sizeof(path) &&
		    stat(path, &st) == 0 && st.st_ino == cgroup)
			return true;
	return false;
}

int op_cgroup_path_read(const char *procfs_root, uint32_t pid, char *ret, size_t size)
{
	_cleanup_free_ char *text = NULL;
	ssize_t len = op_procfs_read(procfs_root, pid, "cgroup", CGROUP_FILE_MAX, &text);
	const char *path;
	size_t path_len;

	if (len < 0)
		return (int)len;
	path = op_container_unified_path(text, (size_t)len, &path_len);
	if (!path || !path_len || memchr(path, 0, path_len))
		return -ENOENT;
	if (path_len >= size)
		return -ENAMETOOLONG;
	memcpy(ret, path, path_len);
	ret[path_len] = 0;
	return 0;
}

/* Keep the membership of a cgroup, for processes that have exited. */
static void keep(struct op_memberships *m, struct op_membership *s, uint64_t cgroup)
{
	if (m->by_cgroup.len >= OP_CGROUPS_KNOWN_MAX)
		forget_cgroups(m);
	/* NULL: no container; other processes of the cgroup are not read */
	if (op_map64_put(&m->by_cgroup, cgroup, (uintptr_t)s) == 0 && s)
		(void)op_membership_ref(s);
}

/* Determine the membership from /proc. */
static struct op_membership *look(struct op_memberships *m, uint32_t pid, uint64_t cgroup)
{
	_cleanup_free_ char *text = NULL;
	ssize_t len =
		op_procfs_read(m->procfs_root, pid, "cgroup", CGROUP_FILE_MAX, &text);
	struct op_membership *s;
	struct op_container c;
	bool unified = false;

	if (len <= 0)
		return NULL;
	if (!op_container_of_text(text, (size_t)len, &c, &unified) &&
	    !(op_container_hidden(text, (size_t)len) && by_mounts(m, pid, &c))) {
		if (is_of_none(text, (size_t)len) &&
		    is_cgroup(m, text, (size_t)len, cgroup))
			keep(m, NULL, cgroup);
		return NULL;
	}
	s = malloc(sizeof(*s));
	if (!s)
		return NULL;
	*s = (struct op_membership){ .refs = 1, .container = c };
	if (unified && is_cgroup(m, text, (size_t)len, cgroup))
		keep(m, s, cgroup);
	return s;
}

struct op_membership *op_membership_find(struct op_memberships *m, uint32_t pid,
					 uint64_t cgroup)
{
	uint64_t known;

	if (cgroup > CGROUP_ROOT_ID && op_map64_get(&m->by_cgroup, cgroup, &known))
		return known ? op_membership_ref((struct op_membership *)(uintptr_t)known)
			     : NULL;
	return pid ? look(m, pid, cgroup) : NULL;
}
