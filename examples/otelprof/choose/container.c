/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the control groups of this host; container managers put ids into their names. */
#include "choose/container.h"

#include <dirent.h>
#include <errno.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

enum {
	ID_DIGITS = 64,
	ID_DIGITS_MIN = 4, /* of the beginning of an id */
	DEPTH_MAX = 32,
	GROUPS_MAX = 1 << 17, /* control groups that are looked at */
	NAME_BYTES = 256,
};

struct search {
	const char *wanted;
	size_t mount_len;
	struct container_found *found;
	unsigned int matches;
	unsigned int groups;
	char path[CONTAINER_PATH_MAX]; /* of the control group at hand */
};

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_hex(const char *s, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (hex_digit(s[i]) < 0)
			return false;
	}
	return true;
}

static bool ends_with(const char *s, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && memcmp(s + len - n, end, n) == 0;
}

/* Does the name of @len bytes end in an id that begins with @wanted? It stands alone, or after a
 * '-' or ':' and the manager's name; "conmon-" is the manager itself. */
static bool id_matches(const char *name, size_t len, const char *wanted)
{
	size_t wanted_len = strlen(wanted), before;

	if (len < ID_DIGITS || !is_hex(name + len - ID_DIGITS, ID_DIGITS))
		return false;
	before = len - ID_DIGITS;
	if (before && name[before - 1] != '-' && name[before - 1] != ':')
		return false;
	return wanted_len >= ID_DIGITS_MIN && wanted_len <= ID_DIGITS &&
	       strncmp(name + before, wanted, wanted_len) == 0 &&
	       !ends_with(name, before, "conmon-");
}

/* Copy a part of a unit's name, systemd's "\xNN" decoded. */
static void decode(const char *name, size_t len, char ret[NAME_BYTES])
{
	size_t i, n = 0;

	for (i = 0; i < len && n + 1 < NAME_BYTES; i++) {
		char byte = name[i];

		if (byte == '\\' && len - i > 3 && name[i + 1] == 'x' &&
		    hex_digit(name[i + 2]) >= 0 && hex_digit(name[i + 3]) >= 0) {
			byte = (char)(hex_digit(name[i + 2]) << 4 |
				      hex_digit(name[i + 3]));
			i += 3;
		}
		ret[n++] = byte;
	}
	ret[n] = '\0';
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
		decode(name + n, len - n, plain);
		if (strcmp(plain, wanted) == 0)
			return true;
	}
	return false;
}

static bool matches(const char *name, const char *wanted)
{
	size_t len = strlen(name);

	if (ends_with(name, len, ".scope"))
		len -= strlen(".scope");
	return id_matches(name, len, wanted) || name_matches(name, len, wanted);
}

static void add_match(struct search *s)
{
	s->matches++;
	(void)snprintf(s->found->path, sizeof(s->found->path), "%s",
		       s->path + s->mount_len);
}

static int walk(struct search *s, size_t len, unsigned int depth);

/* Look at the entry @name of the directory whose path has @len bytes. */
static int visit(struct search *s, size_t len, const char *name, unsigned int depth)
{
	size_t more = strlen(name) + 1;
	int r = 0;

	if (len + more >= sizeof(s->path))
		return 0;
	if (++s->groups > GROUPS_MAX)
		return -E2BIG;
	s->path[len] = '/';
	memcpy(s->path + len + 1, name, more);
	/* What is inside of a container is a part of it. */
	if (matches(name, s->wanted))
		add_match(s);
	else if (depth + 1 < DEPTH_MAX)
		r = walk(s, len + more, depth + 1);
	s->path[len] = '\0';
	return r;
}

static int walk(struct search *s, size_t len, unsigned int depth)
{
	_cleanup_closedir_ DIR *dir = opendir(s->path);
	const struct dirent *e;
	int r = 0;

	/* It may have ended since it was seen. */
	if (!dir)
		return depth && errno != EMFILE ? 0 : -errno;
	while (!r && s->matches < 2 && (e = readdir(dir))) {
		if (e->d_type == DT_DIR && strcmp(e->d_name, ".") != 0 &&
		    strcmp(e->d_name, "..") != 0)
			r = visit(s, len, e->d_name, depth);
	}
	return r;
}

int container_find(const char *mount, const char *wanted, struct container_found *ret)
{
	struct search s = { .wanted = wanted, .found = ret, .mount_len = strlen(mount) };
	int r;

	memset(ret, 0, sizeof(*ret));
	if (!*wanted || s.mount_len >= sizeof(s.path))
		return -ENOENT;
	memcpy(s.path, mount, s.mount_len + 1);
	r = walk(&s, s.mount_len, 0);
	if (r)
		return r;
	if (s.matches > 1)
		return -EEXIST;
	return s.matches ? 0 : -ENOENT;
}

int container_mount(char *ret, size_t size)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	const struct mntent *m;
	int r = -ENOENT;

	if (!f)
		return -ENOENT;
	while (r == -ENOENT && (m = getmntent(f))) {
		if (strcmp(m->mnt_type, "cgroup2") == 0)
			r = (size_t)snprintf(ret, size, "%s", m->mnt_dir) < size
				    ? 0
				    : -ENAMETOOLONG;
	}
	(void)endmntent(f);
	return r;
}
