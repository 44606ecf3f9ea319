/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of one file by address: 12 bytes each; names stay in the file.
 *
 * A function covers [addr, addr + size). A function without a size (assembly) covers up
 * to the next one or the end of its section, at most OP_SYMBOL_GUESS_MAX; within a
 * function with a size it is a label and left out. Of several symbols at an address those
 * of the best class are kept; their names decide at a lookup which of them is used.
 */
#ifndef OP_CODE_SYMBOL_INDEX_H
#define OP_CODE_SYMBOL_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "code/elf/file.h"

/* Best first. */
enum op_names_source {
	OP_NAMES_SYMTAB,
	OP_NAMES_DEBUGFILE,
	OP_NAMES_MINIDEBUG,
	OP_NAMES_DYNSYM,
	OP_NAMES_MAX,
};

enum {
	/* Bits of op_symbol_entry.name. */
	OP_NAME_OFFSET_BITS = 29,
	OP_NAME_WEAK_SHIFT = 29,
	OP_NAME_SOURCE_SHIFT = 30,
	OP_NAME_OFFSET_MAX = (1 << OP_NAME_OFFSET_BITS) - 1,

	/* Of op_symbol_entry.size. */
	OP_SYMBOL_SIZE_MAX = INT32_MAX,
	/* Assumed length of code without a size and without a next symbol. */
	OP_SYMBOL_GUESS_MAX = 4096,

	/* Functions around an address that a lookup examines. */
	OP_SYMBOL_NESTING_MAX = 64,
};

#define OP_SYMBOL_SIZE_GUESSED (UINT32_C(1) << 31)

struct op_symbol_entry {
	uint32_t addr; /* relative to the index's base */
	/* at most OP_SYMBOL_SIZE_MAX; may have the bit OP_SYMBOL_SIZE_GUESSED */
	uint32_t size;
	uint32_t name; /* offset, weak flag, source */
};

/* A symbol while the index is built. */
struct op_symbol_raw {
	uint32_t addr;
	uint32_t size;
	uint32_t name;
	uint32_t class; /* lower is better */
};

struct op_code_range {
	uint64_t start;
	uint64_t end;
};

struct op_symbol_index {
	uint64_t base;
	struct op_symbol_entry *entries;
	size_t len;
};

struct op_symbol_index_builder {
	struct op_elf *elf; /* the file being read */
	enum op_names_source source;
	struct op_elf_symtab table;
	OP_VEC(struct op_code_range) code; /* executable sections, ascending */
	struct op_code_range without;	   /* addresses whose names come from elsewhere */
	OP_VEC(struct op_symbol_raw) raw;
	size_t limit; /* largest number of symbols */
};

/* Begin the index of @elf's code. Returns 0 or -ENOMEM. */
int op_symbol_index_begin(struct op_symbol_index_builder *b, struct op_elf *elf,
			  size_t limit_bytes);
/* The most bytes by which adding a table of @count entries enlarges the index, until it
 * is finished. */
uint64_t op_symbol_index_bytes(const struct op_symbol_index_builder *b, uint64_t count);
/* Add the functions of one symbol table. Returns how many; or -EFBIG past the limit or
 * -errno, and then none is added. */
int op_symbol_index_add_table(struct op_symbol_index_builder *b, struct op_elf *elf,
			      enum op_names_source source,
			      const struct op_elf_symtab *table);
/* Build the index from what was added and empty the builder. Cannot fail. */
void op_symbol_index_finish(struct op_symbol_index_builder *b,
			    struct op_symbol_index *ret);
void op_symbol_index_abort(struct op_symbol_index_builder *b);

/* Find the entries [*@ret_first, returned end) that share one address and cover @vaddr.
 * If both are equal, there are none. */
size_t op_symbol_index_lookup(const struct op_symbol_index *index, uint64_t vaddr,
			      size_t *ret_first);

/*
 * Sorts symbols in place. The C library's qsort() takes as much memory again as it
 * sorts, which for a large program is most of what reading its names takes.
 */

/* Sort by address, then by class, then by name. Takes no memory but a bounded stack. */
void op_symbol_sort(struct op_symbol_raw *raw, size_t len);

#endif
