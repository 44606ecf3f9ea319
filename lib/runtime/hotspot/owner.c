/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a Method against the list of methods of its class. */
#include "runtime/hotspot/methods.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"

enum {
	WORD_BYTES = 8,
	CLASS_METHODS_MAX = 8192, /* methods of larger classes are not looked up */
	OLD_METHODS_MAX = 256,	  /* methods that are compared by name */
};

struct owner {
	const struct op_memory *memory;
	const uint64_t *at; /* offsets of the layout */
};

static int read_word(const struct owner *owner, uint64_t addr, uint64_t *ret)
{
	return op_memory_read(owner->memory, addr, ret, sizeof(*ret));
}

/* Read the pointer to an Array at @addr, and the number of its elements. */
static int read_array(const struct owner *owner, uint64_t addr, uint64_t *ret,
		      uint32_t *ret_len)
{
	int r = read_word(owner, addr, ret);

	return r < 0 ? r
		     : op_memory_read(owner->memory,
				      *ret + owner->at[OP_HOTSPOT_METHODS_LEN], ret_len,
				      sizeof(*ret_len));
}

/* The Symbol with the name of the Method at @addr; 0: its constant pool is not @pool. */
static int name_of(const struct owner *owner, uint64_t addr, uint64_t pool, uint64_t *ret)
{
	const uint64_t *at = owner->at;
	uint64_t const_method;
	uint64_t constants;
	uint16_t index;
	int r = read_word(owner, addr + at[OP_HOTSPOT_METHOD_CONST], &const_method);

	*ret = 0;
	if (r == 0)
		r = read_word(owner, const_method + at[OP_HOTSPOT_CONST_CONSTANTS],
			      &constants);
	if (r < 0 || constants != pool)
		return r;
	r = op_memory_read(owner->memory, const_method + at[OP_HOTSPOT_CONST_NAME],
			   &index, sizeof(index));
	return r < 0 ? r
		     : read_word(owner,
				 pool + at[OP_HOTSPOT_POOL_BYTES] +
					 (uint64_t)index * WORD_BYTES,
				 ret);
}

/* Is the claimed Method among the @len methods at @array? Returns 1, 0 or -errno. */
static int is_listed(const struct owner *owner, uint64_t array, uint32_t len,
		     const struct op_hotspot_claim *claim)
{
	uint64_t some[128];
	uint32_t i;

	for (i = 0; i < len; i++) {
		uint32_t k = i % OP_ARRAY_SIZE(some);
		size_t most = OP_MIN((size_t)(len - i), OP_ARRAY_SIZE(some));
		int r = 0;

		if (!k)
			r = op_memory_read(owner->memory, array + i * WORD_BYTES, some,
					   most * WORD_BYTES);
		if (r < 0)
			return r;
		if (some[k] == claim->method)
			return 1;
	}
	return 0;
}

/*
 * Does the class, whose constant pool is now @constants, have a method with the claimed
 * one's name? A redefined class does: redefinition keeps the names of methods. So does
 * the class of the methods that the VM generates for method handles.
 */
static int is_named(const struct owner *owner, uint64_t array, uint32_t len,
		    uint64_t constants, const struct op_hotspot_claim *claim)
{
	uint32_t i;

	for (i = 0; i < OP_MIN(len, (uint32_t)OLD_METHODS_MAX); i++) {
		uint64_t method;
		uint64_t name;
		int r = read_word(owner, array + i * WORD_BYTES, &method);

		if (r == 0)
			r = name_of(owner, method, constants, &name);
		if (r < 0)
			return r;
		if (name == claim->name)
			return 1;
	}
	return 0;
}

int op_runtime_hotspot_check_owner(const struct op_memory *memory,
				   const struct op_hotspot_layout *layout,
				   const struct op_hotspot_claim *claim)
{
	const struct owner owner = { .memory = memory, .at = layout->at };
	const uint64_t *at = layout->at;
	uint64_t constants;
	uint64_t array;
	uint32_t len;
	int i;
	int r;

	for (i = OP_HOTSPOT_POOL_TAGS; i <= OP_HOTSPOT_METHODS_DATA; i++)
		if (!layout->there[i])
			return 0;
	/* A constant pool has as many tags as slots. */
	r = read_array(&owner, claim->pool + at[OP_HOTSPOT_POOL_TAGS], &array, &len);
	if (r < 0 || len != claim->pool_len)
		return r < 0 ? r : -EBADMSG;
	r = read_word(&owner, claim->klass + at[OP_HOTSPOT_KLASS_CONSTANTS], &constants);
	if (r == 0)
		r = read_array(&owner, claim->klass + at[OP_HOTSPOT_KLASS_METHODS],
			       &array, &len);
	if (r < 0 || len > CLASS_METHODS_MAX)
		return r;
	array += at[OP_HOTSPOT_METHODS_DATA];
	r = constants == claim->pool ? is_listed(&owner, array, len, claim)
				     : is_named(&owner, array, len, constants, claim);
	return r < 0 ? r : r ? 0 : -EBADMSG;
}

bool op_runtime_hotspot_is_method_name(const uint8_t *name, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (strchr(".;[/", name[i]))
			return false;
	return len;
}
