/* SPDX-License-Identifier: Apache-2.0 */
/* Finds PHP's version, globals, loop and registers in an executable. */
#include "runtime/php/image.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "base/macros.h"
#include "base/reader.h"
#include "runtime/cold_part.h"
#include "runtime/exports.h"

enum symbol {
	LOOP,
	LOOP_COLD,
	EXECUTOR,
	EXECUTOR_OFFSET,
	THREADS,
	KIND,
	BEGINNERS,
	BEGINS_CODE = BEGINNERS + OP_PHP_BEGINS_CODE,
	BEGINS_FUNCTION = BEGINNERS + OP_PHP_BEGINS_FUNCTION,
	BEGINS_GENERATOR = BEGINNERS + OP_PHP_BEGINS_GENERATOR,
	SYMBOLS,
};

static const char *const names[SYMBOLS] = {
	[LOOP] = "execute_ex",
	[LOOP_COLD] = "execute_ex.cold",
	[EXECUTOR] = "executor_globals",
	[EXECUTOR_OFFSET] = "executor_globals_offset",
	[THREADS] = "tsrm_get_ls_cache_tcb_offset",
	[KIND] = "zend_vm_kind",
	[BEGINS_CODE] = "zend_execute",
	[BEGINS_FUNCTION] = "zend_call_function",
	[BEGINS_GENERATOR] = "zend_generator_resume",
};

enum {
	LOOP_BYTES_MAX = 1 << 20,
	RODATA_BYTES_MAX = 16 << 20,
	CHUNK_BYTES = 16384,
	VERSION_BYTES = 8, /* "8.4." and one more digit or two */
	KIND_BYTES = 16,
	KIND_HYBRID = 4, /* ZEND_VM_KIND_HYBRID */
	ENTRY_BYTES = 256,
};

/* The header that every PHP server program sends (SAPI_PHP_VERSION_HEADER). */
static const char version_mark[] = "X-Powered-By: PHP/";

static bool name_says_php(const char *path)
{
	const char *base = op_base_name(path);

	return strncmp(base, "php", 3) == 0 || strncmp(base, "libphp", 6) == 0;
}

/* Parse "8.4.24" to 0x0804; 0 if it is not a version. */
static uint16_t parse_version(const uint8_t *text, size_t len)
{
	uint32_t part[2] = { 0, 0 };
	size_t at = 0;
	size_t i;

	for (i = 0; i < 2; i++) {
		size_t begin = at;

		for (; at < len && text[at] >= '0' && text[at] <= '9'; at++)
			part[i] = part[i] * 10 + (text[at] - '0');
		if (at == begin || at >= len || text[at] != '.' || part[i] > 255)
			return 0;
		at++;
	}
	return (uint16_t)(part[0] << 8 | part[1]);
}

/* Returns 1 with *@ret, 0 if the mark is not found, or -errno. */
static int find_version(struct op_elf *elf, uint16_t *ret)
{
	const struct op_elf_section *section = op_elf_section(elf, ".rodata");
	const size_t mark_len = sizeof(version_mark) - 1;
	const size_t overlap = mark_len + VERSION_BYTES;
	uint8_t chunk[CHUNK_BYTES];
	uint64_t at;

	if (!section || section->size > RODATA_BYTES_MAX)
		return 0;
	for (at = 0; at < section->size; at += CHUNK_BYTES - overlap) {
		size_t len = OP_MIN(section->size - at, sizeof(chunk));
		const uint8_t *found;
		int r = op_elf_read(elf, section->offset + at, chunk, len);

		if (r < 0)
			return r;
		found = memmem(chunk, len, version_mark, mark_len);
		if (found && (size_t)(chunk + len - found) > mark_len)
			*ret = parse_version(
				found + mark_len,
				OP_MIN((size_t)(chunk + len - found) - mark_len,
				       (size_t)VERSION_BYTES));
		if (found && *ret)
			return 1;
	}
	return 0;
}

/* Does zend_vm_kind(), a function that returns a constant, return ZEND_VM_KIND_HYBRID? */
static bool is_hybrid(struct op_elf *elf, const struct op_elf_symbol *kind)
{
	static const uint32_t endbr64 = 0xfa1e0ff3;
	static const uint32_t bti_c = 0xd503245f;
	static const uint32_t mov_w0_hybrid = 0x52800080;
	uint8_t code[KIND_BYTES];
	struct op_reader r = op_reader_init(code, sizeof(code));
	uint32_t first;

	if (!kind->value || op_elf_read_vaddr(elf, kind->value, code, sizeof(code)) < 0)
		return false;
	first = op_read_u32(&r);
	if (op_elf_machine(elf) == EM_AARCH64)
		return (first == bti_c ? op_read_u32(&r) : first) == mov_w0_hybrid;
	op_reader_seek(&r, first == endbr64 ? sizeof(first) : 0);
	return op_read_u8(&r) == 0xb8 && op_read_u32(&r) == KIND_HYBRID; /* mov $4,%eax */
}

/* Decode the stack frame that the loop's prologue makes: pushes, then a sub. Returns
 * false if the code differs. */
