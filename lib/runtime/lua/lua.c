/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime operations of LuaJIT, for a file, a process and a frame. */
#include "runtime/runtime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/reader.h"
#include "runtime/lua/image.h"
#include "runtime/lua/name.h"
#include "runtime/lua/trace.h"

enum {
	PAGE_MASK = 0xfff,
};

struct lua_instance {
	struct op_lua_protos protos;
	struct op_lua_traces traces;
	struct op_strbuf names; /* of the last described frame */
	char unknown[OP_RUNTIME_GONE_BYTES];
};

static int lua_probe(struct op_elf *elf, const char *path,
		     const struct op_layouts *layouts, struct op_log *log,
		     void **ret_image, struct op_runtime_loop *ret_loop)
{
	_cleanup_free_ struct op_lua *image = calloc(1, sizeof(*image));
	int r;

	if (!image)
		return -ENOMEM;
	r = op_runtime_lua_image(elf, path, log, image, ret_loop);
	if (r == 1)
		*ret_image = OP_TAKE_PTR(image);
	return r;
}

static int lua_attach(void *image, const struct op_runtime_target *target,
		      struct op_log *log, void *bpf, void **ret_instance)
{
	struct lua_instance *instance = calloc(1, sizeof(*instance));
	struct op_lua *lua = bpf;

	if (!instance)
		return -ENOMEM;
	*lua = *(const struct op_lua *)image;
	lua->enter[0] += target->bias;
	lua->enter[1] += target->bias;
	lua->leave[0] += target->bias;
	lua->leave[1] += target->bias;
	lua->end[0] += target->bias;
	lua->end[1] += target->bias;
	lua->jump += target->bias;
	op_runtime_lua_protos_init(&instance->protos, target->memory);
	op_runtime_lua_traces_init(&instance->traces, target->memory, &instance->protos);
	*ret_instance = instance;
	return 0;
}

static void lua_detach(void *data)
{
	struct lua_instance *instance = data;

	if (!instance)
		return;
	op_runtime_lua_traces_deinit(&instance->traces);
	op_runtime_lua_protos_deinit(&instance->protos);
	op_strbuf_deinit(&instance->names);
	free(instance);
}

/* Is the mapping an area of traces? An area begins with the address of the area before
 * it, or 0, and its size. Adjacent areas are one mapping. */
static bool is_area(const void *data, const struct op_runtime_target *target,
		    const struct op_runtime_mapping *m)
{
	uint8_t head[16];
	struct op_reader in = op_reader_init(head, sizeof(head));
	uint64_t before;
	uint64_t size;

	if (m->path[0] ||
	    op_memory_read(target->memory, m->start, head, sizeof(head)) < 0)
		return false;
	before = op_read_u64(&in);
	size = op_read_u64(&in);
	return !(before & PAGE_MASK) && size && !(size & PAGE_MASK) &&
	       size <= m->end - m->start;
}

static int lua_update(void *data, const struct op_runtime_target *target, void *bpf,
		      struct op_runtime_code *ret)
{
	op_runtime_claim_code(target, is_area, NULL, ret);
	return 0;
}

/* A frame's function, and its caller. */
struct function {
	const struct op_lua_proto *proto; /* NULL: a function in C, or unknown */
	uint32_t place;
	uint64_t addr; /* of a function in C */
	uint32_t ffid;
	const struct op_lua_proto *caller; /* NULL: not Lua code */
	uint32_t caller_place;
};

/* The line of the instruction before the one at @place. */
static uint32_t line_of(const struct op_lua_proto *p, uint32_t place,
			bool *ret_approximate)
{
	if (place == OP_LUA_RETURNS && p->instructions) {
		*ret_approximate = true; /* it may return from another instruction */
		return op_runtime_lua_line(p, p->instructions - 1);
	}
	if (!place || place > p->instructions) {
		*ret_approximate = place != 0;
		return p->line_info ? p->first_line : 0;
	}
	return op_runtime_lua_line(p, place - 1);
}

static int add_name(struct lua_instance *instance, const struct function *f)
{
	struct op_strbuf *names = &instance->names;
	size_t begun = names->len;
	int r = 0;

	if (f->proto && !f->proto->first_line && f->proto->lines) {
		op_strbuf_puts(names, "main chunk");
		r = 1;
	} else if (f->caller && f->caller_place) {
		r = op_runtime_lua_called(f->caller, f->caller_place - 1,
					  instance->protos.memory, names);
	}
	if (r == -ENOMEM)
		return r;
	if (r != 1) {
		names->len = begun;
		if (f->proto)
			op_strbuf_printf(names, "function <%s:%u>", f->proto->file,
					 f->proto->first_line);
		else if (f->ffid > 1)
			op_strbuf_printf(names, "[builtin#%u]", f->ffid);
		else if (f->addr)
			op_strbuf_printf(names, "[C] at 0x%llx",
					 (unsigned long long)f->addr);
		else
			op_strbuf_puts(names, "[inlined]");
	}
	op_strbuf_add(names, "", 1);
	return names->failed ? -ENOMEM : 0;
}

