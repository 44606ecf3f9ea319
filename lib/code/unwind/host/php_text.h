/* SPDX-License-Identifier: Apache-2.0 */
/* Identity of the texts of PHP's strings, for the step and for the readers of
 * functions. */
#ifndef OP_CODE_UNWIND_HOST_PHP_TEXT_H
#define OP_CODE_UNWIND_HOST_PHP_TEXT_H

#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "op_user_types.h"

#include "op_php.h"

/* Identity of the zend_string at @addr. 0: there is none, or it cannot be read. */
static inline uint32_t op_php_text_read(const struct op_memory *memory, uint64_t addr)
{
	__u64 word[OP_PHP_TEXT_WORDS] = { 0 };

	if (!addr || op_memory_read(memory, addr + OP_PHP_STRING_HASH, word,
				    2 * sizeof(*word)) < 0)
		return 0;
	if (!word[0] && op_memory_read(memory, op_php_text_at(addr, word[1]), word + 2,
				       OP_PHP_TEXT_BYTES) < 0)
		memset(word + 2, 0, OP_PHP_TEXT_BYTES);
	return op_php_text_id(word);
}

#endif
