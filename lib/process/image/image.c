/* SPDX-License-Identifier: Apache-2.0 */
#include "process/image/image.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/io.h"
#include "base/macros.h"
#include "process/image/file.h"
#include "process/target/open.h"

enum {
	COMPARED_MAX = 2, /* images with which a new file is compared byte by byte */
	COMPARED_PIECE = 64 << 10,
	/*
	 * Names are dropped when they were unused for this many times the CPU time that
	 * loading them took. So loading those of one file again and again takes at most a
	 * thousandth of a CPU.
	 */
	SYMBOLS_REST_FACTOR = 1000,
};

/* Names that did not fit into memory are tried again after this time. */
static const uint64_t SYMBOLS_RETRY_NS = UINT64_C(1000000000);
/* Unused names are not dropped before this age. */
static const uint64_t SYMBOLS_REST_NS = UINT64_C(10000000000);

static uint64_t ids_key(const struct op_images *x, const struct op_build_ids *ids)
{
	uint64_t h = op_hash_bytes(ids->gnu, strlen(ids->gnu), x->seed);

	return op_hash_bytes(ids->htlhash, strlen(ids->htlhash), h);
}

static void take_segments(struct op_image *image, const struct op_elf *elf)
{
	size_t len;
	const struct op_elf_segment *s = op_elf_segments(elf, &len);
	size_t i;

	for (i = 0; i < len && image->segments_len < OP_UNWIND_TABLE_SEGMENTS_MAX; i++) {
		if (s[i].type != PT_LOAD || !(s[i].flags & PF_X))
			continue;
		image->segments[image->segments_len++] =
			(struct op_image_segment){ .vaddr = s[i].vaddr,
						   .memsz = s[i].memsz,
						   .offset = s[i].offset,
						   .filesz = s[i].filesz };
	}
}

/* Find where the file's build id is mapped. */
static void take_mark(struct op_image *image, struct op_elf *elf)
{
	size_t len;
	const struct op_elf_segment *s = op_elf_segments(elf, &len);
	uint64_t at = image->ids.gnu_at;
	size_t i;

	if (strlen(image->ids.gnu) < 2 * sizeof(image->mark))
		return;
	for (i = 0; i < len; i++)
		if (s[i].type == PT_LOAD && at >= s[i].offset &&
		    op_range_ok(at - s[i].offset, sizeof(image->mark), s[i].filesz) &&
		    op_elf_read(elf, at, &image->mark, sizeof(image->mark)) == 0) {
			image->mark_vaddr = s[i].vaddr + (at - s[i].offset);
			return;
		}
}

/* Find the runtime that the file belongs to. There is at most one. */
static void probe(struct op_images *x, struct op_image *image, const char *path)
{
	size_t len;
	const struct op_runtime_ops *const *ops = op_runtime_all(&len);
	size_t i;

	for (i = 0; i < len; i++) {
		if (!ops[i]->probe || x->runtimes_off & (UINT64_C(1) << ops[i]->id))
			continue;
		if (ops[i]->probe(image->elf, path, x->layouts, x->log,
				  &image->runtime_image, &image->loop) <= 0)
			continue;
		image->runtime = ops[i];
		return;
	}
}

static void probe_other(struct op_images *x, struct op_image *image, int fd,
			const char *path)
{
	size_t len;
	const struct op_runtime_ops *const *ops = op_runtime_all(&len);
	size_t i;

	for (i = 0; i < len && !image->runtime; i++) {
		if (!ops[i]->probe_other || x->runtimes_off & (UINT64_C(1) << ops[i]->id))
			continue;
		if (ops[i]->probe_other(fd, path, x->log, &image->runtime_image) > 0)
			image->runtime = ops[i];
	}
}

/* Are @a and @b the same file, seen through two mounts? Only the kernel sets a ctime, so
 * equal stamps cannot be forged. */
static bool same_stamp(const struct op_file_stamp *a, const struct op_file_stamp *b)
{
	return a->inode && !a->served && !b->served && a->inode == b->inode &&
	       a->size == b->size && a->mtime_ns == b->mtime_ns &&
	       a->ctime_ns == b->ctime_ns;
}

