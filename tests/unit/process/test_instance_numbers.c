/* SPDX-License-Identifier: Apache-2.0 */
/* Instance numbers in a process that maps many runtime files, one after another. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/macros.h"
#include "code/symbol/kernel.h"
#include "process/target/maps.h"
#include "test.h"
#include "world.h"

enum {
	FILES = OP_INSTANCES_MAX + 3,
	FILE_BYTES = 4096,
};

static const uint64_t MS = 1000000;
static const uint64_t SECOND = 1000000000;

int op_kernel_symbols_find(struct op_kernel_symbols *k, uint64_t addr,
			   struct op_kernel_symbol *ret)
{
	return 0;
}

static char *file_path(char *buf, size_t size, int number)
{
	(void)snprintf(buf, size, "/tmp/jit-%d-%d.dump", (int)getpid(), number);
	return buf;
}

/* A jitdump file: a header of which each number makes another content. */
static void make_file(int number)
{
	const uint32_t header[10] = { 0x4a695444,      1, 40, 62, 0, (uint32_t)getpid(),
				      (uint32_t)number };
	char path[64];
	int fd = open(file_path(path, sizeof(path), number),
		      O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);

	CHECK(fd >= 0);
	CHECK(ftruncate(fd, FILE_BYTES) == 0);
	CHECK(pwrite(fd, header, sizeof(header), 0) == sizeof(header));
	CHECK(close(fd) == 0);
}

struct seen {
	struct world *w;
	uint64_t addr;
};

/* The kernel's record of the mapping. Nobody tells what is unmapped. */
static int tell(void *ctx, const struct op_mmap_event *e)
{
	const struct seen *seen = ctx;
	struct op_mmap_event event = *e;

	if (e->start != seen->addr)
		return 0;
	event.pid = world_self();
	op_processes_on_mmap(seen->w->p, &event);
	return 1;
}

/* Map file @number at @at; the mapping before, at @before, is taken away. */
static void map_file(struct world *w, int number, uint8_t *at, uint8_t *before)
{
	struct seen seen = { .w = w, .addr = world_native(at) };
	char path[64];
	int fd = open(file_path(path, sizeof(path), number), O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	if (before)
		CHECK(munmap(before, FILE_BYTES) == 0);
	CHECK(mmap(at, FILE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
		   0) == at);
	CHECK(close(fd) == 0);
	CHECK(op_maps_read("/proc/self/maps", tell, &seen) == 1);
	world_settle(w, 5 * MS);
}

/* How many instances are published? */
static size_t published(const struct world *w)
{
	const struct op_process *process = world_process(w, world_self());
	size_t n = 0;
	size_t i;

	CHECK(process);
	for (i = 1; i < OP_INSTANCES_MAX; i++)
		n += process->instance[i].ref != 0;
	return n;
}

static bool differs(const struct world *w, const struct op_process *before)
{
	return memcmp(world_process(w, world_self())->instance, before->instance,
		      sizeof(before->instance)) != 0;
}

static void test_more_files_than_numbers(void)
{
	struct world w;
	char path[64];
	struct op_process before = { 0 };
	uint64_t spent_ns;
	size_t i;
	/* places that are not executable in between, so that each file has its own */
	uint8_t *area = mmap(NULL, FILES * 2 * FILE_BYTES, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(area != MAP_FAILED);
	for (i = 0; i < FILES; i++)
		make_file((int)i);
	world_init(&w, NULL);
	world_learn_self(&w);
	for (i = 0; i < FILES; i++) {
		uint8_t *at = area + i * 2 * FILE_BYTES;

		if (i)
			before = *world_process(&w, world_self());
		map_file(&w, (int)i, at, i ? at - 2 * FILE_BYTES : NULL);
		/* Its instance is a new one in the table. */
		for (spent_ns = 0; !differs(&w, &before); spent_ns += 100 * MS) {
			CHECK(spent_ns < 10 * SECOND);
			world_settle(&w, 100 * MS);
		}
		CHECK_INT(published(&w), OP_MIN(i, (size_t)OP_INSTANCES_MAX - 2) + 1);
		/* The first ones do not wait for another's number. */
		CHECK(i >= OP_INSTANCES_MAX - 1 || spent_ns < SECOND);
	}
	world_deinit(&w);
	for (i = 0; i < FILES; i++)
		CHECK(unlink(file_path(path, sizeof(path), (int)i)) == 0);
	CHECK(munmap(area, FILES * 2 * FILE_BYTES) == 0);
}

TEST_MAIN({ "more_files_than_numbers", test_more_files_than_numbers })
