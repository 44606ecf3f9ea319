/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/dotnet/module.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macros.h"

enum {
	PIECE = 64,
	PAGE = 4096,
	SLOTS = 4, /* pages of a PDB kept in memory */
};

static int read_u64(const struct op_memory *memory, uint64_t addr, uint64_t *ret)
{
	return op_memory_read(memory, addr, ret, sizeof(*ret));
}

/* Read the address of a module's PEImage, if the layout has its offsets. */
static int read_image(const struct op_memory *memory, const struct op_dotnet_layout *l,
		      uint64_t addr, uint64_t *ret)
{
	uint64_t assembly;
	int r = read_u64(memory, addr + l->module_assembly, &assembly);

	return r < 0 ? r : read_u64(memory, assembly + l->assembly_image, ret);
}

int op_runtime_dotnet_module_base(const struct op_memory *memory,
				  const struct op_dotnet_layout *l, uint64_t addr,
				  uint64_t *ret)
{
	uint64_t at;
	int r;

	if (l->module_base)
		return read_u64(memory, addr + l->module_base, ret);
	r = read_image(memory, l, addr, &at);
	if (r == 0)
		r = read_u64(memory, at + l->image_layout, &at);
	return r < 0 ? r : read_u64(memory, at + l->layout_base, ret);
}

/* Read the UTF-16 text at @at as UTF-8. */
static int read_text(const struct op_memory *memory, uint64_t at, struct op_strbuf *ret)
{
	uint32_t high = 0;

	while (at && at % 2 == 0 && ret->len < PATH_MAX) {
		uint16_t text[PIECE / 2];
		size_t n = OP_MIN((size_t)(PAGE - at % PAGE), sizeof(text));
		size_t i;
		int r = op_memory_read(memory, at, text, n);

		if (r < 0)
			return r;
		for (i = 0; i < n / 2; i++) {
			uint32_t c = text[i];

			if (!c)
				return ret->failed ? -ENOMEM : 0;
			if (c >> 10 == 0xd800 >> 10) {
				high = c & 0x3ff;
				continue;
			}
			if (c >> 10 == 0xdc00 >> 10)
				c = 0x10000 + (high << 10 | (c & 0x3ff));
			op_strbuf_utf8(ret, c);
		}
		at += n;
	}
	return -EBADMSG;
}

/* Find the path of the PDB: the name that the compiler wrote, in the folder of the
 * module's file. */
static int find_pdb(const struct op_memory *memory, const struct op_dotnet_layout *l,
		    const struct op_dotnet_pe *pe, struct op_dotnet_module *module)
{
	_cleanup_(op_strbuf_deinit) struct op_strbuf path = { 0 };
	char name[OP_DOTNET_PDB_NAME_MAX];
	uint64_t at;
	char *slash;
	int r = op_runtime_dotnet_pe_pdb(pe, module->id, name);

	if (r == 0)
		r = l->image_path ? read_image(memory, l, module->addr, &at) : -ENOENT;
	if (r == 0)
		r = read_u64(memory, at + l->image_path, &at);
	if (r == 0)
		r = read_text(memory, at, &path);
	slash = r == 0 && path.len && path.data[0] == '/' ? strrchr(path.data, '/')
							  : NULL;
	if (!slash)
		return r < 0 ? r : -ENOENT;
	path.len = (size_t)(slash + 1 - path.data);
	op_strbuf_puts(&path, name);
	if (path.failed)
		return -ENOMEM;
	module->path = OP_TAKE_PTR(path.data);
	return 0;
}

int op_runtime_dotnet_module_new(const struct op_memory *memory,
				 const struct op_dotnet_layout *layout, uint64_t addr,
				 uint64_t base, struct op_dotnet_module **ret)
{
	_cleanup_free_ struct op_dotnet_module *module = calloc(1, sizeof(*module));
	struct op_dotnet_pe pe;
	uint64_t at;
	int r;

	if (!module)
		return -ENOMEM;
	module->addr = addr;
	module->base = base;
	r = op_runtime_dotnet_pe(memory, base, &pe);
	if (r < 0)
		return r == -ENOEXEC ? -EBADMSG : r;
	at = op_runtime_dotnet_pe_at(&pe, pe.metadata.rva, pe.metadata.size);
	r = at ? op_runtime_dotnet_metadata(memory, at, pe.metadata.size,
					    &module->metadata)
	       : -EBADMSG;
	if (r < 0)
		return r;
	r = find_pdb(memory, layout, &pe, module);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		module->state = OP_DOTNET_PDB_NONE;
	*ret = OP_TAKE_PTR(module);
	return 0;
}

static void close_pdb(struct op_dotnet_module *module)
{
	op_runtime_dotnet_file_deinit(&module->file);
	(void)close(module->fd);
	module->state = OP_DOTNET_PDB_NONE;
}

void op_runtime_dotnet_module_free(struct op_dotnet_module *module)
{
	if (module->state == OP_DOTNET_PDB_OPEN)
		close_pdb(module);
	free(module->path);
	free(module);
}

void op_runtime_dotnet_module_take(struct op_dotnet_module *module, int fd)
{
	module->state = OP_DOTNET_PDB_NONE;
	if (fd < 0)
		return;
	module->fd = fd;
	if (op_runtime_dotnet_file_init(&module->file, fd, SLOTS, OP_DOTNET_PDB_MAX) <
		    0 ||
	    op_runtime_dotnet_pdb(&module->file.memory, module->file.size, module->id,
				  &module->pdb) < 0)
		close_pdb(module);
	else
		module->state = OP_DOTNET_PDB_OPEN;
}
