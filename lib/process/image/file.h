/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptors of images. An open file keeps its file system from being unmounted and, if it
 * is deleted, its space from being freed. So a file is open only
 *   - while a process maps the executable through which it was opened,
 *   - if it is deleted: until op_images_check_files() runs,
 *   - and for OP_IMAGES_OPEN_MAX images at a time, of which OP_IMAGES_COPIES_MAX may be
 *     copies in memory of files that a program serves.
 * The image of a closed file is suspended: headers, table and names stay. A caller that
 * needs the file opens it again through a process that maps it.
 */
#ifndef OP_PROCESS_IMAGE_FILE_H
#define OP_PROCESS_IMAGE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "process/image/image.h"

enum {
	OP_IMAGES_OPEN_MAX = 64, /* descriptors; past that the oldest are closed */
	/* of these; each has at most OP_SERVED_FILE_MAX bytes */
	OP_IMAGES_COPIES_MAX = 4,
};

/* Can the file be read? */
bool op_image_has_file(const struct op_image *image);
/* Set the image's file to @elf, which is taken. @copy: it is a copy in memory. */
void op_image_take_file(struct op_images *x, struct op_image *image, struct op_elf *elf,
			bool copy);
/* Reopen the image's closed file as @fd, which is taken. */
void op_image_take_fd(struct op_images *x, struct op_image *image, int fd, bool copy);
/* Forget the names. */
void op_image_drop_symbols(struct op_images *x, struct op_image *image);
/* Close the file and its debug file. */
void op_image_close_file(struct op_images *x, struct op_image *image);
/* Close both of an image that is being freed. */
void op_image_drop_file(struct op_images *x, struct op_image *image);
/* Executable @opener is no longer mapped: close the file if it was opened through it. */
void op_image_opener_ends(struct op_images *x, struct op_image *image,
			  const void *opener);
/* Close deleted files. Cheap: all files are checked only every two seconds, or after a
 * deleted one was opened. */
void op_images_check_files(struct op_images *x, uint64_t now_ns);

#endif
