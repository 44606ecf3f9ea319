/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/ruby/loop.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/reader.h"
#include "code/dwarf/eh_hdr.h"
#include "runtime/ruby/aarch64.h"

enum {
	WORDS_MAX = 1 << 17, /* of .data.rel.ro */
	CHUNK_WORDS = 512,
	/* Ruby 2.7 has 206 instructions, 3.3 has 204. The next longest table, of the matcher of
	 * regular expressions, has 98. */
	INSNS_MIN = 150,
	CORE_BYTES_MAX = 1 << 20,
	NEAR_BYTES = 1 << 16, /* largest distance of vm_exec() from vm_exec_core() */
	AFTER_BYTES = 160,
	JUMP_BYTES = 32,
};

/* Words in a row that lead into a part of .text that one function may fill. */
struct run {
	uint64_t least;
	uint64_t most;
	uint64_t one; /* of the words: other addresses may precede the table's */
	uint32_t len;
};

struct search {
	struct op_elf *elf;
	const struct op_elf_section *text;
	struct run run;
	struct run best;
};

static void take_word(struct search *s, uint64_t word)
{
	struct run *run = &s->run;
	uint64_t least = run->len ? OP_MIN(run->least, word) : word;
	uint64_t most = run->len ? OP_MAX(run->most, word) : word;

	if (word < s->text->addr || word - s->text->addr >= s->text->size ||
	    most - least > CORE_BYTES_MAX) {
		if (run->len > s->best.len)
			s->best = *run;
		run->len = 0;
		return;
	}
	run->least = least;
	run->most = most;
	if (run->len == INSNS_MIN / 2)
		run->one = word;
	run->len++;
}

static int find_core(struct op_elf *elf, uint64_t ret[2])
{
	const struct op_elf_section *section = op_elf_section(elf, ".data.rel.ro");
	struct search s = { .elf = elf, .text = op_elf_section(elf, ".text") };
	uint64_t words[CHUNK_WORDS];
	uint64_t len;
	uint64_t at;
	size_t i;
	int r;

	if (!section || !s.text)
		return 0;
	len = section->size / 8;
	if (len > WORDS_MAX)
		return -EFBIG;
	for (at = 0; at < len; at += CHUNK_WORDS) {
		size_t n = OP_MIN(len - at, (uint64_t)CHUNK_WORDS);

		r = op_elf_read_words(elf, section->addr + at * 8, words, n);
		if (r < 0)
			return r;
		for (i = 0; i < n; i++)
			take_word(&s, words[i]);
	}
	take_word(&s, 0);
	if (s.best.len < INSNS_MIN)
		return 0;
	return op_eh_hdr_function(elf, s.best.one, &ret[0], &ret[1]);
}

/* The bytes of .text in [*@from, *@end), which is cut to the existing ones. */
static int read_text(struct op_elf *elf, uint64_t *from, uint64_t *end, uint8_t **ret)
{
	const struct op_elf_section *text = op_elf_section(elf, ".text");
	_cleanup_free_ uint8_t *code = NULL;
	int r;

	if (!text)
		return -ENOENT;
	*from = OP_MAX(*from, text->addr);
	*end = OP_MIN(*end, text->addr + text->size);
	if (*end <= *from)
		return -EBADMSG;
	code = malloc(*end - *from);
	if (!code)
		return -ENOMEM;
	r = op_elf_read_vaddr(elf, *from, code, *end - *from);
	if (r < 0)
		return r;
	*ret = OP_TAKE_PTR(code);
	return 0;
}

/* The target of the jump or call at @pos of @code, which is at @addr, or 0. */
static uint64_t target_of(const uint8_t *code, size_t len, uint64_t addr, size_t pos,
			  uint8_t op)
{
	struct op_reader r = op_reader_init(code, len);
	uint32_t off;

	op_reader_seek(&r, pos);
	if (op_read_u8(&r) != op)
		return 0;
	off = op == 0xeb ? (uint32_t)op_read_s8(&r) : op_read_u32(&r);
	return r.failed ? 0 : addr + op_reader_pos(&r) + (uint64_t)(int64_t)(int32_t)off;
}

/* Does the instruction that ends at @pos leave a stack frame: pop, leave, add X,%rsp? */
static bool is_epilogue(const uint8_t *code, size_t pos)
{
	static const uint8_t near[] = { 0x48, 0x83, 0xc4 };
	static const uint8_t far[] = { 0x48, 0x81, 0xc4 };

	return (code[pos - 1] >= 0x58 && code[pos - 1] <= 0x5f) ||
	       code[pos - 1] == 0xc9 ||
	       (pos >= 4 && memcmp(code + pos - 4, near, sizeof(near)) == 0) ||
	       (pos >= 7 && memcmp(code + pos - 7, far, sizeof(far)) == 0);
}

