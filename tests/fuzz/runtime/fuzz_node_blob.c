/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file with V8's builtins. Input: a byte that says how long an entry of their table is; then
 * pieces {where u32, length u8, bytes} that are put over a file that is right.
 */
#include <stdlib.h>
#include <string.h>

#include "../../unit/runtime/node/blob_fake.h"
#include "runtime/node/blob.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct op_node_blob blob;
	struct op_elf *elf;
	uint8_t *file;

	if (!size)
		return 0;
	file = blob_make(3 + *data % 3, *data & 0x80 ? 32 : 64);
	for (data++, size--; size > 5;) {
		uint32_t at;
		size_t len = data[4] < size - 5 ? data[4] : size - 5;

		memcpy(&at, data, sizeof(at));
		at %= BLOB_BYTES - 256;
		memcpy(file + at, data + 5, len);
		data += 5 + len;
		size -= 5 + len;
	}
	if (op_elf_open_bytes(file, BLOB_BYTES, &elf)) {
		free(file);
		return 0;
	}
	if (op_runtime_node_blob(elf, true, &blob) == 1 &&
	    (blob.builtins_end <= blob.builtins ||
	     (blob.prologue &&
	      (blob.prologue < blob.builtins || blob.prologue_end > blob.builtins_end))))
		abort();
	op_elf_free(elf);
	return 0;
}
