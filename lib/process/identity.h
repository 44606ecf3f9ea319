/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc/PID tells of who a process is. */
#ifndef OP_PROCESS_IDENTITY_H
#define OP_PROCESS_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	OP_SERVICE_NAME_MAX = 256,
	OP_ENVIRON_MAX = 1 << 18,   /* bytes of /proc/PID/environ that are looked at */
	OP_COMMAND_LINE_MAX = 4096, /* bytes of /proc/PID/cmdline that are kept */
};

/*
 * service.name out of @len bytes of an environment ("KEY=value" each with its NUL):
 * OTEL_SERVICE_NAME, else service.name of OTEL_RESOURCE_ATTRIBUTES (percent-decoded). No
 * other variable is looked at. Returns true and fills @ret, or false.
 */
bool op_service_name_of(const char *environ, size_t len, char ret[OP_SERVICE_NAME_MAX]);

/* Of a process; false where it names none or cannot be read. */
bool op_service_name_read(const char *procfs_root, uint32_t pid,
			  char ret[OP_SERVICE_NAME_MAX]);

/*
 * The executable's path as the process sees it, without " (deleted)". Caller frees *@ret.
 * Returns 0, -ENOENT for a kernel thread, -errno.
 */
int op_exe_path_read(const char *procfs_root, uint32_t pid, char **ret);

/* When it was started, nanoseconds since boot (CLOCK_BOOTTIME). 0 or -errno. */
int op_start_time_read(const char *procfs_root, uint32_t pid, uint64_t *ret);
/* As above, of the text of a /proc/PID/stat. 0 or -EBADMSG. */
int op_start_time_of(const char *text, size_t len, uint64_t ticks_per_second,
		     uint64_t *ret);

/* The command line, a NUL between arguments. Caller frees *@ret. Its length or -errno. */
ssize_t op_command_line_read(const char *procfs_root, uint32_t pid, char **ret);

/* The pid in its own PID namespace, or @pid where that is not known. */
uint32_t op_namespace_pid_read(const char *procfs_root, uint32_t pid);

#endif