/* Describe @f as the next function of @ret. */
static int add_function(struct lua_instance *instance, const struct function *f,
			struct op_runtime_frame *ret)
{
	struct op_runtime_function *to = &ret->function[ret->len];
	size_t at = instance->names.len;
	int r = add_name(instance, f);

	if (r < 0)
		return r;
	/* an offset, because text moves until all names are added */
	*to = (struct op_runtime_function){ .name = (const char *)at, .file = "" };
	if (f->proto) {
		to->file = f->proto->file;
		to->line = line_of(f->proto, f->place, &ret->approximate);
		to->start_line = f->proto->first_line;
	}
	ret->len++;
	return 0;
}

/* The prototype with these words. NULL if there is none, or if it was freed. */
static int proto_of(struct lua_instance *instance, uint64_t addr, uint64_t place,
		    const struct op_lua_proto **ret)
{
	int r;

	*ret = NULL;
	if (!addr)
		return 0;
	r = op_runtime_lua_proto(&instance->protos, addr & OP_FRAME_ADDRESS_MASK,
				 (uint32_t)(place >> 32), ret);
	return r;
}

/* Add the functions of a trace. Each is called by the next. */
static int add_trace(struct lua_instance *instance, const uint64_t *words,
		     const struct function *entered, struct op_runtime_frame *ret)
{
	struct op_lua_inlined inlined[OP_RUNTIME_INLINED_MAX];
	struct function f[OP_RUNTIME_INLINED_MAX + 1] = { 0 };
	size_t len;
	size_t i;
	int r = op_runtime_lua_trace(&instance->traces, words, inlined, &len);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return add_function(instance, entered, ret);
	for (i = 0; i < len; i++) {
		r = proto_of(instance, inlined[i].proto, (uint64_t)inlined[i].guard << 32,
			     &f[i].proto);
		if (r == -ENOMEM)
			return r;
		f[i].place = inlined[i].place;
	}
	f[len - 1].caller = entered->caller;
	f[len - 1].caller_place = entered->caller_place;
	for (r = 0, i = 0; r == 0 && i < len; i++) {
		if (i + 1 < len) {
			f[i].caller = f[i + 1].proto;
			f[i].caller_place = f[i + 1].place;
		}
		r = add_function(instance, &f[i], ret);
	}
	return r;
}

static int lua_describe(void *data, const uint64_t *words, size_t len,
			struct op_runtime_frame *ret)
{
	struct lua_instance *instance = data;
	uint64_t reads = instance->protos.reads + instance->traces.reads;
	uint64_t word[OP_LUA_TRACE_WORDS] = { 0 };
	uint32_t what;
	struct function f = { 0 };
	bool trace;
	size_t i;
	int r;

	if (len != OP_LUA_FRAME_WORDS && len != OP_LUA_CALLED_WORDS &&
	    len != OP_LUA_TRACE_WORDS)
		return -EBADMSG;
	memcpy(word, words, len * sizeof(*words));
	what = (uint8_t)(word[1] >> OP_LUA_KIND_SHIFT);
	trace = what == OP_LUA_TRACE;
	op_objects_begin(&instance->protos.objects);
	op_objects_begin(&instance->traces.objects);
	op_strbuf_reset(&instance->names);
	f.place = trace ? OP_LUA_NO_PLACE : (uint32_t)word[1] & OP_LUA_PLACE_MASK;
	f.addr = word[0] & OP_FRAME_ADDRESS_MASK;
	f.ffid = (uint8_t)word[1];
	r = proto_of(instance, word[2], word[3], &f.caller);
	f.caller_place = (uint32_t)word[3] & OP_LUA_PLACE_MASK;
	if (r != -ENOMEM && what != OP_LUA_C)
		r = trace ? proto_of(instance, word[4], word[5], &f.proto)
			  : proto_of(instance, word[0], word[1], &f.proto);
	if (r == -ENOMEM)
		return r;
	ret->len = 0;
	if (what != OP_LUA_C && !f.proto) {
		op_runtime_frame_gone(&op_runtime_lua, f.addr, r, instance->unknown, ret);
		return 0;
	}
	r = trace ? add_trace(instance, word, &f, ret) : add_function(instance, &f, ret);
	if (r < 0)
		return r;
	for (i = 0; i < ret->len; i++)
		ret->function[i].name =
			instance->names.data + (size_t)ret->function[i].name;
	ret->fresh = instance->protos.reads + instance->traces.reads != reads;
	return 0;
}

const struct op_runtime_ops op_runtime_lua = {
	.id = OP_RUNTIME_LUA,
	.frame_type = "lua",
	.bpf_size = sizeof(struct op_lua),
	.file_names = (const char *const[]){ "luajit", "libluajit", NULL },
	.probe = lua_probe,
	.attach = lua_attach,
	.detach = lua_detach,
	.update = lua_update,
	.describe = lua_describe,
};
