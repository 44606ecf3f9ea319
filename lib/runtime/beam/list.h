/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modules that a BEAM process has loaded: its list for debuggers (GDB's JIT interface), and the
 * texts of those whose code was sampled.
 */
#ifndef OP_RUNTIME_BEAM_LIST_H
#define OP_RUNTIME_BEAM_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/vec.h"
#include "runtime/beam/module.h"
#include "runtime/objects.h"

enum {
	OP_BEAM_MODULES_MAX = 32768,   /* more are not known; a large system has 3,000 */
	OP_BEAM_READS_MAX = 2 * 32768, /* entries that are read in a window */
	/* bytes of a module's text; functions of a module with more have no names */
	OP_BEAM_TEXT_MAX = 4 << 20,
	OP_BEAM_TEXTS_MAX = 1024, /* modules whose text is kept */
	/* bytes of these texts, unless the last one is longer */
	OP_BEAM_TEXTS_BYTES = 8 << 20,
};

struct op_beam_entry {
	uint64_t addr;
	uint64_t file; /* address of the text, and its size */
	uint64_t size;
	uint32_t guard;		      /* op_beam_guard() */
	struct op_beam_module module; /* size 0: an entry without code */
};

struct op_beam_list {
	const struct op_memory *memory;
	uint64_t first; /* address of the pointer to the first entry */
	uint64_t exit;	/* of the emulator's own entry; 0: unknown */
	OP_VEC(struct op_beam_entry) entries; /* the oldest first */
	struct op_objects texts;
	uint32_t reads; /* of entries in this window */
	uint64_t cut;	/* how often a limit left out something */
};

/* Borrows @memory. */
void op_runtime_beam_list_init(struct op_beam_list *list, const struct op_memory *memory,
			       uint64_t first);
void op_runtime_beam_list_deinit(struct op_beam_list *list);

/* Read new entries. Returns 1 if there were any, 0, or -errno. */
int op_runtime_beam_list_read(struct op_beam_list *list);

/* Is there a module with code in [start, end)? */
bool op_runtime_beam_list_has(const struct op_beam_list *list, uint64_t start,
			      uint64_t end);

/*
 * Find the function at @addr when the entry with @guard was the newest. *@ret is valid until the
 * next call. Returns 0; -ENOENT if there is none; -EBADMSG; an error of reading; or -ENOMEM.
 */
int op_runtime_beam_list_find(struct op_beam_list *list, uint64_t addr, uint32_t guard,
			      struct op_beam_function *ret, bool *ret_fresh);

/* Find the function @name of the module that was loaded first, which has the code that
 * modules share. Returns as above. */
int op_runtime_beam_list_named(struct op_beam_list *list, const char *name,
			       struct op_beam_module *ret_module,
			       struct op_beam_function *ret);

#endif
