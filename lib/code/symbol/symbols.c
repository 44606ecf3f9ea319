/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the sources of a file's names, and finds the best name of an address. */
#include "code/symbol/symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/macros.h"
#include "code/elf/gopclntab.h"
#include "code/symbol/demangle.h"
#include "code/symbol/index.h"
#include "code/symbol/plt.h"

enum {
	/* longer names are cut */
	NAME_BYTES_MAX = 32 << 10,
	/* names at one address that are compared */
	ALIASES_MAX = 16,
	/* limit of decompressed mini debug info while it is read */
	MINIDEBUG_BYTES_MAX = 32 << 20,
	GO_LINES_MAX = 16,
};

/* The place of the names of one source. */
struct names {
	struct op_elf *elf; /* NULL: there are none, or they are in blob */
	uint64_t offset;
	uint64_t size;
};

struct op_symbols {
	struct op_elf *elf;
	struct op_elf *debug; /* a separate debug file */
	struct op_symbol_index index;
	struct names names[OP_NAMES_MAX];
	char *blob; /* names from mini debug info that are in use */
	size_t blob_len;

	struct op_gopclntab *go;
	struct op_code_range go_range;

	/* The strings and lines that the last find returned. */
	char *raw;
	char *readable;
	struct op_go_line *lines;
};

struct op_symbols *op_symbols_free(struct op_symbols *s)
{
	if (!s)
		return NULL;
	op_gopclntab_free(s->go);
	op_elf_free(s->debug);
	free(s->index.entries);
	free(s->blob);
	free(s->raw);
	free(s->readable);
	free(s->lines);
	free(s);
	return NULL;
}

bool op_symbols_hold_file(const struct op_symbols *s)
{
	return s->debug != NULL;
}

size_t op_symbols_bytes(const struct op_symbols *s)
{
	return sizeof(*s) + s->index.len * sizeof(*s->index.entries) + s->blob_len +
	       (s->go ? op_gopclntab_bytes(s->go) : 0) +
	       (s->lines ? GO_LINES_MAX * sizeof(*s->lines) : 0);
}

/* Add the symbol table of @elf. Returns how many functions it has, -ENOMEM or -EAGAIN.
 * A table that is too large or cannot be read is left out. */
static int add_source(struct op_symbols *s, struct op_symbol_index_builder *b,
		      enum op_names_source source, struct op_elf *elf,
		      const struct op_symbols_options *o, struct op_log *log)
{
	enum op_elf_symtab_kind kind =
		source == OP_NAMES_DYNSYM ? OP_ELF_DYNSYM : OP_ELF_SYMTAB;
	struct op_elf_symtab table;
	int r;

	r = op_elf_symtab(elf, kind, &table);
	if (r > 0 && o->may_take &&
	    !o->may_take(o->may_take_ctx, op_symbol_index_bytes(b, table.count)))
		return -EAGAIN;
	if (r > 0)
		r = op_symbol_index_add_table(b, elf, source, &table);
	if (r == -EFBIG)
		op_log(log, OP_LOG_WARNING,
		       "a symbol table of %llu entries exceeds the limit and is left out",
		       (unsigned long long)table.count);
	if (r > 0)
		s->names[source] =
			(struct names){ elf, table.str_offset, table.str_size };
	return r < 0 && r != -ENOMEM ? 0 : r;
}

static int add_debugfile(struct op_symbols *s, struct op_symbol_index_builder *b,
			 const struct op_symbols_options *o, struct op_log *log)
{
	int r;

	if (!o->root && !o->open)
		return 0;
	r = op_debugfile_find(s->elf, o, &s->debug);
	return r > 0 ? add_source(s, b, OP_NAMES_DEBUGFILE, s->debug, o, log) : r;
}

/* May @elf be stripped, with only some names left? A debug file that is found by its
 * build id alone leaves no mark in it, but what it holds is missing here. */
static bool has_more(const struct op_elf *elf)
{
	return op_elf_section(elf, ".gnu_debuglink") ||
	       op_elf_section(elf, ".gnu_debugdata") ||
	       !op_elf_section(elf, ".debug_info");
}