/* The end of the code from @pos on that returns, or 0. */
static size_t end_of_return(const uint8_t *code, size_t len, size_t pos)
{
	size_t i;

	for (i = pos + 1; i < len && i < pos + AFTER_BYTES; i++)
		if (code[i] == 0xc3 && is_epilogue(code, i))
			return i + 1;
	return 0;
}

/* The target of a jump of any kind at @pos of @code, and the jump's length; or 0. */
static uint64_t jump_of(const uint8_t *code, size_t len, uint64_t addr, size_t pos,
			uint32_t *ret_len)
{
	uint64_t to = target_of(code, len, addr, pos, 0xe9);

	*ret_len = 5;
	if (!to) {
		to = target_of(code, len, addr, pos, 0xeb);
		*ret_len = 2;
	}
	if (!to && pos + 1 < len && code[pos] == 0x0f && (code[pos + 1] & 0xfe) == 0x84) {
		to = target_of(code, len, addr, pos + 1, code[pos + 1]);
		*ret_len = 6;
	}
	return to >= addr && to < addr + len ? to : 0;
}

/* The code behind the call that returns to @pos, until the function returns: in a row,
 * or from the target of the first jump. */
static void find_after(const uint8_t *code, size_t len, uint64_t addr, size_t pos,
		       struct op_ruby_loop *ret)
{
	uint32_t jump;
	uint64_t to = jump_of(code, len, addr, pos, &jump);
	size_t end = to ? 0 : end_of_return(code, len, pos);
	size_t next = pos;
	size_t i;

	for (i = pos; !end && i < pos + JUMP_BYTES; i++) {
		to = jump_of(code, len, addr, i, &jump);
		if (!to)
			continue;
		next = (size_t)(to - addr);
		end = end_of_return(code, len, next);
		if (!end)
			return;
		ret->after[1][0] = addr + pos;
		ret->after[1][1] = addr + i + jump;
	}
	if (end) {
		ret->after[0][0] = addr + next;
		ret->after[0][1] = addr + end;
	}
}

/* The code of vm_exec_core(), which has @code around it, in which it leaves. */
static void find_leave(const uint8_t *code, size_t len, uint64_t addr,
		       struct op_ruby_loop *ret)
{
	uint64_t end = OP_MIN(ret->core[1], addr + len);

	if (ret->core[0] >= addr && ret->core[0] < end)
		op_runtime_ruby_a64_leave(code + (ret->core[0] - addr),
					  (size_t)(end - ret->core[0]), ret->core[0],
					  ret);
}

/* vm_exec() is the function that calls vm_exec_core() first. */
static int find_exec(struct op_elf *elf, struct op_ruby_loop *ret)
{
	bool a64 = op_elf_machine(elf) == EM_AARCH64;
	uint64_t from = ret->core[0] - OP_MIN(ret->core[0], (uint64_t)NEAR_BYTES);
	uint64_t end = ret->core[1] + NEAR_BYTES;
	_cleanup_free_ uint8_t *code = NULL;
	size_t len;
	size_t i;
	int r = read_text(elf, &from, &end, &code);

	if (r < 0)
		return r;
	len = (size_t)(end - from);
	for (i = 0; i + 5 <= len; i += a64 ? 4 : 1) {
		if (a64 ? !op_runtime_ruby_a64_calls(code, len, from, i, ret->core[0])
			: target_of(code, len, from, i, 0xe8) != ret->core[0])
			continue;
		r = op_eh_hdr_function(elf, from + i, &ret->exec[0], &ret->exec[1]);
		if (r > 0 && a64) {
			op_runtime_ruby_a64_after(code, len, from, i + 4, ret);
			find_leave(code, len, from, ret);
		} else if (r > 0) {
			find_after(code, len, from, i + 5, ret);
		}
		return r;
	}
	return 0;
}

int op_runtime_ruby_loop(struct op_elf *elf, struct op_ruby_loop *ret)
{
	struct op_ruby_loop loop = { 0 };
	const struct op_elf_section *plt;
	int r = find_core(elf, loop.core);

	if (r > 0)
		r = find_exec(elf, &loop);
	if (r <= 0)
		return r;
	plt = op_elf_section(elf, ".plt.sec"); /* x86-64 with IBT */
	if (!plt)
		plt = op_elf_section(elf, ".plt");
	if (plt) {
		loop.plt[0] = plt->addr;
		loop.plt[1] = plt->addr + plt->size;
	}
	*ret = loop;
	return r;
}
