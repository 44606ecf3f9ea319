/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/types.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/macros.h"
#include "kernel/kinds/off.h"
#include "kernel/object.h"
#include "kernel/state.h"

#include "base.object.h"
#include "walker.object.h"

enum {
	NESTING_MAX = 64, /* the kernel's types nest to a depth of about ten */
	OBJECTS_MAX = OP_KINDS + 2,
};

const struct op_object_source op_base_source = { "op_base", &op_base_object };
const struct op_object_source op_walkers_source = { "op_walker", &op_walker_object };

struct copy {
	const struct btf *from;
	struct btf *to;
	struct op_map64 ids; /* id of a type in @from -> its id in @to */
};

OP_DEFINE_CLEANUP(struct btf *, btf__free)

static int copy_type(struct copy *c, uint32_t id, unsigned int nesting);

static const char *name_of(const struct btf *btf, const struct btf_type *t)
{
	return btf__name_by_offset(btf, t->name_off);
}

/* Bit fields keep their sizes. The members of a union all have offset 0. */
static int copy_composite(struct copy *c, const struct btf_type *t, unsigned int nesting)
{
	const struct btf_member *m = btf_members(t);
	uint16_t len = btf_vlen(t);
	_cleanup_free_ int *types = calloc((size_t)len + 1, sizeof(*types));
	uint16_t i;
	int id;

	if (!types)
		return -ENOMEM;
	/* btf__add_field() adds to the type that was added last, so the types of all
	 * members are copied first. */
	for (i = 0; i < len; i++) {
		types[i] = copy_type(c, m[i].type, nesting + 1);
		if (types[i] < 0)
			return types[i];
	}
	if (btf_is_struct(t))
		id = btf__add_struct(c->to, name_of(c->from, t), t->size);
	else
		id = btf__add_union(c->to, name_of(c->from, t), t->size);
	for (i = 0; id > 0 && i < len; i++) {
		int r = btf__add_field(c->to, btf__name_by_offset(c->from, m[i].name_off),
				       types[i], btf_member_bit_offset(t, i),
				       btf_member_bitfield_size(t, i));

		if (r < 0)
			return r;
	}
	return id;
}

static int copy_enum(struct copy *c, const struct btf_type *t)
{
	const struct btf_enum *e = btf_enum(t);
	int id = btf__add_enum(c->to, name_of(c->from, t), t->size);
	uint16_t i;

	for (i = 0; id > 0 && i < btf_vlen(t); i++) {
		int r = btf__add_enum_value(
			c->to, btf__name_by_offset(c->from, e[i].name_off), e[i].val);

		if (r < 0)
			return r;
	}
	return id;
}

static int copy_array(struct copy *c, const struct btf_type *t, unsigned int nesting)
{
	const struct btf_array *a = btf_array(t);
	int index = copy_type(c, a->index_type, nesting + 1);
	int element = copy_type(c, a->type, nesting + 1);

	if (index < 0 || element < 0)
		return OP_MIN(index, element);
	return btf__add_array(c->to, index, element, a->nelems);
}

static int copy_kind(struct copy *c, const struct btf_type *t, unsigned int nesting)
{
	if (btf_is_composite(t))
		return copy_composite(c, t, nesting);
	if (btf_is_array(t))
		return copy_array(c, t, nesting);
	if (btf_is_enum(t))
		return copy_enum(c, t);
	if (btf_is_int(t))
		return btf__add_int(c->to, name_of(c->from, t), t->size,
				    btf_int_encoding(t));
	if (btf_is_float(t))
		return btf__add_float(c->to, name_of(c->from, t), t->size);
	/* A pointer. Other kinds of members are copied as pointers, too, because no
	 * program reads their fields. */
	return btf__add_ptr(c->to, 0);
}

/* Copy type @id without its modifiers and typedefs. Returns its id in the copy, or
 * -errno. */
static int copy_type(struct copy *c, uint32_t id, unsigned int nesting)
{
	const struct btf_type *t = btf__type_by_id(c->from, id);
	uint64_t known;
	int r;

	while (t && (btf_is_mod(t) || btf_is_typedef(t))) {
		id = t->type;
		t = btf__type_by_id(c->from, id);
	}
	if (!t || nesting > NESTING_MAX)
		return -EBADMSG;
	if (op_map64_get(&c->ids, id, &known))
		return (int)known;
	r = copy_kind(c, t, nesting);
	if (r > 0 && op_map64_put(&c->ids, id, (uint64_t)r) < 0)
		return -ENOMEM;
	return r;
}

/* A key made of the type's name, without its flavour, and its kind. */
static uint64_t key_of(const struct btf *btf, const struct btf_type *t)
{
	const char *name = name_of(btf, t);
	const char *flavour = strstr(name, "___");

	return op_hash_bytes(name, flavour ? (size_t)(flavour - name) : strlen(name),
			     btf_kind(t));
}

