/* SPDX-License-Identifier: Apache-2.0 */
/* Reads Methods with their names and line tables, and keeps them by address. */
#include "runtime/hotspot/methods.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/reader.h"
#include "base/strbuf.h"
#include "runtime/hotspot/identity.h"
#include "runtime/hotspot/names.h"

enum {
	/* bytes read of a Method, ConstMethod or ConstantPool header */
	OBJECT_BYTES_MAX = 512,
	HAS_LINES = 1 << 0, /* ConstMethod::_has_linenumber_table */
	SLOT_TAG = 1,	    /* bit of a constant pool's slot */
	WORD_BYTES = 8,
	/* bytes of a line table read at once: all, or little, as of a copy there may be a part */
	LINES_BYTES = 1024,
	LINES_BYTES_OF_COPY = 32,
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

/* The source of a method: the process, or a copy of the data that names it. */
struct source {
	const struct op_memory *memory;
	const struct op_hotspot_layout *layout;
	bool is_copy;
};

/* An object of the VM, read as a whole. */
struct object {
	uint8_t bytes[OBJECT_BYTES_MAX];
	size_t len;
};

static int read_object(const struct source *from, uint64_t addr,
		       enum op_hotspot_field size, struct object *ret)
{
	ret->len = from->layout->at[size];
	if (!ret->len || ret->len > sizeof(ret->bytes) || addr % WORD_BYTES)
		return -EBADMSG;
	return op_memory_read(from->memory, addr, ret->bytes, ret->len);
}

static struct op_reader member(const struct source *from, const struct object *object,
			       enum op_hotspot_field field)
{
	struct op_reader r = op_reader_init(object->bytes, object->len);

	op_reader_seek(&r, from->layout->at[field]);
	return r;
}

static uint64_t member_u64(const struct source *from, const struct object *object,
			   enum op_hotspot_field field)
{
	struct op_reader r = member(from, object, field);

	return op_read_u64(&r);
}

static uint32_t member_u32(const struct source *from, const struct object *object,
			   enum op_hotspot_field field)
{
	struct op_reader r = member(from, object, field);

	return op_read_u32(&r);
}

static uint32_t member_u16(const struct source *from, const struct object *object,
			   enum op_hotspot_field field)
{
	struct op_reader r = member(from, object, field);

	return op_read_u16(&r);
}

static int read_head(const struct source *from, uint64_t addr, struct head *ret)
{
	struct object object;
	struct head h;
	int r = -EBADMSG;

	if (addr % WORD_BYTES == 0)
		r = op_memory_read(from->memory,
				   addr + from->layout->at[OP_HOTSPOT_METHOD_CONST],
				   &h.const_method, sizeof(h.const_method));
	if (r < 0)
		return r;
	r = read_object(from, h.const_method, OP_HOTSPOT_CONST_BYTES, &object);
	if (r < 0)
		return r;
	h.pool = member_u64(from, &object, OP_HOTSPOT_CONST_CONSTANTS);
	h.words = member_u32(from, &object, OP_HOTSPOT_CONST_WORDS);
	h.code_bytes = member_u16(from, &object, OP_HOTSPOT_CONST_CODE_SIZE);
	h.flags = member_u16(from, &object, OP_HOTSPOT_CONST_FLAGS) & HAS_LINES;
	h.name = member_u16(from, &object, OP_HOTSPOT_CONST_NAME);
	h.signature = member_u16(from, &object, OP_HOTSPOT_CONST_SIGNATURE);
	*ret = h;
	return 0;
}

/* Read the Symbol at @addr: *@ret_len bytes. */
static int read_symbol(const struct source *from, uint64_t addr,
		       uint8_t ret[OP_HOTSPOT_SYMBOL_MAX], size_t *ret_len)
{
	const uint64_t *at = from->layout->at;
	uint16_t len;
	int r;

	addr &= ~(uint64_t)SLOT_TAG;
	r = op_memory_read(from->memory, addr + at[OP_HOTSPOT_SYMBOL_LENGTH], &len,
			   sizeof(len));
	if (r < 0)
		return r;
	if (len > OP_HOTSPOT_SYMBOL_MAX)
		len = OP_HOTSPOT_SYMBOL_MAX;
	*ret_len = len;
	return len ? op_memory_read(from->memory, addr + at[OP_HOTSPOT_SYMBOL_BODY], ret,
				    len)
		   : -EBADMSG;
}

/* The Symbol in slot @index of the constant pool at @addr, whose header is @pool. */
static int slot_symbol(const struct source *from, uint64_t addr,
		       const struct object *pool, uint32_t index, uint64_t *ret)
{
	if (!index || index >= member_u32(from, pool, OP_HOTSPOT_POOL_LENGTH))
		return -EBADMSG;
	return op_memory_read(from->memory,
			      addr + pool->len + (uint64_t)index * WORD_BYTES, ret,
			      sizeof(*ret));
}

/* Read the Symbol of a slot: *@ret_len bytes. */
static int read_slot(const struct source *from, uint64_t addr, const struct object *pool,
		     uint32_t index, uint8_t ret[OP_HOTSPOT_SYMBOL_MAX], size_t *ret_len)
{
	uint64_t symbol;
	int r = slot_symbol(from, addr, pool, index, &symbol);

	return r < 0 ? r : read_symbol(from, symbol, ret, ret_len);
}

/* Append "package.Class.method" and a NUL. *@ret_claim: facts on which the name relies,
 * to be checked. */
static int add_name(const struct source *from, const struct head *h,
		    const struct object *pool, struct op_strbuf *to,
		    struct op_hotspot_claim *ret_claim)
{
	uint8_t bytes[OP_HOTSPOT_SYMBOL_MAX];
	uint64_t klass = member_u64(from, pool, OP_HOTSPOT_POOL_HOLDER);
	uint64_t symbol;
	size_t len = 0;
	int r = 0;

