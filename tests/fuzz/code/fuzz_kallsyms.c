/* SPDX-License-Identifier: Apache-2.0 */
/* Text in the place of /proc/kallsyms, and of a perf map. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "base/io.h"
#include "code/symbol/kallsyms.h"
#include "code/symbol/perfmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_table(const struct op_kallsyms *k)
{
	const struct op_kallsyms_block *block;
	ZSTD_DCtx *context = ZSTD_createDCtx();
	uint64_t before = 0;

	op_vec_foreach(block, &k->blocks) {
		const struct op_kallsyms_block *found;
		char *names = NULL;
		size_t len;
		size_t count = 0;
		size_t i;

		if (block->base < before || !block->len ||
		    block->first + block->len > k->offsets.len ||
		    block->module >= k->modules.len)
			abort();
		before = block->base;
		if (op_kallsyms_names(k, block, context, &names, &len))
			abort();
		for (i = 0; i < len; i++)
			count += !names[i];
		if (count != block->len)
			abort();
		free(names);
		(void)op_kallsyms_lookup(k, block->base, &found);
	}
	ZSTD_freeDCtx(context);
}

static int open_path(void *path)
{
	return op_open(path, O_RDONLY);
}

static void read_perfmap(const uint8_t *data, size_t size)
{
	struct op_perfmap *map = NULL;
	char path[] = "/tmp/otelprof-fuzz-XXXXXX";
	int fd = mkstemp(path);

	if (fd < 0)
		return;
	if (op_write_full(fd, data, size) == 0 &&
	    op_perfmap_new(open_path, path, &map) == 0) {
		(void)op_perfmap_find(map, 0x1000);
		(void)op_perfmap_find(map, UINT64_MAX);
	}
	op_perfmap_free(map);
	(void)close(fd);
	(void)unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct op_kallsyms table = { 0 };
	int fd = memfd_create("kallsyms", MFD_CLOEXEC);

	if (fd < 0)
		return 0;
	if (op_write_full(fd, data, size) == 0 && lseek(fd, 0, SEEK_SET) == 0 &&
	    op_kallsyms_read(fd, &table) == 0) {
		check_table(&table);
		op_kallsyms_deinit(&table);
	}
	read_perfmap(data, size);
	(void)close(fd);
	return 0;
}
