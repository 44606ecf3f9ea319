/* SPDX-License-Identifier: Apache-2.0 */
/* How long the index of a file's names is kept, and what goes first where there is no room. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "code/symbol/index.h"
#include "process/image/image.h"
#include "process/image/memory_use.h"
#include "process/target/target.h"
#include "patient.h"
#include "test.h"

static const uint64_t S = UINT64_C(1000000000);

static struct op_image *own_image(struct op_images *x)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct op_file_stamp s = { .inode = 1 };
	struct op_image *image;
	struct op_elf *elf;

	CHECK(fd >= 0);
	CHECK_OK(op_elf_open(fd, &elf));
	CHECK_OK(op_image_new(x, elf, "/proc/self/exe", &s, &image));
	return image;
}

static void load(struct op_images *x, struct op_target *t, struct op_image *image)
{
	CHECK(op_image_load_symbols(x, image, t, (uint32_t)getpid(), "/proc/self/exe"));
	CHECK(image->symbols.loaded);
	CHECK(x->symbol_bytes > 0);
}

/* As long as it is used, and then the longer the dearer it is to load again. */
static void test_rest(void)
{
	struct op_images x = { .symbol_budget_bytes = 64 << 20 };
	struct op_target *t = NULL;
	struct op_image *image;
	uint64_t now;

	op_images_init(&x);
	CHECK_OK(op_target_new("/proc", &t));
	be_patient(t);
	image = own_image(&x);
	load(&x, t, image);
	CHECK(image->symbols.cost_ns > 0);
	now = op_clock_monotonic_ns();
	CHECK(image->symbols.used_ns <= now && image->symbols.used_ns + 5 * S > now);

	image->symbols.cost_ns = S / 1000; /* a millisecond: the least time holds */
	image->symbols.used_ns = now;
	op_images_rest_symbols(&x, now + 9 * S);
	CHECK(image->symbols.loaded);
	op_images_rest_symbols(&x, now + 10 * S);
	CHECK(!image->symbols.loaded && !image->symbols.failed);
	CHECK_INT(x.symbol_bytes, 0);

	load(&x, t, image);
	image->symbols.cost_ns = S / 50;
	image->symbols.used_ns = now;
	op_images_rest_symbols(&x, now + 19 * S);
	CHECK(image->symbols.loaded);
	op_images_rest_symbols(&x, now + 21 * S);
	CHECK(!image->symbols.loaded);

	op_image_put(&x, image, 0);
	op_images_deinit(&x);
	op_target_free(t);
}

/* The indices go first, which are cheap to read again; then names that were found. */
static void test_names_are_given_up(void)
{
	struct op_images x = { .symbol_budget_bytes = 64 << 20 };
	struct op_target *t = NULL;
	struct op_image *image;
	uint64_t index_bytes;
	int i;

	op_images_init(&x);
	CHECK_OK(op_target_new("/proc", &t));
	be_patient(t);
	image = own_image(&x);
	CHECK_INT(op_images_give_up_names(&x, UINT64_MAX), 0);
	CHECK_INT(x.names_evicted, 0);
	load(&x, t, image);
	index_bytes = x.symbol_bytes;
	for (i = 0; i < 1000; i++) {
		CHECK(op_names_add(&image->names, (uint64_t)i));
		CHECK(op_names_text(&image->names, "a name") != SIZE_MAX);
	}
	CHECK(op_images_name_bytes(&x) > index_bytes + 1000 * sizeof(struct op_place));
	CHECK_INT(op_images_give_up_names(&x, 1), index_bytes);
	CHECK(!image->symbols.loaded && op_names_get(&image->names, 7));
	CHECK_INT(x.names_evicted, 1);
	CHECK(op_images_give_up_names(&x, 1) > 1000 * sizeof(struct op_place));
	CHECK(!op_names_get(&image->names, 7));
	CHECK_INT(op_images_name_bytes(&x), 0);
	CHECK_INT(x.names_evicted, 2);
	CHECK(op_images_own_bytes(&x) >= sizeof(struct op_image));
	op_image_put(&x, image, 0);
	op_images_deinit(&x);
	op_target_free(t);
}

/* What is asked for before memory is taken. */
struct asked {
	uint64_t bytes;
	int times;
	bool refuse;
};

static bool may_take(void *ctx, uint64_t bytes, bool needed)
{
	struct asked *asked = ctx;

	CHECK(!needed);
	asked->bytes += bytes;
	asked->times++;
	return !asked->refuse;
}

/* Where there is no room the file has no names for a while. */
static void test_no_room(void)
{
	struct asked asked = { .refuse = true };
	struct op_allowance allowance = { .may_take = may_take, .may_take_ctx = &asked };
	struct op_images x = { .symbol_budget_bytes = 64 << 20, .allowance = &allowance };
	struct op_target *t = NULL;
	struct op_image *image;
	uint64_t index_bytes;

	op_images_init(&x);
	CHECK_OK(op_target_new("/proc", &t));
	be_patient(t);
	image = own_image(&x);
	CHECK(!op_image_load_symbols(&x, image, t, (uint32_t)getpid(), "/proc/self/exe"));
	CHECK_INT(asked.times, 1);
	CHECK(!image->symbols.loaded && !image->symbols.failed);
	CHECK_INT(x.symbol_bytes, 0);
	/* it is not asked for at each frame */
	asked.refuse = false;
	CHECK(!op_image_load_symbols(&x, image, t, (uint32_t)getpid(), "/proc/self/exe"));
	CHECK_INT(asked.times, 1);
	CHECK(image->symbols.after_ns > op_clock_monotonic_ns());
	image->symbols.after_ns = op_clock_monotonic_ns();
	asked.bytes = 0;
	load(&x, t, image);
	/* it was charged before, with all that it takes meanwhile */
	CHECK(asked.bytes >= x.symbol_bytes * sizeof(struct op_symbol_raw) /
				     sizeof(struct op_symbol_entry) / 2);
	index_bytes = x.symbol_bytes;
	/* one that was used lately stays */
	image->symbols.used_ns = 5 * S;
	CHECK_INT(op_images_give_up_indices(&x, 1, 5 * S - 1), 0);
	CHECK(image->symbols.loaded);
	CHECK_INT(op_images_give_up_indices(&x, 1, 5 * S), index_bytes);
	CHECK(!image->symbols.loaded);
	CHECK_INT(x.names_evicted, 1);
	op_image_put(&x, image, 0);
	op_images_deinit(&x);
	op_target_free(t);
}

TEST_MAIN({ "rest", test_rest }, { "given_up", test_names_are_given_up },
	  { "no_room", test_no_room })