/* Add the best available source, and .dynsym. *@ret_mini: mini debug info, if it
 * is used. */
static int add_sources(struct op_symbols *s, struct op_symbol_index_builder *b,
		       const struct op_symbols_options *o, struct op_log *log,
		       struct op_elf **ret_mini)
{
	int r;

	r = add_source(s, b, OP_NAMES_SYMTAB, s->elf, o, log);
	if (!r || (r > 0 && has_more(s->elf)))
		r = add_debugfile(s, b, o, log);
	if (!r) {
		r = op_minidebug_open(s->elf, MINIDEBUG_BYTES_MAX, ret_mini);
		if (r > 0)
			r = add_source(s, b, OP_NAMES_MINIDEBUG, *ret_mini, o, log);
	}
	if (r < 0)
		return r;
	r = add_source(s, b, OP_NAMES_DYNSYM, s->elf, o, log);
	return r < 0 ? r : 0;
}

static int read_name(const struct op_symbols *s, uint32_t name, char *buf, size_t size)
{
	const struct names *n = &s->names[name >> OP_NAME_SOURCE_SHIFT];
	uint32_t offset = name & OP_NAME_OFFSET_MAX;
	int r;

	if (!n->elf) {
		if (offset >= s->blob_len)
			return -ENODATA;
		(void)snprintf(buf, size, "%s", s->blob + offset);
		return 0;
	}
	if (offset >= n->size)
		return -ENODATA;
	r = op_elf_read_str(n->elf, n->offset + offset, n->offset + n->size, buf, size);
	if (r == -ENAMETOOLONG) {
		buf[size - 1] = 0;
		r = 0;
	}
	return r;
}

struct keep {
	OP_VEC(char) blob;
	struct op_map64 known; /* offset of a name in its table -> in the blob */
};

/* Copy the name @name. Returns 0 and its place *@ret, -EFBIG past @limit, or -ENOMEM. */
static int keep_name(const struct op_symbols *s, struct keep *k, uint32_t name,
		     size_t limit, uint32_t *ret)
{
	char text[NAME_BYTES_MAX];
	uint64_t key = name & OP_NAME_OFFSET_MAX;
	uint64_t at;
	size_t len;

	if (op_map64_get(&k->known, key, &at)) {
		*ret = (uint32_t)at;
		return 0;
	}
	if (read_name(s, name, text, sizeof(text)))
		text[0] = 0;
	len = strlen(text) + 1;
	if (k->blob.len + len > limit)
		return -EFBIG;
	if (op_vec_reserve(&k->blob, len) || op_map64_put(&k->known, key, k->blob.len))
		return -ENOMEM;
	memcpy(k->blob.data + k->blob.len, text, len);
	*ret = (uint32_t)k->blob.len;
	k->blob.len += len;
	return 0;
}

/* Copy those names of mini debug info that the index uses, each once, so that the image
 * can be closed. Returns 0, -EFBIG or -ENOMEM. */
static int keep_mini_names(struct op_symbols *s, size_t limit)
{
	struct keep k = { 0 };
	size_t i;
	int r = 0;

	for (i = 0; i < s->index.len && !r; i++) {
		struct op_symbol_entry *e = &s->index.entries[i];
		uint32_t at;

		if (e->name >> OP_NAME_SOURCE_SHIFT != OP_NAMES_MINIDEBUG)
			continue;
		r = keep_name(s, &k, e->name, limit, &at);
		if (!r)
			e->name = (e->name & ~(uint32_t)OP_NAME_OFFSET_MAX) | at;
	}
	op_map64_clear(&k.known);
	s->names[OP_NAMES_MINIDEBUG] = (struct names){ 0 };
	if (r) {
		op_vec_clear(&k.blob);
		return r;
	}
	s->blob = k.blob.data;
	s->blob_len = k.blob.len;
	return 0;
}

/* Start again, with .dynsym alone. */
static int leave_out_mini(struct op_symbols *s, const struct op_symbols_options *o,
			  struct op_log *log)
{
	_cleanup_(op_symbol_index_abort) struct op_symbol_index_builder b = { 0 };
	int r;

