/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/dotnet/pe/metadata.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/checked.h"
#include "base/macros.h"
#include "base/reader.h"
#include "runtime/dotnet/pe/source_name.h"

enum {
	MAGIC = 0x424a5342,
	ROOT_BYTES = 512, /* of the root and the headers of streams that are read */
	STREAMS_MAX = 16,
	TABLES_HEADER = 24,
	ROWS_MAX = 1 << 24, /* a token has 24 bits for the row */
	ROW_BYTES_MAX = 64,
	PIECE = 64, /* bytes of a string that are read at once */
	PAGE = 4096,
	VISIBILITY = 7, /* of a type's flags */
	NESTED_PRIVATE = 3,
	/* searched: types of a module, methods of a state machine */
	TYPES_MAX = 8192,
	MACHINE_METHODS = 32,
	TYPE_DEF = 0x02,
	ASSEMBLY = 0x20,
	NESTED_CLASS = 0x29,
	GENERIC_PARAM = 0x2a,
};

/* Kinds of columns: a letter; else the number of a table, behind 't'. */
static const char *const columns[OP_DOTNET_TABLES] = {
	"2sggg",
	"Rss",
	"4ssTt\4t\6",
	"t\4",
	"2sb",
	"t\6",
	"422sbt\10",
	"t\10",
	"22s",
	"t\2T",
	"Msb",
	"2Cb",
	"AYb",
	"Fb",
	"2Db",
	"24t\2",
	"4t\4",
	"b",
	"t\2t\24",
	"t\24",
	"2sT",
	"t\2t\27",
	"t\27",
	"2sb",
	"2t\6H",
	"t\2OO",
	"s",
	"b",
	"2Pst\32",
	"4t\4",
	"44",
	"4",
	"42222"
	"4bss",
	"4",
	"444",
	"22224bssb",
	"4t\43",
	"444t\43",
	"4sb",
	"44ssI",
	"44sI",
	"t\2t\2",
	"22Es",
	"Ob",
	"t\52T",
};

/* An index into one of several tables: the bits that tell which, and the tables. */
struct coded {
	char kind;
	uint8_t bits;
	const char *tables;
	uint8_t count;
};

#define CODED(kind, bits, tables)                                                        \
	{                                                                                \
		kind, bits, tables, sizeof(tables) - 1                                   \
	}

static const struct coded coded[] = {
	CODED('T', 2, "\x02\x01\x1b"),
	CODED('C', 2, "\x04\x08\x17"),
	CODED('A', 5,
	      "\x06\x04\x01\x02\x08\x09\x0a\x00\x0e\x17\x14\x11\x1a\x1b\x20\x23\x26\x27"
	      "\x28\x2a\x2c\x2b"),
	CODED('F', 1, "\x04\x08"),
	CODED('D', 2, "\x02\x06\x20"),
	CODED('M', 3, "\x02\x01\x1a\x06\x1b"),
	CODED('H', 1, "\x14\x17"),
	CODED('O', 1, "\x06\x0a"),
	CODED('P', 1, "\x04\x06"),
	CODED('I', 2, "\x26\x23\x27"),
	CODED('Y', 3, "\x06\x0a"),
	CODED('R', 2, "\x00\x1a\x23\x01"),
	CODED('E', 1, "\x02\x06"),
};

uint32_t op_runtime_dotnet_sized_number(struct op_reader *r, uint32_t *ret_bits)
{
	uint32_t n = op_read_u8(r);

	*ret_bits = 7;
	if (!(n & 0x80))
		return n;
	*ret_bits = 14;
	if (!(n & 0x40))
		return (n & 0x3f) << 8 | op_read_u8(r);
	*ret_bits = 29;
	n = (n & 0x1f) << 8 | op_read_u8(r);
	n = n << 8 | op_read_u8(r);
	return n << 8 | op_read_u8(r);
}

uint32_t op_runtime_dotnet_number(struct op_reader *r)
{
	uint32_t bits;

	return op_runtime_dotnet_sized_number(r, &bits);
}

static uint32_t coded_bytes(const struct op_dotnet_metadata *m, char kind)
{
	uint32_t most = 0;
	size_t i;
	size_t k;

	for (i = 0; i < OP_ARRAY_SIZE(coded); i++) {
		if (coded[i].kind != kind)
			continue;
		for (k = 0; k < coded[i].count; k++)
			most = OP_MAX(most, m->table[(uint8_t)coded[i].tables[k]].rows);
		return most < UINT32_C(1) << (16 - coded[i].bits) ? 2 : 4;
	}
	return 0;
}