static bool same_owner(const struct op_file_stamp *a, const struct op_file_stamp *b)
{
	return !a->served && !b->served && a->uid == b->uid && a->dev == b->dev;
}

bool op_image_may_read(const struct op_image *image, const struct op_file_stamp *stamp)
{
	/* a served file shares no image with others */
	return same_stamp(&image->stamp, stamp) || same_owner(&image->stamp, stamp) ||
	       (image->stamp.served && stamp->served && image->stamp.dev == stamp->dev);
}

/* Compare the files byte by byte, because a file's author can forge any hash of it. */
static bool same_content(struct op_elf *a, struct op_elf *b)
{
	uint64_t size = op_elf_size(a);
	_cleanup_free_ uint8_t *bytes = NULL;
	uint64_t off;

	if (op_elf_size(b) != size || size > OP_IMAGE_COMPARE_MAX)
		return false;
	bytes = malloc((size_t)2 * COMPARED_PIECE);
	for (off = 0; bytes && off < size; off += COMPARED_PIECE) {
		size_t n = (size_t)OP_MIN(size - off, (uint64_t)COMPARED_PIECE);

		if (op_elf_read(a, off, bytes, n) < 0 ||
		    op_elf_read(b, off, bytes + COMPARED_PIECE, n) < 0 ||
		    memcmp(bytes, bytes + COMPARED_PIECE, n) != 0)
			return false;
	}
	return bytes;
}

static struct op_image *first_of(const struct op_images *x, uint64_t key)
{
	uint64_t value;

	return op_map64_get(&x->by_key, key, &value) ? (struct op_image *)(uintptr_t)value
						     : NULL;
}

/* Returns an image of the same content and base name, or NULL. */
static struct op_image *find(const struct op_images *x, uint64_t key,
			     const struct op_build_ids *ids, struct op_elf *elf,
			     const char *file, const struct op_file_stamp *stamp)
{
	struct op_image *image;
	int compared = 0;

	for (image = first_of(x, key); image; image = image->same_key) {
		if (strcmp(image->ids.gnu, ids->gnu) != 0 ||
		    strcmp(image->ids.htlhash, ids->htlhash) != 0 ||
		    strcmp(image->file, file) != 0)
			continue;
		if (same_stamp(&image->stamp, stamp))
			return image;
		/* comparisons are limited, because many files may have forged ids */
		if (same_owner(&image->stamp, stamp) && op_image_has_file(image) &&
		    compared++ < COMPARED_MAX && same_content(image->elf, elf))
			return image;
	}
	return NULL;
}

/* Make @image the first of its key. */
static int link_image(struct op_images *x, struct op_image *image)
{
	image->same_key = first_of(x, image->key);
	return op_map64_put(&x->by_key, image->key, (uintptr_t)image);
}

static void unlink_image(struct op_images *x, struct op_image *image)
{
	struct op_image *first = first_of(x, image->key);
	struct op_image *i;

	if (first == image) {
		if (image->same_key)
			(void)op_map64_put(&x->by_key, image->key,
					   (uintptr_t)image->same_key);
		else
			(void)op_map64_remove(&x->by_key, image->key);
		return;
	}
	for (i = first; i; i = i->same_key)
		if (i->same_key == image)
			i->same_key = image->same_key;
}

static void image_free(struct op_images *x, struct op_image *image)
{
	if (!image)
		return;
	op_image_drop_file(x, image);
	free(image->runtime_image);
	op_names_clear(&image->names);
	free(image->file);
	free(image);
}

/* The name of a file's module. */
static const char *file_of(const char *path)
{
	const char *name = op_base_name(path);

	return *name ? name : path;
}

static struct op_image *image_new(const struct op_images *x, const char *path,
				  const struct op_file_stamp *stamp)
{
	struct op_image *image = calloc(1, sizeof(*image));

	if (!image)
		return NULL;
	image->refs = 1;
	image->stamp = *stamp;
	image->used_window = x->window;
	image->file = strdup(file_of(path));
	if (!image->file) {
		free(image);
		return NULL;
	}
	return image;
}

