/* SPDX-License-Identifier: Apache-2.0 */
/* Whose files count as the caller's. Under sudo these are root and the user who called
 * it. */
#ifndef OP_BASE_FOREIGN_OWNER_H
#define OP_BASE_FOREIGN_OWNER_H

#include <stdbool.h>
#include <sys/types.h>

struct op_owner {
	bool known; /* the process runs as root, and a user called sudo */
	uid_t uid;
	gid_t gid;
};

/* Reads the environment. */
struct op_owner op_owner_behind_sudo(void);

/* Is @uid root, the user of this process, or the one behind sudo? */
bool op_owner_is_ours(const struct op_owner *o, uid_t uid);

/* Does the folder @path belong to root or to the user of this process? Nothing is made in
 * another's, which HOME names where sudo or su kept it. */
bool op_owner_folder_is_ours(const char *path);

#endif
