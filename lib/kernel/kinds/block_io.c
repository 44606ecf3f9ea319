/* SPDX-License-Identifier: Apache-2.0 */
/* The kind block_io, requests to block devices: docs/kinds/block_io.md. */
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "kernel/kinds/kind.h"

#include "block_io.object.h"

enum {
	PATH_BYTES = 256,
};

static const char *const OPERATION[OP_BLOCK_OPERATIONS] = {
	[OP_BLOCK_READ] = "read",   [OP_BLOCK_WRITE] = "write",
	[OP_BLOCK_FLUSH] = "flush", [OP_BLOCK_DISCARD] = "discard",
	[OP_BLOCK_OTHER] = "other",
};

/* The ends come first, so that no request is held whose end would be missed. If the
 * kernel skips a run at an end, that alone loses no sample: the samples of its bios are
 * still held. */
static const struct op_kind_hook HOOKS[] = {
	{ "block_rq_complete", "op_block_done" },
	{ "block_bio_complete", "op_block_ended" },
	{ "block_rq_issue", "op_block_issue2" },
	{ "block_rq_issue", "op_block_issued", .instead = true },
	{ "block_bio_queue", NULL, .loses = true },
};

/* The name of @device in /dev, or its two numbers. */
static void name_device(const char *sysfs_root, uint32_t device,
			char ret[static OP_KIND_TEXT_BYTES])
{
	uint32_t major = device >> OP_BLOCK_MINOR_BITS;
	uint32_t minor = device & ((1u << OP_BLOCK_MINOR_BITS) - 1);
	char link[PATH_BYTES];
	char to[PATH_BYTES];
	const char *name;
	ssize_t n;

	(void)snprintf(link, sizeof(link), "%s/dev/block/%u:%u", sysfs_root, major,
		       minor);
	n = readlink(link, to, sizeof(to) - 1);
	to[n > 0 ? n : 0] = '\0';
	name = strrchr(to, '/');
	if (name && name[1])
		(void)snprintf(ret, OP_KIND_TEXT_BYTES, "%s", name + 1);
	else
		(void)snprintf(ret, OP_KIND_TEXT_BYTES, "%u:%u", major, minor);
}

/* Like name_device(), once for each device of a window. */
static void name_once(const struct op_kind_sample *sample,
		      char ret[static OP_KIND_TEXT_BYTES])
{
	struct op_kind_names *names = sample->names;
	uint32_t i;

	for (i = 0; i < names->len; i++)
		if (names->number[i] == sample->extra) {
			memcpy(ret, names->text[i], OP_KIND_TEXT_BYTES);
			return;
		}
	name_device(sample->sysfs_root, sample->extra, ret);
	if (i == OP_KIND_NAMES_MAX)
		return;
	names->number[i] = sample->extra;
	memcpy(names->text[i], ret, OP_KIND_TEXT_BYTES);
	names->len++;
}

static size_t attributes(const struct op_kind_sample *sample,
			 struct op_kind_attribute ret[OP_KIND_ATTRIBUTES_MAX])
{
	ret[0] = (struct op_kind_attribute){ .key = "system.device" };
	name_once(sample, ret[0].text);
	if (sample->detail >= OP_BLOCK_OPERATIONS)
		return 1;
	ret[1] = (struct op_kind_attribute){ .key = "disk.io.direction" };
	(void)snprintf(ret[1].text, sizeof(ret[1].text), "%s", OPERATION[sample->detail]);
	return 2;
}

const struct op_kind op_kind_block_io = {
	.event = OP_EVENT_BLOCK_IO,
	.object = &op_block_io_object,
	.program_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.slots = 2,
	.hooks = HOOKS,
	.hooks_len = OP_ARRAY_SIZE(HOOKS),
	.holds = true,
	.begun = { "op_held" },
	.attributes = attributes,
	.kernel_from = "submit_bio_noacct_nocheck",
};
