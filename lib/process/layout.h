/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is mapped where in a process: its executable mappings, sorted, none over another.
 * Counted; one that more than one holder has, or that is in the arena, does not change:
 * op_layout_own() gives its holder a copy.
 */
#ifndef OP_PROCESS_LAYOUT_H
#define OP_PROCESS_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "op_user_types.h"

struct op_arena;
struct op_executable;
struct op_executables;

struct op_vma {
	uint64_t start;
	uint64_t end;
	uint64_t offset;	   /* in the file */
	struct op_executable *exe; /* a reference; NULL: no file */
	uint64_t bias;		   /* process address - ELF address, as published */
	uint64_t room;	/* as published: bytes below start that are its own, too */
	op_ref segment; /* as published, 0: none */
	uint32_t flags; /* OP_MAPPING_*, as published */
	bool replaced;	/* another file was mapped here before */
};

struct op_layout {
	uint32_t refs;
	size_t len;
	size_t cap;
	struct op_vma *vma;
	uint64_t refused; /* mappings past OP_MAPPINGS_MAX */
	op_ref block;	  /* in the arena: starts, then mappings; 0: not written */
	size_t block_bytes;
	bool fallback; /* a file's table could not be had: frame pointers, for now */
};

int op_layout_new(struct op_layout **ret);
struct op_layout *op_layout_ref(struct op_layout *layout);
/* Drop a reference; the last one gives back its arena block and its executables. */
void op_layout_put(struct op_layout *layout, struct op_executables *x, uint64_t now_ns);

/* Make *@layout one that its holder alone has and that is not written. 0 or -ENOMEM. */
int op_layout_own(struct op_layout **layout, struct op_executables *x, uint64_t now_ns);

/*
 * Would op_layout_insert() of @vma change anything? No where the same mapping, or memory
 * without a file around all of it, is there.
 */
bool op_layout_has(const struct op_layout *layout, const struct op_vma *vma);
/*
 * Map @vma (its exe: borrowed, a reference is taken), in place of what was there. @layout
 * is owned. Returns 0, -ENOMEM, or -E2BIG at OP_MAPPINGS_MAX.
 */
int op_layout_insert(struct op_layout *layout, const struct op_vma *vma,
		     struct op_executables *x);

/* The mapping that holds @addr, or NULL. */
struct op_vma *op_layout_find(const struct op_layout *layout, uint64_t addr);
/* That, or the one in whose room @addr is. */
struct op_vma *op_layout_find_room(const struct op_layout *layout, uint64_t addr);

/* Write starts and mappings to the arena where that is not done. 0 or -errno. */
int op_layout_write(struct op_layout *layout, struct op_arena *arena);

#endif
