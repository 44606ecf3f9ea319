/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads objects of V8's heap in another process. A word is a small integer (in its
 * upper half), or, if its lowest bit is set, an object's address plus one ("points to"
 * the object). If V8 compresses pointers, a word has 32 bits in the process: the lower
 * half of the address in a cage of 4 GiB, or a small integer times two. Here it is
 * extended to the size of the others. Nothing read is trusted: the map of an object
 * gives its type, and strings and arrays are bounded.
 */
#ifndef OP_RUNTIME_NODE_HEAP_H
#define OP_RUNTIME_NODE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/strbuf.h"
#include "runtime/node/layout.h"

enum {
	OP_NODE_NAME_MAX = 1024,     /* bytes of a name; longer ones are cut */
	OP_NODE_BYTES_MAX = 1 << 20, /* bytes of a table */
	OP_NODE_STRING_PARTS = 64,   /* parts of a cons string */
	OP_NODE_MAPS = 64,	     /* maps whose types are remembered */
};

/* Types by map. Maps of V8's own kinds of objects never move and never end, so that types are known
 * when the process has gone. */
struct op_node_maps {
	uint64_t map[OP_NODE_MAPS];
	uint16_t type[OP_NODE_MAPS];
};

struct op_node_heap {
	const struct op_memory *memory;
	const struct op_node_layout *layout;
	/* Where compressed pointers into the heap begin, and those to trusted objects; 0: not known
	 * yet. */
	uint64_t cage;
	uint64_t trusted_cage;
	struct op_node_maps *maps; /* borrowed; NULL: none are remembered */
};

/* The word for the 32 bits @half of an object in the 4 GiB from @cage on. */
static inline uint64_t op_node_whole(uint64_t cage, uint32_t half)
{
	return half & 1 ? cage | half : (uint64_t)(uint32_t)((int32_t)half >> 1) << 32;
}

/* The start of the 4 GiB that contain an address. */
static inline uint64_t op_node_cage(uint64_t address)
{
	return address & ~(uint64_t)UINT32_MAX;
}

static inline bool op_node_is_object(uint64_t word)
{
	return (word & 3) == 1;
}

static inline bool op_node_is_small(uint64_t word)
{
	return !(word & 1);
}

static inline int32_t op_node_small(uint64_t word)
{
	return (int32_t)(word >> 32);
}

/* Read the word at @offset of the object that @object points to. Returns 0 or -errno. */
int op_runtime_node_word(const struct op_node_heap *heap, uint64_t object,
			 uint32_t offset, uint64_t *ret);
/* Read @count words from @offset on. Returns 0 or -errno. */
int op_runtime_node_words(const struct op_node_heap *heap, uint64_t object,
			  uint32_t offset, uint64_t *ret, size_t count);
/* @word, read of any object, as a pointer into the heap proper. */
uint64_t op_runtime_node_of_heap(const struct op_node_heap *heap, uint64_t word);
/* The length of the array that @object points to. Returns 0; -EBADMSG; or an error of reading. */
int op_runtime_node_length(const struct op_node_heap *heap, uint64_t object,
			   uint32_t *ret);
/* The type of the object that @object points to, or a negative error. */
int op_runtime_node_type(const struct op_node_heap *heap, uint64_t object);
/* Append the string @object as UTF-8, at most @max bytes. Returns 0; -EBADMSG if it is
 * not a string; -ENOMEM; or an error of reading. */
int op_runtime_node_string(const struct op_node_heap *heap, uint64_t object, size_t max,
			   struct op_strbuf *to);
/* Copy the bytes of the ByteArray @object. The caller frees *@ret. Returns 0; -EBADMSG; -ENOMEM;
 * or an error of reading. */
int op_runtime_node_bytes(const struct op_node_heap *heap, uint64_t object, uint8_t **ret,
			  size_t *ret_len);
/* The same for the bytecodes of the BytecodeArray @object. */
int op_runtime_node_bytecodes(const struct op_node_heap *heap, uint64_t object,
			      uint8_t **ret, size_t *ret_len);

/* The characters of a flat string, which lie in one piece. */
struct op_node_chars {
	uint64_t addr;
	uint64_t len;  /* characters */
	uint32_t wide; /* bytes of each, 1 or 2 */
};
/* Returns -EBADMSG if @object is not flat. */
int op_runtime_node_chars(const struct op_node_heap *heap, uint64_t object,
			  struct op_node_chars *ret);

#endif
