/* SPDX-License-Identifier: Apache-2.0 */
/* A line with a probe's specification, and behind it the ELF file that it is looked for in. */
#include <stdlib.h>
#include <string.h>

#include "code/elf/file.h"
#include "parts/probes/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void find(const struct op_probe_spec *spec, const uint8_t *data, size_t size)
{
	struct op_elf *elf = NULL;
	struct op_probe_place place;
	void *copy = malloc(size ? size : 1);

	if (!copy)
		return;
	memcpy(copy, data, size);
	if (op_elf_open_bytes(copy, size, &elf)) {
		free(copy);
		return;
	}
	if (op_probe_place_in(elf, spec, &place) == 0 &&
	    (!place.sites_len || place.sites_len > OP_PROBE_SITES_MAX))
		abort();
	op_elf_free(elf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct op_probe_spec spec;
	const uint8_t *end = memchr(data, '\n', size);
	size_t len = end ? (size_t)(end - data) : size;
	char *text = malloc(len + 1);
	const char *last = spec.text + sizeof(spec.text);

	if (!text)
		return 0;
	memcpy(text, data, len);
	text[len] = '\0';
	if (op_probe_spec_parse(text, &spec) == 0) {
		if (!*spec.symbol || spec.symbol < spec.text || spec.symbol >= last ||
		    (spec.file && *spec.file != '/'))
			abort();
		if (spec.file && end)
			find(&spec, end + 1, size - len - 1);
	}
	free(text);
	return 0;
}
