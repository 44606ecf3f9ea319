/* SPDX-License-Identifier: Apache-2.0 */
#include "process/image/memory_use.h"

#include "process/image/file.h"

enum {
	/* of an image: its struct, and its file's headers */
	IMAGE_BYTES = sizeof(struct op_image) + 2048,
	/* of an open file: the buffer of its last reading */
	OPEN_BYTES = 8192,
};

uint64_t op_images_name_bytes(const struct op_images *x)
{
	uint64_t bytes = x->symbol_bytes;
	const struct op_image *image;

	TAILQ_FOREACH(image, &x->lru, lru)
		bytes += op_names_bytes(&image->names);
	return bytes;
}

uint64_t op_images_own_bytes(const struct op_images *x)
{
	uint64_t bytes = x->open_len * OPEN_BYTES;
	const struct op_image *image;

	TAILQ_FOREACH(image, &x->lru, lru)
		bytes += IMAGE_BYTES +
			 (image->job.running
				  ? op_unwind_table_job_bytes(image->job.running)
				  : 0) +
			 (image->early ? op_unwind_early_bytes(image->early) : 0);
	return bytes;
}

uint64_t op_images_give_up_indices(struct op_images *x, uint64_t bytes,
				   uint64_t unused_ns)
{
	struct op_image *image;
	uint64_t freed = 0;

	TAILQ_FOREACH(image, &x->lru, lru) {
		if (freed >= bytes)
			break;
		if (!image->symbols.loaded || image->symbols.used_ns > unused_ns)
			continue;
		freed += image->symbols.bytes;
		op_image_drop_symbols(x, image);
		x->names_evicted++;
	}
	return freed;
}

uint64_t op_images_give_up_names(struct op_images *x, uint64_t bytes)
{
	uint64_t freed = op_images_give_up_indices(x, bytes, UINT64_MAX);
	struct op_image *image;

	TAILQ_FOREACH(image, &x->lru, lru) {
		uint64_t had = op_names_bytes(&image->names);

		if (freed >= bytes)
			return freed;
		if (!had)
			continue;
		freed += had;
		op_names_clear(&image->names);
		x->names_evicted++;
	}
	return freed;
}
