/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/frames.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernel/kinds/kind.h"
#include "process/mappings/runtimes.h"
#include "process/program.h"
#include "profile/window.h"
#include "sample/state.h"

enum {
	KERNEL_PLACES_MAX = 131072, /* cached kernel addresses */
	NAME_MAX_BYTES = 512,
	TAKING_FRAMES_MAX = 24, /* of an interrupt and of a program in it */
};

static const char frame_type_key[] = "profile.frame.type";

int op_frames_type(struct op_sampler *sampler, struct op_window *window,
		   enum op_frame_type type, struct op_attribute_set *ret)
{
	static const char *const names[] = {
		[OP_FRAME_TYPE_NATIVE] = "native",
		[OP_FRAME_TYPE_KERNEL] = "kernel",
		[OP_FRAME_TYPE_RUST] = "rust",
		[OP_FRAME_TYPE_GO] = "go",
	};
	struct op_frames *f = &sampler->frames;

	if (f->epoch != op_window_epoch(window)) {
		memset(f->types, 0, sizeof(f->types));
		f->epoch = op_window_epoch(window);
	}
	if (!f->types[type]) {
		int r = op_window_string_attribute(window, frame_type_key, names[type],
						   &f->types[type]);

		if (r < 0)
			return r;
	}
	*ret = (struct op_attribute_set){ .len = 1, .index = { f->types[type] } };
	return 0;
}

int op_frames_function(struct op_window *window, const char *name,
		       const char *system_name, const char *file, uint32_t start_line,
		       uint32_t *ret)
{
	struct op_function function = { .start_line = start_line };
	int r;

	r = op_window_string(window, name, strlen(name), &function.name);
	if (r == 0 && system_name && *system_name)
		r = op_window_string(window, system_name, strlen(system_name),
				     &function.system_name);
	if (r == 0 && file && *file)
		r = op_window_string(window, file, strlen(file), &function.file);
	return r < 0 ? r : op_window_function(window, &function, ret);
}

/* A location with one line and no mapping. */
static int named_location(struct op_window *window, const char *name,
			  const struct op_attribute_set *attributes, uint32_t *ret)
{
	struct op_location location = { .lines_len = 1, .attributes = *attributes };
	int r;

	r = op_frames_function(window, name, NULL, NULL, 0, &location.lines[0].function);
	return r < 0 ? r : op_window_location(window, &location, ret);
}

/* The file of a kernel image or module is not available, so by convention its htlhash is
 * the FNV-128a of its GNU build id in hex. */