/* Bytes of the column at *@kind, which moves to the next one. */
static uint32_t column_bytes(const struct op_dotnet_metadata *m, const char **kind)
{
	char c = *(*kind)++;

	switch (c) {
	case '2':
		return 2;
	case '4':
		return 4;
	case 's':
		return m->heaps & 1 ? 4 : 2;
	case 'g':
		return m->heaps & 2 ? 4 : 2;
	case 'b':
		return m->heaps & 4 ? 4 : 2;
	case 't':
		return m->table[(uint8_t) * (*kind)++].rows < 1 << 16 ? 2 : 4;
	default:
		return coded_bytes(m, c);
	}
}

/* Lay out the tables, of which @rows has a number for each bit of @valid. */
static int read_tables(struct op_dotnet_metadata *m, uint64_t at, uint64_t size)
{
	uint8_t bytes[TABLES_HEADER + 64 * 4];
	struct op_reader r;
	uint64_t valid;
	uint64_t off;
	uint32_t i;
	int error;

	if (size < TABLES_HEADER)
		return -EBADMSG;
	r = op_reader_init(bytes, (size_t)OP_MIN(size, (uint64_t)sizeof(bytes)));
	error = op_memory_read(m->memory, at, bytes, op_reader_left(&r));
	if (error < 0)
		return error;
	op_reader_seek(&r, 6);
	m->heaps = op_read_u8(&r);
	op_read_skip(&r, 1);
	valid = op_read_u64(&r);
	op_read_skip(&r, 8);
	if (valid >> OP_DOTNET_TABLES)
		return -EBADMSG; /* tables of debug information */
	for (i = 0; i < OP_DOTNET_TABLES; i++) {
		m->table[i].rows = valid >> i & 1 ? op_read_u32(&r) : 0;
		if (m->table[i].rows >= ROWS_MAX)
			return -EBADMSG;
	}
	if (m->heaps & 0x40)
		op_read_skip(&r, 4); /* an edit's extra word */
	off = op_reader_pos(&r);
	for (i = 0; !r.failed && i < OP_DOTNET_TABLES; i++) {
		const char *kind = columns[i];

		while (*kind)
			m->table[i].bytes += column_bytes(m, &kind);
		m->table[i].at = at + off;
		off += (uint64_t)m->table[i].rows * m->table[i].bytes;
	}
	return r.failed || off > size ? -EBADMSG : 0;
}

/* Take the stream whose header is next in @r; streams lie in the @size bytes at @at. */
static int take_stream(struct op_dotnet_metadata *m, struct op_reader *r, uint64_t at,
		       uint32_t size)
{
	uint32_t off = op_read_u32(r);
	uint32_t len = op_read_u32(r);
	const char *name = op_read_cstr(r);
	size_t pad;

	if (!name || !op_range_ok(off, len, size))
		return -EBADMSG;
	pad = op_reader_pos(r) % 4;
	op_read_skip(r, pad ? 4 - pad : 0);
	if (strcmp(name, "#Strings") == 0) {
		m->strings = at + off;
		m->strings_size = len;
	} else if (strcmp(name, "#~") == 0 || strcmp(name, "#-") == 0) {
		return read_tables(m, at + off, len);
	}
	return 0;
}

int op_runtime_dotnet_metadata(const struct op_memory *memory, uint64_t at, uint32_t size,
			       struct op_dotnet_metadata *ret)
{
	uint8_t bytes[ROOT_BYTES];
	struct op_reader r = op_reader_init(bytes, OP_MIN(size, sizeof(bytes)));
	uint32_t streams;
	uint32_t len;
	uint32_t i;
	int error;

	*ret = (struct op_dotnet_metadata){ .memory = memory };
	error = op_memory_read(memory, at, bytes, op_reader_left(&r));
	if (error < 0)
		return error;
	if (op_read_u32(&r) != MAGIC)
		return -EBADMSG;
	op_read_skip(&r, 8);
	len = op_read_u32(&r);
	op_read_skip(&r, (uint64_t)len + 2);
	streams = op_read_u16(&r);
	if (r.failed || streams > STREAMS_MAX)
		return -EBADMSG;
	for (i = 0; i < streams; i++) {
		error = take_stream(ret, &r, at, size);
		if (error < 0)
			return error;
	}
	return ret->strings && ret->table[OP_DOTNET_METHOD_DEF].rows ? 0 : -EBADMSG;
}

