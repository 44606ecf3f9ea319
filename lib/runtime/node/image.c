/* SPDX-License-Identifier: Apache-2.0 */
/* Finds V8's builtins and tables of bytecodes by the symbols of a file. */
#include "runtime/node/image.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "runtime/node/blob.h"

enum {
	BUILTINS_BYTES_MAX = 32 << 20,
	V8_BYTES_LEAST = 16 << 20,
	DYNAMIC_MOST = 20000, /* dynamic symbols */
};

static const char builtin_prefix[] = "Builtins_";
/* the builtin that begins baseline code */
static const char prologue_name[] = "Builtins_BaselineOutOfLinePrologue";

/* A file without V8's symbols has this undefined symbol, like all files into which
 * clang linked V8: Chromium, Deno, workerd. */
static const char marker[] =
	"_ZTHN2v88internal12trap_handler16TrapHandlerGuard10is_active_E";

struct marker {
	struct op_elf *elf;
	const struct op_elf_symtab *table;
};

static int see_marker(void *data, const struct op_elf_symbol *symbol, uint32_t name)
{
	const struct marker *m = data;
	char text[sizeof(marker)];

	if (symbol->shndx || symbol->bind != STB_WEAK)
		return 0;
	return op_elf_read(m->elf, m->table->str_offset + name, text, sizeof(text)) ==
		       0 &&
	       memcmp(text, marker, sizeof(marker)) == 0;
}

/* This excludes smaller files, and files that export much. */
static bool may_have_v8(struct op_elf *elf)
{
	struct op_elf_symtab table;
	struct marker m = { elf, &table };

	return op_elf_size(elf) >= V8_BYTES_LEAST &&
	       op_elf_symtab(elf, OP_ELF_DYNSYM, &table) > 0 &&
	       table.count <= DYNAMIC_MOST &&
	       op_elf_symbol_each(elf, &table, see_marker, &m) > 0;
}

/* The builtins, from the symbols. */
struct builtins {
	struct op_elf *elf;
	const struct op_elf_symtab *table;
	uint64_t first;
	uint64_t end;
	struct op_elf_symbol prologue;
};

static int see_symbol(void *data, const struct op_elf_symbol *symbol, uint32_t name)
{
	struct builtins *b = data;
	uint64_t at = b->table->str_offset + name;
	char text[sizeof(prologue_name)] = "";
	int r;

	/* Only local symbols of code qualify, so that few of the file's names have to be
	 * read. */
	if (symbol->bind != STB_LOCAL || !symbol->shndx ||
	    symbol->shndx >= SHN_LORESERVE || !symbol->value)
		return 0;
	if (symbol->type != STT_FUNC && symbol->type != STT_NOTYPE)
		return 0;
	r = op_elf_read(b->elf, at, text, sizeof(builtin_prefix) - 1);
	if (r < 0 || memcmp(text, builtin_prefix, sizeof(builtin_prefix) - 1) != 0)
		return 0;
	if (op_elf_read(b->elf, at, text, sizeof(text)) == 0 &&
	    memcmp(text, prologue_name, sizeof(text)) == 0)
		b->prologue = *symbol;
	if (!b->first || symbol->value < b->first)
		b->first = symbol->value;
	b->end = OP_MAX(b->end, symbol->value + OP_MAX(symbol->size, UINT64_C(1)));
	return 0;
}

/* Find V8's builtins: Builtins_* of .symtab, which form one range. */
static int find_builtins(struct op_elf *elf, struct op_node_image *ret)
{
	struct op_elf_symtab table;
	struct builtins b = { .elf = elf, .table = &table };
	int r = op_elf_symtab(elf, OP_ELF_SYMTAB, &table);

	if (r <= 0)
		return r;
	r = op_elf_symbol_each(elf, &table, see_symbol, &b);
	if (r < 0)
		return r;
	if (!b.first || b.end - b.first > BUILTINS_BYTES_MAX)
		return 0;
	ret->builtins = b.first;
	ret->builtins_end = b.end;
	ret->prologue = b.prologue.value;
	ret->prologue_end = b.prologue.value + b.prologue.size;
	return 1;
}

/* Find the sizes of bytecodes, for baseline code. V8 before 9 has no baseline code, and
 * another form of the table. */
static int find_opcodes(struct op_elf *elf, struct op_node_image *ret)
{
	struct op_elf_symbol symbol;
	int r = op_elf_find_symbol(
		elf, "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE", &symbol);

	if (r <= 0)
		return r;
	if (symbol.size % 3 || symbol.size > sizeof(ret->opcodes.size))
		return 0;
	r = op_elf_read_vaddr(elf, symbol.value, ret->opcodes.size, symbol.size);
	if (r == 0)
		ret->opcodes.count = symbol.size / 3;
	return r;
}

/* Returns 1, 0 or -errno. */
static int find_by_symbols(struct op_elf *elf, struct op_node_image *ret)
{
	int r = find_builtins(elf, ret);

	if (r <= 0)
		return r;
	r = find_opcodes(elf, ret);
	return r < 0 ? r : 1;
}

/* The same for a file without .symtab. Also V8's version if that is wanted, or "". */
static int find_by_places(struct op_elf *elf, char version[OP_NODE_VERSION_BYTES],
			  struct op_node_image *ret)
{
	struct op_node_blob blob;
	int r = op_runtime_node_blob(elf, version, &blob);

	if (r <= 0)
		return r;
	if (version)
		memcpy(version, blob.version, sizeof(blob.version));
	ret->builtins = blob.builtins;
	ret->builtins_end = blob.builtins_end;
	ret->prologue = blob.prologue;
	ret->prologue_end = blob.prologue_end;
	ret->opcodes = blob.opcodes;
	return 1;
}

static int unknown(struct op_log *log, const char *path, const char *what)
{
	op_log(log, OP_LOG_WARNING, "%s: V8 %s; its frames stay native", path, what);
	return -ENOTSUP;
}

int op_runtime_node_image(struct op_elf *elf, const char *path,
			  const struct op_layouts *layouts, struct op_log *log,
			  struct op_node_image *ret, struct op_runtime_loop *ret_loop)
{
	char version[OP_NODE_VERSION_BYTES];
	bool exports = op_runtime_node_may_export(elf);
	int r;

	/* the symbols of a large program take many milliseconds */
	if (!exports && !may_have_v8(elf))
		return 0;
	r = op_runtime_node_layout(elf, path, layouts, log, &ret->layout);
	if (r < 0)
		return r;
	if (r == 0 && exports && !may_have_v8(elf))
		return 0;
	if (op_elf_machine(elf) != EM_X86_64)
		return unknown(log, path, "is supported only on x86-64");
	if (r > 0) {
		r = find_by_symbols(elf, ret);
		if (r == 0)
			r = find_by_places(elf, NULL, ret);
		if (r == 0)
			return unknown(log, path,
				       "has no builtins here that could be found");
	} else {
		r = find_by_places(elf, version, ret);
		if (r > 0 && !*version)
			return unknown(log, path, "has no version that could be found");
		if (r > 0)
			r = op_runtime_node_layout_of(version, path, layouts, log,
						      &ret->layout);
	}
	if (r <= 0)
		return r;
	*ret_loop = (struct op_runtime_loop){
		.count = 1, .range = { { ret->builtins, ret->builtins_end } }
	};
	return 1;
}
