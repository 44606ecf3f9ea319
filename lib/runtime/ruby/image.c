/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds Ruby's version, variables and loop in a file. Distributions strip their files, and since
 * 3.3 nothing but the interface is exported. So the places of two variables are read from the
 * code of exported functions that begin by using them.
 */
#include "runtime/ruby/image.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "base/reader.h"
#include "runtime/exports.h"
#include "runtime/ruby/aarch64.h"

enum symbol {
	FRAMES,
	VERSION,
	ID2STR,
	SHARED,
	SYMBOLS_TABLE,
	SYMBOLS,
};

static const char *const names[SYMBOLS] = {
	[FRAMES] = "rb_profile_frames",
	[VERSION] = "ruby_version",
	[ID2STR] = "rb_id2str",
	[SHARED] = "ruby_current_execution_context_ptr",
	[SYMBOLS_TABLE] = "ruby_global_symbols",
};

enum {
	VERSION_BYTES = 16,
	CODE_BYTES = 256, /* bytes of a function that are examined */
	CODE_BYTES_MIN = 16,
	ACCESS_BYTES = 24,
	STACK_GUARD = 0x28, /* from the thread pointer: the stack protector's word */
};

/* "3.1.2" to "3.1". Returns false if it is not a version. */
static bool parse_version(const char *text, char ret[OP_LAYOUTS_VERSION_MAX + 1])
{
	unsigned int major;
	unsigned int minor;

	if (sscanf(text, "%2u.%2u.", &major, &minor) != 2)
		return false;
	(void)snprintf(ret, OP_LAYOUTS_VERSION_MAX + 1, "%u.%u", major, minor);
	return true;
}

/* Read the code at @addr. Bytes behind the end of its segment are 0. */
static int read_code(struct op_elf *elf, uint64_t addr, uint8_t code[CODE_BYTES])
{
	size_t len = CODE_BYTES;
	int r;

	memset(code, 0, CODE_BYTES);
	do {
		r = op_elf_read_vaddr(elf, addr, code, len);
		len /= 2;
	} while (r == -ENODATA && len >= CODE_BYTES_MIN);
	return r;
}

static uint64_t s32_at(const uint8_t *code, size_t pos)
{
	struct op_reader r = op_reader_init(code, CODE_BYTES);

	op_reader_seek(&r, pos);
	return (uint64_t)(int64_t)op_read_s32(&r);
}

/* Code that uses a thread-local variable: a load of an address relative to the pc, or
 * of an offset from the thread pointer, and the bytes behind its 4 bytes. */
static const struct {
	enum op_elf_tls_form form;
	uint8_t load[12];
	uint8_t load_len;
	uint8_t then[4];
	uint8_t then_len;
} accesses[] = {
	/* data16 lea X(%rip),%rdi; data16 data16 rex.W call __tls_get_addr */
	{ OP_ELF_TLS_SLOT_MODULE,
	  { 0x66, 0x48, 0x8d, 0x3d },
	  4,
	  { 0x66, 0x66, 0x48, 0xe8 },
	  4 },
	/* the same; data16 rex.W call *__tls_get_addr(%rip) */
	{ OP_ELF_TLS_SLOT_MODULE,
	  { 0x66, 0x48, 0x8d, 0x3d },
	  4,
	  { 0x66, 0x48, 0xff, 0x15 },
	  4 },
	/* mov X(%rip),%rax; mov %fs:(%rax),... */
	{ OP_ELF_TLS_SLOT_OFFSET, { 0x48, 0x8b, 0x05 }, 3, { 0x64, 0x48, 0x8b }, 3 },
	/* the linker's replacement of the first one: mov %fs:0,%rax; lea X(%rax),%rax */
	{ OP_ELF_TLS_STATIC,
	  { 0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0, 0x48, 0x8d, 0x80 },
	  12,
	  { 0 },
	  0 },
	/* mov %fs:X,%rax; %rbx; %rdi */
	{ OP_ELF_TLS_STATIC, { 0x64, 0x48, 0x8b, 0x04, 0x25 }, 5, { 0 }, 0 },
	{ OP_ELF_TLS_STATIC, { 0x64, 0x48, 0x8b, 0x1c, 0x25 }, 5, { 0 }, 0 },
	{ OP_ELF_TLS_STATIC, { 0x64, 0x48, 0x8b, 0x3c, 0x25 }, 5, { 0 }, 0 },
};

/* The place of the execution context, which rb_profile_frames() reads. Returns 1, 0 or
 * -errno. */
static int tls_by_code(struct op_elf *elf, uint64_t frames, struct op_elf_tls *ret)
{
	uint8_t code[CODE_BYTES];
	size_t at;
	size_t i;
	int r = read_code(elf, frames, code);

	for (at = 0; r == 0 && at + ACCESS_BYTES <= sizeof(code); at++) {
		for (i = 0; i < OP_ARRAY_SIZE(accesses); i++) {
			size_t end = at + accesses[i].load_len + 4;
			uint64_t off = s32_at(code, end - 4);
			bool is_static = accesses[i].form == OP_ELF_TLS_STATIC;

			if (memcmp(code + at, accesses[i].load, accesses[i].load_len) !=
				    0 ||
			    memcmp(code + end, accesses[i].then, accesses[i].then_len) !=
				    0 ||
			    (is_static && (!off || off == STACK_GUARD)))
				continue;
			*ret = (struct op_elf_tls){
				.form = accesses[i].form,
				.offset = is_static ? (int64_t)off : 0,
				.slot = is_static ? 0 : frames + end + off,
			};
			return 1;
		}
	}
	return r;
}

/* Does the instruction at @pos compare (or load) a word at an address relative to the pc? Returns
 * that address, or 0. @wide: 8 bytes, else 4. */
