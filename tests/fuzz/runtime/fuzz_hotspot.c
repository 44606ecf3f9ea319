/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A HotSpot process of any content. Input: its memory, as tests/unit/runtime/hotspot_fake.h
 * lays it out; whatever can be read is read: tables, code cache, a method, compiled code.
 * The inputs "recorded" have C2 code of JDK 25 with its rows and scopes in the fake's place.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/hotspot/code.h"
#include "runtime/hotspot/lines.h"
#include "runtime/hotspot/machine/machine.h"
#include "runtime/hotspot/methods.h"
#include "runtime/hotspot/scopes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	BASE = 0x100000,
	METHOD = BASE + 0x400,
	NMETHOD = BASE + 0x7008,
	COMPILE_ID = 77,
	PLACES = 64, /* in compiled code */
	PLACE_STEP = 31,
	READS_MAX = 100000, /* more would be unbounded work */
};

struct input {
	struct op_memory memory;
	const uint8_t *data;
	size_t size;
	unsigned int reads;
};

static int read_input(const struct op_memory *m, uint64_t addr, void *buf, size_t len)
{
	struct input *in = (struct input *)(uintptr_t)m;

	if (++in->reads > READS_MAX)
		abort();
	if (addr < BASE || len > in->size || addr - BASE > in->size - len)
		return -EFAULT;
	memcpy(buf, in->data + (addr - BASE), len);
	return 0;
}

static void try_method(const struct op_memory *memory,
		       const struct op_hotspot_layout *layout)
{
	const struct op_hotspot_method *method;
	struct op_hotspot_methods methods;
	struct op_hotspot_line line;
	uint64_t key;

	op_runtime_hotspot_methods_init(&methods, memory, layout);
	if (op_runtime_hotspot_methods_get(&methods, METHOD, 0, &method) == 0) {
		if (strlen(method->text) >= method->file ||
		    strlen(method->text + method->file) >= method->lines)
			abort();
		line = op_runtime_hotspot_line(method->text + method->lines,
					       method->lines_len, layout->version >= 20,
					       3);
		if (line.line && line.line < line.first)
			abort();
	}
	if (op_runtime_hotspot_methods_add(&methods, METHOD, memory, &key) == 0 &&
	    !op_runtime_hotspot_methods_find(&methods, key))
		abort();
	op_runtime_hotspot_methods_deinit(&methods);
}

static void try_compiled(const struct op_memory *memory,
			 const struct op_hotspot_layout *layout)
{
	struct op_hotspot_place place = { .nmethod = NMETHOD, .id = COMPILE_ID };
	struct op_hotspot_scopes scopes;
	uint64_t flag;
	int i;

	for (i = 0; i < 2 * PLACES; i++) {
		place.at = (uint32_t)i / 2 * PLACE_STEP;
		place.called = i & 1;
		if (op_runtime_hotspot_scopes(memory, layout, &place, false, &scopes) ==
			    0 &&
		    (!scopes.len || scopes.len > OP_HOTSPOT_SCOPES_MAX))
			abort();
	}
	place.at = INT32_MAX;
	(void)op_runtime_hotspot_scopes(memory, layout, &place, true, &scopes);
	(void)op_runtime_hotspot_flag(memory, layout, "DebugNonSafepoints", &flag);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { { read_input }, data, size, 0 };
	struct op_hotspot_image image = { .machine = &op_hotspot_x86_64 };
	struct op_hotspot_layout layout;
	struct op_hotspot *bpf = calloc(1, sizeof(*bpf));
	char name[OP_HOTSPOT_BLOB_NAME_MAX];
	const char *missing;
	int i;

	for (i = 0; i < OP_HOTSPOT_SYMBOLS; i++)
		image.symbol[i] = (uint64_t)i * 8;
	if (bpf &&
	    op_runtime_hotspot_layout(&in.memory, &image, BASE, &layout, &missing) == 0) {
		(void)op_runtime_hotspot_code(&in.memory, &layout, bpf);
		if (bpf->rule_count > OP_HOTSPOT_RULES)
			abort();
		(void)op_runtime_hotspot_blob_name(&in.memory, &layout,
						   bpf->heap[0].low + 0x100, name);
		(void)op_runtime_hotspot_codelet_name(
			&in.memory, &layout, bpf->interpreter, name, sizeof(name));
		try_method(&in.memory, &layout);
		try_compiled(&in.memory, &layout);
	}
	free(bpf);
	return 0;
}
