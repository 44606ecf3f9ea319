/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of /proc/PID/maps: what is understood is what the kernel would have printed. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "process/target/maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Print @e as the kernel does and read it again. */
static void again(const struct op_mmap_event *e)
{
	size_t size = strlen(e->path) + 256;
	_cleanup_free_ char *line = malloc(size);
	struct op_mmap_event back;
	int len;

	if (!line)
		return;
	len = snprintf(line, size,
		       "%08" PRIx64 "-%08" PRIx64 " r-xp %08" PRIx64 " %02x:%02x %" PRIu64
		       " %s",
		       e->start, e->end, e->offset, e->dev_major, e->dev_minor, e->inode,
		       e->path);
	if (op_maps_parse_line(line, (size_t)len, &back) != 1)
		__builtin_trap();
	if (back.start != e->start || back.end != e->end || back.offset != e->offset ||
	    back.dev_major != e->dev_major || back.dev_minor != e->dev_minor ||
	    back.inode != e->inode || strcmp(back.path, e->path) != 0)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = malloc(size + 1);
	size_t pos = 0;

	if (!text)
		return 0;
	memcpy(text, data, size);
	while (pos < size) {
		const char *newline = memchr(text + pos, '\n', size - pos);
		size_t len = newline ? (size_t)(newline - text) - pos : size - pos;
		struct op_mmap_event e;

		if (op_maps_parse_line(text + pos, len, &e) == 1) {
			if (e.start >= e.end || strlen(e.path) > len)
				__builtin_trap();
			again(&e);
		}
		pos += len + 1;
	}
	return 0;
}