static uint64_t word_used(const uint8_t *code, size_t pos, uint64_t addr, bool wide)
{
	size_t at = pos;

	if (wide && (code[at] & 0xf8) != 0x48)
		return 0;
	at += wide || (code[at] & 0xf0) == 0x40;
	if (at + 6 > CODE_BYTES ||
	    (code[at] != 0x39 && code[at] != 0x3b && code[at] != 0x8b) ||
	    (code[at + 1] & 0xc7) != 0x05)
		return 0;
	return addr + at + 6 + s32_at(code, at + 2);
}

/*
 * The table of symbols {last_id, ..., ids}, from code that compares a number with
 * last_id. The same code, or code that it calls, loads ids.
 */
static uint64_t table_in(const uint8_t *code, uint64_t addr, const uint8_t *next,
			 uint64_t next_addr)
{
	size_t i;
	size_t j;

	for (i = 0; i + 8 < CODE_BYTES; i++) {
		uint64_t table = word_used(code, i, addr, false);

		for (j = 0; table && j + 8 < CODE_BYTES; j++)
			if (word_used(next, j, next_addr, true) ==
			    table + OP_RUBY_SYMBOLS_IDS)
				return table;
	}
	return 0;
}

/* Find the table of symbols in rb_id2str(), or in a function that it calls or jumps to. */
static uint64_t find_table(struct op_elf *elf, uint64_t id2str)
{
	uint8_t code[CODE_BYTES];
	uint8_t next[CODE_BYTES];
	uint64_t table;
	size_t i;

	if (read_code(elf, id2str, code) < 0)
		return 0;
	for (i = 0; i + 5 < CODE_BYTES / 2; i++) {
		uint64_t to = id2str + i + 5 + s32_at(code, i + 1);

		if ((code[i] != 0xe8 && code[i] != 0xe9) || read_code(elf, to, next) < 0)
			continue;
		table = table_in(next, to, next, to);
		if (!table)
			table = table_in(code, id2str, next, to);
		if (table)
			return table;
	}
	return table_in(code, id2str, code, id2str);
}

/* Find where threads have their execution context. Returns 1, 0 or -errno. */
static int find_context(struct op_elf *elf, const struct op_elf_symbol *symbol,
			struct op_ruby_image *ret)
{
	int r;

	if (symbol[SHARED].value) {
		ret->shared = symbol[SHARED].value;
		return ret->layout.ec_thread && ret->layout.thread_id;
	}
	r = op_elf_tls_find(elf, "ruby_current_ec", &ret->tls);
	if (r)
		return r;
	if (op_elf_machine(elf) == EM_AARCH64)
		return op_runtime_ruby_a64_context(elf, symbol[FRAMES].value, &ret->tls);
	return tls_by_code(elf, symbol[FRAMES].value, &ret->tls);
}

static int unknown(struct op_log *log, const char *path, const char *what)
{
	op_log(log, OP_LOG_WARNING, "%s: Ruby's %s was not found; its frames stay native",
	       path, what);
	return -ENOTSUP;
}

static int find_all(struct op_elf *elf, const char *path,
		    const struct op_elf_symbol *symbol, struct op_log *log,
		    struct op_ruby_image *ret)
{
	int r = find_context(elf, symbol, ret);

	if (r <= 0)
		return r < 0 ? r : unknown(log, path, "execution context");
	r = op_runtime_ruby_loop(elf, &ret->loop);
	if (r <= 0)
		return r < 0 ? r : unknown(log, path, "loop");
	ret->symbols = symbol[SYMBOLS_TABLE].value;
	if (!ret->symbols && symbol[ID2STR].value)
		ret->symbols =
			op_elf_machine(elf) == EM_AARCH64
				? op_runtime_ruby_a64_symbols(elf, symbol[ID2STR].value)
				: find_table(elf, symbol[ID2STR].value);
	if (!ret->symbols)
		op_log(log, OP_LOG_WARNING,
		       "%s: Ruby's table of symbols was not found; its functions in C have "
		       "no names",
		       path);
	return 1;
}

int op_runtime_ruby_image(struct op_elf *elf, const char *path,
			  const struct op_layouts *layouts, struct op_log *log,
			  struct op_ruby_image *ret, struct op_runtime_loop *ret_loop)
{
	struct op_elf_symbol symbol[SYMBOLS];
	struct op_ruby_image image = { 0 };
	char text[VERSION_BYTES] = "";
	char version[OP_LAYOUTS_VERSION_MAX + 1];
	int r;

	if (!op_runtime_may_export(elf, names[FRAMES]))
		return 0;
	r = op_elf_find_symbols(elf, names, SYMBOLS, symbol);
	if (r < 0)
		return r;
	if (!symbol[FRAMES].value || !symbol[VERSION].value)
		return 0;
	r = op_elf_read_vaddr(elf, symbol[VERSION].value, text,
			      OP_MIN(symbol[VERSION].size, sizeof(text) - 1));
	if (r < 0)
		return r;
	if (!parse_version(text, version))
		return 0;
	r = op_layouts_find(layouts, &op_runtime_ruby_layouts, version, &image.layout);
	if (r == -ENOENT)
		return op_layouts_unknown(&op_runtime_ruby_layouts, version, path, log);
	if (r == 0)
		r = find_all(elf, path, symbol, log, &image);
	if (r <= 0)
		return r;
	*ret = image;
	ret_loop->count = 2;
	memcpy(ret_loop->range[0], image.loop.exec, sizeof(image.loop.exec));
	memcpy(ret_loop->range[1], image.loop.core, sizeof(image.loop.core));
	return 1;
}
