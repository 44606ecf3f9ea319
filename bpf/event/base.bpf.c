/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The object that is always loaded: all maps that objects share, and the programs op_exec
 * and op_fork, which keep the map of processes up to date. */
#include "bpf/platform/kernel.h"

#include "op_errors.h"
#include "op_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/event/exec.h"
#include "bpf/walk/unwind.h"

char op_license[] SEC("license") = "Dual BSD/GPL";
