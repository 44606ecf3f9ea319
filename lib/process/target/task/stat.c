/* SPDX-License-Identifier: Apache-2.0 */
/* Parses /proc/PID/stat without the C library. */
#include "process/target/task/stat.h"

#include <fcntl.h>

#include "process/target/task/syscalls.h"

enum {
	STAT_BYTES = 2048,
	STATE_FIELD = 3, /* the first field after the command name */
};

OP_TASK_CODE void op_task_stat_numbers(const char *path, int first, uint64_t *ret,
				       size_t len)
{
	char text[STAT_BYTES];
	int field = STATE_FIELD - 1;
	long fd = op_syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	long size = -1;
	long at;
	size_t i;

	for (i = 0; i < len; i++)
		ret[i] = 0;
	if (fd >= 0) {
		size = op_syscall(SYS_read, fd, text, sizeof(text));
		(void)op_syscall(SYS_close, fd);
	}
	/* The name may contain anything, even ')': the last one ends it. */
	for (at = size - 1; at >= 0 && text[at] != ')'; at--)
		;
	if (at < 0)
		return;
	for (; at < size && field < first + (int)len; at++) {
		if (text[at] == ' ')
			field++;
		else if (field >= first && text[at] >= '0' && text[at] <= '9' &&
			 field < first + (int)len)
			ret[field - first] =
				ret[field - first] * 10 + (uint64_t)(text[at] - '0');
	}
}

OP_TASK_CODE uint64_t op_task_stat_start(const char *path)
{
	uint64_t ticks;

	op_task_stat_numbers(path, OP_STAT_START_FIELD, &ticks, 1);
	return ticks;
}
