/* SPDX-License-Identifier: Apache-2.0 */
/* The table of formats. The file exporter itself writes the OTLP format. */
#include "export/format/format.h"

#include "base/macros.h"
#include "export/format/ops.h"

const struct op_format *op_format_get(uint32_t format)
{
	static const struct op_format *const all[] = {
		&op_format_pprof,
		&op_format_folded,
		&op_format_html,
	};
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(all); i++) {
		if (all[i]->format == format)
			return all[i];
	}
	return NULL;
}

int op_format_collect(const struct op_format *f, struct op_collect **ret)
{
	struct op_collect *c = NULL;
	int r = op_collect_new(f->detail, &c);

	if (!r && f->timed)
		r = op_collect_keep_times(c);
	if (r)
		(void)op_collect_free(c);
	else
		*ret = c;
	return r;
}
