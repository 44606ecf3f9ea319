/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of Perl, put byte by byte into the memory of a process. */
#ifndef TEST_PERL_FAKE_H
#define TEST_PERL_FAKE_H

#include "runtime/perl/sub.h"

#include "op_user_types.h"

#include "op_perl.h"

#include "fake_memory.h"

enum {
	T_GV = 9,
	T_HV = 12,
	HAS_GP = 0x8000,
	HAS_AUX = 0x02000000,
	BODY_AT = 0x40, /* from an SV's head to its body */
	GP_AT = 0x80,	/* from a glob's head to its GP */
	ARRAY_AT = 0xa0,
	NAMES_AT = 0xf0,
};

static struct op_perl_layout layout;

static inline void fake_version(const char *version)
{
	fake_begin();
	CHECK_OK(op_layouts_find(NULL, &op_runtime_perl_layouts, version, &layout));
}

static inline void put_hek(uint64_t addr, const char *text, size_t len, uint8_t flags)
{
	put_u32(addr + 4, (uint32_t)len);
	put(addr + 8, text, len);
	put(addr + 8 + len, "", 1);
	put(addr + 9 + len, &flags, 1);
}

static inline void put_sv(uint64_t addr, uint32_t flags, uint64_t pointer)
{
	put_u64(addr, addr + BODY_AT);
	put_u32(addr + 12, flags);
	put_u64(addr + 16, pointer);
}

/* A package whose name is at @hek; @count as its hash says: how many names it has. */
static inline void put_package(uint64_t addr, uint64_t hek, int32_t count)
{
	uint64_t aux = addr + BODY_AT + layout.hash_aux;

	put_sv(addr, T_HV | HAS_AUX, addr + ARRAY_AT);
	if (!layout.hash_aux) {
		put_u64(addr + BODY_AT + 24, 3); /* four buckets */
		aux = addr + ARRAY_AT + 4 * 8;
	}
	put_u64(aux, count ? addr + NAMES_AT : hek);
	put_u32(aux + 28, (uint32_t)count);
	if (count)
		put_u64(addr + NAMES_AT, hek);
}

/* A CV that has its name itself. */
static inline void put_cv(uint64_t addr, uint64_t hek, uint64_t package, uint32_t flags)
{
	put_sv(addr, OP_PERL_TYPE_CV, 0);
	put_u64(addr + BODY_AT + OP_PERL_CV_STASH, package);
	put_u64(addr + BODY_AT + OP_PERL_CV_NAME, hek);
	put_u32(addr + BODY_AT + OP_PERL_CV_FLAGS + 4, flags);
}

static inline void put_glob(uint64_t addr, uint64_t hek, uint64_t package)
{
	put_sv(addr, T_GV | HAS_GP, addr + GP_AT);
	put_u64(addr + BODY_AT + 32, hek);
	put_u64(addr + BODY_AT + 40, package);
}

#endif
