/* SPDX-License-Identifier: Apache-2.0 */
/* C++ (Itanium) and Rust (legacy and v0) names to what their authors wrote; libiberty. */
#ifndef OP_SYMBOL_DEMANGLE_H
#define OP_SYMBOL_DEMANGLE_H

/* The readable form of @name, or NULL where it is not mangled or too long. Caller frees. */
char *op_demangle(const char *name);

#endif
