/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises container managers' paths, component by component. */
#include "process/resource/container.h"

#include <string.h>

#include "base/hex.h"
#include "base/macros.h"

enum {
	ID_DIGITS = 64,
	FARGATE_DIGITS = 32,
	FARGATE_NUMBER_MAX = 20,
	BUILDKIT_DIGITS = 25,
	UUID_CHARS = 36,
	STATIC_POD_DIGITS = 32, /* the MD5 of a manifest */
};

/* A piece of a path. */
struct part {
	const char *text;
	size_t len;
};

/* A position in a text of lines or of a path. */
struct cursor {
	const char *pos;
	const char *end;
};

/* Get the next piece up to @separator. Returns false at the end. */
static bool next_part(struct cursor *c, char separator, struct part *ret)
{
	const char *at;

	if (c->pos == c->end)
		return false;
	at = memchr(c->pos, separator, (size_t)(c->end - c->pos));
	*ret = (struct part){ .text = c->pos,
			      .len = (size_t)((at ? at : c->end) - c->pos) };
	c->pos = at ? at + 1 : c->end;
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

/* Are these groups of hex digits, with lengths such as "8-4-4", separated by @dash, up to
 * the end? */
static bool is_groups(struct part p, const char *groups, char dash)
{
	size_t at = 0;

	for (; *groups; groups++) {
		size_t digits = (size_t)(*groups == 'c' ? 12 : *groups - '0');

		if (at && (at >= p.len || p.text[at++] != dash))
			return false;
		if (p.len - at < digits || !op_is_hex(p.text + at, digits))
			return false;
		at += digits;
	}
	return at == p.len;
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

/* Cut @text off the front or the end. Returns false if it is not there. */
static bool cut_front(struct part *p, const char *text)
{
	size_t len = strlen(text);

	if (p->len < len || memcmp(p->text, text, len) != 0)
		return false;
	p->text += len;
	p->len -= len;
	return true;
}

static bool cut_end(struct part *p, const char *text)
{
	if (!part_ends(*p, text))
		return false;
	p->len -= strlen(text);
	return true;
}

static void set_id(struct op_container *c, struct part id)
{
	memcpy(c->id, id.text, id.len);
	c->id[id.len] = 0;
	c->name[0] = 0; /* drop the name of an enclosing container */
}

size_t op_container_unit_name(const char *name, size_t len, char *ret, size_t size)
{
	size_t done = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		char byte = name[i];

		if (byte == '\\' && len - i > 3 && name[i + 1] == 'x' &&
		    op_is_hex(name + i + 2, 2)) {
			byte = (char)(op_hex_digit(name[i + 2]) << 4 |
				      op_hex_digit(name[i + 3]));
			i += 3;
		}
		if (!byte || done + 1 >= size)
			return 0;
		ret[done++] = byte;
	}
	ret[done] = 0;
	return done;
}

static void set_name(struct op_container *c, struct part name)
{
	if (!name.len || name.len >= sizeof(c->name))
		return;
	memcpy(c->name, name.text, name.len);
	c->name[name.len] = 0;
	c->id[0] = 0; /* drop the id of an enclosing container */
}

static void set_unit_name(struct op_container *c, struct part p)
{
	char name[OP_CONTAINER_NAME_MAX];
	size_t len = op_container_unit_name(p.text, p.len, name, sizeof(name));

	set_name(c, (struct part){ .text = name, .len = len });
}

/* Take a component that ends in 64 hex digits, alone or after a '-' or ':'. */
static bool take_id(struct op_container *c, struct part p)
{
	struct part before;

	(void)cut_end(&p, ".scope");
	if (p.len < ID_DIGITS || !op_is_hex(p.text + p.len - ID_DIGITS, ID_DIGITS))
		return false;
	before = (struct part){ .text = p.text, .len = p.len - ID_DIGITS };
	if (before.len) {
		char mark = before.text[before.len - 1];

		if (mark != '-' && mark != ':')
			return false;
		if (part_ends(before, "conmon-"))
			return false;
	}
	set_id(c, (struct part){ .text = p.text + before.len, .len = ID_DIGITS });
	return true;
}

static bool is_fargate(struct part p)
{
	return p.len > FARGATE_DIGITS + 1 &&
	       p.len <= FARGATE_DIGITS + 1 + FARGATE_NUMBER_MAX &&
	       op_is_hex(p.text, FARGATE_DIGITS) && p.text[FARGATE_DIGITS] == '-' &&
	       is_decimal(p.text + FARGATE_DIGITS + 1, p.len - FARGATE_DIGITS - 1);
}

static bool is_buildkit(struct part p)
{
	size_t i;

	for (i = 0; i < p.len; i++)
		if (!((p.text[i] >= '0' && p.text[i] <= '9') ||
		      (p.text[i] >= 'a' && p.text[i] <= 'z')))
			return false;
	return p.len == BUILDKIT_DIGITS;
}

/* Take the pod of "podUID", "…-podUID.slice", or the latter
 * before ":cri-containerd:ID". */
static void take_pod(struct op_container *c, struct part p)
{
	const char *colon = memchr(p.text, ':', p.len);
	bool slice;
	size_t i;

	if (colon)
		p.len = (size_t)(colon - p.text);
	slice = cut_end(&p, ".slice");
	if (slice) {
		const char *dash = memrchr(p.text, '-', p.len);

		p.len -= dash ? (size_t)(dash + 1 - p.text) : 0;
		p.text = dash ? dash + 1 : p.text;
	}
	if (!cut_front(&p, "pod"))
		return;
	if (!is_groups(p, "8444c", slice ? '_' : '-') &&
	    !(p.len == STATIC_POD_DIGITS && op_is_hex(p.text, p.len)))
		return;
	for (i = 0; i < p.len; i++)
		c->pod_uid[i] = p.text[i] == '_' ? '-' : p.text[i];
	c->pod_uid[p.len] = 0;
}

/* Take a container that has a name: of nspawn or LXC. */
static void take_name(struct op_container *c, struct part p, struct part parent)
{
	bool machine = part_equal(parent, "machine.slice");

	if (machine && cut_front(&p, "machine-") && cut_end(&p, ".scope")) {
		struct part type = p;

		if (!cut_front(&type, "qemu\\x2d"))
			set_unit_name(c, p);
	} else if (machine && cut_front(&p, "systemd-nspawn@") &&
		   cut_end(&p, ".service")) {
		set_unit_name(c, p);
	} else if (cut_front(&p, "lxc.payload.") || part_equal(parent, "lxc") ||
		   part_equal(parent, "lxc.payload")) {
		set_name(c, p);
	} else if (part_equal(p, "supervisor") &&
		   (cut_front(&parent, "machine-") ||
		    cut_front(&parent, "systemd-nspawn@"))) {
		c->name[0] = 0; /* nspawn's own process, outside of the container */
	}
}

static bool found(const struct op_container *c)
{
	return c->id[0] || c->name[0] || c->pod_uid[0];
}

bool op_container_of_path(const char *path, size_t len, struct op_container *ret)
{
	struct cursor cursor = { .pos = path, .end = path + len };
	struct op_container c = { 0 };
	struct part parent = { .text = "" };
	struct part p;
	bool ecs = false;

	/* Deeper containers replace enclosing ones. */
	while (next_part(&cursor, '/', &p)) {
		if (take_id(&c, p))
			take_pod(&c, p);
		else if ((ecs && is_fargate(p)) ||
			 (part_equal(parent, "buildkit") && is_buildkit(p)) ||
			 (part_equal(parent, "garden") &&
			  (is_groups(p, "8444c", '-') || is_groups(p, "84444", '-'))))
			set_id(&c, p);
		else {
			take_pod(&c, p);
			take_name(&c, p, parent);
		}
		ecs = ecs || part_equal(p, "ecs");
		parent = p;
	}
	if (!found(&c))
		return false;
	*ret = c;
	return true;
}

/* Split a line "number:controllers:path". */
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

bool op_container_of_text(const char *text, size_t len, struct op_container *ret,
			  bool *ret_unified)
{
	struct cursor lines = { .pos = text, .end = text + len };
	struct op_container best = { 0 };
	struct part line;
	bool unified = false;

	while (next_part(&lines, '\n', &line)) {
		struct op_container c;
		struct part controllers;
		struct part path;

		if (!split_line(line, &controllers, &path) ||
		    !op_container_of_path(path.text, path.len, &c))
			continue;
		/* The unified hierarchy has no controllers in its line, and takes
		 * precedence. */
		if (found(&best) && !(c.id[0] && (!controllers.len || !best.id[0])))
			continue;
		best = c;
		unified = !controllers.len;
		if (unified && c.id[0])
			break;
	}
	if (!found(&best))
		return false;
	*ret = best;
	*ret_unified = unified;
	return true;
}

const char *op_container_unified_path(const char *text, size_t len, size_t *ret_len)
{
	struct cursor lines = { .pos = text, .end = text + len };
	struct part controllers;
	struct part line;
	struct part path;

	while (next_part(&lines, '\n', &line)) {
		if (!split_line(line, &controllers, &path) || controllers.len)
			continue;
		*ret_len = path.len;
		return path.text;
	}
	return NULL;
}

static bool at_root(struct part path)
{
	return part_equal(path, "/") || cut_front(&path, "/..");
}

bool op_container_hidden(const char *text, size_t len)
{
	struct cursor lines = { .pos = text, .end = text + len };
	struct part controllers;
	struct part line;
	struct part path;

	path.text = op_container_unified_path(text, len, &path.len);
	if (path.text)
		return at_root(path);
	while (next_part(&lines, '\n', &line))
		if (split_line(line, &controllers, &path) && at_root(path))
			return true;
	return false;
}

/* The component before the last @depth ones of a path; empty if there is none. */
static struct part component_above(struct part path, int depth)
{
	struct part p = path;

	for (;;) {
		const char *slash = memrchr(p.text, '/', p.len);

		if (!slash)
			return (struct part){ .text = path.text };
		if (depth-- == 0)
			return (struct part){ .text = slash + 1,
					      .len = (size_t)(p.text + p.len - slash -
							      1) };
		p.len = (size_t)(slash - p.text);
	}
}

/* What the mounts of a process have shown so far. */
struct evidence {
	struct part id;
	bool conflict;
	bool pod; /* the process is in Kubernetes */
	struct op_container container;
};

static void take_mount(struct evidence *e, struct part root, struct part point)
{
	struct part id;
	struct part kind;

	if (part_equal(point, "/etc/hosts") && part_ends(root, "/etc-hosts")) {
		struct part uid = component_above(root, 1);

		if (!part_equal(component_above(root, 2), "pods"))
			return;
		e->pod = true;
		if (is_groups(uid, "8444c", '-') ||
		    (uid.len == STATIC_POD_DIGITS && op_is_hex(uid.text, uid.len))) {
			memcpy(e->container.pod_uid, uid.text, uid.len);
			e->container.pod_uid[uid.len] = 0;
		}
		return;
	}
	if (!part_equal(point, "/etc/hostname") && !part_equal(point, "/etc/hosts") &&
	    !part_equal(point, "/etc/resolv.conf"))
		return;
	id = component_above(root, 1);
	kind = component_above(root, 2);
	if (part_equal(id, "userdata")) {
		id = kind;
		kind = component_above(root, 3);
		/* podman shares the other two files with the pod's first container. */
		if (!part_equal(kind, "overlay-containers") ||
		    !part_equal(point, "/etc/hostname"))
			return;
	} else if (part_equal(kind, "sandboxes")) {
		e->pod = true;
		return;
	} else if (!part_equal(kind, "containers")) {
		return;
	}
	if (id.len != ID_DIGITS || !op_is_hex(id.text, id.len))
		return;
	if (e->id.len && memcmp(e->id.text, id.text, id.len) != 0)
		e->conflict = true;
	e->id = id;
}

bool op_container_of_mountinfo(const char *text, size_t len, struct op_container *ret)
{
	struct cursor lines = { .pos = text, .end = text + len };
	struct evidence e = { 0 };
	struct part line;

	while (next_part(&lines, '\n', &line)) {
		struct cursor c = { .pos = line.text, .end = line.text + line.len };
		/* the fields are id, parent, device, root, mount point: proc(5) */
		struct part field[5];
		size_t i;

		for (i = 0; i < OP_ARRAY_SIZE(field); i++)
			if (!next_part(&c, ' ', &field[i]))
				break;
		if (i == OP_ARRAY_SIZE(field))
			take_mount(&e, field[3], field[4]);
	}
	if (e.id.len && !e.pod && !e.conflict)
		set_id(&e.container, e.id);
	if (!found(&e.container))
		return false;
	*ret = e.container;
	return true;
}
