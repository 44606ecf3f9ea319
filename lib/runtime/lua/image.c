/* SPDX-License-Identifier: Apache-2.0 */
/* The instructions are those of vm_x64.dasc, with pointers of 64 bits (GC64). */
#include "runtime/lua/image.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "code/dwarf/eh_hdr.h"
#include "runtime/exports.h"

enum {
	TEXT_MAX = 64 << 20, /* bytes of code to search */
	PIECE_BYTES = 1 << 16,
	VM_MAX = 1 << 18, /* bytes of the interpreter; 2.1 has 17 to 20 KiB */
	PATTERN_MAX = 40,
	OFFSET_MAX = 1 << 16,
	JUMP_NEAR = 48,	    /* from BC_JLOOP's first instructions to its jump */
	ENTER_NEAR = 0x200, /* of the four functions that C calls */
	ENTER_BYTES = 0x60, /* of the last of them, until its C frame is made */
	LEAVE_NEAR = 0x200,
};

/* Bytes as hex digits, "??" for any. */
struct pattern {
	uint8_t byte[PATTERN_MAX];
	uint8_t mask[PATTERN_MAX];
	size_t len;
};

/* mov ecx, [r14 + traces]; mov rax, [rcx + rax * 8]; mov rax, [rax + 88];
 * mov rbp, [rsp + 16]; mov [r14 + base], rdx: BC_JLOOP enters a trace. */
static const char enters_trace[] =
	"498b8e????????488b04c1488b4058488b6c2410498996????????";
enum {
	TRACES_AT = 3,
	BASE_AT = 23,
};
static const char jumps[] = "ffe0";
/* add r14, n: from global_State to the table that r14 holds */
static const char adds_table[] = "4981c6????????";
/* mov dword [r14 + running], -1 */
static const char says_interpreter[] = "41c786????????ffffffff";
/* push rbx, r15, r14; sub rsp, 40 */
static const char makes_frame[] = "53415741564883ec28";
/* push r13 to r8, rdi, rsi, rbp; lea rbp, [rsp + 88]; push rbp: vm_exit_handler */
static const char leaves_trace[] = "415541544153415241514150575655488d6c245855";
/* sub rbx, rdx; neg rbx; sub eax, 1: the caller's base, and whether there are results */
static const char ends[] = "4829d348f7db83e801";
enum {
	ENDS_AT = 6,
	END_NEAR = 0x80,
};
static const char frees_frame[] = "4883c428"; /* add rsp, 40 */
static const char sets_stack[] = "4889cc";    /* mov rsp, rcx */

