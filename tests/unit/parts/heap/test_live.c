/* SPDX-License-Identifier: Apache-2.0 */
/* What is in use according to the kernel's map, which is a pretended one here. */
#include <bpf/bpf.h>
#include <errno.h>
#include <unistd.h>

#include "../../process/world.h"
#include "base/io.h"
#include "parts/heap/live.h"
#include "test.h"

enum {
	LIVES = 1000, /* pretended descriptors */
	OF_PID,
};

static struct op_heap_live live; /* the one element of the map */

int __wrap_bpf_map_lookup_batch(int fd, void *in, void *out, void *keys, void *values,
				__u32 *count, const struct bpf_map_batch_opts *opts);
int __wrap_bpf_map_delete_elem(int fd, const void *key);

int __wrap_bpf_map_lookup_batch(int fd, void *in, void *out, void *keys, void *values,
				__u32 *count, const struct bpf_map_batch_opts *opts)
{
	uint64_t key = 4096;

	*count = fd == LIVES;
	if (*count) {
		memcpy(keys, &key, sizeof(key));
		memcpy(values, &live, sizeof(live));
	}
	errno = ENOENT;
	return -1;
}

int __wrap_bpf_map_delete_elem(int fd, const void *key)
{
	return 0;
}

/* One block whose sample was lost is one, however often it is looked at. */
static void test_unknown_once(void)
{
	const struct op_capture_heap maps = { LIVES, OF_PID };
	struct op_part_taken taken = { 0 };
	struct op_live l = { 0 };
	struct world w;
	int i;

	world_init(&w, NULL);
	CHECK_OK(op_live_init(&l, w.p));
	live = (struct op_heap_live){ .time_ns = op_clock_monotonic_ns(),
				      .value = op_heap_value(4096, 524288),
				      .pid = (uint32_t)getpid(),
				      .tid = (uint32_t)getpid() };
	for (i = 0; i < 3; i++)
		CHECK_OK(op_live_snapshot(&l, &maps, w.window, &taken));
	CHECK_INT(l.count, 1);
	CHECK_INT(l.unknown, 1);
	op_live_reset(&l);
	CHECK_INT(l.unknown, 0);
	op_live_deinit(&l);
	world_deinit(&w);
}

TEST_MAIN({ "unknown_once", test_unknown_once })
