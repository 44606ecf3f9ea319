/* SPDX-License-Identifier: Apache-2.0 */
#include "otlp/kinds.h"

#include "base/macros.h"
#include "op_user_types.h"

static const struct op_otlp_kind ROWS[] = {
	{ OP_EVENT_CPU, OP_OTLP_TIMES, "samples", "count", OP_OTLP_PERIOD_WINDOW, "cpu",
	  "nanoseconds" },
};

const struct op_otlp_kinds op_otlp_kinds = { ROWS, OP_ARRAY_SIZE(ROWS) };
