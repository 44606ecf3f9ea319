/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets of lj_obj.h are the same in all LuaJIT 2.1 with pointers of 64 bits. */
#include "runtime/lua/proto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/reader.h"

enum {
	/* GCproto */
	PROTO_INSTRUCTIONS = 12,
	PROTO_CONSTANTS = 32,
	PROTO_OBJECTS = 48,
	PROTO_BYTES = 56, /* of all of it; then the number of upvalues */
	PROTO_FILE = 64,
	PROTO_LINE_INFO = 80,
	/* GCstr */
	STRING_TYPE = 4,
	STRING_TEXT = 24,
	PIECE_BYTES = 256,
	/* a chunk that is a string is cut as by lj_debug_shortname() */
	SHOWN_MAX = 48,
	SHOWN_CUT = 45,
};

static const uint32_t BUILT_IN =
	UINT32_MAX; /* the first line of code that comes with LuaJIT */

static struct op_lua_proto *proto_free(struct op_lua_proto *proto)
{
	if (proto) {
		free(proto->file);
		free(proto);
	}
	return NULL;
}
OP_DEFINE_CLEANUP(struct op_lua_proto *, proto_free)

static void object_free(void *object)
{
	proto_free(object);
}

static size_t proto_bytes(const void *object)
{
	const struct op_lua_proto *proto = object;

	return sizeof(*proto) + proto->len + strlen(proto->file) + 1;
}

static const struct op_objects_kind kind = {
	.max = OP_LUA_PROTOS_MAX,
	.bytes_max = OP_LUA_PROTOS_BYTES,
	.bytes = proto_bytes,
	.free = object_free,
};

void op_runtime_lua_protos_init(struct op_lua_protos *protos,
				const struct op_memory *memory)
{
	*protos = (struct op_lua_protos){
		.memory = memory,
		.objects = op_objects_init(&kind),
	};
}

void op_runtime_lua_protos_deinit(struct op_lua_protos *protos)
{
	op_objects_deinit(&protos->objects);
}

int op_runtime_lua_string(const struct op_memory *memory, uint64_t addr,
			  struct op_strbuf *to)
{
	uint8_t head[STRING_TEXT];
	char text[PIECE_BYTES];
	size_t begun = to->len;
	size_t n = sizeof(text);
	size_t len;
	int r = op_memory_read(memory, addr, head, sizeof(head));

	if (r < 0)
		return r;
	if (head[OP_LUA_OBJECT_TYPE] != STRING_TYPE)
		return -EBADMSG;
	addr += STRING_TEXT;
	while (to->len - begun < OP_LUA_TEXT_MAX) {
		r = op_memory_read(memory, addr, text, n);
		/* at the end of memory the text may still end in time */
		if (r < 0 && n > 1) {
			n /= 2;
			continue;
		}
		if (r < 0)
			return r;
		len = strnlen(text, n);
		op_strbuf_add(to, text, len);
		if (to->failed)
			return -ENOMEM;
		if (len < n)
			return 0;
		addr += n;
	}
	return 0;
}

/* Read the name of the chunk at @addr in the form of tracebacks. @built_in: it is
 * LuaJIT's own. */
static int read_file(const struct op_memory *memory, uint64_t addr, bool built_in,
		     char **ret)
{
	_cleanup_(op_strbuf_deinit) struct op_strbuf text = { 0 };
	_cleanup_(op_strbuf_deinit) struct op_strbuf shown = { 0 };
	int r = op_runtime_lua_string(memory, addr, &text);
	size_t len = 0;

	if (r < 0)
		return r;
	if (!text.len)
		op_strbuf_puts(&text, "=?");
	if (text.failed)
		return -ENOMEM;
	if (built_in) {
		op_strbuf_printf(&shown, "[builtin:%s]", text.data);
	} else if (text.data[0] == '@' || text.data[0] == '=') {
		op_strbuf_puts(&shown, text.data + 1);
	} else {
		while (len < SHOWN_MAX && (uint8_t)text.data[len] >= ' ')
			len++;
		if (text.data[len])
			len = OP_MIN(len, (size_t)SHOWN_CUT);
		op_strbuf_printf(&shown, "[string \"%.*s%s\"]", (int)len, text.data,
				 text.data[len] ? "..." : "");
	}
	op_strbuf_add(&shown, "", 1);
	if (shown.failed)
		return -ENOMEM;
	*ret = OP_TAKE_PTR(shown.data);
	return 0;
}

/* The offset of @at in the prototype of @len bytes at @addr. 0 if it is outside. */
static uint32_t inside(uint64_t addr, uint32_t len, uint64_t at)
{
	uint64_t off = at - addr;

	return off >= OP_LUA_PROTO_BYTES && off <= len ? (uint32_t)off : 0;
}

/* Read the head of the prototype at @addr to *@ret, and the address of its file's name to
 * *@ret_file. Returns 0, -EBADMSG, or an error of reading. */
