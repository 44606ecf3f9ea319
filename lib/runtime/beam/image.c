/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The symbols of BEAM. Its programs export all functions for the libraries that they
 * load. Since OTP 29 they export only the interfaces for these libraries.
 */
#include "runtime/beam/image.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "runtime/exports.h"

enum symbol {
	TYPE,
	LIST,
	DATA,
	RELEASE,
	CALLER,
	SYMBOLS,
};

static const char *const names[SYMBOLS] = {
	[TYPE] = "enif_thread_type",	    [LIST] = "__jit_debug_descriptor",
	[DATA] = "erts_get_scheduler_data", [RELEASE] = "etp_otp_release",
	[CALLER] = "process_main",
};

enum {
	CODE_BYTES = 48, /* bytes of a function that are searched */
	CURRENT_MAX = 4096,
	/* versions whose list has the known form (jit/beam_jit_metadata.cpp) */
	RELEASE_MIN = 25,
	RELEASE_MAX = 28,
};

/* Find the @len bytes @what in the code at @addr, and the number of @size bytes after them.
 * Returns 1 with the address of that number's end, 0 or -errno. */
static int find_code(struct op_elf *elf, uint64_t addr, const char *what, size_t len,
		     size_t size, int32_t *ret_number, uint64_t *ret_end)
{
	uint8_t code[CODE_BYTES];
	const uint8_t *at;
	int8_t byte;
	int r = op_elf_read_vaddr(elf, addr, code, sizeof(code));

	if (r < 0)
		return r;
	at = memmem(code, sizeof(code) - size, what, len);
	if (!at)
		return 0;
	at += len;
	if ((size_t)(at - code) > sizeof(code) - size)
		return 0;
	if (size == sizeof(byte)) {
		memcpy(&byte, at, sizeof(byte));
		*ret_number = byte;
	} else {
		memcpy(ret_number, at, sizeof(*ret_number));
	}
	*ret_end = addr + (uint64_t)(at - code) + size;
	return 1;
}

/* erts_get_scheduler_data() loads the key: mov key(%rip),%edi. */
static int find_key(struct op_elf *elf, uint64_t function, uint64_t *ret)
{
	int32_t number;
	uint64_t end;
	int r = find_code(elf, function, "\x8b\x3d", 2, 4, &number, &end);

	if (r == 1)
		*ret = end + (uint64_t)(int64_t)number;
	return r;
}

/* enif_thread_type() loads the scheduler's type: mov disp(%rax),%eax. In the struct
 * that is behind the current process. */
static int find_current(struct op_elf *elf, uint64_t function, uint32_t *ret)
{
	int32_t number;
	uint64_t end;
	int r = find_code(elf, function, "\x8b\x80", 2, 4, &number, &end);

	if (r == 0)
		r = find_code(elf, function, "\x8b\x40", 2, 1, &number, &end);
	if (r < 1)
		return r;
	if (number < 8 || number > CURRENT_MAX || number % 8)
		return 0;
	*ret = (uint32_t)number - 8;
	return 1;
}

static bool is_known(struct op_elf *elf, const struct op_elf_symbol *release)
{
	char text[4] = "";
	long number;

	if (!release->value ||
	    op_elf_read_vaddr(elf, release->value, text, sizeof(text) - 1) < 0)
		return false;
	number = strtol(text, NULL, 10);
	return number >= RELEASE_MIN && number <= RELEASE_MAX;
}

int op_runtime_beam_image(struct op_elf *elf, const char *path, struct op_log *log,
			  struct op_beam_image *ret)
{
	struct op_elf_symbol symbol[SYMBOLS];
	struct op_beam_image image = { 0 };
	int r;

	if (op_elf_machine(elf) != EM_X86_64 || !op_runtime_may_export(elf, names[TYPE]))
		return 0;
	r = op_elf_find_symbols(elf, names, SYMBOLS, symbol);
	if (r < 0)
		return r;
	if (!symbol[TYPE].value)
		return 0;
	r = symbol[LIST].value && symbol[DATA].value && symbol[CALLER].size &&
	    is_known(elf, &symbol[RELEASE]);
	if (r)
		r = find_key(elf, symbol[DATA].value, &image.key);
	if (r == 1)
		r = find_current(elf, symbol[TYPE].value, &image.current);
	if (r == 0) {
		op_log(log, OP_LOG_WARNING,
		       "%s: this Erlang/OTP has no list of its code, or is older than 25 or newer than 28; "
		       "its frames stay native",
		       path);
		return -ENOTSUP;
	}
	if (r < 0)
		return r;
	image.list = symbol[LIST].value;
	image.caller[0] = symbol[CALLER].value;
	image.caller[1] = symbol[CALLER].value + symbol[CALLER].size;
	*ret = image;
	return 1;
}
