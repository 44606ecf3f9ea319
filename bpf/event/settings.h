/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The settings that user space chooses before it loads a program. Each object has its own
 * copy. */
#ifndef OP_SETTINGS_H
#define OP_SETTINGS_H

#include <bpf/bpf_helpers.h>

#include "op_types.h"

/* It has a section of its own, in which user space finds it in any object. */
const volatile struct op_settings op_settings SEC(".rodata.set") = {
	.max_frames = OP_FRAMES_MAX,
	.slots = 1,
};

#endif
