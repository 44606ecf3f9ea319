/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executable mappings of a process, sorted by address and without overlaps. The list
 * is reference-counted. A list with several holders, or one that was written to the
 * arena, stays as it is: op_mappings_own() gives its holder a copy.
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
	/* While all processes together have more mappings than this, one keeps no more than
	 * OP_MAPPINGS_EACH. */
	OP_MAPPINGS_ALL = 1 << 18,
	OP_MAPPINGS_EACH = 1024,
	/* A table of so many is written to the arena in any case. */
	OP_MAPPINGS_LEAST = 128,
};

struct op_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset;	   /* offset in the file */
	struct op_executable *exe; /* a counted reference; NULL: no file */
	struct op_claim claim;	   /* on exe */
	uint64_t bias;		   /* process address - ELF address, as published */
	uint64_t room;	/* as published: bytes below `start` that belong to it, too */
	uint64_t above; /* the same from `end` on */
	op_ref segment; /* as published, 0: none */
	uint32_t flags; /* OP_MAPPING_*, as published */
	bool writable;	/* the process may write there */
	bool replaced;	/* another file was mapped at this address before */
};

struct op_mappings {
	uint32_t refs;
	size_t len;
	size_t cap;
	struct op_mapping *vma;
	uint64_t refused; /* mappings past OP_MAPPINGS_MAX or OP_MAPPINGS_EACH */
	bool full;	  /* there are so many, and all have files */
	op_ref block; /* its block in the arena: starts, mappings, marks; 0: not written */
	size_t block_bytes;
	uint32_t written; /* mappings in the block */
	op_ref marks;	  /* in the block */
	uint32_t mark_count;
	/* the table of a file could not be made: it is walked by frame pointers for
	 * now */
	bool fallback;
};

int op_mappings_new(struct op_mappings **ret);
struct op_mappings *op_mappings_ref(struct op_mappings *mappings);
/* Drop a reference. With the last one its arena block is released and its executables are
 * dropped. */
void op_mappings_put(struct op_mappings *mappings, struct op_executables *x,
		     uint64_t now_ns);

/* Make *@mappings one that has no other holder and is not written to the arena, by a copy
 * if needed. Returns 0 or -ENOMEM. */
int op_mappings_own(struct op_mappings **mappings, struct op_executables *x,
		    uint64_t now_ns);

/* Is @vma there already? Yes if the same mapping is there or, without a file, one
 * without a file that contains it: then op_mappings_insert() would change nothing. */
bool op_mappings_has(const struct op_mappings *mappings, const struct op_mapping *vma);
/* Map @vma in place of what was mapped there; a reference to its exe is taken. Memory between two
 * mappings of a file, where the file's code was, becomes that file's. @mappings must be one of
 * op_mappings_own(). Returns 0, -ENOMEM, or -E2BIG at OP_MAPPINGS_MAX or OP_MAPPINGS_EACH. */
int op_mappings_insert(struct op_mappings *mappings, const struct op_mapping *vma,
		       struct op_executables *x);

/* Would @vma take the place of something else: of another file, of another part of its file, or of
 * memory without one? */
bool op_mappings_replaces(const struct op_mappings *mappings,
			  const struct op_mapping *vma);

/* The mapping that holds @addr, or NULL. */
struct op_mapping *op_mappings_find(const struct op_mappings *mappings, uint64_t addr);
/* The same, or the mapping whose room holds @addr. */
struct op_mapping *op_mappings_find_room(const struct op_mappings *mappings,
					 uint64_t addr);
/* Is @pc, or the call before it, in a mapping or its room? */
bool op_mappings_has_pc(const struct op_mappings *mappings, uint64_t pc);

/* The first mapping of a file whose base name begins with @prefix, or NULL. */
const struct op_mapping *op_mappings_find_named(const struct op_mappings *mappings,
						const char *prefix);
/* The first mapping of a file with that image, or NULL. */
const struct op_mapping *op_mappings_find_image(const struct op_mappings *mappings,
						const struct op_image *image);

/* Must its file be compared before what is known of vma->exe is used? */
bool op_mapping_is_doubted(const struct op_mapping *vma);
/* Are @a and @b of one file, at one place? The ends may differ: a file whose first segment is code is
 * mapped whole, and then its data over the rest. */
bool op_mapping_is_same(const struct op_mapping *a, const struct op_mapping *b);
/* Is it memory without an ELF file, so that the process made the code? */
bool op_mapping_is_made(const struct op_mapping *vma);
/* A checksum of such mappings, which changes when one comes or goes. */
uint64_t op_mappings_made_sum(const struct op_mappings *mappings);

/* The pages of all that the process may not write to (struct op_process.code_pages), without files
 * that were mapped after @time_ns. */
uint64_t op_mappings_code_pages(const struct op_mappings *mappings, uint64_t time_ns);
/* Have @before, which has a table there, and @now copies of one file at @addr? Whoever forges build ids
 * misleads the stacks of his own processes. */
bool op_mappings_are_copies(const struct op_mappings *before,
			    const struct op_mappings *now, uint64_t addr);
/* Until when @mappings had what their program was started with: files of later may go again. */
uint64_t op_mappings_start_ns(const struct op_mappings *mappings);
/* A checksum of the mappings of files. */
uint64_t op_mappings_files_sum(const struct op_mappings *mappings);
/*
 * Write starts and mappings to the arena if that was not done yet. Tables with more than
 * @share mappings take half of the arena at most: of one that does not fit into that half,
 * @share mappings are written, the first of each file before others. Returns 0 or -errno.
 */
int op_mappings_write(struct op_mappings *mappings, struct op_arena *arena, size_t share);
/* Would op_mappings_write() write more than it did? */
bool op_mappings_may_grow(const struct op_mappings *mappings,
			  const struct op_arena *arena);
/* The share of each of @processes. */
size_t op_mappings_share(const struct op_arena *arena, size_t processes);

#endif
