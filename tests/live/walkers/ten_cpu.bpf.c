/* SPDX-License-Identifier: Apache-2.0 */
/* The entry that walks by itself, with ten runtimes: test_ten.c. */
#include "bpf/platform/kernel.h"

#include "op_errors.h"
#include "op_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "tests/live/walkers/ten_steps.h"

#include "bpf/event/kinds/cpu.bpf.c"
