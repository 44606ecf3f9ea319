/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime operations of BEAM, for a file, a process and a frame. */
#include "runtime/runtime.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/reader.h"
#include "runtime/beam/image.h"
#include "runtime/beam/list.h"
#include "runtime/thread_slot.h"

#include "op_user_types.h"

#include "op_beam.h"

/* The memory in which BEAM writes code that it executes at another address. */
static const char doubled[] = "/memfd:vmem";
static const char elixir[] = "'Elixir.";

enum {
	NAME_MAX_BYTES = 1024, /* bytes of a function's name; the rest is cut off */
	LOOP_BYTES = 32,       /* bytes of the scheduler's loop that are read */
	WAITS_MAX = 8,	       /* tries to find a module in memory that has none yet */
};

struct beam_instance {
	struct op_beam_list list;
	uint32_t waits;
	char name[NAME_MAX_BYTES];
	char unknown[OP_RUNTIME_GONE_BYTES]; /* the name of a frame that cannot be read */
};

static int beam_probe(struct op_elf *elf, const char *path,
		      const struct op_layouts *layouts, struct op_log *log,
		      void **ret_image, struct op_runtime_loop *ret_loop)
{
	_cleanup_free_ struct op_beam_image *image = calloc(1, sizeof(*image));
	int r;

	if (!image)
		return -ENOMEM;
	r = op_runtime_beam_image(elf, path, log, image);
	if (r == 1)
		*ret_image = OP_TAKE_PTR(image);
	return r;
}

static void beam_detach(void *data)
{
	struct beam_instance *instance = data;

	if (!instance)
		return;
	op_runtime_beam_list_deinit(&instance->list);
	free(instance);
}

/*
 * The scheduler's loop begins with sub $bytes,%rsp; and $-64,%rsp; mov %rsp,disp(%rdi);
 * lea at(%rsp),%rbx. If the offset of `registers` in ErtsSchedulerData is 0, the mov is
 * 48 89 27.
 */
static int read_loop(const struct op_memory *memory, uint64_t addr, struct op_beam *beam)
{
	static const uint8_t align[] = { 0x48, 0x83, 0xe4, 0xc0, 0x48, 0x89, 0x27 };
	uint8_t code[LOOP_BYTES];
	struct op_reader in = op_reader_init(code, sizeof(code));
	const uint8_t *bytes;
	uint32_t at;
	int r = op_memory_read(memory, addr, code, sizeof(code));

	if (r < 0)
		return r;
	bytes = op_read_bytes(&in, 3);
	if (memcmp(bytes, "\x48\x81\xec", 3) != 0)
		return -ENOTSUP;
	beam->registers_bytes = op_read_u32(&in);
	if (memcmp(op_read_bytes(&in, sizeof(align)), align, sizeof(align)) != 0)
		return -ENOTSUP;
	bytes = op_read_bytes(&in, 4);
	if (memcmp(bytes, "\x48\x8d\x9c\x24", 4) == 0)
		at = op_read_u32(&in);
	else if (memcmp(bytes, "\x48\x8d\x5c\x24", 4) == 0)
		at = op_read_u8(&in);
	else
		return -ENOTSUP;
	if (beam->registers_bytes > 1 << 20 || at > beam->registers_bytes)
		return -ENOTSUP;
	beam->registers_at = at;
	return 0;
}

/* Code that modules share is in the module that was loaded first. */
static int find_shared(struct op_beam_list *list, struct op_beam *beam)
{
	struct op_beam_module module;
	struct op_beam_function loop;
	struct op_beam_function last;
	bool fresh;
	int r = op_runtime_beam_list_named(list, "global::process_main", &module, &loop);

	if (r == 0)
		r = op_runtime_beam_list_find(list, list->exit, 0, &last, &fresh);
	if (r < 0)
		return r;
	beam->exit = list->exit;
	beam->exit_end = last.end;
	beam->shared = module.base;
	beam->shared_end = module.base + module.size;
	beam->loop = loop.start;
	beam->loop_end = loop.end;
	return read_loop(list->memory, loop.start, beam);
}

static int find_thread(const struct op_beam_image *image,
		       const struct op_runtime_target *target, struct op_beam *beam)
{
	struct op_thread_slot slot;
	uint32_t key;
	int r = op_memory_read(target->memory, image->key + target->bias, &key,
			       sizeof(key));

	if (r == 0)
		r = op_runtime_thread_slot(target, key, &slot);
	if (r < 0)
		return r;
	beam->at = slot.at;
	beam->block = slot.block;
	beam->current = image->current;
	beam->caller = image->caller[0] + target->bias;
	beam->caller_end = image->caller[1] + target->bias;
	return 0;
}

