/* SPDX-License-Identifier: Apache-2.0 */
#include "process/context/place.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "code/elf/file.h"
#include "code/elf/tls.h"
#include "runtime/go/go.h"

enum {
	CUSTOM_VERSION = 1,
};

static int find(const struct op_context_file *file, const char *name,
		enum op_context_form form, struct op_context_place *ret)
{
	struct op_context_place place = { .form = form };
	struct op_elf_tls_place found;
	struct op_elf_tls tls;
	int r = op_elf_tls_find(file->elf, name, &tls);

	if (r > 0)
		r = op_elf_tls_place(file->elf, &tls, file->memory, file->bias,
				     file->musl, &found);
	if (r <= 0)
		return r;
	place.offset = found.offset;
	place.module = found.module;
	place.dtv_at = found.dtv_at;
	place.dtv_step = found.dtv_step;
	*ret = place;
	return 1;
}

int op_context_place_otel(const struct op_context_file *file,
			  struct op_context_place *ret)
{
	return find(file, "otel_thread_ctx_v1", OP_CONTEXT_OTEL, ret);
}

int op_context_place_custom(const struct op_context_file *file,
			    struct op_context_place *ret)
{
	struct op_elf_symbol symbol;
	struct op_context_place place;
	uint32_t version = 0;
	int r = find(file, "custom_labels_current_set", OP_CONTEXT_CUSTOM, &place);

	if (r <= 0)
		return r;
	r = op_elf_find_symbol(file->elf, "custom_labels_abi_version", &symbol);
	if (r > 0)
		r = op_elf_read_vaddr(file->elf, symbol.value, &version, sizeof(version));
	if (r < 0 || version != CUSTOM_VERSION)
		return r < 0 ? r : 0;
	*ret = place;
	return 1;
}

int op_context_place_executable(const struct op_context_file *file,
				struct op_context_place *ret)
{
	int r = op_context_place_custom(file, ret);

	return r ? r : op_go_labels(file->elf, ret);
}
