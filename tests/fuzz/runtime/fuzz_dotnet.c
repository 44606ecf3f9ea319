/* SPDX-License-Identifier: Apache-2.0 */
/* Images of .NET of any bytes: headers, metadata, names, entries, unwind data. The same as a PDB, and
 * as a method's debug info. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/vec.h"
#include "input.h"
#include "runtime/dotnet/lines.h"
#include "runtime/dotnet/pe/elf.h"
#include "runtime/dotnet/pe/entries.h"
#include "runtime/dotnet/pe/metadata.h"
#include "runtime/dotnet/pe/pe.h"

enum {
	TRIES = 16,
	HEAD = 4,
};

static void try_names(const struct op_memory *memory, uint64_t at, uint32_t size)
{
	struct op_dotnet_metadata m;
	struct op_strbuf name = { 0 };
	uint32_t row = 0;
	uint32_t i;

	if (op_runtime_dotnet_metadata(memory, at, size, &m) < 0)
		return;
	for (i = 0; i < TRIES; i++) {
		op_strbuf_reset(&name);
		(void)op_runtime_dotnet_method_name(&m, 0x06000000 | i, &name);
		(void)op_runtime_dotnet_machine_method(&m, i, &row);
	}
	(void)op_runtime_dotnet_assembly_is(&m, "known");
	(void)op_runtime_dotnet_private_type(&m, "known", &row);
	op_strbuf_deinit(&name);
}

static void try_pdb(const struct op_memory *memory, uint64_t size,
		    struct op_dotnet_points *points)
{
	static const uint8_t id[OP_DOTNET_PDB_ID_BYTES];
	struct op_strbuf name = { 0 };
	struct op_dotnet_pdb pdb;
	uint32_t i;

	if (op_runtime_dotnet_pdb(memory, size, id, &pdb) < 0)
		return;
	for (i = 0; i < TRIES; i++) {
		(void)op_runtime_dotnet_pdb_points(&pdb, i, points);
		(void)op_runtime_dotnet_pdb_document(&pdb, i, &name);
		op_strbuf_reset(&name);
	}
	op_strbuf_deinit(&name);
}

static void try_lines(const struct op_memory *memory, uint64_t size)
{
	struct op_dotnet_layout layout = { .patchpoint_locals = 8,
					   .patchpoint_rest = 24 };
	struct op_dotnet_points points = { 0 };

	try_pdb(memory, size, &points);
	for (layout.packed_bounds = 0; layout.packed_bounds < 2; layout.packed_bounds++) {
		struct op_dotnet_bounds bounds = { 0 };
		struct op_dotnet_row *rows;

		(void)op_runtime_dotnet_bounds(memory, 0, &layout, &bounds);
		rows = bounds.len ? calloc(bounds.len, sizeof(*rows)) : NULL;
		if (rows)
			(void)op_runtime_dotnet_row(
				rows, op_runtime_dotnet_rows(&bounds, &points, rows),
				TRIES);
		free(rows);
		op_vec_clear(&bounds);
	}
	op_vec_clear(&points);
}

/* The whole conversion. */
static void try_elf(const uint8_t *data, size_t len)
{
	int fd = memfd_create("image", MFD_CLOEXEC);
	int made;

	if (fd >= 0 && write(fd, data, len) == (ssize_t)len &&
	    op_runtime_dotnet_elf(fd, &made) == 0)
		(void)close(made);
	if (fd >= 0)
		(void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input in = { { read_input }, data, len, 0 };
	struct op_dotnet_bytes out = { 0 };
	struct op_dotnet_entries entries;
	struct op_dotnet_pe pe;
	char file[OP_DOTNET_PDB_NAME_MAX];
	uint8_t id[OP_DOTNET_PDB_ID_BYTES];
	uint32_t function;
	uint32_t i;

	try_names(&in.memory, 0, (uint32_t)len);
	try_lines(&in.memory, len);
	if (op_runtime_dotnet_pe(&in.memory, 0, &pe) == 0) {
		(void)op_runtime_dotnet_pe_pdb(&pe, id, file);
		try_names(&in.memory,
			  op_runtime_dotnet_pe_at(&pe, pe.metadata.rva, pe.metadata.size),
			  pe.metadata.size);
		if (op_runtime_dotnet_entries(&pe, 103, &entries) == 0)
			for (i = 0; i < TRIES; i++)
				(void)op_runtime_dotnet_entry(&entries, i, &function);
		try_elf(data, len);
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
