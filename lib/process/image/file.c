/* SPDX-License-Identifier: Apache-2.0 */
#include "process/image/file.h"

#include <sys/stat.h>
#include <unistd.h>

static const uint64_t FILES_CHECK_NS = UINT64_C(2000000000);

bool op_image_has_file(const struct op_image *image)
{
	return image->elf && !op_elf_is_suspended(image->elf);
}

static bool is_open(const struct op_image *image)
{
	return image->elf && op_elf_fd(image->elf) >= 0;
}

static bool is_deleted(const struct op_image *image)
{
	struct stat st;

	/* a copy in memory has no link, and holds no file system */
	if (image->copy || image->made)
		return false;
	return fstat(op_elf_fd(image->elf), &st) < 0 || st.st_nlink == 0;
}

void op_image_drop_symbols(struct op_images *x, struct op_image *image)
{
	x->symbol_bytes -= image->symbols.bytes;
	image->symbols.bytes = 0;
	image->symbols.failed = false;
	image->symbols.loaded = op_symbols_free(image->symbols.loaded);
}

void op_image_close_file(struct op_images *x, struct op_image *image)
{
	/* names of a separate debug file are read from that file, which is found again
	 * when they are loaded again */
	if (image->symbols.loaded && op_symbols_hold_file(image->symbols.loaded))
		op_image_drop_symbols(x, image);
	image->opener = NULL;
	if (!is_open(image))
		return;
	op_elf_suspend(image->elf);
	TAILQ_REMOVE(&x->open, image, open);
	x->open_len--;
	x->copies -= image->copy;
	image->copy = false;
}

void op_image_drop_file(struct op_images *x, struct op_image *image)
{
	op_image_close_file(x, image);
	/* The names are read from the file that is closed. */
	op_image_drop_symbols(x, image);
	image->elf = op_elf_free(image->elf);
}

static void limit_copies(struct op_images *x)
{
	struct op_image *image;
	struct op_image *next;

	for (image = TAILQ_FIRST(&x->open); image && x->copies > OP_IMAGES_COPIES_MAX;
	     image = next) {
		next = TAILQ_NEXT(image, open);
		if (image->copy)
			op_image_close_file(x, image);
	}
}

/* Add the opened file at the end of the list. The first entries are closed to keep the
 * limits. */
static void add_open(struct op_images *x, struct op_image *image, bool copy)
{
	if (!is_open(image))
		return; /* the vDSO has no descriptor */
	TAILQ_INSERT_TAIL(&x->open, image, open);
	x->open_len++;
	image->copy = copy;
	x->copies += copy;
	x->deleted_open = x->deleted_open || is_deleted(image);
	while (x->open_len > OP_IMAGES_OPEN_MAX)
		op_image_close_file(x, TAILQ_FIRST(&x->open));
	limit_copies(x);
}

void op_image_take_file(struct op_images *x, struct op_image *image, struct op_elf *elf,
			bool copy)
{
	if (op_image_has_file(image)) {
		(void)op_elf_free(elf);
		return;
	}
	if (image->elf) {
		/* the contents are equal, and names point into the first ELF object: keep
		 * that one */
		op_elf_resume(image->elf, op_elf_take_fd(elf));
		(void)op_elf_free(elf);
	} else {
		image->elf = elf;
	}
	add_open(x, image, copy);
}

void op_image_take_fd(struct op_images *x, struct op_image *image, int fd, bool copy)
{
	if (!image->elf || !op_elf_is_suspended(image->elf)) {
		(void)close(fd);
		return;
	}
	op_elf_resume(image->elf, fd);
	add_open(x, image, copy);
}

void op_image_opener_ends(struct op_images *x, struct op_image *image, const void *opener)
{
	/* the debug file may be from this process's root, not from the opener's */
	if (image->opener == opener ||
	    (image->symbols.loaded && op_symbols_hold_file(image->symbols.loaded)))
		op_image_close_file(x, image);
}

void op_images_check_files(struct op_images *x, uint64_t now_ns)
{
	struct op_image *image;
	struct op_image *next;

	if (!x->deleted_open && now_ns < x->files_checked_ns + FILES_CHECK_NS)
		return;
	x->files_checked_ns = now_ns;
	x->deleted_open = false;
	for (image = TAILQ_FIRST(&x->open); image; image = next) {
		next = TAILQ_NEXT(image, open);
		if (is_deleted(image))
			op_image_close_file(x, image);
	}
}
