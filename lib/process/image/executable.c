/* SPDX-License-Identifier: Apache-2.0 */
#include "process/image/executable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "process/image/file.h"
#include "process/image/vdso.h"
#include "process/target/open.h"
#include "process/target/target.h"

static const uint64_t OPEN_RETRY_NS = UINT64_C(1000000000);
/* The pause after a failure that says nothing about the file. */
static const uint64_t OPEN_BUSY_NS = UINT64_C(20000000);

enum {
	OPEN_RETRY_SHIFT_MAX = 6, /* retries after 1 s, 2 s, ... 64 s */
};

/* The hash is keyed, since a program that serves files (FUSE) chooses their inode
 * numbers. */
static size_t bucket_of(const struct op_executables *x, uint32_t dev_major,
			uint32_t dev_minor, uint64_t inode)
{
	uint64_t dev = ((uint64_t)dev_major << 32 | dev_minor) ^ x->images.seed;

	return op_hash_u64(op_hash_u64(dev) ^ inode) % OP_EXECUTABLE_BUCKETS;
}

static void forget_image(struct op_executables *x, struct op_executable *e)
{
	op_image_put(&x->images, e->image, x->now_ns);
	e->image = NULL;
	e->state = OP_EXECUTABLE_NEW;
	e->failures = 0;
	e->retry_ns = 0;
}

static void executable_free(struct op_executables *x, struct op_executable *e)
{
	struct op_executable **at =
		&x->buckets[bucket_of(x, e->dev_major, e->dev_minor, e->inode)];

	if (!e->vdso) {
		while (*at != e)
			at = &(*at)->next;
		*at = e->next;
	}
	forget_image(x, e);
	x->len--;
	free(e->path);
	free(e);
}