int op_image_new_other(struct op_images *x, int fd, const char *path,
		       const struct op_file_stamp *stamp, struct op_image **ret)
{
	struct op_image *image = image_new(x, path, stamp);

	if (!image)
		return -ENOMEM;
	image->other = true;
	image->key = op_hash_u64(stamp->dev ^ op_hash_u64(stamp->inode)) ^ x->seed;
	probe_other(x, image, fd, path);
	if (!image->runtime || link_image(x, image) < 0) {
		int r = image->runtime ? -ENOMEM : 0;

		image_free(x, image);
		return r;
	}
	TAILQ_INSERT_TAIL(&x->lru, image, lru);
	*ret = image;
	return 1;
}

int op_image_new(struct op_images *x, struct op_elf *elf, const char *path,
		 const struct op_file_stamp *stamp, struct op_image **ret)
{
	struct op_build_ids ids = { 0 };
	struct op_image *image;
	uint64_t key;
	int r;

	r = op_elf_build_ids(elf, &ids);
	if (r < 0)
		return r;
	key = ids_key(x, &ids);
	image = find(x, key, &ids, elf, file_of(path), stamp);
	if (image) {
		image->refs++;
		op_image_take_file(x, image, elf, stamp->served);
		*ret = image;
		return 0;
	}
	image = image_new(x, path, stamp);
	if (!image)
		return -ENOMEM;
	image->key = key;
	image->ids = ids;
	if (link_image(x, image) < 0) {
		image_free(x, image);
		return -ENOMEM;
	}
	take_segments(image, elf);
	take_mark(image, elf);
	TAILQ_INSERT_TAIL(&x->lru, image, lru);
	op_image_take_file(x, image, elf, stamp->served);
	probe(x, image, path);
	*ret = image;
	return 0;
}

void op_image_put(struct op_images *x, struct op_image *image, uint64_t now_ns)
{
	if (!image || --image->refs)
		return;
	unlink_image(x, image);
	TAILQ_REMOVE(&x->lru, image, lru);
	op_image_end_job(x, image);
	image->table = op_unwind_table_free(image->table, x->arena, x->rules, now_ns);
	image->early = op_unwind_early_free(image->early, now_ns);
	image_free(x, image);
}

void op_image_touch(struct op_images *x, struct op_image *image)
{
	if (image->used_window == x->window)
		return;
	image->used_window = x->window;
	TAILQ_REMOVE(&x->lru, image, lru);
	TAILQ_INSERT_TAIL(&x->lru, image, lru);
}

op_ref op_image_segment_ref(const struct op_image *image, size_t i)
{
	size_t j;

	if (i >= image->segments_len)
		return 0;
	if (!image->table)
		return image->early ? op_unwind_early_segment(image->early,
							      image->segments[i].vaddr)
				    : 0;
	for (j = 0; j < image->table->segments_len; j++)
		if (image->table->segments[j].vaddr == image->segments[i].vaddr)
			return image->table->segments[j].segment;
	return 0;
}

/* The number of bytes that two ranges have in common. */
static uint64_t overlap(uint64_t a, uint64_t a_len, uint64_t b, uint64_t b_len)
{
	uint64_t a_end = a + a_len < a ? UINT64_MAX : a + a_len;
	uint64_t b_end = b + b_len < b ? UINT64_MAX : b + b_len;
	uint64_t first = OP_MAX(a, b);
	uint64_t end = OP_MIN(a_end, b_end);

	return end > first ? end - first : 0;
}

size_t op_image_find_segment(const struct op_image *image, uint64_t offset, uint64_t len)
{
	size_t best = SIZE_MAX;
	uint64_t most = 0;
	size_t i;

	/* two segments may share a page of the file: take the one with more bytes in the
	 * range */
	for (i = 0; i < image->segments_len; i++) {
		uint64_t common = overlap(offset, len, image->segments[i].offset,
					  image->segments[i].filesz);

		if (common <= most)
			continue;
		most = common;
		best = i;
	}
	return best;
}

