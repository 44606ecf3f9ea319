/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What user space decides before it loads a program. Each object has its own copy. */
#ifndef OP_SETTINGS_H
#define OP_SETTINGS_H

#include <bpf/bpf_helpers.h>

#include "op_types.h"

/* A section of its own: user space finds it there whatever else an object holds. */
const volatile struct op_settings op_settings SEC(".rodata.set") = {
	.max_frames = OP_FRAMES_MAX,
	.slots = 1,
};

#endif
