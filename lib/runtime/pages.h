/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages of foreign memory that are kept while much is read of a few of them: a read of a live
 * process costs two system calls. What is kept is of one moment, so this lives as long as one
 * look at the process.
 */
#ifndef OP_RUNTIME_PAGES_H
#define OP_RUNTIME_PAGES_H

#include "base/cleanup.h"
#include "base/memory.h"

struct op_pages;

/* Borrows @memory. Returns 0 or -ENOMEM. */
int op_pages_new(const struct op_memory *memory, struct op_pages **ret);
struct op_pages *op_pages_free(struct op_pages *pages);
OP_DEFINE_CLEANUP(struct op_pages *, op_pages_free)
/* The same memory, through the pages. Borrowed. */
const struct op_memory *op_pages_memory(struct op_pages *pages);

#endif
