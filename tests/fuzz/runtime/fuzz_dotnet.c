/* SPDX-License-Identifier: Apache-2.0 */
/* Images of .NET of any bytes: headers, metadata, names, entries, unwind data. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "input.h"
#include "runtime/dotnet/elf.h"
#include "runtime/dotnet/entries.h"
#include "runtime/dotnet/metadata.h"
#include "runtime/dotnet/pe.h"

enum {
	TRIES = 16,
	HEAD = 4,
};

static void try_names(const struct op_memory *memory, uint64_t at, uint32_t size)
{
	struct op_dotnet_metadata m;
	struct op_strbuf name = { 0 };
	uint32_t i;

	if (op_runtime_dotnet_metadata(memory, at, size, &m) < 0)
		return;
	for (i = 0; i < TRIES; i++) {
		op_strbuf_reset(&name);
		(void)op_runtime_dotnet_method_name(&m, 0x06000000 | i, &name);
	}
	op_strbuf_deinit(&name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input in = { { read_input }, data, len, 0 };
	struct op_dotnet_bytes out = { 0 };
	struct op_dotnet_entries entries;
	struct op_dotnet_pe pe;
	uint32_t function;
	uint32_t i;

	try_names(&in.memory, 0, (uint32_t)len);
	if (op_runtime_dotnet_pe(&in.memory, 0, &pe) == 0) {
		try_names(&in.memory,
			  op_runtime_dotnet_pe_at(&pe, pe.metadata.rva, pe.metadata.size),
			  pe.metadata.size);
		if (op_runtime_dotnet_entries(&pe, 103, &entries) == 0)
			for (i = 0; i < TRIES; i++)
				(void)op_runtime_dotnet_entry(&entries, i, &function);
	}
	if (len > HEAD) {
		const size_t half = (len - HEAD) / 2;
		struct op_dotnet_function f = { .begin = 1,
						.end = 1 + (uint32_t)half,
						.code = data + HEAD,
						.info = data + HEAD + half,
						.info_len = len - HEAD - half };

		op_runtime_dotnet_cie(&out);
		op_runtime_dotnet_fde(&out, &f);
		op_vec_clear(&out.v);
	}
	return 0;
}
