/* SPDX-License-Identifier: Apache-2.0 */
/* The kind signals, signals that end a process: docs/kinds/signals.md. */
#include <inttypes.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "kernel/kinds/kind.h"

#include "signals.object.h"

static const struct op_kind_hook HOOKS[] = {
	{ "signal_deliver", NULL, .loses = true },
};

static void name_signal(int signal, char ret[static OP_KIND_TEXT_BYTES])
{
	const char *name = sigabbrev_np(signal);

	if (name)
		(void)snprintf(ret, OP_KIND_TEXT_BYTES, "SIG%s", name);
	else
		(void)snprintf(ret, OP_KIND_TEXT_BYTES, "%d", signal);
}

static size_t attributes(const struct op_kind_sample *sample,
			 struct op_kind_attribute ret[OP_KIND_ATTRIBUTES_MAX])
{
	int signal = (int)(sample->detail & ((1u << OP_SIGNAL_BITS) - 1));
	int code = (int16_t)sample->detail >> OP_SIGNAL_BITS;
	size_t n = 0;

	ret[n] = (struct op_kind_attribute){ .key = "signal.name" };
	name_signal(signal, ret[n++].text);
	if (code == OP_SIGNAL_CODE_NONE)
		return n;
	ret[n++] = (struct op_kind_attribute){ .key = "signal.code",
					       .is_integer = true,
					       .integer = code };
	if (code <= 0 || !(signal == SIGSEGV || signal == SIGBUS || signal == SIGILL ||
			   signal == SIGFPE || signal == SIGTRAP))
		return n;
	ret[n] = (struct op_kind_attribute){ .key = "signal.address" };
	(void)snprintf(ret[n].text, sizeof(ret[n].text), "0x%" PRIx64, sample->value);
	return n + 1;
}

const struct op_kind op_kind_signals = {
	.event = OP_EVENT_SIGNALS,
	.object = &op_signals_object,
	.program_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.slots = 2,
	.hooks = HOOKS,
	.hooks_len = OP_ARRAY_SIZE(HOOKS),
	.attributes = attributes,
	.kernel_from = "get_signal",
};
