/* SPDX-License-Identifier: Apache-2.0 */
#include "process/image/vdso.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/cleanup.h"
#include "process/target/maps.h"

enum {
	VDSO_BYTES_MAX = 1 << 20,
};

struct vdso {
	uint64_t start;
	uint64_t end;
};

static int find_vdso(void *ctx, const struct op_mmap_event *e)
{
	struct vdso *v = ctx;

	if (v->start < e->start || v->start >= e->end)
		return 0;
	v->end = e->end;
	return 1;
}

int op_vdso_open(struct op_elf **ret)
{
	struct vdso v = { .start = getauxval(AT_SYSINFO_EHDR) };
	_cleanup_free_ void *bytes = NULL;
	size_t len;
	int r;

	if (!v.start)
		return -ENOENT;
	/* this process's maps are in its own /proc, wherever the host's /proc is
	 * mounted */
	r = op_maps_read("/proc/self/maps", find_vdso, &v);
	if (r < 0)
		return r;
	if (v.end <= v.start || v.end - v.start > VDSO_BYTES_MAX)
		return -ENOENT;
	len = v.end - v.start;
	bytes = malloc(len);
	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, (const void *)(uintptr_t)v.start, len);
	r = op_elf_open_bytes(bytes, len, ret);
	if (r == 0)
		bytes = NULL;
	return r;
}
