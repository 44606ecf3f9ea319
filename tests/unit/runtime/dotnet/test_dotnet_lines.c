/* SPDX-License-Identifier: Apache-2.0 */
/* .NET: the JIT's map from code to IL, a portable PDB, and the lines by both. */
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "base/vec.h"
#include "runtime/dotnet/lines.h"

#include "bytes.h"

enum {
	PDB_BLOB = 136, /* where it begins */
};

/* ---- the JIT's map ---- */

struct nibbles {
	uint8_t bytes[64];
	size_t at; /* nibbles */
};

/* Three bits at a time, the highest first. */
static void add(struct nibbles *n, uint32_t value)
{
	int shift = 0;

	while (value >> (shift + 3))
		shift += 3;
	for (; shift >= 0; shift -= 3) {
		uint32_t nibble = (value >> shift & 7) | (shift ? 8U : 0U);

		n->bytes[n->at / 2] |= (uint8_t)(nibble << n->at % 2 * 4);
		n->at++;
	}
}

static void put_map(struct bytes *b, const uint8_t *map, size_t len)
{
	struct nibbles head = { 0 };

	add(&head, (uint32_t)len);
	add(&head, 0);
	put(b, head.bytes, (head.at + 1) / 2);
	put(b, map, len);
	b->len += 32; /* other data of the heap */
}

static void check_bounds(struct bytes *b, const struct op_dotnet_layout *layout)
{
	static const struct op_dotnet_bound expected[] = {
		{ 0, (uint32_t)OP_DOTNET_IL_PROLOG },
		{ 7, 0 },
		{ 300, 65 },
		{ 309, (uint32_t)OP_DOTNET_IL_NONE },
		{ 310, (uint32_t)OP_DOTNET_IL_EPILOG },
	};
	struct op_dotnet_bounds bounds = { 0 };
	size_t i;

	CHECK_INT(op_runtime_dotnet_bounds(&b->memory, BASE, layout, &bounds), 0);
	CHECK_INT(bounds.len, OP_ARRAY_SIZE(expected));
	for (i = 0; i < bounds.len && i < OP_ARRAY_SIZE(expected); i++) {
		CHECK_INT(bounds.data[i].code, expected[i].code);
		CHECK_INT(bounds.data[i].il, expected[i].il);
	}
	op_vec_clear(&bounds);
}

static void test_loose(void)
{
	static const uint32_t entries[5][3] = {
		{ 0, 1, 0 }, { 7, 3, 2 }, { 293, 68, 16 }, { 9, 2, 0 }, { 1, 0, 0 },
	};
	const struct op_dotnet_layout layout = { .patchpoint_locals = 8,
						 .patchpoint_rest = 24 };
	struct bytes b = { .memory = { read_bytes }, .base = BASE };
	struct nibbles map = { 0 };
	int i;

	add(&map, 5);
	for (i = 0; i < 5; i++) {
		add(&map, entries[i][0]);
		add(&map, entries[i][1]);
		add(&map, entries[i][2]);
	}
	put(&b, "\1", 1); /* with a PatchpointInfo of 2 variables */
	b.len += 8;
	put_u32(&b, 2);
	b.len += 20 + 8;
	put_map(&b, map.bytes, (map.at + 1) / 2);
	check_bounds(&b, &layout);
}

static void test_packed(void)
{
	static const uint32_t entries[5][2] = {
		{ 0, 1 }, { 7, 3 }, { 293, 68 }, { 9, 2 }, { 1, 0 },
	};
	const struct op_dotnet_layout layout = { .packed_bounds = 1 };
	struct bytes b = { .memory = { read_bytes }, .base = BASE };
	struct nibbles map = { 0 };
	size_t bit;
	int i;
	int k;

	add(&map, 5);
	add(&map, 9 - 1);
	add(&map, 7 - 1);
	bit = (map.at + 1) / 2 * 8;
	for (i = 0; i < 5; i++) {
		uint32_t entry = 1 | entries[i][0] << 2 | entries[i][1] << 11;

		for (k = 0; k < 18; k++, bit++)
			map.bytes[bit / 8] |= (uint8_t)((entry >> k & 1) << bit % 8);
	}
	put(&b, "\0", 1);
	put_map(&b, map.bytes, (bit + 7) / 8);
	check_bounds(&b, &layout);
}

