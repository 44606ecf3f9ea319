/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the host's name and machine id, or decides that they are not visible. */
#include "process/resource/host.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "process/resource/membership.h"

enum {
	FILE_MAX = 4096,
	MACHINE_ID_DIGITS = OP_MACHINE_ID_MAX - 1,
};

/* Inode of the initial UTS namespace: include/linux/proc_ns.h, PROC_UTS_INIT_INO. */
static const uint64_t FIRST_UTS_NAMESPACE = UINT64_C(0xEFFFFFFE);

/* Read the first word of a file's first line that is not a comment. Returns false if
 * there is none, or it does not fit. */
static bool read_word(const char *root, const char *name, char *ret, size_t max)
{
	_cleanup_free_ char *text = NULL;
	char path[PATH_MAX];
	const char *pos;
	size_t len;

	if (snprintf(path, sizeof(path), "%s/%s", root, name) >= (int)sizeof(path) ||
	    op_read_file(path, FILE_MAX, &text) <= 0)
		return false;
	for (pos = text; *pos == '#'; pos += *pos == '\n')
		pos += strcspn(pos, "\n");
	len = strcspn(pos, " \t\r\n");
	if (!len || len >= max)
		return false;
	memcpy(ret, pos, len);
	ret[len] = 0;
	return true;
}

static bool is_machine_id(const char *id)
{
	return strspn(id, "0123456789abcdef") == MACHINE_ID_DIGITS &&
	       !id[MACHINE_ID_DIGITS] && strspn(id, "0") != MACHINE_ID_DIGITS;
}

void op_host_of_root(const char *root, struct op_host *ret)
{
	*ret = (struct op_host){ 0 };
	(void)read_word(root, "etc/hostname", ret->name, sizeof(ret->name));
	if (read_word(root, "etc/machine-id", ret->id, sizeof(ret->id)) &&
	    is_machine_id(ret->id))
		return;
	if (!read_word(root, "var/lib/dbus/machine-id", ret->id, sizeof(ret->id)) ||
	    !is_machine_id(ret->id))
		ret->id[0] = 0;
}

static bool in_first_uts_namespace(const char *procfs_root, const char *process)
{
	return op_namespace_inode(procfs_root, process, "uts") == FIRST_UTS_NAMESPACE;
}

void op_host_read(const char *procfs_root, struct op_host *ret)
{
	struct utsname uts;
	char root[PATH_MAX];

	*ret = (struct op_host){ 0 };
	/* Process 1 of another PID namespace may be a container's. */
	if (op_in_first_pid_namespace(procfs_root, "1")) {
		(void)snprintf(root, sizeof(root), "%s/1/root", procfs_root);
		op_host_of_root(root, ret);
		if (!in_first_uts_namespace(procfs_root, "1"))
			ret->name[0] = 0;
	} else if (op_in_first_mount_namespace(procfs_root)) {
		/* The host's process 1 is not visible, but we see the host's files. */
		op_host_of_root("", ret);
		ret->name[0] = 0;
	}
	/* the kernel's name is more recent than the file's, and reading it needs no
	 * rights */
	if (in_first_uts_namespace(procfs_root, "self") && uname(&uts) == 0)
		(void)snprintf(ret->name, sizeof(ret->name), "%s", uts.nodename);
}
