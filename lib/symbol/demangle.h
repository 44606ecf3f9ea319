/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C++ (Itanium) and Rust (legacy and v0) names to what their authors wrote; libiberty.
 * Names come from other people's files: input, output, recursion and time are bounded, and
 * a name past a bound stays as it is.
 */
#ifndef OP_SYMBOL_DEMANGLE_H
#define OP_SYMBOL_DEMANGLE_H

enum op_mangling {
	OP_MANGLING_NONE,
	OP_MANGLING_CXX,
	OP_MANGLING_RUST,
};

/* The readable form of @name, or NULL where it is not mangled or too long. Caller frees. */
char *op_demangle(const char *name);
/* As above; *@ret_mangling is set where the result is not NULL. */
char *op_demangle_kind(const char *name, enum op_mangling *ret_mangling);

#endif