/* Copy the path without the suffix that the kernel adds for a deleted file. */
static char *copy_path(const char *path)
{
	static const char deleted[] = " (deleted)";
	size_t len = strlen(path);
	size_t tail = sizeof(deleted) - 1;

	if (len > tail && strcmp(path + len - tail, deleted) == 0)
		len -= tail;
	return strndup(path, len);
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
	e->path = copy_path(path);
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

/*
 * Is it the kernel's shared memory? There is no file to open then, and it has code only if
 * the process wrote it there. The path alone says nothing: each process has files where it
 * likes in its own root.
 */
static bool is_shared_memory(const struct op_executables *x,
			     const struct op_executable *e, const char *path)
{
	return x->memory_device &&
	       gnu_dev_makedev(e->dev_major, e->dev_minor) == x->memory_device &&
	       (strncmp(path, "/dev/zero", strlen("/dev/zero")) == 0 ||
		strncmp(path, "/SYSV", strlen("/SYSV")) == 0);
}

/* Nobody had mapped @e: its inode may belong to another file by now. */
static void doubt(struct op_executables *x, struct op_executable *e, const char *path)
{
	/* What is made of an ELF file is compared before it is used. */
	if (e->state == OP_EXECUTABLE_FOREIGN && !is_shared_memory(x, e, path))
		forget_image(x, e);
	e->check = true;
	e->noted = 0;
	e->news_failed = 0;
}

/* A file with the device and inode of @e is mapped. */
static void revive(struct op_executables *x, struct op_executable *e, const char *path)
{
	if (!e->refs) {
		TAILQ_REMOVE(&x->idle, e, idle);
		x->idle_len--;
		doubt(x, e, path);
	}
	if (strcmp(e->path, path) != 0) {
		char *copy = copy_path(path);

		if (copy) {
			free(e->path);
			e->path = copy;
		}
	}
	e->refs++;
}

int op_executable_get(struct op_executables *x, uint32_t dev_major, uint32_t dev_minor,
		      uint64_t inode, const char *path, struct op_executable **ret)
{
	size_t bucket = bucket_of(x, dev_major, dev_minor, inode);
	struct op_executable *e;
	int r;

	for (e = x->buckets[bucket]; e; e = e->next) {
		if (e->inode != inode || e->dev_major != dev_major ||
		    e->dev_minor != dev_minor)
			continue;
		revive(x, e, path);
		*ret = e;
		return 0;
	}
	r = executable_new(x, path, &e);
	if (r < 0)
		return r;
	e->dev_major = dev_major;
	e->dev_minor = dev_minor;
	e->inode = inode;
	if (is_shared_memory(x, e, path))
		e->state = OP_EXECUTABLE_FOREIGN;
	e->next = x->buckets[bucket];
	x->buckets[bucket] = e;
	*ret = e;
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

static struct op_file_stamp stamp_of(const struct op_opened *o)
{
	return (struct op_file_stamp){
		.dev = o->dev,
		.inode = o->inode,
		.size = o->size,
		.mtime_ns = o->mtime_ns,
		.ctime_ns = o->ctime_ns,
		.uid = o->uid,
		.served = o->served,
	};
}

/* Is the content unchanged? The ctime changes with a rename or an unlink, too, so it is
 * compared only if the inode may have been given to another file. */
static bool is_unchanged(const struct op_executable *e, const struct op_file_stamp *now)
{
	return e->stamp.dev == now->dev && e->stamp.inode == now->inode &&
	       e->stamp.uid == now->uid && e->stamp.size == now->size &&
	       e->stamp.mtime_ns == now->mtime_ns &&
	       (!e->check || e->stamp.ctime_ns == now->ctime_ns);
}

int op_executable_open_mapped(struct op_target *t, const struct op_executable *e,
			      const struct op_executable_place *place,
			      struct op_opened *ret)
{
	const struct op_mapped_file file = {
		.start = place->start,
		.end = place->end,
		.dev_major = e->dev_major,
		.dev_minor = e->dev_minor,
		.inode = e->inode,
		.path = e->path,
	};

	return op_target_open_mapped(t, place->pid, &file, ret);
}

/* Open the file. Returns a descriptor or -errno. */
static int open_file(struct op_executables *x, const struct op_executable *e,
		     const struct op_executable_place *place,
		     struct op_file_stamp *ret_stamp)
{
	struct op_opened opened;
	int r = op_executable_open_mapped(x->target, e, place, &opened);

	if (r < 0)
		return r;
	*ret_stamp = stamp_of(&opened);
	return opened.fd;
}

/* Does @error mean that the file is no ELF file of this machine? */
static bool is_foreign(int error)
{
	return error == -ENOEXEC || error == -ENOTSUP || error == -EBADMSG;
}

/* Does @error tell of us or of the process, and nothing of the file? */
static bool is_of_others(int error)
{
	return error == -EAGAIN || error == -ETIMEDOUT || error == -ENOMEM ||
	       error == -ESRCH;
}

static void note_failure(struct op_executables *x, struct op_executable *e, int error)
{
	bool foreign = is_foreign(error);

	if (is_of_others(error)) {
		/* One that is set aside is refused by itself. */
		if (error != -ETIMEDOUT)
			e->retry_ns = x->now_ns + OPEN_BUSY_NS;
		return;
	}
	/* An image that may be published already stays, even if the file has changed
	 * since. */
	if (foreign && (!e->image || e->check)) {
		forget_image(x, e);
		e->state = OP_EXECUTABLE_FOREIGN;
		e->check = false;
		return;
	}
	if (!e->failures)
		op_log(x->images.log, OP_LOG_DEBUG, "Cannot open %s: %s", e->path,
		       strerror(-error));
	e->retry_ns =
		x->now_ns + (OPEN_RETRY_NS << OP_MIN(e->failures, OPEN_RETRY_SHIFT_MAX));
	e->failures++;
}

/* Make the image of the file, for the first time or because another file has its inode by
 * now. Takes @elf on success. */
static int take_content(struct op_executables *x, struct op_executable *e,
			struct op_elf *elf, const struct op_file_stamp *stamp)
{
	struct op_image *image;
	int r = op_image_new(&x->images, elf, e->path, stamp, &image);

	if (r < 0)
		return r;
	forget_image(x, e);
	e->image = image;
	return 0;
}

/* The file is no ELF file, but a runtime may know its format. */
static void take_other(struct op_executables *x, struct op_executable *e, int fd,
		       const struct op_file_stamp *stamp)
{
	struct op_image *image;

	if (op_image_new_other(&x->images, fd, e->path, stamp, &image) <= 0)
		return;
	forget_image(x, e);
	e->image = image;
	e->state = OP_EXECUTABLE_FOREIGN;
	e->check = false;
}

/* Use the opened file @taken_fd, which is taken even on failure. */
static int take_file(struct op_executables *x, struct op_executable *e, int taken_fd,
		     const struct op_file_stamp *stamp)
{
	_cleanup_(op_elf_freep) struct op_elf *elf = NULL;
	_cleanup_close_ int fd = taken_fd;
	int r;

	if (e->image && e->image->other)
		forget_image(x, e);
	if (e->image && !is_unchanged(e, stamp) && !e->check)
		return -ESTALE; /* the file was written to while it is mapped */
	if (e->image && is_unchanged(e, stamp)) {
		if (!op_image_may_read(e->image, stamp))
			return -ESTALE;
		op_image_take_fd(&x->images, e->image, OP_TAKE_FD(fd), stamp->served);
		return 0;
	}
	r = op_elf_open(fd, &elf);
	if (is_foreign(r))
		take_other(x, e, fd, stamp);
	if (r < 0)
		return r;
	fd = -1;
	r = take_content(x, e, elf, stamp);
	if (r == 0)
		elf = NULL;
	return r;
}

static int open_vdso(struct op_executables *x, struct op_executable *e)
{
	static const struct op_file_stamp no_file;
	_cleanup_(op_elf_freep) struct op_elf *elf = NULL;
	int r = op_vdso_open(&elf);

	if (r == 0)
		r = take_content(x, e, elf, &no_file);
	if (r == 0)
		elf = NULL;
	return r;
}

/* Tell the host, once for each content. */
static void tell(struct op_executables *x, const struct op_executable *e, uint32_t pid)
{
	if (!x->events.executable || e->image->reported)
		return;
	e->image->reported = true;
	x->events.executable(x->events.ctx, e, pid);
}

static int open_anew(struct op_executables *x, struct op_executable *e,
		     const struct op_executable_place *place)
{
	struct op_file_stamp stamp;
	int fd;
	int r;

	if (e->vdso)
		return open_vdso(x, e);
	fd = open_file(x, e, place, &stamp);
	if (fd < 0)
		return fd;
	r = take_file(x, e, fd, &stamp);
	if (r < 0)
		return r;
	e->stamp = stamp;
	if (!e->image->opener)
		e->image->opener = e;
	tell(x, e, place->pid);
	return 0;
}

int op_executable_open(struct op_executables *x, struct op_executable *e,
		       const struct op_executable_place *place, bool need_file)
{
	int r;

	if (e->state == OP_EXECUTABLE_FOREIGN && !e->check)
		return -ENOEXEC;
	if (e->image && !e->check && (!need_file || op_image_has_file(e->image)))
		return 0;
	if (x->now_ns < e->retry_ns)
		return -EAGAIN;
	r = open_anew(x, e, place);
	/* The image exists and stays: the file may be opened through another process
	 * later. */
	if ((r == -ENOENT || r == -ESRCH) && e->image && !e->check)
		return r;
	if (r < 0) {
		if (!place->gone && !(e->image && e->image->other))
			note_failure(x, e, r);
		return r;
	}
	e->check = false;
	e->state = OP_EXECUTABLE_READY;
	e->failures = 0;
	e->retry_ns = 0;
	return 0;
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
