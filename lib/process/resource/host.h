/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifies the host, for host.name and host.id. In a container our own host name and
 * /etc/machine-id are the container's. Then those of the host's process 1 are used if
 * /proc shows it, and otherwise none.
 */
#ifndef OP_PROCESS_RESOURCE_HOST_H
#define OP_PROCESS_RESOURCE_HOST_H

enum {
	OP_HOST_NAME_MAX = 256, /* with the NUL */
	OP_MACHINE_ID_MAX = 33,
};

/* Each member is "" if unknown. */
struct op_host {
	char name[OP_HOST_NAME_MAX];
	char id[OP_MACHINE_ID_MAX]; /* machine-id(5): 32 hex digits */
};

void op_host_read(const char *procfs_root, struct op_host *ret);

/* Read the files below @root: etc/hostname; etc/machine-id,
 * else var/lib/dbus/machine-id. */
void op_host_of_root(const char *root, struct op_host *ret);

#endif