static void test_bad_maps(void)
{
	const struct op_dotnet_layout layout = { .packed_bounds = 1 };
	struct bytes b = { .memory = { read_bytes }, .base = BASE };
	struct op_dotnet_bounds bounds = { 0 };
	struct nibbles map = { 0 };

	put(&b, "\4", 1); /* an unknown flag */
	CHECK_INT(op_runtime_dotnet_bounds(&b.memory, BASE, &layout, &bounds), -EBADMSG);
	b.len = 0;
	put(&b, "\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 13);
	b.len = 64;
	CHECK(op_runtime_dotnet_bounds(&b.memory, BASE, &layout, &bounds) < 0);
	b.len = 0;
	memset(b.bytes, 0, sizeof(b.bytes));
	add(&map, 5000); /* entries, of which none is there */
	add(&map, 31);
	add(&map, 31);
	put(&b, "\0", 1);
	put_map(&b, map.bytes, (map.at + 1) / 2);
	CHECK_INT(op_runtime_dotnet_bounds(&b.memory, BASE, &layout, &bounds), -EBADMSG);
	op_vec_clear(&bounds);
}

/* ---- the PDB ---- */

static const uint8_t id[OP_DOTNET_PDB_ID_BYTES] = "0123456789abcdef\1\2\3";

/* A document, a method without lines, and one with four points. */
static void make_pdb(struct bytes *b)
{
	static const uint8_t blob[] = {
		0,   4, 'h', 'o', 'm', 'e', 4, 'a', '.', 'c', 's',  4,
		'/', 0, 1,   6,	  19,  0,   0, 0,   5,	 10,  3,    4,
		0,   0, 2,   1,	  4,   10,  0, 1,   0,	 3,   0x7f, 0,
	};
	const uint64_t valid = UINT64_C(3) << 0x30;

	b->memory.read = read_bytes;
	put_u32(b, 0x424a5342);
	put_u32(b, 0x10001);
	put_u32(b, 0);
	put_u32(b, 4);
	put(b, "v1\0", 4);
	put(b, "\0\0\3", 4); /* 3 streams */
	put_u32(b, 68);
	put_u32(b, 20);
	put(b, "#Pdb\0\0\0", 8);
	put_u32(b, 88);
	put_u32(b, 48);
	put(b, "#~\0", 4);
	put_u32(b, PDB_BLOB);
	put_u32(b, sizeof(blob));
	put(b, "#Blob\0\0", 8);
	put(b, id, sizeof(id));
	put(b, "\0\0\0\0\2\0\0\1", 8);
	put(b, &valid, 8);
	put(b, &valid, 8);
	put_u32(b, 1);
	put_u32(b, 2);
	put(b, "\13\0\0\0\0\0\0", 8); /* the document */
	put(b, "\0\0\0\0\1\0\20", 8); /* two methods */
	CHECK_INT(b->len, PDB_BLOB);
	put(b, blob, sizeof(blob));
}

static void test_pdb(void)
{
	static const uint32_t expected[4][2] = {
		{ 0, 10 }, { 4, 0 }, { 6, 15 }, { 7, 14 }
	};
	struct bytes b = { .base = 0 };
	struct op_dotnet_points points = { 0 };
	struct op_strbuf name = { 0 };
	struct op_dotnet_pdb pdb;
	size_t i;

	make_pdb(&b);
	CHECK_INT(op_runtime_dotnet_pdb(&b.memory, b.len, id, &pdb), 0);
	CHECK_INT(op_runtime_dotnet_pdb_points(&pdb, 1, &points), 0);
	CHECK_INT(points.len, 0);
	CHECK_INT(op_runtime_dotnet_pdb_points(&pdb, 2, &points), 0);
	CHECK_INT(points.len, 4);
	for (i = 0; i < points.len && i < 4; i++) {
		CHECK_INT(points.data[i].il, expected[i][0]);
		CHECK_INT(points.data[i].line, expected[i][1]);
		CHECK_INT(points.data[i].document, 1);
	}
	CHECK_INT(op_runtime_dotnet_pdb_document(&pdb, 1, &name), 0);
	CHECK_STR(name.data, "/home/a.cs");
	CHECK_INT(op_runtime_dotnet_pdb_points(&pdb, 3, &points), -EBADMSG);
	CHECK_INT(op_runtime_dotnet_pdb_document(&pdb, 2, &name), -EBADMSG);
	CHECK_INT(op_runtime_dotnet_pdb(&b.memory, b.len,
					(const uint8_t *)"another image's id..", &pdb),
		  -ESTALE);
	op_strbuf_deinit(&name);
	op_vec_clear(&points);
}

static void test_cut_pdb(void)
{
	struct bytes b = { .base = 0 };
	struct op_dotnet_points points = { 0 };
	struct op_dotnet_pdb pdb;
	size_t len;

	make_pdb(&b);
	for (len = b.len; len--;) {
		b.len = len;
		CHECK(op_runtime_dotnet_pdb(&b.memory, len, id, &pdb) < 0 ||
		      op_runtime_dotnet_pdb_points(&pdb, 2, &points) < 0);
	}
	op_vec_clear(&points);
}

/* ---- lines ---- */

static void test_rows(void)
{
	static const struct op_dotnet_bound
		bound
			[] = {
				{ 0, (uint32_t)OP_DOTNET_IL_PROLOG },
				{ 7, 1 },
				{ 20, 6 },
				{ 25, (uint32_t)OP_DOTNET_IL_NONE },
				{ 30, 5 }, /* of no line: that of the point before */
				{ 40, (uint32_t)OP_DOTNET_IL_EPILOG },
			};
	static const struct op_dotnet_point point[] = {
		{ 0, 10, 1 }, { 4, 0, 1 }, { 6, 15, 1 }, { 8, 16, 1 }
	};
	const struct op_dotnet_bounds bounds = { (struct op_dotnet_bound *)bound, 6, 6 };
	const struct op_dotnet_points points = { (struct op_dotnet_point *)point, 4, 4 };
	struct op_dotnet_row row[6];
	size_t len = op_runtime_dotnet_rows(&bounds, &points, row);

	CHECK_INT(len, 5);
	CHECK_INT(op_runtime_dotnet_row(row, len, 0)->line, 10);
	CHECK_INT(op_runtime_dotnet_row(row, len, 19)->line, 10);
	CHECK_INT(op_runtime_dotnet_row(row, len, 20)->line, 15);
	CHECK(!op_runtime_dotnet_row(row, len, 24)->approximate);
	CHECK_INT(op_runtime_dotnet_row(row, len, 29)->line, 15);
	CHECK(op_runtime_dotnet_row(row, len, 29)->approximate);
	CHECK(!op_runtime_dotnet_row(row, len, 30)->approximate);
	CHECK_INT(op_runtime_dotnet_row(row, len, 30)->line, 10);
	CHECK_INT(op_runtime_dotnet_row(row, len, 99)->line, 16);
	CHECK(!op_runtime_dotnet_row(row, 0, 99));
}

TEST_MAIN({ "loose", test_loose }, { "packed", test_packed },
	  { "bad_maps", test_bad_maps }, { "pdb", test_pdb }, { "cut_pdb", test_cut_pdb },
	  { "rows", test_rows })
