/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/dotnet/methods.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/reader.h"
#include "runtime/dotnet/pe.h"

#include "op_user_types.h"

#include "op_dotnet.h"

enum {
	DYNAMIC_NAME_MAX = 256,
	PIECE = 64,
	PAGE = 4096,
};

static size_t method_bytes(const void *object)
{
	const struct op_dotnet_method *method = object;

	return sizeof(*method) + strlen(method->name) + 1;
}

static const struct op_objects_kind kind = {
	.max = OP_DOTNET_METHODS_MAX,
	.bytes_max = OP_DOTNET_METHODS_BYTES,
	.bytes = method_bytes,
	.free = free,
};

void op_runtime_dotnet_methods_init(struct op_dotnet_methods *methods,
				    const struct op_memory *memory,
				    const struct op_dotnet_layout *layout)
{
	*methods = (struct op_dotnet_methods){ .memory = memory,
					       .layout = layout,
					       .objects = op_objects_init(&kind) };
}

static void drop_modules(struct op_dotnet_methods *methods)
{
	struct op_dotnet_module **module;

	op_vec_foreach(module, &methods->modules)
		free(*module);
	op_vec_clear(&methods->modules);
}

void op_runtime_dotnet_methods_deinit(struct op_dotnet_methods *methods)
{
	op_objects_deinit(&methods->objects);
	drop_modules(methods);
}

static int read_u64(const struct op_dotnet_methods *methods, uint64_t addr, uint64_t *ret)
{
	return op_memory_read(methods->memory, addr, ret, sizeof(*ret));
}

/* The address of a module's image. */
static int read_base(const struct op_dotnet_methods *methods, uint64_t module,
		     uint64_t *ret)
{
	const struct op_dotnet_layout *l = methods->layout;
	uint64_t at;
	int r;

	if (l->module_base)
		return read_u64(methods, module + l->module_base, ret);
	r = read_u64(methods, module + l->module_assembly, &at);
	if (r == 0)
		r = read_u64(methods, at + l->assembly_image, &at);
	if (r == 0)
		r = read_u64(methods, at + l->image_layout, &at);
	return r < 0 ? r : read_u64(methods, at + l->layout_base, ret);
}

static int read_module(const struct op_dotnet_methods *methods, uint64_t base,
		       struct op_dotnet_metadata *ret)
{
	struct op_dotnet_pe pe;
	uint64_t at;
	int r = op_runtime_dotnet_pe(methods->memory, base, &pe);

	if (r < 0)
		return r == -ENOEXEC ? -EBADMSG : r;
	at = op_runtime_dotnet_pe_at(&pe, pe.metadata.rva, pe.metadata.size);
	return at ? op_runtime_dotnet_metadata(methods->memory, at, pe.metadata.size, ret)
		  : -EBADMSG;
}

/* Find the metadata of the module at @addr. */
static int find_module(struct op_dotnet_methods *methods, uint64_t addr,
		       const struct op_dotnet_metadata **ret)
{
	_cleanup_free_ struct op_dotnet_module *new = NULL;
	struct op_dotnet_module **module;
	uint64_t base = 0;
	int r = read_base(methods, addr, &base);

	if (r < 0)
		return r;
	op_vec_foreach(module, &methods->modules)
		if ((*module)->addr == addr && (*module)->base == base) {
			*ret = &(*module)->metadata;
			return 0;
		}
	if (methods->modules.len >= OP_DOTNET_MODULES_MAX)
		drop_modules(methods);
	new = calloc(1, sizeof(*new));
	if (!new || op_vec_reserve(&methods->modules, 1) < 0)
		return -ENOMEM;
	new->addr = addr;
	new->base = base;
	r = read_module(methods, base, &new->metadata);
	if (r < 0)
		return r;
	*ret = &new->metadata;
	methods->modules.data[methods->modules.len++] = OP_TAKE_PTR(new);
	return 0;
}

/* The name of a method that was made at run time. */
static int read_dynamic(const struct op_dotnet_methods *methods, uint64_t desc,
			struct op_strbuf *name)
{
	uint64_t at = 0;
	size_t len = 0;
	int r = read_u64(methods, desc + methods->layout->dynamic_name, &at);

