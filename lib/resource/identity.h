/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc/PID tells of who a process is. */
#ifndef OP_RESOURCE_IDENTITY_H
#define OP_RESOURCE_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	OP_COMMAND_LINE_MAX = 4096, /* bytes of /proc/PID/cmdline that are kept */
};

struct op_target;

/* At most @limit bytes of /proc/PID/@name, with a NUL; of text that the kernel alone makes
 * (target/target.h reads what the process can stall). Caller frees *@ret. Returns their
 * number or -errno. */
ssize_t op_proc_file_read(const char *procfs_root, uint32_t pid, const char *name,
			  size_t limit, char **ret);

/*
 * The executable's path as the process sees it, without " (deleted)". Caller frees *@ret.
 * Returns 0, -ENOENT for a kernel thread, -errno.
 */
int op_exe_path_read(const char *procfs_root, uint32_t pid, char **ret);

/* Of /proc/PID/stat. */
struct op_stat {
	uint64_t start_ns; /* of the process, since boot (CLOCK_BOOTTIME) */
	/* Address past the program's code: tells one exec from another. 0 or 1: not told. */
	uint64_t end_code;
};

/* 0 or -errno. */
int op_stat_read(const char *procfs_root, uint32_t pid, struct op_stat *ret);
/* As above, of the text of a /proc/PID/stat. 0 or -EBADMSG. */
int op_stat_of(const char *text, size_t len, uint64_t ticks_per_second,
	       struct op_stat *ret);

/* The command line, a NUL between arguments. Caller frees *@ret. Its length or -errno. */
ssize_t op_command_line_read(struct op_target *t, uint32_t pid, char **ret);

/* The pid in its own PID namespace, or @pid where that is not known. */
uint32_t op_namespace_pid_read(const char *procfs_root, uint32_t pid);

#endif
