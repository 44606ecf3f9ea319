/* SPDX-License-Identifier: Apache-2.0 */
/* Reads build ids: the GNU and Go notes; and computes the hash of head, tail
 * and length. */
#include <errno.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/reader.h"
#include "code/elf/private.h"

enum {
	NOTES_BYTES_MAX = 64 << 10, /* of one segment or section */
	GO_BUILDID_TAG = 4,	    /* ELF_NOTE_GOBUILDID_TAG of cmd/internal/buildid */
	HASH_PIECE = 4096,	    /* bytes of the head, and of the tail */
	HASH_BYTES = 16,	    /* bytes kept of the digest */
};

static void put_hex(const uint8_t *bytes, size_t len, char *ret)
{
	size_t i;

	for (i = 0; i < len; i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
}

/* @at: the offset of @desc. */
static void take_note(const uint8_t *name, uint32_t name_len, uint32_t type,
		      const uint8_t *desc, uint32_t desc_len, uint64_t at,
		      struct op_build_ids *ids)
{
	if (name_len == 4 && memcmp(name, "GNU", 4) == 0 && type == NT_GNU_BUILD_ID &&
	    !ids->gnu[0]) {
		put_hex(desc, OP_MIN(desc_len, (sizeof(ids->gnu) - 1) / 2), ids->gnu);
		ids->gnu_at = at;
	} else if (name_len == 4 && memcmp(name, "Go\0", 4) == 0 &&
		   type == GO_BUILDID_TAG && !ids->go[0]) {
		/* Ignore a longer one: cut to our size it would not be unique. */
		if (desc_len < sizeof(ids->go) && !memchr(desc, 0, desc_len))
			memcpy(ids->go, desc, desc_len);
	}
}

void op_elf_parse_notes(const void *bytes, size_t len, size_t align, uint64_t off,
			struct op_build_ids *ids)
{
	struct op_reader r = op_reader_init(bytes, len);

	while (op_reader_left(&r)) {
		uint32_t name_len = op_read_u32(&r);
		uint32_t desc_len = op_read_u32(&r);
		uint32_t type = op_read_u32(&r);
		const uint8_t *name = op_read_bytes(&r, name_len);
		const uint8_t *desc;
		size_t pos = op_reader_pos(&r);

		op_read_skip(&r, OP_ALIGN_UP(pos, align) - pos);
		pos = op_reader_pos(&r);
		desc = op_read_bytes(&r, desc_len);
		if (!desc)
			return;
		take_note(name, name_len, type, desc, desc_len, off + pos, ids);
		pos = op_reader_pos(&r);
		/* The last note may lack padding. */
		op_read_skip(&r, OP_ALIGN_UP(pos, align) - pos);
	}
}

static int read_notes(struct op_elf *elf, uint64_t off, uint64_t size, uint64_t align,
		      struct op_build_ids *ids)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	int r;

	if (!size || size > NOTES_BYTES_MAX)
		return 0;
	bytes = malloc(size);
	if (!bytes)
		return -ENOMEM;
	r = op_elf_read(elf, off, bytes, size);
	if (!r)
		op_elf_parse_notes(bytes, size, align == 8 ? 8 : 4, off, ids);
	return r == -ENODATA ? 0 : r;
}

int op_elf_read_notes(struct op_elf *elf, struct op_build_ids *ids)
{
	size_t i;
	int r;

	for (i = 0; i < elf->sections_len; i++) {
		const struct op_elf_section *s = &elf->sections[i];

		if (s->type != SHT_NOTE)
			continue;
		r = read_notes(elf, s->offset, s->size, 4, ids);
		if (r)
			return r;
	}
	for (i = 0; i < elf->segments_len; i++) {
		const struct op_elf_segment *s = &elf->segments[i];

		/* Most files have the same notes there; without section headers there are
		 * only these. */
		if (s->type != PT_NOTE || (ids->gnu[0] && ids->go[0]))
			continue;
		r = read_notes(elf, s->offset, s->filesz, s->align, ids);
		if (r)
			return r;
	}
	return 0;
}

static int hash_piece(struct op_elf *elf, SHA2_CTX *ctx, uint64_t off, size_t len)
{
	uint8_t bytes[HASH_PIECE];
	int r;

	r = op_elf_read(elf, off, bytes, len);
	if (r)
		return r;
	SHA256Update(ctx, bytes, len);
	return 0;
}

/*
 * SHA-256 of the first and the last 4 KiB (of a shorter file: the whole, twice) and the
 * length as a big-endian number (semantic convention
 * process.executable.build_id.htlhash). libmd computes it, because openssl's digests load
 * its configuration and providers: 2 MB in every host program.
 */
static int hash_file(struct op_elf *elf, struct op_build_ids *ids)
{
	size_t n = (size_t)OP_MIN(elf->size, (uint64_t)HASH_PIECE);
	uint8_t digest[SHA256_DIGEST_LENGTH];
	uint8_t length[8];
	SHA2_CTX ctx;
	size_t i;
	int r;

	SHA256Init(&ctx);
	r = hash_piece(elf, &ctx, 0, n);
	if (!r)
		r = hash_piece(elf, &ctx, elf->size - n, n);
	if (r)
		return r;
	for (i = 0; i < sizeof(length); i++)
		length[i] = (uint8_t)(elf->size >> (56 - 8 * i));
	SHA256Update(&ctx, length, sizeof(length));
	SHA256Final(digest, &ctx);
	put_hex(digest, HASH_BYTES, ids->htlhash);
	return 0;
}

int op_elf_build_ids(struct op_elf *elf, struct op_build_ids *ret)
{
	struct op_build_ids ids = { 0 };
	int r;

	r = op_elf_read_notes(elf, &ids);
	if (!r)
		r = hash_file(elf, &ids);
	if (!r)
		*ret = ids;
	return r;
}
