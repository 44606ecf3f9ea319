/* SPDX-License-Identifier: Apache-2.0 */
/* Where the value of a probe is at a hit: an offset in the context of its program. */
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>

#include "base/macros.h"
#include "parts/probes/spec.h"

enum {
	WORD_BYTES = 8,
};

/* Offsets in struct pt_regs of the arguments, by the machine's calling convention, and
 * of the return value. */
#if defined(__x86_64__)
static const uint16_t ARGUMENTS[] = { 112, 104, 96, 88, 72, 64 }; /* di si dx cx r8 r9 */
static const uint16_t RETURNED = 80;				  /* ax */
#elif defined(__aarch64__)
static const uint16_t ARGUMENTS[] = { 0, 8, 16, 24, 32, 40, 48, 56 }; /* x0 to x7 */
static const uint16_t RETURNED = 0;
#endif

/*
 * Number of arguments of the tracepoint @name: those of its prototype in the kernel's
 * types without the first, which is the listener's own. 0: none, or not known. Behind
 * the arguments the program's context is the kernel's stack, which must not be read.
 */
static uint32_t count_tracepoint_arguments(const char *name)
{
	struct btf *btf = btf__load_vmlinux_btf();
	const struct btf_type *t = NULL;
	char type[256];
	uint32_t ret = 0;
	int id;

	if (!btf)
		return 0;
	(void)snprintf(type, sizeof(type), "btf_trace_%s", name);
	id = btf__find_by_name_kind(btf, type, BTF_KIND_TYPEDEF);
	if (id > 0)
		t = btf__type_by_id(btf, (uint32_t)id);
	t = t ? btf__type_by_id(btf, t->type) : NULL;
	t = t && btf_is_ptr(t) ? btf__type_by_id(btf, t->type) : NULL;
	if (t && btf_is_func_proto(t) && btf_vlen(t))
		ret = btf_vlen(t) - 1;
	btf__free(btf);
	return ret;
}

int op_probe_value_place(const struct op_probe_spec *spec,
			 const struct op_probe_place *place, uint32_t site,
			 struct op_argument *ret)
{
	const struct op_probe_value *value = &spec->value;
	struct op_argument a = {
		.place = OP_ARGUMENT_REGISTER,
		.bytes = value->bytes,
		.is_signed = value->is_signed,
		.is_text = value->is_text,
	};

	if (value->is_latency) {
		a.place = OP_ARGUMENT_LATENCY;
		*ret = a;
		return 0;
	}
	if (spec->type == OP_PROBE_STATIC) {
		/* the note has the place and the width */
		if (value->index >= place->arguments_len[site])
			return -ERANGE;
		a = place->argument[site][value->index];
		if (value->is_text && a.bytes != WORD_BYTES)
			return -ERANGE;
		a.is_text = value->is_text;
		*ret = a;
		return 0;
	}
	if (spec->type == OP_PROBE_TRACEPOINT) {
		if (value->index >= count_tracepoint_arguments(spec->symbol))
			return -ERANGE;
		a.reg = (uint16_t)(value->index * WORD_BYTES);
	} else if (spec->is_return) {
		a.reg = RETURNED;
	} else {
		if (value->index >= OP_ARRAY_SIZE(ARGUMENTS))
			return -ERANGE;
		a.reg = ARGUMENTS[value->index];
	}
	*ret = a;
	return 0;
}