/* Drop names, of the least recently used images first, until @need more bytes fit. */
static void make_room(struct op_images *x, uint64_t need, const struct op_image *keep)
{
	struct op_image *image;

	TAILQ_FOREACH(image, &x->lru, lru) {
		if (x->symbol_bytes + need <= x->symbol_budget_bytes)
			return;
		if (image == keep || !image->symbols.loaded)
			continue;
		op_image_drop_symbols(x, image);
		x->names_evicted++;
	}
}

/* The owner of a debug file can write any names into it. So it must belong to the owner
 * of the executable. */
struct debug_place {
	struct op_target *target;
	uint32_t pid;
	uint32_t uid;
};

static int open_debug(void *ctx, const char *path)
{
	const struct debug_place *place = ctx;
	struct op_opened opened;
	int r = op_target_open_of_owner(place->target, place->pid, path, place->uid,
					&opened);

	return r < 0 ? r : opened.fd;
}

static bool may_take_names(void *ctx, uint64_t bytes)
{
	const struct op_images *x = ctx;

	return op_allowance_may_take(x->allowance, bytes, false);
}

bool op_image_load_symbols(struct op_images *x, struct op_image *image,
			   struct op_target *t, uint32_t pid, const char *path)
{
	struct debug_place place = { .target = t, .pid = pid, .uid = image->stamp.uid };
	uint64_t begin_ns = op_clock_thread_ns();
	struct op_symbols_options options = {
		.open = open_debug,
		.open_ctx = &place,
		.path = path,
		.limit_bytes = x->symbol_budget_bytes / 2,
		.may_take = may_take_names,
		.may_take_ctx = x,
	};
	int r;

	if (image->symbols.loaded || image->symbols.failed || !op_image_has_file(image))
		return true;
	if (!op_allowance_has_cpu(x->allowance) ||
	    op_clock_monotonic_ns() < image->symbols.after_ns)
		return false;
	r = op_symbols_new(image->elf, &options, x->log, &image->symbols.loaded);
	op_allowance_take_cpu(x->allowance, begin_ns);
	if (r == -EAGAIN) {
		image->symbols.after_ns = op_clock_monotonic_ns() + SYMBOLS_RETRY_NS;
		return false;
	}
	image->symbols.failed = r < 0;
	if (r < 0)
		return true;
	image->symbols.cost_ns = op_clock_thread_ns() - begin_ns;
	image->symbols.used_ns = op_clock_monotonic_ns();
	image->symbols.bytes = op_symbols_bytes(image->symbols.loaded);
	make_room(x, image->symbols.bytes, image);
	x->symbol_bytes += image->symbols.bytes;
	return true;
}

void op_images_rest_symbols(struct op_images *x, uint64_t now_ns)
{
	struct op_image *image;

	if (!x->symbol_bytes)
		return;
	TAILQ_FOREACH(image, &x->lru, lru) {
		uint64_t rest_ns = OP_MAX(SYMBOLS_REST_NS,
					  image->symbols.cost_ns * SYMBOLS_REST_FACTOR);

		if (image->symbols.loaded && now_ns >= image->symbols.used_ns + rest_ns)
			op_image_drop_symbols(x, image);
	}
}

struct op_image *op_images_coldest(struct op_images *x, bool runtimes)
{
	struct op_image *image;

	TAILQ_FOREACH(image, &x->lru, lru) {
		if (image->used_window + 1 >= x->window)
			return NULL;
		if ((image->table || image->early) && (runtimes || !image->runtime))
			return image;
	}
	return NULL;
}

void op_images_init(struct op_images *x)
{
	TAILQ_INIT(&x->lru);
	TAILQ_INIT(&x->open);
	x->seed = op_hash_seed();
	x->window = 2; /* images begin with used_window 2, so none looks unused at once */
}

void op_images_deinit(struct op_images *x)
{
	op_map64_clear(&x->by_key);
}
