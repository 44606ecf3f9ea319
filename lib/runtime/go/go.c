/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/go/go.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "code/elf/file.h"
#include "code/elf/tls.h"

enum {
	BUILD_INFO_HEAD = 32,
	VERSION_BYTES = 16,
	BUILD_INFO_BYTES = BUILD_INFO_HEAD + 1 + VERSION_BYTES,
	INLINE_STRINGS = 2, /* of the flags: the version stands behind the head (1.18) */
	SLOT_BYTES = 8,
};

/* Labels (runtime/pprof.Do) are g.m.curg.labels. Nothing publishes the offsets, so they are a table
 * by version, from runtime/runtime2.go of each; other versions are left alone. */
static const struct {
	uint32_t first; /* minor version */
	uint16_t m;
	uint16_t curg;
	uint16_t labels;
	uint16_t map;
} offsets[] = {
	{ 18, 48, 192, 360, 1 }, { 21, 48, 192, 344, 1 }, { 23, 48, 192, 352, 1 },
	{ 24, 48, 192, 352, 0 }, { 25, 48, 184, 344, 0 }, { 26, 48, 184, 352, 0 },
};

int op_go_labels_by_version(uint32_t minor, struct op_context_place *ret)
{
	size_t i = OP_ARRAY_SIZE(offsets);

	if (minor < offsets[0].first || minor >= OP_GO_MINOR_UNKNOWN)
		return 0;
	while (offsets[--i].first > minor)
		;
	ret->form = OP_CONTEXT_GO;
	ret->go_m = offsets[i].m;
	ret->go_curg = offsets[i].curg;
	ret->go_labels = offsets[i].labels;
	ret->go_map = offsets[i].map;
	return 1;
}

uint32_t op_go_minor(struct op_elf *elf)
{
	static const char magic[] = "\xff Go buildinf:";
	static const char prefix[] = "go1.";
	const struct op_elf_section *s = op_elf_section(elf, ".go.buildinfo");
	char bytes[BUILD_INFO_BYTES + 1] = { 0 };
	const char *text = bytes + BUILD_INFO_HEAD + 1;

	if (!s || s->size < BUILD_INFO_BYTES ||
	    op_elf_read(elf, s->offset, bytes, BUILD_INFO_BYTES) < 0 ||
	    memcmp(bytes, magic, sizeof(magic) - 1) != 0 ||
	    !(bytes[15] & INLINE_STRINGS) ||
	    strncmp(text, prefix, sizeof(prefix) - 1) != 0)
		return 0;
	return (uint32_t)strtoul(text + sizeof(prefix) - 1, NULL, 10);
}

/* The place of g in threads. On x86-64 it is a thread-local variable of the linker's. */
static int place_g(struct op_elf *elf, struct op_context_place *ret)
{
	struct op_elf_tls tls;
	const struct op_elf_segment *segment;
	size_t len;
	size_t i;
	int r;

	if (op_elf_machine(elf) == EM_AARCH64) {
		ret->go_register = 1;
		return 1;
	}
	r = op_elf_tls_find(elf, "runtime.tlsg", &tls);
	if (r < 0)
		return r;
	if (r > 0 && tls.form == OP_ELF_TLS_STATIC) {
		ret->offset = tls.offset;
		return 1;
	}
	/* The runtime sets the thread pointer so that g is before it (settls), if no
	 * other file has thread-local data: there is no segment, or in a stripped
	 * program one for g alone. */
	segment = op_elf_segments(elf, &len);
	for (i = 0; i < len; i++)
		if (segment[i].type == PT_TLS &&
		    (segment[i].memsz != SLOT_BYTES || segment[i].align > SLOT_BYTES))
			return 0;
	ret->offset = -SLOT_BYTES;
	return 1;
}

int op_go_labels(struct op_elf *elf, struct op_context_place *ret)
{
	struct op_context_place place = { 0 };
	int r = op_go_labels_by_version(op_go_minor(elf), &place);

	if (r > 0)
		r = place_g(elf, &place);
	if (r > 0)
		*ret = place;
	return r;
}
