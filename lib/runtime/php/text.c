/* SPDX-License-Identifier: Apache-2.0 */
/* Reads zend_strings from a process's memory. */
#include "runtime/php/text.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "base/reader.h"
#include "runtime/php/function.h"
#include "runtime/php/layout.h"

#include "op_user_types.h"

#include "op_php.h"

enum {
	TYPE_STRING = 6,
	/* mask of the type word; flags and the collector's bits are above */
	TYPE_MASK = 0xf,
	CHUNK_BYTES = 256,
};

int op_runtime_php_string(const struct op_memory *memory, uint64_t addr,
			  struct op_strbuf *to)
{
	uint8_t bytes[CHUNK_BYTES];
	struct op_reader r = op_reader_init(bytes, OP_PHP_STRING_TEXT);
	uint64_t length;
	int error = op_memory_read(memory, addr, bytes, OP_PHP_STRING_TEXT);

	if (error < 0)
		return error;
	op_reader_seek(&r, OP_PHP_STRING_TYPE);
	if ((op_read_u32(&r) & TYPE_MASK) != TYPE_STRING)
		return -EBADMSG;
	op_reader_seek(&r, OP_PHP_STRING_LENGTH);
	length = op_read_u64(&r);
	if (length > UINT32_MAX)
		return -EBADMSG;
	addr += OP_PHP_STRING_TEXT;
	for (length = OP_MIN(length, (uint64_t)OP_PHP_TEXT_MAX); length;) {
		size_t n = OP_MIN(length, sizeof(bytes));
		const uint8_t *end;

		error = op_memory_read(memory, addr, bytes, n);
		if (error < 0)
			return error;
		end = memchr(bytes, 0, n);
		op_strbuf_add(to, bytes, end ? (size_t)(end - bytes) : n);
		if (end)
			break;
		addr += n;
		length -= n;
	}
	return to->failed ? -ENOMEM : 0;
}
