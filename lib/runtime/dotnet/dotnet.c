/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime operations of .NET, for a file, a process and a frame. */
#include "runtime/runtime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "runtime/dotnet/code.h"
#include "runtime/dotnet/image.h"
#include "runtime/dotnet/methods.h"
#include "runtime/dotnet/pe/elf.h"
#include "runtime/dotnet/tasks.h"

#include "op_dotnet.h"

/* Memory of code that .NET writes through one mapping and runs through another. */
static const char doubled[] = "/memfd:doublemapper";
/* Mappings closer than this belong to one range: other code is farther away. */
static const uint64_t NEAR_BYTES = UINT64_C(1) << 31;

/* Heaps of code are reserved one above the other, and get pages from the lowest on as
 * methods are compiled. So new code is within this distance above known code. */
static const uint64_t HEAP_BYTES = UINT64_C(1) << 24;

struct dotnet_instance {
	struct op_dotnet_methods methods;
	const struct op_memory *memory;
	const struct op_dotnet_layout *layout;
	uint64_t ranges;
	char unknown[OP_RUNTIME_GONE_BYTES]; /* the name of a frame that cannot be read */
};

static int dotnet_probe(struct op_elf *elf, const char *path,
			const struct op_layouts *layouts, struct op_log *log,
			void **ret_image, struct op_runtime_loop *ret_loop)
{
	_cleanup_free_ struct op_dotnet_image *image = calloc(1, sizeof(*image));
	int r;

	if (!image)
		return -ENOMEM;
	r = op_runtime_dotnet_image(elf, path, layouts, log, image);
	if (r == 1)
		*ret_image = OP_TAKE_PTR(image);
	return r;
}

static int dotnet_attach(void *image_data, const struct op_runtime_target *target,
			 struct op_log *log, void *bpf, void **ret_instance)
{
	const struct op_dotnet_image *image = image_data;
	struct op_dotnet *dotnet = bpf;
	struct dotnet_instance *instance;
	uint64_t ranges = 0;
	int r;

	/* the runtime fills the first word of the table when it starts */
	r = op_memory_read(target->memory, image->table + target->bias, &ranges,
			   sizeof(ranges));
	if (r < 0)
		return r;
	if (!ranges)
		return -EAGAIN;
	instance = calloc(1, sizeof(*instance));
	if (!instance)
		return -ENOMEM;
	dotnet->ranges = ranges;
	instance->memory = target->memory;
	instance->layout = &image->layout;
	instance->ranges = ranges;
	op_runtime_dotnet_methods_init(&instance->methods, target->memory,
				       &image->layout);
	*ret_instance = instance;
	return 0;
}

static void dotnet_detach(void *data)
{
	struct dotnet_instance *instance = data;

	if (!instance)
		return;
	op_runtime_dotnet_methods_deinit(&instance->methods);
	free(instance);
}

/* Does a range of the runtime's own map hold the code at @addr? */
static bool knows_code(const struct dotnet_instance *instance, uint64_t addr)
{
	uint64_t words[OP_DOTNET_FRAME_WORDS];

	return op_runtime_dotnet_code(instance->memory, instance->ranges, addr, words) >=
	       0;
}

static int dotnet_update(void *data, const struct op_runtime_target *target, void *bpf,
			 struct op_runtime_code *ret)
{
	const struct dotnet_instance *instance = data;
	struct op_runtime_mapping m;
	struct op_dotnet *dotnet = bpf;
	size_t i;
	int r;

