/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* op_types.h for user space. */
#ifndef OP_USER_TYPES_H
#define OP_USER_TYPES_H

#include <linux/types.h>

#include "op_errors.h"
#include "op_types.h"

#endif
