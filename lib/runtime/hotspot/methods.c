/* SPDX-License-Identifier: Apache-2.0 */
/* Reads Methods with their names and line tables, and keeps them by address. */
#include "runtime/hotspot/methods.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/reader.h"
#include "base/strbuf.h"
#include "runtime/hotspot/names.h"

enum {
	/* bytes read of a Method, ConstMethod or ConstantPool header */
	OBJECT_BYTES_MAX = 512,
	HAS_LINES = 1 << 0, /* ConstMethod::_has_linenumber_table */
	SLOT_TAG = 1,	    /* bit of a constant pool's slot */
	WORD_BYTES = 8,
};

/* The members of a Method that never change. */
struct head {
	uint64_t const_method;
	uint64_t pool;
	uint64_t words; /* size of the ConstMethod, tables included */
	uint32_t code_bytes;
	uint32_t flags;
	uint32_t name;
	uint32_t signature;
};

static size_t method_bytes(const void *object)
{
	const struct op_hotspot_method *method = object;

	return sizeof(*method) + method->lines + method->lines_len;
}

static const struct op_objects_kind kind = {
	.max = OP_HOTSPOT_METHODS_MAX,
	.bytes_max = OP_HOTSPOT_METHODS_BYTES,
	.bytes = method_bytes,
	.free = free,
};

void op_runtime_hotspot_methods_init(struct op_hotspot_methods *methods,
				     const struct op_memory *memory,
				     const struct op_hotspot_layout *layout)
{
	*methods = (struct op_hotspot_methods){ .memory = memory,
						.layout = layout,
						.objects = op_objects_init(&kind) };
}

void op_runtime_hotspot_methods_deinit(struct op_hotspot_methods *methods)
{
	op_objects_deinit(&methods->objects);
}

/* An object of the VM, read as a whole. */
struct object {
	uint8_t bytes[OBJECT_BYTES_MAX];
	size_t len;
};

static int read_object(const struct op_hotspot_methods *methods, uint64_t addr,
		       enum op_hotspot_field size, struct object *ret)
{
	ret->len = methods->layout->at[size];
	if (!ret->len || ret->len > sizeof(ret->bytes) || addr % WORD_BYTES)
		return -EBADMSG;
	return op_memory_read(methods->memory, addr, ret->bytes, ret->len);
}

static struct op_reader member(const struct op_hotspot_methods *methods,
			       const struct object *object, enum op_hotspot_field field)
{
	struct op_reader r = op_reader_init(object->bytes, object->len);

	op_reader_seek(&r, methods->layout->at[field]);
	return r;
}

static uint64_t member_u64(const struct op_hotspot_methods *methods,
			   const struct object *object, enum op_hotspot_field field)
{
	struct op_reader r = member(methods, object, field);

	return op_read_u64(&r);
}

static uint32_t member_u32(const struct op_hotspot_methods *methods,
			   const struct object *object, enum op_hotspot_field field)
{
	struct op_reader r = member(methods, object, field);

	return op_read_u32(&r);
}

static uint32_t member_u16(const struct op_hotspot_methods *methods,
			   const struct object *object, enum op_hotspot_field field)
{
	struct op_reader r = member(methods, object, field);

	return op_read_u16(&r);
}

static int read_head(const struct op_hotspot_methods *methods, uint64_t addr,
		     struct head *ret)
{
	struct object object;
	struct head h;
	int r = read_object(methods, addr, OP_HOTSPOT_METHOD_BYTES, &object);

	if (r < 0)
		return r;
	h.const_method = member_u64(methods, &object, OP_HOTSPOT_METHOD_CONST);
	r = read_object(methods, h.const_method, OP_HOTSPOT_CONST_BYTES, &object);
	if (r < 0)
		return r;
	h.pool = member_u64(methods, &object, OP_HOTSPOT_CONST_CONSTANTS);
	h.words = member_u32(methods, &object, OP_HOTSPOT_CONST_WORDS);
	h.code_bytes = member_u16(methods, &object, OP_HOTSPOT_CONST_CODE_SIZE);
	h.flags = member_u16(methods, &object, OP_HOTSPOT_CONST_FLAGS) & HAS_LINES;
	h.name = member_u16(methods, &object, OP_HOTSPOT_CONST_NAME);
	h.signature = member_u16(methods, &object, OP_HOTSPOT_CONST_SIGNATURE);
	*ret = h;
	return 0;
}

