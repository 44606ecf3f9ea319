/* SPDX-License-Identifier: Apache-2.0 */
/* The sources of the rows of a table. */
#ifndef OP_CODE_UNWIND_SOURCE_H
#define OP_CODE_UNWIND_SOURCE_H

#include "base/log.h"
#include "code/dwarf/cfi.h"
#include "code/elf/file.h"
#include "code/unwind/arch.h"
#include "code/unwind/builder.h"

/* All sources of one file. */
struct op_source;

/*
 * Read the functions of @elf for @b. Both are borrowed. With @keep the rules also have
 * the place of the register from which CFAs in mid-stack are computed
 * (op_table.wants_kept). Returns 0 or -errno.
 */
int op_source_new(struct op_elf *elf, struct op_builder *b, bool keep, struct op_log *log,
		  struct op_source **ret);
struct op_source *op_source_free(struct op_source *s);
/* User memory in use, about. */
size_t op_source_bytes(const struct op_source *s);
/* Pass the functions to the builder and finish it. Returns 0; -EINPROGRESS when
 * @allowance (may be NULL) is used up; -ENOSPC, -ENOMEM or -errno. */
int op_source_read(struct op_source *s, struct op_allowance *allowance);

/* The function that turns rows of the frame information of @elf into rules. @keep is as
 * above. */
op_arch_rule_fn op_source_rule_fn(const struct op_elf *elf, bool keep);

/* Pass the functions of @cfi, the .eh_frame of @elf, in [@start, @end) to @b. Returns
 * as op_cfi_rows_between(). */
int op_source_between(struct op_elf *elf, struct op_cfi *cfi, struct op_builder *b,
		      uint64_t start, uint64_t end);

/* ---- one address ---- */

struct op_source_direct;

/* Returns 1 and *@ret; 0 if the file has no .eh_frame; -ENOMEM or -errno. @elf is
 * borrowed. */
int op_source_direct_new(struct op_elf *elf, struct op_source_direct **ret);
struct op_source_direct *op_source_direct_free(struct op_source_direct *direct);
OP_DEFINE_CLEANUP(struct op_source_direct *, op_source_direct_free)
/* Find the rule for @vaddr, as it will be in the table. Returns 1; 0 if neither an FDE
 * that can be searched for nor the linkage table covers it; or -errno. */
int op_source_direct_find(struct op_source_direct *direct, uint64_t vaddr,
			  struct op_unwind_rule *ret);

/* ---- Go ---- */

struct op_source_go;

/* Open the Go code of @elf, which is borrowed. Returns 1 and *@ret; 0 if there is none
 * that can be read; or -ENOMEM. */
int op_source_go_new(struct op_elf *elf, struct op_log *log, struct op_source_go **ret);
struct op_source_go *op_source_go_free(struct op_source_go *go);
OP_DEFINE_CLEANUP(struct op_source_go *, op_source_go_free)
/* ELF addresses [*@ret_start, *@ret_end) of the Go code. */
void op_source_go_range(const struct op_source_go *go, uint64_t *ret_start,
			uint64_t *ret_end);
/* Pass its functions to @b. Returns 0, -EINPROGRESS or -errno. */
int op_source_go_read(struct op_source_go *go, struct op_builder *b,
		      struct op_allowance *allowance);

/* ---- the procedure linkage table, where it has no frame information ---- */

struct op_source_plt {
	uint64_t start; /* ELF addresses */
	uint64_t end;	/* 0: it was read already */
	/* the first entry has pushed a register or word from here on; 0: there is no such
	 * entry */
	uint64_t pushed;
	bool x86;
	/* x86-64: offset in an entry after its push; 0: entries do not push */
	int32_t entry_pushed;
};

/* Find the linkage table of @elf. Returns whether it has one. */
bool op_source_plt_find(struct op_elf *elf, struct op_source_plt *ret);
/* The rules of the linkage table, each valid from its ELF address on. */
struct op_source_plt_rows {
	size_t len;
	struct {
		uint64_t pc;
		struct op_unwind_rule rule;
	} row[3];
};
struct op_source_plt_rows op_source_plt_rows(const struct op_source_plt *plt);
/* Pass its rows to @b. Returns 0 or -errno. */
int op_source_plt_read(const struct op_source_plt *plt, struct op_builder *b);

/* ---- code that nothing describes ---- */

enum {
	OP_SOURCE_CODE_BYTES_MAX = 512 << 20, /* bytes of code read in one file */
};

struct op_heights;

struct op_source_code {
	struct op_elf *elf;	    /* borrowed */
	uint64_t left;		    /* bytes that may still be read */
	struct op_heights *heights; /* of the gap that is being read, or NULL */
	uint64_t start;		    /* its ELF address */
	bool keep;
	struct op_allowance *allowance; /* of the running call; NULL: no limit */
};

/* Let @b make the rules of gaps from their instructions, as long as @code and @elf
 * exist. @keep is as above. */
void op_source_code_use(struct op_source_code *code, struct op_elf *elf,
			struct op_builder *b, bool keep);
void op_source_code_deinit(struct op_source_code *code);

/* ---- the vDSO ---- */

/* If @elf is aarch64's vDSO, pass the functions that its frame information lacks to @b.
 * Call this after all other sources. Returns 0, -ENOSPC or -ENOMEM. */
int op_source_vdso_read(struct op_elf *elf, struct op_builder *b);

#endif
