/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of language runtimes. */
#include "runtime/runtime.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "runtime/layouts.h"

static const struct op_runtime_ops *const runtimes[] = {
#define OP_RUNTIME(number, upper, lower, page, tells) &op_runtime_##lower,
#include "op_runtimes.def"
};

const struct op_runtime_ops *op_runtime_get(enum op_runtime id)
{
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(runtimes); i++)
		if (runtimes[i]->id == id)
			return runtimes[i];
	return NULL;
}

const struct op_runtime_ops *const *op_runtime_all(size_t *ret_len)
{
	*ret_len = OP_ARRAY_SIZE(runtimes);
	return runtimes;
}

int op_runtime_layouts(const char *dir, struct op_log *log, struct op_layouts **ret)
{
	_cleanup_(op_layouts_freep) struct op_layouts *layouts = NULL;
	int r = op_layouts_new(&layouts);
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(runtimes) && r == 0; i++)
		if (runtimes[i]->layouts)
			r = op_layouts_add(layouts, runtimes[i]->layouts);
	if (r == 0)
		r = op_layouts_read_dir(layouts, dir, log);
	if (r == 0)
		*ret = OP_TAKE_PTR(layouts);
	return r;
}

bool op_runtime_looks_like(const struct op_runtime_ops *ops, const char *path)
{
	const char *base = op_base_name(path);
	const char *const *name;

	for (name = ops->file_names; name && *name; name++)
		if (strncmp(base, *name, strlen(*name)) == 0)
			return true;
	return false;
}

int op_runtime_as_elf(int fd, uint64_t off, int *ret_fd)
{
	size_t len;
	const struct op_runtime_ops *const *ops = op_runtime_all(&len);
	size_t i;

	for (i = 0; i < len; i++) {
		int r = -ENOEXEC;

		if (ops[i]->as_elf && !(off & UINT64_C(1) << ops[i]->id))
			r = ops[i]->as_elf(fd, ret_fd);
		if (r != -ENOEXEC)
			return r;
	}
	return -ENOEXEC;
}
