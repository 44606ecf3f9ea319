/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/dotnet/image.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "runtime/exports.h"

enum {
	PIECE = 64 << 10,
	VERSION_BYTES = 16,
	DATA_MAX = 32 << 20, /* bytes of a file in which the version is searched */
};

/* The mark before the version in the data of every build (a "what" string of SCCS). */
static const char mark[] = "@(#)Version ";

/* "8.0.3126.42015" to "8.0". */
static bool parse_version(const char *text, char ret[OP_LAYOUTS_VERSION_MAX + 1])
{
	unsigned int major;
	unsigned int minor;

	if (sscanf(text, "%3u.%3u.", &major, &minor) != 2)
		return false;
	(void)snprintf(ret, OP_LAYOUTS_VERSION_MAX + 1, "%u.%u", major, minor);
	return true;
}

/* Search [@off, @end) of the file. Returns 1, 0 or -errno. */
static int search(struct op_elf *elf, uint64_t off, uint64_t end,
		  char ret[OP_LAYOUTS_VERSION_MAX + 1])
{
	const size_t keep = sizeof(mark) + VERSION_BYTES;
	_cleanup_free_ char *bytes = malloc(PIECE + 1);

	if (!bytes)
		return -ENOMEM;
	while (off < end) {
		size_t n = (size_t)OP_MIN(end - off, (uint64_t)PIECE);
		const char *at = bytes;
		int r = op_elf_read(elf, off, bytes, n);

		if (r < 0)
			return r;
		bytes[n] = 0;
		for (;;) {
			at = memmem(at, (size_t)(bytes + n - at), mark, sizeof(mark) - 1);
			if (!at)
				break;
			at += sizeof(mark) - 1;
			if (parse_version(at, ret))
				return 1;
		}
		if (n <= keep || end - off == n)
			return 0;
		off += n - keep;
	}
	return 0;
}

static int find_version(struct op_elf *elf, char ret[OP_LAYOUTS_VERSION_MAX + 1])
{
	size_t len;
	const struct op_elf_segment *s = op_elf_segments(elf, &len);
	uint64_t left = DATA_MAX;
	size_t i;

	for (i = 0; i < len; i++) {
		uint64_t size = OP_MIN(s[i].filesz, left);
		int r;

		if (s[i].type != PT_LOAD || (s[i].flags & PF_X))
			continue;
		r = search(elf, s[i].offset, s[i].offset + size, ret);
		if (r)
			return r;
		left -= size;
	}
	return 0;
}

int op_runtime_dotnet_image(struct op_elf *elf, const char *path,
			    const struct op_layouts *layouts, struct op_log *log,
			    struct op_dotnet_image *ret)
{
	char version[OP_LAYOUTS_VERSION_MAX + 1] = "";
	struct op_elf_symbol table;
	int r;

	if (op_elf_machine(elf) != EM_X86_64 ||
	    !op_runtime_may_export(elf, "g_dacTable") ||
	    op_elf_find_symbol(elf, "g_dacTable", &table) <= 0)
		return 0;
	r = find_version(elf, version);
	if (r < 0)
		return r;
	if (!r)
		(void)snprintf(version, sizeof(version), "unknown");
	r = op_layouts_find(layouts, &op_runtime_dotnet_layouts, version, &ret->layout);
	if (r == -ENOENT)
		return op_layouts_unknown(&op_runtime_dotnet_layouts, version, path, log);
	if (r < 0)
		return r;
	ret->table = table.value;
	return 1;
}
