/* SPDX-License-Identifier: Apache-2.0 */
/* Attaches programs to the probes of a file; a program is loaded for each set of places
 * of arguments. */
#include "parts/heap/images.h"

#include <elf.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/macros.h"
#include "code/elf/file.h"
#include "parts/probes/argument.h"
#include "parts/probes/attach.h"
#include "parts/probes/usdt.h"

enum {
	PATH_BYTES = 64,
	ALLOC_ARGUMENTS = 3,
	FREE_ARGUMENTS = 1,
	OVERLAY_INODE_BITS = 32, /* above them it may have the number of a layer */
};

static const char PROVIDER[] = "otel_memory";

void op_heap_images_init(struct op_heap_images *x)
{
	x->maps = (struct op_capture_heap){ -1, -1 };
}

static void detach(struct op_heap_images *x, struct op_heap_image *image)
{
	struct op_executable **exe;
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(image->fd); i++)
		op_closep(&image->fd[i]);
	op_vec_foreach(exe, &image->exes)
		op_executable_put(x->executables, *exe);
	op_vec_clear(&image->exes);
}

void op_heap_images_clear(struct op_heap_images *x)
{
	size_t i;

	for (i = 0; i < x->len; i++)
		detach(x, &x->image[i]);
	x->len = 0;
	for (i = 0; i < x->programs_len; i++)
		op_closep(&x->program[i].fd);
	x->programs_len = 0;
}

void op_heap_images_deinit(struct op_heap_images *x)
{
	op_heap_images_clear(x);
	op_closep(&x->maps.lives);
	op_closep(&x->maps.of_pid);
}

/* The program for arguments at the places @argument: a borrowed descriptor, or -errno. */
static int program_for(struct op_heap_images *x, bool is_free,
		       const struct op_argument argument[OP_ARGUMENTS_MAX])
{
	struct op_heap_program *p;
	size_t i;
	int fd;

	for (i = 0; i < x->programs_len; i++) {
		p = &x->program[i];
		if (p->is_free == is_free &&
		    !memcmp(p->argument, argument, sizeof(p->argument)))
			return p->fd;
	}
	if (i == OP_HEAP_PROGRAMS_MAX)
		return -ENOSPC;
	fd = op_capture_load_heap(x->capture, is_free, argument, &x->maps);
	if (fd < 0)
		return fd;
	p = &x->program[x->programs_len++];
	*p = (struct op_heap_program){ .is_free = is_free, .fd = fd };
	memcpy(p->argument, argument, sizeof(p->argument));
	return fd;
}

void op_heap_images_prepare(struct op_heap_images *x)
{
	/* where both ABIs pass them; lib/preload/heap/probe.c sees to that */
#if defined(__x86_64__)
	static const char usual[] = "8@%rdi 8@%rsi 8@%rdx";
	enum {
		MACHINE = EM_X86_64
	};
#else
	static const char usual[] = "8@x0 8@x1 8@x2";
	enum {
		MACHINE = EM_AARCH64
	};
#endif
	struct op_argument argument[OP_ARGUMENTS_MAX] = { 0 };

	(void)op_probe_arguments_parse(usual, MACHINE, argument);
	(void)program_for(x, false, argument);
	memset(argument + FREE_ARGUMENTS, 0,
	       (OP_ARGUMENTS_MAX - FREE_ARGUMENTS) * sizeof(*argument));
	(void)program_for(x, true, argument);
}

/* Attach to one site of @place. Returns a descriptor or -errno. */
static int attach_site(struct op_heap_images *x, const struct op_probe_spec *spec,
		       const struct op_probe_place *place, uint32_t site, bool is_free)
{
	uint32_t wanted = is_free ? FREE_ARGUMENTS : ALLOC_ARGUMENTS;
	struct op_argument argument[OP_ARGUMENTS_MAX] = { 0 };
	int program;

	if (place->arguments_len[site] < wanted)
		return -ENOTSUP;
	memcpy(argument, place->argument[site], wanted * sizeof(argument[0]));
	program = program_for(x, is_free, argument);
	return program < 0 ? program
			   : op_probe_attach(spec, place, site, program, x->sysfs_root);
}

/* Attach to each site of the probe @name. Returns 0; -ENOENT if the file has none;
 * -errno. */
static int attach_probe(struct op_heap_images *x, struct op_elf *elf, const char *path,
			const char *name, bool is_free, int *ret_fds)
{
	const struct op_probe_spec spec = { .type = OP_PROBE_STATIC,
					    .file = path,
					    .provider = PROVIDER,
					    .symbol = name };
	struct op_probe_place place;
	uint32_t i;
	int r = op_probe_usdt_find(elf, &spec, &place);

	for (i = 0; r >= 0 && i < place.sites_len; i++)
		r = ret_fds[i] = attach_site(x, &spec, &place, i, is_free);
	return r < 0 ? r : 0;
}