/* Read row @row of a table, counted from 1, into @bytes. *@ret reads it. */
static int read_row(const struct op_dotnet_metadata *m, uint32_t table, uint32_t row,
		    uint8_t bytes[ROW_BYTES_MAX], struct op_reader *ret)
{
	const struct op_dotnet_table *t = &m->table[table];

	if (!row || row > t->rows)
		return -ENOENT;
	if (t->bytes > ROW_BYTES_MAX)
		return -EBADMSG;
	*ret = op_reader_init(bytes, t->bytes);
	return op_memory_read(m->memory, t->at + (uint64_t)(row - 1) * t->bytes, bytes,
			      t->bytes);
}

/* Column @column of row @row of a table. */
static int read_column(const struct op_dotnet_metadata *m, uint32_t table, uint32_t row,
		       uint32_t column, uint32_t *ret)
{
	const char *kind = columns[table];
	uint8_t bytes[ROW_BYTES_MAX];
	struct op_reader r;
	uint32_t len;
	int error = read_row(m, table, row, bytes, &r);

	if (error < 0)
		return error;
	for (; column; column--)
		op_read_skip(&r, column_bytes(m, &kind));
	len = column_bytes(m, &kind);
	*ret = len == 2 ? op_read_u16(&r) : op_read_u32(&r);
	return r.failed ? -EBADMSG : 0;
}

/* Read string @off of #Strings. */
static int read_string(const struct op_dotnet_metadata *m, uint32_t off,
		       char ret[OP_DOTNET_NAME_MAX])
{
	size_t len = 0;

	while (off < m->strings_size) {
		uint64_t at = m->strings + off;
		size_t n = OP_MIN((size_t)(PAGE - at % PAGE), (size_t)PIECE);
		int error;

		n = OP_MIN(n, (size_t)(m->strings_size - off));
		n = OP_MIN(n, OP_DOTNET_NAME_MAX - len);
		if (!n)
			return -EBADMSG;
		error = op_memory_read(m->memory, at, ret + len, n);
		if (error < 0)
			return error;
		if (memchr(ret + len, 0, n))
			return 0;
		len += n;
		off += (uint32_t)n;
	}
	return -EBADMSG;
}

static int read_name(const struct op_dotnet_metadata *m, uint32_t table, uint32_t row,
		     uint32_t column, char ret[OP_DOTNET_NAME_MAX])
{
	uint32_t off;
	int error = read_column(m, table, row, column, &off);

	return error < 0 ? error : read_string(m, off, ret);
}

/* The last row of @table whose @column is at most @value, in a table that it orders; 0: none. */
static int find_last(const struct op_dotnet_metadata *m, uint32_t table, uint32_t column,
		     uint32_t value, uint32_t *ret)
{
	uint32_t low = 0;
	uint32_t high = m->table[table].rows;

	while (low < high) {
		uint32_t middle = low + (high - low + 1) / 2;
		uint32_t at;
		int error = read_column(m, table, middle, column, &at);

		if (error < 0)
			return error;
		if (at <= value)
			low = middle;
		else
			high = middle - 1;
	}
	*ret = low;
	return 0;
}

/* The type that @type stands in; 0: none. */
static int find_outer(const struct op_dotnet_metadata *m, uint32_t type, uint32_t *ret)
{
	uint32_t row;
	uint32_t inner = 0;
	int error = find_last(m, NESTED_CLASS, 0, type, &row);

	*ret = 0;
	if (error < 0 || !row)
		return error;
	error = read_column(m, NESTED_CLASS, row, 0, &inner);
	if (error < 0 || inner != type)
		return error;
	return read_column(m, NESTED_CLASS, row, 1, ret);
}

/* Give the types that @type stands in, and itself, to @name. */
static int add_types(const struct op_dotnet_metadata *m, uint32_t type,
		     struct op_dotnet_source_name *name)
{
	char text[OP_DOTNET_NAME_MAX];
	uint32_t chain[OP_DOTNET_NESTED_MAX];
	uint32_t len = 0;
	int error;