	if (!from->is_copy)
		r = read_slot(from, h->pool, pool, h->signature, bytes, &len);
	if (r == 0 && !from->is_copy && bytes[0] != '(')
		r = -EBADMSG;
	if (r == 0)
		r = op_memory_read(from->memory,
				   klass + from->layout->at[OP_HOTSPOT_KLASS_NAME],
				   &symbol, sizeof(symbol));
	if (r == 0)
		r = read_symbol(from, symbol, bytes, &len);
	if (r < 0)
		return r;
	op_runtime_hotspot_class(to, bytes, len);
	op_strbuf_add(to, ".", 1);
	r = slot_symbol(from, h->pool, pool, h->name, &symbol);
	if (r == 0)
		r = read_symbol(from, symbol, bytes, &len);
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

/* Append the source file's name, if there is one, and a NUL. Returns whether the result
 * is certain. */
static bool add_file(const struct source *from, const struct head *h,
		     const struct object *pool, uint64_t klass, struct op_strbuf *to)
{
	const struct op_hotspot_layout *l = from->layout;
	uint8_t bytes[OP_HOTSPOT_SYMBOL_MAX];
	uint16_t index = 0;
	bool is_read = true;
	size_t len;

	if (l->there[OP_HOTSPOT_POOL_FILE])
		index = (uint16_t)member_u16(from, pool, OP_HOTSPOT_POOL_FILE);
	else if (l->there[OP_HOTSPOT_KLASS_FILE] &&
		 op_memory_read(from->memory, klass + l->at[OP_HOTSPOT_KLASS_FILE],
				&index, sizeof(index)) < 0)
		is_read = false;
	if (index && read_slot(from, h->pool, pool, index, bytes, &len) == 0)
		op_runtime_hotspot_utf8(to, bytes, len);
	else if (index)
		is_read = false;
	op_strbuf_add(to, "", 1);
	return is_read;
}

/* Append the line table, which is between the bytecodes and the end of the object.
 * Returns whether it was complete. */
static bool add_lines(const struct source *from, const struct head *h,
		      struct op_strbuf *to)
{
	uint64_t at = from->layout->at[OP_HOTSPOT_CONST_BYTES] + h->code_bytes;
	uint64_t end = h->words * WORD_BYTES;
	uint8_t bytes[LINES_BYTES];
	size_t most = from->is_copy ? LINES_BYTES_OF_COPY : sizeof(bytes);

	if (!(h->flags & HAS_LINES) || end <= at)
		return true;
	if (end - at > OP_HOTSPOT_LINES_MAX)
		end = at + OP_HOTSPOT_LINES_MAX;
	while (at < end) {
		size_t len = OP_MIN(end - at, (uint64_t)most);

		if (op_memory_read(from->memory, h->const_method + at, bytes, len) < 0)
			return false;
		op_strbuf_add(to, bytes, len);
		if (memchr(bytes, 0, len)) /* only the end of the table is a zero byte */
			break;
		at += len;
	}
	return true;
}

/* Read the method whose header is @h. The caller frees *@ret with free(). */
static int read_method(const struct source *from, uint64_t addr, const struct head *h,
		       struct op_hotspot_method **ret)
{
	_cleanup_(op_strbuf_deinit) struct op_strbuf text = { 0 };
	struct op_hotspot_method *method;
	struct op_hotspot_claim claim = { .method = addr, .pool = h->pool };
	struct object pool;
	uint32_t file;
	uint32_t lines;
	bool whole;
	int r = read_object(from, h->pool, OP_HOTSPOT_POOL_BYTES, &pool);

