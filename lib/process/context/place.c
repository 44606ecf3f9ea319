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
	MODULES_MAX = 1 << 16,
	GLIBC_STEP = 16, /* of a DTV's entry */
	MUSL_STEP = 8,
};

/* Static blocks stand next to the thread pointer: what is farther is an address. */
static const int64_t STATIC_MAX = INT64_C(1) << 24;

/* Of a module's block, by the table that thread control blocks point to. */
static int in_module(const struct op_context_file *file, uint64_t module, uint64_t offset,
		     struct op_context_place *ret)
{
	if (!module)
		return 0; /* not loaded yet */
	if (module > MODULES_MAX || offset > (uint64_t)STATIC_MAX)
		return -EBADMSG;
	ret->module = (uint32_t)module;
	ret->offset = (int64_t)offset;
	ret->dtv_step = file->musl ? MUSL_STEP : GLIBC_STEP;
	if (op_elf_machine(file->elf) == EM_X86_64)
		ret->dtv_at = 8;
	else
		ret->dtv_at = file->musl ? -8 : 0;
	return 1;
}

static int is_static(uint64_t word, struct op_context_place *ret)
{
	ret->offset = (int64_t)word;
	return ret->offset && ret->offset > -STATIC_MAX && ret->offset < STATIC_MAX;
}

/* What the loader has left in the words at @slot. */
static int by_slot(const struct op_context_file *file, const struct op_elf_tls *tls,
		   struct op_context_place *ret)
{
	uint64_t at = tls->slot + file->bias;
	uint64_t word[2] = { 0 };
	size_t len = tls->form == OP_ELF_TLS_SLOT_OFFSET ? 1 : 2;
	int r = op_memory_read(file->memory, at, word, len * sizeof(word[0]));

	if (r < 0)
		return r;
	if (tls->form == OP_ELF_TLS_SLOT_OFFSET)
		return is_static(word[0], ret);
	if (tls->form == OP_ELF_TLS_SLOT_MODULE)
		return in_module(file, word[0], word[1], ret);
	if (is_static(word[1], ret))
		return 1;
	/* of a library that was loaded later: the argument leads to module and offset */
	r = op_memory_read(file->memory, word[1], word, sizeof(word));
	return r < 0 ? r : in_module(file, word[0], word[1], ret);
}

static int find(const struct op_context_file *file, const char *name,
		enum op_context_form form, struct op_context_place *ret)
{
	struct op_context_place place = { .form = form };
	struct op_elf_tls tls;
	int r = op_elf_tls_find(file->elf, name, &tls);

	if (r <= 0)
		return r;
	if (tls.form == OP_ELF_TLS_STATIC)
		place.offset = tls.offset;
	else
		r = by_slot(file, &tls, &place);
	if (r > 0)
		*ret = place;
	return r;
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