static bool find_body_cfa(const uint8_t *code, size_t len, struct op_php_image *ret)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const uint8_t mov_fp[] = { 0x48, 0x89, 0xe5 };
	static const uint8_t sub[] = { 0x48, 0x83, 0xec };
	static const uint8_t sub_far[] = { 0x48, 0x81, 0xec };
	struct op_reader r = op_reader_init(code, len);
	uint32_t cfa = 8;
	uint8_t op;

	if (len >= sizeof(endbr64) && memcmp(code, endbr64, sizeof(endbr64)) == 0)
		op_read_skip(&r, sizeof(endbr64));
	for (;;) {
		op = op_read_u8(&r);
		if (op == 0x41)
			op = op_read_u8(&r);
		if (op < 0x50 || op > 0x57) /* push */
			break;
		cfa += 8;
		if (op == 0x55 && op_reader_left(&r) >= sizeof(mov_fp) &&
		    memcmp(r.pos, mov_fp, sizeof(mov_fp)) == 0) {
			ret->body_fp = true;
			ret->body_cfa = cfa;
			return true;
		}
	}
	if (r.failed || op_reader_left(&r) < sizeof(sub) - 1)
		return false;
	op_reader_seek(&r, op_reader_pos(&r) - 1);
	if (memcmp(r.pos, sub, sizeof(sub)) == 0) {
		op_read_skip(&r, sizeof(sub));
		ret->body_cfa = cfa + op_read_u8(&r);
	} else if (memcmp(r.pos, sub_far, sizeof(sub_far)) == 0) {
		op_read_skip(&r, sizeof(sub_far));
		ret->body_cfa = cfa + op_read_u32(&r);
	}
	return !r.failed && ret->body_cfa;
}

/*
 * Find an address in the loop's body at which its stack frame is complete, and the CFA
 * there: the address after the first jump to an instruction's code, jmp *(%r15), that
 * follows the prologue. Without it, JIT code cannot be unwound.
 */
static void find_body(struct op_elf *elf, const struct op_elf_symbol *loop,
		      struct op_php_image *ret)
{
	static const uint8_t jump[] = { 0x41, 0xff, 0x27 };
	uint8_t code[ENTRY_BYTES];
	const uint8_t *found;

	if (loop->size < sizeof(code) ||
	    op_elf_read_vaddr(elf, loop->value, code, sizeof(code)) < 0)
		return;
	found = memmem(code, sizeof(code), jump, sizeof(jump));
	if (found && find_body_cfa(code, sizeof(code), ret))
		ret->body = loop->value + (uint64_t)(found - code) + sizeof(jump);
}

static void find_loop(struct op_elf *elf, const struct op_elf_symbol *symbol,
		      struct op_log *log, struct op_runtime_loop *ret)
{
	const struct op_elf_symbol *loop = &symbol[LOOP];
	const struct op_elf_symbol *cold = &symbol[LOOP_COLD];
	uint64_t range[2] = { cold->value, cold->value + cold->size };
	int r = cold->value && cold->size;

	*ret = (struct op_runtime_loop){ .count = 1 };
	ret->range[0][0] = loop->value;
	ret->range[0][1] = loop->value + loop->size;
	if (!r)
		r = op_runtime_cold_part(elf, ret->range[0][0], ret->range[0][1], range);
	if (r < 0)
		op_log(log, OP_LOG_DEBUG,
		       "the cold part of the PHP loop was not searched: %s",
		       strerror(-r));
	if (r <= 0)
		return;
	ret->count = 2;
	memcpy(ret->range[1], range, sizeof(range));
}

static int unknown(struct op_log *log, const char *path, const char *what)
{
	op_log(log, OP_LOG_WARNING, "%s: %s is not known; its frames stay native", path,
	       what);
	return -ENOTSUP;
}

/* Returns 0 with *@ret; -ENOTSUP after warning the user that there is no layout; or
 * -errno. */
static int find_layout(const struct op_layouts *layouts, uint16_t version,
		       const char *path, struct op_log *log, struct op_php_layout *ret)
{
	char text[OP_LAYOUTS_VERSION_MAX + 1];
	int r = op_layouts_find_number(layouts, &op_runtime_php_layouts, version, ret);

	if (r != -ENOENT)
		return r;
	(void)snprintf(text, sizeof(text), "%u.%u", version >> 8u, version & 255u);
	return op_layouts_unknown(&op_runtime_php_layouts, text, path, log);
}

int op_runtime_php_image(struct op_elf *elf, const char *path,
			 const struct op_layouts *layouts, struct op_log *log,
			 struct op_php_image *ret, struct op_runtime_loop *ret_loop)
{
	struct op_elf_symbol symbol[SYMBOLS];
	struct op_php_image image = { .machine = op_elf_machine(elf) };
	uint16_t version = 0;
	uint32_t i;
	int r;

	if (!name_says_php(path) && !op_runtime_may_export(elf, names[LOOP]))
		return 0;
	r = op_elf_find_symbols(elf, names, SYMBOLS, symbol);
	if (r < 0)
		return r;
	if (!symbol[LOOP].value)
		return 0;
	r = find_version(elf, &version);
	if (r < 0)
		return r;
	if (!version) /* It is another program with a function of that name. */
		return 0;
	if (!symbol[EXECUTOR].value) {
		if (!symbol[EXECUTOR_OFFSET].value || !symbol[THREADS].value)
			return unknown(log, path, "this build of PHP for threads (ZTS)");
		symbol[EXECUTOR] = symbol[EXECUTOR_OFFSET];
		image.threads = symbol[THREADS].value;
	}
	r = find_layout(layouts, version, path, log, &image.layout);
	if (r < 0)
		return r;
	if (!symbol[LOOP].size || symbol[LOOP].size > LOOP_BYTES_MAX)
		return unknown(log, path, "this build of PHP");
	image.version = version;
	image.executor = symbol[EXECUTOR].value;
	for (i = 0; i < OP_PHP_BEGINNERS; i++) {
		image.beginner[i][0] = symbol[BEGINNERS + i].value;
		image.beginner[i][1] =
			symbol[BEGINNERS + i].value + symbol[BEGINNERS + i].size;
	}
	image.registers = is_hybrid(elf, &symbol[KIND]);
	if (image.registers && image.machine == EM_X86_64)
		find_body(elf, &symbol[LOOP], &image);
	find_loop(elf, symbol, log, ret_loop);
	*ret = image;
	return 1;
}
