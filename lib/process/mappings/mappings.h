/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executable mappings of a process, sorted by address and without overlaps. The list
 * is reference-counted. A shared list, or one that was written to the arena, never
 * changes: op_mappings_own() makes a copy of it.
 */
#ifndef OP_PROCESS_MAPPINGS_MAPPINGS_H
#define OP_PROCESS_MAPPINGS_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "op_user_types.h"
#include "process/image/claim.h"

struct op_arena;
struct op_executables;
struct op_image;

enum {
	/* while all processes together have more mappings, each keeps OP_MAPPINGS_EACH */
	OP_MAPPINGS_ALL = 1 << 18,
	OP_MAPPINGS_EACH = 1024,
	/* a table of this length is always written to the arena */
	OP_MAPPINGS_LEAST = 128,
};

struct op_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset;	   /* offset in the file */
	struct op_executable *exe; /* a counted reference; NULL: no file */
	struct op_claim claim;	   /* on exe */
	uint64_t bias;		   /* process address - ELF address, as published */
	/* as published: bytes below `start` that belong to the mapping, too */
	uint64_t room;
	uint64_t above; /* the same from `end` on */
	op_ref segment; /* as published, 0: none */
	uint32_t flags; /* OP_MAPPING_*, as published */
	bool writable;	/* the process may write there */
	bool replaced;	/* it replaced another file's mapping */
	uint8_t mark;	/* as written to the arena: the number of its mark, 0: none */
	bool uprobes;	/* the kernel's, for probed instructions; without a file */
};

struct op_mappings {
	uint32_t refs;
	size_t len;
	size_t cap;
	struct op_mapping *vma;
	uint64_t refused; /* mappings past OP_MAPPINGS_MAX or OP_MAPPINGS_EACH */
	bool full;	  /* the list is full of mappings with files */
	/* the arena block with starts, mappings and marks; 0: not written */
	op_ref block;
	size_t block_bytes;
	uint32_t written; /* mappings in the block */
	op_ref marks;	  /* in the block */
	uint32_t mark_count;
	/* the table of a file could not be made: until then it is walked by frame
	 * pointers */
	bool fallback;
};

int op_mappings_new(struct op_mappings **ret);
struct op_mappings *op_mappings_ref(struct op_mappings *mappings);
/* Drop a reference. With the last one its arena block is released and its executables are
 * dropped. */
void op_mappings_put(struct op_mappings *mappings, struct op_executables *x,
		     uint64_t now_ns);

/* Make *@mappings a list that may be changed, by a copy if it is shared or written to the
 * arena. Returns 0 or -ENOMEM. */
int op_mappings_own(struct op_mappings **mappings, struct op_executables *x,
		    uint64_t now_ns);

/* Is @vma already in @mappings, so that op_mappings_insert() would change nothing? A
 * mapping without a file is, if another without a file contains it. */
bool op_mappings_has(const struct op_mappings *mappings, const struct op_mapping *vma);
/* Map @vma in place of what was mapped there, and take a reference to its exe. Memory
 * between two mappings of a file, where the file's code was, gets that file. @mappings
 * comes from op_mappings_own(). Returns 0, -ENOMEM, or -E2BIG at OP_MAPPINGS_MAX or
 * OP_MAPPINGS_EACH. */
int op_mappings_insert(struct op_mappings *mappings, const struct op_mapping *vma,
		       struct op_executables *x);

/* Would @vma replace another file, another part of its file, or memory without a file? */
bool op_mappings_replaces(const struct op_mappings *mappings,
			  const struct op_mapping *vma);

/* The mapping that holds @addr, or NULL. */
struct op_mapping *op_mappings_find(const struct op_mappings *mappings, uint64_t addr);
/* The same, or the mapping whose room holds @addr. */
struct op_mapping *op_mappings_find_room(const struct op_mappings *mappings,
					 uint64_t addr);
/* The first address of [@start, @end) that is in no mapping, or @end. *@ret_end: up to where
 * none is. */
uint64_t op_mappings_gap(const struct op_mappings *mappings, uint64_t start, uint64_t end,
			 uint64_t *ret_end);
/* Is @pc, or the call before it, in a mapping or its room? */
bool op_mappings_has_pc(const struct op_mappings *mappings, uint64_t pc);

/* The first mapping of a file whose base name begins with @prefix, or NULL. */
const struct op_mapping *op_mappings_find_named(const struct op_mappings *mappings,
						const char *prefix);
/* The first mapping of a file with that image, or NULL. */
const struct op_mapping *op_mappings_find_image(const struct op_mappings *mappings,
						const struct op_image *image);

/* Must the file of @vma be compared before vma->exe is used? */
bool op_mapping_is_doubted(const struct op_mapping *vma);
/* Do @a and @b map one file at one place? Their ends may differ: if a file's first
 * segment is code, the whole file is mapped first, and then data over the rest. */
bool op_mapping_is_same(const struct op_mapping *a, const struct op_mapping *b);
/* Is @vma memory without an ELF file, so that the process made the code? */
bool op_mapping_is_made(const struct op_mapping *vma);
/* A checksum of these mappings. It changes when one is added or removed. */
uint64_t op_mappings_made_sum(const struct op_mappings *mappings);

/* The number of pages that the process cannot write (struct op_process.code_pages),
 * without files mapped after @time_ns. */
uint64_t op_mappings_code_pages(const struct op_mappings *mappings, uint64_t time_ns);
/* Do @before and @now have copies of one file at @addr, and @before a table for it? Or has
 * each code without a file that is walked without rules? Forged build ids mislead only the
 * forger's own processes. */
bool op_mappings_are_copies(const struct op_mappings *before,
			    const struct op_mappings *now, uint64_t addr);
/* The end of the time in which the program mapped the files that it was started with.
 * Later files may be unmapped again. */
uint64_t op_mappings_start_ns(const struct op_mappings *mappings);
/* A checksum of the mappings of files. */
uint64_t op_mappings_files_sum(const struct op_mappings *mappings);
/*
 * Write starts and mappings to the arena unless they are there. Tables with more than
 * @share mappings get at most half of the arena. If one does not fit into that half,
 * @share mappings are written, the first of each file before others. Returns 0 or -errno.
 */
int op_mappings_write(struct op_mappings *mappings, struct op_arena *arena, size_t share);
/* Would op_mappings_write() write more mappings now? */
bool op_mappings_may_grow(const struct op_mappings *mappings,
			  const struct op_arena *arena);
/* The fair share of each of @processes, in mappings. */
size_t op_mappings_share(const struct op_arena *arena, size_t processes);

#endif
