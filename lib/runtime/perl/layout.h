/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of Perl's interpreter and objects: perl.layout has a section for each version. */
#ifndef OP_RUNTIME_PERL_LAYOUT_H
#define OP_RUNTIME_PERL_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/layouts.h"

/* Offsets in bytes. perl.layout explains each. */
struct op_perl_layout {
	uint16_t curcop;
	uint16_t stackinfo;
	uint16_t top_env;
	uint8_t si_type;
	uint8_t cx_bytes;
	uint8_t cx_cv;
	uint8_t cx_sub;
	uint8_t hash_aux;
};

extern const struct op_layouts_schema op_runtime_perl_layouts;

/* The text of perl.layout. */
extern const unsigned char op_runtime_perl_layout_text[];
extern const size_t op_runtime_perl_layout_text_len;

#endif
