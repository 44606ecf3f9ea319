/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/dotnet/pe/pdb.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/reader.h"
#include "base/vec.h"
#include "runtime/dotnet/pe/metadata.h"

enum {
	MAGIC = 0x424a5342,
	ROOT_BYTES = 512, /* of the root and the headers of streams that are read */
	STREAMS_MAX = 16,
	TABLES_HEADER = 24,
	ROWS_MAX = 1 << 24,
	DOCUMENT = 0x30,
	METHOD = 0x31, /* MethodDebugInformation */
	TABLES = 64,
	POINTS_BYTES_MAX = 1 << 17, /* of a method's blob */
	NAME_BYTES_MAX = 4096,
	PARTS_MAX = 64, /* of the path of a document */
};

static uint32_t blob_bytes(const struct op_dotnet_pdb *pdb)
{
	return pdb->heaps & 4 ? 4 : 2;
}

static uint32_t guid_bytes(const struct op_dotnet_pdb *pdb)
{
	return pdb->heaps & 2 ? 4 : 2;
}

static int read_tables(struct op_dotnet_pdb *pdb, uint64_t at, uint64_t size)
{
	uint8_t bytes[TABLES_HEADER + TABLES * 4];
	struct op_reader r =
		op_reader_init(bytes, (size_t)OP_MIN(size, (uint64_t)sizeof(bytes)));
	uint64_t valid;
	int error = op_memory_read(pdb->memory, at, bytes, op_reader_left(&r));
	uint32_t i;

	if (error < 0)
		return error;
	op_reader_seek(&r, 6);
	pdb->heaps = op_read_u8(&r);
	op_read_skip(&r, 1);
	valid = op_read_u64(&r);
	op_read_skip(&r, 8);
	/* No table stands before that of documents. */
	if (r.failed || valid & ((UINT64_C(1) << DOCUMENT) - 1))
		return -EBADMSG;
	for (i = DOCUMENT; i < TABLES; i++) {
		uint32_t rows = valid >> i & 1 ? op_read_u32(&r) : 0;

		if (rows >= ROWS_MAX)
			return -EBADMSG;
		if (i == DOCUMENT)
			pdb->documents = rows;
		if (i == METHOD)
			pdb->methods = rows;
	}
	pdb->documents_bytes = 2 * blob_bytes(pdb) + 2 * guid_bytes(pdb);
	pdb->methods_bytes = (pdb->documents < 1 << 16 ? 2 : 4) + blob_bytes(pdb);
	pdb->documents_at = at + op_reader_pos(&r);
	pdb->methods_at =
		pdb->documents_at + (uint64_t)pdb->documents * pdb->documents_bytes;
	return r.failed || op_reader_pos(
				   &r) + (uint64_t)pdb->documents * pdb->documents_bytes +
					       (uint64_t)pdb->methods *
						       pdb->methods_bytes >
				       size
		       ? -EBADMSG
		       : 0;
}

/* Take the stream whose header is next in @r. */
static int take_stream(struct op_dotnet_pdb *pdb, struct op_reader *r, uint64_t size,
		       const uint8_t id[OP_DOTNET_PDB_ID_BYTES])
{
	uint8_t own[OP_DOTNET_PDB_ID_BYTES];
	uint32_t off = op_read_u32(r);
	uint32_t len = op_read_u32(r);
	const char *name = op_read_cstr(r);
	size_t pad;
	int error;

	if (!name || !op_range_ok(off, len, size))
		return -EBADMSG;
	pad = op_reader_pos(r) % 4;
	op_read_skip(r, pad ? 4 - pad : 0);
	if (strcmp(name, "#~") == 0)
		return read_tables(pdb, off, len);
	if (strcmp(name, "#Blob") == 0) {
		pdb->blob = off;
		pdb->blob_size = len;
	} else if (strcmp(name, "#Pdb") == 0) {
		error = len < sizeof(own)
				? -EBADMSG
				: op_memory_read(pdb->memory, off, own, sizeof(own));
		if (error < 0)
			return error;
		if (memcmp(own, id, sizeof(own)) != 0)
			return -ESTALE;
	}
	return 0;
}

int op_runtime_dotnet_pdb(const struct op_memory *memory, uint64_t size,
			  const uint8_t id[OP_DOTNET_PDB_ID_BYTES],
			  struct op_dotnet_pdb *ret)
{
	uint8_t bytes[ROOT_BYTES];
	struct op_reader r =
		op_reader_init(bytes, (size_t)OP_MIN(size, (uint64_t)sizeof(bytes)));
	struct op_dotnet_pdb pdb = { .memory = memory };
	uint32_t streams;
	uint32_t i;
	int error = op_memory_read(memory, 0, bytes, op_reader_left(&r));

	if (error < 0)
		return error;
	if (op_read_u32(&r) != MAGIC)
		return -EBADMSG;
	op_read_skip(&r, 8);
	op_read_skip(&r, (uint64_t)op_read_u32(&r) + 2);
	streams = op_read_u16(&r);
	if (r.failed || streams > STREAMS_MAX)
		return -EBADMSG;
	for (i = 0; i < streams; i++) {
		error = take_stream(&pdb, &r, size, id);
		if (error < 0)
			return error;
	}
	if (!pdb.blob || !pdb.methods)
		return -EBADMSG;
	*ret = pdb;
	return 0;
}

/* Its sign is the lowest bit. As a number modulo 1 << 32. */
static uint32_t read_signed(struct op_reader *r)
{
	uint32_t bits;
	uint32_t n = op_runtime_dotnet_sized_number(r, &bits);

	return n & 1 ? n >> 1 | ~UINT32_C(0) << (bits - 1) : n >> 1;
}