static int read_head(const struct op_memory *memory, uint64_t addr,
		     struct op_lua_proto *ret, uint64_t *ret_file)
{
	uint8_t head[OP_LUA_PROTO_BYTES];
	struct op_reader in = op_reader_init(head, sizeof(head));
	uint64_t lines;
	uint64_t at[3];
	uint64_t constants;
	int r = op_memory_read(memory, addr, head, sizeof(head));

	if (r < 0)
		return r;
	if (head[OP_LUA_OBJECT_TYPE] != OP_LUA_TYPE_PROTO)
		return -EBADMSG;
	*ret = (struct op_lua_proto){ .addr = addr };
	op_reader_seek(&in, PROTO_INSTRUCTIONS);
	ret->instructions = op_read_u32(&in);
	op_reader_seek(&in, PROTO_CONSTANTS);
	constants = op_read_u64(&in);
	op_reader_seek(&in, PROTO_OBJECTS);
	ret->objects = op_read_u32(&in);
	op_reader_seek(&in, PROTO_BYTES);
	ret->len = op_read_u32(&in);
	ret->upvalues = op_read_u8(&in);
	op_reader_seek(&in, PROTO_FILE);
	*ret_file = op_read_u64(&in);
	lines = op_read_u64(&in);
	ret->first_line = (uint32_t)lines;
	ret->lines = (uint32_t)(lines >> 32);
	for (r = 0; r < 3; r++)
		at[r] = op_read_u64(&in);
	ret->guard = op_lua_guard(ret->instructions, *ret_file, lines);
	if (ret->len < OP_LUA_PROTO_BYTES || ret->len > OP_LUA_PROTO_MAX ||
	    ret->instructions > (ret->len - OP_LUA_PROTO_BYTES) / 4)
		return -EBADMSG;
	ret->constants = inside(addr, ret->len, constants);
	ret->line_info = inside(addr, ret->len, at[0]);
	ret->upvalue_names = inside(addr, ret->len, at[1]);
	ret->variables = inside(addr, ret->len, at[2]);
	return 0;
}

/* Read the rest of the prototype with that @head. */
static int read_proto(const struct op_lua_protos *protos, const struct op_lua_proto *head,
		      uint64_t file, struct op_lua_proto **ret)
{
	_cleanup_(proto_freep) struct op_lua_proto *proto =
		calloc(1, sizeof(*proto) + head->len);
	int r;

	if (!proto)
		return -ENOMEM;
	*proto = *head;
	r = op_memory_read(protos->memory, head->addr, proto->bytes, head->len);
	if (r == 0)
		r = read_file(protos->memory, file, head->first_line == BUILT_IN,
			      &proto->file);
	if (r < 0)
		return r;
	*ret = OP_TAKE_PTR(proto);
	return 0;
}

int op_runtime_lua_proto(struct op_lua_protos *protos, uint64_t addr, uint32_t guard,
			 const struct op_lua_proto **ret)
{
	uint64_t key = addr ^ (uint64_t)guard << 32;
	struct op_lua_proto *made = NULL;
	struct op_lua_proto *proto;
	struct op_lua_proto head;
	uint64_t file;
	uint64_t at;
	int r;

	proto = op_objects_find(&protos->objects, key, &at);
	if (proto && (proto->addr != addr || proto->guard != guard))
		proto = NULL; /* another one has the same key */
	/* an entry with the frame's guard is the frame's code, even if it was freed */
	if (proto) {
		*ret = proto;
		return 0;
	}
	r = read_head(protos->memory, addr, &head, &file);
	if (r == 0 && head.guard != guard)
		r = -EBADMSG;
	if (r == 0)
		r = read_proto(protos, &head, file, &made);
	if (r == 0)
		r = op_objects_keep(&protos->objects, key, made, at);
	if (r < 0)
		return r;
	protos->reads++;
	*ret = made;
	return 0;
}

int op_runtime_lua_proto_at(struct op_lua_protos *protos, uint64_t addr,
			    const struct op_lua_proto **ret)
{
	struct op_lua_proto head;
	uint64_t file;
	int r = read_head(protos->memory, addr, &head, &file);

	return r < 0 ? r : op_runtime_lua_proto(protos, addr, head.guard, ret);
}

uint32_t op_runtime_lua_instruction(const struct op_lua_proto *proto, uint32_t i)
{
	uint32_t ret = 0;

	if (i < proto->instructions)
		memcpy(&ret, proto->bytes + OP_LUA_PROTO_BYTES + i * 4ULL, sizeof(ret));
	return ret;
}

uint32_t op_runtime_lua_line(const struct op_lua_proto *proto, uint32_t i)
{
	uint32_t bytes = proto->lines < 256 ? 1 : proto->lines < 65536 ? 2 : 4;
	uint32_t line = 0;
	uint64_t at;

	if (!proto->line_info || i >= proto->instructions)
		return 0;
	if (i == 0)
		return proto->first_line;
	at = proto->line_info + (i - 1) * (uint64_t)bytes;
	if (at + bytes > proto->len)
		return 0;
	memcpy(&line, proto->bytes + at, bytes);
	return proto->first_line + line;
}
