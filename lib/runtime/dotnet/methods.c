/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/dotnet/methods.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/reader.h"

#include "op_user_types.h"

#include "op_dotnet.h"

enum {
	DYNAMIC_NAME_MAX = 256,
	PIECE = 64,
	PAGE = 4096,
	TEXT_MAX = 1 << 16, /* bytes of a name and its paths */
};

static size_t method_bytes(const void *object)
{
	const struct op_dotnet_method *method = object;

	return sizeof(*method) + method->rows * sizeof(method->row[0]) +
	       method->text_bytes;
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
		op_runtime_dotnet_module_free(*module);
	op_vec_clear(&methods->modules);
	methods->wants = NULL;
	methods->pdbs = 0;
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

/* Find the module at @addr. */
static int find_module(struct op_dotnet_methods *methods, uint64_t addr,
		       struct op_dotnet_module **ret)
{
	struct op_dotnet_module **module;
	struct op_dotnet_module *new;
	uint64_t base = 0;
	int r = op_runtime_dotnet_module_base(methods->memory, methods->layout, addr,
					      &base);

	if (r < 0)
		return r;
	op_vec_foreach(module, &methods->modules)
		if ((*module)->addr == addr && (*module)->base == base) {
			*ret = *module;
			return 0;
		}
	if (methods->modules.len >= OP_DOTNET_MODULES_MAX)
		drop_modules(methods);
	if (op_vec_reserve(&methods->modules, 1) < 0)
		return -ENOMEM;
	r = op_runtime_dotnet_module_new(methods->memory, methods->layout, addr, base,
					 &new);
	if (r < 0)
		return r;
	*ret = methods->modules.data[methods->modules.len++] = new;
	return 0;
}

/* Read the name of a method that was made at run time. */
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

/* A method while it is read. */
struct reading {
	uint64_t desc;
	struct op_dotnet_module *module; /* NULL: none */
	uint32_t row;			 /* its row in the metadata */
	struct op_strbuf text;
	struct op_dotnet_row *rows;
	size_t len;
};

static void reading_deinit(struct reading *m)
{
	op_strbuf_deinit(&m->text);
	free(m->rows);
}

/* Find the method of the state machine whose MethodTable is m->desc. */
static int read_machine(struct op_dotnet_methods *methods, uint32_t row,
			struct reading *m)
{
	uint64_t words[OP_DOTNET_TABLE_MODULE / 8 + 1];
	int r = op_memory_read(methods->memory, m->desc, words, sizeof(words));

	if (r < 0)
		return r;
	if ((uint32_t)words[OP_DOTNET_TABLE_ROW / 8] >> methods->layout->row_bits != row)
		return -EBADMSG;
	r = find_module(methods, words[OP_DOTNET_TABLE_MODULE / 8], &m->module);
	if (r == 0)
		r = op_runtime_dotnet_machine_method(&m->module->metadata, row, &m->row);
	return r < 0 ? r
		     : op_runtime_dotnet_method_name(
			       &m->module->metadata,
			       (uint32_t)OP_DOTNET_METHOD_DEF << 24 | m->row, &m->text);
}

static int read_name(struct op_dotnet_methods *methods, struct reading *m)
{
	uint8_t bytes[OP_DOTNET_CHUNK_BYTES];
	struct op_reader in = op_reader_init(bytes, OP_DOTNET_METHOD_ALIGN);
	uint64_t table;
	uint64_t module;
	uint32_t of;
	int r = op_memory_read(methods->memory, m->desc, bytes, OP_DOTNET_METHOD_ALIGN);

	if (r < 0)
		return r;
	m->row = op_read_u16(&in) & ((1U << OP_DOTNET_TOKEN_BITS) - 1);
	of = op_read_u8(&in);
	op_reader_seek(&in, OP_DOTNET_METHOD_FLAGS);
	switch (op_read_u16(&in) & OP_DOTNET_METHOD_KIND) {
	case OP_DOTNET_METHOD_DYNAMIC:
		return read_dynamic(methods, m->desc, &m->text);
	case OP_DOTNET_METHOD_ARRAY:
		return -EBADMSG;
	}
	r = op_memory_read(methods->memory,
			   m->desc - of * OP_DOTNET_METHOD_ALIGN - OP_DOTNET_CHUNK_BYTES,
			   bytes, sizeof(bytes));
	if (r < 0)
		return r;
	in = op_reader_init(bytes, sizeof(bytes));
	table = op_read_u64(&in);
	op_reader_seek(&in, OP_DOTNET_CHUNK_TOKEN);
	m->row |= (op_read_u16(&in) & 0xfffU) << OP_DOTNET_TOKEN_BITS;
	r = read_u64(methods, table + OP_DOTNET_TABLE_MODULE, &module);
	if (r == 0)
		r = find_module(methods, module, &m->module);
	if (r < 0)
		return r;
	return op_runtime_dotnet_method_name(
		&m->module->metadata, (uint32_t)OP_DOTNET_METHOD_DEF << 24 | m->row,
		&m->text);
}

/* Read the debug info of the code at @start. Its header must match @guard. */
static int read_debug(const struct op_dotnet_methods *methods, uint64_t start,
		      uint64_t desc, uint32_t guard, uint64_t *ret)
{
	uint64_t header[4]; /* debug info, handlers, GC info, MethodDesc */
	uint64_t at;
	int r = read_u64(methods, start - sizeof(at), &at);

	if (r == 0)
		r = op_memory_read(methods->memory, at, header, sizeof(header));
	if (r < 0)
		return r;
	if ((header[3] & OP_FRAME_ADDRESS_MASK) != desc ||
	    op_dotnet_guard(header[0], header[2], header[3]) != guard)
		return -ESTALE;
	*ret = header[0];
	return 0;
}

/* Replace each row's document by the offset of its path in the text. */
static int read_paths(struct reading *m)
{
	uint32_t last = 0; /* document */
	uint32_t at = 0;
	size_t i;

	for (i = 0; i < m->len; i++) {
		struct op_dotnet_row *row = &m->rows[i];
		int r = 0;

		if (row->document && row->document != last) {
			if (m->text.len > TEXT_MAX)
				return -EFBIG;
			last = row->document;
			at = (uint32_t)m->text.len;
			r = op_runtime_dotnet_pdb_document(&m->module->pdb, last,
							   &m->text);
			op_strbuf_add(&m->text, "", 1);
		}
		if (r < 0)
			return r;
		/* without a file: the empty text at the end of the name */
		row->document = row->document ? at : (uint32_t)strlen(m->text.data);
	}
	return m->text.failed ? -ENOMEM : 0;
}

static int read_lines(const struct op_dotnet_methods *methods, struct reading *m,
		      uint64_t start, uint32_t guard)
{
	struct op_dotnet_bounds bounds = { 0 };
	struct op_dotnet_points points = { 0 };
	uint64_t debug = 0;
	int r = read_debug(methods, start, m->desc, guard, &debug);

	if (r == 0)
		r = op_runtime_dotnet_bounds(methods->memory, debug, methods->layout,
					     &bounds);
	if (r == 0)
		r = op_runtime_dotnet_pdb_points(&m->module->pdb, m->row, &points);
	if (r == 0 && bounds.len && points.len) {
		m->rows = calloc(bounds.len, sizeof(*m->rows));
		r = m->rows ? 0 : -ENOMEM;
		if (r == 0)
			m->len = op_runtime_dotnet_rows(&bounds, &points, m->rows);
	}
	op_vec_clear(&bounds);
	op_vec_clear(&points);
	return r < 0 ? r : read_paths(m);
}

static int read_method(struct op_dotnet_methods *methods, const uint64_t words[3],
		       struct op_dotnet_method **ret)
{
	_cleanup_(reading_deinit) struct reading m = { .desc = words[0] &
							       OP_FRAME_ADDRESS_MASK };
	const uint32_t guard = (uint32_t)(words[1] >> 32);
	struct op_dotnet_method *method;
	const bool awaits = !(words[2] & OP_FRAME_ADDRESS_MASK);
	int r = awaits ? read_machine(methods, guard, &m) : read_name(methods, &m);

	if (r < 0)
		return r;
	op_strbuf_add(&m.text, "", 1);
	if (awaits)
		m.module = NULL; /* no line */
	if (m.module && m.module->state == OP_DOTNET_PDB_WANTED)
		methods->wants = m.module;
	if (m.module && m.module->state == OP_DOTNET_PDB_OPEN)
		r = read_lines(methods, &m, words[2] & OP_FRAME_ADDRESS_MASK, guard);
	if (r == -ENOMEM || m.text.failed)
		return -ENOMEM;
	if (r < 0)
		m.len = 0; /* no lines */
	method = malloc(sizeof(*method) + m.len * sizeof(*m.rows) + m.text.len);
	if (!method)
		return -ENOMEM;
	*method = (struct op_dotnet_method){ .desc = m.desc,
					     .guard = guard,
					     .window = methods->window,
					     .rows = (uint32_t)m.len,
					     .text_bytes = (uint32_t)m.text.len };
	if (m.len)
		memcpy(method->row, m.rows, m.len * sizeof(*m.rows));
	memcpy(method->row + m.len, m.text.data, m.text.len);
	*ret = method;
	return 0;
}

const char *op_runtime_dotnet_methods_file(const struct op_dotnet_methods *methods)
{
	return methods->wants ? methods->wants->path : NULL;
}

void op_runtime_dotnet_methods_take(struct op_dotnet_methods *methods, int fd)
{
	struct op_dotnet_module *module = methods->wants;

	if (!module || (fd >= 0 && methods->pdbs == OP_DOTNET_PDBS_MAX)) {
		if (fd >= 0)
			(void)close(fd);
		fd = -EMFILE;
	}
	if (!module)
		return;
	op_runtime_dotnet_module_take(module, fd);
	methods->pdbs += module->state == OP_DOTNET_PDB_OPEN;
	methods->wants = NULL;
	methods->window++; /* entries of earlier windows are read again */
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

	methods->wants = NULL;
	op_objects_begin(&methods->objects);
	m = op_objects_find(&methods->objects, key, &at);
	if (m && (m->desc != desc || m->guard != guard))
		m = NULL; /* another one has the same key */
	if (m && m->window == methods->window) {
		*ret = m;
		return 0;
	}
	r = read_method(methods, words, &made);
	if (r < 0 && (r == -ENOMEM || !m))
		return r;
	if (r < 0) { /* it was freed, but the frame belonged to it */
		m->window = methods->window;
		*ret = m;
		return 0;
	}
	if (methods->wants)
		made->window--; /* it is read again when its PDB is open, or is none */
	methods->reads++;
	r = op_objects_keep(&methods->objects, key, made, at);
	if (r < 0)
		return r;
	*ret = made;
	return 0;
}