/* Read blob @at, of at most @max bytes. The caller frees *@ret_bytes, which *@ret reads. */
static int read_blob(const struct op_dotnet_pdb *pdb, uint32_t at, uint32_t max,
		     uint8_t **ret_bytes, struct op_reader *ret)
{
	uint8_t head[4] = { 0 };
	struct op_reader r = op_reader_init(head, sizeof(head));
	_cleanup_free_ uint8_t *bytes = NULL;
	uint32_t len;
	int error;

	if (at >= pdb->blob_size)
		return -EBADMSG;
	error = op_memory_read(pdb->memory, pdb->blob + at, head,
			       OP_MIN(sizeof(head), (size_t)(pdb->blob_size - at)));
	if (error < 0)
		return error;
	len = op_runtime_dotnet_number(&r);
	at += (uint32_t)op_reader_pos(&r);
	if (len > max || !op_range_ok(at, len, pdb->blob_size))
		return -EBADMSG;
	bytes = malloc(len + 1);
	if (!bytes)
		return -ENOMEM;
	error = op_memory_read(pdb->memory, pdb->blob + at, bytes, len);
	if (error < 0)
		return error;
	*ret = op_reader_init(bytes, len);
	*ret_bytes = OP_TAKE_PTR(bytes);
	return 0;
}

static uint32_t read_index(struct op_reader *r, uint32_t bytes)
{
	return bytes == 2 ? op_read_u16(r) : op_read_u32(r);
}

static int read_points(struct op_reader *r, uint32_t document,
		       struct op_dotnet_points *points)
{
	uint32_t il = 0;
	uint32_t line = 0;
	bool first = true;	 /* record */
	bool first_shown = true; /* record with a line */

	(void)op_runtime_dotnet_number(r); /* the signature of its variables */
	if (!document)
		document = op_runtime_dotnet_number(r);
	while (op_reader_left(r) && !r->failed) {
		struct op_dotnet_point *point;
		uint32_t skip = op_runtime_dotnet_number(r);
		uint32_t lines;
		uint32_t columns;

		if (!skip && !first) {
			document = op_runtime_dotnet_number(r);
			continue;
		}
		il += skip;
		first = false;
		lines = op_runtime_dotnet_number(r);
		columns = lines ? read_signed(r) : op_runtime_dotnet_number(r);
		if (lines || columns) {
			line = first_shown ? op_runtime_dotnet_number(r)
					   : line + read_signed(r);
			(void)(first_shown ? op_runtime_dotnet_number(r)
					   : read_signed(r));
			first_shown = false;
		}
		if (points->len == OP_DOTNET_POINTS_MAX)
			return -EFBIG;
		point = op_vec_push(points);
		if (!point)
			return -ENOMEM;
		*point = (struct op_dotnet_point){ .il = il,
						   .line = lines || columns ? line : 0,
						   .document = document };
	}
	return r->failed ? -EBADMSG : 0;
}

int op_runtime_dotnet_pdb_points(const struct op_dotnet_pdb *pdb, uint32_t row,
				 struct op_dotnet_points *points)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	uint8_t columns[8];
	struct op_reader r = op_reader_init(columns, pdb->methods_bytes);
	uint32_t document;
	uint32_t at;
	int error;

	if (!row || row > pdb->methods)
		return -EBADMSG;
	error = op_memory_read(pdb->memory,
			       pdb->methods_at + (uint64_t)(row - 1) * pdb->methods_bytes,
			       columns, pdb->methods_bytes);
	if (error < 0)
		return error;
	document = read_index(&r, pdb->methods_bytes - blob_bytes(pdb));
	at = read_index(&r, blob_bytes(pdb));
	if (!at)
		return 0;
	error = read_blob(pdb, at, POINTS_BYTES_MAX, &bytes, &r);
	return error < 0 ? error : read_points(&r, document, points);
}

int op_runtime_dotnet_pdb_document(const struct op_dotnet_pdb *pdb, uint32_t row,
				   struct op_strbuf *name)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	uint8_t columns[4];
	struct op_reader r = op_reader_init(columns, blob_bytes(pdb));
	uint32_t parts;
	char separator[2] = "";
	int error;

	if (!row || row > pdb->documents)
		return -EBADMSG;
	error = op_memory_read(pdb->memory,
			       pdb->documents_at +
				       (uint64_t)(row - 1) * pdb->documents_bytes,
			       columns, blob_bytes(pdb));
	if (error == 0)
		error = read_blob(pdb, read_index(&r, blob_bytes(pdb)), NAME_BYTES_MAX,
				  &bytes, &r);
	if (error < 0)
		return error;
	separator[0] = (char)op_read_u8(&r);
	for (parts = 0; op_reader_left(&r) && !r.failed; parts++) {
		_cleanup_free_ uint8_t *text = NULL;
		struct op_reader part = { 0 };
		uint32_t at = op_runtime_dotnet_number(&r);

		if (parts == PARTS_MAX)
			return -EFBIG;
		if (parts)
			op_strbuf_puts(name, separator);
		error = at ? read_blob(pdb, at, NAME_BYTES_MAX, &text, &part) : 0;
		if (error < 0)
			return error;
		if (memchr(part.start ? part.start : (const uint8_t *)"", 0,
			   op_reader_left(&part)))
			return -EBADMSG;
		if (op_reader_left(&part))
			op_strbuf_add(name, part.pos, op_reader_left(&part));
	}
	return name->failed ? -ENOMEM : r.failed ? -EBADMSG : 0;
}
