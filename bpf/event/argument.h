/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads an argument of a probe. */
#ifndef OP_EVENT_ARGUMENT_H
#define OP_EVENT_ARGUMENT_H

#include <bpf/bpf_helpers.h>

#include "bpf/event/settings.h"

/* Read the value that op_settings.argument[@i] describes, with the registers at
 * @registers. */
static __always_inline __u64 op_argument_read(__u64 registers, __u32 i)
{
	const volatile struct op_argument *a = &op_settings.argument[i];
	__u32 unused_bits = 64 - 8 * (__u32)a->bytes;
	__u64 at = registers + a->reg;
	__u64 value = 0;

	if (a->place == OP_ARGUMENT_CONSTANT)
		return (__u64)a->offset;
	if (bpf_probe_read_kernel(&value, sizeof(value), (void *)at))
		return 0;
	if (a->place == OP_ARGUMENT_MEMORY) {
		at = value + (__u64)a->offset;
		value = 0;
		if (a->bytes <= 1)
			bpf_probe_read_user(&value, 1, (void *)at);
		else if (a->bytes <= 2)
			bpf_probe_read_user(&value, 2, (void *)at);
		else if (a->bytes <= 4)
			bpf_probe_read_user(&value, 4, (void *)at);
		else
			bpf_probe_read_user(&value, 8, (void *)at);
	}
	value <<= unused_bits;
	return a->is_signed ? (__u64)((__s64)value >> unused_bits) : value >> unused_bits;
}

#endif
