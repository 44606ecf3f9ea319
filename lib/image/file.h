/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptors of images. An open file of another process keeps its file system busy and
 * the space of a deleted file taken, so one is open only
 *   - while an executable that opened it is mapped by a process,
 *   - if it is deleted: until the work on it is done (op_images_check_files()),
 *   - and for OP_IMAGES_OPEN_MAX images at one time, of which OP_IMAGES_COPIES_MAX are
 *     copies in memory of files that are served.
 * A file that is closed leaves its image suspended: headers, table and names stay, and a
 * read opens it again through a process that maps it.
 */
#ifndef OP_IMAGE_FILE_H
#define OP_IMAGE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "image/image.h"

enum {
	OP_IMAGES_OPEN_MAX = 64,  /* descriptors; more are closed, the oldest first */
	OP_IMAGES_COPIES_MAX = 4, /* of these; OP_SERVED_FILE_MAX each at most */
};

/* Can the file be read? */
bool op_image_has_file(const struct op_image *image);
/* The image's file is @elf, or @copy is one in memory. Takes @elf. */
void op_image_take_file(struct op_images *x, struct op_image *image, struct op_elf *elf,
			bool copy);
/* As above, of @fd, the same file as before it was closed. Takes @fd. */
void op_image_take_fd(struct op_images *x, struct op_image *image, int fd, bool copy);
/* Forget the names, which are read from the file. */
void op_image_drop_symbols(struct op_images *x, struct op_image *image);
/* Close the file, and a debug file of it. */
void op_image_close_file(struct op_images *x, struct op_image *image);
/* As above; the image ends. */
void op_image_drop_file(struct op_images *x, struct op_image *image);
/* Nobody maps the file any more that @opener opened. */
void op_image_opener_ends(struct op_images *x, struct op_image *image,
			  const void *opener);
/* Close deleted files. Cheap: looks at all files every two seconds only. */
void op_images_check_files(struct op_images *x, uint64_t now_ns);

#endif
