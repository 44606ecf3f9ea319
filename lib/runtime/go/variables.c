/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/go/variables.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "code/elf/file.h"
#include "runtime/go/goroutine.h"

enum {
	WORD = 8,
	STRING_BYTES = 16,
	PIECE_BYTES = 64 << 10,
	/* words behind a piece that are needed to check its last word */
	LOOK_BYTES = 3 * WORD,
	PROBED = 4, /* elements of a slice that must be goroutines */
	PAGE = 4096,
};

/* The second of the reasons has not changed since Go 1.14. */
static const char KNOWN_REASON[] = "GC assist marking";

struct scan {
	const struct op_memory *memory;
	const struct op_go_layout *layout;
	struct op_go_places *places;
	bool want_allgs;
	bool want_reasons;
	uint64_t best;	/* capacity of the slice that was found */
	uint64_t left;	/* bytes that may still be searched */
	uint32_t allgs; /* tries, each with OP_GO_TRIES_MAX */
	uint32_t reasons;
};

int op_go_find_symbols(struct op_elf *elf, uint64_t bias, struct op_go_places *ret)
{
	static const char *const names[] = { "runtime.allgs", "runtime.waitReasonStrings",
					     "runtime.mbuckets", "runtime.MemProfileRate",
					     "runtime.mProfCycle" };
	struct op_elf_symbol symbol[OP_ARRAY_SIZE(names)];
	uint64_t at[OP_ARRAY_SIZE(names)];
	size_t i;
	int r = op_elf_find_symbols(elf, names, OP_ARRAY_SIZE(names), symbol);

	if (r < 0)
		return r;
	for (i = 0; i < OP_ARRAY_SIZE(names); i++)
		at[i] = symbol[i].value ? symbol[i].value + bias : 0;
	*ret = (struct op_go_places){
		.allgs = at[0],
		.reasons = at[1],
		.buckets = { .list = at[2], .rate = at[3], .cycle = at[4] }
	};
	return 0;
}

static bool may_try(uint32_t *tries)
{
	return *tries < OP_GO_TRIES_MAX && ++*tries;
}

/* Are the first elements of the slice goroutines? The very first one is main's. */
static bool has_goroutines(struct scan *s, uint64_t at, uint64_t len)
{
	uint64_t pointer[PROBED];
	size_t n = (size_t)OP_MIN(len, (uint64_t)PROBED);
	struct op_goroutine g;
	size_t i;

	if (!may_try(&s->allgs) ||
	    op_memory_read(s->memory, at, pointer, n * sizeof(pointer[0])) < 0)
		return false;
	if (op_goroutine_read(s->memory, s->layout, pointer[0], &g) != 1)
		return false;
	for (i = 1; i < n; i++)
		if (op_goroutine_read(s->memory, s->layout, pointer[i], &g) < 0)
			return false;
	return true;
}

/*
 * A slice of goroutines is runtime.allgs, or the collector's copy of it while it works.
 * A copy has no spare capacity, so the one with the largest capacity is used.
 */
static void look_for_allgs(struct scan *s, uint64_t address, const uint64_t word[3])
{
	if (word[0] < PAGE || word[0] % WORD || !word[1] || word[1] > word[2] ||
	    word[2] > OP_GO_SLICE_MAX || word[2] <= s->best ||
	    !has_goroutines(s, word[0], word[1]))
		return;
	s->best = word[2];
	s->places->allgs = address;
}

static void look_for_reasons(struct scan *s, uint64_t address, const uint64_t word[2])
{
	char text[sizeof(KNOWN_REASON) - 1];

	if (word[1] != sizeof(text) || word[0] < PAGE || address < STRING_BYTES ||
	    s->places->reasons || !may_try(&s->reasons) ||
	    op_memory_read(s->memory, word[0], text, sizeof(text)) < 0 ||
	    memcmp(text, KNOWN_REASON, sizeof(text)) != 0)
		return;
	s->places->reasons = address - STRING_BYTES;
}

static void look(struct scan *s, uint64_t address, const uint8_t *bytes)
{
	uint64_t word[3];

	memcpy(word, bytes, sizeof(word));
	if (!word[0])
		return;
	if (s->want_allgs)
		look_for_allgs(s, address, word);
	if (s->want_reasons)
		look_for_reasons(s, address, word);
}

static struct scan begin(const struct op_memory *memory,
			 const struct op_go_layout *layout, struct op_go_places *places)
{
	return (struct scan){ .memory = memory,
			      .layout = layout,
			      .places = places,
			      .want_allgs = !places->allgs,
			      .want_reasons = !places->reasons,
			      .left = OP_GO_SCAN_BYTES };
}

static int scan(struct scan *s, uint64_t start, uint64_t end)
{
	_cleanup_free_ uint8_t *piece = malloc(PIECE_BYTES);
	uint64_t at = OP_ALIGN_UP(start, (uint64_t)WORD);

	if (!piece)
		return -ENOMEM;
	if (end > start && end - start > s->left)
		end = start + s->left;
	s->left -= end > start ? end - start : 0;
	while (at < end && end - at >= LOOK_BYTES) {
		size_t len = (size_t)OP_MIN(end - at, (uint64_t)PIECE_BYTES);
		size_t i;

		/* a missing part has no variables that were set */
		if (op_memory_read(s->memory, at, piece, len) == 0)
			for (i = 0; len - i >= LOOK_BYTES; i += WORD)
				look(s, at + i, piece + i);
		if (len < PIECE_BYTES)
			break;
		at += PIECE_BYTES - LOOK_BYTES + WORD;
	}
	return 0;
}

int op_go_scan(const struct op_memory *memory, const struct op_go_layout *layout,
	       uint64_t start, uint64_t end, struct op_go_places *ret)
{
	struct scan s = begin(memory, layout, ret);

	return scan(&s, start, end);
}

/* Scan the variables at the ELF addresses [@vaddr, @vaddr + @size). */
static int scan_part(struct scan *s, uint64_t bias, uint64_t vaddr, uint64_t size)
{
	uint64_t end;

	if (op_add_overflow(vaddr + bias, size, &end))
		return 0;
	return scan(s, vaddr + bias, end);
}

int op_go_find_content(struct op_elf *elf, uint64_t bias, const struct op_memory *memory,
		       const struct op_go_layout *layout, struct op_go_places *ret)
{
	/* Variables that the linker filled, and those that begin as zero; both hold
	 * pointers. */
	static const char *const names[] = { ".data", ".bss" };
	const struct op_elf_segment *segment;
	struct scan all = begin(memory, layout, ret);
	bool named = false;
	size_t len;
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < OP_ARRAY_SIZE(names); i++) {
		const struct op_elf_section *s = op_elf_section(elf, names[i]);

		if (!s)
			continue;
		named = true;
		r = scan_part(&all, bias, s->addr, s->size);
	}
	if (named)
		return r;
	segment = op_elf_segments(elf, &len);
	for (i = 0; r == 0 && i < len; i++)
		if (segment[i].type == PT_LOAD && segment[i].flags & PF_W)
			r = scan_part(&all, bias, segment[i].vaddr, segment[i].memsz);
	return r;
}
