/* SPDX-License-Identifier: Apache-2.0 */
/* The arena's slabs: maps that the programs read and that this process writes. */
#include <bpf/bpf.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "capture/state.h"
#include "otelprof/error.h"

enum {
	/* slabs that keep a descriptor; further ones stay mapped instead */
	SLAB_FDS_MAX = 64,
};

static int map_memory(int fd, void **ret)
{
	void *memory =
		mmap(NULL, OP_SLAB_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		return -errno;
	*ret = memory;
	return 0;
}

/* Make slab @index, map it, and put it into the programs' map of slabs. */
static int add_slab(void *ctx, uint32_t index, void **ret)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	struct op_capture *c = ctx;
	_cleanup_close_ int fd = -1;
	void *memory = NULL;
	int r;

	if (c->forked)
		return -OTELPROF_E_FORKED;
	if (op_vec_reserve(&c->slabs, 1))
		return -ENOMEM;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "op_slab", sizeof(uint32_t),
			    OP_SLAB_BYTES, 1, &opts);
	if (fd < 0)
		return fd;
	r = map_memory(fd, &memory);
	if (r < 0)
		return r;
	r = bpf_map_update_elem(c->map[OP_MAP_SLABS], &index, &fd, BPF_ANY);
	if (r < 0) {
		(void)munmap(memory, OP_SLAB_BYTES);
		return r;
	}
	c->slabs.data[c->slabs.len++] = (struct op_slab){
		.memory = memory,
		.fd = index < SLAB_FDS_MAX ? OP_TAKE_FD(fd) : -1,
	};
	*ret = memory;
	return 0;
}

static int unmap_slab(void *ctx, uint32_t index)
{
	struct op_capture *c = ctx;
	struct op_slab *slab = &c->slabs.data[index];

	if (slab->fd < 0)
		return -EMFILE;
	if (munmap(slab->memory, OP_SLAB_BYTES) < 0)
		return -errno;
	slab->memory = NULL;
	return 0;
}

static int map_slab(void *ctx, uint32_t index, void **ret)
{
	struct op_capture *c = ctx;
	struct op_slab *slab = &c->slabs.data[index];
	int r = c->forked ? -OTELPROF_E_FORKED : map_memory(slab->fd, &slab->memory);

	if (r == 0)
		*ret = slab->memory;
	return r;
}

static uint64_t clock_ns(void *ctx)
{
	(void)ctx;
	return op_clock_monotonic_ns();
}

const struct op_arena_ops *op_capture_arena_ops(void)
{
	static const struct op_arena_ops ops = { .add_slab = add_slab,
						 .unmap_slab = unmap_slab,
						 .map_slab = map_slab,
						 .clock_ns = clock_ns };

	return &ops;
}

void op_slabs_close(struct op_capture *c)
{
	struct op_slab *slab;

	op_vec_foreach(slab, &c->slabs) {
		if (slab->memory)
			(void)munmap(slab->memory, OP_SLAB_BYTES);
		op_closep(&slab->fd);
	}
	op_vec_clear(&c->slabs);
}
