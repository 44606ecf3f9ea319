/* SPDX-License-Identifier: Apache-2.0 */
/* Finds, in .rodata, V8's version, the sizes of its bytecodes and the names of its builtins. */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/reader.h"
#include "runtime/node/blob_private.h"

enum {
	PIECE = 256 << 10,
	NUMBERS_MOST = 40, /* bytes of a version's text */
	MAJOR_LEAST = 10,  /* since then a release of Chrome N is V8 N / 10 . N % 10 */
	MAJOR_MOST = 99,
	MINOR_MOST = 9,
	OPCODES_LEAST = 150,
	ENTRY_WORDS = 3,    /* of the table of names: the name, its kind, a number */
	KINDS_MOST = 16,    /* kinds of builtins */
	NAME_BYTES = 40,    /* of a name that is compared */
	BEFORE_MOST = 256,  /* builtins before the wanted one */
	RELA_MOST = 1 << 22 /* relocations that are read */
};

static const char prologue_name[] = "\0BaselineOutOfLinePrologue";

/* The first builtin, of V8 10 and later; of V8 9 (later it is one of the first). */
static const char *const first_names[] = {
	"DeoptimizationEntry_Eager",
	"RecordWriteEmitRememberedSetSaveFP",
};

/* The beginnings of the three rows of sizes, one for each width of operands. The first
 * bytecodes are prefixes and breakpoints in all versions. */
static const uint8_t row_begins[3][12] = {
	{ 1, 1, 1, 1, 1, 2, 3, 4, 5, 5, 6, 2 },
	{ 1, 1, 1, 1, 1, 3, 5, 7, 9, 7, 9, 3 },
	{ 1, 1, 1, 1, 1, 5, 9, 13, 17, 11, 15, 5 },
};

struct texts {
	struct op_node_blob *ret;
	uint64_t name; /* file offset of the prologue's name, or 0 */
	bool version;  /* is wanted */
	bool several;  /* two different ones were found */
};

int op_runtime_node_scan(struct op_elf *elf, op_node_scan_fn fn, void *data)
{
	const struct op_elf_section *s = op_elf_section(elf, ".rodata");
	_cleanup_free_ uint8_t *bytes = NULL;
	uint64_t at = 0;
	int r = 0;

	if (!s || s->type == SHT_NOBITS)
		return 0;
	bytes = malloc(PIECE);
	if (!bytes)
		return -ENOMEM;
	while (r == 0 && at < s->size) {
		size_t len = OP_MIN(s->size - at, (uint64_t)PIECE);

		r = op_elf_read(elf, s->offset + at, bytes, len);
		if (r == 0)
			r = fn(data, bytes, len, s->offset + at);
		if (len < PIECE)
			break;
		at += PIECE - OP_NODE_SCAN_OVERLAP;
	}
	return r;
}

/* Is the table of the sizes of bytecodes at @bytes? */
static void see_sizes(struct texts *t, const uint8_t *bytes, size_t len)
{
	const size_t row = sizeof(row_begins[0]);
	size_t n;

	for (n = OPCODES_LEAST; n <= OP_NODE_OPCODES_MAX && 3 * n <= len; n++) {
		if (memcmp(bytes + n, row_begins[1], row) != 0 ||
		    memcmp(bytes + 2 * n, row_begins[2], row) != 0)
			continue;
		memcpy(t->ret->opcodes.size, bytes, 3 * n);
		t->ret->opcodes.count = n;
		return;
	}
}

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

/* Is at @bytes a whole string "MAJOR.MINOR.BUILD.PATCH", with or without an embedder's name? */
static void see_version(struct texts *t, const uint8_t *bytes, size_t len)
{
	char text[NUMBERS_MOST + 1] = "";
	char version[OP_NODE_VERSION_BYTES];
	unsigned int major;
	unsigned int minor;
	unsigned int build;
	unsigned int patch;
	int used = 0;

	memcpy(text, bytes, OP_MIN(len, (size_t)NUMBERS_MOST));
	if (memchr(text, 0, NUMBERS_MOST) == NULL ||
	    sscanf(text, "%2u.%2u.%4u.%4u%n", &major, &minor, &build, &patch, &used) !=
		    4 ||
	    !used || (text[used] && text[used] != '-') || major < MAJOR_LEAST ||
	    major > MAJOR_MOST || minor > MINOR_MOST)
		return;
	(void)snprintf(version, sizeof(version), "%u.%u", major, minor);
	if (*t->ret->version && strcmp(t->ret->version, version) != 0)
		t->several = true;
	memcpy(t->ret->version, version, sizeof(version));
}

static int see_texts(void *data, const uint8_t *bytes, size_t len, uint64_t off)
{
	struct texts *t = data;
	const uint8_t *at = bytes;
	const uint8_t *end = bytes + len;

	if (!t->name) {
		at = memmem(bytes, len, prologue_name, sizeof(prologue_name));
		if (at)
			t->name = off + (uint64_t)(at - bytes) + 1;
	}
	for (at = bytes;
	     !t->ret->opcodes.count &&
	     (at = memmem(at, (size_t)(end - at), row_begins[0], sizeof(row_begins[0])));
	     at++)
		see_sizes(t, at, (size_t)(end - at));
	for (at = bytes; t->version && (at = memchr(at, '.', (size_t)(end - at))) != NULL;
	     at++)
		if (at - bytes >= 3 && !at[-3] && is_digit(at[-2]) && is_digit(at[-1]))
			see_version(t, at - 2, (size_t)(end - at) + 2);
	return 0;
}

