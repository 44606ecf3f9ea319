/* SPDX-License-Identifier: Apache-2.0 */
/* Reads from /proc/PID which program and process a pid is. */
#ifndef OP_PROCESS_RESOURCE_IDENTITY_H
#define OP_PROCESS_RESOURCE_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	OP_COMMAND_LINE_MAX = 4096, /* bytes kept of /proc/PID/cmdline */
};

struct op_target;

/*
 * Read at most @limit bytes of /proc/PID/@name, and add a NUL. Only for text that the
 * kernel makes alone (process/target/target.h reads text that the process can stall). The caller
 * frees *@ret. Returns the number of bytes or -errno.
 */
ssize_t op_procfs_read(const char *procfs_root, uint32_t pid, const char *name,
		       size_t limit, char **ret);

/* Get the executable's path as the process sees it, without " (deleted)". The caller
 * frees *@ret. Returns 0, -ENOENT for a kernel thread, or -errno. */
int op_exe_path_read(const char *procfs_root, uint32_t pid, char **ret);

/* Values from /proc/PID/stat. */
struct op_stat {
	uint64_t start_ns; /* start of the process, since boot (CLOCK_BOOTTIME) */
	/* End address of the program's code: distinguishes one exec from another. 0 or 1:
	 * hidden. */
	uint64_t end_code;
	/* Start address of its stack, which changes at each exec. 0: hidden. */
	uint64_t start_stack;
};

/* Was there no exec between @a and @b? They belong to one process, or to it and its
 * forked child. If both values are hidden, the answer is yes. */
static inline bool op_stat_same_exec(const struct op_stat *a, const struct op_stat *b)
{
	return a->end_code == b->end_code && a->start_stack == b->start_stack;
}

/* Returns 0 or -errno. */
int op_stat_read(const char *procfs_root, uint32_t pid, struct op_stat *ret);
/* As above, from the text of a /proc/PID/stat. Returns 0 or -EBADMSG. */
int op_stat_of(const char *text, size_t len, uint64_t ticks_per_second,
	       struct op_stat *ret);

/* Read the command line, with a NUL between arguments. The caller frees *@ret. Returns
 * its length or -errno. */
ssize_t op_command_line_read(struct op_target *t, uint32_t pid, char **ret);

/* Values from /proc/PID/status. */
struct op_status {
	uint32_t
		namespace_pid; /* in the process's own PID namespace; its pid if that is unknown */
	bool user_known;
	uint32_t user; /* the real user id, in the profiler's user namespace */
};

/* Returns 0 or -errno, and in both cases fills @ret. */
int op_status_read(const char *procfs_root, uint32_t pid, struct op_status *ret);
/* The pid in the process's own PID namespace, or @pid if that is unknown. */
uint32_t op_namespace_pid_read(const char *procfs_root, uint32_t pid);

#endif
