/* SPDX-License-Identifier: Apache-2.0 */
/* Reads PHP's strings from a process's memory. */
#ifndef OP_RUNTIME_PHP_TEXT_H
#define OP_RUNTIME_PHP_TEXT_H

#include <stdint.h>

#include "base/memory.h"
#include "base/strbuf.h"

/*
 * Append the text of the zend_string at @addr, up to OP_PHP_TEXT_MAX bytes or its first
 * NUL (in the name of an anonymous class, its origin follows the NUL). Returns 0;
 * -EBADMSG if it is not a string; an error of reading; -ENOMEM.
 */
int op_runtime_php_string(const struct op_memory *memory, uint64_t addr,
			  struct op_strbuf *to);

#endif