/* Find the word @value in the section @name, as in the file. Returns its ELF address,
 * 0, or -errno in *@error. */
static uint64_t find_word(struct op_elf *elf, const char *name, uint64_t value,
			  int *error)
{
	const struct op_elf_section *s = op_elf_section(elf, name);
	_cleanup_free_ uint64_t *words = NULL;
	uint64_t at;

	if (*error || !s || s->type == SHT_NOBITS)
		return 0;
	words = malloc(PIECE);
	if (!words)
		*error = -ENOMEM;
	for (at = 0; !*error && at + 8 <= s->size; at += PIECE) {
		size_t len = OP_MIN(s->size - at, (uint64_t)PIECE) / 8;
		size_t i;

		*error = op_elf_read(elf, s->offset + at, words, len * 8);
		for (i = 0; !*error && i < len; i++)
			if (words[i] == value)
				return s->addr + at + i * 8;
	}
	return 0;
}

/* Find the word that a relocation sets to @value. */
static uint64_t find_relocated(struct op_elf *elf, uint64_t value, int *error)
{
	const struct op_elf_section *s = op_elf_section(elf, ".rela.dyn");
	_cleanup_free_ uint64_t *words = NULL;
	const size_t piece = PIECE / sizeof(Elf64_Rela) * sizeof(Elf64_Rela);
	uint64_t at;

	if (*error || !s || s->type == SHT_NOBITS ||
	    s->size > (uint64_t)RELA_MOST * sizeof(Elf64_Rela))
		return 0;
	words = malloc(piece);
	if (!words)
		*error = -ENOMEM;
	for (at = 0; !*error && at + sizeof(Elf64_Rela) <= s->size; at += piece) {
		size_t len = OP_MIN(s->size - at, (uint64_t)piece) / sizeof(Elf64_Rela);
		size_t i;

		*error =
			op_elf_read(elf, s->offset + at, words, len * sizeof(Elf64_Rela));
		for (i = 0; !*error && i < len; i++)
			if (words[3 * i + 2] == value)
				return words[3 * i];
	}
	return 0;
}

/* Is this an entry of the table of names, whose names are in @texts? */
static bool is_entry(const uint64_t word[ENTRY_WORDS], const struct op_elf_section *texts)
{
	return word[0] - texts->addr < texts->size && (word[1] & 0xffffffff) < KINDS_MOST;
}

/* An entry that is filled at the start of the program, because it has a function's
 * address. */
static bool is_later(const uint64_t word[ENTRY_WORDS])
{
	return !word[0] && !word[1] && !word[2];
}

static bool is_first(struct op_elf *elf, const struct op_elf_section *texts,
		     uint64_t name)
{
	char text[NAME_BYTES];
	size_t i;

	if (op_elf_read(elf, name - texts->addr + texts->offset, text, sizeof(text)) < 0)
		return false;
	for (i = 0; i < OP_ARRAY_SIZE(first_names); i++)
		if (memcmp(text, first_names[i], strlen(first_names[i]) + 1) == 0)
			return true;
	return false;
}

/* The index of the entry at ELF address @at in its table. 0: unknown; or -errno. */
static int number_of(struct op_elf *elf, const struct op_elf_section *texts, uint64_t at)
{
	uint64_t words[BEFORE_MOST * ENTRY_WORDS];
	uint32_t most;
	uint32_t n;
	int r = -ENODATA;

	/* Entries far before may not be in the file. */
	for (most = BEFORE_MOST * 2; most > 1 && r < 0;) {
		most /= 2;
		r = op_elf_read_words(elf, at - (uint64_t)most * ENTRY_WORDS * 8, words,
				      (size_t)most * ENTRY_WORDS);
	}
	if (r < 0)
		return r == -ENODATA || r == -EFAULT ? 0 : r;
	for (n = 1, r = 0; n <= most; n++) {
		const uint64_t *word = words + (size_t)(most - n) * ENTRY_WORDS;

		if (is_entry(word, texts) && is_first(elf, texts, word[0]))
			r = (int)n;
		else if (!is_entry(word, texts) && !is_later(word))
			break;
	}
	return r;
}

int op_runtime_node_texts(struct op_elf *elf, uint32_t builtins, bool version,
			  struct op_node_blob *ret, uint32_t *ret_prologue)
{
	const struct op_elf_section *texts = op_elf_section(elf, ".rodata");
	struct texts t = { .ret = ret, .version = version };
	uint64_t name;
	uint64_t at;
	int r;

	*ret_prologue = 0;
	r = op_runtime_node_scan(elf, see_texts, &t);
	if (t.several)
		*ret->version = 0;
	if (r < 0 || !t.name)
		return r < 0 ? r : 1;
	name = t.name - texts->offset + texts->addr;
	at = find_word(elf, ".rodata", name, &r);
	at = at ? at : find_word(elf, ".data.rel.ro", name, &r);
	at = at ? at : find_word(elf, ".data", name, &r);
	at = at ? at : find_relocated(elf, name, &r);
	if (r == 0 && at)
		r = number_of(elf, texts, at);
	if (r < 0)
		return r;
	*ret_prologue = (uint32_t)r < builtins ? (uint32_t)r : 0;
	return 1;
}
