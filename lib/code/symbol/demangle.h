/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Demangles C++ (Itanium) and Rust (legacy and v0) names, with libiberty. Names come from
 * foreign files: input, output, recursion and time are bounded, and a name beyond a bound
 * stays mangled.
 */
#ifndef OP_CODE_SYMBOL_DEMANGLE_H
#define OP_CODE_SYMBOL_DEMANGLE_H

enum op_mangling {
	OP_MANGLING_NONE,
	OP_MANGLING_CXX,
	OP_MANGLING_RUST,
};

/* The readable form of @name, or NULL if it is not mangled or too long. The caller frees
 * it. *@ret_mangling is set if the result is not NULL. */
char *op_demangle(const char *name, enum op_mangling *ret_mangling);

#endif
