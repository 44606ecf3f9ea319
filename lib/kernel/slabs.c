/* SPDX-License-Identifier: Apache-2.0 */
/* The arena's slabs: maps that the programs read and that this process writes. Also the
 * memory of all maps. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "kernel/state.h"
#include "otelprof/error.h"

enum {
	/* slabs that keep a descriptor; further ones stay mapped */
	SLAB_FDS_MAX = 64,
	/* a slab is an array of one element, and a page for its head */
	SLAB_BYTES = OP_SLAB_BYTES + 4096,
	FDINFO_PATH_BYTES = 64,
	/* the text of a program's map of programs is the longest */
	FDINFO_BYTES_MAX = 65536,
};

/* Interval at which the kernel is asked about the other maps, most of which never
 * change. */
static const uint64_t MAPS_LOOK_NS = UINT64_C(1000000000);

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
	struct op_slab slab;
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
	slab = (struct op_slab){ .memory = memory,
				 .fd = index < SLAB_FDS_MAX ? OP_TAKE_FD(fd) : -1 };
	if (index == c->slabs.len)
		c->slabs.len++;
	c->slabs.data[index] = slab;
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

/* The programs find a slab only by references. There has been none to this slab for at
 * least the arena's grace period, so no program is reading it. */
static int remove_slab(void *ctx, uint32_t index)
{
	struct op_capture *c = ctx;
	struct op_slab *slab = &c->slabs.data[index];
	int r = c->forked ? -OTELPROF_E_FORKED
			  : bpf_map_delete_elem(c->map[OP_MAP_SLABS], &index);

	if (r < 0)
		return r;
	if (slab->memory)
		(void)munmap(slab->memory, OP_SLAB_BYTES);
	slab->memory = NULL;
	op_closep(&slab->fd);
	slab->fd = -1;
	return 0;
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
						 .remove_slab = remove_slab,
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

/* Bytes of map @fd; 0: the kernel does not say. */
static uint64_t map_bytes(int fd)
{
	static const char name[] = "\nmemlock:";
	_cleanup_free_ char *text = NULL;
	char path[FDINFO_PATH_BYTES];
	const char *found;

	if (fd < 0)
		return 0;
	/* of this process, whatever procfs_root is */
	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	if (op_read_file(path, FDINFO_BYTES_MAX, &text) < 0)
		return 0;
	found = strstr(text, name);
	return found ? strtoull(found + sizeof(name) - 1, NULL, 10) : 0;
}

static uint64_t maps_bytes(const struct op_capture *c)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < OP_MAPS; i++) {
		uint64_t told = map_bytes(c->map[i]);

		bytes += told;
		/* Linux 5.11 to 6.3 do not count the bytes of a ring, and others may not
		 * count any. */
		if (i == OP_MAP_RING && told < op_capture_ring_bytes(c))
			bytes += op_capture_ring_bytes(c);
	}
	for (i = 0; i < c->kinds.walkers_len; i++)
		bytes += map_bytes(c->kinds.walkers[i].fd) +
			 map_bytes(c->kinds.walkers[i].held_fd);
	return bytes;
}

uint64_t op_capture_bytes(struct op_capture *c, uint64_t now_ns)
{
	const struct op_cpu_events *cpu;
	const struct op_slab *slab;
	uint64_t bytes;

	if (!c->maps_bytes_ns || now_ns >= c->maps_bytes_ns + MAPS_LOOK_NS) {
		c->maps_bytes = maps_bytes(c);
		c->maps_bytes_ns = now_ns;
	}
	bytes = c->maps_bytes;
	op_vec_foreach(cpu, &c->cpus.list)
		bytes += cpu->sideband ? c->page_size + OP_SIDEBAND_BYTES : 0;
	op_vec_foreach(slab, &c->slabs)
		bytes += slab->memory || slab->fd >= 0 ? SLAB_BYTES : 0;
	return bytes;
}
