/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is loaded whatever is profiled: all maps, which the other objects share, and the
 * program that forgets a process which executes another file. */
#include "bpf/platform/kernel.h"

#include "op_errors.h"
#include "op_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/event/exec.h"
#include "bpf/walk/unwind.h"

char op_license[] SEC("license") = "Dual BSD/GPL";