	for (i = 0; target->code_mapping && target->code_mapping(target, i, &m) == 0;
	     i++) {
		struct op_runtime_range *last =
			ret->len ? &ret->range[ret->len - 1] : NULL;

		if (strncmp(m.path, doubled, sizeof(doubled) - 1) != 0 &&
		    (m.path[0] || !knows_code(instance, m.start)))
			continue;
		if (last && m.start - last->end < NEAR_BYTES)
			last->end = m.end;
		else if (ret->len < OP_RUNTIME_RANGES_MAX)
			ret->range[ret->len++] = (struct op_runtime_range){
				.start = m.start, .end = m.end, .above = HEAP_BYTES
			};
	}
	if (!target->await_chains || dotnet->box || !instance->layout->task_continuation)
		return 0;
	r = op_runtime_dotnet_tasks(instance->memory, instance->layout, dotnet);
	return r == 0 ? 1 : -EAGAIN;
}

/* Fill @ret from the words of a frame. Returns 0, -ENOMEM, or why the method cannot be
 * read. */
static int describe(struct dotnet_instance *instance, const uint64_t *words,
		    struct op_runtime_frame *ret)
{
	const struct op_dotnet_method *method;
	const struct op_dotnet_row *row;
	uint64_t reads = instance->methods.reads;
	int r = op_runtime_dotnet_methods_get(&instance->methods, words, &method);

	if (r < 0)
		return r;
	ret->len = 1;
	row = op_runtime_dotnet_row(method->row, method->rows, (uint32_t)words[1]);
	ret->function[0] = (struct op_runtime_function){
		.name = op_runtime_dotnet_method_text(method),
		.file = row ? op_runtime_dotnet_method_text(method) + row->document : "",
		.line = row ? row->line : 0,
	};
	ret->approximate = row && row->approximate;
	ret->file = op_runtime_dotnet_methods_file(&instance->methods);
	ret->fresh = instance->methods.reads != reads;
	return 0;
}

static int dotnet_describe(void *data, const uint64_t *words, size_t len,
			   struct op_runtime_frame *ret)
{
	struct dotnet_instance *instance = data;
	int r = len == OP_DOTNET_FRAME_WORDS ? describe(instance, words, ret) : -EBADMSG;

	if (r == 0 || r == -ENOMEM || len != OP_DOTNET_FRAME_WORDS)
		return r;
	ret->len = 1;
	op_runtime_frame_gone(&op_runtime_dotnet, words[0] & OP_FRAME_ADDRESS_MASK, r,
			      instance->unknown, ret);
	return 0;
}

/* Describe code that was not walked by the step: in a copy of a stack, or in a stub. */
static int dotnet_describe_code(void *data, const struct op_runtime_target *target,
				uint64_t addr, struct op_runtime_frame *ret)
{
	struct dotnet_instance *instance = data;
	uint64_t words[OP_DOTNET_FRAME_WORDS];
	int r = op_runtime_dotnet_code(instance->memory, instance->ranges, addr, words);

	(void)target;
	if (r == 1 && describe(instance, words, ret) == 0) {
		ret->file = NULL; /* no file, so no line */
		return 1;
	}
	if (r < 0)
		return 0;
	ret->len = 1;
	ret->function[0] = (struct op_runtime_function){ .name = "[stub]", .file = "" };
	return 1;
}

static void dotnet_take_file(void *data, int fd)
{
	struct dotnet_instance *instance = data;

	op_runtime_dotnet_methods_take(&instance->methods, fd);
}

static void dotnet_window_end(void *data)
{
	struct dotnet_instance *instance = data;

	instance->methods.window++;
}

const struct op_runtime_ops op_runtime_dotnet = {
	.id = OP_RUNTIME_DOTNET,
	.frame_type = "dotnet",
	.bpf_size = sizeof(struct op_dotnet),
	.file_names = (const char *const[]){ "libcoreclr.so", NULL },
	.layouts = &op_runtime_dotnet_layouts,
	.probe = dotnet_probe,
	.as_elf = op_runtime_dotnet_elf,
	.attach = dotnet_attach,
	.detach = dotnet_detach,
	.update = dotnet_update,
	.describe = dotnet_describe,
	.take_file = dotnet_take_file,
	.describe_code = dotnet_describe_code,
	.window_end = dotnet_window_end,
};
