/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of kernel addresses from /proc/kallsyms, with modules and BPF programs. If the
 * addresses are hidden (kptr_restrict, lockdown), nothing is found, and a warning is
 * logged once.
 */
#ifndef OP_CODE_SYMBOL_KERNEL_H
#define OP_CODE_SYMBOL_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/log.h"

struct op_kernel_symbols;

struct op_kernel_symbol {
	const char *name;      /* "" if unknown */
	const char *module;    /* "vmlinux", a module's name, or "bpf" */
	const char *build_id;  /* GNU build id of the kernel or module in hex, or "" */
	uint64_t module_start; /* lowest text address of the module; 0: unknown */
	uint64_t start;	       /* of the function */
};

/* Reads nothing yet: the table is loaded at the first find. */
int op_kernel_symbols_new(const char *procfs_root, const char *sysfs_root,
			  struct op_log *log, struct op_kernel_symbols **ret);
struct op_kernel_symbols *op_kernel_symbols_free(struct op_kernel_symbols *k);
OP_DEFINE_CLEANUP(struct op_kernel_symbols *, op_kernel_symbols_free)

/* Returns 1 and *@ret (strings valid until the next call), or 0 if nothing is known. */
int op_kernel_symbols_find(struct op_kernel_symbols *k, uint64_t addr,
			   struct op_kernel_symbol *ret);
/* Load the table now if it is not loaded: it takes some 30 ms. */
void op_kernel_symbols_load(struct op_kernel_symbols *k);
/* A module or BPF program came or went: the table is read again at the next miss, at most once
 * a second. */
void op_kernel_symbols_stale(struct op_kernel_symbols *k);
size_t op_kernel_symbols_bytes(const struct op_kernel_symbols *k);

#endif
