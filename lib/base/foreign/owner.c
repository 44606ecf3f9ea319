/* SPDX-License-Identifier: Apache-2.0 */
#include "base/foreign/owner.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool read_id(const char *name, uint32_t *ret)
{
	const char *text = secure_getenv(name);
	char *end = NULL;
	unsigned long long n;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || *end || n >= UINT32_MAX)
		return false;
	*ret = (uint32_t)n;
	return true;
}

struct op_owner op_owner_behind_sudo(void)
{
	struct op_owner o = { false, 0, 0 };
	uint32_t uid = 0, gid = 0;

	if (geteuid() != 0 || !read_id("SUDO_UID", &uid) || !read_id("SUDO_GID", &gid) ||
	    !uid)
		return o;
	return (struct op_owner){ true, uid, gid };
}

bool op_owner_is_ours(const struct op_owner *o, uid_t uid)
{
	return uid == 0 || uid == geteuid() || (o->known && uid == o->uid);
}

bool op_owner_folder_is_ours(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
	       (st.st_uid == 0 || st.st_uid == geteuid());
}
