/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/perl/text.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "base/reader.h"
#include "runtime/perl/offsets.h"

enum {
	FILE_MARK = 2, /* "_<" before a file's name in a glob */
};

struct sv {
	uint64_t body;
	uint32_t flags;
	uint64_t pointer;
};

static int read_words(const struct op_perl_objects *objects, uint64_t addr, uint64_t *ret,
		      size_t len)
{
	uint8_t bytes[AUX_BYTES];
	struct op_reader r = op_reader_init(bytes, len * 8);
	int error = op_memory_read(objects->memory, addr, bytes, len * 8);
	size_t i;

	for (i = 0; error == 0 && i < len; i++)
		ret[i] = op_read_u64(&r);
	return error;
}

/* Read the head of the SV at @addr. Returns -EBADMSG if its type is not @type. */
static int read_sv(const struct op_perl_objects *objects, uint64_t addr, uint32_t type,
		   struct sv *ret)
{
	uint64_t word[3];
	int r = read_words(objects, addr, word, 3);

	if (r < 0)
		return r;
	*ret = (struct sv){ word[0], (uint32_t)(word[1] >> 32), word[2] };
	return (ret->flags & SV_TYPE_MASK) == type ? 0 : -EBADMSG;
}

static void add_latin1(struct op_strbuf *to, const uint8_t *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		op_strbuf_utf8(to, text[i]);
}

/* The text of a HEK, without its first @skip bytes. */
static int read_hek(const struct op_perl_objects *objects, uint64_t addr, size_t skip,
		    size_t max, struct op_strbuf *to)
{
	uint8_t text[OP_PERL_FILE_MAX + 2] = { 0 };
	struct op_reader in = op_reader_init(text, HEK_TEXT);
	uint32_t len;
	size_t n;
	int r = op_memory_read(objects->memory, addr, text, HEK_TEXT);

	if (r < 0)
		return r;
	op_reader_seek(&in, HEK_LEN);
	len = op_read_u32(&in);
	if (!len || len > INT32_MAX || len <= skip)
		return -EBADMSG;
	n = OP_MIN((size_t)len, max);
	/* after a cut text the next byte is not the flags, which are read separately */
	r = op_memory_read(objects->memory, addr + HEK_TEXT, text, n);
	if (r == 0)
		r = op_memory_read(objects->memory, addr + HEK_TEXT + len, text + n, 2);
	if (r < 0)
		return r;
	if (text[n] || memchr(text, 0, n))
		return -EBADMSG;
	if (text[n + 1] & HEK_UTF8)
		op_strbuf_add(to, text + skip, n - skip);
	else
		add_latin1(to, text + skip, n - skip);
	return to->failed ? -ENOMEM : 0;
}

int op_runtime_perl_hek(const struct op_perl_objects *objects, uint64_t addr,
			struct op_strbuf *to)
{
	return read_hek(objects, addr, 0, OP_PERL_NAME_MAX, to);
}

/* Find the struct xpvhv_aux of a hash with that head. */
static int find_aux(const struct op_perl_objects *objects, const struct sv *hash,
		    uint64_t *ret)
{
	uint64_t max;
	int r;

	*ret = hash->body + objects->layout->hash_aux;
	if (objects->layout->hash_aux)
		return 0;
	r = read_words(objects, hash->body + OP_PERL_HV_MAX, &max, 1);
	if (r == 0)
		*ret = hash->pointer + (max + 1) * 8;
	return r;
}

/* Find the name of a hash with that head. *@ret is 0 if it has none. */
static int find_package(const struct op_perl_objects *objects, const struct sv *hash,
			uint64_t *ret)
{
	uint64_t aux[AUX_BYTES / 8];
	uint64_t at;
	int r;

	*ret = 0;
	if (!(hash->flags & HV_HAS_AUX))
		return 0;
	r = find_aux(objects, hash, &at);
	if (r == 0)
		r = read_words(objects, at, aux, AUX_BYTES / 8);
	if (r < 0)
		return r;
	*ret = aux[0];
	/* several names: a list, whose first entry is the hash's own name */
	if (aux[0] && aux[AUX_NAME_COUNT / 8] >> 32)
		return read_words(objects, aux[0], ret, 1);
	return 0;
}

int op_runtime_perl_package(const struct op_perl_objects *objects, uint64_t addr,
			    struct op_strbuf *to)
{
	uint64_t name = 0;
	struct sv hash;
	int r = 0;

	if (addr) {
		r = read_sv(objects, addr, TYPE_HV, &hash);
		if (r == 0)
			r = find_package(objects, &hash, &name);
	}
	if (r == 0 && name)
		r = op_runtime_perl_hek(objects, name, to);
	else
		op_strbuf_puts(to, "__ANON__");
	op_strbuf_puts(to, "::");
	return r;
}

/* Find the glob at @addr, or the one it is a copy of. */
static int find_glob(const struct op_perl_objects *objects, uint64_t addr, struct sv *ret)
{
	struct sv other;
	uint64_t effective;
	int r = read_sv(objects, addr, TYPE_GV, ret);

	if (r < 0 || !(ret->flags & GV_HAS_GP) || !ret->pointer)
		return r;
	if (read_words(objects, ret->pointer + OP_PERL_GP_EFFECTIVE, &effective, 1) ==
		    0 &&
	    effective && effective != addr &&
	    read_sv(objects, effective, TYPE_GV, &other) == 0 &&
	    (other.flags & GV_HAS_GP))
		*ret = other;
	return 0;
}