	while (r == 0 && len < DYNAMIC_NAME_MAX) {
		char text[PIECE];
		size_t n = OP_MIN((size_t)(PAGE - at % PAGE), sizeof(text));
		const char *end;

		r = op_memory_read(methods->memory, at, text, n);
		if (r < 0)
			break;
		end = memchr(text, 0, n);
		op_strbuf_add(name, text, end ? (size_t)(end - text) : n);
		if (end)
			return name->failed ? -ENOMEM : name->len ? 0 : -EBADMSG;
		at += n;
		len += n;
	}
	return r < 0 ? r : -EBADMSG;
}

static int read_name(struct op_dotnet_methods *methods, uint64_t desc,
		     struct op_strbuf *name)
{
	const struct op_dotnet_metadata *metadata = NULL;
	uint8_t bytes[OP_DOTNET_CHUNK_BYTES];
	struct op_reader in = op_reader_init(bytes, OP_DOTNET_METHOD_ALIGN);
	uint64_t table;
	uint64_t module;
	uint32_t token;
	uint32_t of;
	int r = op_memory_read(methods->memory, desc, bytes, OP_DOTNET_METHOD_ALIGN);

	if (r < 0)
		return r;
	token = op_read_u16(&in) & ((1U << OP_DOTNET_TOKEN_BITS) - 1);
	of = op_read_u8(&in);
	op_reader_seek(&in, OP_DOTNET_METHOD_FLAGS);
	switch (op_read_u16(&in) & OP_DOTNET_METHOD_KIND) {
	case OP_DOTNET_METHOD_DYNAMIC:
		return read_dynamic(methods, desc, name);
	case OP_DOTNET_METHOD_ARRAY:
		return -EBADMSG;
	}
	r = op_memory_read(methods->memory,
			   desc - of * OP_DOTNET_METHOD_ALIGN - OP_DOTNET_CHUNK_BYTES,
			   bytes, sizeof(bytes));
	if (r < 0)
		return r;
	in = op_reader_init(bytes, sizeof(bytes));
	table = op_read_u64(&in);
	op_reader_seek(&in, OP_DOTNET_CHUNK_TOKEN);
	token |= (op_read_u16(&in) & 0xfffU) << OP_DOTNET_TOKEN_BITS;
	r = read_u64(methods, table + OP_DOTNET_TABLE_MODULE, &module);
	if (r == 0)
		r = find_module(methods, module, &metadata);
	if (r < 0)
		return r;
	return op_runtime_dotnet_method_name(
		metadata, (uint32_t)OP_DOTNET_METHOD_DEF << 24 | token, name);
}

static int read_method(struct op_dotnet_methods *methods, uint64_t desc, uint32_t guard,
		       struct op_dotnet_method **ret)
{
	_cleanup_(op_strbuf_deinit) struct op_strbuf name = { 0 };
	struct op_dotnet_method *method;
	int r = read_name(methods, desc, &name);

	if (r < 0)
		return r;
	method = malloc(sizeof(*method) + name.len + 1);
	if (!method)
		return -ENOMEM;
	*method = (struct op_dotnet_method){ .desc = desc,
					     .guard = guard,
					     .window = methods->window };
	memcpy(method->name, name.data, name.len + 1);
	*ret = method;
	return 0;
}

int op_runtime_dotnet_methods_get(struct op_dotnet_methods *methods,
				  const uint64_t words[3],
				  const struct op_dotnet_method **ret)
{
	uint64_t desc = words[0] & OP_FRAME_ADDRESS_MASK;
	uint32_t guard = (uint32_t)(words[1] >> 32);
	uint64_t key = desc ^ (uint64_t)guard << 32;
	struct op_dotnet_method *made = NULL;
	struct op_dotnet_method *m;
	uint64_t at;
	int r;

	op_objects_begin(&methods->objects);
	m = op_objects_find(&methods->objects, key, &at);
	if (m && (m->desc != desc || m->guard != guard))
		m = NULL; /* another one has the same key */
	if (m && m->window == methods->window) {
		*ret = m;
		return 0;
	}
	r = read_method(methods, desc, guard, &made);
	if (r < 0 && (r == -ENOMEM || !m))
		return r;
	if (r < 0) { /* it is gone; the frame was its */
		m->window = methods->window;
		*ret = m;
		return 0;
	}
	methods->reads++;
	r = op_objects_keep(&methods->objects, key, made, at);
	if (r < 0)
		return r;
	*ret = made;
	return 0;
}