static bool can_be_named(const struct btf_type *t)
{
	return t->name_off && (btf_is_composite(t) || btf_is_enum(t));
}

/* Collect the keys of all types that @programs names. */
static int list_wanted(const struct btf *programs, struct op_map64 *ret)
{
	uint32_t id;

	for (id = 1; id < btf__type_cnt(programs); id++) {
		const struct btf_type *t = btf__type_by_id(programs, id);

		if (can_be_named(t) && op_map64_put(ret, key_of(programs, t), id) < 0)
			return -ENOMEM;
	}
	return 0;
}

int op_types_copy(const struct btf *kernel, const struct btf *const *programs, size_t len,
		  struct btf **ret)
{
	_cleanup_(btf__freep) struct btf *to = btf__new_empty();
	struct copy c = { .from = kernel, .to = to };
	struct op_map64 wanted = { 0 };
	uint64_t unused;
	uint32_t id;
	size_t i;
	int r = 0;

	if (!to)
		return -ENOMEM;
	for (i = 0; r >= 0 && i < len; i++)
		r = list_wanted(programs[i], &wanted);
	for (id = 1; r >= 0 && id < btf__type_cnt(kernel); id++) {
		const struct btf_type *t = btf__type_by_id(kernel, id);

		if (can_be_named(t) && op_map64_get(&wanted, key_of(kernel, t), &unused))
			r = copy_type(&c, id, 0);
	}
	op_map64_clear(&wanted);
	op_map64_clear(&c.ids);
	if (r < 0)
		return r;
	*ret = OP_TAKE_PTR(to);
	return 0;
}

int op_types_file(const char *path, const struct btf *const *programs, size_t len)
{
	_cleanup_(btf__freep) struct btf *kernel = btf__parse_raw(path);
	_cleanup_(btf__freep) struct btf *few = NULL;
	_cleanup_close_ int fd = -1;
	const void *bytes;
	uint32_t bytes_len;
	int r;

	if (!kernel)
		return -errno;
	r = op_types_copy(kernel, programs, len, &few);
	if (r < 0)
		return r;
	bytes = btf__raw_data(few, &bytes_len);
	if (!bytes)
		return -ENOMEM;
	fd = memfd_create("otelprof-types", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = op_write_full(fd, bytes, bytes_len);
	return r < 0 ? r : OP_TAKE_FD(fd);
}

void op_types_path(const struct op_capture *c, char ret[OP_TYPES_PATH_BYTES])
{
	(void)snprintf(ret, OP_TYPES_PATH_BYTES, "%s/kernel/btf/vmlinux",
		       c->config.sysfs_root);
}

/* The objects whose programs @kinds need. Returns how many. */
static size_t sources_of(uint64_t kinds, struct op_object_source ret[OBJECTS_MAX])
{
	size_t len = 0;
	uint32_t i;

	ret[len++] = op_walkers_source;
	ret[len++] = op_base_source;
	for (i = 0; i < OP_KINDS; i++)
		if (kinds >> i & 1)
			ret[len++] =
				(struct op_object_source){ op_kind_name(op_kinds()[i]),
							   op_kinds()[i]->object };
	return len;
}

/* Without the copy libbpf reads all of the kernel's types for each object. */
void op_types_need(struct op_capture *c, uint64_t kinds)
{
	uint64_t all = kinds | c->typed_kinds;
	struct op_object_source sources[OBJECTS_MAX];
	struct bpf_object *objects[OBJECTS_MAX];
	const struct btf *types[OBJECTS_MAX];
	char path[OP_TYPES_PATH_BYTES];
	size_t sources_len;
	uint32_t i;
	size_t len;

	for (i = 0; i < OP_KINDS; i++) /* for the iterator that notes waiting threads */
		if (all >> i & 1 && op_kind_notes_threads(op_kinds()[i]))
			all |= UINT64_C(1) << OP_EVENT_THREADS;
	sources_len = sources_of(all, sources);
	if (all == c->typed_kinds)
		return;
	for (len = 0; len < sources_len; len++) {
		objects[len] = op_object_peek(&sources[len]);
		if (!objects[len])
			break;
		types[len] = bpf_object__btf(objects[len]);
	}
	op_types_path(c, path);
	op_closep(&c->types_fd);
	/* with a copy that lacks the types of one object, the programs of that object
	 * would be refused */
	c->types_fd = len == sources_len ? op_types_file(path, types, len) : -ENOMEM;
	if (c->types_fd < 0)
		op_log(c->log, OP_LOG_DEBUG,
		       "%s cannot be copied (%s); it is read for each load", path,
		       strerror(-c->types_fd));
	else
		c->typed_kinds = all;
	while (len--)
		bpf_object__close(objects[len]);
}