/* Attach to frees first, so that no free of a tracked allocation is missed. */
static int attach(struct op_heap_images *x, struct op_elf *elf,
		  struct op_heap_image *image)
{
	char path[PATH_BYTES];
	int r;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", op_elf_fd(elf));
	r = attach_probe(x, elf, path, "free", true, image->fd + OP_PROBE_SITES_MAX);
	if (r == 0 || r == -ENOENT)
		r = attach_probe(x, elf, path, "alloc", false, image->fd);
	return r;
}

static bool is_there(const struct op_heap_images *x, const struct op_executable *exe)
{
	struct op_executable **e;
	size_t i;

	for (i = 0; i < x->len && exe; i++)
		op_vec_foreach(e, &x->image[i].exes)
			if (*e == exe)
				return true;
	return false;
}

static int64_t ns_of(struct timespec t)
{
	return (int64_t)t.tv_sec * OP_NS_PER_S + t.tv_nsec;
}

static int file_of(int fd, struct op_heap_file *ret)
{
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
		return -errno;
	*ret = (struct op_heap_file){ .overlay = fs.f_type == OVERLAYFS_SUPER_MAGIC,
				      .dev = st.st_dev,
				      .inode = st.st_ino,
				      .size = (uint64_t)st.st_size,
				      .mtime_ns = ns_of(st.st_mtim),
				      .ctime_ns = ns_of(st.st_ctim) };
	if (ret->overlay) {
		ret->dev = 0;
		ret->inode &= (UINT64_C(1) << OVERLAY_INODE_BITS) - 1;
	}
	return 0;
}

static bool is_same(const struct op_heap_file *a, const struct op_heap_file *b)
{
	return a->overlay == b->overlay && a->dev == b->dev && a->inode == b->inode &&
	       a->size == b->size && a->mtime_ns == b->mtime_ns &&
	       a->ctime_ns == b->ctime_ns;
}

static struct op_heap_image *find(struct op_heap_images *x,
				  const struct op_heap_file *file)
{
	size_t i;

	for (i = 0; i < x->len; i++)
		if (is_same(&x->image[i].file, file))
			return &x->image[i];
	return NULL;
}

/* Mappings name the file of @image as @exe, too; NULL: it stays attached. */
static int name(struct op_heap_image *image, struct op_executable *exe)
{
	struct op_executable **place;

	if (!exe) {
		image->stays = true;
		return 0;
	}
	place = op_vec_push(&image->exes);
	if (!place)
		return -ENOMEM;
	*place = op_executable_ref(exe);
	return 0;
}

int op_heap_images_add(struct op_heap_images *x, struct op_executable *exe, int fd)
{
	_cleanup_(op_elf_freep) struct op_elf *elf = NULL;
	struct op_heap_image *image = &x->image[x->len];
	struct op_heap_image *other;
	struct op_heap_file file;
	int r = op_elf_open(fd, &elf);

	if (r < 0) {
		(void)close(fd);
		return r == -ENOMEM ? r : 0;
	}
	if (is_there(x, exe) || !op_elf_section(elf, ".note.stapsdt"))
		return 0;
	r = file_of(op_elf_fd(elf), &file);
	if (r < 0)
		return r;
	/* attached twice, each of its hits would be two samples */
	other = find(x, &file);
	if (other)
		return name(other, exe);
	if (x->len == OP_HEAP_IMAGES_MAX) {
		x->refused++;
		return -ENOSPC;
	}
	*image = (struct op_heap_image){ .file = file };
	memset(image->fd, 0xff, sizeof(image->fd)); /* every descriptor becomes -1 */
	r = attach(x, elf, image);
	if (r == 0)
		r = name(image, exe);
	if (r < 0) {
		detach(x, image);
		return r == -ENOENT ? 0 : r;
	}
	x->len++;
	return 1;
}

/* Drop the references to what no process maps any more. */
static void trim(struct op_heap_images *x, struct op_heap_image *image)
{
	size_t kept = 0;
	size_t i;

	for (i = 0; i < image->exes.len; i++) {
		struct op_executable *exe = image->exes.data[i];

		if (exe->refs == 1)
			op_executable_put(x->executables, exe);
		else
			image->exes.data[kept++] = exe;
	}
	image->exes.len = kept;
}

void op_heap_images_trim(struct op_heap_images *x)
{
	size_t kept = 0;
	size_t i;

	for (i = 0; i < x->len; i++) {
		struct op_heap_image *image = &x->image[i];

		trim(x, image);
		if (!image->stays && !image->exes.len)
			detach(x, image);
		else
			x->image[kept++] = *image;
	}
	x->len = kept;
}
