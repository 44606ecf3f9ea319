/* SPDX-License-Identifier: Apache-2.0 */
/* Parses lines of /proc/PID/maps. */
#include "process/target/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

enum {
	READ_BYTES = 65536,
};

_Static_assert(READ_BYTES > (int)OP_MAPS_LINE_MAX, "a line fits the buffer");

/* A position in a line. `failed` is sticky. */
struct scan {
	const char *pos;
	const char *end;
	bool failed;
};

static uint64_t scan_number(struct scan *s, unsigned int base)
{
	uint64_t v = 0;
	const char *first = s->pos;

	for (; s->pos < s->end; s->pos++) {
		unsigned int digit;
		char c = *s->pos;

		if (c >= '0' && c <= '9')
			digit = (unsigned int)(c - '0');
		else if (base == 16 && c >= 'a' && c <= 'f')
			digit = (unsigned int)(c - 'a') + 10;
		else
			break;
		if (v > (UINT64_MAX - digit) / base)
			s->failed = true;
		v = v * base + digit;
	}
	if (s->pos == first)
		s->failed = true;
	return v;
}

static void scan_char(struct scan *s, char c)
{
	if (s->pos < s->end && *s->pos == c)
		s->pos++;
	else
		s->failed = true;
}

int op_maps_parse_line(char *line, size_t len, struct op_mmap_event *ret)
{
	struct scan s = { .pos = line, .end = line + len };
	struct op_mmap_event e = { 0 };
	const char *perms;
	uint64_t major;
	uint64_t minor;

	e.start = scan_number(&s, 16);
	scan_char(&s, '-');
	e.end = scan_number(&s, 16);
	scan_char(&s, ' ');
	perms = s.pos;
	if (s.failed || s.end - s.pos < 5)
		return -EBADMSG;
	s.pos += 4;
	scan_char(&s, ' ');
	e.offset = scan_number(&s, 16);
	scan_char(&s, ' ');
	major = scan_number(&s, 16);
	scan_char(&s, ':');
	minor = scan_number(&s, 16);
	scan_char(&s, ' ');
	e.inode = scan_number(&s, 10);
	if (s.failed || e.start >= e.end || major > UINT32_MAX || minor > UINT32_MAX)
		return -EBADMSG;
	if (perms[2] != 'x')
		return 0;
	e.writable = perms[1] == 'w';
	while (s.pos < s.end && *s.pos == ' ')
		s.pos++;
	e.dev_major = (uint32_t)major;
	e.dev_minor = (uint32_t)minor;
	line[len] = 0;
	e.path = s.pos;
	*ret = e;
	return 1;
}

int op_maps_take_lines(char *buf, size_t *len, op_maps_line_fn fn, void *ctx)
{
	char *pos = buf;
	char *newline;

	while ((newline = memchr(pos, '\n', (size_t)(buf + *len - pos)))) {
		int r = fn(ctx, pos, (size_t)(newline - pos));

		if (r)
			return r;
		pos = newline + 1;
	}
	*len -= (size_t)(pos - buf);
	memmove(buf, pos, *len);
	return 0;
}

int op_maps_each_line(const char *path, op_maps_line_fn fn, void *ctx)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *buf = NULL;
	size_t len = 0;

	fd = op_open(path, O_RDONLY);
	if (fd < 0)
		return fd;
	buf = malloc(READ_BYTES);
	if (!buf)
		return -ENOMEM;
	for (;;) {
		ssize_t n = read(fd, buf + len, READ_BYTES - len);
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		len += (size_t)n;
		r = op_maps_take_lines(buf, &len, fn, ctx);
		if (r)
			return r;
		if (len == READ_BYTES)
			return -EBADMSG;
	}
}

int op_maps_take_executable(void *ctx, char *line, size_t len)
{
	struct op_maps_executables *x = ctx;
	struct op_mmap_event e;

	if (x->lines < INT_MAX)
		x->lines++;
	if (op_maps_parse_line(line, len, &e) <= 0)
		return 0;
	x->given++;
	return x->fn(x->ctx, &e);
}

int op_maps_read(const char *path, op_maps_fn fn, void *ctx)
{
	struct op_maps_executables x = { .fn = fn, .ctx = ctx };
	int r = op_maps_each_line(path, op_maps_take_executable, &x);

	return r ? r : x.lines;
}
