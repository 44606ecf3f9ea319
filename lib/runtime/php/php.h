/* SPDX-License-Identifier: Apache-2.0 */
/* PHP, in builds without thread safety (NTS). */
#ifndef OP_RUNTIME_PHP_PHP_H
#define OP_RUNTIME_PHP_PHP_H

#include "runtime/runtime.h"

extern const struct op_runtime_ops op_runtime_php;

#endif
