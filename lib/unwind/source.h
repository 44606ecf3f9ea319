/* SPDX-License-Identifier: Apache-2.0 */
/* Where the rows of a table come from. */
#ifndef OP_UNWIND_SOURCE_H
#define OP_UNWIND_SOURCE_H

#include "base/log.h"
#include "elf/file.h"
#include "unwind/arch.h"
#include "unwind/builder.h"

/* All that a file tells of its functions. */
struct op_source;

/*
 * The functions of @elf for @b, which are both borrowed. With @keep the rules say where the
 * register is that some CFA in mid-stack is found by (op_table.wants_kept). 0 or -errno.
 */
int op_source_new(struct op_elf *elf, struct op_builder *b, bool keep, struct op_log *log,
		  struct op_source **ret);
struct op_source *op_source_free(struct op_source *s);
/* Give them to the builder and finish it. 0; -EINPROGRESS when @slice (may be NULL) is over;
 * -ENOSPC, -ENOMEM, -errno. */
int op_source_read(struct op_source *s, struct op_slice *slice);

/* How a row of @elf's frame information becomes a rule. @keep: as above. */
op_arch_rule_fn op_source_rule_fn(const struct op_elf *elf, bool keep);

/* ---- one address ---- */

struct op_source_direct;

/* Returns 1 and *@ret; 0: the file has no .eh_frame; -ENOMEM, -errno. @elf is borrowed. */
int op_source_direct_new(struct op_elf *elf, struct op_source_direct **ret);
struct op_source_direct *op_source_direct_free(struct op_source_direct *direct);
OP_DEFINE_CLEANUP(struct op_source_direct *, op_source_direct_free)
/* The rule at @vaddr, as the table will have it. Returns 1; 0 where neither an FDE that can
 * be searched for covers it nor the linkage table; -errno. */
int op_source_direct_find(struct op_source_direct *direct, uint64_t vaddr,
			  struct op_rule *ret);

/* ---- Go ---- */

struct op_source_go;

/* The Go code of @elf, which is borrowed. Returns 1 and *@ret; 0: it has none that can be
 * read; -ENOMEM. */
int op_source_go_new(struct op_elf *elf, struct op_log *log, struct op_source_go **ret);
struct op_source_go *op_source_go_free(struct op_source_go *go);
OP_DEFINE_CLEANUP(struct op_source_go *, op_source_go_free)
/* ELF addresses [*@ret_start, *@ret_end) of the Go code. */
void op_source_go_range(const struct op_source_go *go, uint64_t *ret_start,
			uint64_t *ret_end);
/* Give @b its functions. 0, -EINPROGRESS or -errno. */
int op_source_go_read(struct op_source_go *go, struct op_builder *b,
		      struct op_slice *slice);

/* ---- the procedure linkage table, where it has no frame information ---- */

struct op_source_plt {
	uint64_t start; /* ELF addresses */
	uint64_t end;	/* 0: it was read */
	uint64_t
		pushed; /* from here on the first entry has pushed lr; 0: there is none */
	bool x86;
	int32_t entry_pushed; /* x86-64: so far into an entry something is pushed; 0: never */
};

/* Returns whether @elf has one. */
bool op_source_plt_find(struct op_elf *elf, struct op_source_plt *ret);
/* Its rules: each holds from its ELF address on. */
struct op_source_plt_rows {
	size_t len;
	struct {
		uint64_t pc;
		struct op_rule rule;
	} row[3];
};
struct op_source_plt_rows op_source_plt_rows(const struct op_source_plt *plt);
/* Give @b its rows. 0 or -errno. */
int op_source_plt_read(const struct op_source_plt *plt, struct op_builder *b);

/* ---- code that nothing describes ---- */

enum {
	OP_SOURCE_CODE_BYTES_MAX = 4 << 20, /* of a file */
};

struct op_heights;

struct op_source_code {
	struct op_elf *elf; /* borrowed */
	uint64_t left;	    /* bytes that may be read still */
	/* the gap that is being read, until it ends */
	struct op_heights *heights;
	uint8_t *bytes;
	struct op_slice *slice; /* of the work now; NULL: no end */
};

/* Let @b have the rules of gaps from their instructions, while @code and @elf are there. */
void op_source_code_use(struct op_source_code *code, struct op_elf *elf,
			struct op_builder *b);
void op_source_code_deinit(struct op_source_code *code);

/* ---- the vDSO ---- */

/* Give @b what frame information leaves out, where @elf is aarch64's vDSO. After all other
 * sources. 0, -ENOSPC, -ENOMEM. */
int op_source_vdso_read(struct op_elf *elf, struct op_builder *b);

#endif
