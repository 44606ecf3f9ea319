/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the host's control groups. Container managers put ids into their names. */
#include "process/resource/groups.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hex.h"
#include "base/io.h"
#include "process/resource/container.h"

enum {
	ID_DIGITS = 64,
	ID_DIGITS_MIN = 4, /* of the beginning of an id */
	DEPTH_MAX = 32,
	NAME_BYTES = 256,
	MOUNTINFO_BYTES_MAX = 1 << 20,
};

struct search {
	/* Is the control group of @path, whose last component is @name, the one wanted? */
	bool (*matches)(const char *path, const char *name, const char *wanted);
	const char *wanted;
	size_t mount_len;
	unsigned int found;
	unsigned int looked_at;
	char path[OP_GROUP_PATH_MAX]; /* of the control group that is visited */
	char *ret;
};

static bool ends_with(const char *s, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && memcmp(s + len - n, end, n) == 0;
}

/* Does the name of @len bytes end in an id that begins with @wanted? The id is the whole
 * name, or follows the manager's name and a '-' or ':'. "conmon-" is the manager
 * itself. */
static bool id_matches(const char *name, size_t len, const char *wanted)
{
	size_t wanted_len = strlen(wanted), before;

	if (len < ID_DIGITS || !op_is_hex(name + len - ID_DIGITS, ID_DIGITS))
		return false;
	before = len - ID_DIGITS;
	if (before && name[before - 1] != '-' && name[before - 1] != ':')
		return false;
	return wanted_len >= ID_DIGITS_MIN && wanted_len <= ID_DIGITS &&
	       strncmp(name + before, wanted, wanted_len) == 0 &&
	       !ends_with(name, before, "conmon-");
}

static bool name_matches(const char *name, size_t len, const char *wanted)
{
	static const char *const prefixes[] = { "", "machine-", "lxc.payload.", "runc-",
						"crun-" };
	char plain[NAME_BYTES];
	size_t i, n;

	for (i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		n = strlen(prefixes[i]);
		if (len <= n || memcmp(name, prefixes[i], n) != 0)
			continue;
		if (op_container_unit_name(name + n, len - n, plain, sizeof(plain)) &&
		    strcmp(plain, wanted) == 0)
			return true;
	}
	return false;
}

static bool is_container(const char *path, const char *name, const char *wanted)
{
	size_t len = strlen(name);

	if (ends_with(name, len, ".scope"))
		len -= strlen(".scope");
	return id_matches(name, len, wanted) || name_matches(name, len, wanted);
}

static bool is_pod(const char *path, const char *name, const char *wanted)
{
	struct op_container c;

	return op_container_of_path(path, strlen(path), &c) &&
	       strcmp(c.pod_uid, wanted) == 0;
}

static int walk(struct search *s, size_t len, unsigned int depth);

/* Look at the entry @name of the directory whose path has @len bytes. */
static int visit(struct search *s, size_t len, const char *name, unsigned int depth)
{
	size_t more = strlen(name) + 1;
	int r = 0;

	if (len + more >= sizeof(s->path))
		return 0;
	if (++s->looked_at > OP_GROUPS_MAX)
		return -E2BIG;
	s->path[len] = '/';
	memcpy(s->path + len + 1, name, more);
	/* groups inside it are part of it */
	if (s->matches(s->path + s->mount_len, name, s->wanted)) {
		if (!s->found++)
			memcpy(s->ret, s->path + s->mount_len,
			       len + more - s->mount_len + 1);
	} else if (depth + 1 < DEPTH_MAX)
		r = walk(s, len + more, depth + 1);
	s->path[len] = '\0';
	return r;
}

static int walk(struct search *s, size_t len, unsigned int depth)
{
	_cleanup_closedir_ DIR *dir = opendir(s->path);
	const struct dirent *e;
	int r = 0;

	/* the group may have been removed since it was listed */
	if (!dir)
		return depth && errno != EMFILE ? 0 : -errno;
	while (!r && s->found < 2 && (e = readdir(dir))) {
		if (e->d_type == DT_DIR && strcmp(e->d_name, ".") != 0 &&
		    strcmp(e->d_name, "..") != 0)
			r = visit(s, len, e->d_name, depth);
	}
	return r;
}

static int find(struct search *s, const char *mount)
{
	int r;

	s->mount_len = strlen(mount);
	if (!*s->wanted || s->mount_len >= sizeof(s->path))
		return -ENOENT;
	memcpy(s->path, mount, s->mount_len + 1);
	r = walk(s, s->mount_len, 0);
	if (r)
		return r;
	return s->found > 1 ? -EEXIST : s->found ? 0 : -ENOENT;
}

int op_groups_container(const char *mount, const char *wanted,
			char ret[static OP_GROUP_PATH_MAX])
{
	struct search s = { .matches = is_container, .wanted = wanted, .ret = ret };

	return find(&s, mount);
}

int op_groups_pod(const char *mount, const char *uid, char ret[static OP_GROUP_PATH_MAX])
{
	struct search s = { .matches = is_pod, .wanted = uid, .ret = ret };

	return find(&s, mount);
}

int op_groups_mount(const char *procfs_root, char *ret, size_t size)
{
	_cleanup_free_ char *text = NULL;
	char path[256];
	char *line;
	char *rest;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%s/self/mountinfo", procfs_root);
	n = op_read_file(path, MOUNTINFO_BYTES_MAX, &text);
	if (n < 0)
		return (int)n;
	for (line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		char mount[200];

		/* proc(5): id parent dev root MOUNT options … - type source options */
		if (strstr(line, " - cgroup2 ") &&
		    sscanf(line, "%*s %*s %*s %*s %199s", mount) == 1 &&
		    (size_t)snprintf(ret, size, "%s", mount) < size)
			return 0;
	}
	return -ENOENT;
}
