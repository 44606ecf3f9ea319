/* SPDX-License-Identifier: Apache-2.0 */
/* One format a file. A new one goes here and into format.c. */
#ifndef OP_FORMAT_OPS_H
#define OP_FORMAT_OPS_H

#include "format/format.h"

extern const struct op_format op_format_folded;
extern const struct op_format op_format_html;
extern const struct op_format op_format_pprof;

#endif
