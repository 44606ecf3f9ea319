/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call frame information (.eh_frame of the LSB and the GNU tools, .debug_frame of DWARF
 * 2 to 5) as rows. From a pc on, a row describes how to find the CFA, the caller's
 * frame pointer and the return address. At most one other register is followed.
 *
 * FDEs come in ascending order of their first address, whatever their order in the
 * file, and take bounded memory. A record that cannot be read affects only its own
 * addresses.
 */
#ifndef OP_CODE_DWARF_CFI_H
#define OP_CODE_DWARF_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/allowance.h"
#include "base/cleanup.h"
#include "code/elf/file.h"

enum op_cfi_kind {
	OP_CFI_EH_FRAME = 0,
	OP_CFI_DEBUG_FRAME = 1,
};

enum {
	OP_CFI_REMEMBER_MAX = 64,      /* nested DW_CFA_remember_state */
	OP_CFI_CIES_KEPT = 64,	       /* in the cache */
	OP_CFI_ORDER_MAX = 1 << 17,    /* FDEs sorted in one round (2 MiB) */
	OP_CFI_INFLATED_MAX = 1 << 22, /* bytes of a compressed .debug_frame */
};

/* Where a value is. The names r, off and add are those of the members of struct
 * op_cfi_value. */
enum op_cfi_how {
	OP_CFI_UNSET = 0,     /* no instruction: the ABI's default */
	OP_CFI_SAME = 1,      /* unchanged in this frame */
	OP_CFI_UNDEFINED = 2, /* lost */
	OP_CFI_AT_CFA = 3,    /* *(CFA + off) */
	OP_CFI_IS_CFA = 4,    /* CFA + off */
	OP_CFI_IS_REG = 5,    /* r + off */
	OP_CFI_AT_REG = 6,    /* *(r + off) + add */
	OP_CFI_PLT = 7,	      /* CFA of .plt: sp + off + ((pc & 15) >= add ? 8 : 0) */
	OP_CFI_COMPLEX = 8,   /* an expression of any other form */
};

struct op_cfi_value {
	uint16_t how; /* enum op_cfi_how */
	uint16_t reg; /* DWARF number */
	int64_t off;
	int64_t add;
};

struct op_cfi_state {
	struct op_cfi_value cfa; /* IS_REG, AT_REG, PLT, UNSET or COMPLEX */
	struct op_cfi_value fp;
	struct op_cfi_value ra;
	struct op_cfi_value sp;	  /* UNSET: sp is the CFA */
	struct op_cfi_value kept; /* the register of op_cfi_keep() */
	/* the last offset from a register; kept while the CFA is an expression */
	int64_t cfa_off;
};

struct op_cfi_fde {
	uint64_t start; /* ELF addresses [start, end) */
	uint64_t end;
	uint64_t off; /* offset of the record in its section */
	bool signal;  /* a signal trampoline: augmentation 'S' */
};

/* Callbacks. Both return 0 or more to go on, or a negative value that ends the walk. */
struct op_cfi_sink {
	void *data;
	/* An FDE begins. Returns 1 if its rows are wanted. */
	int (*fde)(void *data, const struct op_cfi_fde *fde);
	/*
	 * @state holds from @pc on. The pcs of an FDE never descend; of several rows at
	 * one pc the last one counts. A NULL @state: the rest of the FDE cannot be read.
	 * @moved: the row differs from the one before only in the CFA's offset.
	 */
	int (*row)(void *data, const struct op_cfi_fde *fde, uint64_t pc,
		   const struct op_cfi_state *state, bool moved);
};

struct op_cfi_stats {
	uint64_t fdes; /* all FDEs, including bad ones */
	/* FDEs with a bad CIE, or unreadable as a whole or from some pc on */
	uint64_t bad_fdes;
	uint64_t bad_cies;
	/* 0 or -errno: after that error the second section was left out */
	int more_error;
};

struct op_cfi;

/* Open the call frame information of @elf, which is borrowed. Returns 1 and *@ret; 0 if
 * there is none; or -errno. Without a section .eh_frame its segment is used. */
int op_cfi_new(struct op_elf *elf, enum op_cfi_kind kind, struct op_cfi **ret);
/* The same for a section's bytes in memory, which are borrowed. @machine: EM_*. */
int op_cfi_new_bytes(const void *bytes, size_t len, uint64_t addr, enum op_cfi_kind kind,
		     uint16_t machine, struct op_cfi **ret);
struct op_cfi *op_cfi_free(struct op_cfi *cfi);
OP_DEFINE_CLEANUP(struct op_cfi *, op_cfi_free)

/* Follow register @reg, too (state.kept). Call this before anything is read. */
void op_cfi_keep(struct op_cfi *cfi, uint16_t reg);

struct op_cfi_walk;

/*
 * Begin a walk over two sections. An FDE of @more is given for those of its addresses
 * that no FDE of @cfi covers, in one or several pieces. @cfi or @more may be NULL. An
 * error of reading @more is reported in the stats and does not end the walk. Both are
 * borrowed. Returns 0 or -ENOMEM.
 */
int op_cfi_walk_new(struct op_cfi *cfi, struct op_cfi *more, struct op_cfi_walk **ret);
struct op_cfi_walk *op_cfi_walk_free(struct op_cfi_walk *walk);
OP_DEFINE_CLEANUP(struct op_cfi_walk *, op_cfi_walk_free)
/* User memory in use, with that of the sections. */
size_t op_cfi_walk_bytes(const struct op_cfi_walk *walk);
/*
 * Give the next FDEs to @sink. Returns 0 and *@ret_stats at the end; -EINPROGRESS when
 * @allowance is over, or when the sink's fde() returned that (it is called again with the
 * same FDE then); -errno of reading; or the sink's negative value.
 */
int op_cfi_walk_on(struct op_cfi_walk *walk, const struct op_cfi_sink *sink,
		   struct op_allowance *allowance, struct op_cfi_stats *ret_stats);

/*
 * Give @sink the FDE that the search table of .eh_frame_hdr has for @vaddr, with all its
 * rows. This takes some microseconds. An FDE with more than @program_max bytes of
 * instructions is left out. Returns 1; 0 if there is no such FDE or no table; -errno; or
 * the sink's negative value.
 */
int op_cfi_rows_at(struct op_cfi *cfi, uint64_t vaddr, size_t program_max,
		   const struct op_cfi_sink *sink);

/*
 * Give @sink the FDEs that the search table of .eh_frame_hdr has for [@start, @end), cut to
 * that range, in ascending order. @fdes_max and @program_max bound their number and the bytes
 * of their instructions. Returns 1; 0 if there is no table; -E2BIG past a bound; -EBADMSG if
 * the table is out of order or an FDE cannot be read; -errno; or the sink's negative value.
 */
int op_cfi_rows_between(struct op_cfi *cfi, uint64_t start, uint64_t end, size_t fdes_max,
			size_t program_max, const struct op_cfi_sink *sink);

#endif