	op_log(log, OP_LOG_WARNING, "mini debug info exceeds the limit and is left out");
	free(s->index.entries);
	s->index = (struct op_symbol_index){ 0 };
	r = op_symbol_index_begin(&b, s->elf, o->limit_bytes);
	b.without = s->go_range;
	if (!r)
		r = add_source(s, &b, OP_NAMES_DYNSYM, s->elf, o, log);
	if (r < 0)
		return r;
	op_symbol_index_finish(&b, &s->index);
	return 0;
}

static int open_go(struct op_symbols *s, struct op_log *log)
{
	int r;

	r = op_gopclntab_open(s->elf, &s->go);
	if (!r)
		op_gopclntab_range(s->go, &s->go_range.start, &s->go_range.end);
	else if (r != -ENOENT && r != -ENOMEM)
		op_log(log, OP_LOG_WARNING,
		       "a Go program's function table cannot be read (%d)", r);
	return r == -ENOMEM ? r : 0;
}

int op_symbols_new(struct op_elf *elf, const struct op_symbols_options *options,
		   struct op_log *log, struct op_symbols **ret)
{
	static const struct op_symbols_options none = { 0 };
	const struct op_symbols_options *o = options ? options : &none;
	_cleanup_(op_symbols_freep) struct op_symbols *s = NULL;
	_cleanup_(op_elf_freep) struct op_elf *mini = NULL;
	_cleanup_(op_symbol_index_abort) struct op_symbol_index_builder b = { 0 };
	int r;

	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->elf = elf;
	r = open_go(s, log);
	if (!r)
		r = op_symbol_index_begin(&b, elf, o->limit_bytes);
	if (r)
		return r;
	b.without = s->go_range;
	r = b.code.len ? add_sources(s, &b, o, log, &mini) : 0;
	if (r)
		return r;
	op_symbol_index_finish(&b, &s->index);
	if (mini)
		r = keep_mini_names(s, o->limit_bytes ? o->limit_bytes / 2
						      : OP_NAME_OFFSET_MAX);
	if (r == -EFBIG)
		r = leave_out_mini(s, o, log);
	if (r)
		return r;
	*ret = OP_TAKE_PTR(s);
	return 0;
}

static size_t underscores(const char *name)
{
	/* The underscore at the start of a mangled name is not the author's. */
	if (strncmp(name, "_Z", 2) == 0 || strncmp(name, "_R", 2) == 0)
		return 0;
	return strspn(name, "_");
}

/* Is @a the better name of a function with both names? `write` is better than
 * `__write`, strong than weak, short than long. */
static bool is_better(const char *a, bool a_weak, const char *b, bool b_weak)
{
	size_t x = underscores(a);
	size_t y = underscores(b);

	/* a label of the compiler's */
	if ((a[0] == '.') != (b[0] == '.'))
		return b[0] == '.';
	if (x != y)
		return x < y;
	if (a_weak != b_weak)
		return b_weak;
	x = strlen(a);
	y = strlen(b);
	return x != y ? x < y : strcmp(a, b) < 0;
}

/* Read the best name of the entries [@first, @end). Returns 1; 0: there is none; or
 * -errno. */
static int best_name(const struct op_symbols *s, size_t first, size_t end, char *buf,
		     size_t size)
{
	char other[NAME_BYTES_MAX];
	bool weak = false;
	bool found = false;
	size_t i;

	end = OP_MIN(end, first + ALIASES_MAX);
	for (i = first; i < end; i++) {
		uint32_t name = s->index.entries[i].name;
		bool other_weak = name >> OP_NAME_WEAK_SHIFT & 1;
		int r = read_name(s, name, found ? other : buf, size);

		if (r == -ENODATA)
			continue;
		if (r)
			return r;
		if (!found) {
			found = true;
			weak = other_weak;
		} else if (is_better(other, other_weak, buf, weak)) {
			memcpy(buf, other, strlen(other) + 1);
			weak = other_weak;
		}
	}
	return found && buf[0];
}

