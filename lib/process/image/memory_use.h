/* SPDX-License-Identifier: Apache-2.0 */
/* The user memory of images, and dropping names to free it. */
#ifndef OP_PROCESS_IMAGE_MEMORY_USE_H
#define OP_PROCESS_IMAGE_MEMORY_USE_H

#include <stdint.h>

#include "process/image/image.h"

/* Bytes of names: indices read from files, and names that were found. */
uint64_t op_images_name_bytes(const struct op_images *x);
/* About the bytes of images and of tables that are being made. */
uint64_t op_images_own_bytes(const struct op_images *x);
/*
 * Drop names, of the least recently used images first, until @bytes are free. Indices go
 * first, and are read again at the next new address. Names that were found go next, and
 * are looked up again. Counts images in x->names_evicted. Returns the bytes freed.
 */
uint64_t op_images_give_up_names(struct op_images *x, uint64_t bytes);
/* Drop only indices, and only those that were not used since @unused_ns. */
uint64_t op_images_give_up_indices(struct op_images *x, uint64_t bytes,
				   uint64_t unused_ns);

#endif