static uint64_t cookie_of(const struct head *h)
{
	const uint64_t words[] = { h->const_method, h->pool, h->words,	  h->code_bytes,
				   h->flags,	    h->name, h->signature };

	return op_hash_bytes(words, sizeof(words), 0);
}

/* Read the Symbol at @addr: *@ret_len bytes. */
static int read_symbol(const struct op_hotspot_methods *methods, uint64_t addr,
		       uint8_t ret[OP_HOTSPOT_SYMBOL_MAX], size_t *ret_len)
{
	const uint64_t *at = methods->layout->at;
	uint16_t len;
	int r;

	addr &= ~(uint64_t)SLOT_TAG;
	r = op_memory_read(methods->memory, addr + at[OP_HOTSPOT_SYMBOL_LENGTH], &len,
			   sizeof(len));
	if (r < 0)
		return r;
	if (len > OP_HOTSPOT_SYMBOL_MAX)
		len = OP_HOTSPOT_SYMBOL_MAX;
	*ret_len = len;
	return len ? op_memory_read(methods->memory, addr + at[OP_HOTSPOT_SYMBOL_BODY],
				    ret, len)
		   : -EBADMSG;
}

/* The Symbol in slot @index of the constant pool at @addr, whose header is @pool. */
static int slot_symbol(const struct op_hotspot_methods *methods, uint64_t addr,
		       const struct object *pool, uint32_t index, uint64_t *ret)
{
	if (!index || index >= member_u32(methods, pool, OP_HOTSPOT_POOL_LENGTH))
		return -EBADMSG;
	return op_memory_read(methods->memory,
			      addr + pool->len + (uint64_t)index * WORD_BYTES, ret,
			      sizeof(*ret));
}

/* Read the Symbol of a slot: *@ret_len bytes. */
static int read_slot(const struct op_hotspot_methods *methods, uint64_t addr,
		     const struct object *pool, uint32_t index,
		     uint8_t ret[OP_HOTSPOT_SYMBOL_MAX], size_t *ret_len)
{
	uint64_t symbol;
	int r = slot_symbol(methods, addr, pool, index, &symbol);

	return r < 0 ? r : read_symbol(methods, symbol, ret, ret_len);
}

/* Append "package.Class.method" and a NUL. *@ret_claim: what the name relies on, to be
 * checked. */
static int add_name(const struct op_hotspot_methods *methods, const struct head *h,
		    const struct object *pool, struct op_strbuf *to,
		    struct op_hotspot_claim *ret_claim)
{
	uint8_t bytes[OP_HOTSPOT_SYMBOL_MAX];
	uint64_t klass = member_u64(methods, pool, OP_HOTSPOT_POOL_HOLDER);
	uint64_t symbol;
	size_t len;
	int r = read_slot(methods, h->pool, pool, h->signature, bytes, &len);

	if (r == 0 && bytes[0] != '(')
		r = -EBADMSG;
	if (r == 0)
		r = op_memory_read(methods->memory,
				   klass + methods->layout->at[OP_HOTSPOT_KLASS_NAME],
				   &symbol, sizeof(symbol));
	if (r == 0)
		r = read_symbol(methods, symbol, bytes, &len);
	if (r < 0)
		return r;
	op_runtime_hotspot_class(to, bytes, len);
	op_strbuf_add(to, ".", 1);
	r = slot_symbol(methods, h->pool, pool, h->name, &symbol);
	if (r == 0)
		r = read_symbol(methods, symbol, bytes, &len);
	if (r == 0 && !op_runtime_hotspot_is_method_name(bytes, len))
		r = -EBADMSG;
	if (r < 0)
		return r;
	op_runtime_hotspot_utf8(to, bytes, len);
	op_strbuf_add(to, "", 1);
	ret_claim->klass = klass;
	ret_claim->name = symbol;
	return 0;
}

/* Append the source file's name, if there is one, and a NUL. */
static void add_file(const struct op_hotspot_methods *methods, const struct head *h,
		     const struct object *pool, uint64_t klass, struct op_strbuf *to)
{
	const struct op_hotspot_layout *l = methods->layout;
	uint8_t bytes[OP_HOTSPOT_SYMBOL_MAX];
	uint16_t index = 0;
	size_t len;

	if (l->there[OP_HOTSPOT_POOL_FILE])
		index = (uint16_t)member_u16(methods, pool, OP_HOTSPOT_POOL_FILE);
	else if (l->there[OP_HOTSPOT_KLASS_FILE] &&
		 op_memory_read(methods->memory, klass + l->at[OP_HOTSPOT_KLASS_FILE],
				&index, sizeof(index)) < 0)
		index = 0;
	if (read_slot(methods, h->pool, pool, index, bytes, &len) == 0)
		op_runtime_hotspot_utf8(to, bytes, len);
	op_strbuf_add(to, "", 1);
}