	if (r == 0)
		r = add_name(from, h, &pool, &text, &claim);
	if (r == 0 && !from->is_copy) {
		claim.pool_len = member_u32(from, &pool, OP_HOTSPOT_POOL_LENGTH);
		r = op_runtime_hotspot_check_owner(from->memory, from->layout, &claim);
	}
	if (r < 0)
		return r;
	file = (uint32_t)text.len;
	whole = add_file(from, h, &pool, claim.klass, &text);
	lines = (uint32_t)text.len;
	whole &= add_lines(from, h, &text);
	if (text.failed)
		return -ENOMEM;
	method = malloc(sizeof(*method) + text.len);
	if (!method)
		return -ENOMEM;
	*method = (struct op_hotspot_method){
		.addr = addr,
		.whole = whole,
		.code = h->const_method + from->layout->at[OP_HOTSPOT_CONST_BYTES],
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

static struct op_hotspot_method *find(const struct op_hotspot_methods *methods,
				      uint64_t addr, uint32_t check, uint64_t *ret_at)
{
	struct op_hotspot_method *method =
		op_objects_find(&methods->objects, op_object_id(addr, check), ret_at);

	return method && method->addr == addr && method->check == check ? method : NULL;
}

/* Read and keep the Method at @addr, which has the identity @check there. It replaces the one at
 * index @at. */
static int read_and_keep(struct op_hotspot_methods *methods, const struct source *from,
			 uint64_t addr, uint32_t check, uint64_t at,
			 struct op_hotspot_method **ret)
{
	_cleanup_free_ struct op_hotspot_method *method = NULL;
	uint32_t after;
	struct head head;
	int r = read_head(from, addr, &head);

	if (r == 0)
		r = read_method(from, addr, &head, &method);
	/* it was the same Method all the time */
	if (r == 0)
		r = op_runtime_hotspot_identity(from->memory, from->layout, addr, &after);
	if (r < 0)
		return r;
	if (after != check)
		return -ESTALE;
	method->check = check;
	method->window = methods->window;
	*ret = method;
	return op_objects_keep(&methods->objects, op_object_id(addr, check),
			       OP_TAKE_PTR(method), at);
}

int op_runtime_hotspot_methods_get(struct op_hotspot_methods *methods, uint64_t addr,
				   uint32_t check, const struct op_hotspot_method **ret)
{
	const struct source living = { methods->memory, methods->layout, false };
	struct op_hotspot_method *method = NULL;
	uint64_t at = UINT64_MAX;
	uint32_t now = 0;
	int r = 0;

	if (check)
		method = find(methods, addr, check, &at);
	if (!method || (!method->whole && method->window != methods->window))
		r = op_runtime_hotspot_identity(living.memory, living.layout, addr, &now);
	if (r == 0 && !check)
		method = find(methods, addr, now, &at);
	if (method && (method->whole || method->window == methods->window || r < 0 ||
		       now != method->check)) {
		*ret = method;
		return 0;
	}
	if (r < 0)
		return r;
	if (check && now != check) {
		methods->changed++;
		return -ESTALE;
	}
	r = read_and_keep(methods, &living, addr, now, at, &method);
	if (r < 0)
		return r;
	methods->reads++;
	*ret = method;
	return 0;
}

int op_runtime_hotspot_methods_add(struct op_hotspot_methods *methods, uint64_t addr,
				   const struct op_memory *copy, uint64_t *ret_key)
{
	const struct source from = { copy, methods->layout, true };
	struct op_hotspot_method *method;
	uint64_t at;
	uint32_t check;
	int r = op_runtime_hotspot_identity(copy, methods->layout, addr, &check);

	if (r < 0)
		return r;
	if (!find(methods, addr, check, &at))
		r = read_and_keep(methods, &from, addr, check, at, &method);
	/* a part that was cut off can be read while the Method lives */
	if (r == 0 && at == UINT64_MAX)
		method->window--;
	if (r == 0)
		*ret_key = op_object_id(addr, check);
	return r;
}

const struct op_hotspot_method *
op_runtime_hotspot_methods_find(const struct op_hotspot_methods *methods, uint64_t key)
{
	uint64_t at;

	return op_objects_find(&methods->objects, key, &at);
}
