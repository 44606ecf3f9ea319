/* SPDX-License-Identifier: Apache-2.0 */
#include "process/image/executable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "process/image/file.h"
#include "process/target/open.h"
#include "process/target/target.h"

/* The hash is keyed, because a program that serves files (FUSE) chooses their inode
 * numbers. */
static size_t bucket_of(const struct op_executables *x, const struct op_file_key *key)
{
	uint64_t dev = ((uint64_t)key->dev_major << 32 | key->dev_minor) ^ x->images.seed;

	return op_hash_u64(op_hash_u64(dev) ^ key->inode) % OP_EXECUTABLE_BUCKETS;
}

/* May @a and @b be the same file? */
static bool key_fits(const struct op_file_key *a, const struct op_file_key *b)
{
	return a->inode == b->inode && a->dev_major == b->dev_major &&
	       a->dev_minor == b->dev_minor &&
	       (a->generation == b->generation || !a->generation || !b->generation);
}

void op_executable_forget_image(struct op_executables *x, struct op_executable *e)
{
	op_image_put(&x->images, e->image, x->now_ns);
	e->image = NULL;
	e->state = OP_EXECUTABLE_NEW;
	e->failures = 0;
	e->retry_ns = 0;
}

static void executable_free(struct op_executables *x, struct op_executable *e)
{
	struct op_executable **at = &x->buckets[bucket_of(x, &e->key)];

	if (!e->vdso) {
		while (*at != e)
			at = &(*at)->next;
		*at = e->next;
	}
	op_executable_forget_image(x, e);
	x->len--;
	free(e->path);
	free(e);
}

static const char DELETED[] = " (deleted)";

/* The length of a path without the suffix that the kernel adds for a deleted file. */
static size_t path_len(const char *path)
{
	size_t len = strlen(path);
	size_t tail = sizeof(DELETED) - 1;

	return len > tail && strcmp(path + len - tail, DELETED) == 0 ? len - tail : len;
}

/* May @e be the file of @key and @path? Each hard link of a file is a module of its own,
 * because programs run under both names. */
static bool may_be(const struct op_executable *e, const struct op_file_key *key,
		   const char *path)
{
	const char *name = op_base_name(path);
	const char *own = op_base_name(e->path);
	size_t len = path_len(name);

	return key_fits(&e->key, key) && strncmp(own, name, len) == 0 && !own[len];
}

static int executable_new(struct op_executables *x, const char *path,
			  struct op_executable **ret)
{
	struct op_executable *e;

	if (x->len >= OP_EXECUTABLES_MAX) {
		x->refused++;
		return -ENFILE;
	}
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->path = strndup(path, path_len(path));
	if (!e->path) {
		free(e);
		return -ENOMEM;
	}
	e->refs = 1;
	x->len++;
	*ret = e;
	return 0;
}

struct op_executable *op_executable_ref(struct op_executable *e)
{
	e->refs++;
	return e;
}

void op_executable_put(struct op_executables *x, struct op_executable *e)
{
	if (!e || --e->refs)
		return;
	if (e->image)
		op_image_opener_ends(&x->images, e->image, e);
	TAILQ_INSERT_TAIL(&x->idle, e, idle);
	x->idle_len++;
	while (x->idle_len > OP_EXECUTABLES_IDLE_MAX) {
		struct op_executable *oldest = TAILQ_FIRST(&x->idle);

		TAILQ_REMOVE(&x->idle, oldest, idle);
		x->idle_len--;
		executable_free(x, oldest);
	}
}

/* The device of the kernel's own tmpfs, which nobody can mount; 0: unknown. */
static uint64_t memory_device(void)
{
	int fd = memfd_create("otelprof-device", MFD_CLOEXEC);
	struct stat st;
	uint64_t dev = fd >= 0 && fstat(fd, &st) == 0 ? st.st_dev : 0;

	op_closep(&fd);
	return dev;
}

bool op_executable_is_in_memory(const struct op_executables *x,
				const struct op_executable *e)
{
	return x->memory_device &&
	       gnu_dev_makedev(e->key.dev_major, e->key.dev_minor) == x->memory_device;
}

/*
 * Is @e shared memory of the kernel? Then there is no file to open, and only the process
 * can have written code to it. The path alone proves nothing, because a process can put
 * any file at any path in its own root.
 */
static bool is_shared_memory(const struct op_executables *x,
			     const struct op_executable *e, const char *path)
{
	return op_executable_is_in_memory(x, e) &&
	       (strncmp(path, "/dev/zero", strlen("/dev/zero")) == 0 ||
		strncmp(path, "/SYSV", strlen("/SYSV")) == 0);
}

bool op_executable_has_path(const struct op_executable *e, const char *path)
{
	size_t len = strlen(e->path);

	return strncmp(e->path, path, len) == 0 &&
	       (!path[len] || strcmp(path + len, DELETED) == 0);
}

