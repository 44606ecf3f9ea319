/* SPDX-License-Identifier: Apache-2.0 */
/* Reading PHP's strings from a process's memory. */
#ifndef OP_RUNTIME_PHP_TEXT_H
#define OP_RUNTIME_PHP_TEXT_H

#include <stdint.h>

#include "base/memory.h"
#include "base/strbuf.h"

/* Append the text of the zend_string at @addr, up to OP_PHP_TEXT_MAX bytes or its first NUL
 * (behind that of an anonymous class's name stands where it was made). Returns 0; -EBADMSG
 * where it is no string, or one whose op_php_string_guard() is not @guard (below 0: any); the
 * error of reading; -ENOMEM. */
int op_runtime_php_string(const struct op_memory *memory, uint64_t addr, int guard,
			  struct op_strbuf *to);

#endif
