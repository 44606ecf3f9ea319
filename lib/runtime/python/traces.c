/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPython since 3.14 compiles traces by joining pieces of machine code that LLVM made
 * for each instruction of the interpreter. Each trace has its own pages and begins with
 * the same entry stub, a function with the calling convention of C. It pushes the
 * callee-saved registers, calls the code that follows it, and returns. The stub is
 * recognised by its shape. From then on its exact bytes are known for the process.
 */
#include "runtime/python/traces.h"

#include <string.h>

/* Traces generated in the second that may pass until a new mapping is known. */
static const uint64_t ROOM_BYTES = UINT64_C(1) << 20;

enum {
	PAGE_BYTES = 4096,
	/* Pages examined of a mapping, from its start on: memory of another kind may
	 * adjoin traces, and a long trace has pages that do not begin with the stub. */
	PAGES_MAX = 32,
	/* Pages read in one update, each with a system call. A mapping of traces takes
	 * one. In mappings behind the last page, traces are not found. */
	READS_MAX = 2048,
	SAVED_MIN = 4,
	SAVED_MAX = 8,
	EPILOGUE_BYTES = 8, /* bytes of op_python.entry_code */
	CALL = 0xe8,
	CALL_BYTES = 5,
	RETURN = 0xc3,
};

/* The length of a push or pop at @code, whose opcode is @base + register; 0: it is
 * neither. */
static size_t one_register(const uint8_t *code, uint8_t base, uint8_t *ret)
{
	size_t prefix = code[0] == 0x41;
	uint8_t number = (uint8_t)(code[prefix] - base);

	if (number > 7)
		return 0;
	*ret = (uint8_t)(number | prefix << 3);
	return prefix + 1;
}

/* The stub pushes registers, moves registers, calls the code after its return, and pops
 * the registers. None of them is the frame pointer. */
int op_runtime_python_entry(const uint8_t code[OP_PYTHON_ENTRY_BYTES],
			    struct op_python *ret)
{
	static const uint8_t frame_pointer = 5;
	const uint8_t *end = code + OP_PYTHON_ENTRY_BYTES - 4 * SAVED_MAX;
	uint8_t saved[SAVED_MAX];
	const uint8_t *after;
	const uint8_t *p = code;
	uint8_t number;
	size_t len = 0;
	size_t i;
	size_t n;
	int32_t to;

	while (len < SAVED_MAX && (n = one_register(p, 0x50, &number)) > 0) {
		if (number == frame_pointer)
			return 0;
		saved[len++] = number;
		p += n;
	}
	while (p < end && (p[0] & 0xf8) == 0x48 && p[1] == 0x89 && p[2] >= 0xc0)
		p += 3; /* mov between registers */
	if (len < SAVED_MIN || p >= end || *p != CALL)
		return 0;
	memcpy(&to, p + 1, sizeof(to));
	p += CALL_BYTES;
	after = p;
	for (i = len; i-- > 0; p += n) {
		n = one_register(p, 0x58, &number);
		if (!n || number != saved[i])
			return 0;
	}
	if (*p++ != RETURN || to != p - after)
		return 0;
	memcpy(&ret->entry_code, after, EPILOGUE_BYTES);
	ret->entry_return = (uint8_t)(after - code);
	ret->entry_saved = (uint8_t)len;
	ret->entry_bytes = (uint8_t)(p - code);
	return 1;
}

/* Does @m hold traces? *@reads counts the pages read. */
static bool has_traces(const struct op_runtime_target *target,
		       const struct op_runtime_mapping *m, size_t *reads,
		       struct op_python *ret)
{
	uint8_t code[OP_PYTHON_ENTRY_BYTES];
	uint64_t at;
	size_t i;

	for (i = 0, at = m->start; i < PAGES_MAX && at < m->end && *reads < READS_MAX;
	     i++, at += PAGE_BYTES) {
		++*reads;
		if (op_memory_read(target->memory, at, code, sizeof(code)) == 0 &&
		    op_runtime_python_entry(code, ret))
			return true;
	}
	return false;
}

int op_runtime_python_traces(const struct op_runtime_target *target,
			     struct op_python *bpf, struct op_runtime_code *ret,
			     bool *ret_whole)
{
	struct op_runtime_mapping m;
	struct op_python found = *bpf;
	bool go_on = false;
	size_t reads = 0;
	size_t i;

	for (i = 0; reads < READS_MAX && target->code_mapping(target, i, &m) == 0; i++) {
		if (*m.path || !has_traces(target, &m, &reads, &found)) {
			go_on = false;
			continue;
		}
		/* One range for adjoining mappings without other code in between. */
		if (go_on)
			ret->range[ret->len - 1].end = m.end;
		else if (ret->len < OP_RUNTIME_RANGES_MAX)
			ret->range[ret->len++] = (struct op_runtime_range){
				.start = m.start, .end = m.end, .room = ROOM_BYTES
			};
		go_on = ret->range[ret->len - 1].end == m.end;
	}
	*ret_whole = reads < READS_MAX;
	if (memcmp(&found, bpf, sizeof(found)) == 0)
		return 0;
	*bpf = found;
	return 1;
}
