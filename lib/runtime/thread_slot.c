/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the thread-specific data of glibc by nptl_db's symbols, and of musl by its code; and
 * variables of threads. */
#include "runtime/thread_slot.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>

#include "base/macros.h"
#include "base/reader.h"
#include "code/decode/decode.h"

enum {
	/* glibc has a pointer to each of 32 blocks of 32 {seq, data} (specific in
	 * nptl/descr.h, PTHREAD_KEY_1STLEVEL_SIZE and 2NDLEVEL_SIZE), in all releases. */
	BLOCKS = 32,
	BLOCK_KEYS = 32,
	BLOCKS_BITS = BLOCKS * 64,
	KEY_DATA_BYTES_MAX = 64,
	MUSL_KEYS = 128, /* PTHREAD_KEYS_MAX */
	PTHREAD_BYTES_MAX = 65536,
};

/* A field as nptl_db describes it: bits of an element, number of elements,
 * byte offset. */
struct db_field {
	uint32_t bits;
	uint32_t count;
	uint32_t offset;
};

static int read_field(struct op_elf *elf, const struct op_elf_symbol *symbol,
		      struct db_field *ret)
{
	uint8_t bytes[12];
	struct op_reader r = op_reader_init(bytes, sizeof(bytes));
	int error;

	if (!symbol->value)
		return -ENOENT;
	error = op_elf_read_vaddr(elf, symbol->value, bytes, sizeof(bytes));
	if (error < 0)
		return error;
	ret->bits = op_read_u32(&r);
	ret->count = op_read_u32(&r);
	ret->offset = op_read_u32(&r);
	return 0;
}

static int read_size(struct op_elf *elf, const struct op_elf_symbol *symbol,
		     uint32_t *ret)
{
	return symbol->value ? op_elf_read_vaddr(elf, symbol->value, ret, sizeof(*ret))
			     : -ENOENT;
}

static int glibc_slot(struct op_elf *elf, uint32_t key, struct op_thread_slot *ret)
{
	static const char *const names[] = { "_thread_db_pthread_specific",
					     "_thread_db_pthread_key_data_data",
					     "_thread_db_sizeof_pthread_key_data",
					     "_thread_db_sizeof_pthread" };
	struct op_elf_symbol symbol[OP_ARRAY_SIZE(names)];
	struct db_field specific;
	struct db_field data;
	uint32_t data_bytes;
	uint32_t pthread_bytes;
	int r = op_elf_find_symbols(elf, names, OP_ARRAY_SIZE(names), symbol);

	if (r < 0)
		return r;
	if ((r = read_field(elf, &symbol[0], &specific)) < 0 ||
	    (r = read_field(elf, &symbol[1], &data)) < 0 ||
	    (r = read_size(elf, &symbol[2], &data_bytes)) < 0 ||
	    (r = read_size(elf, &symbol[3], &pthread_bytes)) < 0)
		return r;
	if ((uint64_t)specific.bits * specific.count != BLOCKS_BITS ||
	    data_bytes > KEY_DATA_BYTES_MAX || data.offset > data_bytes - 8 ||
	    pthread_bytes > PTHREAD_BYTES_MAX || specific.offset > pthread_bytes ||
	    key >= BLOCKS * BLOCK_KEYS)
		return -EBADMSG;
	ret->at = (int32_t)(specific.offset + key / BLOCK_KEYS * 8);
	/* On aarch64 struct pthread ends where the thread pointer
	 * points (TLS_DTV_AT_TP). */
	if (op_elf_machine(elf) == EM_AARCH64)
		ret->at -= (int32_t)pthread_bytes;
	ret->block = (int32_t)(key % BLOCK_KEYS * data_bytes + data.offset);
	return 0;
}

static int musl_slot(const struct op_runtime_target *target, struct op_elf *elf,
		     uint64_t bias, uint32_t key, struct op_thread_slot *ret)
{
	struct op_elf_symbol symbol;
	struct op_decode_value value;
	uint8_t code[OP_DECODE_BYTES];
	struct op_decode_input in = { .code = code,
				      .memory = target->memory,
				      .want = OP_DECODE_RETURN };
	int r = op_elf_find_symbol(elf, "pthread_getspecific", &symbol);

	if (r <= 0)
		return r ? r : -ENOENT;
	in.addr = symbol.value + bias;
	in.len = symbol.size && symbol.size < sizeof(code) ? symbol.size : 64;
	r = op_elf_read_vaddr(elf, symbol.value, code, in.len);
	if (r < 0)
		return r;
	r = op_elf_machine(elf) == EM_AARCH64 ? op_decode_aarch64(&in, &value)
					      : op_decode_x86_64(&in, &value);
	if (r < 0)
		return r;
	if (value.kind != OP_DECODE_TP_INDEXED || value.scale != 8 ||
	    (int64_t)value.at > PTHREAD_BYTES_MAX ||
	    (int64_t)value.at < -PTHREAD_BYTES_MAX || key >= MUSL_KEYS)
		return -ENOTSUP;
	ret->at = (int32_t)(int64_t)value.at;
	ret->block = (int32_t)(key * value.scale);
	return 0;
}

int op_runtime_thread_slot(const struct op_runtime_target *target, uint32_t key,
			   struct op_thread_slot *ret)
{
	/* Before glibc 2.34 threads had a library of their own; files were called
	 * libc-2.31.so then. musl is one file, named libc.so or as the dynamic linker.
	 * NULL is the runtime's own file: it may be linked with libc statically. */
	static const char *const prefixes[] = { "libpthread", "libc.so",    "libc-2.",
						"ld-musl-",   "libc.musl-", NULL };
	struct op_thread_slot slot = { 0 };
	size_t i;
	int r = -ENOENT;

	for (i = 0; i < OP_ARRAY_SIZE(prefixes); i++) {
		_cleanup_(op_elf_freep) struct op_elf *elf = NULL;
		uint64_t bias;

		if (target->open_image(target, prefixes[i], &elf, &bias) < 0)
			continue;
		r = glibc_slot(elf, key, &slot);
		if (r == -ENOENT)
			r = musl_slot(target, elf, bias, key, &slot);
		if (r == 0) {
			*ret = slot;
			return 0;
		}
	}
	return r;
}

int op_runtime_thread_variable(const struct op_runtime_target *target,
			       const struct op_elf_tls *tls, struct op_elf_tls_place *ret)
{
	_cleanup_(op_elf_freep) struct op_elf *elf = NULL;
	_cleanup_(op_elf_freep) struct op_elf *musl = NULL;
	uint64_t bias;
	int r = target->open_image(target, NULL, &elf, &bias);

	if (r < 0)
		return r;
	r = target->open_image(target, "ld-musl-", &musl, &bias);
	r = op_elf_tls_place(elf, tls, target->memory, target->bias, r == 0, ret);
	return r > 0 ? 0 : r < 0 ? r : -EAGAIN;
}