/* Append the line table, which lies between the bytecodes and the end of the object. */
static void add_lines(const struct op_hotspot_methods *methods, const struct head *h,
		      struct op_strbuf *to)
{
	uint64_t from = methods->layout->at[OP_HOTSPOT_CONST_BYTES] + h->code_bytes;
	uint64_t end = h->words * WORD_BYTES;
	uint8_t bytes[1024];

	if (!(h->flags & HAS_LINES) || end <= from)
		return;
	if (end - from > OP_HOTSPOT_LINES_MAX)
		end = from + OP_HOTSPOT_LINES_MAX;
	while (from < end) {
		size_t len = end - from < sizeof(bytes) ? end - from : sizeof(bytes);

		if (op_memory_read(methods->memory, h->const_method + from, bytes, len) <
		    0)
			return;
		op_strbuf_add(to, bytes, len);
		if (memchr(bytes, 0, len)) /* only the end of the table is a zero byte */
			return;
		from += len;
	}
}

/* Read the method whose header is @h. The caller frees *@ret with free(). */
static int read_method(const struct op_hotspot_methods *methods, uint64_t addr,
		       const struct head *h, struct op_hotspot_method **ret)
{
	_cleanup_(op_strbuf_deinit) struct op_strbuf text = { 0 };
	struct op_hotspot_method *method;
	struct op_hotspot_claim claim = { .method = addr, .pool = h->pool };
	struct object pool;
	uint32_t file;
	uint32_t lines;
	int r = read_object(methods, h->pool, OP_HOTSPOT_POOL_BYTES, &pool);

	if (r == 0)
		r = add_name(methods, h, &pool, &text, &claim);
	if (r == 0) {
		claim.pool_len = member_u32(methods, &pool, OP_HOTSPOT_POOL_LENGTH);
		r = op_runtime_hotspot_check_owner(methods->memory, methods->layout,
						   &claim);
	}
	if (r < 0)
		return r;
	file = (uint32_t)text.len;
	add_file(methods, h, &pool, claim.klass, &text);
	lines = (uint32_t)text.len;
	add_lines(methods, h, &text);
	if (text.failed)
		return -ENOMEM;
	method = malloc(sizeof(*method) + text.len);
	if (!method)
		return -ENOMEM;
	*method = (struct op_hotspot_method){
		.addr = addr,
		.cookie = cookie_of(h),
		.code = h->const_method + methods->layout->at[OP_HOTSPOT_CONST_BYTES],
		.code_bytes = h->code_bytes,
		.file = file,
		.lines = lines,
		.lines_len = (uint32_t)text.len - lines
	};
	memcpy(method->text, text.data, text.len);
	*ret = method;
	return 0;
}

void op_runtime_hotspot_methods_begin(struct op_hotspot_methods *methods)
{
	op_objects_begin(&methods->objects);
}

static bool ran(const struct op_hotspot_method *method, uint64_t bcp)
{
	return !bcp || (bcp >= method->code && bcp - method->code < method->code_bytes);
}

int op_runtime_hotspot_methods_get(struct op_hotspot_methods *methods, uint64_t addr,
				   uint64_t bcp, const struct op_hotspot_method **ret)
{
	uint64_t at;
	struct op_hotspot_method *method = op_objects_find(&methods->objects, addr, &at);
	struct head head;
	int r;

	if (method && method->window == methods->window && ran(method, bcp)) {
		*ret = method;
		return 0;
	}
	r = read_head(methods, addr, &head);
	if (r < 0) {
		/* The process is gone. What is cached is right if the bytecode lies in
		 * that method. */
		if (!method || !ran(method, bcp) || r == -EBADMSG)
			return r;
		*ret = method;
		return 0;
	}
	if (!method || method->cookie != cookie_of(&head)) {
		methods->changed += method != NULL;
		r = read_method(methods, addr, &head, &method);
		if (r < 0)
			return r;
		methods->reads++;
		r = op_objects_keep(&methods->objects, addr, method, at);
		if (r < 0)
			return r;
	}
	method->window = methods->window;
	if (!ran(method, bcp))
		return -EBADMSG;
	*ret = method;
	return 0;
}
