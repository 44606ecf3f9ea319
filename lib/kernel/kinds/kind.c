/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of kinds of events. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kernel/kinds/kind.h"
#include "otelprof/config.h"

static const struct op_kind *const KINDS[OP_KINDS] = {
#define OP_KIND(number, upper, lower, page, tells) [number] = &op_kind_##lower,
#include "op_kinds.def"
};

static const char *const NAMES[OP_KINDS] = {
#define OP_KIND(number, upper, lower, page, tells) [number] = #lower,
#include "op_kinds.def"
};

const struct op_kind *const *op_kinds(void)
{
	return KINDS;
}

const struct op_kind *op_kind_of(uint32_t event)
{
	return event < OP_KINDS ? KINDS[event] : NULL;
}

const char *op_kind_name(const struct op_kind *kind)
{
	return NAMES[kind->event];
}

uint64_t op_kinds_with(uint64_t kinds, uint64_t flags)
{
	uint64_t all = kinds;
	uint32_t i;

	for (i = 0; i < OP_KINDS; i++)
		if (kinds >> i & 1)
			all |= KINDS[i]->with;
	return flags & OTELPROF_IDLE ? all : all & ~(UINT64_C(1) << OP_EVENT_IDLE);
}

void op_kind_unattached(const struct op_kind *kind, size_t i, int error,
			char ret[static OP_KIND_SENTENCE_BYTES])
{
	const struct op_kind_hook *hook = &kind->hooks[i];

	if (error == -ENOENT && hook->needs)
		(void)snprintf(ret, OP_KIND_SENTENCE_BYTES, "the kind %s needs %s",
			       op_kind_name(kind), hook->needs);
	else if (error == -ENOENT)
		(void)snprintf(
			ret, OP_KIND_SENTENCE_BYTES,
			"the kind %s needs the tracepoint %s, which this kernel lacks",
			op_kind_name(kind), hook->tracepoint);
	else
		(void)snprintf(
			ret, OP_KIND_SENTENCE_BYTES,
			"the kind %s could not be attached to the tracepoint %s: %s",
			op_kind_name(kind), hook->tracepoint, strerror(-error));
}
