/* SPDX-License-Identifier: Apache-2.0 */
#include "process/container.h"

#include <string.h>

#include "base/macros.h"

enum {
	ID_DIGITS = 64,
	FARGATE_DIGITS = 32,
	FARGATE_NUMBER_MAX = 20,
};

/* A piece of a path. */
struct part {
	const char *text;
	size_t len;
};

static bool is_hex(const char *s, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (!((s[i] >= '0' && s[i] <= '9') || (s[i] >= 'a' && s[i] <= 'f')))
			return false;
	return true;
}

static bool is_decimal(const char *s, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (s[i] < '0' || s[i] > '9')
			return false;
	return true;
}

static bool part_equal(struct part p, const char *text)
{
	return p.len == strlen(text) && memcmp(p.text, text, p.len) == 0;
}

static bool part_ends(struct part p, const char *text)
{
	size_t len = strlen(text);

	return p.len >= len && memcmp(p.text + p.len - len, text, len) == 0;
}

/* A component that ends in 64 hex digits, alone or behind a '-' or ':'. */
static bool is_container(struct part p, struct part *ret)
{
	struct part before;

	if (part_ends(p, ".scope"))
		p.len -= strlen(".scope");
	if (p.len < ID_DIGITS || !is_hex(p.text + p.len - ID_DIGITS, ID_DIGITS))
		return false;
	before = (struct part){ .text = p.text, .len = p.len - ID_DIGITS };
	if (before.len) {
		char mark = before.text[before.len - 1];

		if (mark != '-' && mark != ':')
			return false;
		if (part_ends(before, "conmon-"))
			return false;
	}
	*ret = (struct part){ .text = p.text + before.len, .len = ID_DIGITS };
	return true;
}

static bool is_fargate(struct part p)
{
	return p.len > FARGATE_DIGITS + 1 &&
	       p.len <= FARGATE_DIGITS + 1 + FARGATE_NUMBER_MAX &&
	       is_hex(p.text, FARGATE_DIGITS) && p.text[FARGATE_DIGITS] == '-' &&
	       is_decimal(p.text + FARGATE_DIGITS + 1, p.len - FARGATE_DIGITS - 1);
}

bool op_container_of_path(const char *path, size_t len, char ret[OP_CONTAINER_ID_MAX])
{
	const char *end = path + len;
	const char *pos = path;
	struct part found = { 0 };
	bool ecs = false;

	while (pos < end) {
		const char *slash = memchr(pos, '/', (size_t)(end - pos));
		struct part p = { .text = pos,
				  .len = (size_t)((slash ? slash : end) - pos) };

		if (is_container(p, &found)) {
			/* deeper ones replace it */
		} else if (ecs && is_fargate(p)) {
			found = p;
		}
		ecs = ecs || part_equal(p, "ecs");
		pos += p.len + 1;
	}
	if (!found.len || found.len >= OP_CONTAINER_ID_MAX)
		return false;
	memcpy(ret, found.text, found.len);
	ret[found.len] = 0;
	return true;
}

/* A line is "number:controllers:path". */
static bool split_line(struct part line, struct part *ret_controllers,
		       struct part *ret_path)
{
	const char *first = memchr(line.text, ':', line.len);
	const char *end = line.text + line.len;
	const char *second;

	if (!first)
		return false;
	second = memchr(first + 1, ':', (size_t)(end - first - 1));
	if (!second)
		return false;
	*ret_controllers =
		(struct part){ .text = first + 1, .len = (size_t)(second - first - 1) };
	*ret_path =
		(struct part){ .text = second + 1, .len = (size_t)(end - second - 1) };
	return true;
}

bool op_container_of_text(const char *text, size_t len, char ret[OP_CONTAINER_ID_MAX],
			  bool *ret_unified)
{
	const char *pos = text;
	const char *end = text + len;
	bool found = false;

	while (pos < end) {
		const char *newline = memchr(pos, '\n', (size_t)(end - pos));
		struct part line = { .text = pos,
				     .len = (size_t)((newline ? newline : end) - pos) };
		struct part controllers;
		struct part path;

		pos += line.len + 1;
		if (!split_line(line, &controllers, &path))
			continue;
		/* The unified hierarchy has no controllers there, and decides. */
		if (controllers.len && found)
			continue;
		if (!op_container_of_path(path.text, path.len, ret))
			continue;
		found = true;
		*ret_unified = !controllers.len;
		if (!controllers.len)
			return true;
	}
	return found;
}