static int beam_attach(void *image_data, const struct op_runtime_target *target,
		       struct op_log *log, void *bpf, void **ret_instance)
{
	const struct op_beam_image *image = image_data;
	struct op_beam *beam = bpf;
	struct beam_instance *instance = calloc(1, sizeof(*instance));
	int r;

	if (!instance)
		return -ENOMEM;
	beam->list = image->list + target->bias + OP_BEAM_LIST_FIRST;
	op_runtime_beam_list_init(&instance->list, target->memory, beam->list);
	r = op_runtime_beam_list_read(&instance->list);
	/* the emulator's entry follows those of its own code */
	if (r >= 0 && !instance->list.exit)
		r = -EAGAIN;
	if (r >= 0)
		r = find_shared(&instance->list, beam);
	if (r >= 0)
		r = find_thread(image, target, beam);
	if (r == -ENOTSUP || r == -ENOENT)
		op_log(log, OP_LOG_WARNING,
		       "process %d: the scheduler's loop of this Erlang/OTP is unknown; "
		       "its frames stay native",
		       target->pid);
	if (r < 0) {
		beam_detach(instance);
		return r;
	}
	*ret_instance = instance;
	return 0;
}

/* Find the mappings with code of the process's modules. */
static int beam_update(void *data, const struct op_runtime_target *target, void *bpf,
		       struct op_runtime_code *ret)
{
	struct beam_instance *instance = data;
	struct op_beam *beam = bpf;
	struct op_runtime_mapping m;
	uint64_t begin = UINT64_MAX;
	uint64_t end = 0;
	bool waits = false;
	size_t i;
	int r = op_runtime_beam_list_read(&instance->list);

	if (r < 0)
		return r;
	for (i = 0; target->code_mapping && target->code_mapping(target, i, &m) == 0;
	     i++) {
		bool has = op_runtime_beam_list_has(&instance->list, m.start, m.end);

		if (strncmp(m.path, doubled, sizeof(doubled) - 1) != 0 && !has) {
			waits |= !m.path[0];
			continue;
		}
		if (ret->len == OP_RUNTIME_RANGES_MAX)
			break;
		ret->range[ret->len++] =
			(struct op_runtime_range){ .start = m.start, .end = m.end };
		begin = OP_MIN(begin, m.start);
		end = OP_MAX(end, m.end);
	}
	ret->again = waits && instance->waits++ < WAITS_MAX;
	if (!waits)
		instance->waits = 0;
	begin = OP_MIN(begin, end); /* there is none */
	if (beam->begin == begin && beam->end == end)
		return 0;
	beam->begin = begin;
	beam->end = end;
	return 1;
}

/* 'Elixir.Foo.Bar':baz/1 is Foo.Bar.baz/1 in Elixir. */
static const char *make_name(struct beam_instance *instance, const char *name)
{
	size_t len = OP_MIN(strlen(name), sizeof(instance->name) - 1);
	char *module = instance->name;
	char *end;

	memcpy(module, name, len);
	module[len] = 0;
	if (strncmp(module, elixir, sizeof(elixir) - 1) != 0)
		return module;
	module += sizeof(elixir) - 1;
	end = strstr(module, "':");
	if (!end)
		return instance->name;
	*end = '.';
	memmove(end + 1, end + 2, strlen(end + 2) + 1);
	return module;
}

static int beam_describe(void *data, const uint64_t *words, size_t len,
			 struct op_runtime_frame *ret)
{
	struct beam_instance *instance = data;
	struct op_beam_function f;
	uint64_t addr = words[0] & OP_FRAME_ADDRESS_MASK;
	bool fresh;
	int r;

	if (len != OP_BEAM_FRAME_WORDS)
		return -EBADMSG;
	r = op_runtime_beam_list_find(&instance->list, addr, (uint32_t)words[1], &f,
				      &fresh);
	if (r == -ENOMEM)
		return r;
	ret->len = 1;
	if (r < 0) {
		op_runtime_frame_gone(&op_runtime_beam, addr, r, instance->unknown, ret);
		return 0;
	}
	ret->function[0] = (struct op_runtime_function){
		.name = make_name(instance, f.name),
		.file = f.file,
		.line = f.line,
		.start_line = f.start_line,
	};
	ret->fresh = fresh;
	return 0;
}

static void beam_window_end(void *data)
{
	struct beam_instance *instance = data;

	instance->list.reads = 0;
}

const struct op_runtime_ops op_runtime_beam = {
	.id = OP_RUNTIME_BEAM,
	.frame_type = "beam",
	.bpf_size = sizeof(struct op_beam),
	.file_names = (const char *const[]){ "beam", NULL },
	.probe = beam_probe,
	.attach = beam_attach,
	.detach = beam_detach,
	.update = beam_update,
	.describe = beam_describe,
	.window_end = beam_window_end,
};
