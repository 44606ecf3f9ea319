/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interpreters, compiled code, line tables and names of any bytes. Input: kind and size of up to four
 * codelets (2 bytes each), then bytes that serve as code, as a table and as a name.
 */
#include <stdlib.h>
#include <string.h>

#include "base/reader.h"
#include "runtime/hotspot/lines.h"
#include "runtime/hotspot/machine/machine.h"
#include "runtime/hotspot/names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	CODELETS = 4,
};

static void try_rules(const struct op_hotspot_machine *machine, const uint8_t *code,
		      size_t len, const struct op_hotspot_codelet *codelets)
{
	struct op_hotspot_rules *rules = malloc(sizeof(*rules));
	uint32_t i;

	if (!rules)
		return;
	machine->rules(code, len, codelets, CODELETS, rules);
	if (rules->count > OP_HOTSPOT_RULES)
		abort();
	for (i = 0; i < rules->count; i++)
		if (rules->rule[i].at > len ||
		    (i && rules->rule[i].at <= rules->rule[i - 1].at))
			abort();
	free(rules);
}

static void try_names(const uint8_t *bytes, size_t len)
{
	struct op_strbuf s = { 0 };

	op_runtime_hotspot_class(&s, bytes, len);
	if (s.len > 3 * len || (s.data && strlen(s.data) != s.len))
		abort();
	op_strbuf_deinit(&s);
}

static void try_flow(const struct op_hotspot_machine *machine, const uint8_t *code,
		     size_t len)
{
	struct op_hotspot_instruction in;
	struct op_hotspot_flow flow;

	if (machine->instruction(code, len, &in) &&
	    (!in.bytes || in.bytes > len || in.bytes > 15))
		abort();
	if (op_runtime_hotspot_flow(machine, code, len, &flow) && flow.loops &&
	    flow.loop > 0)
		abort();
}

/* Its code at any place, with room for few rules and for many. */
static void try_stack(const struct op_hotspot_machine *machine, const uint8_t *code,
		      size_t len, uint32_t max)
{
	struct op_hotspot_stack_rules rules = { .max = max };
	uint32_t i;

	rules.rule = malloc(max * sizeof(*rules.rule));
	if (!rules.rule ||
	    op_runtime_hotspot_stack(machine, code, len, 100, &rules) < 0) {
		free(rules.rule);
		return;
	}
	if (rules.count > max || (!rules.lost && max > len + 1 && rules.count > len + 1))
		abort();
	for (i = 0; i < rules.count; i++)
		if (rules.rule[i].at < 100 || rules.rule[i].at > 100 + len ||
		    (i && rules.rule[i].at <= rules.rule[i - 1].at))
			abort();
	free(rules.rule);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct op_hotspot_machine *const machines[] = {
		&op_hotspot_x86_64, &op_hotspot_aarch64
	};
	struct op_reader r = op_reader_init(data, size);
	struct op_hotspot_codelet codelets[CODELETS];
	struct op_hotspot_line line;
	const uint8_t *bytes;
	uint32_t at = 0;
	size_t len;
	int i;

	for (i = 0; i < CODELETS; i++) {
		codelets[i].kind = (enum op_hotspot_codelet_kind)(op_read_u8(&r) % 3);
		codelets[i].bytes = op_read_u8(&r);
		codelets[i].at = at;
		at += codelets[i].bytes;
	}
	len = op_reader_left(&r);
	bytes = op_read_bytes(&r, len);
	if (!bytes || r.failed)
		return 0;
	try_names(bytes, len);
	for (i = 0; i < 2; i++) {
		try_rules(machines[i], bytes, len, codelets);
		try_stack(machines[i], bytes, len, 4);
		try_stack(machines[i], bytes, len, 4096);
		try_flow(machines[i], bytes, len);
		line = op_runtime_hotspot_line(bytes, len, i, 40);
		if (line.line && line.line < line.first)
			abort();
	}
	return 0;
}
