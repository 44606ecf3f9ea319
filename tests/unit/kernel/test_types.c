/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/types.h"

#include <bpf/btf.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "kernel/kinds/kind.h"

#include "test.h"

/*
 * A kernel of two structs:
 *   struct inner { unsigned long first; unsigned int bits:3; };
 *   struct outer { const inner_t in; union { int a; struct outer *next; }; int list[4]; };
 *   enum fruit { APPLE = 7 };  struct unwanted { int x; };
 */
static struct btf *make_kernel(void)
{
	struct btf *btf = btf__new_empty();
	int u64 = btf__add_int(btf, "unsigned long", 8, 0);
	int u32 = btf__add_int(btf, "unsigned int", 4, 0);
	int inner = btf__add_struct(btf, "inner", 16);
	int typedefed;
	int constant;
	int array;
	int next;
	int either;

	CHECK_OK(btf__add_field(btf, "first", u64, 0, 0));
	CHECK_OK(btf__add_field(btf, "bits", u32, 64, 3));
	typedefed = btf__add_typedef(btf, "inner_t", inner);
	constant = btf__add_const(btf, typedefed);
	array = btf__add_array(btf, u32, u32, 4);
	next = btf__add_ptr(btf, array + 3); /* struct outer */
	either = btf__add_union(btf, NULL, 8);
	CHECK_OK(btf__add_field(btf, "a", u32, 0, 0));
	CHECK_OK(btf__add_field(btf, "next", next, 0, 0));
	CHECK_INT(btf__add_struct(btf, "outer", 40), array + 3);
	CHECK_OK(btf__add_field(btf, "in", constant, 0, 0));
	CHECK_OK(btf__add_field(btf, NULL, either, 128, 0));
	CHECK_OK(btf__add_field(btf, "list", array, 192, 0));
	CHECK_OK(btf__add_enum(btf, "fruit", 4));
	CHECK_OK(btf__add_enum_value(btf, "APPLE", 7));
	CHECK_OK(btf__add_struct(btf, "unwanted", 4));
	CHECK_OK(btf__add_field(btf, "x", u32, 0, 0));
	return btf;
}

/* A program that names the outer struct, by a flavour, and the enum. */
static struct btf *make_programs(void)
{
	struct btf *btf = btf__new_empty();
	int u32 = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);

	CHECK_OK(btf__add_struct(btf, "outer___mine", 4));
	CHECK_OK(btf__add_field(btf, "list", u32, 0, 0));
	CHECK_OK(btf__add_enum(btf, "fruit___probe", 4));
	CHECK_OK(btf__add_enum_value(btf, "APPLE___probe", 1));
	CHECK_OK(btf__add_struct(btf, "program_own", 4));
	CHECK_OK(btf__add_field(btf, "x", u32, 0, 0));
	return btf;
}

static const struct btf_type *named(const struct btf *btf, const char *name,
				    uint32_t kind)
{
	int id = btf__find_by_name_kind(btf, name, kind);

	return id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
}

static void test_copy(void)
{
	struct btf *kernel = make_kernel();
	struct btf *programs = make_programs();
	struct btf *few = NULL;
	const struct btf_type *outer;
	const struct btf_type *inner;
	const struct btf_type *either;
	const struct btf_type *fruit;
	const struct btf_member *m;

	CHECK_OK(op_types_copy(kernel, (const struct btf *const *)&programs, 1, &few));
	btf__free(kernel);
	btf__free(programs);
	outer = named(few, "outer", BTF_KIND_STRUCT);
	CHECK(outer);
	CHECK_INT(outer->size, 40);
	CHECK_INT(btf_vlen(outer), 3);
	m = btf_members(outer);
	CHECK_STR(btf__name_by_offset(few, m[0].name_off), "in");
	CHECK_STR(btf__name_by_offset(few, m[2].name_off), "list");
	CHECK_INT(btf_member_bit_offset(outer, 1), 128);
	CHECK_INT(btf_member_bit_offset(outer, 2), 192);
	CHECK_INT(btf_array(btf__type_by_id(few, m[2].type))->nelems, 4);

	inner = named(few, "inner", BTF_KIND_STRUCT);
	CHECK(inner && btf__type_by_id(few, m[0].type) == inner);
	CHECK_INT(btf_member_bit_offset(inner, 1), 64);
	CHECK_INT(btf_member_bitfield_size(inner, 1), 3);

	either = btf__type_by_id(few, m[1].type);
	CHECK(btf_is_union(either));
	CHECK(btf_is_ptr(btf__type_by_id(few, btf_members(either)[1].type)));

	fruit = named(few, "fruit", BTF_KIND_ENUM);
	CHECK(fruit);
	CHECK_INT(btf_enum(fruit)->val, 7);
	CHECK(!named(few, "unwanted", BTF_KIND_STRUCT));
	CHECK(!named(few, "program_own", BTF_KIND_STRUCT));
	btf__free(few);
}

static void test_no_such_file(void)
{
	struct btf *programs = make_programs();

	CHECK_INT(op_types_file("/nonexistent/vmlinux",
				(const struct btf *const *)&programs, 1),
		  -ENOENT);
	btf__free(programs);
}

/* Half of each object would be DWARF, which nobody reads. */
static void test_no_dwarf(void)
{
	size_t i;

	for (i = 0; i < OP_KINDS; i++) {
		const struct op_packed_object *packed = op_kinds()[i]->object;
		uLongf len = packed->object_len;
		unsigned char *bytes = malloc(len);

		CHECK(bytes);
		CHECK_INT(uncompress(bytes, &len, packed->bytes, packed->len), Z_OK);
		CHECK_INT(len, packed->object_len);
		CHECK(memmem(bytes, len, ".BTF", 4));
		CHECK(!memmem(bytes, len, ".debug_", 7));
		free(bytes);
	}
}

TEST_MAIN({ "copy", test_copy }, { "file", test_no_such_file },
	  { "dwarf", test_no_dwarf })