	while (type) {
		if (len == OP_DOTNET_NESTED_MAX)
			return -EBADMSG;
		chain[len++] = type;
		error = find_outer(m, type, &type);
		if (error < 0)
			return error;
	}
	error = read_name(m, TYPE_DEF, chain[len - 1], 2, text);
	if (error < 0)
		return error;
	op_runtime_dotnet_source_namespace(name, text);
	while (len--) {
		error = read_name(m, TYPE_DEF, chain[len], 1, text);
		if (error < 0)
			return error;
		op_runtime_dotnet_source_type(name, text);
	}
	return 0;
}

int op_runtime_dotnet_method_name(const struct op_dotnet_metadata *m, uint32_t token,
				  struct op_strbuf *name)
{
	struct op_dotnet_source_name source = { .text = name };
	char text[OP_DOTNET_NAME_MAX];
	uint32_t row = token & 0xffffff;
	uint32_t type = 0;
	int error;

	if (token >> 24 != OP_DOTNET_METHOD_DEF)
		return -ENOENT;
	error = read_name(m, OP_DOTNET_METHOD_DEF, row, 3, text);
	if (error == 0)
		error = find_last(m, TYPE_DEF, 5, row, &type);
	if (error < 0)
		return error;
	if (!type)
		return -EBADMSG;
	error = add_types(m, type, &source);
	if (error < 0)
		return error;
	op_runtime_dotnet_source_method(&source, text);
	return name->failed ? -ENOMEM : 0;
}

int op_runtime_dotnet_assembly_is(const struct op_dotnet_metadata *m, const char *name)
{
	char text[OP_DOTNET_NAME_MAX];
	int error = read_name(m, ASSEMBLY, 1, 7, text);

	return error < 0 ? error : strcmp(text, name) == 0;
}

/* Is the type of @row, whose flags are @flags, private, in another type, and named @name? */
static int is_private_type(const struct op_dotnet_metadata *m, uint32_t row,
			   uint32_t flags, const char *name)
{
	char text[OP_DOTNET_NAME_MAX];
	int error;

	if ((flags & VISIBILITY) != NESTED_PRIVATE)
		return 0;
	error = read_name(m, TYPE_DEF, row, 1, text);
	return error < 0 ? error : strcmp(text, name) == 0;
}

int op_runtime_dotnet_private_type(const struct op_dotnet_metadata *m, const char *name,
				   uint32_t *ret)
{
	const struct op_dotnet_table *t = &m->table[TYPE_DEF];
	uint32_t most = PAGE / OP_MAX(t->bytes, 1U);
	uint32_t rows = OP_MIN(t->rows, (uint32_t)TYPES_MAX);
	uint8_t bytes[PAGE];
	uint32_t row = 1;

	while (row <= rows) {
		uint32_t n = OP_MIN(most, rows + 1 - row);
		struct op_reader r = op_reader_init(bytes, (size_t)n * t->bytes);
		int error =
			op_memory_read(m->memory, t->at + (uint64_t)(row - 1) * t->bytes,
				       bytes, op_reader_left(&r));

		for (; error == 0 && n; n--, row++) {
			error = is_private_type(m, row, op_read_u32(&r), name);
			op_read_skip(&r, t->bytes - 4);
		}
		if (error) {
			*ret = row - 1;
			return error < 0 ? error : 0;
		}
	}
	return -ENOENT;
}

int op_runtime_dotnet_machine_method(const struct op_dotnet_metadata *m, uint32_t type,
				     uint32_t *ret)
{
	char text[OP_DOTNET_NAME_MAX];
	uint32_t end = m->table[OP_DOTNET_METHOD_DEF].rows + 1;
	uint32_t row = 0;
	int error = read_column(m, TYPE_DEF, type, 5, &row);

	if (error == 0 && type < m->table[TYPE_DEF].rows)
		error = read_column(m, TYPE_DEF, type + 1, 5, &end);
	end = OP_MIN(end, row + MACHINE_METHODS);
	for (; error == 0 && row < end; row++) {
		error = read_name(m, OP_DOTNET_METHOD_DEF, row, 3, text);
		if (error == 0 && strcmp(text, "MoveNext") == 0) {
			*ret = row;
			return 0;
		}
	}
	return error < 0 ? error : -ENOENT;
}
