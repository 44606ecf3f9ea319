/* SPDX-License-Identifier: Apache-2.0 */
/* The formats, one file each. A new format is declared here and listed in format.c. */
#ifndef OP_EXPORT_FORMAT_OPS_H
#define OP_EXPORT_FORMAT_OPS_H

#include "export/format/format.h"

extern const struct op_format op_format_folded;
extern const struct op_format op_format_html;
extern const struct op_format op_format_pprof;

#endif