void op_symbol_cut_version(char *name, bool defined)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-+";
	char *at = strrchr(name, '@');

	if (!at || at == name || !at[1] || at[1 + strspn(at + 1, plain)])
		return;
	if (at[-1] == '@')
		at--;
	else if (!defined)
		return;
	if (at != name)
		*at = 0;
}

/* Add "@plt" to *@name, which was allocated. Returns 0 or -ENOMEM. */
static int add_plt(char **name)
{
	char *longer;

	if (asprintf(&longer, "%s@plt", *name) < 0)
		return -ENOMEM;
	free(*name);
	*name = longer;
	return 0;
}

/* The name of an entry of the linkage table is that of its function, and "@plt". */
static int find_plt(struct op_symbols *s, uint64_t vaddr, struct op_symbol *ret)
{
	enum op_mangling mangling = OP_MANGLING_NONE;
	char name[NAME_BYTES_MAX];
	uint64_t start;
	int r = op_plt_find(s->elf, vaddr, name, sizeof(name), &start);

	if (r <= 0)
		return r == -ENOMEM ? r : 0;
	free(s->raw);
	free(s->readable);
	s->raw = strdup(name);
	s->readable = s->raw ? op_demangle(s->raw, &mangling) : NULL;
	if (!s->raw || add_plt(&s->raw) < 0 || (s->readable && add_plt(&s->readable) < 0))
		return -ENOMEM;
	*ret = (struct op_symbol){ .name = s->readable ? s->readable : s->raw,
				   .system_name = s->readable ? s->raw : "",
				   .file = "",
				   .start = start,
				   .frame_type = "native" };
	return 1;
}

static int find_native(struct op_symbols *s, uint64_t vaddr, struct op_symbol *ret)
{
	enum op_mangling mangling = OP_MANGLING_NONE;
	char name[NAME_BYTES_MAX];
	size_t first;
	size_t end;
	int r;

	end = op_symbol_index_lookup(&s->index, vaddr, &first);
	if (end == first)
		return find_plt(s, vaddr, ret);
	r = best_name(s, first, end, name, sizeof(name));
	if (r <= 0)
		return r;
	op_symbol_cut_version(name, op_elf_section(s->elf, ".gnu.version_d"));
	free(s->raw);
	free(s->readable);
	s->readable = NULL;
	s->raw = strdup(name);
	if (!s->raw)
		return -ENOMEM;
	s->readable = op_demangle(s->raw, &mangling);
	*ret = (struct op_symbol){
		.name = s->readable ? s->readable : s->raw,
		.system_name = s->readable ? s->raw : "",
		.file = "",
		.start = s->index.base + s->index.entries[first].addr,
		.guessed = s->index.entries[first].size & OP_SYMBOL_SIZE_GUESSED,
		.frame_type = mangling == OP_MANGLING_RUST ? "rust" : "native",
	};
	return 1;
}

static int find_go(struct op_symbols *s, uint64_t vaddr, struct op_symbol *ret,
		   size_t len)
{
	struct op_go_function f;
	int n;
	int i;

	n = op_gopclntab_find(s->go, vaddr, &f);
	if (n <= 0)
		return n;
	if (!s->lines) {
		s->lines = calloc(GO_LINES_MAX, sizeof(*s->lines));
		if (!s->lines)
			return -ENOMEM;
	}
	n = op_gopclntab_lines(s->go, &f, vaddr, s->lines,
			       OP_MIN(len, (size_t)GO_LINES_MAX));
	for (i = 0; i < n; i++)
		ret[i] = (struct op_symbol){
			.name = s->lines[i].function,
			.system_name = "",
			.file = s->lines[i].file,
			.start = f.entry,
			.line = s->lines[i].line,
			.start_line = s->lines[i].start_line,
			.frame_type = "go",
		};
	/* A function without a name does not count. */
	return n > 0 && s->lines[n - 1].function[0] ? n : 0;
}

int op_symbols_find(struct op_symbols *s, uint64_t vaddr, struct op_symbol *ret,
		    size_t len)
{
	if (!len)
		return 0;
	if (vaddr >= s->go_range.start && vaddr < s->go_range.end)
		return find_go(s, vaddr, ret, len);
	return find_native(s, vaddr, ret);
}