static int kernel_htlhash(struct op_window *window, const char *build_id, uint32_t *ret)
{
	uint8_t hash[16];
	char hex[2 * sizeof(hash) + 1];
	size_t i;

	op_hash_fnv128a(build_id, strlen(build_id), hash);
	for (i = 0; i < sizeof(hash); i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", hash[i]);
	return op_window_string_attribute(window, "process.executable.build_id.htlhash",
					  hex, ret);
}

/* The module's mapping: from its start, of unknown length. */
static int kernel_mapping(struct op_window *window, const struct op_kernel_symbol *symbol,
			  uint32_t *ret)
{
	struct op_window_mapping mapping = { 0 };
	uint32_t gnu;
	uint32_t htlhash;
	int r;

	*ret = 0;
	if (!*symbol->build_id)
		return 0; /* the format requires a build id */
	r = op_window_string(window, symbol->module, strlen(symbol->module),
			     &mapping.file);
	if (r == 0)
		r = op_window_string_attribute(window, "process.executable.build_id.gnu",
					       symbol->build_id, &gnu);
	if (r == 0)
		r = kernel_htlhash(window, symbol->build_id, &htlhash);
	if (r < 0)
		return r;
	/* sets are ascending */
	mapping.attributes = (struct op_attribute_set){
		.len = 2, .index = { OP_MIN(gnu, htlhash), OP_MAX(gnu, htlhash) }
	};
	return op_window_mapping(window, &mapping, ret);
}

/* Keep the name of an address of the kernel image. Modules may be unloaded. */
static void keep_kernel_name(struct op_frames *f, uint64_t addr,
			     const struct op_kernel_symbol *symbol)
{
	struct op_names *n = &f->kernel_names;
	struct op_place *place;
	struct op_name *name;

	if (!*symbol->name || strcmp(symbol->module, "vmlinux") != 0)
		return;
	place = op_names_add(n, addr);
	name = place ? op_vec_push(&n->names) : NULL;
	if (!name)
		return;
	*name = (struct op_name){ .name = op_names_text(n, symbol->name),
				  .file = op_names_text(n, symbol->build_id) };
	if (name->name != SIZE_MAX && name->file != SIZE_MAX)
		place->name = (uint32_t)n->names.len - 1;
	f->kernel_start = symbol->module_start;
}

/* The symbol of a kernel address; its strings last until the next call. */
static bool find_kernel(struct op_sampler *sampler, uint64_t addr,
			struct op_kernel_symbol *ret)
{
	struct op_frames *f = &sampler->frames;
	const struct op_place *place = op_names_get(&f->kernel_names, addr);

	if (!sampler->config.kernel)
		return false;
	if (place && place->name != OP_NAME_NONE) {
		const struct op_name *name = &f->kernel_names.names.data[place->name];

		*ret = (struct op_kernel_symbol){
			.name = f->kernel_names.text.data + name->name,
			.module = "vmlinux",
			.build_id = f->kernel_names.text.data + name->file,
			.module_start = f->kernel_start
		};
		return true;
	}
	if (op_kernel_symbols_find(sampler->config.kernel, addr, ret) <= 0)
		return false;
	if (!place)
		keep_kernel_name(f, addr, ret);
	return true;
}

static int kernel_location(struct op_sampler *sampler, struct op_window *window,
			   uint64_t addr, uint32_t *ret)
{
	struct op_location location = { .lines_len = 1 };
	struct op_kernel_symbol symbol = { .name = "", .module = "", .build_id = "" };
	char name[NAME_MAX_BYTES];
	const char *shown = symbol.name;
	int r;

	r = op_frames_type(sampler, window, OP_FRAME_TYPE_KERNEL, &location.attributes);
	if (r < 0)
		return r;
	if (!find_kernel(sampler, addr, &symbol)) {
		/* The address tells functions apart where the host hides their names. */
		location.address = addr;
		r = op_frames_function(window, "[kernel]", NULL, NULL, 0,
				       &location.lines[0].function);
		return r < 0 ? r : op_window_location(window, &location, ret);
	}
	if (symbol.module_start && addr >= symbol.module_start)
		location.address = addr - symbol.module_start;
	shown = symbol.name;
	if (!*shown) {
		(void)snprintf(name, sizeof(name), "%s+0x%" PRIx64, symbol.module,
			       location.address);
		shown = name;
	}
	/* The next lookup reuses the strings, so use each before it. */
	r = op_frames_function(window, shown, NULL, NULL, 0, &location.lines[0].function);
	if (r == 0)
		r = kernel_mapping(window, &symbol, &location.mapping);
	return r < 0 ? r : op_window_location(window, &location, ret);
}

int op_frames_kernel(struct op_sampler *sampler, struct op_window *window, uint64_t pc,
		     bool exact, uint32_t *ret)
{
	uint64_t epoch = op_window_epoch(window);
	uint64_t addr = exact ? pc : pc - 1;
	uint64_t cached;
	uint32_t location;
	int r;

	if (op_map64_get(&sampler->frames.kernel, addr, &cached) &&
	    cached >> 32 == epoch) {
		*ret = (uint32_t)cached;
		return 0;
	}
	r = kernel_location(sampler, window, addr, &location);
	if (r < 0)
		return r;
	if (sampler->frames.kernel.len >= KERNEL_PLACES_MAX)
		op_map64_clear(&sampler->frames.kernel);
	(void)op_map64_put(&sampler->frames.kernel, addr, epoch << 32 | location);
	*ret = location;
	return 0;
}

/* Does the kernel run the function @name at @tracepoint? */
static bool is_tracing(const char *name, const char *tracepoint)
{
	size_t len = strlen(name);
	size_t tail = strlen(tracepoint);

	return !strncmp(name, "bpf_trace_run", strlen("bpf_trace_run")) ||
	       (len > tail && !strcmp(name + len - tail, tracepoint));
}

size_t op_frames_kernel_begin(struct op_sampler *sampler, const struct op_kind *kind,
			      const uint64_t *words, size_t len)
{
	size_t begin = 0;
	size_t i;

	if (!kind || !(kind->kernel_from || kind->kernel_after))
		return 0;
	for (i = 0; i < len && i < TAKING_FRAMES_MAX; i++) {
		struct op_kernel_symbol symbol;
		uint64_t pc = i ? words[i] - 1 : words[i];

		if (!find_kernel(sampler, pc, &symbol))
			continue;
		if (kind->kernel_from && !strcmp(symbol.name, kind->kernel_from))
			return i;
		if (kind->kernel_after && is_tracing(symbol.name, kind->kernel_after))
			begin = i + 1;
		else if (begin)
			break;
	}
	return begin;
}

int op_frames_functions(struct op_window *window, const struct op_runtime_frame *frame,
			struct op_location *location)
{
	size_t i;

	location->lines_len = OP_MIN(frame->len, (size_t)OP_LINES_MAX);
	for (i = 0; i < location->lines_len; i++) {
		const struct op_runtime_function *f = &frame->function[i];
		int r = op_frames_function(window, f->name, NULL, f->file, f->start_line,
					   &location->lines[i].function);

		if (r < 0)
			return r;
		location->lines[i].line = f->line;
		location->lines[i].column = f->column;
	}
	return 0;
}

/* Describe the frame of @len words. *@ret_known: its runtime has described it. 0 or
 * -errno. */
static int runtime_location(struct op_sampler *sampler, const struct op_frames_of *of,
			    const struct op_runtime_instance *instance,
			    const uint64_t *words, size_t len, bool *ret_known,
			    uint32_t *ret)
{
	struct op_runtime_frame frame = { 0 };
	struct op_location location = { 0 };
	char unknown[64];
	uint32_t attribute;
	int r = -ESRCH;

	if (instance)
		r = instance->ops->describe(instance->instance, words, len, &frame);
	if (r == 0 && frame.file) {
		instance->ops->take_file(instance->instance,
					 op_program_open_own(of->program, frame.file));
		frame = (struct op_runtime_frame){ 0 };
		r = instance->ops->describe(instance->instance, words, len, &frame);
	}
	*ret_known =
		r == 0 && frame.len && frame.function[0].name && *frame.function[0].name;
	if (*ret_known) {
		*ret_known = !frame.again;
	} else {
		(void)snprintf(unknown, sizeof(unknown), "[unknown %s function]",
			       instance ? op_runtime_name(instance->ops) : "runtime's");
		frame.function[0] =
			(struct op_runtime_function){ .name = unknown, .file = "" };
		frame.len = 1;
	}
	sampler->new_code = sampler->new_code || frame.fresh;
	r = op_frames_functions(of->window, &frame, &location);
	if (r == 0)
		r = op_window_string_attribute(
			of->window, frame_type_key,
			instance ? instance->ops->frame_type : "native", &attribute);
	if (r < 0)
		return r;
	location.attributes =
		(struct op_attribute_set){ .len = 1, .index = { attribute } };
	if (frame.approximate) {
		r = op_window_string_attribute(of->window, "otelprof.frame.approximate",
					       "true", &attribute);
		if (r < 0)
			return r;
		location.attributes.index[location.attributes.len++] = attribute;
	}
	return op_window_location(of->window, &location, ret);
}

int op_frames_runtime(struct op_sampler *sampler, const struct op_frames_of *of,
		      const uint64_t *words, size_t len, uint32_t *ret)
{
	struct op_runtime_instance *instance =
		of->program ? op_program_runtimes_get(&of->program->runtimes,
						      op_frame_instance(words[0]))
			    : NULL;
	struct op_cache *cache = instance ? &instance->frames : NULL;
	struct op_cache_key key;
	bool known;
	int r;

	if (cache) {
		key = op_cache_key(cache, words, len);
		if (op_cache_find(cache, op_window_epoch(of->window), &key, ret))
			return 0;
	}
	r = runtime_location(sampler, of, instance, words, len, &known, ret);
	if (r < 0)
		return r;
	if (cache && known)
		op_cache_add(cache, &key, *ret);
	return known ? 0 : OP_FRAMES_UNKNOWN;
}

static const char *error_name(unsigned int end)
{
	switch (end) {
#define OP_ERROR(number, name, sentence)                                                 \
	case number:                                                                     \
		return #name;
#include "op_errors.def"
#undef OP_ERROR
	default:
		return "unknown";
	}
}

int op_frames_end(struct op_sampler *sampler, struct op_window *window, unsigned int end,
		  uint32_t *ret)
{
	struct op_attribute_set type;
	char name[NAME_MAX_BYTES];
	int r;

	*ret = 0;
	if (end == OP_END_COMPLETE || end == OP_END_NO_USER || end == OP_END_OFF)
		return 0;
	r = op_frames_type(sampler, window, OP_FRAME_TYPE_NATIVE, &type);
	if (r < 0)
		return r;
	if (end == OP_END_TRUNCATED)
		return named_location(window, "[truncated]", &type, ret);
	if (end == OP_END_NO_TABLE)
		return named_location(window, "[no unwind table yet]", &type, ret);
	if (end == OP_END_NO_STACK)
		return named_location(window, "[stack lost]", &type, ret);
	if (end == OP_END_RUNNING)
		return named_location(window, "[running]", &type, ret);
	(void)snprintf(name, sizeof(name), "[unwind error: %s]", error_name(end));
	return named_location(window, name, &type, ret);
}

int op_frames_left_out(struct op_sampler *sampler, struct op_window *window,
		       uint32_t *ret)
{
	struct op_attribute_set type;
	int r = op_frames_type(sampler, window, OP_FRAME_TYPE_NATIVE, &type);

	return r < 0 ? r : named_location(window, "[frames left out]", &type, ret);
}

void op_frames_deinit(struct op_frames *f)
{
	op_map64_clear(&f->kernel);
	op_names_clear(&f->kernel_names);
}