/* Find the name and the package of the glob @glob. */
static int read_glob(const struct op_perl_objects *objects, const struct sv *glob,
		     uint64_t ret[2])
{
	return read_words(objects, glob->body + OP_PERL_GV_NAME, ret, 2);
}

int op_runtime_perl_glob(const struct op_perl_objects *objects, uint64_t addr,
			 struct op_strbuf *to)
{
	uint64_t word[2];
	struct sv glob;
	int r = find_glob(objects, addr, &glob);

	if (r == 0)
		r = read_glob(objects, &glob, word);
	if (r == 0)
		r = op_runtime_perl_package(objects, word[1], to);
	return r < 0 ? r : op_runtime_perl_hek(objects, word[0], to);
}

/* Find the name and the package of the CV at @addr; *@ret_lexical: it belongs to none. */
static int read_cv(const struct op_perl_objects *objects, uint64_t addr, uint64_t ret[2],
		   bool *ret_lexical)
{
	uint64_t flags = 0;
	struct sv cv;
	int r = read_sv(objects, addr, OP_PERL_TYPE_CV, &cv);

	if (r == 0)
		r = read_words(objects, cv.body + OP_PERL_CV_NAME, &ret[0], 1);
	if (r == 0)
		r = read_words(objects, cv.body + OP_PERL_CV_STASH, &ret[1], 1);
	if (r == 0)
		r = read_words(objects, cv.body + OP_PERL_CV_FLAGS, &flags, 1);
	*ret_lexical = flags >> 32 & OP_PERL_CV_LEXICAL;
	return r < 0 || flags >> 32 & OP_PERL_CV_NAMED ? r : -EBADMSG;
}

int op_runtime_perl_cv(const struct op_perl_objects *objects, uint64_t addr,
		       struct op_strbuf *to)
{
	uint64_t word[2];
	bool lexical;
	int r = read_cv(objects, addr, word, &lexical);

	if (r == 0 && !lexical)
		r = op_runtime_perl_package(objects, word[1], to);
	return r < 0 ? r : op_runtime_perl_hek(objects, word[0], to);
}

/* The first word of the name of the package at @addr, or of its list of names. */
static int read_package_name(const struct op_perl_objects *objects, uint64_t addr,
			     uint64_t *ret)
{
	struct sv hash;
	uint64_t at;
	int r = read_sv(objects, addr, TYPE_HV, &hash);

	if (r == 0)
		r = find_aux(objects, &hash, &at);
	if (r == 0)
		r = read_words(objects, at, &at, 1);
	return r < 0 ? r : read_words(objects, at, ret, 1);
}

int op_runtime_perl_is(const struct op_perl_objects *objects, uint64_t addr, bool named,
		       uint32_t check)
{
	uint64_t word[2] = { 0, 0 };
	uint64_t name = 0;
	uint64_t package = 0;
	struct sv glob;
	bool lexical;
	int r;

	if (named) {
		r = read_cv(objects, addr, word, &lexical);
	} else {
		r = read_sv(objects, addr, TYPE_GV, &glob);
		if (r == 0)
			r = read_glob(objects, &glob, word);
	}
	if (r == 0)
		r = read_words(objects, word[0], &name, 1);
	if (r == 0 && word[1])
		r = read_package_name(objects, word[1], &package);
	if (r < 0)
		return r;
	return op_perl_check(op_perl_name_id(name, word[1], package),
			     named ? OP_PERL_OBJECT_CV : OP_PERL_OBJECT_GLOB) == check
		       ? 0
		       : -EBADMSG;
}

/* Is @text printable? The memory of a file's name may have been reused. */
static bool is_text(const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if ((uint8_t)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return true;
}

/* Append the text at @addr up to its NUL. */
static int read_text(const struct op_perl_objects *objects, uint64_t addr,
		     struct op_strbuf *to)
{
	char text[OP_PERL_FILE_COPIED];
	size_t begun = to->len;
	size_t n = sizeof(text);
	size_t len;
	int r;

	while (to->len - begun < OP_PERL_FILE_MAX) {
		r = op_memory_read(objects->memory, addr, text, n);
		/* at the end of memory the text may still end in time */
		if (r < 0 && n > 1) {
			n /= 2;
			continue;
		}
		if (r < 0)
			return r;
		len = strnlen(text, n);
		if (!is_text(text, len))
			return -EBADMSG;
		op_strbuf_add(to, text, len);
		if (to->failed)
			return -ENOMEM;
		if (len < n)
			return to->len > begun ? 0 : -EBADMSG;
		addr += n;
	}
	return 0;
}

int op_runtime_perl_file(const struct op_perl_objects *objects, uint64_t addr,
			 struct op_strbuf *to)
{
	uint64_t name = 0;
	struct sv glob;
	int r;

	if (!addr)
		return -EBADMSG;
	if (!objects->globs)
		return read_text(objects, addr, to);
	r = read_sv(objects, addr, TYPE_GV, &glob);
	if (r == 0)
		r = read_words(objects, glob.body + OP_PERL_GV_NAME, &name, 1);
	return r < 0 ? r : read_hek(objects, name, FILE_MARK, OP_PERL_FILE_MAX, to);
}
