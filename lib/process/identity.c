/* SPDX-License-Identifier: Apache-2.0 */
#include "process/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/cleanup.h"
#include "base/io.h"

enum {
	STAT_MAX = 4096,
	STATUS_MAX = 65536,
	STAT_START_FIELD = 22, /* of proc(5), counted from 1 */
	STAT_STATE_FIELD = 3,  /* the first one after the command name */
};

/* At most @limit bytes of /proc/PID/@name, with a NUL. Returns their number or -errno. */
static ssize_t read_proc(const char *procfs_root, uint32_t pid, const char *name,
			 size_t limit, char **ret)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *buf = NULL;
	char path[PATH_MAX];
	ssize_t n;

	if (snprintf(path, sizeof(path), "%s/%u/%s", procfs_root, pid, name) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = op_open(path, O_RDONLY);
	if (fd < 0)
		return fd;
	buf = malloc(limit + 1);
	if (!buf)
		return -ENOMEM;
	n = op_pread_full(fd, buf, limit, 0);
	if (n < 0)
		return n;
	buf[n] = 0;
	*ret = OP_TAKE_PTR(buf);
	return n;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Copy @len bytes with %XX decoded; false where nothing is left or it does not fit. */
static bool percent_decode(const char *text, size_t len, char ret[OP_SERVICE_NAME_MAX])
{
	char decoded[OP_SERVICE_NAME_MAX];
	size_t out = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		char c = text[i];

		if (c == '%' && len - i > 2 && hex_digit(text[i + 1]) >= 0 &&
		    hex_digit(text[i + 2]) >= 0) {
			c = (char)(hex_digit(text[i + 1]) << 4 | hex_digit(text[i + 2]));
			i += 2;
		}
		if (!c || out + 1 >= OP_SERVICE_NAME_MAX)
			return false;
		decoded[out++] = c;
	}
	if (!out)
		return false;
	memcpy(ret, decoded, out);
	ret[out] = 0;
	return true;
}

/* service.name in "key=value,key=value". */
static bool service_of_attributes(const char *text, char ret[OP_SERVICE_NAME_MAX])
{
	static const char key[] = "service.name=";
	const size_t key_len = sizeof(key) - 1;

	while (*text) {
		size_t len;

		text += strspn(text, " ");
		len = strcspn(text, ",");
		if (len > key_len && strncmp(text, key, key_len) == 0)
			return percent_decode(text + key_len, len - key_len, ret);
		text += len;
		if (*text)
			text++;
	}
	return false;
}

bool op_service_name_of(const char *environ, size_t len, char ret[OP_SERVICE_NAME_MAX])
{
	static const char name[] = "OTEL_SERVICE_NAME=";
	static const char attributes[] = "OTEL_RESOURCE_ATTRIBUTES=";
	const char *pos = environ;
	const char *end = environ + len;
	bool found = false;

	while (pos < end) {
		const char *nul = memchr(pos, 0, (size_t)(end - pos));

		if (!nul)
			break; /* cut off */
		if (strncmp(pos, name, sizeof(name) - 1) == 0) {
			const char *value = pos + sizeof(name) - 1;
			size_t n = strlen(value);

			if (n && n < OP_SERVICE_NAME_MAX) {
				memcpy(ret, value, n + 1);
				return true;
			}
		} else if (!found &&
			   strncmp(pos, attributes, sizeof(attributes) - 1) == 0) {
			found = service_of_attributes(pos + sizeof(attributes) - 1, ret);
		}
		pos = nul + 1;
	}
	return found;
}

bool op_service_name_read(const char *procfs_root, uint32_t pid,
			  char ret[OP_SERVICE_NAME_MAX])
{
	_cleanup_free_ char *text = NULL;
	ssize_t len = read_proc(procfs_root, pid, "environ", OP_ENVIRON_MAX, &text);

	return len > 0 && op_service_name_of(text, (size_t)len, ret);
}

int op_exe_path_read(const char *procfs_root, uint32_t pid, char **ret)
{
	static const char deleted[] = " (deleted)";
	char link[PATH_MAX];
	char path[PATH_MAX];
	size_t tail = sizeof(deleted) - 1;
	ssize_t n;
	char *copy;

	if (snprintf(link, sizeof(link), "%s/%u/exe", procfs_root, pid) >=
	    (int)sizeof(link))
		return -ENAMETOOLONG;
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return -errno;
	path[n] = 0;
	if ((size_t)n > tail && strcmp(path + n - tail, deleted) == 0)
		path[(size_t)n - tail] = 0;
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	*ret = copy;
	return 0;
}

int op_start_time_of(const char *text, size_t len, uint64_t ticks_per_second,
		     uint64_t *ret)
{
	/* The command name may hold anything, a ')' too: the last one ends it. */
	const char *pos = memrchr(text, ')', len);
	const char *end = text + len;
	uint64_t ticks = 0;
	uint64_t ns;
	int field;

	if (!pos || !ticks_per_second)
		return -EBADMSG;
	for (field = STAT_STATE_FIELD; field <= STAT_START_FIELD; field++) {
		pos = memchr(pos, ' ', (size_t)(end - pos));
		if (!pos)
			return -EBADMSG;
		pos++;
	}
	if (pos == end || *pos < '0' || *pos > '9')
		return -EBADMSG;
	for (; pos < end && *pos >= '0' && *pos <= '9'; pos++)
		if (op_mul_overflow(ticks, UINT64_C(10), &ticks) ||
		    op_add_overflow(ticks, (uint64_t)(*pos - '0'), &ticks))
			return -EBADMSG;
	if (op_mul_overflow(ticks, UINT64_C(1000000000), &ns))
		return -EBADMSG;
	*ret = ns / ticks_per_second;
	return 0;
}

int op_start_time_read(const char *procfs_root, uint32_t pid, uint64_t *ret)
{
	_cleanup_free_ char *text = NULL;
	ssize_t len = read_proc(procfs_root, pid, "stat", STAT_MAX, &text);
	long ticks = sysconf(_SC_CLK_TCK);

	if (len < 0)
		return (int)len;
	return op_start_time_of(text, (size_t)len, ticks > 0 ? (uint64_t)ticks : 0, ret);
}

ssize_t op_command_line_read(const char *procfs_root, uint32_t pid, char **ret)
{
	ssize_t len = read_proc(procfs_root, pid, "cmdline", OP_COMMAND_LINE_MAX, ret);

	while (len > 0 && !(*ret)[len - 1])
		len--;
	return len;
}

uint32_t op_namespace_pid_read(const char *procfs_root, uint32_t pid)
{
	_cleanup_free_ char *text = NULL;
	const char *line;
	uint32_t last = pid;

	if (read_proc(procfs_root, pid, "status", STATUS_MAX, &text) < 0)
		return pid;
	line = strstr(text, "\nNSpid:");
	if (!line)
		return pid;
	line += strlen("\nNSpid:");
	/* One number a namespace, the innermost last. */
	for (;;) {
		char *end;
		unsigned long n;

		line += strspn(line, " \t");
		if (*line < '0' || *line > '9')
			return last;
		n = strtoul(line, &end, 10);
		last = n <= UINT32_MAX ? (uint32_t)n : last;
		line = end;
	}
}