bool op_file_stamp_same(const struct op_file_stamp *a, const struct op_file_stamp *b)
{
	return a->inode && a->dev == b->dev && a->inode == b->inode && a->uid == b->uid &&
	       a->size == b->size && a->mtime_ns == b->mtime_ns &&
	       a->ctime_ns == b->ctime_ns && a->mount == b->mount;
}

static void revive(struct op_executables *x, struct op_executable *e)
{
	if (!e->refs) {
		TAILQ_REMOVE(&x->idle, e, idle);
		x->idle_len--;
		/* no queue of new files has it any longer */
		e->noted = 0;
		e->news_failed = 0;
	}
	e->refs++;
}

static void put_first(struct op_executables *x, struct op_executable *e)
{
	struct op_executable **first = &x->buckets[bucket_of(x, &e->key)];
	struct op_executable **at = first;

	while (*at && *at != e)
		at = &(*at)->next;
	if (*at)
		*at = e->next;
	e->next = *first;
	*first = e;
}

static int add(struct op_executables *x, const struct op_file_key *key, const char *path,
	       struct op_executable **ret)
{
	struct op_executable *e;
	int r = executable_new(x, path, &e);

	if (r < 0)
		return r;
	e->key = *key;
	e->memory = is_shared_memory(x, e, path);
	if (e->memory)
		e->state = OP_EXECUTABLE_FOREIGN;
	put_first(x, e);
	*ret = e;
	return 0;
}

int op_executable_get(struct op_executables *x, const struct op_file_key *key,
		      const char *path, struct op_executable **ret)
{
	struct op_executable *found = NULL;
	struct op_executable *e;

	for (e = x->buckets[bucket_of(x, key)]; e; e = e->next) {
		if (!may_be(e, key, path))
			continue;
		if (op_executable_has_path(e, path)) {
			found = e;
			break;
		}
		found = found ?: e;
	}
	if (!found)
		return add(x, key, path, ret);
	revive(x, found);
	*ret = found;
	return 0;
}

int op_executable_get_other(struct op_executables *x, struct op_executable *e,
			    const struct op_file_stamp *stamp, struct op_executable **ret)
{
	struct op_executable *other = x->buckets[bucket_of(x, &e->key)];
	int r;

	while (other && (other == e || !may_be(other, &e->key, e->path) ||
			 !op_file_stamp_same(&other->stamp, stamp)))
		other = other->next;
	if (other) {
		revive(x, other);
		put_first(x, other);
		*ret = other;
		return 0;
	}
	r = add(x, &e->key, e->path, &other);
	if (r < 0)
		return r;
	other->stamp = *stamp;
	*ret = other;
	return 0;
}

int op_executable_get_vdso(struct op_executables *x, struct op_executable **ret)
{
	if (!x->vdso) {
		/* The table itself holds this reference. */
		int r = executable_new(x, "[vdso]", &x->vdso);

		if (r < 0)
			return r;
		x->vdso->vdso = true;
	}
	*ret = op_executable_ref(x->vdso);
	return 0;
}

struct op_file_stamp op_file_stamp_of(const struct op_opened *o)
{
	return (struct op_file_stamp){
		.dev = o->dev,
		.inode = o->inode,
		.size = o->size,
		.mtime_ns = o->mtime_ns,
		.ctime_ns = o->ctime_ns,
		.uid = o->uid,
		.served = o->served,
		.mount = o->mount,
	};
}

struct op_mapped_file op_executable_mapped(const struct op_executable *e,
					   const struct op_executable_place *place)
{
	return (struct op_mapped_file){
		.start = place->start,
		.end = place->end,
		.dev_major = e->key.dev_major,
		.dev_minor = e->key.dev_minor,
		.inode = e->key.inode,
		.path = e->path,
	};
}

int op_executable_open_mapped(struct op_target *t, const struct op_executable *e,
			      const struct op_executable_place *place,
			      struct op_opened *ret)
{
	const struct op_mapped_file file = op_executable_mapped(e, place);
	int r = op_target_open_mapped(t, place->pid, &file, ret);

	/* after the process is gone, another may have its pid */
	if (r == 0 && place->gone)
		ret->mapped = false;
	return r;
}

bool op_executable_may_open(const struct op_executables *x, const struct op_executable *e,
			    uint32_t pid, uint64_t now_ns)
{
	return now_ns >= e->retry_ns && !op_target_is_aside(x->target, pid);
}

void op_executables_init(struct op_executables *x)
{
	TAILQ_INIT(&x->idle);
	x->memory_device = memory_device();
	op_images_init(&x->images);
}

void op_executables_deinit(struct op_executables *x)
{
	struct op_executable *e;

	if (x->vdso)
		executable_free(x, x->vdso);
	x->vdso = NULL;
	while ((e = TAILQ_FIRST(&x->idle))) {
		TAILQ_REMOVE(&x->idle, e, idle);
		executable_free(x, e);
	}
	x->idle_len = 0;
	op_images_deinit(&x->images);
}