static uint8_t digit(char c)
{
	return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static struct pattern parse(const char *text)
{
	struct pattern p = { .len = 0 };

	for (; *text && p.len < PATTERN_MAX; text += 2) {
		if (*text != '?') {
			p.byte[p.len] = (uint8_t)(digit(text[0]) << 4 | digit(text[1]));
			p.mask[p.len] = 0xff;
		}
		p.len++;
	}
	return p;
}

struct code {
	const uint8_t *bytes;
	size_t len;
};

static bool matches(const struct pattern *p, const uint8_t *at)
{
	size_t i;

	for (i = 0; i < p->len; i++)
		if ((at[i] & p->mask[i]) != p->byte[i])
			return false;
	return true;
}

/* The first match of @text from @from on, before @from + @near. Returns SIZE_MAX if there
 * is none. */
static size_t find(struct code code, const char *text, size_t from, size_t near)
{
	struct pattern p = parse(text);
	const uint8_t *at;
	size_t end;

	if (from >= code.len || code.len - from < p.len)
		return SIZE_MAX;
	end = from + OP_MIN(near, code.len - from - p.len + 1);
	while (from < end) {
		at = memchr(code.bytes + from, p.byte[0], end - from);
		if (!at)
			return SIZE_MAX;
		if (matches(&p, at))
			return (size_t)(at - code.bytes);
		from = (size_t)(at - code.bytes) + 1;
	}
	return SIZE_MAX;
}

static int32_t number(struct code code, size_t at)
{
	int32_t ret;

	memcpy(&ret, code.bytes + at, sizeof(ret));
	return ret;
}

/* Look for BC_JLOOP in @segment. Returns 1 with its ELF address, 0, or -errno. */
static int search(struct op_elf *elf, const struct op_elf_segment *segment, uint64_t *ret)
{
	_cleanup_free_ uint8_t *piece = malloc(PIECE_BYTES);
	uint64_t size = OP_MIN(segment->filesz, (uint64_t)TEXT_MAX);
	uint64_t off;
	size_t at;
	int r;

	if (!piece)
		return -ENOMEM;
	/* pieces overlap, because one may end inside the pattern */
	for (off = 0; off < size; off += PIECE_BYTES - PATTERN_MAX) {
		struct code code = { piece, OP_MIN(size - off, (uint64_t)PIECE_BYTES) };

		r = op_elf_read(elf, segment->offset + off, piece, code.len);
		if (r < 0)
			return r;
		at = find(code, enters_trace, 0, SIZE_MAX);
		if (at != SIZE_MAX) {
			*ret = segment->vaddr + off + at;
			return 1;
		}
	}
	return 0;
}

static int find_trace_entry(struct op_elf *elf, uint64_t *ret)
{
	const struct op_elf_segment *segment;
	size_t len;
	size_t i;
	int r = 0;

	segment = op_elf_segments(elf, &len);
	for (i = 0; r == 0 && i < len; i++)
		if (segment[i].type == PT_LOAD && (segment[i].flags & PF_X))
			r = search(elf, &segment[i], ret);
	return r;
}

/* The offset in global_State of what is at @at from r14. Returns 0 if it is invalid. */
static uint32_t offset(int32_t table, int32_t at)
{
	int64_t ret = (int64_t)table + at;

	return ret > 0 && ret < OFFSET_MAX && ret % 4 == 0 ? (uint32_t)ret : 0;
}

/* Read the interpreter's @code, which begins at @start. Returns false if something is missing. */
static bool examine(struct code code, uint64_t start, size_t entry, struct op_lua *ret)
{
	size_t jump = find(code, jumps, entry, JUMP_NEAR + sizeof(enters_trace) / 2);
	size_t table = find(code, adds_table, 0, SIZE_MAX);
	size_t running = find(code, says_interpreter, 0, SIZE_MAX);
	size_t first = find(code, makes_frame, 0, SIZE_MAX);
	size_t leave = find(code, leaves_trace, 0, SIZE_MAX);
	size_t returns = find(code, ends, 0, SIZE_MAX);
	size_t last = first;
	size_t next = first;
	size_t freed;
	size_t end;

	if (jump == SIZE_MAX || table == SIZE_MAX || running == SIZE_MAX ||
	    first == SIZE_MAX || leave == SIZE_MAX || returns == SIZE_MAX)
		return false;
	while (next != SIZE_MAX) {
		last = next;
		next = find(code, makes_frame, last + 1, ENTER_NEAR);
	}
	end = find(code, sets_stack, leave, LEAVE_NEAR);
	freed = find(code, frees_frame, returns, END_NEAR);
	if (end == SIZE_MAX || freed == SIZE_MAX)
		return false;
	ret->end[0] = start + returns + ENDS_AT;
	ret->end[1] = start + freed;
	ret->enter[0] = start + first - 1;
	ret->enter[1] = start + last + ENTER_BYTES;
	ret->leave[0] = start + leave;
	ret->leave[1] = start + end + sizeof(sets_stack) / 2;
	ret->jump = start + jump + 2;
	ret->running = offset(number(code, table + 3), number(code, running + 3));
	ret->trace_base = offset(number(code, table + 3), number(code, entry + BASE_AT));
	ret->traces = offset(number(code, table + 3), number(code, entry + TRACES_AT));
	return ret->running && ret->trace_base && ret->traces;
}

/* Returns 1, 0 if the interpreter was not found, or -errno. */
static int find_interpreter(struct op_elf *elf, struct op_lua *ret,
			    struct op_runtime_loop *ret_loop)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	uint64_t entry;
	uint64_t start;
	uint64_t end;
	int r = find_trace_entry(elf, &entry);

	if (r == 1)
		r = op_eh_hdr_function(elf, entry, &start, &end);
	if (r != 1)
		return r;
	if (end - start > VM_MAX)
		return 0;
	bytes = malloc(end - start);
	if (!bytes)
		return -ENOMEM;
	r = op_elf_read_vaddr(elf, start, bytes, end - start);
	if (r < 0)
		return r;
	if (!examine((struct code){ bytes, end - start }, start, entry - start, ret))
		return 0;
	ret_loop->count = 1;
	ret_loop->range[0][0] = start;
	ret_loop->range[0][1] = end;
	return 1;
}

int op_runtime_lua_image(struct op_elf *elf, const char *path, struct op_log *log,
			 struct op_lua *ret, struct op_runtime_loop *ret_loop)
{
	static const char symbol[] = "luaJIT_setmode";
	struct op_elf_symbol found;
	struct op_lua lua = { 0 };
	int r;

	if (!op_runtime_may_export(elf, symbol))
		return 0;
	r = op_elf_find_symbol(elf, symbol, &found);
	if (r <= 0)
		return r;
	r = op_elf_machine(elf) == EM_X86_64 ? find_interpreter(elf, &lua, ret_loop) : 0;
	if (r == 0) {
		op_log(log, OP_LOG_WARNING,
		       "%s: LuaJIT's interpreter was not found; its frames stay native",
		       path);
		return -ENOTSUP;
	}
	if (r == 1)
		*ret = lua;
	return r;
}
