/* SPDX-License-Identifier: Apache-2.0 */
/* What images hold in user memory, and names that are given up to make room. */
#ifndef OP_PROCESS_IMAGE_MEMORY_USE_H
#define OP_PROCESS_IMAGE_MEMORY_USE_H

#include <stdint.h>

#include "process/image/image.h"

/* Bytes of names: the indices that were read from files, and names that were found. */
uint64_t op_images_name_bytes(const struct op_images *x);
/* Bytes of the images themselves and of tables that are being made, about. */
uint64_t op_images_own_bytes(const struct op_images *x);
/*
 * Give up names, those of the least recently used images first, until @bytes of them are free:
 * first the indices, which are read again at the next new address, then names that were found,
 * which are looked up again. Counts images in x->names_evicted. Returns how many bytes became
 * free.
 */
uint64_t op_images_give_up_names(struct op_images *x, uint64_t bytes);
/* The same of indices alone, and of those that were not used since @unused_ns. */
uint64_t op_images_give_up_indices(struct op_images *x, uint64_t bytes,
				   uint64_t unused_ns);

#endif
